/* What callers give, checked before any work. */
#ifndef WG_PRIVATE_DECODE_CHECK_H
#define WG_PRIVATE_DECODE_CHECK_H

#include "wengert/decode/search.h"
#include "decode/sentences.h"

enum { WGI_MAX_BEAM = 1 << 16 };

/* Tokens are in the vocabulary; the store has every parameter, in its shape. */
wg_status wgi_check_model(const wg_search_model *model, wg_error *error);
/* *o is `given` (NULL is allowed) with defaults in place of zeros. */
wg_status wgi_check_options(const wg_search_options *given, wg_search_options *o, wg_error *error);
/* Ids are in [0, vocabulary), and no sentence is longer than the learned positions allow.  `what`
 * ("the source") is for the message. */
wg_status wgi_check_ids(const wg_transformer_config *c, const char *what,
                        const wgi_sentences *sentences, int64_t vocabulary, wg_error *error);

#endif
