/* The decoder with keys and values kept.  Each lives at a slot of a pool, from which attention
 * reads it: nothing is ever moved, a reordered beam only copies numbers of slots.  Two kinds of
 * plans, each in a few sizes:
 *
 *     encode   N source tokens of any sentences -> keys and values of the decoder's
 *     cross-attention, into the pools step     the last tokens of R hypotheses  -> their keys and
 *     values, into the pools; the best next tokens
 *
 * A plan larger than its rows runs the rest on slot 0, which is nobody's. */
#include "decode/internal.h"
#include "decode/stepwise.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>
#include <string.h>

enum { PLANS = 16, ENCODED = 1024, MIN = 8, WASTE = 4 };

/* Inputs of tokens; source_slots and source_lengths of a step alone. */
typedef struct token_plan {
    wg_plan *plan;
    int64_t rows, k;
    int32_t *ids, *positions, *slots, *lengths, *to, *source_slots, *source_lengths;
    const void *values;
    const int64_t *tokens;
} token_plan;

struct wgi_cached {
    wgi_search_limits limits;
    int64_t encoded; /* most tokens of one encoding */
    token_plan encode[PLANS], step[PLANS];
    int n_encode, n_step;
    wgi_slots target, source;
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

static void build_encode(wg_search *s, wg_graph *g, token_inputs *in, int64_t rows)
{
    const wgi_cached *c = s->cached;
    *in = inputs_of(g, rows, c->limits.source, 0);
    wg_transformer m = wg_transformer_begin(g, &s->config, false);
    const wgi_tokens t = tokens_of(in);
    wg_value *memory = wgi_stepwise_encode(&m, &t, c->limits.source);
    wgi_stepwise_remember(&m, memory, in->to, c->source.count);
}

static void build_step(wg_search *s, wg_graph *g, token_inputs *in, int64_t rows, int64_t k,
                       wg_value **values, wg_value **tokens)
{
    const wgi_cached *c = s->cached;
    *in = inputs_of(g, rows, c->limits.target, c->limits.source);
    wg_transformer m = wg_transformer_begin(g, &s->config, false);
    const wgi_step step = {
        .tokens = tokens_of(in),
        .to = in->to,
        .source_slots = in->source_slots,
        .source_lengths = in->source_lengths,
        .slots = c->target.count,
        .memory_slots = c->source.count,
    };
    wgi_search_best(&m, wgi_stepwise_decode(&m, &step, c->limits.target), k, values, tokens);
}

/* k > 0: a step's, else an encoding's. */
static wg_status make(wg_search *s, token_plan *out, int64_t rows, int64_t k)
{
    wg_graph *g = wg_graph_new();
    wg_value *values = NULL, *tokens = NULL;
    token_inputs in;
    if (k)
        build_step(s, g, &in, rows, k, &values, &tokens);
    else
        build_encode(s, g, &in, rows);
    wg_plan *p = NULL;
    wg_value **const all[] = {&in.ids,          &in.positions,      &in.slots, &in.lengths, &in.to,
                              &in.source_slots, &in.source_lengths, &values,   &tokens};
    wg_status status = wgi_search_in_integers(s, &g, all, WG_COUNT(all));
    if (status == WG_OK)
        status = wgi_search_plan(s, &p, g, s->states);
    *out = (token_plan){.plan = p, .rows = rows, .k = k};
    if (status == WG_OK) {
        out->ids = wg_plan_data(p, in.ids);
        out->positions = wg_plan_data(p, in.positions);
        out->slots = wg_plan_data(p, in.slots);
        out->lengths = wg_plan_data(p, in.lengths);
        out->to = wg_plan_data(p, in.to);
        out->source_slots = wg_plan_data(p, in.source_slots);
        out->source_lengths = wg_plan_data(p, in.source_lengths);
        out->values = wg_plan_data(p, values);
        out->tokens = wg_plan_data(p, tokens);
    }
    wg_graph_free(g);
    return status;
}

/* The smallest plan for n rows; one is made where there is none, or none that is not much too
 * large. */
static wg_status plan_for(wg_search *s, token_plan *list, int *count, int64_t n, int64_t k,
                          token_plan **out)
{
    *out = NULL;
    for (int i = 0; i < *count; i++)
        if (list[i].rows >= n && list[i].k == k && (!*out || list[i].rows < (*out)->rows))
            *out = &list[i];
    if (*out && ((*out)->rows <= WASTE * n || (*out)->rows <= MIN))
        return WG_OK;
    if (*count == PLANS) { /* the oldest gives way */
        wg_plan_free(list[0].plan);
        memmove(list, list + 1, (PLANS - 1) * sizeof *list);
        --*count;
    }
    *out = &list[*count];
    wg_status status = make(s, *out, wgi_search_round_up(n, MIN), k);
    *count += status == WG_OK;
    return status;
}

static void free_plans(token_plan *list, int *count)
{
    for (int i = 0; i < *count; i++)
        wg_plan_free(list[i].plan);
    *count = 0;
}

/* ---- the pools ------------------------------------------------------------------------------- */

static void clear(wg_search *s)
{
    wgi_cached *c = s->cached;
    free_plans(c->encode, &c->n_encode);
    free_plans(c->step, &c->n_step);
    wgi_slots_clear(&c->target);
    wgi_slots_clear(&c->source);
    wg_store_free(s->states);
    s->states = NULL;
}

void wgi_cached_free(wg_search *s)
{
    if (s->cached)
        clear(s);
    free(s->cached);
    s->cached = NULL;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Pools for all rows at full length; sources of as many sentences as rows, and those encoded ahead.
 * Their memory is touched only as far as it is used. */
static wg_status resize(wg_search *s, const wgi_search_limits *l)
{
    wgi_cached *c = s->cached;
    clear(s);
    c->limits = *l;
    c->encoded = larger(ENCODED, l->source);
    s->states = wg_store_new_over(s->store);
    bool ok = s->states && wgi_slots_create(&c->target, l->rows * l->target + 1);
    ok = ok && wgi_slots_create(&c->source, l->rows * l->source + c->encoded + 1);
    if (!ok)
        clear(s);
    return ok ? WG_OK
              : wgi_search_fail(s, WG_ENOMEM, "out of memory for %lld hypotheses",
                                (long long)l->rows);
}

wg_status wgi_cached_prepare(wg_search *s, const wgi_search_limits *limits)
{
    if (!s->cached && !(s->cached = calloc(1, sizeof *s->cached)))
        return wgi_search_fail(s, WG_ENOMEM, "out of memory");
    const wgi_search_limits had = s->cached->limits;
    if (s->states && had.rows >= limits->rows && had.target >= limits->target &&
        had.source >= limits->source)
        return WG_OK;
    const wgi_search_limits more = {larger(had.rows, limits->rows),
                                    larger(had.target, limits->target),
                                    larger(had.source, limits->source)};
    return resize(s, &more);
}

size_t wgi_cached_max_tokens(const wg_search *s)
{
    return (size_t)s->cached->encoded;
}

wgi_slots *wgi_cached_slots(wg_search *s)
{
    return &s->cached->target;
}

static void forget(wgi_slots *s)
{
    s->n_free = s->count - 1;
    memset(s->holders, 0, (size_t)s->count * sizeof *s->holders);
    for (int64_t i = 0; i < s->count - 1; i++)
        s->free[i] = (int32_t)(s->count - 1 - i);
}

void wgi_cached_forget(wg_search *s)
{
    forget(&s->cached->target);
    forget(&s->cached->source);
}

void wgi_cached_release(wg_search *s, wgi_beam *x)
{
    wgi_slots_drop(&s->cached->source, x->source_slots, x->length);
}

/* ---- runs
 *
 * ------------------------------------------------------------------------------------------------ */

/* Rows without a token see nothing and write to slot 0. */
static void idle(const token_plan *p, int64_t first)
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
static void set_source(const token_plan *p, int64_t width, const wgi_beam *x, int64_t first,
                       int64_t t)
{
    int64_t row = first + t;
    p->ids[row] = x->source[t];
    p->positions[row] = (int32_t)t;
    p->lengths[row] = (int32_t)x->length;
    p->to[row] = x->source_slots[t];
    for (int64_t i = 0; i < (int64_t)x->length; i++)
        p->slots[row * width + i] = (int32_t)(first + i);
}

wg_status wgi_cached_encode(wg_search *s, wgi_beam *const *sentences, size_t n)
{
    wgi_cached *c = s->cached;
    token_plan *p;
    int64_t total = 0, row = 0;
    for (size_t i = 0; i < n; i++)
        total += (int64_t)sentences[i]->length;
    wg_status status = plan_for(s, c->encode, &c->n_encode, total, 0, &p);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        wgi_beam *x = sentences[i];
        for (int64_t t = 0; t < (int64_t)x->length; t++) {
            x->source_slots[t] = wgi_slots_take(&c->source);
            set_source(p, c->limits.source, x, row, t);
        }
        row += (int64_t)x->length;
    }
    idle(p, total);
    return wgi_search_run_plan(s, p->plan);
}

/* The last token of a hypothesis, at a slot of its own. */
static void set_row(const token_plan *p, const wgi_cached *c, const wgi_search_row *r, int64_t row,
                    int32_t bos)
{
    wgi_partial *h = r->partial;
    const wgi_beam *x = r->sentence;
    p->ids[row] = h->n ? h->ids[h->n - 1] : bos;
    p->positions[row] = (int32_t)h->n;
    p->to[row] = h->slots[h->n_slots - 1];
    p->lengths[row] = (int32_t)h->n_slots;
    memcpy(p->slots + row * c->limits.target, h->slots, h->n_slots * sizeof *h->slots);
    p->source_lengths[row] = (int32_t)x->length;
    memcpy(p->source_slots + row * c->limits.source, x->source_slots,
           x->length * sizeof *x->source_slots);
}

wg_status wgi_cached_step(wg_search *s, const wgi_search_row *rows, size_t n, int64_t k,
                          wgi_candidates *out)
{
    wgi_cached *c = s->cached;
    token_plan *p;
    wg_status status = plan_for(s, c->step, &c->n_step, (int64_t)n, k, &p);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; i < n; i++) {
        wgi_partial *h = rows[i].partial;
        h->slots[h->n_slots++] = wgi_slots_take(&c->target);
        set_row(p, c, &rows[i], (int64_t)i, s->bos);
    }
    idle(p, (int64_t)n);
    if ((status = wgi_search_run_plan(s, p->plan)) != WG_OK)
        return status;
    *out = (wgi_candidates){wgi_search_numbers(s, p->values, n * (size_t)k), p->tokens};
    return out->scores ? WG_OK : wgi_search_fail(s, WG_ENOMEM, "out of memory");
}
