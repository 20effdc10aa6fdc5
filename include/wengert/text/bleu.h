/* BLEU (Papineni et al. 2002) and chrF (Popovic 2015), with the numbers of sacreBLEU 2.x (Post
 * 2018).
 *
 * Texts are UTF-8; other bytes are read as U+FFFD.  With options.references = R > 1, the array
 * `references` holds R sets one after the other: references[r * lines + i] belongs to line i.  A
 * reference that is NULL or empty is left out if the line has another; each line must have one that
 * is not NULL.  Punctuation, symbols and upper case are as in PCRE2's version of Unicode. */
#ifndef WG_TEXT_BLEU_H
#define WG_TEXT_BLEU_H

#include "wengert/graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- BLEU ------------------------------------------------------------------------------------ */

/** How lines are split into tokens. */
typedef enum wg_bleu_tokenizer {
    WG_BLEU_13A = 0, /**< mteval-v13a, of the WMT campaigns: ASCII punctuation is split off */
    WG_BLEU_NONE,    /**< at blanks only, for text that is tokenised */
    WG_BLEU_INTL,    /**< mteval-v14 --international-tokenization: Unicode punctuation, symbols */
    WG_BLEU_CHAR     /**< characters */
} wg_bleu_tokenizer;
/** "13a", "none", "intl", "char"; NULL for any other number. */
WG_API const char *wg_bleu_tokenizer_name(int tokenizer);

/** Smoothing: the precision of an order without a match (Chen and Cherry 2014). */
typedef enum wg_bleu_smoothing {
    WG_BLEU_EXP = 0,    /**< the k-th such precision is 100 / (2^k total) */
    WG_BLEU_UNSMOOTHED, /**< it is 0, and so is the score */
    WG_BLEU_FLOOR,      /**< 100 value / total */
    WG_BLEU_ADD_K       /**< value is added to matches and totals of orders 2, 3, 4 */
} wg_bleu_smoothing;
/** "exp", "none", "floor", "add-k"; NULL for any other number. */
WG_API const char *wg_bleu_smoothing_name(int smoothing);

enum { WG_BLEU_ORDER = 4 /**< maximum length of n-grams */ };

/** Options of BLEU.  Zero means the default in every field. */
typedef struct wg_bleu_options {
    int tokenizer;          /**< wg_bleu_tokenizer */
    int smoothing;          /**< wg_bleu_smoothing */
    double smoothing_value; /**< 0: sacreBLEU's default, 0.1 for floor and 1 for add-k */
    bool lowercase;         /**< case does not count */
    bool effective_order;   /**< mean over the orders that have n-grams: for single sentences */
    size_t references;      /**< sets of references; 0: one */
} wg_bleu_options;

/** A score and its parts. */
typedef struct wg_bleu {
    double score;                     /**< 0 to 100 */
    double precisions[WG_BLEU_ORDER]; /**< 0 to 100, smoothed */
    int64_t matches[WG_BLEU_ORDER];   /**< n-grams found in the references */
    int64_t totals[WG_BLEU_ORDER];    /**< n-grams of the hypotheses */
    double brevity_penalty;           /**< BP, 0 to 1 */
    double ratio;                     /**< hypothesis_length / reference_length */
    int64_t hypothesis_length;        /**< tokens */
    int64_t reference_length;         /**< tokens of the closest references */
} wg_bleu;

/** Corpus BLEU of `lines` hypotheses.  WG_EINVAL: a line is NULL, or an option is out of range.
 * WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_bleu_compute(wg_bleu *out, const char *const *hypotheses,
                                             const char *const *references, size_t lines,
                                             const wg_bleu_options *options);
/** Sets score, precisions, brevity penalty and ratio from matches, totals and lengths, for example
 * sums over parts of a corpus:
 *
 *     BP exp(1/4 sum_n log p_n),  BP = min(1, exp(1 - reference_length / hypothesis_length))
 *
 * WG_EINVAL: an option out of range. */
WG_API WG_MUST_USE wg_status wg_bleu_score(wg_bleu *b, const wg_bleu_options *options);
/** Writes "BLEU = 41.02 71.0/47.5/34.3/24.5 (BP = 0.999 ratio = 0.999 hyp_len = 12096 ref_len =
 * 12103)" into text[0..size). */
WG_API void wg_bleu_print(const wg_bleu *b, char *text, size_t size);
/** Writes the signature "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:wengert-0.1.0" into
 * text[0..size). */
WG_API void wg_bleu_signature(const wg_bleu_options *options, char *text, size_t size);

/* ---- chrF ------------------------------------------------------------------------------------ */

/** Options of chrF.  Zero means the default in every field. */
typedef struct wg_chrf_options {
    int character_order;    /**< n-grams of characters, at most 16; 0: 6 */
    int word_order;         /**< n-grams of words, at most 16; 0: chrF; 2: chrF++ */
    double beta;            /**< recall counts beta times as much as precision; 0: 2 */
    bool keep_blanks;       /**< blanks are characters */
    bool lowercase;         /**< case does not count */
    bool epsilon_smoothing; /**< mean over all orders, as chrF++.py; else over shared ones */
    size_t references;      /**< sets of references; 0: one.  The best one of a line counts */
} wg_chrf_options;

/** Corpus chrF, 0 to 100:  (1 + beta^2) P R / (beta^2 P + R)  of the mean precision P and recall R
 * of the orders.  WG_EINVAL: a line is NULL, or an option is out of range; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_chrf_compute(double *score, const char *const *hypotheses,
                                             const char *const *references, size_t lines,
                                             const wg_chrf_options *options);
/** Writes "chrF2 = 52.59", "chrF2++ = 50.29" into text[0..size). */
WG_API void wg_chrf_print(double score, const wg_chrf_options *options, char *text, size_t size);
/** Writes the signature "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:wengert-0.1.0" into
 * text[0..size). */
WG_API void wg_chrf_signature(const wg_chrf_options *options, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
