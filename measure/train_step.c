#include "measure/train_step.h"
#include "backends/memory.h"
#include "graph/error.h"
#include "measure/limits.h"
#include "measure/parameters.h"
#include "train/step.h"
#include "translate/step.h"

#include <stdio.h>

wg_status bench_step_settings(wg_settings *s, const char *preset, int64_t vocabulary, int threads,
                              wg_error *error)
{
    wgi_error_clear(error);
    wg_status status = wg_settings_init(s);
    if (status != WG_OK)
        return wgi_error_set(error, status, "out of memory");
    status = wg_settings_set(s, "preset", preset, error);
    if (status == WG_OK) /* as for small corpora; the value does not change the cost */
        status = wg_settings_set(s, "clip-norm", "25", error);
    s->net.source_vocabulary = s->net.target_vocabulary = vocabulary;
    s->threads = threads;
    return status;
}

/* ---- the batch ------------------------------------------------------------------------------- */

/* Ids that go through all of [0, below) before one repeats. */
static void fill_ids(wg_plan *p, const wg_value *v, int64_t below, int64_t first)
{
    int32_t *ids = wg_plan_data(p, v);
    for (int64_t i = 0, n = wg_value_count(v); i < n; i++)
        ids[i] = (int32_t)((first + i * 7919) % below);
}

static void fill_lengths(wg_plan *p, const wg_value *v, int64_t length)
{
    int32_t *lengths = wg_plan_data(p, v);
    for (int64_t i = 0, n = wg_value_count(v); i < n; i++)
        lengths[i] = (int32_t)length;
}

static void fill_batch(wg_plan *p, const wgi_step_graph *s, const bench_step_options *o)
{
    const bench_batch *b = &o->batch;
    int64_t source = o->settings->net.source_vocabulary,
            target = o->settings->net.target_vocabulary;
    fill_ids(p, s->inputs[WGI_SOURCE], source, 0);
    fill_lengths(p, s->inputs[WGI_SOURCE_LENGTHS], b->source_length);
    fill_ids(p, s->inputs[WGI_TARGET_IN], target, 1);
    /* target_in, shifted by one token */
    fill_ids(p, s->inputs[WGI_TARGET_OUT], target, 7920 % target);
    *(float *)wg_plan_data(p, s->total) = (float)(b->rows * b->target_length);
    *(float *)wg_plan_data(p, s->rate) = 1e-4f;
}

/* ---- the step -------------------------------------------------------------------------------- */

wg_status bench_step_make(bench_step *out, const bench_step_options *o)
{
    const bench_batch *b = &o->batch;
    wgi_step_graph s;
    wg_shape shapes[WGI_TRANSLATION_FIELDS];
    double start = wgi_seconds();
    const wg_trainer_options run = wgi_translation_options(o->settings);
    wgi_translation_shapes(shapes, b->rows, b->source_length, b->target_length);
    wgi_step_build(&s, &run, wgi_translation_fields, WGI_TRANSLATION_FIELDS, shapes,
                   WGI_STEP_UPDATES, 0);
    *out = (bench_step){.graph = s.graph, .build_seconds = wgi_seconds() - start};
    if (!s.graph)
        return WG_ENOMEM;
    wg_store *store = o->store ? o->store : (out->own = wg_store_new(o->settings->seed));
    wg_status status = bench_draw_parameters(s.graph, store);
    if (status != WG_OK)
        return status;
    const size_t elsewhere = o->memory_elsewhere + wg_graph_node_count(s.graph) * WGI_NODE_BYTES;
    start = wgi_seconds();
    status = wg_plan_create(&out->plan, s.graph,
                            &(wg_plan_options){.backends = o->backends,
                                               .n_backends = o->n_backends,
                                               .threads = (int)o->settings->threads,
                                               .store = store,
                                               .seed = o->settings->seed,
                                               .profile = o->profile,
                                               .memory = o->memory,
                                               .memory_elsewhere = elsewhere,
                                               .no_fuse = o->no_fuse});
    out->plan_seconds = wgi_seconds() - start;
    if (status == WG_OK)
        fill_batch(out->plan, &s, o);
    return status;
}

void bench_step_free(bench_step *s)
{
    wg_plan_free(s->plan);
    wg_graph_free(s->graph);
    wg_store_free(s->own);
}

wg_status bench_step_run(void *step)
{
    bench_step *s = step;
    return wg_plan_run(s->plan, ++s->run);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* Pairs of one of n positions and one that it sees: itself and `window` (0: all) before, and in the
 * encoder after. */
static double seen_pairs(double n, int64_t window, bool causal)
{
    double w = window && (double)window < n - 1 ? (double)window : n - 1;
    return n + (causal ? 1 : 2) * (w * n - w * (w + 1) / 2);
}

double bench_step_flops(const wg_transformer_config *c, const bench_batch *b)
{
    double d = (double)c->d_model, B = (double)b->rows, S = (double)b->source_length,
           T = (double)b->target_length;
    double k = c->d_k ? (double)(c->heads * c->d_k) : d,
           v = c->d_v ? (double)(c->heads * c->d_v) : d;
    double queries = d * k + d * v; /* projections q and out */
    double keys = d * k + d * v;    /* projections k and v */
    double seen = (c->attention == WG_ATTENTION_ADDITIVE ? 0 : k) + v;
    double inner = (c->gated ? 3 : 2) * d * (double)c->d_ff;

    double encoder =
        S * (queries + keys + inner) + seen_pairs(S, c->attention_window, false) * seen;
    double itself = T * (queries + keys) + seen_pairs(T, c->attention_window, true) * seen;
    double cross = T * queries + S * keys + T * S * seen;
    double decoder = itself + cross + T * inner;
    double logits = T * d * (double)c->target_vocabulary;
    return 3 * 2 * B *
           ((double)c->encoder_layers * encoder + (double)c->decoder_layers * decoder + logits);
}
