/* Facts about code points, and UTF-8 (RFC 3629). */
#ifndef WG_TEXT_UNICODE_UNICODE_H
#define WG_TEXT_UNICODE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* White space, as Python's str.split sees it: bidirectional type WS, B or S, or category Zs. */
bool wgi_is_blank(int32_t code);
/* Writes up to 4 bytes, U+FFFD for what is no code point (as -1); returns how many. */
size_t wgi_utf8_write(char *bytes, int32_t code);

/* The code point that begins at *at, which moves on behind it.  What is no UTF-8 is -1: a byte that
 * begins nothing, or the beginning of a sequence as far as it is right. */
int32_t wgi_utf8_read(const char **at, const char *end);
/* Is text[0..size) well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms)? */
bool wgi_utf8_valid(const char *text, size_t size);

#endif
