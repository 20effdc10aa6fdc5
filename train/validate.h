/* Validation: metrics of a model on sentences that it was not trained on. */
#ifndef WG_TRAIN_VALIDATE_H
#define WG_TRAIN_VALIDATE_H

#include "train/data.h"
#include "train/plans.h"

enum wgi_metric {
    WG_METRIC_CROSS_ENTROPY = 0, /* -log p of a target token, in nats, without label smoothing */
    WG_METRIC_PERPLEXITY,        /* its exp                                                    */
    WG_METRIC_ACCURACY,          /* share of target tokens that have the greatest probability  */
    WG_METRIC_BLEU,              /* of translations, 0 to 100                                  */
    WG_METRIC_CHRF,              /* 0 to 100                                                   */
    WG_METRICS
};

typedef struct wgi_metric_kind {
    const char *name; /* in settings and files */
    bool greater_is_better;
} wgi_metric_kind;
extern const wgi_metric_kind wgi_metric_kinds[WG_METRICS];

/* The i-th metric named in `words`, which are separated by blanks; -1 past the end. */
int wgi_metric_named(const char *words, size_t i);

typedef struct wgi_validation {
    double cost;              /* label-smoothed cross-entropy per target token, in nats */
    double value[WG_METRICS]; /* NAN: not measured                                    */
    bool is_best[WG_METRICS]; /* better than any before; set by the trainer           */
    int64_t tokens, sentences;
    wg_error left_out; /* why BLEU and chrF could not be measured; WG_OK: they could */
} wgi_validation;

typedef struct wgi_validator {
    wgi_plans *plans;
    const wgi_training_data *data;
    wg_search *search;        /* made when it is first needed; freed by wgi_validator_free */
    const volatile int *stop; /* NULL, or ends a validation with WG_ESTOPPED when it is nonzero */
} wgi_validator;

/* Computes the metrics of settings->valid_metrics on the validation set, with the parameters in the
 * plans' store.  Translations of a model that has diverged are no failure but left out. */
wg_status wgi_validate(wgi_validation *out, wgi_validator *v, wg_error *error);
void wgi_validator_free(wgi_validator *v);

/* ---- translations.c -------------------------------------------------------------------------- */

/* Translates the source side with settings->search, one text per pair; wgi_translated_free frees
 * the array and the texts. */
wg_status wgi_translate_corpus(wgi_validator *v, const wg_corpus *corpus, char ***texts,
                               wg_error *error);
void wgi_translated_free(char **texts, size_t n);

#endif
