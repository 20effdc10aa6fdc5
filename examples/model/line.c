/* A model in a shared object: a line through points, with an op of its own.
 *
 *     wengert graph ./libline.so --grad          # print it, or --svg FILE
 *     wengert gradcheck ./libline.so --order 2
 *     wengert bench ./libline.so --step
 *     wengert diff ./libline.so --dtypes f64,f32 */
#include "wengert.h"

#include <math.h>

/* ---- an op: y = log(cosh(x)), a loss that is smooth at 0 and linear far away ----------------- */

static bool infer_log_cosh(wg_node *n)
{
    return wg_need_float(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* d/dx log(cosh(x)) = tanh(x) */
static void grad_log_cosh(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    dx[0] = wg_mul(dy[0], wg_tanh(n->in[0]));
}

static void run_log_cosh(wg_call *c)
{
    int64_t n = wg_value_count(c->node->out[0]);
    for (int64_t i = 0; i < n; i++)
        if (c->node->in[0]->dtype == WG_F64)
            ((double *)c->out[0])[i] = log(cosh(((const double *)c->in[0])[i]));
        else
            ((float *)c->out[0])[i] = logf(coshf(((const float *)c->in[0])[i]));
}

static const wg_op log_cosh = {
    .name = "log_cosh",
    .formula = "y = log(cosh(x))",
    .operands = "x",
    .flags = WG_OP_ELEMENTWISE,
    .reads = WG_READS_X,
    .infer = infer_log_cosh,
    .grad = grad_log_cosh,
    .reference = run_log_cosh,
};

/* ---- the model ------------------------------------------------------------------------------- */

/* Classes of points choose an offset: y = w x + b[class].  Returns the loss, an output. */
static wg_value *build(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(64));
    wg_value *y = wg_input(g, "y", WG_F32, WG_SHAPE(64));
    wg_value *class = wg_input(g, "class", WG_I64, WG_SHAPE(64));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SCALAR, wg_ones());
    wg_value *b = wg_parameter(g, "b", WG_F32, WG_SHAPE(5, 1), wg_normal_init(0.1));

    wg_value *offset = wg_reshape(wg_embedding(b, class), WG_SHAPE(64));
    wg_value *error = wg_sub(wg_add(wg_mul(w, x), offset), y);
    wg_value *far = wg_apply1(WG_HERE, &log_cosh, NULL, error);
    return wg_output(wg_mean(far, WG_ALL_AXES, WG_DROP), "loss");
}

static const wg_op *const own_ops[] = {&log_cosh, NULL};

static const wg_model line = {
    .name = "line",
    .doc = "a line with an offset for each class",
    .build = build,
    .ranges = {{"class", 5}}, /* integers of this input are drawn from [0, 5) */
    .ops = own_ops,           /* with which its graph is read back from a file */
};

/* ---- the one function that is looked for ----------------------------------------------------- */

WG_API wg_model_entry wengert_model;

const wg_model *wengert_model(uint32_t abi)
{
    return abi == WG_MODEL_ABI ? &line : NULL;
}
