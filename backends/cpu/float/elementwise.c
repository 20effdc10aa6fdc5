/* Elementwise ops of floats.  Each line is the definition. */
#include "backends/cpu/elementwise.h"

BINARY(div, a / b)

UNARY(exp, exp(x))
UNARY(log, log(x))
UNARY(tanh, tanh(x))
UNARY(relu, x < 0 ? 0 : x) /* not x > 0 ? x : 0, which would turn NaN into 0 */
