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

typedef struct wgi_trial {
    wg_graph *g;
    wg_value **y, **wrt;
    size_t n_y, n_wrt;
    wgi_point *points; /* all leaves that hold data, wrt and cotangents among them */
    size_t n_points;
    uint64_t random;  /* state of wgi_splitmix64                             */
    bool four_point;  /* differences of four points instead of two           */
    bool dyadic;      /* points are sums of few powers of two                */
    bool may_skip;    /* elements that lie at a kink are not compared        */
    double h;         /* step of the differences                             */
    double tolerance; /* of |numeric - analytic| / max(1, |numeric|)         */
    size_t max;       /* elements compared in each leaf                      */
    const wg_gradcheck_options *options;
    wg_gradcheck_report *report;
} wgi_trial;

/* Adds a point for `leaf`, its data zeroed; NULL without memory. */
wgi_point *wgi_trial_add_point(wgi_trial *t, wg_value *leaf, double lo, double hi);
/* The point of `leaf`, or NULL. */
wgi_point *wgi_trial_point(const wgi_trial *t, const wg_value *leaf);
/* Frees everything but the graph. */
void wgi_trial_close(wgi_trial *t);

/* An evaluation of `outputs` at the trial's points; the caller destroys *run. */
wg_status wgi_trial_open(const wgi_trial *t, wg_value *const *outputs, size_t n, void **run);

/* Writes the error into the report; returns status. */
wg_status wgi_trial_error(wgi_trial *t, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

#endif
