/* The tokens around sentences: what a model's settings say, as ids of its vocabularies. */
#ifndef WG_PRIVATE_TRANSLATE_MARKS_H
#define WG_PRIVATE_TRANSLATE_MARKS_H

#include "wengert/translate/folder.h"

typedef struct wgi_sentence_marks {
    int32_t source_bos, source_eos; /* before and behind each source sentence; -1: none */
    int32_t start;                  /* what the decoder reads first */
    int32_t eos, pad, unk;          /* of the target; pad and unk: -1 if there is none */
} wgi_sentence_marks;

/* WG_EDATA: a vocabulary lacks a token that the settings ask for; the error begins with `path`. */
wg_status wgi_marks_of(wgi_sentence_marks *out, const wg_settings *s, const wg_vocabularies *v,
                       const char *path, wg_error *error);

/* How many of them each source sentence has. */
static inline size_t wgi_source_marks(const wgi_sentence_marks *m)
{
    return (size_t)(m->source_bos >= 0) + (size_t)(m->source_eos >= 0);
}

/* Moves the n source ids in ids[0..n), which has room for two more, and puts the marks around
 * them; returns how many there are now. */
size_t wgi_marks_put(const wgi_sentence_marks *m, int32_t *ids, size_t n);

#endif
