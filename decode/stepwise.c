/* The Transformer over single tokens.  Its x is [R, 1, d]: R tokens of any sentences at any
 * positions, as one batch of sequences of length 1.  Each token attends to the keys and values at
 * the slots that it names.  So nothing is padded, sentences come and go from step to step, and
 * hypotheses share their common prefixes. */
#include "decode/stepwise.h"
#include "models/internal.h"

/* sqrt(d) E[ids] + PE[positions]: [R, 1, d], in the scope of a stack */
static wg_value *embed(const wg_transformer *m, wg_value *weight, const wgi_tokens *t,
                       int64_t longest)
{
    if (!t->ids || !t->positions)
        return NULL;
    int64_t rows = t->ids->shape.dim[0];
    wg_value *table = wgi_transformer_positions(WG_HERE, m, 0, longest), *at = NULL;
    if (table)
        at = wg_reshape(wg_embedding(table, t->positions), WG_SHAPE(rows, 1, m->config.d_model));
    return wgi_transformer_embed(m, weight, wg_reshape(t->ids, WG_SHAPE(rows, 1)), at);
}

static wg_multi_head_options self_attention(const wg_transformer *m, const wgi_tokens *t)
{
    wg_multi_head_options o = wgi_transformer_self(m, false, t->lengths);
    o.positions = t->positions;
    o.slots = t->slots; /* only those that a window leaves */
    o.window = false;
    o.left = o.right = 0;
    return o;
}

/* ---- the encoder ----------------------------------------------------------------------------- */

wg_value *wgi_stepwise_encode(const wg_transformer *m, const wgi_tokens *t, int64_t longest)
{
    const wg_multi_head_options self = self_attention(m, t);
    wg_scope_push(m->graph, "encoder");
    wg_value *x = embed(m, m->source_embedding, t, longest);
    for (int64_t i = 0; x && i < m->config.encoder_layers; i++) {
        wg_scope_push(m->graph, "layer%d", (int)i);
        x = wgi_transformer_encoder_layer(m, x, &self);
        wg_scope_pop(m->graph);
    }
    x = wgi_transformer_last(m, x);
    wg_scope_pop(m->graph);
    return x;
}

/* ---- pools ----------------------------------------------------------------------------------- */

/* A state [slots, width] in the current scope: "decoder/layer0/self_attn/pool_k". */
static wg_value *pool(const wg_transformer *m, const char *name, int64_t slots, int64_t width)
{
    return wg_state(m->graph, name, m->config.dtype, WG_SHAPE(slots, width), wg_zeros());
}

/* Widths of the pools of keys and values. */
static int64_t width_of(const wg_transformer *m, int64_t head)
{
    return head ? m->config.heads * head : m->config.d_model;
}

static wg_value *as_sequences(wg_value *kept)
{
    return kept ? wg_reshape(kept, WG_SHAPE(kept->shape.dim[0], 1, kept->shape.dim[1])) : NULL;
}

/* The pool [slots, 1, width] with rows [R, 1, width] at `to` [R], which is also its next state. */
static wg_value *keep(const wg_transformer *m, const char *name, int64_t slots, wg_value *to,
                      wg_value *rows)
{
    if (!rows)
        return NULL;
    wg_value *before = pool(m, name, slots, rows->shape.dim[2]);
    wg_value *after =
        wg_put_rows(before, to, wg_reshape(rows, WG_SHAPE(rows->shape.dim[0], rows->shape.dim[2])));
    wg_assign(before, after);
    return as_sequences(after);
}

void wgi_stepwise_keep_memory(const wg_transformer *m, wg_value *memory, wg_value *to,
                              int64_t slots)
{
    const wg_multi_head_options cross = wgi_transformer_cross(m, NULL);
    wg_scope_push(m->graph, "decoder");
    for (int64_t i = 0; memory && i < m->config.decoder_layers; i++) {
        wg_scope_push(m->graph, "layer%d", (int)i);
        wg_scope_push(m->graph, "cross_attn");
        wg_projections p = wg_attention_projections(NULL, memory, &cross);
        keep(m, "pool_k", slots, to, p.k);
        keep(m, "pool_v", slots, to, p.v);
        wg_scope_pop(m->graph);
        wg_scope_pop(m->graph);
    }
    wg_scope_pop(m->graph);
}

/* ---- the decoder ----------------------------------------------------------------------------- */

static wg_value *self_sublayer(const wg_transformer *m, wg_value *x, const wgi_decode_step *s)
{
    const wg_multi_head_options self = self_attention(m, &s->tokens);
    wg_scope_push(m->graph, "self_attn");
    wg_projections p = wg_attention_projections(x, x, &self);
    p.k = keep(m, "pool_k", s->slots, s->to, p.k);
    p.v = keep(m, "pool_v", s->slots, s->to, p.v);
    x = wg_attention_heads(p, &self);
    wg_scope_pop(m->graph);
    return x;
}

static wg_value *cross_sublayer(const wg_transformer *m, wg_value *x, const wgi_decode_step *s)
{
    wg_multi_head_options cross = wgi_transformer_cross(m, s->source_lengths);
    cross.slots = s->source_slots;
    wg_scope_push(m->graph, "cross_attn");
    wg_projections p = wg_attention_projections(x, NULL, &cross);
    p.k = as_sequences(pool(m, "pool_k", s->memory_slots, width_of(m, m->config.d_k)));
    p.v = as_sequences(pool(m, "pool_v", s->memory_slots, width_of(m, m->config.d_v)));
    x = wg_attention_heads(p, &cross);
    wg_scope_pop(m->graph);
    return x;
}

static wg_value *decoder_layer(const wg_transformer *m, wg_value *x, const wgi_decode_step *s)
{
    wg_value *y = wgi_transformer_before(m, "norm1", x);
    y = self_sublayer(m, y, s);
    x = wgi_transformer_after(m, "norm1", x, y);

    bool alone = m->config.encoder_layers == 0;
    if (!alone) {
        y = wgi_transformer_before(m, "norm2", x);
        y = cross_sublayer(m, y, s);
        x = wgi_transformer_after(m, "norm2", x, y);
    }
    const char *last = alone ? "norm2" : "norm3";
    y = wgi_transformer_before(m, last, x);
    y = wgi_transformer_feed_forward(m, y);
    return wgi_transformer_after(m, last, x, y);
}

wg_value *wgi_stepwise_decode(const wg_transformer *m, const wgi_decode_step *s, int64_t longest)
{
    wg_scope_push(m->graph, "decoder");
    wg_value *x = embed(m, m->target_embedding, &s->tokens, longest);
    for (int64_t i = 0; x && i < m->config.decoder_layers; i++) {
        wg_scope_push(m->graph, "layer%d", (int)i);
        x = decoder_layer(m, x, s);
        wg_scope_pop(m->graph);
    }
    x = wgi_transformer_last(m, x);
    wg_scope_pop(m->graph);
    return x;
}
