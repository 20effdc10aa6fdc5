/* A loss as a function of one vector: its parameters one after the other, in f64. */
#ifndef WG_PRIVATE_TRAIN_OBJECTIVE_H
#define WG_PRIVATE_TRAIN_OBJECTIVE_H

#include "wengert/train/minimise.h"

/* One parameter, and where the plans have it. */
typedef struct wgi_part {
    void *p;             /* the parameter itself */
    const void *g;       /* its gradient */
    void *v;             /* the vector of products; NULL without them */
    const void *product; /* of the Hessian with it */
    size_t n;            /* elements of each */
    wg_dtype dtype;      /* of each */
} wgi_part;

typedef struct wgi_objective {
    wg_plan *plan;     /* of the loss and its gradient */
    wg_plan *products; /* of the Hessian with a vector; NULL: none */
    const void *loss;  /* its number */
    wg_dtype loss_dtype;
    wgi_part *parts;   /* [n_parts] */
    size_t n_parts, n; /* n: length of all vectors */
    double noise;      /* losses that differ by less than this part of them may be equal */
    size_t runs;       /* of the plans */
    size_t most_runs;
    wg_status status;  /* of the last run */
    char message[300]; /* why the last run failed, or "" */
} wgi_objective;

/* A point, and what the loss is there. */
typedef struct wgi_point {
    double f, *x, *g; /* [n] */
} wgi_point;

/* The parameters, as vector. */
void wgi_objective_get(const wgi_objective *o, double *x);

/* Makes x the parameters, rounded to their dtypes; x becomes what they then are. */
void wgi_objective_put(const wgi_objective *o, double *x);

/* p->f and p->g at p->x, which becomes what the parameters can hold.  If one of them is not finite,
 * or a kernel refuses its numbers (WG_EDATA), such as a matrix without a factorisation, p->f is
 * infinite. */
wg_status wgi_objective_at(wgi_objective *o, wgi_point *p);

/* y = H v, with the Hessian at the parameters. */
wg_status wgi_objective_product(wgi_objective *o, const double *v, double *y);

/* How far a loss near f is from another one that may be equal. */
static inline double wgi_noise(const wgi_objective *o, double f)
{
    return o->noise * (f < 0 ? -f : f);
}

static inline bool wgi_objective_spent(const wgi_objective *o)
{
    return o->most_runs && o->runs >= o->most_runs;
}

#endif
