/* All that can be set about a training run or a translation, as one struct, and the one table of
 * options from which the command line, YAML files, their dump and the help are made.
 *
 * A value comes from, the later one winning: the option's default, the preset, what was given
 * (wg_settings_set, YAML files; there the last one wins).  The order in which preset and other
 * options are given does not matter. */
#ifndef WG_TRAIN_SETTINGS_H
#define WG_TRAIN_SETTINGS_H

#include "wengert/decode/search.h"
#include "wengert/graph/error.h"
#include "wengert/models/transformer.h"
#include "wengert/train/schedule.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An amount of training: 100u updates, 2e epochs, 5000000t target tokens. */
typedef struct wg_amount {
    int64_t n; /**< 0: never */
    char unit; /**< 'u', 'e', 't' */
} wg_amount;

enum { WG_MAX_OPTIONS = 128 /**< capacity of wg_settings.given */ };

/** Who updates the parameters. */
typedef enum wg_optimizer_kind {
    WG_OPTIMIZER_ADAM = 0, /**< Kingma and Ba 2015 */
    WG_OPTIMIZER_ADAMW,    /**< with decoupled weight decay: Loshchilov and Hutter 2019 */
    WG_OPTIMIZER_SGD       /**< with momentum */
} wg_optimizer_kind;

/** Texts are owned by the struct, and freed by wg_settings_free.  Fields may be written directly
 * once all is set by name. */
typedef struct wg_settings {
    /* files */
    char *model;         /**< folder */
    char *train_sets[2]; /**< source, target; NULL: the built-in numbers */
    char *valid_sets[2]; /**< source, target; NULL: none, or held-out built-in numbers */
    char *vocabs[2];     /**< the second NULL: the first for both sides; NULL: made from the data */
    int64_t numbers;     /**< pairs of the built-in corpus */
    /* text */
    int vocab_kind;       /**< wg_vocabulary_kind */
    int64_t vocab_size;   /**< maximum number of tokens */
    bool vocab_tokenized; /**< wg_vocabulary_options.tokenized */
    int64_t max_length;   /**< in tokens; longer training pairs are left out; 0: no limit */
    /* model */
    char *preset;              /**< "numbers", or of wg_transformer_find */
    wg_transformer_config net; /**< but the sizes of the vocabularies */
    /* batches */
    int64_t batch_tokens;    /**< wg_batches_options.tokens */
    int64_t batch_sentences; /**< wg_batches_options.sentences */
    int64_t length_multiple; /**< wg_batches_options.multiple */
    int64_t delay;           /**< batches that make one update */
    /* optimizer */
    int optimizer;        /**< wg_optimizer_kind */
    double beta1;         /**< Adam: decay of the first moment */
    double beta2;         /**< Adam: decay of the second moment */
    double eps;           /**< Adam: added to the root of the second moment */
    double weight_decay;  /**< AdamW: decoupled; SGD: added to the gradient */
    double momentum;      /**< SGD */
    wg_schedule schedule; /**< its d_model is net.d_model; updates = 0: those of `after` */
    double clip_norm;     /**< maximum norm of the gradient; 0: none */
    double smoothing;     /**< s: average = (1 - s) average + s parameters; 0: no average */
    /* run */
    wg_amount after;        /**< where it ends */
    wg_amount disp_freq;    /**< between lines of progress */
    wg_amount save_freq;    /**< between checkpoints */
    wg_amount valid_freq;   /**< between validations */
    int64_t early_stopping; /**< validations without improvement; 0: never */
    int64_t keep;           /**< checkpoints kept for averaging */
    char *valid_metrics;    /**< "cross-entropy bleu": the first one decides */
    int bleu_tokenizer;     /**< wg_bleu_tokenizer */
    /* validation and translation */
    wg_search_options search; /**< beam, penalties, limits */
    /* machine */
    uint64_t seed;   /**< of initial values, dropout and shuffling */
    int64_t threads; /**< 0: as many as there are */
    char *backend;   /**< names or files, separated by commas; NULL: the fastest */
    bool int8;       /**< products of a trained model in integers of 8 bits */
    bool quiet;      /**< no lines of progress */
    bool overwrite;  /**< start anew in a folder that has a model */

    uint64_t given[WG_MAX_OPTIONS / 64]; /**< by option: a bit if it was set by name */
} wg_settings;

/* ---- the table ------------------------------------------------------------------------------- */

/** How a value is written, and the type of its field. */
typedef enum wg_option_kind {
    WG_OPTION_BOOL = 0, /**< true or false; bool */
    WG_OPTION_WHOLE,    /**< a whole number in [min, max]; int64_t */
    WG_OPTION_SEED,     /**< any 64 bits; uint64_t */
    WG_OPTION_REAL,     /**< a number in [min, max]; double */
    WG_OPTION_AMOUNT,   /**< 100u, 2e, 5000000t; wg_amount */
    WG_OPTION_CHOICE,   /**< one of the choices, the first being `min`; int */
    WG_OPTION_WORDS,    /**< `min` to `max` of the choices; char * */
    WG_OPTION_TEXT,     /**< any text; char * */
    WG_OPTION_PAIR      /**< `min` to two texts; char *[2] */
} wg_option_kind;

/** Sections of the help and of YAML files. */
typedef enum wg_option_group {
    WG_GROUP_FILES = 0,  /**< what is read and written */
    WG_GROUP_TEXT,       /**< vocabularies and lengths */
    WG_GROUP_MODEL,      /**< the network */
    WG_GROUP_BATCHES,    /**< how data are cut */
    WG_GROUP_OPTIMIZER,  /**< updates and learning rate */
    WG_GROUP_COURSE,     /**< how long, and what happens how often */
    WG_GROUP_VALIDATION, /**< metrics */
    WG_GROUP_SEARCH,     /**< translation */
    WG_GROUP_MACHINE,    /**< seed, threads, backend */
    WG_GROUP_COUNT       /**< number of groups */
} wg_option_group;

enum {
    WG_FOR_TRAINING = 1,    /**< asked for by what trains */
    WG_FOR_TRANSLATION = 2, /**< by what translates with a model */
    WG_FOR_SCORING = 4,     /**< by what scores given translations */
    WG_FOR_EVALUATION = 8,  /**< by what translates and compares */
    WG_MAY_CHANGE = 16      /**< between runs that train one model, without making it another */
};

/** One option. */
typedef struct wg_option {
    const char *name;          /**< of flag and YAML key */
    const char *aliases;       /**< other systems' names, separated by '|'; NULL: none */
    char letter;               /**< short flag, or 0 */
    int kind;                  /**< wg_option_kind */
    int group;                 /**< wg_option_group */
    unsigned use;              /**< of the bits above */
    size_t offset;             /**< of the field in wg_settings */
    double min;                /**< as wg_option_kind says */
    double max;                /**< as wg_option_kind says */
    const char *choices;       /**< separated by '|' */
    const char *default_value; /**< in the form of a flag's argument; NULL: the network's */
    const char *implied_value; /**< of a flag without argument; NULL: it needs one */
    const char *unit;          /**< what the argument is: "UPDATES" */
    const char *doc;           /**< one line of help */
} wg_option;

/** The i-th option, ordered by group; NULL past the end. */
WG_API const wg_option *wg_option_at(size_t i);
/** By name or alias; NULL if there is none. */
WG_API const wg_option *wg_option_find(const char *name);
/** The nearest name to one that is none, or NULL. */
WG_API const char *wg_option_nearest(const char *name);
/** The heading of a group: "Optimizer". */
WG_API const char *wg_option_group_title(int group);

/* ---- settings by name ------------------------------------------------------------------------ */

/** Defaults and the preset "numbers" (which gives way to "tiny" once training sets are given, unless
 * it was given itself).  WG_ENOMEM; then *s is empty. */
WG_API WG_MUST_USE wg_status wg_settings_init(wg_settings *s);
/** Frees the texts and clears the struct; NULL is allowed. */
WG_API void wg_settings_free(wg_settings *s);
/** A copy with texts of its own.  WG_ENOMEM; then *out is empty. */
WG_API WG_MUST_USE wg_status wg_settings_copy(wg_settings *out, const wg_settings *s);

/** Sets an option by name or alias to a value written as a flag's argument (of a pair, both if both
 * are needed); NULL removes texts.  On failure (WG_EINVAL, WG_ENOMEM) nothing changes and the error
 * reads "NAME: what, expected, got". */
WG_API WG_MUST_USE wg_status wg_settings_set(wg_settings *s, const char *name, const char *value,
                                             wg_error *error);
/** The same with n values: two for a pair, words for WG_OPTION_WORDS; n = 0 removes the texts. */
WG_API WG_MUST_USE wg_status wg_settings_assign(wg_settings *s, const wg_option *o,
                                                const char *const *values, size_t n,
                                                wg_error *error);
/** Was the option set by name? */
WG_API bool wg_settings_given(const wg_settings *s, const wg_option *o);
/** Is its value the same in both? */
WG_API bool wg_settings_equal(const wg_settings *a, const wg_settings *b, const wg_option *o);
/** The value of o as it is written in YAML; *text is the caller's to free.  WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_settings_get(const wg_settings *s, const wg_option *o, char **text);

/** Lays what was given in `over` over the settings of a model that exists.  WG_EINVAL with the
 * names of all options that would make it another model (wg_option.use without WG_MAY_CHANGE); then
 * nothing changes. */
WG_API WG_MUST_USE wg_status wg_settings_override(wg_settings *model, const wg_settings *over,
                                                  wg_error *error);

/** Can there be such a model and such a run?  If not, WG_EINVAL, and the error says why by the
 * names of options. */
WG_API WG_MUST_USE wg_status wg_settings_check(const wg_settings *s, wg_error *error);
/** The maximum number of tokens of a sentence, without its end, for which a batch has room, and the
 * table of learned positions. */
WG_API int64_t wg_settings_longest(const wg_settings *s);

/** Reads a YAML file: one mapping of option names to scalars, or to lists of scalars where several
 * values are expected.  Messages read "file:line: what, expected, got"; unknown and repeated keys
 * are errors (WG_EDATA), and nothing changes then.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_settings_read_yaml(wg_settings *s, const char *path,
                                                   wg_error *error);
/** Writes all options, with comments; the bytes depend on the values alone.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_settings_write_yaml(const wg_settings *s, FILE *f);

#ifdef __cplusplus
}
#endif
#endif
