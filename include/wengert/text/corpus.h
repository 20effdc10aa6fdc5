/* Pairs of sentences as token ids, in memory. */
#ifndef WG_TEXT_CORPUS_H
#define WG_TEXT_CORPUS_H

#include "wengert/text/vocabulary.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_corpus wg_corpus;

/** One sentence; without begin and end. */
typedef struct wg_sentence {
    const int32_t *ids;
    size_t n;
} wg_sentence;

typedef struct wg_corpus_options {
    size_t
        max_length; /* pairs with a longer side (in tokens, without begin and end) are left out; 0: none are */
    bool
        keep_empty; /* also pairs of which a side is empty (for validation, where the count of lines matters) */
    bool keep_text; /* wg_corpus_text works */
    int threads; /* that encode; 0: as many as OpenMP gives.  The result does not depend on it. */
} wg_corpus_options;

/** Reads two files of equally many lines (plain or gzip; "-" is not allowed) and encodes them.  A
 * byte-order mark and
 *  carriage returns at line ends are dropped.  Different counts of lines are WG_EDATA, with both
 *  counts. */
WG_API WG_MUST_USE wg_status wg_corpus_read(wg_corpus **out, const char *source_path,
                                            const char *target_path, const wg_vocabulary *source,
                                            const wg_vocabulary *target,
                                            const wg_corpus_options *options, char *message,
                                            size_t message_size);
/** The same from texts in memory. */
WG_API WG_MUST_USE wg_status wg_corpus_of_text(wg_corpus **out, const char *source_text,
                                               size_t source_size, const char *target_text,
                                               size_t target_size, const wg_vocabulary *source,
                                               const wg_vocabulary *target,
                                               const wg_corpus_options *options, char *message,
                                               size_t message_size);
WG_API void wg_corpus_free(wg_corpus *c); /* NULL is allowed */

/** Number of pairs kept. */
WG_API size_t wg_corpus_count(const wg_corpus *c);
/** Pairs left out for being empty, too long. */
WG_API size_t wg_corpus_empty(const wg_corpus *c);
WG_API size_t wg_corpus_too_long(const wg_corpus *c);
/** Sentence i of side 0 (source) or 1 (target). */
WG_API wg_sentence wg_corpus_sentence(const wg_corpus *c, size_t i, int side);
/** Line i of a side as text, NULL without keep_text. */
WG_API const char *wg_corpus_text(const wg_corpus *c, size_t i, int side);
/** A fingerprint of all ids (xxHash), by which a resumed training knows its data again. */
WG_API uint64_t wg_corpus_hash(const wg_corpus *c);

#ifdef __cplusplus
}
#endif
#endif
