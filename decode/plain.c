/* The plain decoder: at each step the whole model, encoder and decoder, over all tokens of all
 * rows.  What the cached one is tested against. */
#include "decode/internal.h"
#include "wengert/ops/ops.h"

#include <stdlib.h>

enum { PLANS = 8, STRIDE = 8 };

typedef struct plain_shape {
    int64_t rows, source, target, k;
} plain_shape;

typedef struct plain_plan {
    plain_shape shape;
    wg_plan *plan;
    int32_t *source, *source_lengths, *target, *last;
    const void *values;
    const int64_t *tokens;
} plain_plan;

struct wgi_plain {
    plain_plan list[PLANS];
    int count;
};

void wgi_plain_free(wg_search *s)
{
    for (int i = 0; s->plain && i < s->plain->count; i++)
        wg_plan_free(s->plain->list[i].plan);
    free(s->plain);
    s->plain = NULL;
}

static wg_status make(wg_search *s, plain_plan *out, const plain_shape *shape)
{
    wg_graph *g = wg_graph_new();
    wg_transformer_inputs in =
        wg_transformer_inputs_of(g, shape->rows, shape->source, shape->target);
    wg_value *last = wg_input(g, "last", WG_I32, WG_SHAPE(shape->rows));
    wg_transformer m = wg_transformer_begin(g, &s->config, false);
    wg_value *memory = wg_transformer_encode(&m, in.source, in.source_lengths);
    wg_value *states = wg_transformer_decode(&m, in.target_in, memory, in.source_lengths), *values,
             *tokens;
    if (states)
        states = wg_reshape(states, WG_SHAPE(shape->rows * shape->target, s->config.d_model));
    wgi_search_best(&m, wg_take(states, last, 0), shape->k, &values, &tokens);
    wg_plan *p;
    wg_value **const all[] = {&in.source, &in.source_lengths, &in.target_in, &last, &values,
                              &tokens};
    wg_status status = wgi_search_in_integers(s, &g, all, WG_COUNT(all));
    if (status == WG_OK)
        status = wgi_search_plan(s, &p, g, s->store);
    if (status == WG_OK)
        *out = (plain_plan){*shape,
                            p,
                            wg_plan_data(p, in.source),
                            wg_plan_data(p, in.source_lengths),
                            wg_plan_data(p, in.target_in),
                            wg_plan_data(p, last),
                            wg_plan_data(p, values),
                            wg_plan_data(p, tokens)};
    wg_graph_free(g);
    return status;
}

static bool same(const plain_shape *a, const plain_shape *b)
{
    return a->rows == b->rows && a->source == b->source && a->target == b->target && a->k == b->k;
}

static wg_status plan_for(wg_search *s, const plain_shape *shape, plain_plan **out)
{
    wgi_plain *p = s->plain;
    for (int i = 0; i < p->count; i++)
        if (same(&p->list[i].shape, shape)) {
            *out = &p->list[i];
            return WG_OK;
        }
    if (p->count == PLANS)
        wg_plan_free(p->list[--p->count].plan);
    *out = &p->list[p->count];
    wg_status status = make(s, *out, shape);
    p->count += status == WG_OK;
    return status;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Lengths in strides, so that a plan serves several steps; but no more than learned positions
 * allow. */
static int64_t in_strides(const wg_search *s, int64_t n)
{
    int64_t up = (n + STRIDE - 1) / STRIDE * STRIDE, max = s->config.max_positions;
    return s->config.positions == WG_POSITIONS_LEARNED && up > max && n <= max ? max : up;
}

static plain_shape shape_of(const wg_search *s, const wgi_search_row *rows, size_t n, int64_t k)
{
    plain_shape shape = {.k = k, .rows = wgi_search_round_up((int64_t)n, 1)};
    for (size_t i = 0; i < n; i++) {
        shape.source = larger(shape.source, (int64_t)rows[i].sentence->length);
        shape.target = larger(shape.target, (int64_t)rows[i].partial->n + 1);
    }
    shape.source = in_strides(s, shape.source);
    shape.target = in_strides(s, shape.target);
    return shape;
}

/* Row i; the rows without a hypothesis repeat row 0. */
static void set_row(const plain_plan *p, const wgi_search_row *r, int64_t i, int32_t bos)
{
    const wgi_beam *x = r->sentence;
    const wgi_partial *h = r->partial;
    for (int64_t t = 0; t < p->shape.source; t++)
        p->source[i * p->shape.source + t] = t < (int64_t)x->length ? x->source[t] : 0;
    for (int64_t t = 0; t < p->shape.target; t++)
        p->target[i * p->shape.target + t] = t == 0 ? bos : t <= (int64_t)h->n ? h->ids[t - 1] : 0;
    p->source_lengths[i] = (int32_t)x->length;
    p->last[i] = (int32_t)(i * p->shape.target + (int64_t)h->n);
}

wg_status wgi_plain_step(wg_search *s, const wgi_search_row *rows, size_t n, int64_t k,
                         wgi_candidates *out)
{
    if (!s->plain && !(s->plain = calloc(1, sizeof *s->plain)))
        return wgi_search_fail(s, WG_ENOMEM, "out of memory");
    const plain_shape shape = shape_of(s, rows, n, k);
    plain_plan *p;
    wg_status status = plan_for(s, &shape, &p);
    if (status != WG_OK)
        return status;
    for (int64_t i = 0; i < shape.rows; i++)
        set_row(p, &rows[i < (int64_t)n ? i : 0], i, s->bos);
    if ((status = wgi_search_run_plan(s, p->plan)) != WG_OK)
        return status;
    *out = (wgi_candidates){wgi_search_numbers(s, p->values, n * (size_t)k), p->tokens};
    return out->scores ? WG_OK : wgi_search_fail(s, WG_ENOMEM, "out of memory");
}
