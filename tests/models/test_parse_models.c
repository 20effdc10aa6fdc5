/* Whole models as texts: with gradients and updates, as plans make them, and random graphs.  What
 * comes back prints as the same text, and its plan computes the same bits. */
#include "tests/graph_text.h"
#include "tests/plans.h"
#include "tests/random_graph.h"
#include "wengert.h"

#include <math.h>

/* ---- the same bits --------------------------------------------------------------------------- */

/* Of each input: floats in (-1, 1), integers below the model's range. */
static void fill(wg_plan *p, wg_graph *g, const wg_model *m)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        wg_value *v = wg_graph_value(g, i);
        if (!(v->node->op->flags & WG_OP_INPUT))
            continue;
        int64_t below = m ? wg_model_range(m, v->name) : 2, count = wg_value_count(v);
        void *data = wg_plan_data(p, v);
        for (int64_t k = 0; k < count; k++)
            switch (v->dtype) {
            case WG_F32: ((float *)data)[k] = (float)sin((double)(k + 1)); break;
            case WG_I32: ((int32_t *)data)[k] = (int32_t)(k % below); break;
            case WG_I64: ((int64_t *)data)[k] = k % below; break;
            default: fail_msg("an input of %s", wg_dtype_name(v->dtype));
            }
    }
}

static size_t same_bits(wg_graph *a, wg_graph *b, const wg_model *m)
{
    size_t compared = 0;
    wg_plan *p = plan_of(a, &(wg_plan_options){.seed = 5}), *q = NULL;
    q = plan_of(b, &(wg_plan_options){.seed = 5});
    fill(p, a, m);
    fill(q, b, m);
    for (uint64_t step = 0; step < 2; step++) {
        run(p, step);
        run(q, step);
    }
    for (size_t i = 0; i < wg_graph_output_count(a); i++) {
        const wg_value *v = wg_graph_output(a, i);
        assert_memory_equal(wg_plan_data(p, v), wg_plan_data(q, wg_graph_output(b, i)),
                            wg_value_bytes(v));
        compared++;
    }
    for (size_t i = 0; i < wg_store_count(wg_plan_store(p)); i++) {
        const wg_tensor *t = wg_store_at(wg_plan_store(p), i);
        const wg_tensor *u = wg_store_find(wg_plan_store(q), t->name);
        assert_non_null(u);
        assert_memory_equal(t->data, u->data,
                            (size_t)wg_shape_count(&t->shape) * wg_dtype_size(t->dtype));
        compared++;
    }
    wg_plan_free(p);
    wg_plan_free(q);
    return compared;
}

/* ---- built-in models ------------------------------------------------------------------------- */

/* Adds the gradient, clipping and Adam: a whole training step. */
static void add_step(wg_graph *g, wg_value *loss)
{
    enum { MAX = 600 };
    wg_value *w[MAX], *dw[MAX];
    size_t n = wg_graph_parameters(g, w, MAX);
    assert_in_range(n, 1, MAX);
    check_that(wg_grad(loss, w, n, dw) == WG_OK, "%s", wg_graph_message(g));
    wg_clip_by_global_norm(dw, n, 1.0, dw);
    wg_adam_update(w, dw, n, wg_fill(g, WG_F32, WG_SCALAR, 1e-3), NULL);
    check_that(wg_graph_status(g) == WG_OK, "%s", wg_graph_message(g));
}

/* The plan's private graph: fused, folded and in another order. */
static void planned_graph_comes_back(wg_graph *g)
{
    wg_plan *p = plan_of(g, NULL);
    size_t size, again;
    char *first = text_of(wg_plan_graph(p), &size);
    wg_graph *back = parsed(first, size, NULL);
    char *second = text_of(back, &again);
    assert_int_equal(size, again);
    assert_memory_equal(first, second, size);
    assert_true(wg_graph_hash(back) == wg_graph_hash(wg_plan_graph(p)));
    free(first);
    free(second);
    wg_graph_free(back);
    wg_plan_free(p);
}

static void in_other_dtypes(const wg_graph *g)
{
    for (int i = 0; i < 2; i++) {
        wg_graph *other =
            wg_graph_clone(g, &(wg_clone_options){.floats_as = i ? WG_BF16 : WG_F64}, NULL);
        check_that(wg_graph_status(other) == WG_OK, "%s", wg_graph_message(other));
        wg_graph_free(there_and_back(other, NULL));
        wg_graph_free(other);
    }
}

static void every_model_comes_back_with_its_training_step(void **state)
{
    (void)state;
    size_t models = 0, compared = 0;
    const wg_model *m;
    for (size_t i = 0; (m = wg_model_at(i)); i++)
        for (size_t k = 0; k == 0 || (m->variant && m->variant(NULL, k - 1)); k++, models++) {
            wg_graph *g = wg_graph_new(), *back;
            if (k)
                m->variant(g, k - 1);
            else
                m->build(g);
            wg_value *loss = wg_graph_output(g, 0);
            wg_graph_free(there_and_back(g, NULL));
            in_other_dtypes(g);
            add_step(g, loss);
            back = there_and_back(g, NULL);
            compared += same_bits(g, back, m);
            planned_graph_comes_back(g);
            wg_graph_free(back);
            wg_graph_free(g);
        }
    printf("%zu models with gradients and updates; %zu tensors have the same bits\n", models,
           compared);
    assert_in_range(models, 20, 1000);
    assert_in_range(compared, 1000, 1000000);
}

/* Recomputed scopes, barriers, second derivatives. */
static void gradients_of_gradients_and_recomputed_scopes_come_back(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new(), *back;
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4, 6));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(6, 6), wg_xavier(1)), *dw, *ddw;
    wg_scope_push(g, "block");
    wg_scope_recompute(g);
    wg_value *y = wg_tanh(wg_matmul(wg_tanh(wg_matmul(x, w)), w));
    wg_scope_pop(g);
    wg_grad(wg_sum(wg_square(y), WG_ALL_AXES, WG_DROP), &w, 1, &dw);
    wg_grad(wg_sum(wg_square(dw), WG_ALL_AXES, WG_DROP), &w, 1, &ddw);
    wg_output(ddw, "ddw");
    back = there_and_back(g, NULL);
    assert_int_equal(same_bits(g, back, NULL), 2);
    wg_graph_free(back);
    wg_graph_free(g);
}

/* ---- random graphs --------------------------------------------------------------------------- */

/* In every tenth, the gradient of an output with respect to the states. */
static void add_random_gradient(random_graph *r)
{
    wg_value *d[4];
    wg_value *loss = wg_sum(wg_square(wg_graph_output(r->g, 0)), WG_ALL_AXES, WG_DROP);
    check_that(wg_grad(loss, r->state, 4, d) == WG_OK, "%s", wg_graph_message(r->g));
    for (int i = 0; i < 4; i++)
        wg_output(d[i], NULL);
}

static void random_graphs_come_back(void **state)
{
    (void)state;
    enum { GRAPHS = 10000 };
    size_t nodes = 0, compared = 0;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        random_graph r = rg_new(10 + seed % 40, seed);
        if (seed % 10 == 0)
            add_random_gradient(&r);
        wg_graph *back = there_and_back(r.g, NULL);
        if (seed % 50 == 0)
            compared += same_bits(r.g, back, NULL);
        nodes += wg_graph_node_count(back);
        wg_graph_free(back);
        rg_free(&r);
    }
    printf("%d random graphs of %zu nodes; %zu tensors have the same bits\n", GRAPHS, nodes,
           compared);
    assert_in_range(nodes, 20 * GRAPHS, 1000 * GRAPHS);
    assert_in_range(compared, 800, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_comes_back_with_its_training_step),
        cmocka_unit_test(gradients_of_gradients_and_recomputed_scopes_come_back),
        cmocka_unit_test(random_graphs_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
