/* adam and adamw by fast/adam.c. */
#include "backends/onednn/fast/fast.h"
#include "backends/onednn/internal.h"
#include "ops/optimizer.h"

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

static const char *refuses(const wg_node *n)
{
    wg_dtype step = n->in[5]->dtype;
    if (n->in[0]->dtype != WG_F32)
        return "not f32";
    return step == WG_BF16 || step == WG_BOOL ? "a step of that dtype" : NULL;
}

/* p g m v lr step -> p m v */
static void run(wg_call *c)
{
    const wg_adam_attrs *attrs = c->node->attrs;
    bool decoupled = c->node->op == &wg_op_adamw;
    double t = scalar(c, 5), lr = scalar(c, 4);
    if (!(t > 0)) {
        wg_call_fail(c, "step is %g, must be positive", t);
        return;
    }
    fast_adam a = {
        .p = c->in[0],
        .g = c->in[1],
        .m = c->in[2],
        .v = c->in[3],
        .new_p = c->out[0],
        .new_m = c->out[1],
        .new_v = c->out[2],
        .count = wg_value_count(c->node->in[0]),
        .beta1 = (float)attrs->beta1,
        .beta2 = (float)attrs->beta2,
        .share1 = (float)(1 - attrs->beta1),
        .share2 = (float)(1 - attrs->beta2),
        .eps = (float)attrs->eps,
        .rate = (float)(lr / (1 - pow(attrs->beta1, t))),
        .root_scale = (float)(1 / sqrt(1 - pow(attrs->beta2, t))),
        .shrink = decoupled ? (float)(lr * attrs->weight_decay) : 0,
        .decay = decoupled ? 0 : (float)attrs->weight_decay,
        .threads = c->threads,
    };
    od_fast()->adam(&a);
}

const od_own od_own_update[] = {
    {&wg_op_adam, "fused update", refuses, NULL, run},
    {&wg_op_adamw, "fused update", refuses, NULL, run},
    {.op = NULL},
};
