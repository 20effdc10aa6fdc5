/* A selective state-space model (Mamba; Gu and Dao 2023) on the task that separates it from
 * recurrences with fixed decay: to repeat the letters of a sequence, in their order, without the
 * blanks that stand between them in irregular numbers.
 *
 *     . . F . A . . . . C . .  ? ? ?   ->   F A C
 *
 * The state of channel d, N numbers, follows a linear recurrence whose step size, input and output
 * are functions of what is read: a letter may write, a blank may leave all as it is.
 *
 *     D_t, B_t, C_t = linear functions of x_t,  D_t by softplus positive
 *     h_t = exp(D_t A) h_(t-1) + D_t B_t x_t,     y_t = C_t . h_t + E x_t
 *
 *     mamba             trains, and tells what came of it
 *     mamba block.svg   draws the block instead
 *
 * Exits with 0 if it repeats 95 % of the letters of other sequences, and the same model with fixed
 * D, B and C less than 70 %. */
#include "wengert.h"

#include <err.h>
#include <math.h>
#include <stdio.h>

enum { BLANK, ASK, LETTERS = 6, SYMBOLS = 2 + LETTERS };
enum { BODY = 24, K = 3, T = BODY + K, TRAINING = 4000, OTHERS = 500 };
enum { MODEL = 24, INNER = 48, N = 8, TAPS = 4 };

/* Example i: the sequence [T] and its letters [K]. */
static wg_status draw(void *context, int64_t epoch, int64_t i, void *const *to, wg_error *error)
{
    int32_t *sequence = to[0], *letter = to[1];
    uint64_t random =
        (uint64_t)i * 2654435761u + (uint64_t)epoch * 40503u + (context ? 1u << 31 : 0);
    (void)error;
    for (int t = 0, left = K; t < T; t++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        bool writes = t < BODY && (int)((random >> 33) % (uint64_t)(BODY - t)) < left;
        sequence[t] = t < BODY ? BLANK : ASK;
        if (writes) {
            sequence[t] = 2 + (int32_t)((random >> 45) % LETTERS);
            letter[K - left--] = sequence[t];
        }
    }
    return WG_OK;
}

/* The recurrence over x [B, T, INNER], in all channels and N numbers of each. */
static wg_value *state_space(wg_value *x, bool selective)
{
    float log_a[INNER * N]; /* A begins as -1, -2, ... -N in each channel */
    for (int i = 0; i < INNER * N; i++)
        log_a[i] = logf((float)(1 + i % N));
    wg_graph *g = wg_graph_of(x);
    wg_value *A =
        wg_parameter(g, "log_a", WG_F32, WG_SHAPE(INNER, N), wg_values_init(log_a, sizeof log_a));
    wg_value *E = wg_parameter(g, "skip", WG_F32, WG_SHAPE(INNER), wg_ones()), *D, *B, *C;
    A = wg_neg(wg_exp(A));
    if (selective) {
        D = wg_dense("delta", x, INNER, WG_ACTIVATION_NONE); /* [B, T, INNER] */
        B = wg_dense("b", x, N, WG_ACTIVATION_NONE);         /* [B, T, N] */
        C = wg_dense("c", x, N, WG_ACTIVATION_NONE);
    } else {
        D = wg_parameter(g, "delta", WG_F32, WG_SHAPE(1, 1, INNER), wg_zeros());
        B = wg_parameter(g, "b", WG_F32, WG_SHAPE(1, 1, N), wg_normal_init(1));
        C = wg_parameter(g, "c", WG_F32, WG_SHAPE(1, 1, N), wg_normal_init(1));
    }
    D = wg_unsqueeze(wg_softplus(D), -1); /* [B, T, INNER, 1] */
    B = wg_unsqueeze(B, -2);              /* [B, T, 1, N] */
    C = wg_unsqueeze(C, -2);
    wg_value *decay = wg_exp(wg_mul(D, A)), *write = wg_mul(wg_mul(D, wg_unsqueeze(x, -1)), B);
    wg_value *h = wg_linear_scan(decay, write, NULL, &(wg_linear_scan_attrs){.axis = 1});
    return wg_add(wg_sum(wg_mul(h, C), WG_AXES(-1), WG_DROP), wg_mul(E, x));
}

/* silu(causal convolution), recurrence, gate.  x, y: [B, T, MODEL] */
static wg_value *block(wg_value *x, bool selective)
{
    wg_value *inner = wg_dense_with("in", x, 2 * INNER, &(wg_dense_options){.no_bias = true});
    wg_value *u = wg_split(inner, -1, NULL, 2), *gate = wg_result_of(u, 1);
    const wg_conv1d_layer_options causal = {.conv = {.padding = TAPS - 1, .groups = INNER}};
    u = wg_conv1d_layer("conv", wg_transpose(u), INNER, TAPS, &causal);
    u = wg_silu(wg_transpose(wg_slice(u, -1, 0, T, 1))); /* without the last TAPS - 1 of the conv */
    wg_value *y = wg_mul(state_space(u, selective), wg_silu(gate));
    return wg_dense_with("out", y, MODEL, &(wg_dense_options){.no_bias = true});
}

static wg_value *model(void *context, const wg_model_step *step)
{
    const bool *selective = context;
    wg_value *x = wg_step_input(step, "sequence"), *letter = wg_step_input(step, "letter");
    x = wg_embedding_layer("symbols", x, SYMBOLS, MODEL, WG_F32);
    wg_scope_push(step->graph, "block");
    x = wg_add(x, block(wg_norm_layer("norm", x, WG_RMSNORM, 1e-5), *selective));
    wg_scope_pop(step->graph);
    x = wg_norm_layer("norm", wg_slice(x, 1, BODY, T, 1), WG_RMSNORM, 1e-5); /* [B, K, MODEL] */
    wg_value *logits = wg_dense("logits", x, SYMBOLS, WG_ACTIVATION_NONE);
    wg_value *right = wg_equal(wg_argmax(logits, -1, WG_DROP), wg_cast(letter, WG_I64));
    wg_step_metric(step, "accuracy", wg_mean(wg_cast(right, WG_F32), WG_ALL_AXES, WG_DROP),
                   WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, letter, NULL, NULL);
}

static void draw_block(const char *file)
{
    wg_error error;
    wg_graph *g = wg_graph_new();
    wg_output(block(wg_input(g, "x", WG_F32, WG_SHAPE(50, T, MODEL)), true), "y");
    const wg_picture_options parts = {.title = "Mamba", .depth = 1};
    if (wg_picture_save(g, file, &parts, &error) != WG_OK)
        errx(1, "%s", error.text);
    wg_graph_free(g);
}

/* Trains; the accuracy on other sequences. */
static double train(bool selective)
{
    const wg_field fields[] = {{.name = "sequence", .dtype = WG_I32, .shape = WG_SHAPE(T)},
                               {.name = "letter", .dtype = WG_I32, .shape = WG_SHAPE(K)}};
    wg_examples training = {fields, 2, TRAINING, .read = draw, .batch = 50}, others = training;
    others.count = OTHERS;
    others.context = &others;
    const wg_trainer_options options = {
        .model = model,
        .context = &selective,
        .train = &training,
        .valid = &others,
        .optimizer = {.clip_norm = 1},
        .schedule = {WG_SCHEDULE_COSINE, .rate = 1e-2, .warmup = 50},
        .after = {6, 'e'},
        .report = {2, 'e'},
        .seed = 1,
        .listener = {wg_print_event, stdout},
        .threads = 1, /* a model this small gains nothing by more */
    };
    wg_error error;
    wg_trainer *t;
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    if (wg_trainer_run(t, NULL) != WG_OK || wg_trainer_validate(t, NULL, NULL) != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    double accuracy = wg_trainer_metric(t, "accuracy");
    wg_trainer_free(t);
    return accuracy;
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        draw_block(argv[1]);
        return 0;
    }
    double selective = train(true), fixed = train(false);
    printf("letters that are right: %.1f %%, with fixed decay %.1f %%\n", 100 * selective,
           100 * fixed);
    return !(selective >= 0.95 && fixed < 0.7);
}
