/* Elementwise ops of floats.  Each line is the definition. */
#include "backends/cpu/elementwise.h"
#include "wengert/ops/elementwise.h"

/* clang-format off */
BINARY(div, a / b)
BINARY(atan2, atan2(a, b))

UNARY(exp, exp(x))
UNARY(log, log(x))
UNARY(log1p, log1p(x))
UNARY(expm1, expm1(x))
UNARY(sqrt, sqrt(x))
UNARY(rsqrt, 1 / sqrt(x))
UNARY(reciprocal, 1 / x)
UNARY(sin, sin(x))
UNARY(cos, cos(x))
UNARY(tan, tan(x))
UNARY(asin, asin(x))
UNARY(acos, acos(x))
UNARY(atan, atan(x))
UNARY(sinh, sinh(x))
UNARY(cosh, cosh(x))
UNARY(asinh, asinh(x))
UNARY(acosh, acosh(x))
UNARY(atanh, atanh(x))
UNARY(erf, erf(x))
UNARY(floor, floor(x))
UNARY(ceil, ceil(x))
UNARY(round, rint(x)) /* halves to even */

UNARY_OF(KERNEL(isnan), real, uint8_t, isnan(x))
UNARY_OF(KERNEL(isinf), real, uint8_t, isinf(x) != 0)
UNARY_OF(KERNEL(isfinite), real, uint8_t, isfinite(x) != 0)
/* clang-format on */

/* NaN is neither below nor above, and stays */
static void clamp(wg_call *call, real lo, real hi)
{
    const real *in = call->in[0];
    real *out = call->out[0];
    int64_t count = cpu_count(call->node->out[0]);
#pragma omp parallel for simd schedule(static) num_threads(cpu_threads(call, count))
    for (int64_t i = 0; i < count; i++)
        out[i] = in[i] < lo ? lo : in[i] > hi ? hi : in[i];
}

void KERNEL(clamp)(wg_call *call)
{
    const wg_clamp_attrs *a = call->node->attrs;
    clamp(call, (real)a->min, (real)a->max);
}
