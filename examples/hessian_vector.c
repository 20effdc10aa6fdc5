/* Second derivatives: Newton's method on Rosenbrock's function, with the Hessian known only by its
 * products.
 *
 *     f(x) = sum over i of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2,  minimum 0 at x = (1, ..., 1)
 *
 * The gradient is a graph, so the derivative of <gradient, v> is one too: H v, at the price of
 * about two gradients (Pearlmutter 1994).  Each Newton step solves H s = -gradient by conjugate
 * gradients. */
#include "wengert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N = 8 };

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i] * b[i];
    return sum;
}

/* A plan for f, its gradient and H v, with the addresses of its numbers. */
typedef struct second_order {
    wg_graph *graph;
    wg_plan *plan;
    double *x, *v, *f, *gradient, *product;
    bool failed;
} second_order;

static second_order build(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(N)), *v = wg_input(g, "v", WG_F64, WG_SHAPE(N));
    wg_value *a = wg_slice(x, 0, 0, N - 1, 1), *b = wg_slice(x, 0, 1, N, 1);
    wg_value *valley = wg_scale(wg_square(wg_sub(b, wg_square(a))), 100),
             *slope = wg_square(wg_shift(wg_neg(a), 1));
    wg_value *f = wg_output(wg_sum(wg_add(valley, slope), WG_ALL_AXES, WG_DROP), "f"), *gradient,
             *product;
    wg_grad(f, &x, 1, &gradient);
    wg_grad(wg_sum(wg_mul(gradient, v), WG_ALL_AXES, WG_DROP), &x, 1, &product);
    wg_output(gradient, "gradient");
    wg_output(product, "H v");

    second_order s = {.graph = g};
    if (wg_plan_create(&s.plan, g, NULL) != WG_OK) {
        fprintf(stderr, "%s\n", wg_graph_message(g));
        s.failed = true;
        return s;
    }
    s.x = wg_plan_f64(s.plan, x);
    s.v = wg_plan_f64(s.plan, v);
    s.f = wg_plan_f64(s.plan, f);
    s.gradient = wg_plan_f64(s.plan, gradient);
    s.product = wg_plan_f64(s.plan, product);
    return s;
}

/* f and its gradient at s->x, and product = H v. */
static void evaluate(second_order *s, const double *v)
{
    memcpy(s->v, v, N * sizeof *v);
    if (!s->failed && wg_plan_run(s->plan, 0) != WG_OK) {
        fprintf(stderr, "%s\n", wg_plan_message(s->plan));
        s->failed = true;
    }
}

/* step = -H^-1 gradient by conjugate gradients; stops early where H is not positive. */
static void newton_step(second_order *s, double *step)
{
    double r[N], p[N];
    for (int i = 0; i < N; i++) {
        step[i] = 0;
        p[i] = r[i] = -s->gradient[i];
    }
    double rr = dot(r, r), first = rr;
    for (int k = 0; k < 2 * N && rr > 1e-24 * first; k++) {
        evaluate(s, p);
        double curvature = dot(p, s->product);
        if (!(curvature > 0)) {
            if (k == 0)
                memcpy(step, p, sizeof p);
            return;
        }
        double alpha = rr / curvature, before = rr;
        for (int i = 0; i < N; i++) {
            step[i] += alpha * p[i];
            r[i] -= alpha * s->product[i];
        }
        rr = dot(r, r);
        for (int i = 0; i < N; i++)
            p[i] = r[i] + rr / before * p[i];
    }
}

int main(void)
{
    second_order s = build();
    const double zero[N] = {0};
    double step[N], from[N];
    int k = 0;
    for (int i = 0; i < N && !s.failed; i++)
        s.x[i] = -0.5;
    for (; k < 100 && !s.failed; k++) {
        evaluate(&s, zero);
        double f = *s.f, norm = sqrt(dot(s.gradient, s.gradient));
        printf("%3d  f %.3e  |gradient| %.1e\n", k, f, norm);
        if (norm < 1e-10)
            break;
        newton_step(&s, step);
        memcpy(from, s.x, sizeof from);
        double length = 1;
        do { /* halve the step until it goes down */
            for (int i = 0; i < N; i++)
                s.x[i] = from[i] + length * step[i];
            evaluate(&s, zero);
            length /= 2;
        } while (!(*s.f < f) && length > 1e-12 && !s.failed);
    }
    double error = 0;
    for (int i = 0; i < N && !s.failed; i++)
        error = fmax(error, fabs(s.x[i] - 1));
    printf("largest distance from the minimum: %.1e\n", error);
    wg_plan_free(s.plan);
    wg_graph_free(s.graph);
    return s.failed || !(error <= 1e-8);
}
