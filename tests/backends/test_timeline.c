/* The memory of a plan over a run: groups add up to what is live, and the table names them. */
#include "tests/plans.h"
#include "graph/text_buffer.h"
#include "wengert.h"

static wg_graph *step(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(16, 32));
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf(name, sizeof name, "block%d", i);
        wg_scope_push(g, "%s", name);
        x = wg_tanh(wg_dense("dense", wg_layernorm_layer("norm", x), 32, WG_ACTIVATION_GELU));
        wg_scope_pop(g);
    }
    wg_gradients d = wg_grad_all(wg_output(wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP), "loss"));
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 0.1)));
    return g;
}

/* At the peak, and nowhere more than there. */
static void groups_add_up_to_what_is_live(void **state)
{
    (void)state;
    wg_graph *g = step();
    wg_plan *p = plan_of(g, NULL);
    const wg_plan_stats s = wg_plan_statistics(p);
    static const size_t most[] = {0, 1, 2, 7};
    for (int by = WG_TIMELINE_BY_SCOPE; by <= WG_TIMELINE_BY_LINE; by++)
        for (int m = 0; m < WG_COUNT(most); m++) {
            wg_timeline *t;
            assert_int_equal(wg_timeline_create(&t, p, (wg_timeline_by)by, most[m], NULL), WG_OK);
            size_t n = wg_timeline_group_count(t), steps = wg_timeline_step_count(t);
            assert_int_equal(steps, s.nodes + 1);
            assert_true(n > 0 && (!most[m] || n <= most[m]));
            size_t *row = calloc(steps, sizeof *row), *sum = calloc(steps, sizeof *sum),
                   at_peak = 0, largest = 0;
            assert_true(row && sum);
            for (size_t i = 0; i < n; i++) {
                wg_timeline_group x = wg_timeline_group_at(t, i);
                assert_true(i == 0 || most[m] == n ||
                            x.at_peak <= wg_timeline_group_at(t, i - 1).at_peak);
                wg_timeline_row(t, i, row);
                assert_int_equal(row[wg_timeline_peak(t)], x.at_peak);
                at_peak += x.at_peak;
                for (size_t k = 0; k < steps; k++)
                    sum[k] += row[k];
            }
            for (size_t k = 0; k < steps; k++)
                largest = sum[k] > largest ? sum[k] : largest;
            assert_int_equal(at_peak, s.live_bytes);
            assert_int_equal(largest, s.live_bytes);
            free(row);
            free(sum);
            wg_timeline_free(t);
        }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void scopes_are_taken_together_by_their_first_levels(void **state)
{
    (void)state;
    wg_graph *g = step();
    wg_plan *p = plan_of(g, NULL);
    wg_timeline *t;
    size_t blocks = 0, deep = 0;
    assert_int_equal(wg_timeline_create(&t, p, WG_TIMELINE_BY_SCOPE, 7, NULL), WG_OK);
    for (size_t i = 0; i < wg_timeline_group_count(t); i++) {
        const char *name = wg_timeline_group_at(t, i).name;
        blocks += strncmp(name, "block", 5) == 0;
        deep += strchr(name, '/') != NULL;
    }
    assert_int_equal(blocks, 5);
    assert_int_equal(deep, 0);
    wg_timeline_free(t);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void the_table_names_scopes_and_lines(void **state)
{
    (void)state;
    wg_graph *g = step();
    wg_plan *plain = plan_of(g, NULL);
    const wg_plan_stats s = wg_plan_statistics(plain);
    wg_plan *p = plan_of(g, &(wg_plan_options){.memory = s.leaf_bytes + s.buffer_bytes * 7 / 10});
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    assert_non_null(f);
    assert_int_equal(wg_plan_write_timeline(p, f, NULL), WG_OK);
    char *text = wgi_text_close(&b);
    assert_non_null(text);
    printf("%s", text);
    static const char *const parts[] = {"at the peak, by scope:",
                                        "at the peak, by line:",
                                        "test_timeline.c:",
                                        "computed again, by scope:",
                                        "block",
                                        "parameters and states"};
    for (int i = 0; i < WG_COUNT(parts); i++)
        check_that(strstr(text, parts[i]), "no '%s'", parts[i]);
    free(text);
    wg_plan_free(plain);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void wrong_arguments_are_errors(void **state)
{
    (void)state;
    wg_timeline *t;
    wg_error e;
    assert_int_equal(wg_timeline_create(&t, NULL, WG_TIMELINE_BY_LINE, 0, &e), WG_EINVAL);
    assert_true(*e.text);
    assert_int_equal(wg_plan_write_timeline(NULL, stdout, &e), WG_EINVAL);
    wg_timeline_free(NULL);
    assert_int_equal(wg_timeline_group_count(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_add_up_to_what_is_live),
        cmocka_unit_test(scopes_are_taken_together_by_their_first_levels),
        cmocka_unit_test(the_table_names_scopes_and_lines),
        cmocka_unit_test(wrong_arguments_are_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
