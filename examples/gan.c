/* A generative adversarial network (Goodfellow et al. 2014) learns to draw points from eight small
 * clouds on a circle.  It never sees them: only a critic does, which tells its points from real
 * ones.
 *
 *     generator   z [B, Z] -> point [B, 2]
 *     critic      point [B, 2] -> c [B, 1], the logit of "this point is real"
 *
 *     the critic minimises      softplus(c(G(z))) + softplus(-c(x))
 *     the generator minimises   softplus(-c(G(z)))
 *
 *     gan             trains, and draws points of both
 *     gan model.svg   draws the model instead
 *
 * Exits with 0 if each cloud gets a twentieth of the new points at least, and nine in ten points
 * are within three standard deviations of a cloud. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>

enum {
    Z = 4,
    HIDDEN = 64,
    CLOUDS = 8,
    POINTS = 8192,
    BATCH = 256,
    SAMPLES = 2000,
    ROWS = 17,
    COLUMNS = 34
};

static const double radius = 2, spread = 0.1, pi = 3.14159265358979323846;
static float points[POINTS][2];

static double angle_of(int cloud)
{
    return 2 * pi * cloud / CLOUDS;
}

static void draw_points(void)
{
    uint64_t random = 1;
    for (int i = 0; i < POINTS; i++) {
        double u[2], angle = angle_of(i % CLOUDS);
        for (int k = 0; k < 2; k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            u[k] = ((double)(random >> 33) + 0.5) / 2147483648.0;
        }
        double r = spread * sqrt(-2 * log(u[0])); /* Box and Muller */
        points[i][0] = (float)(radius * cos(angle) + r * cos(2 * pi * u[1]));
        points[i][1] = (float)(radius * sin(angle) + r * sin(2 * pi * u[1]));
    }
}

/* Two hidden layers. */
static wg_value *network(const char *name, wg_value *x, int64_t features)
{
    wg_graph *g = wg_graph_of(x);
    wg_scope_push(g, "%s", name);
    wg_scope_reuse(g); /* the critic looks at points of both kinds */
    wg_value *h = wg_dense("hidden1", x, HIDDEN, WG_ACTIVATION_RELU);
    h = wg_dense("hidden2", h, HIDDEN, WG_ACTIVATION_RELU);
    wg_value *y = wg_dense("out", h, features, WG_ACTIVATION_NONE);
    wg_scope_pop(g);
    return y;
}

static wg_value *generate(wg_graph *g, int64_t n)
{
    return network("generator", wg_normal(g, WG_F32, WG_SHAPE(n, Z), 0, 1), 2);
}

static wg_value *mean(wg_value *x)
{
    return wg_mean(x, WG_ALL_AXES, WG_DROP);
}

static wg_value *adversaries(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *real = wg_step_input(step, "x");
    wg_value *fake = generate(step->graph, wg_value_dim(real, 0));
    wg_value *of_real = network("critic", real, 1), *of_fake = network("critic", fake, 1);
    wg_step_metric(step, "generator", mean(wg_softplus(wg_neg(of_fake))), WG_LESS_IS_BETTER);
    return mean(wg_add(wg_softplus(of_fake), wg_softplus(wg_neg(of_real))));
}

/* Rows of text with a mark where there are points. */
static void print_points(const char *title, const float (*point)[2], int n)
{
    int count[ROWS][COLUMNS] = {{0}};
    printf("%s\n", title);
    for (int i = 0; i < n; i++) {
        double row = (point[i][1] + 1.5 * radius) / (3 * radius) * ROWS;
        double column = (point[i][0] + 1.5 * radius) / (3 * radius) * COLUMNS;
        if (row >= 0 && row < ROWS && column >= 0 && column < COLUMNS)
            count[(int)row][(int)column]++;
    }
    for (int r = ROWS - 1; r >= 0; r--) {
        for (int c = 0; c < COLUMNS; c++)
            putchar(!count[r][c] ? ' ' : count[r][c] * 200 < n ? '.' : 'o');
        putchar('\n');
    }
}

/* Which part of the points is near a cloud, and which part the smallest of them has. */
static int judge(const float (*point)[2])
{
    int near[CLOUDS] = {0}, all = 0, least = SAMPLES;
    for (int i = 0; i < SAMPLES; i++)
        for (int k = 0; k < CLOUDS; k++)
            near[k] += hypot(point[i][0] - radius * cos(angle_of(k)),
                             point[i][1] - radius * sin(angle_of(k))) < 3 * spread;
    for (int k = 0; k < CLOUDS; k++) {
        all += near[k];
        least = near[k] < least ? near[k] : least;
    }
    printf("%.1f %% of the points are near a cloud, %.1f %% near the one that has fewest\n",
           100.0 * all / SAMPLES, 100.0 * least / SAMPLES);
    return !(least >= SAMPLES / 20 && all >= SAMPLES * 9 / 10);
}

/* New points of the trained generator, whose parameters are those of the store. */
static int sample(wg_store *store)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_output(generate(g, SAMPLES), "x");
    wg_plan *plan;
    if (wg_plan_create(&plan, g, &(wg_plan_options){.store = store, .threads = 1}) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
    if (wg_plan_run(plan, 1) != WG_OK)
        errx(1, "%s", wg_plan_message(plan));
    const float(*point)[2] = (const float(*)[2])wg_plan_f32(plan, x);
    print_points("points to learn", (const float(*)[2])points, POINTS);
    print_points("points of the generator", point, SAMPLES);
    int code = judge(point);
    wg_plan_free(plan);
    wg_graph_free(g);
    return code;
}

int main(int argc, char **argv)
{
    const wg_field field = {"x", WG_F32, WG_SHAPE(2), points};
    const wg_examples examples = {&field, 1, POINTS, .batch = BATCH};
    const wg_parameter_group generator = {.names = "generator/*", .loss = "generator", .rate = 0.5};
    const wg_trainer_options options = {
        .model = adversaries,
        .train = &examples,
        .groups = &generator,
        .n_groups = 1,
        .optimizer = {.beta1 = 0.5},
        .schedule = {WG_SCHEDULE_COSINE, .rate = 2e-3},
        .after = {300, 'e'},
        .report = {50, 'e'},
        .seed = 1,
        .listener = {wg_print_event, stdout},
        .threads = 1, /* a model this small gains nothing by more */
    };
    wg_error error;
    wg_trainer *t;
    draw_points();
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options picture = {.title = "GAN"};
    wg_status status = argc > 1 ? wg_trainer_draw(t, argv[1], &picture) : wg_trainer_run(t, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    int code = argc > 1 ? 0 : sample(wg_trainer_store(t));
    wg_trainer_free(t);
    return code;
}
