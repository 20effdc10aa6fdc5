/* A variational autoencoder (Kingma and Welling 2014) learns what pictures of discs look like, and
 * draws new ones.
 *
 *     encoder   x [B, P] -> mean, log variance of q(z | x) [B, Z]
 *     z = mean + exp(log variance / 2) noise,   noise ~ N(0, 1)
 *     decoder   z [B, Z] -> logits of the pixels of p(x | z) [B, P]
 *     ELBO = log p(x | z) - KL(q(z | x) || N(0, 1)),   at most log p(x)
 *
 *     vae             trains, and tells what came of it
 *     vae model.svg   draws the model instead
 *
 * Exits with 0 if, on other pictures, the bound is 30 nats above what is possible without knowing
 * how pixels depend on each other. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>

enum { SIDE = 12, P = SIDE * SIDE, Z = 3, HIDDEN = 96, TRAINING = 3000, OTHERS = 500, SAMPLES = 5 };

static float pictures[TRAINING + OTHERS][P];

/* Discs of radius 2 to 4, wherever they fit. */
static void draw_discs(void)
{
    uint64_t random = 1;
    for (int i = 0; i < TRAINING + OTHERS; i++) {
        double u[3];
        for (int k = 0; k < 3; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            u[k] = (double)(random >> 33) / 2147483648.0;
        }
        double r = 2 + 2 * u[0], x = r + (SIDE - 2 * r) * u[1], y = r + (SIDE - 2 * r) * u[2];
        for (int p = 0; p < P; p++)
            pictures[i][p] = hypot(p % SIDE + 0.5 - x, p / SIDE + 0.5 - y) < r;
    }
}

static wg_value *decode(wg_value *z)
{
    wg_value *h = wg_dense("decoder1", z, HIDDEN, WG_ACTIVATION_RELU);
    return wg_dense("decoder2", h, P, WG_ACTIVATION_NONE);
}

/* The negative ELBO, in nats per picture. */
static wg_value *bound(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *x = wg_step_input(step, "x");
    wg_value *h = wg_dense("encoder1", x, HIDDEN, WG_ACTIVATION_RELU);
    wg_value *mean = wg_dense("mean", h, Z, WG_ACTIVATION_NONE);
    wg_value *log_var = wg_dense("log_var", h, Z, WG_ACTIVATION_NONE);
    wg_value *noise = wg_normal_like(mean, 0, 1);
    wg_value *z = wg_add(mean, wg_mul(wg_exp(wg_scale(log_var, 0.5)), noise));

    /* KL(N(m, s^2) || N(0, 1)) = (m^2 + s^2 - 1 - log s^2) / 2, summed over z */
    wg_value *kl = wg_sub(wg_add(wg_square(mean), wg_exp(log_var)), wg_shift(log_var, 1));
    kl = wg_mean(wg_sum(wg_scale(kl, 0.5), WG_AXES(-1), WG_DROP), WG_ALL_AXES, WG_DROP);
    wg_value *reconstruction = wg_bce_with_logits(decode(z), x, WG_LOSS_BATCH_MEAN);
    wg_step_metric(step, "kl", kl, WG_LESS_IS_BETTER);
    return wg_add(reconstruction, kl);
}

/* log p of the other pictures if each pixel is white with its frequency in the training pictures:
 * the best that a model of independent pixels can do. */
static double independent_pixels(void)
{
    double sum = 0;
    for (int p = 0; p < P; p++) {
        double white = 1; /* 1 of 2 is seen beforehand: no probability is 0 */
        for (int i = 0; i < TRAINING; i++)
            white += pictures[i][p];
        for (int i = TRAINING; i < TRAINING + OTHERS; i++)
            sum += log((pictures[i][p] > 0 ? white : TRAINING + 2 - white) / (TRAINING + 2));
    }
    return sum / OTHERS;
}

/* New pictures: z ~ N(0, 1), decoded.  The parameters are those of the store. */
static void draw_samples(wg_store *store)
{
    wg_graph *g = wg_graph_new();
    wg_value *z = wg_normal(g, WG_F32, WG_SHAPE(SAMPLES, Z), 0, 1);
    wg_value *x = wg_output(wg_sigmoid(decode(z)), "x");
    wg_plan *plan;
    if (wg_plan_create(&plan, g, &(wg_plan_options){.store = store, .threads = 1}) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
    if (wg_plan_run(plan, 2) != WG_OK)
        errx(1, "%s", wg_plan_message(plan));
    const float *pixel = wg_plan_f32(plan, x);
    for (int row = 0; row < SIDE; row++) {
        for (int i = 0; i < SAMPLES * SIDE; i++) {
            float grey = pixel[i / SIDE * P + row * SIDE + i % SIDE];
            printf("%s%c", i % SIDE ? "" : "  | ", " .:oO@"[(int)(grey * 5.999F)]);
        }
        printf("\n");
    }
    wg_plan_free(plan);
    wg_graph_free(g);
}

/* What the trained model can do; 0 if that is enough. */
static int judge(wg_trainer *t)
{
    if (wg_trainer_validate(t, NULL, NULL) != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    double elbo = -wg_trainer_metric(t, "loss"), baseline = independent_pixels();
    printf("log p(x) is at least %.1f nats; with independent pixels it is %.1f\n", elbo, baseline);
    draw_samples(wg_trainer_store(t));
    return !(elbo >= baseline + 30);
}

int main(int argc, char **argv)
{
    const wg_field field = {"x", WG_F32, WG_SHAPE(P), pictures};
    const wg_field other = {"x", WG_F32, WG_SHAPE(P), pictures[TRAINING]};
    const wg_examples training = {&field, 1, TRAINING, .batch = 50};
    const wg_examples others = {&other, 1, OTHERS, .batch = 50};
    const wg_trainer_options options = {
        .model = bound,
        .train = &training,
        .valid = &others,
        .schedule = {WG_SCHEDULE_COSINE, .rate = 4e-3, .warmup = 50},
        .after = {20, 'e'},
        .report = {5, 'e'},
        .seed = 1,
        .listener = {wg_print_event, stdout},
        .threads = 1, /* a model this small gains nothing by more */
    };
    wg_error error;
    wg_trainer *t;
    draw_discs();
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options picture = {.title = "VAE"};
    wg_status status = argc > 1 ? wg_trainer_draw(t, argv[1], &picture) : wg_trainer_run(t, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    int code = argc > 1 ? 0 : judge(t);
    wg_trainer_free(t);
    return code;
}
