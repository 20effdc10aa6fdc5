/* BLEU (Papineni et al. 2002) and chrF (Popovic 2015) with the numbers of sacreBLEU 2.x. */
#ifndef WG_TRAIN_BLEU_H
#define WG_TRAIN_BLEU_H

#include "graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum wg_bleu_tokenizer { WG_BLEU_13A = 0, WG_BLEU_NONE, WG_BLEU_INTL, WG_BLEU_CHAR } wg_bleu_tokenizer;
typedef enum wg_bleu_smoothing { WG_BLEU_EXP = 0, WG_BLEU_UNSMOOTHED, WG_BLEU_FLOOR, WG_BLEU_ADD_K } wg_bleu_smoothing;

/** Zero means the default in every field. */
typedef struct wg_bleu_options {
    int tokenizer;          /* wg_bleu_tokenizer                          */
    int smoothing;          /* wg_bleu_smoothing                          */
    double smoothing_value; /* 0: sacreBLEU's default: floor 0.1, add-k 1 */
    bool lowercase;
} wg_bleu_options;

typedef struct wg_bleu {
    double score;         /* 0 to 100                     */
    double precisions[4]; /* 0 to 100, smoothed           */
    int64_t matches[4], totals[4];
    double brevity_penalty, ratio;
    int64_t hypothesis_length, reference_length;
} wg_bleu;

/** Corpus BLEU of `lines` hypotheses against one reference each. */
WG_API wg_status wg_bleu_compute(wg_bleu *out, const char *const *hypotheses, const char *const *references, size_t lines,
                                 const wg_bleu_options *options);
/** "BLEU = 41.02 71.0/47.5/34.3/24.5 (BP = 0.999 ratio = 0.999 hyp_len = 12096 ref_len = 12103)", as sacreBLEU prints it. */
WG_API void wg_bleu_print(const wg_bleu *b, char *text, size_t size);
/** "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:wengert-0.1.0". */
WG_API void wg_bleu_signature(const wg_bleu_options *options, char *text, size_t size);

/** Zero means the default in every field. */
typedef struct wg_chrf_options {
    int character_order; /* 6 */
    int word_order;      /* 0: chrF; 2: chrF++ */
    double beta;         /* 2 */
    bool keep_blanks, lowercase;
} wg_chrf_options;

WG_API wg_status wg_chrf_compute(double *score, const char *const *hypotheses, const char *const *references, size_t lines,
                                 const wg_chrf_options *options);
WG_API void wg_chrf_signature(const wg_chrf_options *options, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
