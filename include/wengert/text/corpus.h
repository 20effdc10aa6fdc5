/* Pairs of sentences, or spans of a single text, as token ids in memory. */
#ifndef WG_TEXT_CORPUS_H
#define WG_TEXT_CORPUS_H

#include "wengert/text/vocabulary.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Pairs of sentences, immutable once read. */
typedef struct wg_corpus wg_corpus;

/** One sentence, without begin and end of sentence. */
typedef struct wg_sentence {
    const int32_t *ids; /**< [n] owned by the corpus */
    size_t n;           /**< tokens */
} wg_sentence;

/** How a corpus is read.  Zero means the default in every field. */
typedef struct wg_corpus_options {
    size_t max_length; /**< pairs with a side of more tokens are left out; 0: no limit */
    bool keep_empty;   /**< keep pairs with an empty side: for validation, line by line */
    bool keep_text;    /**< keep the lines as well, for wg_corpus_text */
    int threads;       /**< for encoding, up to WG_MAX_THREADS; 0: what the process may use.  The
                          result does not depend on it */
} wg_corpus_options;

/** Reads two files with equal numbers of lines (plain or gzip; "-" is not allowed) and encodes
 * them.  A byte-order mark and carriage returns at line ends are dropped.  The caller frees *out;
 * on failure it is NULL.  WG_EDATA: different numbers of lines, no pair is left, or the text
 * is UTF-16 or UTF-32; WG_EIO; WG_EINVAL: an argument is NULL.  `options` may be NULL. */
WG_API WG_MUST_USE wg_status wg_corpus_read(wg_corpus **out, const char *source_path,
                                            const char *target_path, const wg_vocabulary *source,
                                            const wg_vocabulary *target,
                                            const wg_corpus_options *options, wg_error *error);
/** The same for texts in memory. */
WG_API WG_MUST_USE wg_status wg_corpus_of_text(wg_corpus **out, const char *source_text,
                                               size_t source_size, const char *target_text,
                                               size_t target_size, const wg_vocabulary *source,
                                               const wg_vocabulary *target,
                                               const wg_corpus_options *options, wg_error *error);
/** How a single text is cut into spans for a language model. */
typedef struct wg_span_options {
    int32_t bos;   /**< token before a line; of a joined text, before the first */
    int32_t eos;   /**< token after a line */
    size_t length; /**< of a span: the tokens that are predicted in it, at most */
    /** The lines are one text, which goes on from line to line.  Otherwise each is separate, and
     * lines without a token are left out. */
    bool joined;
    int threads; /**< as in wg_corpus_options */
} wg_span_options;

/** Reads a text (plain or gzip; "-" is not allowed), encodes its lines and cuts them into spans, so
 * that each of their tokens and ends is predicted once.  A span of n predictions is a sentence of
 * n + 1 ids on side 1: all but the last are read, all but the first predicted.  Side 0 has empty
 * sentences; wg_corpus_count is the number of spans.  The caller frees *out; on failure it is NULL.
 * WG_EDATA: no line has a token, or the text is UTF-16 or UTF-32; WG_EIO; WG_EINVAL: an argument is
 * NULL or an option out of range. */
WG_API WG_MUST_USE wg_status wg_corpus_read_spans(wg_corpus **out, const char *path,
                                                  const wg_vocabulary *vocabulary,
                                                  const wg_span_options *options, wg_error *error);
/** The same for a text in memory. */
WG_API WG_MUST_USE wg_status wg_corpus_spans_of_text(wg_corpus **out, const char *text, size_t size,
                                                     const wg_vocabulary *vocabulary,
                                                     const wg_span_options *options,
                                                     wg_error *error);

/** Frees the corpus; NULL is allowed. */
WG_API void wg_corpus_free(wg_corpus *c);

/** Number of pairs kept, or of spans. */
WG_API size_t wg_corpus_count(const wg_corpus *c);
/** Pairs left out because a side is empty; lines of a single text that have no token. */
WG_API size_t wg_corpus_empty(const wg_corpus *c);
/** Pairs left out because a side is longer than max_length. */
WG_API size_t wg_corpus_too_long(const wg_corpus *c);
/** Lines of both sides, also of pairs left out, in which NUL or bytes that are not UTF-8 were read
 * as U+FFFD. */
WG_API size_t wg_corpus_repaired(const wg_corpus *c);
/** The number, from 1, of the first such line of side 0 (source) or 1 (target); 0: none. */
WG_API size_t wg_corpus_first_repaired(const wg_corpus *c, int side);
/** Sentence i of side 0 (source) or 1 (target). */
WG_API wg_sentence wg_corpus_sentence(const wg_corpus *c, size_t i, int side);
/** Line i of a side as text, NULL without keep_text. */
WG_API const char *wg_corpus_text(const wg_corpus *c, size_t i, int side);
/** A hash of all ids (xxHash), by which a resumed run recognises its data. */
WG_API uint64_t wg_corpus_hash(const wg_corpus *c);

#ifdef __cplusplus
}
#endif
#endif
