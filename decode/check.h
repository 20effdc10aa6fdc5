/* Checks of what callers pass in, before any work. */
#ifndef WG_PRIVATE_DECODE_CHECK_H
#define WG_PRIVATE_DECODE_CHECK_H

#include "wengert/decode/search.h"
#include "decode/sentences.h"

enum { WGI_MAX_BEAM = 1 << 16 };

/* Checks that tokens are in the vocabulary and that the store has every parameter in its shape. */
wg_status wgi_check_model(const wg_search_model *model, wg_error *error);
/* Checks the options and sets *o to `given` (may be NULL) with defaults in place of zeros. */
wg_status wgi_check_options(const wg_transformer_config *c, const wg_search_options *given,
                            wg_search_options *o, wg_error *error);
/* Checks that ids are in [0, vocabulary) and that no sentence is longer than the learned
 * positions.  `what` ("the source") is for the message. */
wg_status wgi_check_ids(const wg_transformer_config *c, const char *what,
                        const wgi_sentences *sentences, int64_t vocabulary, wg_error *error);

#endif
