/* The gradient check: compares the gradients of a graph or of one op with finite differences in
 * double precision.
 *
 * The scalar  L(x) = sum_j <c_j, y_j(x)>  with random cotangents c is differentiated twice: by
 * wg_vjp, and one element at a time by central differences.  (Cotangents of ones would not do: the
 * sum of a softmax has the derivative zero, so any multiple of a right rule would pass.)
 *
 *     two-point    (L(x+h) - L(x-h)) / 2h                               h = 6e-6, tolerance 1e-8
 *     four-point   (8 (L(x+h) - L(x-h)) - (L(x+2h) - L(x-2h))) / 12h    h = 2^-10, tolerance 1e-9
 *     dyadic       two-point with x, c and h sums of few powers of two, for which a piecewise
 *                  linear function has no rounding errors        h from the grid, tolerance 1e-15
 *
 * and the error |numeric - analytic| / max(1, |numeric|) must not exceed the tolerance; NaN fails.
 * The check also fails when nothing was compared, or when more than 5% of the elements had to be
 * skipped because a kink of the graph lies within h (the slopes on both sides then differ at every
 * h).
 *
 * Second order: the gradient is itself a function of x and c, and is checked in the same way. */
#ifndef WG_AUTOGRAD_GRADCHECK_H
#define WG_AUTOGRAD_GRADCHECK_H

#include "wengert/autograd/grad.h"
#include "wengert/graph/evaluator.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The numbers of one leaf during the check.  Leaves without such an entry get floats from (-1, 1)
 *  or random bools; integer leaves need one. */
typedef struct wg_gradcheck_leaf {
    const wg_value *leaf; /* a parameter, state or input of the graph */
    const void *data; /* all its elements, in the leaf's own dtype; NULL: drawn from the range */
    double lo;        /* lower end of the range: floats in (lo, hi), integers in [lo, hi) */
    double hi;        /* upper end */
    wg_matrices matrices; /* of floats drawn: WG_MATRICES_DOMINANT for a matrix to be factorised */
} wg_gradcheck_leaf;

/** The formula of the numeric derivative. */
typedef enum wg_differences {
    WG_DIFFERENCES_DEFAULT = 0, /* two-point for graphs, by op->smoothness for ops */
    WG_DIFFERENCES_TWO_POINT,   /* for graphs with kinks */
    WG_DIFFERENCES_FOUR_POINT,  /* for graphs without kinks */
} wg_differences;

/** Zero means the default in every field but `evaluator`. */
typedef struct wg_gradcheck_options {
    const wg_evaluator *evaluator; /* computes both sides: wg_plan_evaluator() */
    int order;                  /* 1 (default), 2: also the derivatives of the gradient, 3: ... */
    uint64_t seed;              /* of the points and cotangents */
    uint64_t step;              /* of every evaluation: random ops always draw the same */
    size_t max;                 /* elements compared in each leaf, chosen at random; default 64 */
    wg_differences differences; /* the formula */
    const wg_gradcheck_leaf *leaves; /* the numbers of some leaves */
    size_t n_leaves;                 /* number of these leaves */
    wg_value *const *y;       /* values to differentiate; default: the graph's float outputs */
    size_t n_y;               /* number of y */
    wg_value *const *wrt;     /* leaves to differentiate in; default: all float leaves */
    size_t n_wrt;             /* number of wrt */
    const wg_grad_hook *hook; /* of first-order gradients: breaks rules on purpose in tests */
    bool no_blame;            /* do not search for the faulty rule */
} wg_gradcheck_options;

/** The result of a check. */
typedef struct wg_gradcheck_report {
    size_t compared;    /* elements whose derivatives were compared */
    size_t skipped;     /* elements at a kink */
    size_t failed;      /* of those compared */
    bool no_derivative; /* of an op: discrete, or no float operand or result */
    bool empty;         /* of an op: no float operand of the sample has elements */
    double tolerance;   /* maximum allowed error */
    double worst;       /* largest error; the next five fields say where it was */
    int order;          /* 1: of the gradient, 2: of its derivative, ... */
    char leaf[128];     /* name of the leaf */
    int64_t index;      /* of the element, row-major */
    double analytic;    /* by wg_vjp */
    double numeric;     /* by differences */
    char guilty[256];   /* "op tanh at model.c:41 in encoder (forward)", or "" */
    char message[768];  /* the whole verdict in one line */
} wg_gradcheck_report;

/** Checks a graph, which is not changed: the check works on a copy in f64.  `report` may be NULL.
 *  WG_OK: all errors are within the tolerance.  WG_EDATA: some are not, and report->message names
 *  the element and the faulty node, which is found by checking each node between wrt and y alone at
 *  its values.  WG_EINVAL: integers without a range, a wrt that is not a float leaf, no evaluator.
 *  Any other status: the graph could not be differentiated or run. */
WG_API WG_MUST_USE wg_status wg_gradcheck(wg_graph *g, const wg_gradcheck_options *options,
                                          wg_gradcheck_report *report);

/** Checks one op, built-in or user-defined, on one of its samples: all elements of all float
 *  operands, with cotangents for all float results together and for each alone.  Of the options,
 *  `y`, `wrt`, `leaves` and `max` are not used.  Ops without a derivative must get gradients of
 *  exactly zero.  Returns the status as wg_gradcheck does. */
WG_API WG_MUST_USE wg_status wg_gradcheck_op(const wg_op *op, const wg_sample *sample,
                                             const wg_gradcheck_options *options,
                                             wg_gradcheck_report *report);

#ifdef __cplusplus
}
#endif
#endif
