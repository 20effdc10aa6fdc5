/* Decoding with keys and values of earlier positions kept: encode puts those of sentences into
 * pools, step extends rows by one token. */
#ifndef WG_PRIVATE_DECODE_CACHED_H
#define WG_PRIVATE_DECODE_CACHED_H

#include "decode/beam.h"
#include "decode/context.h"

/* What the pools and the plans are made for. */
typedef struct wgi_decode_limits {
    int64_t rows, target, source; /* hypotheses in total; tokens of a translation, of a source */
} wgi_decode_limits;

typedef struct wgi_cached wgi_cached;

/* The context must outlive it; NULL without memory. */
wgi_cached *wgi_cached_new(wgi_decode_context *c);
void wgi_cached_free(wgi_cached *c);

/* Call before a search: makes the pools at least that large, with all slots free. */
wg_status wgi_cached_prepare(wgi_cached *c, const wgi_decode_limits *limits);
size_t wgi_cached_max_tokens(const wgi_cached *c); /* of one encoding */
wg_status wgi_cached_encode(wgi_cached *c, wgi_beam *const *sentences, size_t n);
/* The k most probable next tokens of rows [n], with log p or logits; valid until the next step. */
wg_status wgi_cached_step(wgi_cached *c, const wgi_beam_row *rows, size_t n, int64_t k, bool logits,
                          wgi_candidates *out);
/* Frees the slots of a sentence that is done. */
void wgi_cached_release(wgi_cached *c, wgi_beam *x);
/* The slots of translations. */
wgi_slots *wgi_cached_slots(wgi_cached *c);

#endif
