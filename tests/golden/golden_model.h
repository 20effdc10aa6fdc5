/* Files of golden vectors of a whole encoder-decoder Transformer, as torch.nn.Transformer computes
 * it:
 *
 *     in.src [B, S], in.tgt_in, in.tgt_out [B, T]   token ids, padded at the end
 *     param.NAME                                    parameters, by PyTorch's names
 *     out.logits [B, T, V], out.loss                without dropout
 *     grad.NAME                                     of the loss
 *     train.lr, train.loss_before_step [N]          N steps of Adam on the same batch
 *     after.NAME                                    parameters after the last
 *
 * The metadata are texts: "heads", "activation" (relu, gelu, gelu_tanh, silu), "norm_first",
 * "smoothing", "pad", "adam" ("beta1=... beta2=... eps=..."); optional: "positions" (interleaved,
 * halves), "layer_norm_eps", "loss", and sizes ("vocab", "d", "ff", "layers", "batch", "src",
 * "tgt", "steps"), which must then agree with the tensors.  The embedding is scaled by sqrt(d) and
 * tied three ways. */
#ifndef WG_TESTS_GOLDEN_MODEL_H
#define WG_TESTS_GOLDEN_MODEL_H

#include "wengert.h"

typedef struct golden_model {
    const wg_safetensors *file;
    wg_transformer_config config;
    int64_t batch, source, target, steps; /* B, S, T, N; N is 0 for a file without training */
    int64_t pad;
    wg_adam_options adam;
    char reason[512]; /* the first thing that is wrong */
} golden_model;

/* false, with m->reason, if the file is of another kind. */
bool golden_model_read(golden_model *m, const wg_safetensors *file);
bool golden_model_fail(golden_model *m, const char *format, ...) WG_PRINTF(2, 3);

/* Where a parameter of ours is in the file: rows [first, first + rows) of KIND.NAME, or all of
 * it. */
typedef struct golden_part {
    const wg_file_tensor *tensor; /* NULL: the file has none */
    int64_t offset;               /* of its first element    */
} golden_part;

/* `kind` is "param", "grad" or "after".  A part whose shape is not that of the parameter is a
 * failure. */
golden_part golden_model_part(golden_model *m, const char *kind, const wg_value *parameter);
/* Every param.* of the file belongs to one of the n parameters, or m->reason says which does
 * not. */
bool golden_model_all_used(golden_model *m, wg_value *const *parameters, size_t n);

#endif
