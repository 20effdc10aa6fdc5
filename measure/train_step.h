/* The training step, built as the trainer builds it (train/step.h, translate/step.h), on a batch
 * of sentences of full length. */
#ifndef WG_MEASURE_TRAIN_STEP_H
#define WG_MEASURE_TRAIN_STEP_H

#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "wengert/translate/settings.h"

typedef struct bench_batch {
    int64_t rows, source_length, target_length; /* B, S, T */
} bench_batch;

/* Zero means the default in every field but settings and batch. */
typedef struct bench_step_options {
    const wg_settings *settings; /* with the sizes of the vocabularies in its net */
    bench_batch batch;
    const wg_backend *const *backends; /* default: all built-in ones */
    size_t n_backends;
    wg_store *store;         /* default: the step's own */
    size_t memory;           /* wg_plan_options.memory; 0: no limit */
    size_t memory_elsewhere; /* and what others take of it, beside the plan itself */
    bool profile, no_fuse;
} bench_step_options;

typedef struct bench_step {
    wg_graph *graph;
    wg_plan *plan;
    wg_store *own;        /* NULL if the options gave one */
    uint64_t run;         /* number of the last run */
    double build_seconds; /* graph with gradient             */
    double plan_seconds;  /* without initialising the parameters */
} bench_step;

/* The settings of the preset of that name, with a joint vocabulary of that size and with clipping.
 * Call wg_settings_free even after a failure. */
wg_status bench_step_settings(wg_settings *s, const char *preset, int64_t vocabulary, int threads,
                              wg_error *error);

/* Builds and plans the step and fills in the batch.  Call bench_step_free even after a failure; the
 * message is in the graph, or after a failed run in the plan. */
wg_status bench_step_make(bench_step *out, const bench_step_options *options);
void bench_step_free(bench_step *s);

/* One step; a bench_subject's run, with the bench_step as context. */
wg_status bench_step_run(void *step);

/* Operations of the model's matrix products in a step: two (a multiplication, an addition) for each
 * term of
 *
 *     projections q, k, v, out   2 (d h d_k + d h d_v) a token; k and v of cross-attention a source
 *                                token
 *     scores and averages        h d_k + h d_v for each pair of a query and a key that it sees
 *     feed-forward layer         2 d f (gated: 3 d f) a token
 *     logits                     d V a target token
 *
 * three times: forward, and the gradients of both operands.  A causal query at position t sees
 * t + 1 keys, and fewer where attention_window says so.  Nothing else is counted: no norm, softmax,
 * dropout, loss, embedding, update. */
double bench_step_flops(const wg_transformer_config *c, const bench_batch *b);

#endif
