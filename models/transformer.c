/* The Transformer (Vaswani et al. 2017), figure 1:
 *
 *                                                        logits
 *                                                          |  E' (or a matrix of its own)
 *              memory ------------------------------+    states
 *                |                                  |      |
 *     N x  +-----------------+            N x  +-----------------+
 *          |  feed forward   |                 |  feed forward   |
 *          |  self-attention |                 | cross-attention |
 *          +-----------------+                 | self-attention, |
 *                |                             |  causal         |
 *                |                             +-----------------+
 *                |                                     |
 *       sqrt(d) E[source] + PE                sqrt(d) E[target_in] + PE
 *
 * with  x = Norm(x + Dropout(sublayer(x)))  around each sublayer.
 *
 * Without an encoder, the decoder is a language model: N x (self-attention, causal; feed forward),
 * which is a layer of the encoder that looks back only. */
#include "models/internal.h"

#include <math.h>

/* ---- sublayers ------------------------------------------------------------------------------- */

static bool is_training(const wg_transformer *m)
{
    return m->mode == WG_MODE_TRAINING;
}

static wg_value *drop(const wg_transformer *m, wg_value *x)
{
    return is_training(m) && m->config.dropout > 0 ? wg_dropout(x, m->config.dropout) : x;
}

static wg_value *norm(const wg_transformer *m, const char *name, wg_value *x)
{
    return wg_norm_layer(name, x, m->config.norm, m->config.norm_eps);
}

wg_value *wgi_transformer_before(const wg_transformer *m, const char *name, wg_value *x)
{
    return m->config.pre_norm ? norm(m, name, x) : x;
}

wg_value *wgi_transformer_after(const wg_transformer *m, const char *name, wg_value *x, wg_value *f)
{
    x = wg_add(x, drop(m, f));
    return m->config.pre_norm ? x : norm(m, name, x);
}

wg_value *wgi_transformer_last(const wg_transformer *m, wg_value *x)
{
    wg_final_norm which = m->config.final_norm;
    bool wanted = which == WG_FINAL_NORM_PRE ? m->config.pre_norm : which == WG_FINAL_NORM_ALWAYS;
    return wanted ? norm(m, "norm", x) : x;
}

wg_multi_head_options wgi_transformer_cross(const wg_transformer *m, wg_value *lengths)
{
    const wg_transformer_config *c = &m->config;
    return (wg_multi_head_options){
        .heads = c->heads,
        .d_k = c->d_k,
        .d_v = c->d_v,
        .lengths = lengths,
        .kind = c->attention,
        .no_bias = !c->attention_bias,
        .gain = c->fused_projections ? sqrt(0.5) : 1,
        .dropout = is_training(m) ? c->attention_dropout : 0,
    };
}

wg_multi_head_options wgi_transformer_self(const wg_transformer *m, bool causal, wg_value *lengths)
{
    wg_multi_head_options o = wgi_transformer_cross(m, lengths);
    o.causal = causal;
    o.window = m->config.attention_window > 0;
    o.left = m->config.attention_window;
    o.right = causal ? 0 : m->config.attention_window;
    o.fused = m->config.fused_projections;
    o.gain = 1; /* a fused matrix has three times the rows, hence its bound */
    o.rotary = m->config.positions == WG_POSITIONS_ROTARY;
    o.first_position = m->config.first_position;
    return o;
}

wg_value *wgi_transformer_feed_forward(const wg_transformer *m, wg_value *x)
{
    const wg_transformer_config *c = &m->config;
    const wg_feed_forward_options o = {
        .activation = c->activation,
        .gated = c->gated,
        .dropout = is_training(m) ? c->activation_dropout : 0,
    };
    return wg_feed_forward("ff", x, c->d_ff, &o);
}

/* ---- layers ---------------------------------------------------------------------------------- */

wg_value *wgi_transformer_encoder_layer(const wg_transformer *m, wg_value *x,
                                        const wg_multi_head_options *self)
{
    wg_value *y = wgi_transformer_before(m, "norm1", x);
    y = wg_multi_head_attention("self_attn", y, y, self);
    x = wgi_transformer_after(m, "norm1", x, y);

    y = wgi_transformer_before(m, "norm2", x);
    y = wgi_transformer_feed_forward(m, y);
    return wgi_transformer_after(m, "norm2", x, y);
}

/* x [B, T, d], memory [B, S, d] -> [B, T, d] */
static wg_value *decoder_layer(const wg_transformer *m, wg_value *x, wg_value *memory,
                               wg_value *memory_lengths)
{
    const wg_multi_head_options self = wgi_transformer_self(m, true, m->target_lengths);
    const wg_multi_head_options cross = wgi_transformer_cross(m, memory_lengths);

    wg_value *y = wgi_transformer_before(m, "norm1", x);
    y = wg_multi_head_attention("self_attn", y, y, &self);
    x = wgi_transformer_after(m, "norm1", x, y);

    y = wgi_transformer_before(m, "norm2", x);
    y = wg_multi_head_attention("cross_attn", y, memory, &cross);
    x = wgi_transformer_after(m, "norm2", x, y);

    y = wgi_transformer_before(m, "norm3", x);
    y = wgi_transformer_feed_forward(m, y);
    return wgi_transformer_after(m, "norm3", x, y);
}

/* The same of a decoder alone */
static wg_value *language_layer(const wg_transformer *m, wg_value *x)
{
    const wg_multi_head_options self = wgi_transformer_self(m, true, m->target_lengths);
    return wgi_transformer_encoder_layer(m, x, &self);
}

/* ---- embeddings and positions ---------------------------------------------------------------- */

wg_value *wgi_transformer_positions(const char *at, const wg_transformer *m, int64_t first,
                                    int64_t rows)
{
    const wg_transformer_config *c = &m->config;
    if (c->positions == WG_POSITIONS_ROTARY)
        return NULL;
    if (c->positions != WG_POSITIONS_LEARNED)
        return wg_name((wg_sinusoids)(at, m->graph, c->positions, c->dtype, rows, c->d_model,
                                      c->first_position + first),
                       "positions");
    return (wg_learned_positions)(at, "positions", m->graph, c->dtype, first, rows, c->d_model,
                                  c->first_position, c->max_positions);
}

wg_value *wgi_transformer_embed(const wg_transformer *m, wg_value *weight, wg_value *ids,
                                wg_value *positions)
{
    wg_value *x = wg_embedding(weight, ids);
    if (!m->config.unscaled_embeddings)
        x = wg_scale(x, sqrt((double)m->config.d_model));
    return drop(m, positions ? wg_add(x, positions) : x);
}

/* ids [B, T] -> [B, T, d], in the scope of a stack */
static wg_value *embed(const char *at, const wg_transformer *m, wg_value *weight, wg_value *ids)
{
    if (!ids || !weight)
        return NULL;
    if (ids->shape.rank != 2)
        return wg_graph_fail(m->graph, WG_ESHAPE, at, "wg_transformer",
                             "ids have %d axes, must have 2 [B, T]", ids->shape.rank);
    return wgi_transformer_embed(m, weight, ids,
                                 wgi_transformer_positions(at, m, 0, ids->shape.dim[1]));
}

/* ---- the model ------------------------------------------------------------------------------- */

static wg_value *matrix(const wg_transformer *m, const char *name, int64_t rows, wg_init init)
{
    wg_scope_push(m->graph, "%s", name);
    wg_value *w = wgi_layer_parameter(m->graph, "weight", m->config.dtype,
                                      WG_SHAPE(rows, m->config.d_model), init);
    wg_scope_pop(m->graph);
    return w;
}

wg_transformer(wg_transformer_begin)(const char *at, wg_graph *g,
                                     const wg_transformer_config *config, wg_mode mode)
{
    wg_transformer m = {.graph = g, .mode = mode};
    wg_error error;
    if (wg_transformer_check(config, &error) != WG_OK)
        wg_graph_fail(g, WG_EINVAL, at, "wg_transformer_begin", "%s", error.text);
    if (wg_graph_status(g) != WG_OK)
        return m;
    wg_transformer_config *c = &m.config;
    *c = *config;
    c->dtype = c->dtype ? c->dtype : WG_F32;

    const wg_init rows = wg_normal_init(1 / sqrt((double)c->d_model));
    bool alone = c->encoder_layers == 0, all = alone || c->tying == WG_TIED_ALL;
    if (!alone)
        m.source_embedding =
            matrix(&m, all ? "embedding" : "source_embedding", c->source_vocabulary, rows);
    m.target_embedding = all && !alone ? m.source_embedding
                                       : matrix(&m, all ? "embedding" : "target_embedding",
                                                c->target_vocabulary, rows);
    m.output_weight = c->tying == WG_UNTIED
                          ? matrix(&m, "output", c->target_vocabulary, wg_xavier(1))
                          : m.target_embedding;
    if (c->output_bias) {
        wg_scope_push(g, "output");
        m.output_bias =
            wgi_layer_parameter(g, "bias", c->dtype, WG_SHAPE(c->target_vocabulary), wg_zeros());
        wg_scope_pop(g);
    }
    return m;
}

wg_value *(wg_transformer_encode)(const char *at, wg_transformer *m, wg_value *source,
                                  wg_value *lengths)
{
    wg_graph *g = m->graph;
    const wg_multi_head_options self = wgi_transformer_self(m, false, lengths);
    if (wg_graph_status(g) == WG_OK && m->config.encoder_layers == 0)
        return wg_graph_fail(g, WG_EINVAL, at, "wg_transformer_encode",
                             "encoder_layers is 0: the model has no encoder");
    wg_scope_push(g, "encoder");
    wg_value *x = embed(at, m, m->source_embedding, source);
    for (int64_t i = 0; x && i < m->config.encoder_layers; i++) {
        wg_scope_push(g, "layer%d", (int)i);
        x = wgi_transformer_encoder_layer(m, x, &self);
        wg_scope_pop(g);
    }
    x = wgi_transformer_last(m, x);
    wg_scope_pop(g);
    return x;
}

wg_value *(wg_transformer_decode)(const char *at, wg_transformer *m, wg_value *target_in,
                                  wg_value *memory, wg_value *source_lengths)
{
    wg_graph *g = m->graph;
    bool alone = m->config.encoder_layers == 0;
    if (wg_graph_status(g) == WG_OK && alone && memory)
        return wg_graph_fail(g, WG_EINVAL, at, "wg_transformer_decode",
                             "encoder_layers is 0: the decoder reads no memory, which must be "
                             "NULL");
    wg_scope_push(g, "decoder");
    wg_value *x = embed(at, m, m->target_embedding, target_in);
    for (int64_t i = 0; x && i < m->config.decoder_layers; i++) {
        wg_scope_push(g, "layer%d", (int)i);
        x = alone ? language_layer(m, x) : decoder_layer(m, x, memory, source_lengths);
        wg_scope_pop(g);
    }
    x = wgi_transformer_last(m, x);
    wg_scope_pop(g);
    return x;
}

wg_value *wg_transformer_logits(wg_transformer *m, wg_value *states)
{
    wg_scope_push(m->graph, "output");
    wg_value *y = wg_linear(states, m->output_weight, m->output_bias, WG_ACTIVATION_NONE);
    wg_scope_pop(m->graph);
    return y;
}

/* ---- training -------------------------------------------------------------------------------- */

wg_transformer_inputs wg_transformer_inputs_new(wg_graph *g, int64_t rows, int64_t source_length,
                                                int64_t target_length)
{
    wg_transformer_inputs in = {.source = NULL};
    if (source_length) {
        in.source = wg_input(g, "source", WG_I32, WG_SHAPE(rows, source_length));
        in.source_lengths = wg_input(g, "source_lengths", WG_I32, WG_SHAPE(rows));
    }
    in.target_in = wg_input(g, "target_in", WG_I32, WG_SHAPE(rows, target_length));
    in.target_out = wg_input(g, "target_out", WG_I32, WG_SHAPE(rows, target_length));
    return in;
}

wg_value *(wg_transformer_states)(const char *at, wg_transformer *m,
                                  const wg_transformer_inputs *in)
{
    bool alone = m->config.encoder_layers == 0;
    wg_value *memory =
        alone ? NULL : (wg_transformer_encode)(at, m, in->source, in->source_lengths);
    return (wg_transformer_decode)(at, m, in->target_in, memory, in->source_lengths);
}

wg_value *wg_transformer_loss(wg_transformer *m, const wg_transformer_inputs *in,
                              wg_value *normaliser)
{
    const wg_cross_entropy_attrs loss = {
        .smoothing = m->config.label_smoothing,
        .spread = m->config.smoothing_spread,
        .use_ignore = true,
        .ignore = WG_NO_TARGET,
    };
    wg_value *logits = wg_transformer_logits(m, wg_transformer_states(m, in));
    return wg_cross_entropy(logits, in->target_out, normaliser, &loss);
}
