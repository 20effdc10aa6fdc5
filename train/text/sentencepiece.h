/* What Wengert uses of SentencePiece, in C; not installed.  No exception and no process exit crosses it; messages are
 * SentencePiece's own.  sentencepiece.cc, or absent.c in builds without the library. */
#ifndef WG_TRAIN_SENTENCEPIECE_H
#define WG_TRAIN_SENTENCEPIECE_H

#include "train/text/internal.h"

typedef struct wg_spm wg_spm;

enum { WG_SPM_LONGEST = 65536 }; /* longer lines are not learned from, as their number of bytes */

/* Learns a model from lines ended by '\n', in UTF-8. */
wg_status wg_spm_train(wg_spm **out, const wg_vocabulary_options *o, const char *text,
                       size_t text_size, wg_message *m);
/* From the bytes of a model file. */
wg_status wg_spm_open(wg_spm **out, const char *bytes, size_t size, wg_message *m);
void wg_spm_free(wg_spm *s);
/* The bytes of its model file, which belong to s. */
const char *wg_spm_bytes(const wg_spm *s, size_t *size);

int64_t wg_spm_size(const wg_spm *s);
int32_t wg_spm_special(const wg_spm *s, int which); /* WG_PAD, ...; -1: has none */
const char *wg_spm_piece(const wg_spm *s, int32_t id);

wg_status wg_spm_encode(const wg_spm *s, const char *text, size_t size, int32_t **ids,
                        size_t *n_ids);
/* Ids are in [0, size); control symbols are left out. */
wg_status wg_spm_decode(const wg_spm *s, const int32_t *ids, size_t n_ids, char **text);

#endif
