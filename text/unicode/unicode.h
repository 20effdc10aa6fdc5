/* Facts about code points, and UTF-8 (RFC 3629). */
#ifndef WG_TEXT_UNICODE_UNICODE_H
#define WG_TEXT_UNICODE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* White space, as Python's str.split sees it: bidirectional type WS, B or S, or category Zs. */
bool wgi_is_blank(int32_t code);
/* Writes up to 4 bytes, U+FFFD for what is not a code point (such as -1); returns how many. */
size_t wgi_utf8_write(char *bytes, int32_t code);

/* The code point at *at, which is moved past it.  -1 for invalid UTF-8, of which it takes a byte
 * that begins no sequence, or the valid part of an incomplete one. */
int32_t wgi_utf8_read(const char **at, const char *end);
/* True if text[0..size) is well-formed UTF-8 (RFC 3629: no surrogates, no overlong forms). */
bool wgi_utf8_valid(const char *text, size_t size);

#endif
