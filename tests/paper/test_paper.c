/* The experiments in their small form: what each must find whatever the machine; what is kept of a
 * run; tables and tasks. */
#include "paper/grammar.h"
#include "paper/paper.h"
#include "paper/run.h"
#include "paper/sweep.h"
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
    {"scale", "hhc"},      {"heads", "h--"},    {"additive", "hh--"}, {"positions", "h--"},
    {"table1", "h"},       {"warmup", "h"},     {"norm", "h"},        {"dropout", "h"},
    {"smoothing", "h"},    {"averaging", "h"},  {"beam", "h--"},      {"size", "h"},
    {"visualise", "hh-h"}, {"parsing", "hh--"}, {"lm", "hhh"},
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
        /* table1 draws times, which the small form does not measure */
        check_that(r.panels > 0 || strcmp(e->name, "table1") == 0, "%s: no figure", e->name);
        for (int i = 0; i < r.table[0].rows; i++)
            for (int k = 0; k < r.table[0].columns; k++)
                check_that(r.table[0].cell[i][k].text[0], "%s: cell %d, %d is empty", e->name, i,
                           k);
        paper_report_free(&r);
    }
    assert_int_equal(n, WG_COUNT(small));
}

/* Greedy search and the scores of a model, which is told the tokens before each, have the same
 * sentences right. */
static void greedy_search_gets_what_the_scores_say(void **state)
{
    (void)state;
    paper_report r = run_small("beam", NULL);
    assert_true(r.tables == 2);
    const paper_cell *searched = &r.table[0].cell[0][3], *scored = &r.table[1].cell[0][3];
    assert_string_equal(r.table[0].cell[0][1].text, "1");
    assert_string_equal(r.table[0].column[3], r.table[1].column[3]);
    check_that(scored->value > 0 && fabs(searched->value - scored->value) < 0.01, "%g, not %g",
               searched->value, scored->value);
    paper_report_free(&r);
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

static void a_setting_changes_what_it_names(void **state)
{
    (void)state;
    const paper_training base = paper_training_usual(false);
    const paper_setting nothing = {"same", .small = true},
                        two = {"two", .layers = 3, .dropout = 0.25},
                        schedule = {"rate", .kind = WG_SCHEDULE_CONSTANT, .warmup = 7};
    paper_training t = paper_variant(&base, &nothing);
    assert_string_equal(t.name, "same");
    t.name = base.name;
    assert_memory_equal(&t, &base, sizeof t);
    t = paper_variant(&base, &two);
    assert_true(t.net.encoder_layers == 3 && t.net.decoder_layers == 3 && t.net.dropout == 0.25);
    assert_true(t.net.d_model == base.net.d_model && t.schedule.kind == base.schedule.kind);
    t = paper_variant(&base, &schedule);
    assert_true(t.schedule.kind == WG_SCHEDULE_CONSTANT && t.schedule.warmup == 7 &&
                t.schedule.rate == base.schedule.rate);
    /* one more layer on each side: attention and feed-forward of both, and cross-attention */
    const int64_t d = base.net.d_model, ff = base.net.d_ff;
    t = paper_variant(&base, &(paper_setting){"more", .layers = base.net.encoder_layers + 1});
    assert_int_equal(paper_model_size(&t) - paper_model_size(&base),
                     3 * 4 * (d * d + d) + 2 * (2 * d * ff + d + ff) + 5 * 2 * d);
}

/* The numbers of a trainer's store: two parameters and a state of the optimizer. */
static float *tensor_of(wg_store *s, const char *name, int64_t n)
{
    const wg_shape shape = WG_SHAPE(n);
    const wg_tensor *t;
    assert_int_equal(wg_store_add(s, name, WG_F32, &shape, &t), WG_OK);
    return t->data;
}

static void checkpoints_have_means(void **state)
{
    (void)state;
    enum { KEPT = 3 };
    wg_store *s = wg_store_new(1);
    float *a = tensor_of(s, "a", 2), *m = tensor_of(s, "optimizer/m/a", 2),
          *b = tensor_of(s, "b", 1);
    paper_checkpoints c = {0};
    for (int i = 0; i < KEPT; i++) {
        a[0] = (float)i, a[1] = 10 * (float)i, b[0] = (float)(i * i), m[0] = (float)i;
        assert_int_equal(paper_checkpoints_keep(&c, s), WG_OK);
    }
    assert_true(c.n == KEPT && c.size == 3);
    paper_checkpoints_average(&c, 2, s);
    assert_true(a[0] == 1.5F && a[1] == 15 && b[0] == 2.5F);
    paper_checkpoints_average(&c, KEPT + 1, s); /* there are fewer: nothing changes */
    assert_true(a[0] == 1.5F && a[1] == 15 && b[0] == 2.5F);
    paper_checkpoints_average(&c, 1, s);
    assert_true(a[0] == 2 && a[1] == 20 && b[0] == 4 && m[0] == 2);
    paper_checkpoints_average(&c, KEPT, s);
    assert_true(a[0] == 1 && a[1] == 10 && fabsf(b[0] - 5 / 3.0F) < 1e-6F && m[0] == 2);
    paper_checkpoints_free(&c);
    wg_store_free(s);
}

static void more_is_clear_beyond_the_standard_error(void **state)
{
    (void)state;
    const paper_spread a = {1.0, 0.3, 9}, near = {0.9, 0.3, 9}, far = {0.8, 0.3, 9};
    assert_false(paper_clearly_more(a, near)); /* 0.1 apart, standard error 0.141 */
    assert_true(paper_clearly_more(a, far));
    assert_false(paper_clearly_more(far, a) || paper_clearly_more(a, a));
    assert_true(paper_clearly_positive((paper_spread){0.11, 0.3, 9}));
    assert_false(paper_clearly_positive((paper_spread){0.09, 0.3, 9}));
    assert_false(paper_clearly_positive((paper_spread){0, 0, 1}));
    assert_false(paper_clearly_more(a, (paper_spread){NAN, NAN, 0}));
}

static bool is_name(int32_t id)
{
    return id >= PAPER_FIRST_NAME && id < PAPER_FIRST_NAME + PAPER_NAMES;
}

/* A sentence has one name, pronouns only behind it, and the answer has the name in their place. */
static void pronouns_become_the_name_before_them(void **state)
{
    (void)state;
    enum { LENGTH = 10 };
    const paper_task t = {PAPER_RESOLVED, .words = 16, .shortest = 4, .longest = LENGTH - 1};
    int pronouns = 0;
    for (uint64_t i = 0; i < 100; i++) {
        int32_t source[LENGTH], n, in[LENGTH], out[LENGTH], name = -1, names = 0;
        paper_task_pair(&t, 3, i, source, &n, in, out);
        for (int k = 0; k + 1 < n; k++) {
            assert_true(source[k] >= PAPER_FIRST_WORD && source[k] < PAPER_FIRST_WORD + t.words);
            assert_true(source[k] != PAPER_PRONOUN || name >= 0);
            name = is_name(source[k]) ? source[k] : name;
            names += is_name(source[k]);
            pronouns += source[k] == PAPER_PRONOUN;
            assert_int_equal(out[n - 2 - k], source[k] == PAPER_PRONOUN ? name : source[k]);
        }
        assert_int_equal(names, 1);
    }
    assert_true(pronouns > 50);
}

/* ---- the grammar ----------------------------------------------------------------------------- */

static void trees_are_what_their_tokens_say(void **state)
{
    (void)state;
    int constituents = 0;
    for (uint64_t i = 0; i < 200; i++) {
        int32_t tokens[3 * PAPER_TREE_WORDS];
        int mine, others;
        paper_tree t, again;
        paper_grammar_sentence(5, i, 3, 10, &t);
        assert_true(t.words >= 3 && t.words <= 10 && t.nodes == 2 * t.words - 1);
        int n = paper_tree_write(&t, tokens);
        assert_int_equal(n, 3 * t.words - 2);
        paper_tree_read(tokens, n, t.words, &again);
        assert_int_equal(paper_tree_common(&t, &again, &mine, &others), t.words - 1);
        assert_true(mine == t.words - 1 && others == mine);
        constituents += mine;

        paper_tree_read(tokens, n - 1, t.words, &again); /* S is not closed */
        assert_int_equal(paper_tree_common(&again, &t, &mine, &others), t.words - 2);
        assert_int_equal(mine, t.words - 2);
        paper_tree_read(tokens + 1, n - 1, t.words, &again); /* and not opened */
        assert_int_equal(paper_tree_common(&again, &t, &mine, &others), t.words - 2);
    }
    assert_true(constituents > 500);
    paper_tree none;
    paper_tree_read((const int32_t[]){PAPER_END, -7, 1000}, 3, 4, &none);
    assert_int_equal(none.nodes, 0);
}

static bool has_constituent(const paper_tree *t, int label, int begin, int end)
{
    bool found = false;
    for (int i = 0; i < t->nodes; i++)
        found |= t->node[i].label == label && t->node[i].begin == begin && t->node[i].end == end;
    return found;
}

/* A name, a verb, a name, and `phrases` times a preposition and a name: as many trees as there are
 * ways to put brackets around phrases + 2 things, the numbers of Catalan. */
static void sentences_have_as_many_trees_as_they_should(void **state)
{
    (void)state;
    static const double catalan[] = {1, 2, 5, 14, 42};
    for (int phrases = 0; phrases < WG_COUNT(catalan); phrases++) {
        paper_tree t = {.words = 3 + 2 * phrases, .word = {2, 15, 3}};
        for (int i = 0; i < phrases; i++) {
            t.word[3 + 2 * i] = 28;
            t.word[4 + 2 * i] = 4;
        }
        assert_true(paper_grammar_ambiguity(&t) == catalan[phrases]);
    }
    const paper_tree no_sentence = {.words = 2, .word = {2, 3}};
    assert_true(paper_grammar_ambiguity(&no_sentence) == 0);
}

/* The grammar attaches a phrase to what is of its class: verb 15 and name 5 are of the classes 1
 * and 2, and so are the prepositions 29 and 31.  That which is read off trees knows no classes. */
static void parsers_find_the_most_probable_tree(void **state)
{
    (void)state;
    enum { NP = 1, VP = 2 };
    paper_grammar g;
    paper_tree t = {.words = 5, .word = {2, 15, 5, 31, 3}}, u = t;
    paper_grammar_true(&g);
    paper_grammar_parse(&g, &t);
    assert_true(t.nodes == 4 && has_constituent(&t, NP, 2, 5) && !has_constituent(&t, VP, 1, 3));
    u.word[3] = 29;
    paper_grammar_parse(&g, &u);
    assert_true(u.nodes == 4 && has_constituent(&u, VP, 1, 3) && !has_constituent(&u, NP, 2, 5));

    paper_grammar_estimate(&g, 1, 2000, 3, 10);
    double sum[PAPER_GRAMMAR_SYMBOLS] = {0};
    for (int i = 0; i < g.rules; i++)
        sum[g.rule[i].parent] += g.rule[i].probability;
    for (int s = 0; s < g.symbols; s++) {
        for (int k = 0; k < PAPER_GRAMMAR_WORDS; k++)
            sum[s] += g.word[s][k];
        assert_true(fabs(sum[s] - 1) < 1e-12);
    }
    paper_grammar_parse(&g, &t);
    paper_grammar_parse(&g, &u);
    assert_true(t.nodes == 4 && has_constituent(&t, VP, 1, 3) == has_constituent(&u, VP, 1, 3));
    paper_tree no_sentence = {.words = 2, .word = {33, 33}};
    paper_grammar_parse(&g, &no_sentence);
    assert_int_equal(no_sentence.nodes, 0);
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
        cmocka_unit_test(greedy_search_gets_what_the_scores_say),
        cmocka_unit_test(a_stopped_run_goes_on),
        cmocka_unit_test(targets_are_the_words_in_order),
        cmocka_unit_test(a_setting_changes_what_it_names),
        cmocka_unit_test(checkpoints_have_means),
        cmocka_unit_test(more_is_clear_beyond_the_standard_error),
        cmocka_unit_test(pronouns_become_the_name_before_them),
        cmocka_unit_test(trees_are_what_their_tokens_say),
        cmocka_unit_test(sentences_have_as_many_trees_as_they_should),
        cmocka_unit_test(parsers_find_the_most_probable_tree),
        cmocka_unit_test(reports_note_what_does_not_fit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
