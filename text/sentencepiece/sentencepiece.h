/* What Wengert uses of SentencePiece, in C.  No exception leaves it, and the process never exits;
 * messages are those of SentencePiece.  Implemented by sentencepiece.cc, or by text/absent/ in
 * builds without the library. */
#ifndef WG_TEXT_SENTENCEPIECE_SENTENCEPIECE_H
#define WG_TEXT_SENTENCEPIECE_SENTENCEPIECE_H

#include "text/internal.h"

typedef struct wgi_spm wgi_spm;

enum {
    WGI_SPM_LONGEST = 65536, /* longer lines, in bytes, are not learned from */
    WGI_SPM_PART = 4096      /* longer lines, in bytes, are encoded in parts */
};

/* Learns a model from lines ended by '\n', in UTF-8, in the parts in which they are encoded. */
wg_status wgi_spm_train(wgi_spm **out, const wg_vocabulary_options *o, const char *text,
                        size_t text_size, wg_error *error);
/* From the bytes of a model file. */
wg_status wgi_spm_open(wgi_spm **out, const char *bytes, size_t size, wg_error *error);
void wgi_spm_free(wgi_spm *s);
/* The bytes of its model file, owned by s. */
const char *wgi_spm_bytes(const wgi_spm *s, size_t *size);

int64_t wgi_spm_size(const wgi_spm *s);
int32_t wgi_spm_special(const wgi_spm *s, int which);    /* WGI_PAD, ...; -1: has none */
const char *wgi_spm_piece(const wgi_spm *s, int32_t id); /* of an id in [0, size) */

/* A line of more than WGI_SPM_PART bytes is encoded in parts that end at blanks, as if each were a
 * line: no piece crosses a blank, so the ids are those of the whole.  A longer word is cut into
 * several.  So the time is proportional to the length, which SentencePiece's is not: it takes the
 * square of the length of a run of unknown characters. */
wg_status wgi_spm_encode(const wgi_spm *s, const char *text, size_t size, int32_t **ids,
                         size_t *n_ids);
/* Ids are in [0, size); control symbols are left out. */
wg_status wgi_spm_decode(const wgi_spm *s, const int32_t *ids, size_t n_ids, char **text);
/* The same of pieces by their texts, of which the model may lack some: they are taken as they are.
 */
wg_status wgi_spm_join(const wgi_spm *s, const char *const *pieces, size_t n, char **text);

#endif
