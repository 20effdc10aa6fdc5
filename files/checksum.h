/* Checksums of files: XXH64, which notices damage but no intention. */
#ifndef WG_FILES_CHECKSUM_H
#define WG_FILES_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* XXH64 of the bytes, as the specification of xxHash has it. */
uint64_t wgi_xxh64(const void *bytes, size_t size, uint64_t seed);

enum { WGI_CHECKSUM_DIGITS = 16 /* lower-case hexadecimal, without a final NUL */ };
void wgi_checksum_digits(char digits[WGI_CHECKSUM_DIGITS], uint64_t checksum);

/* ---- texts ----------------------------------------------------------------------------------- */

/* How a text begins that has a checksum of all bytes after this beginning: `before`, the digits,
 * `after`. */
typedef struct wgi_checksum_head {
    const char *before, *after;
} wgi_checksum_head;

typedef enum wgi_checksum_verdict {
    WGI_CHECKSUM_ABSENT, /* it does not begin with `before` */
    WGI_CHECKSUM_RIGHT,
    WGI_CHECKSUM_WRONG
} wgi_checksum_verdict;

/* The length of such a beginning. */
size_t wgi_checksum_head_size(const wgi_checksum_head *h);
/* Writes the beginning of a text of `size` bytes, of which it is the first part. */
void wgi_checksum_head_put(const wgi_checksum_head *h, char *text, size_t size);
wgi_checksum_verdict wgi_checksum_head_check(const wgi_checksum_head *h, const char *text,
                                             size_t size);

#endif
