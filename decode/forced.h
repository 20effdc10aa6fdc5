/* Scores and attention of given translations. */
#ifndef WG_PRIVATE_DECODE_FORCED_H
#define WG_PRIVATE_DECODE_FORCED_H

#include "decode/context.h"
#include "decode/sentences.h"

/* results[i * n_best + k] has the ids of a translation of source i.  Fills in token_scores and
 * log_probability if `scores`, and attention if the options ask for it. */
wg_status wgi_forced_run(wgi_decode_context *c, const wgi_sentences *sources,
                         wg_hypothesis *results, size_t n_best, bool scores,
                         const wg_search_options *options);

#endif
