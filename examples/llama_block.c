/* The block of LLaMA learns to copy: RMSNorm, rotary positions, queries that share heads of keys
 * and values, SwiGLU, no biases (Touvron et al. 2023).
 *
 *     llama_block               trains for some seconds
 *     llama_block MODEL.svg     draws the model
 *
 * Each line repeats a random word of 4 to 10 different letters until it is full.  From the second
 * time on, the next letter is the one that followed the present letter before.  To find it is known
 * as induction, for which two layers of attention work together (Olsson et al. 2022).  Exits with 0
 * if 98 % of the letters that can be known are predicted. */
#include "wengert.h"

#include <err.h>
#include <stdio.h>

enum { T = 32, D = 64, HEADS = 4, KEY_HEADS = 2, INNER = 128, BLOCKS = 2, LETTERS = 20 };
enum { SHORTEST = 4, LONGEST = 10, TRAINING = 32000, OTHERS = 100, BATCH = 32, FEW = 4 };
enum { UNKNOWABLE = -1 }; /* as the next letter: it does not count */

/* Example i: letters [T], and the next ones where they can be known. */
static wg_status repeat_a_word(void *others, int64_t epoch, int64_t i, void *const *to,
                               wg_error *error)
{
    int32_t *letter = to[0], *next = to[1], all[LETTERS] = {0};
    uint64_t random = (uint64_t)(2 * i + (others != NULL));
    (void)epoch;
    (void)error;
    for (int k = 0; k < LETTERS; k++) { /* shuffled: the word is the first letters */
        random = random * 6364136223846793005u + 1442695040888963407u;
        int at = (int)((random >> 33) % (unsigned)(k + 1));
        all[k] = all[at];
        all[at] = k;
    }
    int length = SHORTEST + (int)((random >> 40) % (LONGEST - SHORTEST + 1));
    for (int t = 0; t < T; t++) {
        letter[t] = all[t % length];
        next[t] = t < length ? UNKNOWABLE : all[(t + 1) % length];
    }
    return WG_OK;
}

/* W x, without a bias */
static wg_value *project(const char *name, wg_value *x, int64_t features)
{
    return wg_dense_with(name, x, features, &(wg_dense_options){.no_bias = true});
}

/* h = x + Attention(RMSNorm(x));  y = h + W2 (silu(W1 n) * W3 n) with n = RMSNorm(h).
 * x, y: [B, T, D] */
static wg_value *block(wg_value *x)
{
    const wg_multi_head_options attention = {
        .heads = HEADS, .key_heads = KEY_HEADS, .causal = true, .rotary = true, .no_bias = true};
    const wg_feed_forward_options swiglu = {
        .activation = WG_ACTIVATION_SILU, .gated = true, .no_bias = true};
    wg_value *n = wg_norm_layer("norm1", x, WG_RMSNORM, 1e-5);
    wg_value *h = wg_add(x, wg_multi_head_attention("attention", n, n, &attention));
    n = wg_norm_layer("norm2", h, WG_RMSNORM, 1e-5);
    return wg_add(h, wg_feed_forward("mlp", n, INNER, &swiglu));
}

/* letters [B, T]: logits of the next ones, [B, T, LETTERS] */
static wg_value *llama(wg_value *letters)
{
    wg_graph *g = wg_graph_of(letters);
    wg_value *x = wg_embedding_layer("embedding", letters, LETTERS, D, WG_F32);
    for (int i = 0; i < BLOCKS; i++) {
        wg_scope_push(g, "block%d", i);
        x = block(x);
        wg_scope_pop(g);
    }
    return project("head", wg_norm_layer("norm", x, WG_RMSNORM, 1e-5), LETTERS);
}

static wg_value *model(void *context, const wg_model_step *step)
{
    const wg_cross_entropy_attrs known = {.use_ignore = true, .ignore = UNKNOWABLE};
    wg_value *logits = llama(wg_step_input(step, "letter")), *next = wg_step_input(step, "next");
    (void)context;
    wg_step_metric(step, "accuracy", wg_accuracy(logits, next, &known), WG_MORE_IS_BETTER);
    return wg_cross_entropy(logits, next, NULL, &known);
}

/* What the trained model can do; 0 if that is enough. */
static int judge(wg_trainer *t)
{
    if (wg_trainer_validate(t, NULL, NULL) != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    double accuracy = wg_trainer_metric(t, "accuracy");
    printf("%.2f %% of the letters of %d other lines are predicted\n", 100 * accuracy, OTHERS);
    return !(accuracy >= 0.98);
}

int main(int argc, char **argv)
{
    const wg_field fields[] = {{.name = "letter", .dtype = WG_I32, .shape = WG_SHAPE(T)},
                               {.name = "next", .dtype = WG_I32, .shape = WG_SHAPE(T)}};
    wg_examples training = {fields, 2, TRAINING, .read = repeat_a_word, .batch = BATCH},
                others = training;
    others.count = OTHERS;
    others.context = &others;
    others.batch = FEW; /* so that the model drawn into a file is checked within a minute */
    const wg_parameter_group without_decay = {.names = "*norm*"};
    const wg_trainer_options options = {
        .model = model,
        .train = &training,
        .valid = &others,
        .optimizer = {.kind = WG_OPTIMIZER_ADAMW,
                      .beta2 = 0.95,
                      .weight_decay = 0.1,
                      .clip_norm = 1},
        .groups = &without_decay,
        .n_groups = 1,
        .schedule = {WG_SCHEDULE_COSINE, .rate = 6e-3, .warmup = 40},
        .after = {1, 'e'},
        .report = {50, 'u'},
        .seed = 1,
        .listener = {wg_print_event, stdout},
    };
    wg_error error;
    wg_trainer *t;
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options picture = {.title = "llama"};
    wg_status status = argc > 1 ? wg_trainer_draw(t, argv[1], &picture) : wg_trainer_run(t, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    int code = argc > 1 ? 0 : judge(t);
    wg_trainer_free(t);
    return code;
}
