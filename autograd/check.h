/* The inside of the gradient check: gradcheck.c (whole graphs, ops, orders), differences.c (one
 * comparison), blame.c (the guilty node), draw.c (points). */
#ifndef WG_AUTOGRAD_CHECK_H
#define WG_AUTOGRAD_CHECK_H

#include "wengert/autograd/gradcheck.h"
#include "wengert/graph/op.h"

/* splitmix64 (Steele, Lea, Flood 2014) */
typedef struct wgi_draw {
    uint64_t state;
} wgi_draw;

uint64_t wgi_draw_bits(wgi_draw *d);
double wgi_draw_uniform(wgi_draw *d, double lo, double hi); /* [lo, hi) */

/* A leaf and its numbers. */
typedef struct wgi_point {
    wg_value *leaf;
    void *data; /* wg_value_bytes(leaf), owned by the trial */
    double lo, hi;
} wgi_point;

/* One function y(wrt) of a graph at one point, to be differentiated order by order. */
typedef struct wgi_trial {
    wg_graph *g;
    wg_value **y, **wrt;
    size_t n_y, n_wrt;
    wgi_point *point; /* all leaves that hold data, wrt and cotangents among them */
    size_t n_points;
    wgi_draw draw;
    bool four_point, dyadic, may_skip;
    double h, tolerance;
    size_t max;
    const wg_gradcheck_options *options;
    wg_gradcheck_report *report;
} wgi_trial;

/* Adds a point for `leaf`, its data zeroed; NULL without memory. */
wgi_point *wgi_trial_add_point(wgi_trial *t, wg_value *leaf, double lo, double hi);
wgi_point *wgi_trial_point(const wgi_trial *t, const wg_value *leaf);
void wgi_trial_close(wgi_trial *t); /* frees everything but the graph */

/* Fills a point from its range: uniform floats, integers, bools. */
void wgi_point_draw(wgi_point *p, wgi_draw *d);
/* Fills all points at once: floats pairwise distinct and at least 10 h away from each other and
 * from the kinks; with `dyadic` set, also sums of few powers of two, and h is chosen to fit.
 * WG_EINVAL: the ranges are too narrow. */
wg_status wgi_trial_draw_grid(wgi_trial *t, const double *kinks, int n_kinks);

/* Random cotangents for y, of magnitude 0.5 to 1.5; they become inputs and points.  dy has n_y
 * places. */
wg_status wgi_trial_cotangents(wgi_trial *t, int order, wg_value **dy);

/* An evaluation of `outputs` at the trial's points. */
wg_status wgi_trial_open(const wgi_trial *t, wg_value *const *outputs, size_t n, void **run);

/* Compares dx, the gradient by wg_vjp, with differences of <dy, y>; notes what it finds in the
 * report. */
wg_status wgi_trial_compare(wgi_trial *t, int order, wg_value *const *dy, wg_value *const *dx);

/* Checks each node between wrt and y alone and notes the worst in report->guilty. */
wg_status wgi_trial_blame(wgi_trial *t);

/* Writes the error into the report; returns status. */
wg_status wgi_trial_error(wgi_trial *t, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

#endif
