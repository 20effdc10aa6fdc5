/* Are the derivatives right?  Gradients of a graph, or of one op, against finite differences in
 * double precision.
 *
 * The scalar  L(x) = sum_j <c_j, y_j(x)>  with random cotangents c (never all ones: under a plain
 * sum softmax has the derivative zero, and any rule of it passes) is differentiated twice: by
 * wg_vjp, and one element at a time by central differences
 *
 *     two-point    (L(x+h) - L(x-h)) / 2h                                  h = 6e-6, bar 1e-8
 *     four-point   (8 (L(x+h) - L(x-h)) - (L(x+2h) - L(x-2h))) / 12h       h = 2^-10, bar 1e-9
 *     dyadic       two-point with x, c and h sums of few powers of two, where a piecewise linear
 *                  function incurs no rounding at all                  h from the grid, bar 1e-15
 *
 * and the error |numeric - analytic| / max(1, |numeric|) must not exceed the bar; a NaN does.  The
 * check also fails when nothing was compared, or when more than 5% of the elements had to be
 * skipped because a kink of the graph lies within h (then the slopes of the two sides differ, at
 * every h).
 *
 * Second order: the gradient is itself a function of x and c, and is checked in the same way. */
#ifndef WG_AUTOGRAD_GRADCHECK_H
#define WG_AUTOGRAD_GRADCHECK_H

#include "wengert/autograd/grad.h"
#include "wengert/graph/evaluator.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What one leaf of the graph holds during the check.  Leaves that are not mentioned get floats
 *  from (-1, 1) and random bools; integers must be mentioned. */
typedef struct wg_gradcheck_leaf {
    const wg_value *leaf;
    const void *data; /* all its elements, in the leaf's own dtype; NULL: drawn from the range */
    double lo, hi;    /* floats in (lo, hi), integers in [lo, hi) */
} wg_gradcheck_leaf;

typedef enum wg_differences {
    WG_DIFFERENCES_DEFAULT = 0, /* two-point for graphs, by op->smoothness for ops */
    WG_DIFFERENCES_TWO_POINT,
    WG_DIFFERENCES_FOUR_POINT, /* for graphs without kinks */
} wg_differences;

/** Zero means the default in every field but `evaluator`. */
typedef struct wg_gradcheck_options {
    const wg_evaluator *evaluator; /* who computes: wg_plan_evaluator() */
    int order;     /* 1 (default), 2: also the derivatives of the gradient, 3: ...  */
    uint64_t seed; /* of the points and cotangents                                  */
    uint64_t step; /* at which every evaluation runs: random ops draw the same      */
    size_t max;    /* elements compared in each leaf, chosen at random; default 64  */
    wg_differences differences;
    const wg_gradcheck_leaf *leaves; /* n_leaves */
    size_t n_leaves;
    wg_value *const *y; /* n_y: what is differentiated; default: the graph's float outputs */
    size_t n_y;
    wg_value *const *wrt; /* n_wrt leaves: in what; default: float parameters, states and inputs */
    size_t n_wrt;
    const wg_grad_hook *hook; /* of first-order gradients: breaks rules on purpose in tests */
    bool no_blame;            /* do not look for the guilty node                           */
} wg_gradcheck_options;

typedef struct wg_gradcheck_report {
    size_t compared, skipped, failed; /* elements                                          */
    bool no_derivative;               /* of an op: discrete, or no float operand or result */
    bool empty;       /* of an op: all float operands of the sample have no elements */
    double tolerance; /* allowed error                                     */
    double worst;     /* largest error, and where it was:                  */
    int order;
    char leaf[128];
    int64_t index;
    double analytic, numeric;
    char guilty[256];  /* "op tanh at model.c:41 in encoder (forward)", or ""              */
    char message[768]; /* the whole verdict in one line                                    */
} wg_gradcheck_report;

/** Checks a graph, which stays as it is: the check works on a copy in f64.  `report` may be NULL.
 *  WG_OK: all within the bar.  WG_EDATA: not so, and report->message says where and whose fault it
 *  is: each node between is then checked alone at the values that it had.  WG_EINVAL: integers
 *  without range, wrt that are no float leaves, no evaluator.  Other status: the graph could not be
 *  differentiated or run. */
WG_API wg_status wg_gradcheck(wg_graph *g, const wg_gradcheck_options *options,
                              wg_gradcheck_report *report);

/** Checks one op, of the library or of the user, on one of its samples: all elements of all float
 *  operands, with cotangents for all float results at once and for each alone.  Of the options,
 *  `y`, `wrt`, `leaf` and `most` are not used.  Ops without a derivative must get gradients of
 *  exactly zero.  Status as of wg_gradcheck. */
WG_API wg_status wg_gradcheck_op(const wg_op *op, const wg_sample *sample,
                                 const wg_gradcheck_options *options, wg_gradcheck_report *report);

#ifdef __cplusplus
}
#endif
#endif
