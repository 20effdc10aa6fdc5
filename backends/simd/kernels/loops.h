/* The loops of float/elementwise.c, for kernels that call several in turn. */
#ifndef WG_BACKENDS_SIMD_KERNELS_LOOPS_H
#define WG_BACKENDS_SIMD_KERNELS_LOOPS_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"

enum { SIMD_STRIP = 512 }; /* maximum length of a loop, unless its operands are broadcast */

/* y[i] = f(a[i]), f(a[i], b[i]) or f(a[i], b[i], c[i]), i < n; y may be an operand.  The parameter
 * and the upper one of a function that has them stand where the operand after its last would; for
 * SIMD_POW, b[0] is the exponent. */
typedef void simd_loop(const real *a, const real *b, const real *c, real *y, int64_t n);

/* y = f(a), n <= SIMD_STRIP; b[0] is the order of polygamma.  See float/gamma.c. */
simd_loop SIMD(loop_lgamma), SIMD(loop_digamma), SIMD(loop_polygamma);

/* The loop of a function; where all elements of a, or of b, are one number, it may read the first
 * alone. */
simd_loop *SIMD(loop_of)(simd_function f, bool a_is_number, bool b_is_number);

#endif
