/* The decoder with keys and values kept.  Each lives at a slot of a pool, from which attention
 * reads it: nothing is ever moved, and a reordered beam copies only slot numbers.  There are two
 * kinds of plans, each in a few sizes:
 *
 *     encode  N source tokens of any sentences
 *             -> keys and values of the decoder's cross-attention, into the pools
 *     step    the last tokens of R hypotheses
 *             -> their keys and values, into the pools; the most probable next tokens
 *
 * A plan that is larger than its batch runs the other rows on slot 0, which is never taken. */
#include "decode/cached.h"
#include "backends/plan_cache.h"
#include "backends/store.h"
#include "decode/candidates.h"
#include "decode/sizes.h"
#include "decode/stepwise.h"
#include "graph/error.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_PLANS = 32,
    ENCODED = 1024, /* tokens of one encoding, unless one sentence is longer    */
    MAX_WASTE = 4,  /* maximum rows of an existing plan per row of the batch */
    ROWS = 0,       /* of a plan's key                                          */
    K,              /* candidates of a step; 0: an encoding                     */
    LOGITS          /* whether they are logits                                  */
};

/* Inputs for tokens; source_slots and source_lengths only in a step. */
typedef struct token_io {
    wg_plan *plan;
    int64_t rows;
    int32_t *ids, *positions, *slots, *lengths, *to, *source_slots, *source_lengths;
    const void *values;
    const int64_t *tokens;
} token_io;

struct wgi_cached {
    wgi_decode_context *context;
    wgi_decode_limits limits;
    int64_t call_rows;   /* limits.rows of the call in progress */
    int64_t max_encoded; /* tokens of one encoding */
    wg_store *pools;     /* over the model's store */
    wgi_slots target, source;
    wgi_plan_cache plans;
    wgi_scores scores;
};

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct token_inputs {
    wg_value *ids, *positions, *slots, *lengths, *to, *source_slots, *source_lengths;
} token_inputs;

static token_inputs inputs_of(wg_graph *g, int64_t rows, int64_t width, int64_t source_width)
{
    token_inputs in = {
        .ids = wg_input(g, "ids", WG_I32, WG_SHAPE(rows)),
        .positions = wg_input(g, "positions", WG_I32, WG_SHAPE(rows)),
        .slots = wg_input(g, "slots", WG_I32, WG_SHAPE(rows, width)),
        .lengths = wg_input(g, "lengths", WG_I32, WG_SHAPE(rows)),
        .to = wg_input(g, "to", WG_I32, WG_SHAPE(rows)),
    };
    if (source_width) {
        in.source_slots = wg_input(g, "source_slots", WG_I32, WG_SHAPE(rows, source_width));
        in.source_lengths = wg_input(g, "source_lengths", WG_I32, WG_SHAPE(rows));
    }
    return in;
}

static wgi_tokens tokens_of(const token_inputs *in)
{
    return (wgi_tokens){in->ids, in->positions, in->slots, in->lengths};
}

static void build_encode(const wgi_cached *c, wg_graph *g, token_inputs *in, int64_t rows)
{
    *in = inputs_of(g, rows, c->limits.source, 0);
    wg_transformer m = wg_transformer_begin(g, c->context->model->config, WG_MODE_INFERENCE);
    const wgi_tokens t = tokens_of(in);
    wg_value *memory = wgi_stepwise_encode(&m, &t, c->limits.source);
    wgi_stepwise_keep_memory(&m, memory, in->to, c->source.count);
}

static void build_step(const wgi_cached *c, wg_graph *g, token_inputs *in, const wgi_plan_key *key,
                       wg_value **values, wg_value **tokens)
{
    const int64_t rows = key->n[ROWS];
    *in = inputs_of(g, rows, c->limits.target, c->limits.source);
    wg_transformer m = wg_transformer_begin(g, c->context->model->config, WG_MODE_INFERENCE);
    const wgi_decode_step step = {
        .tokens = tokens_of(in),
        .to = in->to,
        .source_slots = in->source_slots,
        .source_lengths = in->source_lengths,
        .slots = c->target.count,
        .memory_slots = c->source.count,
    };
    wgi_candidates_build(&m, wgi_stepwise_decode(&m, &step, c->limits.target), key->n[K],
                         key->n[LOGITS], values, tokens);
}

static wg_status make(void *decoder, const wgi_plan_key *key, wg_plan **plan, void *io,
                      wg_error *error)
{
    wgi_cached *c = decoder;
    const int64_t rows = key->n[ROWS];
    wg_graph *g = wg_graph_new();
    wg_value *values = NULL, *tokens = NULL;
    token_inputs in;
    if (key->n[K])
        build_step(c, g, &in, key, &values, &tokens);
    else
        build_encode(c, g, &in, rows);
    wg_value **const all[] = {&in.ids,          &in.positions,      &in.slots, &in.lengths, &in.to,
                              &in.source_slots, &in.source_lengths, &values,   &tokens};
    wg_status status = wgi_context_plan(c->context, plan, &g, c->pools, all, WG_COUNT(all), error);
    if (status == WG_OK)
        *(token_io *)io = (token_io){
            .plan = *plan,
            .rows = rows,
            .ids = wg_plan_data(*plan, in.ids),
            .positions = wg_plan_data(*plan, in.positions),
            .slots = wg_plan_data(*plan, in.slots),
            .lengths = wg_plan_data(*plan, in.lengths),
            .to = wg_plan_data(*plan, in.to),
            .source_slots = wg_plan_data(*plan, in.source_slots),
            .source_lengths = wg_plan_data(*plan, in.source_lengths),
            .values = wg_plan_data(*plan, values),
            .tokens = wg_plan_data(*plan, tokens),
        };
    wg_graph_free(g);
    return status;
}

/* The smallest existing plan for n rows, unless it is much too large; otherwise a new one.  Sizes
 * are powers of two, for an encoding WGI_LEAST_ROWS at least.  The last rows of many are not worth
 * plans of their own. */
static wg_status plan_for(wgi_cached *c, int64_t n, int64_t k, bool logits, const token_io **out)
{
    const int64_t least = k ? c->context->least_rows : WGI_LEAST_ROWS,
                  fitting = wgi_round_up_doubling(n, least),
                  last = c->call_rows > WGI_LEAST_ROWS ? WGI_LEAST_ROWS : fitting,
                  most = wgi_larger(last, MAX_WASTE * n);
    void *io = NULL;
    for (int64_t rows = fitting; !io && (rows == fitting || rows <= most); rows *= 2)
        io = wgi_plan_cache_find(&c->plans, &(wgi_plan_key){{rows, k, logits}});
    wg_status status = WG_OK;
    if (!io)
        status = wgi_plan_cache_get(&c->plans, c, &(wgi_plan_key){{fitting, k, logits}}, &io,
                                    &c->context->error);
    *out = io;
    return status;
}

/* ---- the pools ------------------------------------------------------------------------------- */

wgi_cached *wgi_cached_new(wgi_decode_context *context)
{
    wgi_cached *c = calloc(1, sizeof *c);
    if (c) {
        c->context = context;
        c->plans =
            (wgi_plan_cache){.make = make, .io_size = sizeof(token_io), .max_plans = MAX_PLANS};
    }
    return c;
}

static void clear(wgi_cached *c)
{
    wgi_plan_cache_clear(&c->plans);
    wgi_slots_clear(&c->target);
    wgi_slots_clear(&c->source);
    wg_store_free(c->pools);
    c->pools = NULL;
}

void wgi_cached_free(wgi_cached *c)
{
    if (!c)
        return;
    clear(c);
    free(c->scores.at);
    free(c);
}

/* Makes pools for all rows at full length, and for the sources of as many sentences as rows plus
 * those encoded ahead.  Only memory that is used is ever touched. */
static wg_status resize(wgi_cached *c, const wgi_decode_limits *l)
{
    clear(c);
    c->limits = *l;
    c->max_encoded = wgi_larger(ENCODED, l->source);
    c->pools = wgi_store_new_sparse(c->context->model->store);
    bool ok = c->pools && wgi_slots_create(&c->target, l->rows * l->target + 1);
    ok = ok && wgi_slots_create(&c->source, l->rows * l->source + c->max_encoded + 1);
    if (ok)
        return WG_OK;
    clear(c);
    return wgi_error_set(&c->context->error, WG_ENOMEM, "out of memory for %lld hypotheses",
                         (long long)l->rows);
}

wg_status wgi_cached_prepare(wgi_cached *c, const wgi_decode_limits *limits)
{
    const wgi_decode_limits had = c->limits;
    c->call_rows = limits->rows;
    if (c->pools && had.rows >= limits->rows && had.target >= limits->target &&
        had.source >= limits->source) {
        wgi_slots_reset(&c->target);
        wgi_slots_reset(&c->source);
        return WG_OK;
    }
    const wgi_decode_limits more = {wgi_larger(had.rows, limits->rows),
                                    wgi_larger(had.target, limits->target),
                                    wgi_larger(had.source, limits->source)};
    return resize(c, &more);
}

size_t wgi_cached_max_tokens(const wgi_cached *c)
{
    return (size_t)c->max_encoded;
}

wgi_slots *wgi_cached_slots(wgi_cached *c)
{
    return &c->target;
}

void wgi_cached_release(wgi_cached *c, wgi_beam *x)
{
    wgi_slots_drop(&c->source, x->source_slots, x->length);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Rows without a token see nothing and write to slot 0. */
static void clear_rows_from(const token_io *p, int64_t first)
{
    size_t n = (size_t)(p->rows - first) * sizeof(int32_t);
    memset(p->ids + first, 0, n);
    memset(p->positions + first, 0, n);
    memset(p->lengths + first, 0, n);
    memset(p->to + first, 0, n);
    if (p->source_lengths)
        memset(p->source_lengths + first, 0, n);
}

/* Token t of a sentence whose first token is row `first` of the batch. */
static void set_source(const token_io *p, const wgi_cached *c, const wgi_beam *x, int64_t first,
                       int64_t t)
{
    int64_t row = first + t;
    wgi_seen seen = wgi_seen_tokens(c->context->model->config, t, (int64_t)x->length);
    p->ids[row] = x->source[t];
    p->positions[row] = (int32_t)t;
    p->lengths[row] = (int32_t)(seen.to - seen.from);
    p->to[row] = x->source_slots[t];
    for (int64_t i = seen.from; i < seen.to; i++)
        p->slots[row * c->limits.source + i - seen.from] = (int32_t)(first + i);
}

wg_status wgi_cached_encode(wgi_cached *c, wgi_beam *const *sentences, size_t n)
{
    const token_io *p;
    int64_t total = 0, row = 0;
    for (size_t i = 0; i < n; i++)
        total += (int64_t)sentences[i]->length;
    wg_status status = plan_for(c, total, 0, false, &p);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        wgi_beam *x = sentences[i];
        for (int64_t t = 0; t < (int64_t)x->length; t++) {
            x->source_slots[t] = wgi_slots_take(&c->source);
            set_source(p, c, x, row, t);
        }
        row += (int64_t)x->length;
    }
    clear_rows_from(p, total);
    return wgi_context_run(c->context, p->plan);
}

/* The last token of a hypothesis, at a slot of its own. */
static void set_row(const token_io *p, const wgi_cached *c, const wgi_beam_row *r, int64_t row)
{
    wgi_partial *h = r->partial;
    const wgi_beam *x = r->sentence;
    const int64_t n = (int64_t)h->n_slots;
    wgi_seen seen = wgi_seen_tokens(c->context->model->config, n - 1, n);
    p->ids[row] = h->n ? h->ids[h->n - 1] : c->context->model->bos;
    p->positions[row] = (int32_t)h->n;
    p->to[row] = h->slots[h->n_slots - 1];
    p->lengths[row] = (int32_t)(n - seen.from);
    memcpy(p->slots + row * c->limits.target, h->slots + seen.from,
           (size_t)(n - seen.from) * sizeof *h->slots);
    p->source_lengths[row] = (int32_t)x->length;
    memcpy(p->source_slots + row * c->limits.source, x->source_slots,
           x->length * sizeof *x->source_slots);
}

wg_status wgi_cached_step(wgi_cached *c, const wgi_beam_row *rows, size_t n, int64_t k, bool logits,
                          wgi_candidates *out)
{
    const token_io *p;
    wg_status status = plan_for(c, (int64_t)n, k, logits, &p);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        wgi_partial *h = rows[i].partial;
        h->slots[h->n_slots++] = wgi_slots_take(&c->target);
        set_row(p, c, &rows[i], (int64_t)i);
    }
    clear_rows_from(p, (int64_t)n);
    if ((status = wgi_context_run(c->context, p->plan)) != WG_OK)
        return status;
    return wgi_candidates_read(c->context, &c->scores, p->values, p->tokens, n * (size_t)k, out);
}
