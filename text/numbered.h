/* SentencePiece models whose pieces have the ids of a list, as Marian and fairseq use them: the
 * model only splits and joins words. */
#ifndef WG_TEXT_NUMBERED_H
#define WG_TEXT_NUMBERED_H

#include "wengert/text/vocabulary.h"

/* The pieces of one vocabulary, which has a SentencePiece model, with the ids and special tokens of
 * another, which is a list.  A piece that the list lacks is unknown; a token of the list that is no
 * piece is only written.  The caller frees *out. */
wg_status wgi_vocabulary_number(wg_vocabulary **out, const wg_vocabulary *pieces,
                                const wg_vocabulary *list, wg_error *error);

/* The bytes of its SentencePiece model, without the list that numbers the pieces; NULL if it has no
 * model.  Owned by v. */
const char *wgi_vocabulary_pieces(const wg_vocabulary *v, size_t *size);

/* Adds tokens that no text has until v, a list, has `size`; false without memory. */
bool wgi_vocabulary_fill(wg_vocabulary *v, int64_t size);

#endif
