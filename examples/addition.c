/* A recurrent network learns to add: it reads two numbers digit by digit, the last digits first,
 * and says the digits of their sum, for which it must remember what is carried.  The trainer does
 * the rest: batches, the learning rate, validation, checkpoints.
 *
 *     addition            trains for some seconds
 *     addition FOLDER     the same, and keeps the run there: stop it by Ctrl-C, and resume it by
 *                         the same command; the digits learnt are the same to the last bit
 *
 * Exits with 0 if 99 % of the sums of other numbers are right. */
#include "wengert.h"

#include <signal.h>
#include <stdio.h>

enum { DIGITS = 8, T = DIGITS + 1, HIDDEN = 48, TRAINING = 4000, OTHERS = 500 };

/* Example i as two numbers: pairs of digits [T], each in [0, 100), and the digits of the sum. */
static wg_status draw(void *context, int64_t epoch, int64_t i, void *const *to, wg_error *error)
{
    int32_t *pairs = to[0], *sum = to[1], carry = 0;
    uint64_t random = (uint64_t)i + (context ? TRAINING : 0); /* validation: other examples */
    (void)epoch;
    (void)error;
    for (int t = 0; t < T; t++) {
        random = (random + 1) * 6364136223846793005u + 1442695040888963407u;
        pairs[t] = t < DIGITS ? (int32_t)((random >> 33) % 100) : 0;
        carry += pairs[t] / 10 + pairs[t] % 10;
        sum[t] = carry % 10;
        carry /= 10;
    }
    return WG_OK;
}

static wg_value *adder(void *context, const wg_model_step *step)
{
    wg_value *sum = wg_step_input(step, "sum"); /* [B, T] */
    wg_value *x = wg_embedding_layer("pairs", wg_step_input(step, "pairs"), 100, HIDDEN, WG_F32);
    wg_value *logits = wg_dense("digits", wg_lstm_layer("lstm", x, HIDDEN), 10,
                                WG_ACTIVATION_NONE); /* [B, T, 10] */
    wg_value *right = wg_equal(wg_argmax(logits, -1, WG_DROP), sum ? wg_cast(sum, WG_I64) : NULL);
    wg_value *exact = wg_all(right, WG_AXES(1), WG_DROP);
    (void)context;
    wg_step_metric(step, "digits", wg_mean(wg_cast(right, WG_F32), WG_ALL_AXES, WG_DROP),
                   WG_MORE_IS_BETTER);
    wg_step_metric(step, "exact", wg_mean(wg_cast(exact, WG_F32), WG_ALL_AXES, WG_DROP),
                   WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, sum, NULL, NULL);
}

static volatile int stop; /* the trainer stops after the update in progress */

static void ask_to_stop(int signal)
{
    stop = signal;
}

int main(int argc, char **argv)
{
    const wg_field fields[] = {{.name = "pairs", .dtype = WG_I32, .shape = WG_SHAPE(T)},
                               {.name = "sum", .dtype = WG_I32, .shape = WG_SHAPE(T)}};
    wg_examples training = {fields, 2, TRAINING, .read = draw}, others = training;
    others.count = OTHERS;
    others.context = &others;
    others.batch = 100;
    const wg_trainer_options options = {
        .model = adder,
        .train = &training,
        .valid = &others,
        .optimizer = {.clip_norm = 1},
        .schedule = {WG_SCHEDULE_COSINE, .rate = 0.01, .warmup = 50},
        .after = {4, 'e'},
        .report = {50, 'u'},
        .validate = {1, 'e'},
        .save = {1, 'e'},
        .metrics = "exact loss",
        .folder = argc > 1 ? argv[1] : NULL,
        .seed = 1,
        .listener = {wg_print_event, stdout},
    };
    wg_error error;
    wg_trainer *t;
    if (wg_trainer_create(&t, &options, &error) != WG_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    signal(SIGINT, ask_to_stop);
    if (wg_trainer_run(t, &stop) != WG_OK || wg_trainer_validate(t, NULL, NULL) != WG_OK)
        fprintf(stderr, "%s\n", wg_trainer_message(t));
    double exact = wg_trainer_metric(t, "exact"); /* NaN if it could not be measured */
    printf("%.1f %% of %d sums are right\n", 100 * exact, OTHERS);
    wg_trainer_free(t);
    return !(exact >= 0.99);
}
