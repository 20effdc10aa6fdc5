/* Shared by the files of models/; not installed. */
#ifndef WG_MODELS_INTERNAL_H
#define WG_MODELS_INTERNAL_H

#include "wengert/models/optimizer.h"
#include "wengert/models/transformer.h"

/* ---- layers.c -------------------------------------------------------------------------------- */

/* Opens the scope `name`; what is built in it is at the caller's line.  Returns what
 * wgi_layer_leave needs. */
wg_origin wgi_layer_enter(const char *at, wg_graph *g, const char *name);
/* Closes it and returns y. */
wg_value *wgi_layer_leave(wg_graph *g, wg_origin before, wg_value *y);

/* A parameter that is read as `dtype`: kept in that dtype, or in the one that a scope names
 * (wg_scope_parameter_dtype) and cast. */
wg_value *wgi_layer_parameter(wg_graph *g, const char *name, wg_dtype dtype, wg_shape shape,
                              wg_init init);
/* `init` unless it is {0}. */
wg_init wgi_layer_init(wg_init init, wg_init otherwise);

/* ---- transformer_variants.c ------------------------------------------------------------------ */

/* Configurations of two layers and few numbers, one for each option, for checks of every variant.
 * Writes the i-th, whose name says what is special about it; false past the end. */
bool wgi_transformer_variant(size_t i, wg_transformer_config *config);

/* ---- transformer.c: the parts of a layer, for decoders that feed one token at a time --------- */

/* The options of self-attention and of cross-attention over `lengths` of the memory. */
wg_multi_head_options wgi_transformer_self(const wg_transformer *m, bool causal, wg_value *lengths);
wg_multi_head_options wgi_transformer_cross(const wg_transformer *m, wg_value *lengths);

/* PE of the positions from `first` (counted from the first token) on, [rows, d]; NULL for rotary
 * ones.  In the present scope, which must be the stack's. */
wg_value *wgi_transformer_positions(const char *at, const wg_transformer *m, int64_t first,
                                    int64_t rows);
/* Dropout(sqrt(d) E[ids] + positions), without sqrt(d) if embeddings are unscaled: ids [B, T],
 * positions [T, d] or [B, T, d] or NULL; [B, T, d] */
wg_value *wgi_transformer_embed(const wg_transformer *m, wg_value *weight, wg_value *ids,
                                wg_value *positions);

/* Around a sublayer f:  x = after(m, "norm", x, f(before(m, "norm", x)))  is
 *     post-norm  x = Norm(x + Dropout(f(x))),   pre-norm  x = x + Dropout(f(Norm(x))). */
wg_value *wgi_transformer_before(const wg_transformer *m, const char *name, wg_value *x);
wg_value *wgi_transformer_after(const wg_transformer *m, const char *name, wg_value *x,
                                wg_value *f);
wg_value *wgi_transformer_feed_forward(const wg_transformer *m, wg_value *x);
/* x [B, S, d] -> [B, S, d], in the scope of the layer */
wg_value *wgi_transformer_encoder_layer(const wg_transformer *m, wg_value *x,
                                        const wg_multi_head_options *self);
/* The last norm of a stack, which pre-norm needs and post-norm has already, unless final_norm says
 * otherwise. */
wg_value *wgi_transformer_last(const wg_transformer *m, wg_value *x);

#endif
