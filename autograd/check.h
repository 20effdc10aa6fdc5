/* The inside of the gradient check: gradcheck.c (whole graphs, ops, orders), differences.c (one
 * comparison), blame.c (the guilty node), draw.c (points). */
#ifndef WG_AUTOGRAD_CHECK_H
#define WG_AUTOGRAD_CHECK_H

#include "autograd/gradcheck.h"
#include "graph/op.h"

/* splitmix64 (Steele, Lea, Flood 2014) */
typedef struct wg_draw {
    uint64_t state;
} wg_draw;

uint64_t wg_draw_bits(wg_draw *d);
double wg_draw_uniform(wg_draw *d, double lo, double hi); /* [lo, hi) */

/* A leaf and its numbers. */
typedef struct wg_point {
    wg_value *leaf;
    void *data; /* wg_value_bytes(leaf), owned by the trial */
    double lo, hi;
} wg_point;

/* One function y(wrt) of a graph at one point, to be differentiated order by order. */
typedef struct wg_trial {
    wg_graph *g;
    wg_value **y, **wrt;
    size_t n_y, n_wrt;
    wg_point *point; /* all leaves that hold data, wrt and cotangents among them */
    size_t n_points;
    wg_draw draw;
    bool four_point, dyadic, may_skip;
    double h, bar;
    size_t most;
    const wg_gradcheck_options *options;
    wg_gradcheck_report *report;
} wg_trial;

/* Adds a point for `leaf`, its data zeroed; NULL without memory. */
wg_point *wg_trial_add_point(wg_trial *t, wg_value *leaf, double lo, double hi);
wg_point *wg_trial_point(const wg_trial *t, const wg_value *leaf);
void wg_trial_close(wg_trial *t); /* frees everything but the graph */

/* Fills a point from its range: uniform floats, integers, bools. */
void wg_point_draw(wg_point *p, wg_draw *d);
/* Fills all points at once: floats pairwise distinct and at least 10 h away from each other and
 * from the kinks; with `dyadic` set, also sums of few powers of two, and h is chosen to fit.
 * WG_EINVAL: the ranges are too narrow. */
wg_status wg_trial_draw_grid(wg_trial *t, const double *kinks, int n_kinks);

/* Random cotangents for y, of magnitude 0.5 to 1.5; they become inputs and points.  dy has n_y
 * places. */
wg_status wg_trial_cotangents(wg_trial *t, int order, wg_value **dy);

/* An evaluation of `outputs` at the trial's points. */
wg_status wg_trial_open(const wg_trial *t, wg_value *const *outputs, size_t n, void **run);

/* Compares dx, the gradient by wg_vjp, with differences of <dy, y>; notes what it finds in the
 * report. */
wg_status wg_trial_compare(wg_trial *t, int order, wg_value *const *dy, wg_value *const *dx);

/* Checks each node between wrt and y alone and notes the worst in report->guilty. */
wg_status wg_trial_blame(wg_trial *t);

/* Writes the error into the report; returns status. */
wg_status wg_trial_error(wg_trial *t, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

#endif
