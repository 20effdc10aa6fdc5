/* The character maps of SentencePiece models. */
#ifndef WG_TEXT_CHARSMAP_H
#define WG_TEXT_CHARSMAP_H

#include "wengert/graph/status.h"

#include <stddef.h>

/* A model may rewrite text before it cuts it into pieces.  Its map is a trie of what is replaced,
 * and a text of replacements.  SentencePiece follows the trie without looking where it leads; here
 * it is followed once, to each end.  WG_EDATA: it leads outside; WG_ENOMEM. */
wg_status wgi_charsmap_check(const char *bytes, size_t size);

#endif
