/* wg_graph_open: composite ops become the ops that they are made of. */
#include "tests/test.h"
#include "wengert.h"
#include "wengert/graph/picture.h"

#include <math.h>

/* Two times attention in one scope, and its gradient: [B, H, T, d]. */
static wg_graph *attentions(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1, 2, 4, 8)), *dx;
    wg_scope_push(g, "layer");
    wg_value *y = wg_attention(wg_attention(x, x, x, NULL, NULL), x, x, NULL, NULL);
    wg_scope_pop(g);
    wg_value *loss = wg_output(wg_mean(wg_square(y), WG_ALL_AXES, WG_DROP), "loss");
    assert_int_equal(wg_grad(loss, &x, 1, &dx), WG_OK);
    wg_output(dx, "dx");
    return g;
}

static int count_of(const wg_graph *g, const char *op, const char *scope)
{
    int n = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *node = wg_graph_node(g, i);
        n += strcmp(node->op->name, op) == 0 && (!scope || strcmp(node->scope->path, scope) == 0);
    }
    return n;
}

static float *run_of(wg_plan **p, wg_graph *g)
{
    const wg_plan_options o = {.reference = true, .threads = 1};
    check_that(wg_plan_create(p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    float *x = wg_plan_f32(*p, wg_graph_find(g, "x"));
    for (int i = 0; i < 64; i++)
        x[i] = (float)(i * 7 % 13) / 13;
    assert_int_equal(wg_plan_run(*p, 0), WG_OK);
    return wg_plan_f32(*p, wg_graph_output(g, 1));
}

/* And nothing else; the numbers stay. */
static void what_is_asked_for_is_opened(void **state)
{
    (void)state;
    static const char *const ops[] = {"attention", "attention_weights"};
    wg_graph *g = attentions(), *opened, *all;
    wg_error error;
    assert_int_equal(wg_graph_open(&opened, g, ops, 2, &error), WG_OK);
    assert_int_equal(wg_graph_verify(opened), WG_OK);
    assert_true(count_of(g, "attention", NULL) == 2 && count_of(opened, "attention", NULL) == 0);
    assert_int_equal(count_of(opened, "softmax", "layer/attention/attention_weights"), 1);
    assert_int_equal(count_of(opened, "softmax", "layer/attention_2/attention_weights"), 1);
    assert_int_equal(count_of(opened, "attention_grad", NULL), 2);
    assert_int_equal(wg_graph_open(&all, g, NULL, 0, &error), WG_OK);
    for (size_t i = 0; i < wg_graph_node_count(all); i++)
        assert_null(wg_graph_node(all, i)->op->expand);

    wg_graph *const graphs[] = {g, opened, all};
    wg_plan *plans[3];
    float *dx[3];
    for (int i = 0; i < 3; i++)
        dx[i] = run_of(&plans[i], graphs[i]);
    for (int i = 0; i < 64; i++)
        check_that(fabsf(dx[0][i] - dx[1][i]) <= 1e-6f && fabsf(dx[0][i] - dx[2][i]) <= 1e-6f,
                   "%g, %g, %g", (double)dx[0][i], (double)dx[1][i], (double)dx[2][i]);
    for (int i = 0; i < 3; i++) {
        wg_plan_free(plans[i]);
        wg_graph_free(graphs[i]);
    }
}

static void what_cannot_be_opened_is_named(void **state)
{
    (void)state;
    static const char *const ops[] = {"attention", "matmul"};
    wg_graph *g = attentions(), *opened = g;
    wg_error error;
    assert_int_equal(wg_graph_open(&opened, g, ops, 2, &error), WG_EINVAL);
    check_that(strstr(error.text, "no composite op 'matmul'") != NULL, "%s", error.text);
    assert_null(opened);
    assert_int_equal(wg_graph_status(g), WG_OK);
    wg_add(wg_graph_find(g, "x"), wg_input(g, "other", WG_F32, WG_SHAPE(3)));
    assert_int_equal(wg_graph_open(&opened, g, ops, 1, &error), WG_ESHAPE);
    check_that(strstr(error.text, "add") != NULL, "%s", error.text);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_asked_for_is_opened),
        cmocka_unit_test(what_cannot_be_opened_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
