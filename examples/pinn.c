/* A physics-informed network (Raissi et al. 2019) solves Bratu's equation, the steady temperature
 * of a reaction that its own heat speeds up:
 *
 *     u'' + 2 exp(u) = 0 on [0, 1],   u(0) = u(1) = 0
 *
 *     u(x) = x (1 - x) network(x)          has the boundary values, whatever the network
 *     loss = mean of (u'' + 2 exp(u))^2    at 40 points, u'' by two gradients in x
 *
 * Adam comes near; L-BFGS goes on from there, by plans that share the trainer's store.
 *
 *     pinn             trains, and tells what came of it
 *     pinn model.svg   draws it instead, without its derivatives
 *
 * Exits with 0 if the largest error is at most 1e-5, and a tenth of what Adam left. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>

enum { POINTS = 40, H = 12, CHECKED = 101 };

static double points[POINTS];

/* u at x [n, 1] */
static wg_value *solution(wg_value *x)
{
    wg_value *h = wg_dense("hidden1", x, H, WG_ACTIVATION_TANH);
    h = wg_dense("hidden2", h, H, WG_ACTIVATION_TANH);
    h = wg_dense("out", h, 1, WG_ACTIVATION_NONE);
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

/* ---- after the training ---------------------------------------------------------------------- */

/* Minimises the loss further, and tells the largest error of u on [0, 1]; 0 if that is enough. */
static int refine(wg_trainer *t)
{
    double grid[CHECKED], right[CHECKED];
    for (int i = 0; i < CHECKED; i++)
        right[i] = exact(grid[i] = (double)i / (CHECKED - 1));
    wg_graph *g = wg_graph_new();
    wg_scope_reuse(g); /* one network at both sets of points */
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(POINTS, 1), points);
    wg_value *y = wg_constant(g, WG_F64, WG_SHAPE(CHECKED, 1), grid), *loss = equation(x);
    wg_value *error = wg_sub(solution(y), wg_constant(g, WG_F64, WG_SHAPE(CHECKED, 1), right));
    wg_value *largest = wg_output(wg_max(wg_abs(error), WG_ALL_AXES, WG_DROP), "error");

    const wg_plan_options plan = {.store = wg_trainer_store(t), .threads = 1};
    wg_minimised found;
    wg_minimiser *m;
    wg_error failure;
    if (wg_minimiser_create(&m, loss, &(wg_minimiser_options){.plan = &plan}, &failure) != WG_OK)
        errx(1, "%s", failure.text);
    if (wg_plan_run(wg_minimiser_plan(m), 0) != WG_OK)
        errx(1, "%s", wg_plan_message(wg_minimiser_plan(m)));
    const double adam = wg_plan_scalar(wg_minimiser_plan(m), largest);
    if (wg_minimiser_run(m, &found) != WG_OK)
        errx(1, "%s", wg_minimiser_message(m));
    const double refined = wg_plan_scalar(wg_minimiser_plan(m), largest);
    printf("L-BFGS: %zu steps, loss %.1e\n", found.steps, found.loss);
    printf("largest error: %.1e after Adam, %.1e after L-BFGS\n", adam, refined);
    wg_minimiser_free(m);
    wg_graph_free(g);
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
    int code = argc > 1 ? 0 : refine(t);
    wg_trainer_free(t);
    return code;
}
