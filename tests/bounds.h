/* How far a result may be from the truth, for every op: what all comparisons of backends with the
 * reference share. */
#ifndef WG_TESTS_BOUNDS_H
#define WG_TESTS_BOUNDS_H

#include "tests/conformance.h"

typedef enum bound_kind {
    BOUND_RELATIVE,    /* |y - truth| <= tolerance max(1, |truth|) */
    BOUND_MEAN_SQUARE, /* the normalised mean squared error, for sums of products */
    BOUND_PRODUCT,     /* the same, and exact on whole numbers */
    BOUND_TERMS        /* what rounding can do to each element: see norm_bounds */
} bound_kind;

typedef struct op_bound {
    const char *op;
    double tolerance;
    bound_kind kind;
    double lo, hi; /* the numbers of float operands, if not those of the sample */
} op_bound;

/* That of f32 kernels against the reference in f64. */
op_bound bound_of(const wg_op *op);

/* That of ops without one of their own: |y - truth| <= 4e-6 max(1, |truth|). */
op_bound bound_usual(void);

/* The error of each result of a case, which must be <= the bound's tolerance.  NaN and infinities
 * count as right only where the truth has the same. */
void bound_errors(const op_bound *b, const conf_case *c, const conf_results *y,
                  const conf_results *truth, double error[CONF_RESULTS]);

/* Whether result i, in f32, is within the usual bound though it misses its mean square: that is of
 * the size of the results, and these are small, at most 0.1 in the mean square, as the gradient of
 * a loss is that is almost 0.  Never for products of whole numbers. */
bool bound_of_small(const op_bound *b, const conf_case *c, const conf_results *y,
                    const conf_results *truth, int i);

/* ---- bf16 and f16 ---------------------------------------------------------------------------- */

typedef struct half_format half_format;

/* One rounding to the format, at most 2^-8 |t| in bf16 and 2^-11 |t| in f16, of what f32 computes,
 * which is within 1e-5 max(1, |t|) of the truth t.  So every op, composites too, is rounded once,
 * at its end. */
double bound_of_half(const half_format *f, double t);

/* The numbers of a case that the format can hold. */
void bound_round_operands(const half_format *f, conf_case *c);

/* The worst error of each result as a share of its bound, in which `b` says what f32 alone may err;
 * what is beyond f32 or the format is infinite.  A number halfway between two of 8 bits may become
 * either: in bf16 16 of 95,164, no more than one in a hundred of a result. */
void bound_shares_of_half(const half_format *f, const op_bound *b, const conf_results *y,
                          const conf_results *truth, double share[CONF_RESULTS]);

#endif
