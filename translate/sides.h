/* Slips of the hand with the two sides of pairs, which no reader of texts can refuse. */
#ifndef WG_TRANSLATE_SIDES_H
#define WG_TRANSLATE_SIDES_H

#include "wengert/text/corpus.h"

/* Pairs of the corpus, those left out included, that have an empty side. */
size_t wgi_pairs_half_empty(const wg_corpus *c);

/* Whether all pairs have the same text on both sides. */
bool wgi_sides_equal(const wg_corpus *c);

/* Whether source and target of the validation, which keeps its text, have been exchanged: each side
 * is more like the other one of the training.  A text is like another in so far as its four-byte
 * sequences occur there, so that this holds for languages with spaces between words and without.
 * false also without memory. */
bool wgi_sides_swapped(const wg_corpus *train, const wg_corpus *valid,
                       const wg_vocabulary *const vocabulary[2]);

#endif
