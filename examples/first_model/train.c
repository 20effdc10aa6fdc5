/* train [EPOCHS]: learns which of three spirals a point belongs to, and keeps the run in the folder
 * "run".  Ctrl-C stops it; the same command resumes it. */
#include "network.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 600, OTHERS = 150 };

static int fail(const char *message)
{
    fprintf(stderr, "%s\n", message);
    return 1;
}

/* Your data: arrays of all examples, one after the other. */
static void spirals(int n, float (*points)[2], int32_t *labels)
{
    for (int i = 0; i < n; i++) {
        double r = (double)(i / CLASSES) / (n / CLASSES);
        double turn = 4 * r + 2.0944 * (i % CLASSES) + 0.2 * rand() / RAND_MAX;
        points[i][0] = (float)(r * cos(turn));
        points[i][1] = (float)(r * sin(turn));
        labels[i] = i % CLASSES;
    }
}

/* Your model: the loss of one batch. */
static wg_value *loss_of(void *context, const wg_model_step *step)
{
    (void)context;
    wg_value *logits = network(wg_step_input(step, "point"));
    wg_value *label = wg_step_input(step, "label");
    wg_step_metric(step, "accuracy", wg_accuracy(logits, label, NULL), WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, label, NULL, NULL);
}

static volatile int stop;

static void ask_to_stop(int number)
{
    stop = number;
}

int main(int argc, char **argv)
{
    static float points[N][2], other_points[OTHERS][2];
    static int32_t labels[N], other_labels[OTHERS];
    spirals(N, points, labels);
    spirals(OTHERS, other_points, other_labels);
    const wg_field fields[] = {{"point", WG_F32, WG_SHAPE(2), points},
                               {"label", WG_I32, WG_SCALAR, labels}};
    const wg_field other_fields[] = {{"point", WG_F32, WG_SHAPE(2), other_points},
                                     {"label", WG_I32, WG_SCALAR, other_labels}};
    const wg_examples training = {fields, 2, N, .batch = 50};
    const wg_examples validation = {other_fields, 2, OTHERS, .batch = 50};

    const wg_trainer_options options = {
        .model = loss_of,
        .train = &training,
        .valid = &validation,
        .optimizer = {.kind = WG_OPTIMIZER_ADAM, .clip_norm = 1},
        .schedule = {WG_SCHEDULE_CONSTANT, .rate = 0.01},
        .after = {argc > 1 ? atoi(argv[1]) : 60, 'e'}, /* epochs */
        .validate = {10, 'e'},
        .metrics = "accuracy",
        .folder = "run",
        .listener = {wg_print_event, stdout},
    };
    wg_trainer *trainer;
    wg_error error;
    if (wg_trainer_create(&trainer, &options, &error) != WG_OK)
        return fail(error.text);
    signal(SIGINT, ask_to_stop);
    if (wg_trainer_run(trainer, &stop) != WG_OK)
        return fail(wg_trainer_message(trainer));
    wg_trainer_free(trainer);
    return 0;
}
