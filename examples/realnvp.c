/* A normalising flow (RealNVP, Dinh et al. 2017) learns the density of two moons: layers that can
 * be inverted turn data into normally distributed numbers.
 *
 *     coupling, x = (a, b):   b' = b exp(s(a)) + t(a),   log |det| = s(a);   the next has (b', a)
 *     log p(x) = log N(z; 0, 1) + sum over layers of log |det|,   exact
 *     inverse:                b = (b' - t(a)) exp(-s(a)),   exact
 *
 *     realnvp             trains, and tells what came of it
 *     realnvp model.svg   draws the model instead
 *
 * Exits with 0 if other points are 0.6 nats more likely than under the Gaussian with their mean and
 * covariance, and if the inverse brings them back. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS = 6, HIDDEN = 48, TRAINING = 8000, OTHERS = 1000, ROWS = 20, COLUMNS = 60 };

static float points[TRAINING + OTHERS][2];

static const double pi = 3.14159265358979;

/* Half circles of radius 1, one of them turned and shifted, with noise of 0.1. */
static void draw_moons(void)
{
    uint64_t random = 1;
    for (int i = 0; i < TRAINING + OTHERS; i++) {
        double u[3];
        for (int k = 0; k < 3; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            u[k] = ((double)(random >> 33) + 0.5) / 2147483648.0;
        }
        double turn = pi * u[0], noise = 0.1 * sqrt(-2 * log(u[1])), side = i % 2 ? -1 : 1;
        points[i][0] = (float)(side * cos(turn) + (i % 2) + noise * cos(2 * pi * u[2]));
        points[i][1] = (float)(side * sin(turn) + (i % 2) * 0.5 + noise * sin(2 * pi * u[2]));
    }
}

/* ---- the flow -------------------------------------------------------------------------------- */

/* s(a) in (-2, 2) and t(a).  a, s, t: [B, 1] */
static wg_value *scale_and_shift(wg_value *a, wg_value **t)
{
    wg_value *h = wg_dense("hidden1", a, HIDDEN, WG_ACTIVATION_TANH);
    h = wg_dense("hidden2", h, HIDDEN, WG_ACTIVATION_TANH);
    *t = wg_dense("shift", h, 1, WG_ACTIVATION_NONE);
    return wg_scale(wg_tanh(wg_dense("scale", h, 1, WG_ACTIVATION_NONE)), 2);
}

/* x [B, 2] -> z [B, 2] and log |det dz/dx| [B, 1] */
static wg_value *to_normal(wg_value *x, wg_value **log_det)
{
    wg_value *a = wg_slice(x, 1, 0, 1, 1), *b = wg_slice(x, 1, 1, 2, 1), *t;
    *log_det = wg_zeros_like(a);
    for (int layer = 0; layer < LAYERS; layer++) {
        wg_scope_push(wg_graph_of(x), "layer%d", layer);
        wg_value *s = scale_and_shift(a, &t), *next = wg_add(wg_mul(b, wg_exp(s)), t);
        *log_det = wg_add(*log_det, s);
        b = a;
        a = next;
        wg_scope_pop(wg_graph_of(x));
    }
    return wg_concat((wg_value *[]){a, b}, 2, 1);
}

static wg_value *from_normal(wg_value *z)
{
    wg_value *a = wg_slice(z, 1, 0, 1, 1), *b = wg_slice(z, 1, 1, 2, 1), *t;
    for (int layer = LAYERS - 1; layer >= 0; layer--) {
        wg_scope_push(wg_graph_of(z), "layer%d", layer);
        wg_value *s = scale_and_shift(b, &t), *next = wg_mul(wg_sub(a, t), wg_exp(wg_neg(s)));
        a = b;
        b = next;
        wg_scope_pop(wg_graph_of(z));
    }
    return wg_concat((wg_value *[]){a, b}, 2, 1);
}

/* The mean of -log p(x), in nats. */
static wg_value *surprise(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *log_det, *z = to_normal(wg_step_input(step, "x"), &log_det);
    wg_value *normal = wg_scale(wg_sum(wg_square(z), WG_AXES(1), WG_KEEP), -0.5);
    wg_value *log_p = wg_shift(wg_add(normal, log_det), -log(2 * pi));
    return wg_neg(wg_mean(log_p, WG_ALL_AXES, WG_DROP));
}

/* ---- what came of it ------------------------------------------------------------------------- */

/* The same of the Gaussian with the mean and covariance of the other points:
 * log(2 pi) + log(det covariance) / 2 + 1. */
static double gaussian_surprise(void)
{
    double m[2] = {0}, c[3] = {0};
    for (int i = TRAINING; i < TRAINING + OTHERS; i++)
        for (int k = 0; k < 2; k++)
            m[k] += points[i][k] / OTHERS;
    for (int i = TRAINING; i < TRAINING + OTHERS; i++) {
        double x = points[i][0] - m[0], y = points[i][1] - m[1];
        c[0] += x * x / OTHERS;
        c[1] += x * y / OTHERS;
        c[2] += y * y / OTHERS;
    }
    return log(2 * pi) + log(c[0] * c[2] - c[1] * c[1]) / 2 + 1;
}

/* [-1.5, 2.5] x [-1, 1.5] with a sign where there are points of xy [n, 2]. */
static void plot(const float *xy, int n)
{
    char at[ROWS][COLUMNS + 1];
    memset(at, ' ', sizeof at);
    for (int i = 0; i < n; i++) {
        int column = (int)((xy[2 * i] + 1.5F) / 4 * COLUMNS);
        int row = (int)((1.5F - xy[2 * i + 1]) / 2.5F * ROWS);
        if (column >= 0 && column < COLUMNS && row >= 0 && row < ROWS)
            at[row][column] = at[row][column] == ' ' ? '.' : 'o';
    }
    for (int row = 0; row < ROWS; row++)
        printf("    %.*s\n", COLUMNS, at[row]);
}

/* Samples from p(x); returns max |x - from_normal(to_normal(x))| over the other points. */
static double invert(wg_store *store)
{
    wg_graph *g = wg_graph_new();
    wg_scope_reuse(g); /* both directions have the same parameters */
    wg_value *x = wg_constant(g, WG_F32, WG_SHAPE(OTHERS, 2), points[TRAINING]), *log_det;
    wg_value *back = from_normal(to_normal(x, &log_det));
    wg_value *largest = wg_output(wg_max(wg_abs(wg_sub(back, x)), WG_ALL_AXES, WG_DROP), "error");
    wg_value *samples = wg_output(from_normal(wg_normal_like(x, 0, 1)), "samples");
    wg_plan *plan;
    if (wg_plan_create(&plan, g, &(wg_plan_options){.store = store, .threads = 1}) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
    if (wg_plan_run(plan, 1) != WG_OK)
        errx(1, "%s", wg_plan_message(plan));
    double error = wg_plan_scalar(plan, largest);
    plot(wg_plan_f32(plan, samples), OTHERS);
    wg_plan_free(plan);
    wg_graph_free(g);
    return error;
}

/* What the trained model can do; 0 if that is enough. */
static int judge(wg_trainer *t)
{
    if (wg_trainer_validate(t, NULL, NULL) != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    double error = invert(wg_trainer_store(t));
    double flow = wg_trainer_metric(t, "loss"), gaussian = gaussian_surprise();
    printf("-log p: flow %.3f, Gaussian %.3f nats; largest error of the inverse %.1e\n", flow,
           gaussian, error);
    return !(flow <= gaussian - 0.6 && error <= 1e-3);
}

int main(int argc, char **argv)
{
    const wg_field field = {"x", WG_F32, WG_SHAPE(2), points};
    const wg_field other = {"x", WG_F32, WG_SHAPE(2), points[TRAINING]};
    const wg_examples training = {&field, 1, TRAINING, .batch = 200};
    const wg_examples others = {&other, 1, OTHERS, .batch = 200};
    const wg_trainer_options options = {
        .model = surprise,
        .train = &training,
        .valid = &others,
        .optimizer = {.clip_norm = 1},
        .schedule = {WG_SCHEDULE_COSINE, .rate = 2e-3, .warmup = 100},
        .after = {120, 'e'},
        .report = {40, 'e'},
        .seed = 1,
        .listener = {wg_print_event, stdout},
        .threads = 1, /* a model this small gains nothing by more */
    };
    wg_error error;
    wg_trainer *t;
    draw_moons();
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options picture = {.title = "RealNVP"};
    wg_status status = argc > 1 ? wg_trainer_draw(t, argv[1], &picture) : wg_trainer_run(t, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    int code = argc > 1 ? 0 : judge(t);
    wg_trainer_free(t);
    return code;
}
