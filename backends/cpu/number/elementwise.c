/* Elementwise ops of all numbers; float/elementwise.c has those of floats alone.  Integers wrap
 * around (these files are compiled with -fwrapv). */
#include "backends/cpu/elementwise.h"
#include "backends/divide.h"

/* clang-format off */
BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a * b)
/* a + b is reached only where one of them is NaN, and is NaN then */
BINARY(maximum, a < b ? b : a >= b ? a : a + b)
BINARY(minimum, a > b ? b : a <= b ? a : a + b)

BINARY_TO(equal, uint8_t, a == b)
BINARY_TO(not_equal, uint8_t, a != b)
BINARY_TO(less, uint8_t, a < b)
BINARY_TO(less_equal, uint8_t, a <= b)
BINARY_TO(greater, uint8_t, a > b)
BINARY_TO(greater_equal, uint8_t, a >= b)

/* clang-format on */

/* a - b floor(a / b): what C's remainder, which has the sign of a, lacks of the sign of b */
static inline real remainder_of(real a, real b)
{
#ifdef REAL_IS_FLOAT
    real r = fmod(a, b);
    return r == 0 ? copysign(r, b) : (r < 0) != (b < 0) ? r + b : r;
#else
    real r = b == -1 ? 0 : a % b; /* the smallest integer by -1 overflows */
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
#endif
}

/* floor(a / b); of floats from what remains, since a / b may round up to a whole number */
static inline real quotient_of(real a, real b)
{
#ifdef REAL_IS_FLOAT
    real r = fmod(a, b), q = rint((a - r) / b) - (r != 0 && (r < 0) != (b < 0));
    return b == 0 ? a / b : q == 0 ? (real)copysign(0, a / b) : q;
#else
    return b == -1 ? 0 - a : a / b - (a % b != 0 && (a < 0) != (b < 0));
#endif
}

/* a^b; of integers by squares, for b >= 0 */
static inline real power_of(real a, real b)
{
#ifdef REAL_IS_FLOAT
    return pow(a, b);
#else
    real y = 1;
    for (; b > 0; b >>= 1, a *= a)
        y *= b & 1 ? a : 1;
    return y;
#endif
}

/* Whether no exponent is a negative integer; else the call has failed with the first that is. */
static bool raises(wg_call *c)
{
#ifdef REAL_IS_FLOAT
    (void)c;
#else
    const real *b = c->in[1];
    int64_t count = cpu_count(c->node->in[1]);
    for (int64_t i = 0; i < count; i++)
        if (b[i] < 0) {
            wg_call_fail(c,
                         "element %lld of b is %lld, must be at least 0: a^b would be no integer",
                         (long long)i, (long long)b[i]);
            return false;
        }
#endif
    return true;
}

/* clang-format off */
static BINARY_OF(powers, real, real, power_of(a, b))
static BINARY_OF(remainders, real, real, remainder_of(a, b))
static BINARY_OF(quotients, real, real, quotient_of(a, b))

void KERNEL(pow)(wg_call *c)
{
    if (raises(c))
        powers(c);
}

void KERNEL(remainder)(wg_call *c)
{
    if (wgi_divides(c))
        remainders(c);
}

void KERNEL(floor_divide)(wg_call *c)
{
    if (wgi_divides(c))
        quotients(c);
}

UNARY(neg, -x)
UNARY(abs, x > 0 ? x : 0 - x) /* 0 - x rather than -x: abs(-0.0) is 0.0 */
UNARY(sign, (x > 0) - (x < 0))
UNARY(square, x * x)
