/* The steps of the gradient check, from the lowest to the highest; gradcheck.c puts them
 * together. */
#ifndef WG_PRIVATE_AUTOGRAD_CHECK_H
#define WG_PRIVATE_AUTOGRAD_CHECK_H

#include "autograd/trial.h"

/* ---- draw.c: random points and cotangents ---------------------------------------------------- */

/* Fills a point from its range: uniform floats, integers, bools. */
void wgi_draw_point(wgi_point *p, uint64_t *random);
/* Fills all points at once: floats pairwise distinct and at least 10 h away from each other and
 * from the kinks; with `dyadic` set, also sums of few powers of two, and h is chosen to fit.
 * WG_EINVAL: the ranges are too narrow. */
wg_status wgi_draw_grid(wgi_trial *t, const double *kinks, int n_kinks);
/* Random cotangents for y, of magnitude 0.5 to 1.5; they become inputs and points.  dy has n_y
 * places. */
wg_status wgi_draw_cotangents(wgi_trial *t, int order, wg_value **dy);

/* ---- differences.c: one comparison ----------------------------------------------------------- */

/* Compares dx, the gradient by wg_vjp, with differences of <dy, y>; what it finds goes into the
 * report. */
wg_status wgi_compare_differences(wgi_trial *t, int order, wg_value *const *dy,
                                  wg_value *const *dx);

/* ---- blame.c: the rule at fault -------------------------------------------------------------- */

/* Checks each node between wrt and y alone and names the worst in report->guilty. */
wg_status wgi_blame(wgi_trial *t);

#endif
