/* All that can be set about a training or a translation, as one struct, and the one table of
 * options by which command line, YAML files, their dump and the help speak of it.
 *
 * A value comes from, the later one winning: the option's default, the preset, what was given
 * (wg_settings_set, YAML files; there the last one wins).  The order in which preset and other
 * options are given does not matter. */
#ifndef WG_TRAIN_SETTINGS_H
#define WG_TRAIN_SETTINGS_H

#include "wengert/decode/search.h"
#include "wengert/models/transformer.h"
#include "wengert/train/schedule.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An amount of training: 100u updates, 2e epochs, 5000000t target tokens; n = 0: never. */
typedef struct wg_amount {
    int64_t n;
    char unit; /* 'u', 'e', 't' */
} wg_amount;

enum { WG_MAX_OPTIONS = 128 };

typedef enum wg_optimizer_kind {
    WG_OPTIMIZER_ADAM = 0,
    WG_OPTIMIZER_ADAMW,
    WG_OPTIMIZER_SGD
} wg_optimizer_kind;

/** Texts are owned by the struct, and freed by wg_settings_free.  Fields may be written directly
 * once all is set by name. */
typedef struct wg_settings {
    /* files */
    char *model;         /* folder                                         */
    char *train_sets[2]; /* source, target; NULL: the built-in numbers      */
    char *valid_sets[2];
    char *vocabs
        [2]; /* to use (the second NULL: the same for both sides); NULL: made from the training sets */
    int64_t numbers; /* pairs of the built-in corpus                    */
    /* text */
    int vocab_kind; /* wg_vocabulary_kind                              */
    int64_t vocab_size;
    bool vocab_tokenized; /* wg_vocabulary_options: tokenized               */
    int64_t
        max_length; /* of a training sentence in tokens; longer pairs are left out; 0: none are */
    /* model */
    char *preset;              /* "numbers", or of wg_transformer_find            */
    wg_transformer_config net; /* but the sizes of the vocabularies         */
    /* batches */
    int64_t batch_tokens, batch_sentences, length_multiple;
    int64_t delay; /* batches that make one update                    */
    /* optimizer */
    int optimizer; /* wg_optimizer_kind                               */
    double beta1, beta2, eps, weight_decay, momentum;
    wg_schedule schedule; /* its d_model is net.d_model; updates = 0: those of `after` */
    double clip_norm;     /* 0: none                                         */
    double
        smoothing; /* exponential, of parameters: average = (1 - s) average + s parameters; 0: none */
    /* course */
    wg_amount after, disp_freq, save_freq, valid_freq;
    int64_t early_stopping; /* validations without improvement; 0: never    */
    int64_t keep;           /* checkpoints kept for averaging               */
    char *valid_metrics;    /* "cross-entropy bleu": the first one decides  */
    int bleu_tokenizer;     /* wg_bleu_tokenizer                            */
    /* validation and translation */
    wg_search_options search;
    /* machine */
    uint64_t seed;
    int64_t threads; /* 0: as many as there are                         */
    char *backend;   /* names or files, by comma; NULL: the fastest     */
    bool int8;       /* products of a trained model in integers of 8 bits */
    bool quiet, overwrite;

    uint64_t given[WG_MAX_OPTIONS / 64]; /* by option: a bit if it was set by name */
} wg_settings;

/* ---- the table ------------------------------------------------------------------------------- */

typedef enum wg_option_kind {
    WG_OPTION_BOOL = 0, /* true or false                              bool      */
    WG_OPTION_WHOLE,    /* a whole number in [least, most]            int64_t   */
    WG_OPTION_SEED,     /* any 64 bits                                uint64_t  */
    WG_OPTION_REAL,     /* a number in [least, most]                  double    */
    WG_OPTION_AMOUNT,   /* 100u, 2e, 5000000t                         wg_amount */
    WG_OPTION_CHOICE,   /* one of the choices, the first being `least` int      */
    WG_OPTION_WORDS,    /* at most `most` of the choices              char *    */
    WG_OPTION_TEXT,     /* any text                                   char *    */
    WG_OPTION_PAIR      /* at least `least`, at most two texts        char *[2] */
} wg_option_kind;

typedef enum wg_option_group {
    WG_GROUP_FILES = 0,
    WG_GROUP_TEXT,
    WG_GROUP_MODEL,
    WG_GROUP_BATCHES,
    WG_GROUP_OPTIMIZER,
    WG_GROUP_COURSE,
    WG_GROUP_VALIDATION,
    WG_GROUP_SEARCH,
    WG_GROUP_MACHINE,
    WG_GROUP_COUNT
} wg_option_group;

enum {
    WG_FOR_TRAINING = 1,    /* asked for by what trains                                     */
    WG_FOR_TRANSLATION = 2, /* by what translates with a model                              */
    WG_FOR_SCORING = 4,     /* by what scores given translations                            */
    WG_FOR_EVALUATION = 8,  /* by what translates and compares                              */
    WG_MAY_CHANGE = 16      /* between runs that train one model, without making it another */
};

typedef struct wg_option {
    const char *name;    /* of flag and YAML key                                                */
    const char *aliases; /* other systems' names, by '|'; NULL: none                            */
    char letter;         /* short flag, or 0                                                    */
    int kind;            /* wg_option_kind                                                      */
    int group;           /* wg_option_group                                                     */
    unsigned use;        /* of the bits above                                                   */
    size_t offset;       /* of the field in wg_settings                                         */
    double min, max;
    const char *choices; /* by '|'                                                              */
    const char *usual;   /* the default, in the form of a flag's argument; NULL: of the network */
    const char *bare;    /* the value of a flag without argument; NULL: it needs one            */
    const char *unit;    /* what the argument is: "UPDATES"                                     */
    const char *doc;
} wg_option;

/** The i-th option, ordered by group; NULL past the end. */
WG_API const wg_option *wg_option_at(size_t i);
/** By name or alias; NULL if there is none. */
WG_API const wg_option *wg_option_find(const char *name);
/** The nearest name to one that is none, or NULL. */
WG_API const char *wg_option_nearest(const char *name);
WG_API const char *wg_option_group_title(int group);

/* ---- settings by name ------------------------------------------------------------------------ */

/** Defaults and the preset "numbers" (which gives way to "tiny" once training sets are given, unless
 * it was given itself). */
WG_API WG_MUST_USE wg_status wg_settings_init(wg_settings *s);
WG_API void wg_settings_free(wg_settings *s);
WG_API WG_MUST_USE wg_status wg_settings_copy(wg_settings *out, const wg_settings *s);

/** Sets an option by name or alias to a value written as a flag's argument (of a pair, both if both
 * are needed); NULL
 *  takes texts away.  On failure (WG_EINVAL, WG_ENOMEM) nothing changes and `message` tells "NAME:
 *  what, expected, got". */
WG_API WG_MUST_USE wg_status wg_settings_set(wg_settings *s, const char *name, const char *value,
                                             char *message, size_t message_size);
/** The same with n values: two for a pair, words for WG_OPTION_WORDS; n = 0 takes the texts
 * away. */
WG_API WG_MUST_USE wg_status wg_settings_assign(wg_settings *s, const wg_option *o,
                                                const char *const *values, size_t n, char *message,
                                                size_t message_size);
WG_API bool wg_settings_given(const wg_settings *s, const wg_option *o);
WG_API bool wg_settings_equal(const wg_settings *a, const wg_settings *b, const wg_option *o);
/** The value of o as it is written in YAML; *text is the caller's to free. */
WG_API WG_MUST_USE wg_status wg_settings_get(const wg_settings *s, const wg_option *o, char **text);

/** Lays what was given in `over` over the settings of a model that exists.  WG_EINVAL with the names
 * of all options that would
 *  make it another model (wg_option.use without WG_MAY_CHANGE); then nothing changes. */
WG_API WG_MUST_USE wg_status wg_settings_override(wg_settings *model, const wg_settings *over,
                                                  char *message, size_t message_size);

/** Can there be such a model and such a training of it?  If not, WG_EINVAL, and `message` says why
 * by the names of options. */
WG_API WG_MUST_USE wg_status wg_settings_check(const wg_settings *s, char *message,
                                               size_t message_size);
/** Most tokens of a sentence, without its end, for which a batch has room, and the table of learned
 * positions. */
WG_API int64_t wg_settings_longest(const wg_settings *s);

/** Reads a YAML file: one mapping of option names to scalars, or to lists of scalars where several
 * values are due.  Messages
 *  read "file:line: what, expected, got"; unknown and repeated keys are errors (WG_EDATA), and
 *  nothing changes then. */
WG_API WG_MUST_USE wg_status wg_settings_read_yaml(wg_settings *s, const char *path, char *message,
                                                   size_t message_size);
/** Writes all options, with comments; the bytes depend on the values alone. */
WG_API WG_MUST_USE wg_status wg_settings_write_yaml(const wg_settings *s, FILE *f);

#ifdef __cplusplus
}
#endif
#endif
