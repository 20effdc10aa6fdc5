/* A decoder-only Transformer (GPT) learns a language letter by letter, then writes in it.
 *
 *     gpt               trains for some seconds and prints what it writes
 *     gpt MODEL.svg     draws the model
 *
 * The language is the small English of english.h, whose speaker knows the probability of each
 * sentence, hence the lowest loss that is possible.  Exits with 0 if the loss on new sentences
 * comes within 0.05 nats a letter of it, and of 20 sentences written half are right. */
#include "wengert.h"

#include "english.h"

#include <err.h>
#include <stdio.h>

enum { T = 64, D = 64, HEADS = 4, BLOCKS = 2, CHARACTERS = 128 };
enum { TRAINING = 3200, OTHERS = 320, BATCH = 16, FEW = 2, EPOCHS = 3, LINES = 20 };

/* Example i: '\n' and T letters of sentences, of which the model reads all but the last letter. */
static wg_status speak(void *others, int64_t epoch, int64_t i, void *const *to, wg_error *error)
{
    int32_t *read = to[0], *next = to[1];
    speaker s = {.random = (uint64_t)(2 * i + (others != NULL)), .text = "\n"};
    (void)epoch;
    (void)error;
    while (strlen(s.text) < T + 1)
        say_sentence(&s);
    for (int t = 0; t < T; t++) {
        read[t] = s.text[t];
        next[t] = s.text[t + 1];
    }
    return WG_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

/* The keys, or the values, of all letters so far: a state [rows T, 1, D], in which row r has the
 * places r T, ..., r T + T - 1.  The ones of this letter, [rows, 1, D], are put at `places`. */
static wg_value *remember(const char *name, wg_value *now, wg_value *places, int64_t rows)
{
    wg_value *all = wg_state(wg_graph_of(now), name, WG_F32, WG_SHAPE(rows * T, 1, D), wg_zeros());
    wg_value *next = wg_put_rows(all, places, now);
    wg_assign(all, next);
    return next;
}

/* Attention of one letter x [rows, 1, D] at `position` [1] to the letters before it and itself. */
static wg_value *attention_to_memory(wg_value *x, wg_value *position, int64_t rows)
{
    wg_graph *g = wg_graph_of(x);
    wg_value *slots =
        wg_reshape(wg_iota(g, WG_I64, WG_SHAPE(rows * T), 0, 0, 1), WG_SHAPE(rows, T));
    wg_value *places = wg_add(wg_iota(g, WG_I64, WG_SHAPE(rows), 0, 0, T), position);
    wg_value *seen = wg_add(position, wg_fill(g, WG_I64, WG_SHAPE(rows), 1));
    const wg_multi_head_options o = {.heads = HEADS, .slots = slots, .lengths = seen};
    wg_scope_push(g, "attention");
    wg_projections p = wg_attention_projections(x, x, &o);
    p.k = remember("keys", p.k, places, rows);
    p.v = remember("values", p.v, places, rows);
    wg_value *y = wg_attention_heads(p, &o);
    wg_scope_pop(g);
    return y;
}

/* Logits of the next letters, [B, T, CHARACTERS], from ids [B, T]; or with `position` [1], of one
 * next letter from ids [B, 1].  The head is tied to the embedding. */
static wg_value *gpt(wg_value *ids, wg_value *position, double dropout)
{
    wg_graph *g = wg_graph_of(ids);
    const wg_multi_head_options causal = {.heads = HEADS, .causal = true, .dropout = dropout};
    const wg_feed_forward_options gelu = {.activation = WG_ACTIVATION_GELU_TANH};
    wg_value *letters =
        wg_parameter(g, "letters", WG_F32, WG_SHAPE(CHARACTERS, D), wg_normal_init(0.05));
    wg_value *positions =
        wg_parameter(g, "positions", WG_F32, WG_SHAPE(T, D), wg_normal_init(0.05));
    wg_value *x = wg_embedding(letters, ids);
    x = wg_add(x, position ? wg_embedding(positions, position) : positions);
    x = wg_dropout(x, dropout);
    for (int i = 0; i < BLOCKS; i++) {
        wg_scope_push(g, "block%d", i);
        wg_value *n = wg_layernorm_layer("norm1", x);
        wg_value *a = position ? attention_to_memory(n, position, ids->shape.dim[0])
                               : wg_multi_head_attention("attention", n, n, &causal);
        x = wg_add(x, wg_dropout(a, dropout));
        n = wg_layernorm_layer("norm2", x);
        x = wg_add(x, wg_dropout(wg_feed_forward("mlp", n, 4 * D, &gelu), dropout));
        wg_scope_pop(g);
    }
    return wg_matmul_t(wg_layernorm_layer("norm", x), letters, WG_NT);
}

static wg_value *model(void *context, const wg_model_step *step)
{
    double dropout = step->mode == WG_MODE_TRAINING ? 0.05 : 0;
    wg_value *logits = gpt(wg_step_input(step, "read"), NULL, dropout);
    (void)context;
    return wg_cross_entropy(logits, wg_step_input(step, "next"), NULL, NULL);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A run writes one letter in each line: drawn from the 10 most likely ones at temperature 0.8, by
 * the largest of logits plus Gumbel noise.  The letter is a state, and so is the position, so the
 * next run goes on by itself. */
static wg_graph *writer(wg_value **letter)
{
    int64_t first[LINES];
    for (int i = 0; i < LINES; i++)
        first[i] = '\n';
    wg_graph *g = wg_graph_new();
    wg_value *position = wg_state(g, "position", WG_I64, WG_SHAPE(1), wg_zeros());
    wg_value *last =
        wg_state(g, "letter", WG_I64, WG_SHAPE(LINES, 1), wg_values_init(first, sizeof first));
    wg_value *top = wg_topk(wg_scale(gpt(last, position, 0), 1 / 0.8), 10, -1); /* [LINES, 1, 10] */
    wg_value *u = wg_uniform(g, WG_F32, WG_SHAPE(LINES, 1, 10), 1e-7, 1 - 1e-7);
    wg_value *choice = wg_argmax(wg_sub(top, wg_log(wg_neg(wg_log(u)))), -1, WG_KEEP);
    *letter = wg_reshape(wg_gather(wg_result_of(top, 1), choice, -1), WG_SHAPE(LINES, 1));
    wg_assign(last, wg_output(*letter, "letter"));
    wg_assign(position, wg_add(position, wg_fill(g, WG_I64, WG_SHAPE(1), 1)));
    return g;
}

/* How many of the lines begin with a sentence of the language; -1 on failure. */
static int write_lines(wg_store *trained)
{
    char line[LINES][T + 1] = {{0}};
    int right = 0;
    wg_value *letter;
    wg_graph *g = writer(&letter);
    wg_store *store = wg_store_new_over(trained); /* the memory of the writer is its own */
    wg_plan *plan;
    if (wg_plan_create(&plan, g, &(wg_plan_options){.store = store}) != WG_OK)
        errx(1, "%s", wg_graph_message(g));
    for (int t = 0; t < T; t++) {
        if (wg_plan_run(plan, (uint64_t)t) != WG_OK)
            errx(1, "%s", wg_plan_message(plan));
        for (int i = 0; i < LINES; i++)
            line[i][t] = (char)wg_plan_i64(plan, letter)[i];
    }
    for (int i = 0; i < LINES; i++) {
        right += begins_with_sentence(line[i]);
        if (i < 3)
            printf("    %s\n", line[i]);
    }
    printf("%d of %d lines begin with a right sentence\n", right, LINES);
    wg_plan_free(plan);
    wg_store_free(store);
    wg_graph_free(g);
    return right;
}

/* What the trained model can do; 0 if that is enough. */
static int judge(wg_trainer *t)
{
    double entropy, unigram;
    measure_english(&entropy, &unigram);
    if (wg_trainer_validate(t, NULL, NULL) != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    double loss = wg_trainer_metric(t, "loss");
    printf("%.3f nats a letter; by frequencies of letters %.3f, the language itself %.3f\n", loss,
           unigram, entropy);
    int right = write_lines(wg_trainer_store(t));
    return !(loss <= entropy + 0.05 && right >= LINES / 2);
}

int main(int argc, char **argv)
{
    const wg_field fields[] = {{.name = "read", .dtype = WG_I32, .shape = WG_SHAPE(T)},
                               {.name = "next", .dtype = WG_I32, .shape = WG_SHAPE(T)}};
    wg_examples training = {fields, 2, TRAINING, .read = speak, .batch = BATCH}, others = training;
    others.count = OTHERS;
    others.context = &others;
    others.batch = FEW; /* so that the model drawn into a file is checked within a minute */
    const wg_parameter_group without_decay[] = {{.names = "*norm*"}, {.names = "*bias"}};
    const wg_trainer_options options = {
        .model = model,
        .train = &training,
        .valid = &others,
        .optimizer = {.kind = WG_OPTIMIZER_ADAMW, .weight_decay = 0.1, .clip_norm = 1},
        .groups = without_decay,
        .n_groups = 2,
        .schedule = {WG_SCHEDULE_COSINE, .rate = 5e-3, .warmup = 40},
        .after = {EPOCHS, 'e'},
        .report = {100, 'u'},
        .seed = 1,
        .listener = {wg_print_event, stdout},
    };
    wg_error error;
    wg_trainer *t;
    if (wg_trainer_create(&t, &options, &error) != WG_OK)
        errx(1, "%s", error.text);
    const wg_picture_options picture = {.title = "gpt"};
    wg_status status = argc > 1 ? wg_trainer_draw(t, argv[1], &picture) : wg_trainer_run(t, NULL);
    if (status != WG_OK)
        errx(1, "%s", wg_trainer_message(t));
    int code = argc > 1 ? 0 : judge(t);
    wg_trainer_free(t);
    return code;
}
