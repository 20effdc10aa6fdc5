/* The bits of i32 and i64.  Shifts move the bits of an unsigned number: C leaves those of a signed
 * one open. */
#include "backends/cpu/elementwise.h"

/* clang-format off */
#define BITS(name, formula)                                                                        \
    static BINARY_OF(name##_i32, uint32_t, uint32_t, formula)                                      \
    static BINARY_OF(name##_i64, uint64_t, uint64_t, formula)                                      \
    BY_DTYPE(name)
#define BY_DTYPE(name)                                                                             \
    void wgi_cpu_bitwise_##name(wg_call *c)                                                        \
    {                                                                                              \
        if (c->node->out[0]->dtype == WG_I32)                                                      \
            name##_i32(c);                                                                         \
        else                                                                                       \
            name##_i64(c);                                                                         \
    }

/* a 2^b; a count that is no place of a bit moves all bits out.  (A negative one is a large unsigned
 * one.) */
#define LEFT(bits) (b < (bits) ? a << (b & ((bits) - 1)) : 0)
/* floor(a / 2^b): bits are inverted before and after where a < 0, so that ones are moved in */
#define RIGHT(bits)                                                                                \
    ((b < (bits) ? (a ^ SIGN(a, bits)) >> (b & ((bits) - 1)) : 0) ^ SIGN(a, bits))
#define SIGN(a, bits) (0 - ((a) >> ((bits) - 1)))

BITS(and, a & b)
BITS(or, a | b)
BITS(xor, a ^ b)

static BINARY_OF(left_shift_i32, uint32_t, uint32_t, LEFT(32))
static BINARY_OF(left_shift_i64, uint64_t, uint64_t, LEFT(64))
BY_DTYPE(left_shift)
static BINARY_OF(right_shift_i32, uint32_t, uint32_t, RIGHT(32))
static BINARY_OF(right_shift_i64, uint64_t, uint64_t, RIGHT(64))
BY_DTYPE(right_shift)

static UNARY_OF(not_i32, uint32_t, uint32_t, ~x)
static UNARY_OF(not_i64, uint64_t, uint64_t, ~x)
BY_DTYPE(not)
    /* clang-format on */
