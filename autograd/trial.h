/* What the parts of the gradient check work on: a trial is one function y(wrt) of a graph at one
 * point, to be differentiated order by order. */
#ifndef WG_PRIVATE_AUTOGRAD_TRIAL_H
#define WG_PRIVATE_AUTOGRAD_TRIAL_H

#include "wengert/autograd/gradcheck.h"
#include "wengert/graph/op.h"

/* A leaf and its numbers, floats from (lo, hi), integers from [lo, hi). */
typedef struct wgi_point {
    wg_value *leaf;
    void *data; /* wg_value_bytes(leaf), owned by the trial */
    double lo, hi;
    wg_matrices matrices;
} wgi_point;

/* A straight line through the point: one element of a leaf, or a whole leaf at once. */
typedef struct wgi_line {
    const wg_value *leaf;
    int64_t index;    /* of the element; -1: all, weighted by `weight`           */
    uint64_t weights; /* seed of the weights                                     */
    double step;      /* at which differences along the line were most certain   */
} wgi_line;

typedef struct wgi_trial {
    wg_graph *g;
    wg_value **y, **wrt;
    size_t n_y, n_wrt;
    wgi_point *points; /* all leaves that hold data, wrt and cotangents among them */
    size_t n_points;
    uint64_t random;             /* state of wgi_splitmix64                                   */
    bool four_point;             /* differences of four points are tried first, instead of two */
    bool dyadic;                 /* points are sums of few powers of two                      */
    bool grid;                   /* points keep a distance of 10 h from each other and kinks  */
    double h;                    /* distances of the grid are multiples of it                 */
    double tolerance;            /* of |numeric - analytic| relative to the gradient          */
    bool drawn;                  /* some points come from chance                              */
    size_t max;                  /* elements compared in each leaf                            */
    wgi_line worst;              /* where the largest error of this order is                  */
    double error;                /* there: analytic - numeric                                 */
    wgi_line unsure;             /* the first element that could not be decided               */
    double unsure_by;            /* the uncertainty there                                     */
    const wg_value *unsure_leaf; /* a leaf of which no element could be decided    */
    double size;                 /* largest magnitude of the results; NaN if one is NaN       */
    const wg_gradcheck_options *options;
    wg_gradcheck_report *report;
} wgi_trial;

/* Adds a point for `leaf`, its data zeroed; NULL without memory. */
wgi_point *wgi_trial_add_point(wgi_trial *t, wg_value *leaf, double lo, double hi);
/* The point of `leaf`, or NULL. */
wgi_point *wgi_trial_point(const wgi_trial *t, const wg_value *leaf);
/* Frees everything but the graph. */
void wgi_trial_close(wgi_trial *t);

/* Writes the error into the report; returns status. */
wg_status wgi_trial_error(wgi_trial *t, wg_status status, const char *format, ...) WG_PRINTF(3, 4);
/* Writes "op tanh in encoder at model.c:41 (forward)" into text; returns text. */
const char *wgi_place_text(const wg_node *n, char *text, size_t size);

/* ---- evaluation.c ---------------------------------------------------------------------------- */

/* Values of the trial's graph, to be computed at its points and near them. */
typedef struct wgi_evaluation {
    const wgi_trial *t;
    wg_graph *held; /* a copy of the graph in which stop_gradient gives what it gave at the points;
                       NULL: the graph itself */
    wg_value **map; /* from the values of the graph to those of the copy */
    void *run;      /* of the evaluator */
} wgi_evaluation;

/* Makes ready to compute `outputs`.  With `hold`, the results of stop_gradient are constants, so
 * that differences see what the gradient means.  wgi_evaluation_close is due in any case. */
wg_status wgi_evaluation_open(wgi_evaluation *e, const wgi_trial *t, wg_value *const *outputs,
                              size_t n, bool hold);
void wgi_evaluation_close(wgi_evaluation *e);
/* The memory of a leaf or of an output; v is a value of the trial's graph. */
void *wgi_evaluation_data(const wgi_evaluation *e, const wg_value *v);
wg_status wgi_evaluation_run(const wgi_evaluation *e);
/* Why it could not be opened or run. */
const char *wgi_evaluation_message(const wgi_evaluation *e);

#endif
