/* The experiments in their small form: what each must find whatever the machine; what is kept of a
 * run; tables and tasks. */
#include "paper/paper.h"
#include "paper/run.h"
#include "paper/task.h"
#include "tests/folder.h"
#include "wengert/models/transformer.h"

#include <math.h>

static wg_error error;

/* ---- what is found --------------------------------------------------------------------------- */

static paper_report run_small(const char *name, const char *kept_in)
{
    paper_report report;
    const paper_experiment *e = paper_experiment_find(name);
    const paper_options o = {.small = true, .folder = kept_in};
    check_that(e != NULL, "no experiment %s", name);
    check_that(paper_experiment_run(e, &o, &report, &error) == WG_OK, "%s: %s", name, error.text);
    return report;
}

/* Findings that the small form must have, in their order: h holds, c contradicts, - either. */
static const struct {
    const char *name, *findings;
} small[] = {
    {"scale", "hhc"}, {"positions", "h--"}, {"table1", "h"}, {"warmup", "h"}, {"lm", "hhh"},
};

static void each_experiment_finds_what_it_must(void **state)
{
    (void)state;
    const paper_experiment *e;
    size_t n = 0;
    for (; (e = paper_experiment_at(n)); n++) {
        assert_true(n < WG_COUNT(small));
        check_that(strcmp(e->name, small[n].name) == 0, "%s is not tested", e->name);
        paper_report r = run_small(e->name, NULL);
        const char *wanted = small[n].findings;
        check_that(r.findings == (int)strlen(wanted), "%s: %d findings", e->name, r.findings);
        for (int i = 0; i < r.findings; i++)
            check_that(wanted[i] == '-' || (wanted[i] == 'h') == r.finding[i].holds, "%s: %s",
                       e->name, r.finding[i].text);
        check_that(r.tables > 0 && r.table[0].rows > 1, "%s: no table", e->name);
        for (int i = 0; i < r.table[0].rows; i++)
            for (int k = 0; k < r.table[0].columns; k++)
                check_that(r.table[0].cell[i][k].text[0], "%s: cell %d, %d is empty", e->name, i,
                           k);
        paper_report_free(&r);
    }
    assert_int_equal(n, WG_COUNT(small));
}

/* ---- what is kept ---------------------------------------------------------------------------- */

static char *json_of(const paper_report *r)
{
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    paper_print_json(r, f);
    assert_int_equal(fclose(f), 0);
    return text;
}

static int count_lines(const char *text)
{
    int n = 0;
    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* A run that ended in the middle of a line goes on, and its report is that of a run without
 * interruption; results of another experiment are refused. */
static void a_stopped_run_goes_on(void **state)
{
    (void)state;
    size_t size, after;
    paper_report r = run_small("scale", folder);
    char *whole = json_of(&r), *log = read_bytes(path_of(PAPER_STATE_FILE), &size);
    const int lines = count_lines(log);
    assert_true(lines > 5);
    paper_report_free(&r);

    write_bytes(PAPER_STATE_FILE, log, size * 2 / 3);
    r = run_small("scale", folder);
    char *again = json_of(&r), *longer = read_bytes(path_of(PAPER_STATE_FILE), &after);
    assert_string_equal(whole, again);
    assert_int_equal(count_lines(longer), lines);
    assert_string_equal(log, longer);
    paper_report_free(&r);

    /* what is there is believed: a number that was changed shows */
    char *number = strstr(longer, "seed1 ") + strlen("seed1 ");
    *number = *number == '9' ? '8' : '9';
    write_bytes(PAPER_STATE_FILE, longer, after);
    r = run_small("scale", folder);
    char *changed = json_of(&r);
    assert_string_not_equal(whole, changed);
    paper_report_free(&r);

    const paper_options o = {.folder = folder};
    assert_int_equal(paper_experiment_run(paper_experiment_find("scale"), &o, &r, &error),
                     WG_EINVAL);
    check_that(strstr(error.text, "scale, full form") && strstr(error.text, "small form"), "%s",
               error.text);
    paper_report_free(&r);
    free(whole), free(again), free(log), free(longer), free(changed);
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void targets_are_the_words_in_order(void **state)
{
    (void)state;
    enum { LENGTH = 8 };
    int compared = 0;
    for (int order = PAPER_REVERSED; order <= PAPER_SORTED; order++)
        for (uint64_t i = 0; i < 50; i++) {
            const paper_task t = {
                .order = (paper_order)order, .words = 9, .shortest = 2, .longest = LENGTH - 1};
            int32_t source[LENGTH], n, in[LENGTH], out[LENGTH];
            assert_int_equal(paper_task_length(&t), LENGTH);
            paper_task_pair(&t, 3, i, source, &n, in, out);
            assert_true(n >= 3 && n <= LENGTH && source[n - 1] == PAPER_END &&
                        out[n - 1] == PAPER_END && in[0] == PAPER_BEGIN);
            int32_t sum = 0;
            for (int k = 0; k + 1 < n; k++, compared++) {
                assert_true(source[k] >= PAPER_FIRST_WORD && source[k] < PAPER_FIRST_WORD + 9);
                assert_int_equal(in[k + 1], out[k]);
                assert_true(order == PAPER_SORTED ? k == 0 || out[k - 1] <= out[k]
                                                  : out[k] == source[n - 2 - k]);
                sum += source[k] - out[k];
            }
            assert_int_equal(sum, 0);
            for (int k = n; k < LENGTH; k++)
                assert_true(source[k] == PAPER_PADDING && out[k] == WG_NO_TARGET);
        }
    assert_true(compared > 200);
}

static void reports_note_what_does_not_fit(void **state)
{
    (void)state;
    static const char *const columns[] = {"a", "b"};
    const double x[] = {1, 2, 3, 4};
    paper_spread s = paper_spread_of(x, 4);
    assert_true(s.mean == 2.5 && fabs(s.deviation - sqrt(5 / 3.0)) < 1e-15);
    assert_true(paper_spread_of(x, 1).deviation == 0);

    paper_report r;
    assert_int_equal(paper_report_begin(&r, "name", "claim", true, &error), WG_OK);
    paper_table *t = paper_add_table(&r, "title", columns, 2);
    paper_row(t);
    paper_words(t, "row");
    paper_mean(t, s, 2);
    assert_string_equal(t->cell[0][1].text, "2.50 +- 1.29");
    assert_false(r.overflow);
    paper_words(t, "one too many");
    assert_true(r.overflow);
    r.overflow = false;
    for (int i = 0; i < PAPER_ROWS; i++)
        paper_row(t);
    assert_true(r.overflow);
    r.overflow = false;
    paper_panel *p = paper_add_panel(&r, "panel", "x", "y");
    for (int i = 0; i < PAPER_CURVES; i++)
        assert_non_null(paper_add_curve(p, "%d", i));
    assert_false(r.overflow);
    assert_null(paper_add_curve(p, "one too many"));
    assert_true(r.overflow);
    paper_point(p, NULL, 1, 2, 0);
    char *json = json_of(&r);
    assert_non_null(strstr(json, "\"deviation\": 1.29"));
    free(json);
    paper_report_free(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_experiment_finds_what_it_must),
        cmocka_unit_test(a_stopped_run_goes_on),
        cmocka_unit_test(targets_are_the_words_in_order),
        cmocka_unit_test(reports_note_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
