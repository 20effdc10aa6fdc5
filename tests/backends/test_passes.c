/* The passes of the planner, one by one. */
#include "tests/test.h"
#include "tests/random_graph.h"
#include "backends/plan/planner.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/load.h"

enum { MAX_PASSES = 32 };

/* The first column of the table of passes in docs/design.md, up to `max` names; returns their
 * number. */
static size_t documented(char names[][32], size_t max)
{
    char line[1000];
    size_t n = 0;
    bool in_table = false;
    FILE *f = fopen(DESIGN_PAGE, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, "| pass |", 8) == 0)
            in_table = true;
        else if (line[0] != '|')
            in_table = false;
        else if (in_table && line[1] == ' ' && n < max)
            n += sscanf(line, "| %31s |", names[n]) == 1;
    }
    fclose(f);
    return n;
}

static void passes_run_in_the_documented_order(void **state)
{
    (void)state;
    static char names[MAX_PASSES][32];
    size_t count, n = documented(names, MAX_PASSES);
    const wgi_pass *pass = wgi_passes(&count);
    for (size_t i = 0; i < count; i++)
        printf("pass %zu: %s\n", i + 1, pass[i].name);
    for (size_t i = 0; i < count && i < n; i++)
        assert_string_equal(pass[i].name, names[i]);
    assert_int_equal(n, count);
}

/* The graph that the passes so far have made is valid, and everything that the planner says is of
 * it. */
static void check_graph(const wgi_planner *p, const char *pass)
{
    check_that(wg_graph_verify(p->g) == WG_OK, "after %s: %s", pass, wg_graph_message(p->g));
    for (size_t i = 0; i < p->marks.n_outputs; i++)
        assert_ptr_equal(p->marks.outputs[i].value->node->graph, p->g);
    for (size_t i = 0; i < p->marks.n_assigns; i++) {
        assert_ptr_equal(p->marks.assigns[i].leaf->node->graph, p->g);
        assert_ptr_equal(p->marks.assigns[i].value->node->graph, p->g);
    }
    assert_true((p->g == p->source) == !p->of);
    for (size_t i = 0; p->of && i < p->n_source; i++)
        assert_true(!p->of[i] || p->of[i]->node->graph == p->g);
}

/* Runs the first `count` passes, all if it is larger; then what is left must be freed, or make a
 * plan. */
static void run_passes(wg_graph *g, const wg_plan_options *options, size_t count)
{
    wgi_planner p;
    size_t all;
    const wgi_pass *pass = wgi_passes(&all);
    wg_plan *plan = calloc(1, sizeof *plan);
    assert_non_null(plan);
    assert_true(wgi_planner_open(&p, g, options));
    for (size_t i = 0; i < all && i < count; i++) {
        check_that(pass[i].run(&p), "%s: %s", pass[i].name, wg_graph_message(g));
        check_graph(&p, pass[i].name);
    }
    wgi_planner_close(&p, plan);
    if (count >= all) {
        wgi_plan_wire(plan);
        check_that(wg_plan_check(plan) == WG_OK, "%s", wg_plan_message(plan));
        assert_int_equal(wg_plan_run(plan, 0), WG_OK);
    }
    wg_plan_free(plan);
}

static wg_graph *small_model(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8, 16)), *w[4], *dw[4];
    wg_scope_push(g, "layers");
    for (int i = 0; i < 4; i++) {
        char name[8] = {'w', (char)('0' + i), 0};
        w[i] = wg_parameter(g, name, WG_F32, i % 2 ? WG_SHAPE(16) : WG_SHAPE(16, 16), wg_xavier(1));
        x = i % 2 ? wg_gelu(wg_add(x, w[i]), WG_GELU_TANH) : wg_matmul(x, w[i]);
    }
    wg_scope_pop(g);
    wg_value *loss = wg_output(wg_sum(wg_mul(x, x), WG_ALL_AXES, WG_DROP), "loss");
    assert_int_equal(wg_grad(loss, w, 4, dw), WG_OK);
    for (int i = 0; i < 4; i++)
        wg_assign(w[i], wg_sub(w[i], wg_scale(dw[i], 0.1)));
    assert_int_equal(wg_graph_status(g), WG_OK);
    return g;
}

static void each_pass_leaves_a_valid_graph(void **state)
{
    (void)state;
    wg_backend_list all;
    wg_graph *g = small_model();
    assert_int_equal(wg_backend_list_open(&all, NULL, NULL), WG_OK);
    const wg_plan_options ways[] = {
        {.backends = all.backend, .n_backends = all.count},
        {.keep_all = true},
        {.no_cse = true, .no_fold = true, .no_inplace = true},
    };
    for (int i = 0; i < WG_COUNT(ways); i++)
        run_passes(g, &ways[i], MAX_PASSES);
    for (uint64_t seed = 1; seed <= 40; seed++) {
        random_graph r = rg_new(20 + 2 * seed, seed);
        run_passes(r.g, &ways[seed % WG_COUNT(ways)], MAX_PASSES);
        rg_free(&r);
    }
    wg_backend_list_close(&all);
    wg_graph_free(g);
}

/* As after an error in the next one. */
static void planning_may_end_after_any_pass(void **state)
{
    (void)state;
    size_t count;
    wgi_passes(&count);
    wg_graph *g = small_model();
    for (size_t i = 0; i <= count; i++)
        run_passes(g, NULL, i);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_run_in_the_documented_order),
        cmocka_unit_test(each_pass_leaves_a_valid_graph),
        cmocka_unit_test(planning_may_end_after_any_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
