/* A physics-informed network (Raissi et al. 2019) solves Bratu's equation, the steady temperature
 * of a reaction that its own heat speeds up:
 *
 *     u'' + 2 exp(u) = 0 on [0, 1],   u(0) = u(1) = 0
 *
 *     u(x) = x (1 - x) network(x)          has the boundary values, whatever the network
 *     loss = mean of (u'' + 2 exp(u))^2    at 40 points, u'' by two gradients in x
 *
 * Adam comes near; Newton's method with conjugate gradients, which needs only products of the
 * Hessian with vectors (wg_hvp), goes on from there, by a plan that shares the trainer's store.
 *
 *     pinn             trains, and tells what came of it
 *     pinn model.svg   draws it instead, without its derivatives
 *
 * Exits with 0 if the largest error is at most 1e-5, and a tenth of what Adam left. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 40, H = 12, P = H * H + 4 * H, CHECKED = 101, STEPS = 150 };

static double points[POINTS];

/* The next n numbers of all parameters: the network is a function of one vector [P], so a step of
 * Newton's method is one as well. */
static wg_value *take(wg_value *parameters, int *used, int n)
{
    *used += n;
    return wg_slice(parameters, 0, *used - n, *used, 1);
}

/* u at x [n, 1] */
static wg_value *solution(wg_value *x)
{
    int used = 0;
    wg_value *p = wg_parameter(wg_graph_of(x), "p", WG_F64, WG_SHAPE(P), wg_normal_init(0.5));
    wg_value *h = wg_add(wg_mul(x, take(p, &used, H)), take(p, &used, H)); /* [n, H] */
    wg_value *w = wg_reshape(take(p, &used, H * H), WG_SHAPE(H, H));
    h = wg_linear(wg_tanh(h), w, take(p, &used, H), WG_ACTIVATION_TANH);
    h = wg_linear(h, wg_reshape(take(p, &used, H), WG_SHAPE(1, H)), NULL, WG_ACTIVATION_NONE);
    return wg_mul(wg_mul(x, wg_shift(wg_neg(x), 1)), h);
}

/* Each u[n] depends on x[n] alone, so the gradient of the sum is u'. */
static wg_value *derivative(wg_value *u, wg_value *x)
{
    wg_value *du;
    return wg_grad(wg_sum(u, WG_ALL_AXES, WG_DROP), &x, 1, &du) == WG_OK ? du : NULL;
}

static wg_value *equation(wg_value *x)
{
    wg_value *u = solution(x), *d2u = derivative(derivative(u, x), x);
    return wg_mean(wg_square(wg_add(d2u, wg_scale(wg_exp(u), 2))), WG_ALL_AXES, WG_DROP);
}

static wg_value *model(void *context, const wg_model_step *step)
{
    (void)context;
    return equation(wg_step_input(step, "x"));
}

/* u(x) = -2 log(cosh((x - 1/2) t / 2) / cosh(t / 4)),  t = 2 cosh(t / 4) */
static double exact(double x)
{
    double t = 0;
    for (int i = 0; i < 200; i++)
        t = 2 * cosh(t / 4);
    return -2 * log(cosh((x - 0.5) * t / 2) / cosh(t / 4));
}

/* ---- Newton's method with conjugate gradients ------------------------------------------------ */

/* A plan of the loss at p, its gradient g, H v, and the largest error of u on [0, 1]. */
typedef struct newton {
    wg_graph *graph;
    wg_plan *plan;
    double *p, *v, *loss, *g, *Hv, *error;
} newton;

static void build(newton *n, wg_store *store)
{
    double grid[CHECKED], right[CHECKED];
    for (int i = 0; i < CHECKED; i++)
        right[i] = exact(grid[i] = (double)i / (CHECKED - 1));
    wg_graph *g = n->graph = wg_graph_new();
    wg_scope_reuse(g); /* one network at both sets of points */
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(POINTS, 1), points);
    wg_value *y = wg_constant(g, WG_F64, WG_SHAPE(CHECKED, 1), grid), *gradient, *Hv;
    wg_value *loss = wg_output(equation(x), "loss"), *p = wg_graph_find(g, "p");
    wg_value *error = wg_sub(solution(y), wg_constant(g, WG_F64, WG_SHAPE(CHECKED, 1), right));
    wg_value *largest = wg_output(wg_max(wg_abs(error), WG_ALL_AXES, WG_DROP), "error");
    wg_value *v = wg_input(g, "v", WG_F64, WG_SHAPE(P));
    wg_grad(loss, &p, 1, &gradient);
    wg_hvp(loss, &p, &v, 1, &Hv);
    wg_output(gradient, "gradient");
    wg_output(Hv, "H v");
    if (wg_plan_create(&n->plan, g, &(wg_plan_options){.store = store, .threads = 1}) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
    n->p = wg_plan_f64(n->plan, p);
    n->v = memset(wg_plan_f64(n->plan, v), 0, P * sizeof(double));
    n->loss = wg_plan_f64(n->plan, loss);
    n->g = wg_plan_f64(n->plan, gradient);
    n->Hv = wg_plan_f64(n->plan, Hv);
    n->error = wg_plan_f64(n->plan, largest);
}

static void run(newton *n)
{
    if (wg_plan_run(n->plan, 0) != WG_OK)
        errx(1, "%s", wg_plan_message(n->plan));
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < P; i++)
        sum += a[i] * b[i];
    return sum;
}

/* s with (H + damping) s = -g, or as far as that matrix is seen to be positive. */
static void solve(newton *n, double damping, double *s)
{
    double r[P];
    for (int i = 0; i < P; i++) {
        s[i] = 0;
        n->v[i] = r[i] = -n->g[i];
    }
    double rr = dot(r, r), first = rr;
    for (int k = 0; k < 2 * P && rr > 1e-10 * first; k++) {
        run(n);
        double curvature = dot(n->v, n->Hv) + damping * dot(n->v, n->v);
        if (!(curvature > 0))
            return;
        double alpha = rr / curvature, before = rr;
        for (int i = 0; i < P; i++) {
            s[i] += alpha * n->v[i];
            r[i] -= alpha * (n->Hv[i] + damping * n->v[i]);
        }
        rr = dot(r, r);
        for (int i = 0; i < P; i++)
            n->v[i] = r[i] + rr / before * n->v[i];
    }
}

/* Steps with more damping where one was too long (Levenberg 1944). */
static void minimise(newton *n)
{
    double s[P], from[P], damping = 1e-2;
    for (int k = 0; k < STEPS; k++) {
        double loss = *n->loss;
        memcpy(from, n->p, sizeof from);
        solve(n, damping, s);
        for (int i = 0; i < P; i++)
            n->p[i] = from[i] + s[i];
        run(n);
        damping *= *n->loss < loss ? 0.2 : 5;
        if (!(*n->loss < loss)) {
            memcpy(n->p, from, sizeof from);
            run(n);
        }
        if (k % 25 == 24)
            printf("Newton step %3d  loss %.3e  damping %.0e\n", k + 1, *n->loss, damping);
    }
}

/* ---------------------------------------------------------------------------------------------- */

/* What the trained model can do; 0 if that is enough. */
static int judge(wg_trainer *t)
{
    newton n;
    build(&n, wg_trainer_store(t));
    run(&n);
    double adam = *n.error;
    minimise(&n);
    double refined = *n.error;
    printf("largest error: %.1e after Adam, %.1e after Newton's method\n", adam, refined);
    wg_plan_free(n.plan);
    wg_graph_free(n.graph);
    return !(refined <= 1e-5 && refined <= adam / 10);
}

int main(int argc, char **argv)
{
    const wg_field field = {"x", WG_F64, WG_SHAPE(1), points};
    const wg_examples all = {&field, 1, POINTS, .batch = POINTS};
    const wg_trainer_options options = {
        .model = model,
        .train = &all,
        .dtype = WG_F64,
        .schedule = {WG_SCHEDULE_COSINE, .rate = 1e-2, .warmup = 20},
        .after = {600, 'u'},
        .report = {200, 'u'},
        .seed = 1,
        .listener = {wg_print_event, stdout},
        .threads = 1, /* a model this small gains nothing by more */
    };
    wg_error error;
    wg_trainer *t;
    for (int i = 0; i < POINTS; i++)
        points[i] = (i + 0.5) / POINTS;
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options picture = {.title = "PINN", .phases = 1u << WG_FORWARD};
    wg_status status = argc > 1 ? wg_trainer_draw(t, argv[1], &picture) : wg_trainer_run(t, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    int code = argc > 1 ? 0 : judge(t);
    wg_trainer_free(t);
    return code;
}
