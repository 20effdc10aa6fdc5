/* Elementwise ops of all numbers.  float/elementwise.c has those of floats alone. */
#include "backends/cpu/elementwise.h"

BINARY(add, a + b)
BINARY(sub, a - b)
BINARY(mul, a *b)

UNARY(neg, -x)
UNARY(relu_mask, (real)(x > 0))
