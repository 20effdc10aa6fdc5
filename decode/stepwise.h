/* The Transformer over single tokens: see stepwise.c.  Parameters are those of
 * wg_transformer_encode and _decode, and so are the numbers, up to rounding. */
#ifndef WG_DECODE_STEPWISE_H
#define WG_DECODE_STEPWISE_H

#include "wengert/models/transformer.h"

/* R tokens of any sentences; all i32. */
typedef struct wgi_tokens {
    wg_value *ids;       /* [R]                                                         */
    wg_value *positions; /* [R] in its sentence, counted from 0                         */
    wg_value *slots;     /* [R, L] of the tokens of its sentence that it sees           */
    wg_value *lengths;   /* [R] the first lengths[r] of slots[r] count                  */
} wgi_tokens;

/* memory [R, 1, d] of source tokens; slots are rows of the batch itself.  Sentences are at most
 * `longest` tokens. */
wg_value *wgi_stepwise_encode(const wg_transformer *m, const wgi_tokens *t, int64_t longest);

/* Puts the keys and values that the decoder's cross-attention makes of memory rows into its pools,
 * which have `slots` places, at to [R]. */
void wgi_stepwise_keep_memory(const wg_transformer *m, wg_value *memory, wg_value *to,
                              int64_t slots);

/* The last tokens of R hypotheses: each puts its own keys and values into the pools of
 * self-attention first. */
typedef struct wgi_decode_step {
    wgi_tokens tokens;
    wg_value *to; /* [R] slots of the tokens themselves, which are among tokens.slots */
    wg_value *source_slots,
        *source_lengths; /* [R, S], [R] of the source sentence; not without an encoder       */
    int64_t slots,
        memory_slots; /* places in the pools                                              */
} wgi_decode_step;

/* states [R, 1, d] */
wg_value *wgi_stepwise_decode(const wg_transformer *m, const wgi_decode_step *s, int64_t longest);

#endif
