/* A classifier in f64, its gradient and its updates: each node that computes has a vector kernel,
 * and the results are those of the reference. */
#include "tests/test.h"
#include "wengert.h"
#include "wengert/ops/table.h"

#include <math.h>

enum { N = 6, CLASSES = 20 };

/* Convolution, norms of channels and of rows, dropout, functions, a norm of the gradient, Adam */
static wg_value *classifier(wg_graph *g, wg_gradients *d)
{
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(N, 3, 12, 12));
    wg_value *labels = wg_input(g, "labels", WG_I32, WG_SHAPE(N));
    wg_value *y = wg_tanh(wg_conv_layer("conv", x, 24, 3, NULL));
    y = wg_groupnorm(wg_batchnorm(y, NULL, NULL, 1e-5), NULL, NULL, 4, 1e-5);
    y = wg_dropout(wg_exp(wg_scale(y, 0.1)), 0.25);
    y = wg_dense("hidden", wg_reshape(y, WG_SHAPE(N, -1)), 40, WG_ACTIVATION_GELU);
    y = wg_mul(y, wg_softmax(y, -1));
    wg_value *gain = wg_parameter(g, "gain", WG_F64, WG_SHAPE(40), wg_uniform_init(1));
    wg_value *bias = wg_parameter(g, "bias", WG_F64, WG_SHAPE(40), wg_uniform_init(1));
    y = wg_layernorm(wg_asinh(y), gain, bias, WG_LAST_AXIS, 1e-5);
    y = wg_rmsnorm(y, NULL, WG_LAST_AXIS, 1e-5);
    y = wg_dense("classes", y, CLASSES, WG_ACTIVATION_NONE);
    wg_value *loss = wg_output(wg_cross_entropy(y, labels, NULL, NULL), "loss");
    *d = wg_grad_all(loss);
    wg_value *norm = wg_clip_by_global_norm(d->grads, d->n, 1, d->grads);
    wg_output(norm, "norm");
    wg_adam_update(d->params, d->grads, d->n, wg_fill(g, WG_F64, WG_SCALAR, 1e-3), NULL);
    return loss;
}

static wg_plan *plan_of(wg_graph *g, bool reference)
{
    wg_plan *p = NULL;
    wg_plan_options o = {.reference = reference, .threads = 2, .seed = 3};
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    double *x = wg_plan_data(p, wg_graph_find(g, "x"));
    int32_t *labels = wg_plan_data(p, wg_graph_find(g, "labels"));
    for (int i = 0; i < N * 3 * 12 * 12; i++)
        x[i] = sin(1.3 * i);
    for (int i = 0; i < N; i++)
        labels[i] = 3 * i;
    return p;
}

/* Which may be left to the reference: what only moves or fills, and scalars. */
static bool is_small(const wg_node *n)
{
    return wg_value_count(n->out[0]) <= N * CLASSES || n->op == &wg_op_reshape ||
           n->op == &wg_op_fill;
}

static void nodes_have_vector_kernels(void **state)
{
    (void)state;
    wg_gradients d;
    wg_graph *g = wg_graph_new();
    classifier(g, &d);
    wg_plan *p = plan_of(g, false);
    int by_simd = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        wg_plan_step s = wg_plan_step_at(p, i);
        bool simd = strcmp(s.backend, "simd") == 0;
        by_simd += simd;
        check_that(simd || is_small(s.node), "%s by %s: %s", s.node->op->name, s.backend,
                   s.refused);
    }
    check_that(by_simd >= 20, "%d nodes", by_simd);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void results_are_those_of_the_reference(void **state)
{
    (void)state;
    wg_gradients d;
    wg_graph *g = wg_graph_new();
    classifier(g, &d);
    wg_plan *plans[] = {plan_of(g, false), plan_of(g, true)};
    int64_t compared = 0;
    for (uint64_t step = 1; step <= 5; step++)
        for (int i = 0; i < 2; i++)
            check_that(wg_plan_run(plans[i], step) == WG_OK, "%s", wg_plan_message(plans[i]));
    for (size_t k = 0; k < d.n; k++) {
        const double *a = wg_plan_data(plans[0], d.params[k]),
                     *b = wg_plan_data(plans[1], d.params[k]);
        for (int64_t i = 0; i < wg_value_count(d.params[k]); i++, compared++)
            check_that(fabs(a[i] - b[i]) <= 5e-13, "%s[%lld]: %.17g, not %.17g", d.params[k]->name,
                       (long long)i, a[i], b[i]);
    }
    check_that(compared > 10000, "%lld", (long long)compared);
    for (int i = 0; i < 2; i++)
        wg_plan_free(plans[i]);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_have_vector_kernels),
        cmocka_unit_test(results_are_those_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
