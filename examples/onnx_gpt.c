/* A small GPT that somebody trained elsewhere, as an ONNX file, learns on, and is written as ONNX
 * again.
 *
 *     onnx_gpt
 *
 * Logits are an output of the file; loss, gradient and AdamW are added to the graph that is made of
 * it.  Exits with 0 if the loss begins where the first training had ended, falls by a fifth at
 * least of what is left above the best possible, and is the same in the file that is written.
 *
 * So that the example needs no file, it makes the first one itself, from letters of english.h:
 * make_file has nothing that the rest knows of. */
#include "wengert.h"

#include "english.h"

#include <stdio.h>

enum { T = 48, D = 48, ROWS = 16, LETTERS = 128 };

static int fail(const char *message)
{
    fprintf(stderr, "%s\n", message);
    return 1;
}

/* Batch i of a sequence of texts: rows of T letters, and the letters that follow each. */
static void speak(int32_t *read, int32_t *next, uint64_t sequence, int i)
{
    for (int r = 0; r < ROWS; r++) {
        speaker s = {.random = sequence << 32 | (uint64_t)(i * ROWS + r), .text = "\n"};
        while (strlen(s.text) < T + 1)
            say_sentence(&s);
        for (int t = 0; t < T; t++) {
            read[r * T + t] = s.text[t];
            next[r * T + t] = s.text[t + 1];
        }
    }
}

/* Adds the mean cross entropy of the next letters. */
static wg_value *loss_of(wg_value *logits)
{
    wg_value *next = wg_input(wg_graph_of(logits), "next", WG_I32, WG_SHAPE(ROWS, T));
    return wg_output(wg_cross_entropy(logits, next, NULL, NULL), "loss");
}

/* Runs of the plan on batches first, first + 1, ...; *loss is the mean.  Assignments, if the graph
 * has some, are updates. */
static int run(wg_plan *plan, wg_graph *g, uint64_t sequence, int first, int count, double *loss)
{
    *loss = 0;
    for (int i = first; i < first + count; i++) {
        speak(wg_plan_i32(plan, wg_graph_find(g, "letters")),
              wg_plan_i32(plan, wg_graph_find(g, "next")), sequence, i);
        if (wg_plan_run(plan, (uint64_t)i) != WG_OK)
            return fail(wg_plan_message(plan));
        *loss += wg_plan_scalar(plan, wg_graph_find_output(g, "loss")) / count;
    }
    return 0;
}

/* Trains a graph that has a loss; its parameters are then in the store. */
static int train(wg_graph *g, wg_store *store, int updates)
{
    enum { SHOWN = 50 };
    double loss;
    wg_plan *plan;
    const wg_adam_options adamw = {.weight_decay = 0.1, .decoupled = true};
    wg_gradients d = wg_grad_all(wg_graph_find_output(g, "loss"));
    wg_clip_by_global_norm(d.grads, d.n, 1, d.grads);
    wg_adam_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 4e-3), &adamw);
    if (wg_plan_create(&plan, g, &(wg_plan_options){.store = store}) != WG_OK)
        return fail(wg_graph_message(g));
    for (int i = 0; i < updates; i += SHOWN) {
        if (run(plan, g, 1, i, SHOWN, &loss))
            return 1;
        printf("updates %3d to %3d  loss %.3f\n", i + 1, i + SHOWN, loss);
    }
    wg_plan_free(plan);
    wg_graph_free(g);
    return 0;
}

/* ---- somebody else's model ------------------------------------------------------------------- */

/* Letters [ROWS, T] to logits [ROWS, T, LETTERS], which become an output. */
static wg_value *gpt(wg_graph *g)
{
    const wg_multi_head_options past = {.heads = 4, .causal = true, .rotary = true};
    wg_value *letters = wg_input(g, "letters", WG_I32, WG_SHAPE(ROWS, T));
    wg_value *x = wg_embedding_layer("embedding", letters, LETTERS, D, WG_F32);
    for (int i = 0; i < 2; i++) {
        wg_scope_push(g, "block%d", i);
        wg_value *n = wg_layernorm_layer("before_attention", x);
        x = wg_add(x, wg_multi_head_attention("attention", n, n, &past));
        x = wg_add(x, wg_feed_forward("mlp", wg_layernorm_layer("before_mlp", x), 4 * D, NULL));
        wg_scope_pop(g);
    }
    x = wg_layernorm_layer("last", x);
    return wg_output(wg_dense("head", x, LETTERS, WG_ACTIVATION_NONE), "logits");
}

static int make_file(const char *path)
{
    wg_error error;
    wg_store *store = wg_store_new(1);
    wg_graph *g = wg_graph_new(), *alone = wg_graph_new();
    loss_of(gpt(g));
    gpt(alone);
    if (train(g, store, 100))
        return 1;
    if (wg_onnx_export(alone, path, &(wg_onnx_export_options){.store = store}, &error) != WG_OK)
        return fail(error.text);
    wg_graph_free(alone);
    wg_store_free(store);
    return 0;
}

/* ---- the file, trained further --------------------------------------------------------------- */

/* The graph of a file, with a loss; NULL after a failure. */
static wg_graph *with_loss(const char *path)
{
    wg_graph *g;
    wg_error error;
    if (wg_onnx_import(&g, path, NULL, &error) != WG_OK) {
        fail(error.text);
        return NULL;
    }
    loss_of(wg_graph_find_output(g, "logits"));
    return g;
}

/* The loss of a file on other texts. */
static int measure(const char *path, double *loss)
{
    wg_graph *g = with_loss(path);
    wg_plan *plan;
    if (!g)
        return 1;
    if (wg_plan_create(&plan, g, NULL) != WG_OK)
        return fail(wg_graph_message(g));
    int code = run(plan, g, 2, 0, 10, loss);
    wg_plan_free(plan);
    wg_graph_free(g);
    return code;
}

static int continue_training(const char *from, const char *to)
{
    wg_error error;
    wg_graph *g = with_loss(from), *alone;
    wg_store *store = wg_store_new(0);
    if (!g || train(g, store, 150))
        return 1;
    if (wg_onnx_import(&alone, from, NULL, &error) != WG_OK ||
        wg_onnx_export(alone, to, &(wg_onnx_export_options){.store = store}, &error) != WG_OK)
        return fail(error.text);
    wg_graph_free(alone);
    wg_store_free(store);
    return 0;
}

int main(void)
{
    static const char first[] = "gpt.onnx", second[] = "gpt_further.onnx";
    double entropy, letters, before, after;
    measure_english(&entropy, &letters);
    if (make_file(first) || measure(first, &before))
        return 1;
    printf("the file: %.3f nats a letter on other texts\n", before);
    if (continue_training(first, second) || measure(second, &after))
        return 1;
    printf("trained further: %.3f; the language itself %.3f\n", after, entropy);
    return !(before < letters && after - entropy < 0.8 * (before - entropy));
}
