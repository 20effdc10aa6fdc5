/* One parameter that takes some steps of an optimizer, for tests of update rules. */
#ifndef WG_TESTS_MODELS_STEPS_H
#define WG_TESTS_MODELS_STEPS_H

#include "tests/plans.h"
#include "wengert/models/optimizer.h"

#include <math.h>

enum { N = 5, STEPS = 4, MANY = 9 };

static const double start[N] = {0.5, -1.25, 2, 0, -0.125};

static inline double gradient_at(int i, int t)
{
    const double g[N] = {0.3 * t - 0.7, 1.5, -0.02 * t, 0, 40.0 / t};
    return g[i];
}

typedef struct net {
    wg_graph *g;
    wg_plan *plan;
    wg_value *p, *gradient, *rate;
} net;

static inline net begin(wg_dtype dtype)
{
    net n = {.g = wg_graph_new()};
    n.p = wg_parameter(n.g, "p", dtype, WG_SHAPE(N), wg_zeros());
    n.gradient = wg_input(n.g, "gradient", dtype, WG_SHAPE(N));
    n.rate = wg_input(n.g, "rate", dtype, WG_SCALAR);
    return n;
}

static inline void put(const net *n, const wg_value *v, int i, double x)
{
    void *data = wg_plan_data(n->plan, v);
    if (v->dtype == WG_F64)
        ((double *)data)[i] = x;
    else
        ((float *)data)[i] = (float)x;
}

static inline double get(const net *n, const wg_value *v, int i)
{
    const void *data = wg_plan_data(n->plan, v);
    return v->dtype == WG_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static inline void take(net *n, int steps, double rate)
{
    check_that(wg_graph_status(n->g) == WG_OK, "%s", wg_graph_message(n->g));
    n->plan = plan_of(n->g, &(wg_plan_options){.threads = 1});
    for (int i = 0; i < N; i++)
        put(n, n->p, i, start[i]);
    put(n, n->rate, 0, rate);
    for (int t = 1; t <= steps; t++) {
        for (int i = 0; i < N; i++)
            put(n, n->gradient, i, gradient_at(i, t));
        check_that(wg_plan_run(n->plan, (uint64_t)t) == WG_OK, "%s", wg_plan_message(n->plan));
    }
}

static inline void take_steps(net *n, double rate)
{
    take(n, STEPS, rate);
}

static inline void end(net *n)
{
    wg_plan_free(n->plan);
    wg_graph_free(n->g);
}

static inline void near(const net *n, const char *name, const double *p)
{
    const double tolerance = n->p->dtype == WG_F64 ? 1e-14 : 4e-6;
    for (int i = 0; i < N; i++) {
        double got = get(n, n->p, i), error = fabs(got - p[i]);
        check_that(error <= tolerance * (1 + fabs(p[i])), "%s, element %d: %.17g, expected %.17g",
                   name, i, got, p[i]);
    }
}

#endif
