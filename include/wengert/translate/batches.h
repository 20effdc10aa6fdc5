/* A corpus as batches of sentences of similar length, in a new, reproducible order in each epoch.
 *
 * Each epoch shuffles the pairs, sorts them by padded lengths (ties keep the shuffled order),
 * longest first, cuts batches of at most `tokens` padded tokens on either side, and shuffles the
 * batches.  All of this is a function of (seed, epoch), so (epoch, next group) is the whole state
 * of the reader.  Lengths are padded to multiples of `multiple`, so few shapes occur; and cuts
 * depend only on lengths, so every epoch has the same shapes. */
#ifndef WG_TRANSLATE_BATCHES_H
#define WG_TRANSLATE_BATCHES_H

#include "wengert/text/corpus.h"
#include "wengert/train/source.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A reader of batches. */
typedef struct wg_batches wg_batches;

/** One batch; its arrays belong to the wg_batches and are valid until the next call. */
typedef struct wg_batch {
    int64_t rows;            /**< B */
    int64_t source_length;   /**< S, padded */
    int64_t target_length;   /**< T, padded */
    int64_t sentences;       /**< rows that are not filler */
    int64_t source_tokens;   /**< not padding, ends of sentences included */
    int64_t target_tokens;   /**< not padding, ends of sentences included */
    int32_t *source;         /**< [B, S] x_1, ..., end of sentence, padding; or with a begin */
    int32_t *source_lengths; /**< [B] 0 for filler */
    int32_t *target_in;      /**< [B, T] begin of sentence, y_1, ..., padding */
    int32_t *target_out;     /**< [B, T] y_1, ..., end of sentence, then -1 */
    const size_t *pairs;     /**< [B] index in the corpus; SIZE_MAX for filler */
} wg_batch;

/** How batches are made.  Zero means the default in every field but the ids. */
typedef struct wg_batches_options {
    int64_t tokens;    /**< maximum of rows times padded length, on each side; 0: 4096 */
    int64_t sentences; /**< maximum number of rows; 0: no limit */
    int64_t multiple;  /**< lengths are padded to multiples of this; 0: 2 */
    int64_t group;     /**< batches that make one update; 0: 1 */
    bool in_order;     /**< neither shuffled nor sorted: for validation */
    /** S and T determine the number of rows, to limit the number of shapes, each of which needs a
     * plan: tokens / max(S, T), rounded down to a multiple of 8 from 8 on; missing rows are filler.
     * Otherwise one row for each sentence. */
    bool fixed_rows;
    uint64_t seed; /**< of all shuffling */
    int32_t bos;   /**< begin of a target sentence */
    int32_t eos;   /**< end of a target sentence */
    int32_t pad;   /**< padding of the target; -1: none, written as 0 */
    /** Targets are spans (wg_corpus_read_spans), which have their begin and their end: target_in is
     * all but their last token, target_out all but the first. */
    bool spans;
    bool source_begins; /**< source sentences begin with source_bos */
    int32_t source_bos; /**< begin of a source sentence */
    int32_t source_eos; /**< end of a source sentence; -1: none is added */
    int32_t source_pad; /**< padding of the source; -1: none, written as 0 */
} wg_batches_options;

/** Creates a reader, which the caller frees; the corpus must outlive it.  On failure *out is NULL.
 * WG_EDATA: a sentence is longer than `tokens` (set the corpus's max_length); WG_EINVAL: an option
 * is out of range; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_batches_create(wg_batches **out, const wg_corpus *corpus,
                                               const wg_batches_options *options, wg_error *error);
/** Frees the reader; NULL is allowed. */
WG_API void wg_batches_free(wg_batches *b);

/** The position of the next group. */
WG_API wg_cursor wg_batches_cursor(const wg_batches *b);
/** Moves the reader.  WG_EINVAL unless epoch >= 0 and group is in [0, groups], where groups =
 * wg_batches_groups(b) is the start of the next epoch. */
WG_API WG_MUST_USE wg_status wg_batches_seek(wg_batches *b, wg_cursor cursor);
/** The number of groups in an epoch, the same in every epoch. */
WG_API int64_t wg_batches_groups(const wg_batches *b);

/** The next group: up to options.group batches (fewer at the end of an epoch), in memory of b.
 * After the last group of an epoch the reader is at the start of the next epoch.  Allocates
 * nothing; fails only for NULL (WG_EINVAL). */
WG_API WG_MUST_USE wg_status wg_batches_next(wg_batches *b, const wg_batch **batches,
                                             size_t *n_batches);

#ifdef __cplusplus
}
#endif
#endif
