#ifndef WG_PRIVATE_DECODE_SENTENCES_H
#define WG_PRIVATE_DECODE_SENTENCES_H

#include <stddef.h>
#include <stdint.h>

/* The caller's sentences: ids[i] are the length[i] tokens of sentence i. */
typedef struct wgi_sentences {
    const int32_t *const *ids;
    const size_t *length;
    size_t n;
} wgi_sentences;

#endif
