/* Numbers, and numbers of bytes, as people write them. */
#ifndef WG_PRIVATE_GRAPH_SIZES_H
#define WG_PRIVATE_GRAPH_SIZES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number and nothing else.  false if the text is none, begins with a blank, or is so close to 0
 * that a double cannot hold it. */
bool wgi_real_read(const char *text, double *x);

/* "4096", "512M", ".5GiB", "2GB": a number, then nothing or K, M, G or T, powers of 1024, also with
 * "iB", but of 1000 with "B".  false if it is no such text, or 2^62 bytes or more. */
bool wgi_size_read(const char *text, int64_t *bytes);

/* The shortest such text without a fraction: "512M". */
const char *wgi_size_text(int64_t bytes, char *text, size_t size);

#endif
