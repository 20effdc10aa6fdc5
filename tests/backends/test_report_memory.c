/* Reports on a plan without memory, and to files that are full: a status, never half a report that
 * passes for a whole one. */
#include "tests/plans.h"
#include "tests/allocations.h"
#include "wengert.h"

/* Many scopes and more than twenty values at the peak, so that reports shorten their lists. */
static wg_graph *step(void)
{
    enum { BLOCKS = 14 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4, 8));
    for (int i = 0; i < BLOCKS; i++) {
        wg_scope_push(g, "block%d", i);
        x = wg_tanh(wg_dense("dense", wg_layernorm_layer("norm", x), 8, WG_ACTIVATION_GELU));
        wg_scope_pop(g);
    }
    wg_value *loss = wg_output(wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP), "loss");
    wg_gradients d = wg_grad_all(loss);
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 0.1)));
    return g;
}

/* A plan that has been run. */
static wg_plan *planned(wg_graph *g)
{
    wg_plan *p = plan_of(g, &(wg_plan_options){.threads = 1});
    memset(wg_plan_f32(p, wg_graph_find(g, "x")), 0, sizeof(float[4 * 8]));
    run(p, 0);
    return p;
}

/* ---- without memory -------------------------------------------------------------------------- */

typedef wg_status writing(const wg_plan *p, FILE *file, wg_error *error);

static wg_status print(const wg_plan *p, FILE *file, wg_error *error)
{
    error->status = wg_plan_print(p, file);
    return error->status;
}

static wg_status page(const wg_plan *p, FILE *file, wg_error *error)
{
    return wg_plan_write_page(p, "a step", file, error);
}

static const struct {
    const char *name;
    writing *write;
    size_t stride; /* of the allocations that fail */
} reports[] = {{"print", print, 1}, {"timeline", wg_plan_write_timeline, 1}, {"page", page, 7}};

typedef struct report {
    const wg_plan *plan;
    writing *write;
    FILE *file;
} report;

static wg_status write_once(void *context)
{
    const report *r = context;
    wg_error error;
    wg_status status = r->write(r->plan, r->file, &error);
    assert_int_equal(status, error.status);
    return status;
}

static void reports_without_memory_are_a_status(void **state)
{
    (void)state;
    wg_graph *g = step();
    wg_plan *p = planned(g);
    FILE *file = fopen("/dev/null", "w");
    assert_non_null(file);
    assert_int_equal(setvbuf(file, NULL, _IONBF, 0), 0);
    size_t points = 0;
    for (int i = 0; i < WG_COUNT(reports); i++)
        points += fail_some(reports[i].name, write_once, &(report){p, reports[i].write, file},
                            WG_OK, (failing_allocations){.stride = reports[i].stride});
    assert_in_range(points, 30, 100000);
    fclose(file);
    wg_plan_free(p);
    wg_graph_free(g);
}

typedef struct grouping {
    const wg_plan *plan;
    wg_timeline_by by;
    size_t most;
} grouping;

static wg_status group(void *context)
{
    const grouping *o = context;
    wg_timeline *t = NULL;
    wg_error error;
    wg_status status = wg_timeline_create(&t, o->plan, o->by, o->most, &error);
    assert_true((status == WG_OK) == (t != NULL));
    assert_true((status == WG_OK) == (*error.text == '\0'));
    wg_timeline_free(t);
    return status;
}

static void a_timeline_without_memory_is_a_status(void **state)
{
    (void)state;
    static const size_t most[] = {0, 1, 7};
    wg_graph *g = step();
    wg_plan *p = planned(g);
    size_t points = 0;
    for (int by = WG_TIMELINE_BY_SCOPE; by <= WG_TIMELINE_BY_LINE; by++)
        for (int m = 0; m < WG_COUNT(most); m++)
            points +=
                fail_each("timeline", group, &(grouping){p, (wg_timeline_by)by, most[m]}, WG_OK);
    assert_in_range(points, 100, 100000);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- files that are full, arguments that are wrong ------------------------------------------- */

static void a_full_disk_is_an_error_of_each_report(void **state)
{
    (void)state;
    wg_graph *g = step();
    wg_plan *p = planned(g);
    for (int i = 0; i < WG_COUNT(reports); i++) {
        FILE *file = fopen("/dev/full", "w");
        assert_non_null(file);
        assert_int_equal(setvbuf(file, NULL, _IONBF, 0), 0);
        wg_status status = write_once(&(report){p, reports[i].write, file});
        check_that(status == WG_EIO, "%s: %s", reports[i].name, wg_status_text(status));
        fclose(file);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_report_of_nothing_or_to_nowhere_is_refused(void **state)
{
    (void)state;
    wg_graph *g = step();
    wg_plan *p = planned(g);
    wg_timeline *t;
    wg_error error;
    for (int i = 0; i < WG_COUNT(reports); i++) {
        assert_int_equal(write_once(&(report){NULL, reports[i].write, stdout}), WG_EINVAL);
        assert_int_equal(write_once(&(report){p, reports[i].write, NULL}), WG_EINVAL);
    }
    assert_int_equal(wg_timeline_create(NULL, p, WG_TIMELINE_BY_LINE, 0, &error), WG_EINVAL);
    assert_int_equal(wg_timeline_create(&t, p, (wg_timeline_by)7, 0, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "wg_timeline_create"));
    assert_null(wg_plan_graph(NULL));
    assert_null(wg_plan_step_at(NULL, 0).node);
    assert_null(wg_plan_step_at(p, wg_plan_step_count(p)).node);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_timeline_has_nothing_outside_of_its_groups(void **state)
{
    (void)state;
    wg_graph *g = step();
    wg_plan *p = planned(g);
    wg_timeline *t;
    assert_int_equal(wg_timeline_create(&t, p, WG_TIMELINE_BY_LINE, 0, NULL), WG_OK);
    size_t n = wg_timeline_group_count(t), row[1] = {5};
    assert_true(n > 0 && wg_timeline_group_at(t, n - 1).name);
    assert_null(wg_timeline_group_at(t, n).name);
    assert_null(wg_timeline_group_at(NULL, 0).name);
    wg_timeline_row(NULL, 0, row);
    wg_timeline_row(t, 0, NULL);
    assert_int_equal(row[0], 5);
    assert_int_equal(wg_timeline_step_count(NULL) + wg_timeline_peak(NULL), 0);
    wg_timeline_free(t);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_without_memory_are_a_status),
        cmocka_unit_test(a_timeline_without_memory_is_a_status),
        cmocka_unit_test(a_full_disk_is_an_error_of_each_report),
        cmocka_unit_test(a_report_of_nothing_or_to_nowhere_is_refused),
        cmocka_unit_test(a_timeline_has_nothing_outside_of_its_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
