/* Decoding without a cache: each step computes all positions of all rows again. */
#ifndef WG_PRIVATE_DECODE_PLAIN_H
#define WG_PRIVATE_DECODE_PLAIN_H

#include "decode/beam.h"
#include "decode/context.h"

typedef struct wgi_plain wgi_plain;

/* The context must outlive it; NULL without memory. */
wgi_plain *wgi_plain_new(wgi_decode_context *c);
void wgi_plain_free(wgi_plain *p);
/* The k most probable next tokens of rows [n]; valid until the next step. */
wg_status wgi_plain_step(wgi_plain *p, const wgi_beam_row *rows, size_t n, int64_t k, bool logits,
                         wgi_candidates *out);

#endif
