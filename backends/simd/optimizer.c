/* adam and adamw, of one parameter or of several, and the norm of all gradients, by
 * kernels/adam.c; sgd by kernels/sgd.c. */
#include "backends/simd/internal.h"
#include "wengert/ops/optimizer.h"

#include <math.h>

/* Element of a scalar of any dtype that a step may have. */
static double scalar(const wg_call *c, int i)
{
    switch (c->node->in[i]->dtype) {
    case WG_F32: return (double)*(const float *)c->in[i];
    case WG_F64: return *(const double *)c->in[i];
    case WG_I32: return *(const int32_t *)c->in[i];
    default: return (double)*(const int64_t *)c->in[i];
    }
}

static bool is_step(wg_dtype dtype)
{
    return dtype == WG_F32 || dtype == WG_F64 || wg_dtype_is_int(dtype);
}

/* One step with learning rate and step in operands `lr` and `step`. */
static void run_adam(wg_call *c, int lr, int step, simd_adam a)
{
    const wg_adam_attrs *attrs = c->node->attrs;
    bool decoupled = c->node->op == &wg_op_adamw || c->node->op == &wg_op_adamw_scaled;
    double t = scalar(c, step), rate = scalar(c, lr);
    if (!(t > 0)) {
        wg_call_fail(c, "step is %g, must be positive", t);
        return;
    }
    a.beta1 = attrs->beta1;
    a.beta2 = attrs->beta2;
    a.share1 = (1 - attrs->beta1);
    a.share2 = (1 - attrs->beta2);
    a.eps = attrs->eps;
    a.rate = (rate / (1 - pow(attrs->beta1, t)));
    a.root_scale = (1 / sqrt(1 - pow(attrs->beta2, t)));
    a.shrink = decoupled ? (rate * attrs->weight_decay) : 0;
    a.decay = decoupled ? 0 : attrs->weight_decay;
    a.threads = c->threads;
    simd_floats(c)->adam(&a);
}

/* The parameter whose p g m v are the operands from `in` on, and whose new p m v the results from
 * `out` on. */
static simd_adam_tensor tensor_of(const wg_call *c, int in, int out)
{
    return (simd_adam_tensor){.p = c->in[in],
                              .g = c->in[in + 1],
                              .m = c->in[in + 2],
                              .v = c->in[in + 3],
                              .new_p = c->out[out],
                              .new_m = c->out[out + 1],
                              .new_v = c->out[out + 2],
                              .count = wg_value_count(c->node->in[in])};
}

/* ---- one parameter: p g m v lr step -> p m v ------------------------------------------------- */

static const char *refuses(const wg_node *n)
{
    const char *why = wgi_simd_refuses_other_floats(n);
    if (why)
        return why;
    return is_step(n->in[5]->dtype) ? NULL : "a step of that dtype";
}

static void run(wg_call *c)
{
    simd_adam_tensor one = tensor_of(c, 0, 0);
    run_adam(c, 4, 5, (simd_adam){.tensor = &one, .n_tensors = 1, .factor = 1});
}

/* ---- several: lr step factor (p g m v)... -> (p m v)... -------------------------------------- */

static const char *refuses_scaled(const wg_node *n)
{
    const char *why = wgi_simd_refuses_other_floats(n);
    if (why)
        return why;
    return is_step(n->in[1]->dtype) ? NULL : "a step of that dtype";
}

static size_t scaled_scratch(const wg_node *n, int threads)
{
    (void)threads;
    return (size_t)(n->n_out / 3) * sizeof(simd_adam_tensor);
}

static void run_scaled(wg_call *c)
{
    simd_adam_tensor *tensor = c->scratch;
    int count = c->node->n_out / 3;
    for (int i = 0; i < count; i++)
        tensor[i] = tensor_of(c, 3 + 4 * i, 3 * i);
    run_adam(c, 0, 1, (simd_adam){.tensor = tensor, .n_tensors = count, .factor = scalar(c, 2)});
}

/* ---- global_norm: g... -> norm --------------------------------------------------------------- */

static size_t norm_scratch(const wg_node *n, int threads)
{
    (void)threads;
    size_t pieces = 0;
    for (int i = 0; i < n->n_in; i++)
        pieces += (size_t)simd_pieces(wg_value_count(n->in[i]));
    return (size_t)n->n_in * sizeof(simd_span) + pieces * sizeof(double);
}

static void run_norm(wg_call *c)
{
    simd_span *span = c->scratch;
    int count = c->node->n_in;
    for (int i = 0; i < count; i++)
        span[i] = (simd_span){c->in[i], wg_value_count(c->node->in[i])};
    simd_spans a = {.span = span,
                    .n_spans = count,
                    .partial = (double *)(void *)(span + count),
                    .y = c->out[0],
                    .threads = c->threads};
    simd_floats(c)->norm(&a);
}

/* ---- sgd: p g lr [velocity] -> p [velocity] -------------------------------------------------- */

static void run_sgd(wg_call *c)
{
    const wg_sgd_attrs *attrs = c->node->attrs;
    bool moves = c->node->n_in > 3;
    simd_floats(c)->sgd(&(simd_sgd){.p = c->in[0],
                                    .g = c->in[1],
                                    .velocity = moves ? c->in[3] : NULL,
                                    .new_p = c->out[0],
                                    .new_velocity = moves ? c->out[1] : NULL,
                                    .count = wg_value_count(c->node->in[0]),
                                    .rate = scalar(c, 2),
                                    .momentum = attrs->momentum,
                                    .decay = attrs->weight_decay,
                                    .nesterov = attrs->nesterov,
                                    .threads = c->threads});
}

const simd_kernel wgi_simd_optimizer[] = {
    {&wg_op_sgd, "fused update", wgi_simd_refuses_other_floats, NULL, run_sgd},
    {&wg_op_adam, "fused update", refuses, NULL, run},
    {&wg_op_adamw, "fused update", refuses, NULL, run},
    {&wg_op_adam_scaled, "one update of all", refuses_scaled, scaled_scratch, run_scaled},
    {&wg_op_adamw_scaled, "one update of all", refuses_scaled, scaled_scratch, run_scaled},
    {&wg_op_global_norm, "squares", wgi_simd_refuses_other_floats, norm_scratch, run_norm},
    {.op = NULL},
};
