/* Metrics of a translation model on sentences that it was not trained on. */
#ifndef WG_TRANSLATE_VALIDATE_H
#define WG_TRANSLATE_VALIDATE_H

#include "train/validate.h"
#include "translate/data.h"
#include "wengert/backends/load.h"
#include "wengert/distributed/ranks.h"

enum wgi_metric {
    WGI_METRIC_CROSS_ENTROPY = 0, /* -log p of a target token, in nats, without label smoothing */
    WGI_METRIC_PERPLEXITY,        /* its exp                                                    */
    WGI_METRIC_ACCURACY,          /* share of target tokens that have the greatest probability  */
    WGI_METRIC_BLEU,              /* of translations, 0 to 100                                  */
    WGI_METRIC_CHRF,              /* 0 to 100                                                   */
    WGI_METRICS
};

typedef struct wgi_metric_kind {
    const char *name; /* in settings and files */
    wg_better better;
    int decimals; /* with which it is printed */
} wgi_metric_kind;
extern const wgi_metric_kind wgi_metric_kinds[WGI_METRICS];

/* The i-th metric named in `words`, which are separated by blanks; -1 past the end. */
int wgi_metric_named(const char *words, size_t i);

typedef struct wgi_validator {
    const wg_settings *settings;
    const wgi_training_data *data;
    const wg_backend_list *backends;
    wg_store *store;          /* with the parameters */
    wg_search *search;        /* made when it is first needed; freed by wgi_validator_free */
    const volatile int *stop; /* NULL, or ends a validation with WG_ESTOPPED when it is nonzero */
    wg_ranks *ranks;          /* NULL, or those that share out the translations */
} wgi_validator;

/* To the cost, the cross-entropy and the accuracy of a validation adds the other metrics of
 * settings->valid_metrics.  Translations of a model that has diverged are no failure but left out,
 * and *left_out says why. */
wg_status wgi_validate_translations(wgi_means *m, wgi_validator *v, wg_error *left_out,
                                    wg_error *error);
void wgi_validator_free(wgi_validator *v);

/* The best translation of each source sentence; wgi_translated_free frees them. */
wg_status wgi_translate_corpus(wgi_validator *v, const wg_corpus *corpus, char ***texts,
                               wg_error *error);
void wgi_translated_free(char **texts, size_t n);

#endif
