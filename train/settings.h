/* All that can be set about a training or a translation, as one struct, and the one table of options by which command line,
 * YAML files, their dump and the help speak of it. */
#ifndef WG_TRAIN_SETTINGS_H
#define WG_TRAIN_SETTINGS_H

#include "models/search.h"
#include "models/transformer.h"
#include "train/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/** An amount of training: 100u updates, 2e epochs, 5000000t target tokens; n = 0: never. */
typedef struct wg_amount {
    int64_t n;
    char unit; /* 'u', 'e', 't' */
} wg_amount;

typedef enum wg_optimizer_kind { WG_OPTIMIZER_ADAM = 0, WG_OPTIMIZER_ADAMW, WG_OPTIMIZER_SGD } wg_optimizer_kind;

/** Texts are owned by the struct, and freed by wg_settings_free. */
typedef struct wg_settings {
    /* files */
    char *model;         /* folder                                         */
    char *train_sets[2]; /* source, target; NULL: the built-in numbers      */
    char *valid_sets[2];
    char *vocabs[2];     /* to use; NULL: made from the training sets       */
    /* text */
    int vocab_kind;      /* wg_vocabulary_kind                              */
    int64_t vocab_size;
    int64_t max_length;  /* of a training sentence in tokens; longer pairs are left out */
    /* model */
    char *preset;        /* of wg_transformer_find                          */
    wg_transformer_config net;
    /* batches */
    int64_t batch_tokens, batch_sentences, length_multiple;
    int64_t delay;       /* batches that make one update                    */
    /* optimizer */
    int optimizer;       /* wg_optimizer_kind                               */
    double beta1, beta2, eps, weight_decay, momentum;
    wg_schedule schedule;
    double clip_norm;    /* 0: none                                         */
    double smoothing;    /* exponential, of parameters: average = (1 - s) average + s parameters; 0: none */
    /* course */
    wg_amount after, disp_freq, save_freq, valid_freq;
    int64_t early_stopping; /* validations without improvement; 0: never    */
    int64_t keep;           /* checkpoints kept for averaging               */
    char *valid_metrics;    /* "cross-entropy bleu": the first one decides  */
    /* validation and translation */
    wg_search_options search;
    /* machine */
    uint64_t seed;
    int64_t threads;
    char *backend;       /* names or files, by comma                        */
    bool quiet, overwrite;
} wg_settings;

/** Defaults: the paper's, of the preset "tiny". */
WG_API wg_status wg_settings_init(wg_settings *s);
WG_API void wg_settings_free(wg_settings *s);

#ifdef __cplusplus
}
#endif
#endif
