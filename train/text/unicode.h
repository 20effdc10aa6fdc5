/* Facts about code points.  Reading UTF-8: train/internal.h.  Not installed. */
#ifndef WG_TRAIN_UNICODE_H
#define WG_TRAIN_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* White space, as Python's str.split sees it: bidirectional type WS, B or S, or category Zs. */
bool wg_is_blank(int32_t code);
/* Writes up to 4 bytes, U+FFFD for what is no code point (as -1); returns how many. */
size_t wg_utf8_write(char *bytes, int32_t code);

#endif
