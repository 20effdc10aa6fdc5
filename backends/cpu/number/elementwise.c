/* Elementwise ops of all numbers; float/elementwise.c has those of floats alone.  Integers wrap
 * around (these files are compiled with -fwrapv). */
#include "backends/cpu/elementwise.h"

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

UNARY(neg, -x)
UNARY(abs, x > 0 ? x : 0 - x) /* 0 - x rather than -x: abs(-0.0) is 0.0 */
UNARY(sign, (x > 0) - (x < 0))
UNARY(square, x * x)
