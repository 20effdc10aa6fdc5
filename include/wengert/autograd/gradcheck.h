/* The gradient check: compares the gradients of a graph or of one op with finite differences in
 * double precision.
 *
 * The scalar  L(x) = sum_j <c_j, y_j(x)>  with random cotangents c is differentiated twice: by
 * wg_vjp, and by central differences, one element at a time and, in leaves of which only some
 * elements are checked, also along a random line through all of them.  (Cotangents of ones would
 * not do: the sum of a softmax has the derivative zero, so any multiple of a right rule would
 * pass.)
 *
 *     two-point    (L(x+h) - L(x-h)) / 2h                            h = 2^-17, tolerance 1e-8
 *     four-point   from two-point ones at h and 4h, by Richardson    h = 2^-11, tolerance 1e-9
 *     dyadic       two-point with x, c and h sums of few powers of two, for which a piecewise
 *                  linear function has no rounding errors        h from the grid, tolerance 1e-15
 *
 * Agreement within the tolerance, relative to the gradient, confirms it.  A disagreement may be the
 * fault of the differences: of truncation or of rounding.  Their error is then estimated from steps
 * over eight decades (autograd/slopes.c), and that of the gradient from repeating it a few units in
 * the last place away.  The gradient is
 *
 *     wrong        if it differs by more than ten times the estimated error
 *     right        if it does not, and a relative error of 1e-4 would have shown
 *     undecided    if it does not, but such an error would not have shown
 *
 * An element at a kink or a jump of the graph is skipped.  The check fails when nothing was
 * compared, when more than 5% of the elements were skipped or undecided, or when all those of one
 * leaf were undecided.  If the points were drawn at random, an undecided check is repeated at up to
 * three others: a large model may have a kink near one point, but rarely near all.
 *
 * The results of wg_stop_gradient are held constant in the differences, as the gradient takes them.
 *
 * Second order: the gradient is itself a function of x and c, and is checked in the same way. */
#ifndef WG_AUTOGRAD_GRADCHECK_H
#define WG_AUTOGRAD_GRADCHECK_H

#include "wengert/autograd/grad.h"
#include "wengert/graph/evaluator.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The numbers of one leaf during the check.  Without such an entry, parameters and states are
 *  drawn from their wg_init (constants are scattered by 1/8, so that gains are not all 1), inputs
 *  get floats from (-1, 1) or random bools, and integer inputs need an entry. */
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
    WG_DIFFERENCES_TWO_POINT,   /* tried first: for graphs with kinks */
    WG_DIFFERENCES_FOUR_POINT,  /* tried first: for graphs without kinks */
} wg_differences;

/** What a check has found out. */
typedef enum wg_gradcheck_verdict {
    WG_GRADCHECK_NONE = 0, /* nothing: the check could not be carried out */
    WG_GRADCHECK_RIGHT,    /* the gradient is right */
    WG_GRADCHECK_WRONG,    /* the gradient is wrong */
    WG_GRADCHECK_UNDECIDED /* the differences cannot tell; the message says why */
} wg_gradcheck_verdict;

/** Zero means the default in every field but `evaluator`. */
typedef struct wg_gradcheck_options {
    const wg_evaluator *evaluator; /* computes both sides: wg_plan_evaluator() */
    int order;     /* 1 (default), 2: also the derivatives of the gradient, 3: ... */
    uint64_t seed; /* of the points and cotangents */
    uint64_t step; /* of every evaluation: random ops always draw the same */
    /** Maximum number of elements compared in each leaf, chosen at random.  Default: 64; in a graph
     *  of more than 8 leaves fewer, 512 in all, but at least 4 in each. */
    size_t max;
    wg_differences differences;      /* the formula */
    const wg_gradcheck_leaf *leaves; /* the numbers of some leaves */
    size_t n_leaves;                 /* number of these leaves */
    /** A run of `evaluator` for this graph (for wg_plan_evaluator(): a wg_plan of it).  Leaves
     *  without an entry in `leaves` take the numbers that they have in it now, such as the
     *  parameters and the batch in the middle of a training run.  NULL: they are drawn.  It is only
     *  read. */
    void *live;
    wg_value *const *y;       /* values to differentiate; default: the graph's float outputs */
    size_t n_y;               /* number of y */
    wg_value *const *wrt;     /* to differentiate with respect to; default: all float leaves */
    size_t n_wrt;             /* number of wrt */
    const wg_grad_hook *hook; /* of first-order gradients: breaks rules on purpose in tests */
    bool no_blame;            /* do not search for the faulty rule */
    /** Called after each of the `all` comparisons of derivatives of one order, with how many of
     *  them are `done`: a large model takes minutes.  NULL: not called. */
    void (*progress)(void *context, int order, size_t done, size_t all);
    void *context; /* of progress */
} wg_gradcheck_options;

/** The result of a check. */
typedef struct wg_gradcheck_report {
    wg_gradcheck_verdict verdict; /* what was found out */
    size_t compared;    /* elements, and lines through a leaf, that were found right or wrong */
    size_t skipped;     /* elements at a kink or a jump */
    size_t undecided;   /* elements for which differences are too uncertain */
    size_t failed;      /* of those compared */
    size_t stopped;     /* uses of wg_stop_gradient on the way, of order 2 also in gradient rules:
                         * held constant */
    bool no_derivative; /* of an op: discrete, or no float operand or result */
    bool empty;         /* of an op: no float operand of the sample has elements */
    double worst;       /* of all errors, relative to the gradient, the one that is largest in
                         * proportion to its tolerance; the next seven fields belong to it */
    double tolerance;   /* allowed there: more than usual if differences are uncertain */
    int order;          /* 1: of the gradient, 2: of its derivative, ... */
    char leaf[128];     /* name of the leaf */
    int64_t index;      /* of the element, row-major; -1: a line through all elements */
    double analytic;    /* by wg_vjp */
    double numeric;     /* by differences */
    double uncertainty; /* estimated error of `numeric`, absolute */
    char guilty[256];   /* "op tanh in encoder at model.c:41 (forward)": its rule explains the
                         * error.  "": none does */
    char kernel[256];   /* an op of the user's whose kernel does not compute in f64, or "" */
    char absurd[256];  /* where a function that is not finite or absurdly large becomes so, or "" */
    char message[768]; /* the whole verdict in one line */
} wg_gradcheck_report;

/** Checks a graph, which is not changed: the check works on a copy in f64.  `report` may be NULL.
 *  WG_OK: the gradient is right.  WG_EDATA: it is wrong, and report->message names the element and
 *  the rule that explains the error; or it could not be decided, and the message says why
 *  (report->verdict tells the two apart).  WG_ENONFINITE: results of the graph are not finite, or
 *  beyond 1e18.  WG_EINVAL: integers without a range, a wrt that is not a float leaf, no evaluator.
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
