/* A minimiser, and the step of each method. */
#ifndef WG_PRIVATE_TRAIN_MINIMISE_H
#define WG_PRIVATE_TRAIN_MINIMISE_H

#include "train/objective.h"

/* The last steps s = x' - x and what they did to the gradient, y = g' - g, for L-BFGS. */
typedef struct wgi_history {
    double *s, *y; /* [most][n], a ring */
    double *sy;    /* [most] s . y > 0 */
    double *alpha; /* [most] for direction */
    size_t most, count, next;
} wgi_history;

struct wg_minimiser {
    wg_minimiser_options options; /* without what is not kept */
    wgi_objective objective;
    wgi_point at, tried; /* where it is, and where a step goes */
    double *best;        /* [n] the point to end at */
    double *work[4];     /* [n] vectors of a method, NULL beyond those that it needs */
    wgi_history history;
    double radius;   /* of Newton's trust region; 0: unknown yet */
    double steepest; /* length of the gradient when it began */
    double *memory;  /* of all vectors */
    wg_error error;  /* of the last run */
};

/* A step from m->at to m->tried, with its loss and gradient; *moved: whether one was found. */
wg_status wgi_lbfgs_step(wg_minimiser *m, bool *moved);
wg_status wgi_newton_step(wg_minimiser *m, bool *moved);

/* From m->at along the direction d [n], which descends, to m->tried, where the strong Wolfe
 * conditions hold, up to rounding.  `first`: the length to try first, of d. */
wg_status wgi_line_search(wg_minimiser *m, const double *d, double first, bool *moved);

#endif
