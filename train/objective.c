#include "train/objective.h"
#include "graph/element.h"

#include <math.h>
#include <stdio.h>

/* ---- between vectors and tensors ------------------------------------------------------------- */

static void get(double *x, const void *data, wg_dtype dtype, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = dtype == WG_F32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void put(void *data, const double *x, wg_dtype dtype, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (dtype == WG_F32)
            ((float *)data)[i] = (float)x[i];
        else
            ((double *)data)[i] = x[i];
}

void wgi_objective_get(const wgi_objective *o, double *x)
{
    for (const wgi_part *t = o->parts; t < o->parts + o->n_parts; x += t++->n)
        get(x, t->p, t->dtype, t->n);
}

void wgi_objective_put(const wgi_objective *o, double *x)
{
    const double *from = x;
    for (const wgi_part *t = o->parts; t < o->parts + o->n_parts; from += t++->n)
        put(t->p, from, t->dtype, t->n);
    wgi_objective_get(o, x);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static wg_status run(wgi_objective *o, wg_plan *plan)
{
    wg_status status = wg_plan_run(plan, 0);
    o->runs++;
    o->status = status;
    snprintf(o->message, sizeof o->message, "%s", status == WG_OK ? "" : wg_plan_message(plan));
    return status;
}

wg_status wgi_objective_at(wgi_objective *o, wgi_point *p)
{
    wgi_objective_put(o, p->x);
    wg_status status = run(o, o->plan);
    double *g = p->g, sum = 0;
    for (const wgi_part *t = o->parts; t < o->parts + o->n_parts; g += t++->n)
        get(g, t->g, t->dtype, t->n);
    for (size_t i = 0; i < o->n; i++)
        sum += fabs(p->g[i]);
    const bool outside = status == WG_ENONFINITE || status == WG_EDATA;
    p->f = wgi_get_element(o->loss, o->loss_dtype, 0);
    if (!isfinite(p->f) || !isfinite(sum) || outside)
        p->f = INFINITY;
    return outside ? WG_OK : status;
}

wg_status wgi_objective_product(wgi_objective *o, const double *v, double *y)
{
    for (const wgi_part *t = o->parts; t < o->parts + o->n_parts; v += t++->n)
        put(t->v, v, t->dtype, t->n);
    wg_status status = run(o, o->products);
    for (const wgi_part *t = o->parts; t < o->parts + o->n_parts; y += t++->n)
        get(y, t->product, t->dtype, t->n);
    return status;
}
