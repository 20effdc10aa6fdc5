/* An op of one's own, with the rights of a built-in one: shape rule, kernel, gradient, samples to
 * check it on.
 *
 * The inverse square root unit (Carlile et al. 2017):
 *
 *     y = x / sqrt(1 + alpha x^2)        dy/dx = (1 + alpha x^2)^(-3/2) */
#include "wengert.h"

#include <math.h>
#include <stdio.h>

typedef struct isru_attrs {
    double alpha;
} isru_attrs;

static const wg_attr attrs[] = {WG_ATTR(REAL, isru_attrs, alpha)};

static bool infer(wg_node *n)
{
    const isru_attrs *a = n->attrs;
    if (!wg_need_float(n, 0))
        return false;
    if (!(a->alpha > 0))
        return wg_fail(n, WG_EINVAL, "alpha is %g, it must be positive", a->alpha);
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* The gradient is a graph as well, so it can be differentiated again. */
static void grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    const isru_attrs *a = n->attrs;
    wg_value *r = wg_rsqrt(wg_shift(wg_scale(wg_square(n->in[0]), a->alpha), 1));
    dx[0] = wg_mul(dy[0], wg_mul(r, wg_square(r)));
}

static void kernel(wg_call *c)
{
    const isru_attrs *a = c->node->attrs;
    int64_t n = wg_value_count(c->node->in[0]);
    if (c->node->in[0]->dtype == WG_F64) {
        const double *x = c->in[0];
        double *y = c->out[0];
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] / sqrt(1 + a->alpha * x[i] * x[i]);
    } else {
        const float *x = c->in[0];
        float *y = c->out[0];
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] / sqrtf(1 + (float)a->alpha * x[i] * x[i]);
    }
}

/* An operand each: from -2 to 2, of rank 2 and shape [3, 4], and of rank 1 and shape [5]. */
static const wg_sample samples[] = {
    {"alpha 1", &(const isru_attrs){1}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
    {"alpha 3", &(const isru_attrs){3}, 1, {WG_FLOATS(-2, 2, 1, 5)}},
};

static const wg_op isru_op = {
    .name = "isru",
    .formula = "y = x / sqrt(1 + alpha x^2)",
    .family = WG_FAMILY_ACTIVATION,
    .operands = "x",
    .results = "y",
    .flags = WG_OP_ELEMENTWISE,
    .reads = WG_READS_X,
    .inplace = 1 << 0,
    WG_ATTRS(isru_attrs, attrs),
    .infer = infer,
    .grad = grad,
    .reference = kernel,
    WG_SAMPLES(samples),
};

/* The builder; the macro hands it the caller's file and line for messages. */
static wg_value *isru_at(const char *at, wg_value *x, double alpha)
{
    return wg_apply1(at, &isru_op, &(isru_attrs){alpha}, x);
}
#define isru(...) isru_at(WG_HERE, __VA_ARGS__)

int main(void)
{
    for (int i = 0; i < isru_op.n_samples; i++) {
        wg_gradcheck_report report;
        wg_status status = wg_gradcheck_op(
            &isru_op, &samples[i],
            &(wg_gradcheck_options){.evaluator = wg_plan_evaluator(), .order = 2}, &report);
        printf("%s: %s\n", samples[i].name, report.message);
        if (status != WG_OK)
            return 1;
    }

    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)), *dx;
    wg_value *y = wg_output(isru(x, 1), "y");
    wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), &x, 1, &dx);
    wg_output(dx, "dx");
    wg_plan *plan;
    if (wg_plan_create(&plan, g, NULL) != WG_OK) {
        fprintf(stderr, "%s\n", wg_graph_message(g));
        return 1;
    }
    float *xs = wg_plan_f32(plan, x);
    for (int i = 0; i < 3; i++)
        xs[i] = (float)i;
    if (wg_plan_run(plan, 0) != WG_OK) {
        fprintf(stderr, "%s\n", wg_plan_message(plan));
        return 1;
    }
    const float *ys = wg_plan_f32(plan, y), *dxs = wg_plan_f32(plan, dx);
    for (int i = 0; i < 3; i++)
        printf("isru(%d) = %.4f, derivative %.4f\n", i, ys[i], dxs[i]);
    wg_plan_free(plan);
    wg_graph_free(g);
    return 0;
}
