/* The loops of float/elementwise.c, for kernels that call several in turn. */
#ifndef WG_BACKENDS_SIMD_KERNELS_LOOPS_H
#define WG_BACKENDS_SIMD_KERNELS_LOOPS_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"

enum { SIMD_STRIP = 512 }; /* maximum length of a loop, unless its operands are broadcast */

/* y[i] = f(a[i]) or f(a[i], b[i]), i < n; y may be a or b.  For functions with parameters, b[0] is
 * the parameter and b[1] the upper one; for SIMD_POW, b[0] is the exponent. */
typedef void simd_loop(const real *a, const real *b, real *y, int64_t n);

/* y = f(a), n <= SIMD_STRIP; b[0] is the order of polygamma.  See float/gamma.c. */
simd_loop SIMD(loop_lgamma), SIMD(loop_digamma), SIMD(loop_polygamma);

/* The loop of any function but SIMD_CHOOSE. */
simd_loop *SIMD(loop_of)(simd_function f);

#endif
