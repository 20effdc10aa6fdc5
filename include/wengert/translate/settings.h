/* The settings of training and translation as one struct, and the table of options from which
 * flags, YAML and help are made.
 *
 * Values given by name (wg_settings_set, YAML files) override the preset, and the preset overrides
 * the defaults of options.  If a value is given twice, the last one counts.  Otherwise the order
 * does not matter: the preset may be given before or after other options. */
#ifndef WG_TRANSLATE_SETTINGS_H
#define WG_TRANSLATE_SETTINGS_H

#include "wengert/decode/generate.h"
#include "wengert/decode/search.h"
#include "wengert/graph/error.h"
#include "wengert/models/optimizer.h"
#include "wengert/models/transformer.h"
#include "wengert/train/schedule.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    WG_MAX_OPTIONS = 128,           /**< capacity of wg_settings.given */
    WG_MAX_SETTINGS_BYTES = 1 << 20 /**< of a YAML file */
};

/** What is trained. */
typedef enum wg_model_type {
    WG_TYPE_TRANSFORMER = 0, /**< encoder and decoder, on pairs of texts */
    WG_TYPE_LM               /**< only a decoder, on one text: a language model */
} wg_model_type;

/** Which tokens a source sentence has besides its own. */
typedef enum wg_source_marks {
    WG_SOURCE_END = 0, /**< the end of sentence, after it */
    WG_SOURCE_NONE,    /**< none */
    WG_SOURCE_BOTH     /**< begin of sentence before it, end after it */
} wg_source_marks;

/** The token that the decoder reads first. */
typedef enum wg_decoder_start {
    WG_START_BOS = 0, /**< begin of sentence */
    WG_START_EOS,     /**< end of sentence: fairseq */
    WG_START_PAD      /**< padding: Hugging Face's Marian */
} wg_decoder_start;

/** The settings.  The struct owns the texts, which wg_settings_free frees.  Fields may be written
 * directly after all settings by name. */
typedef struct wg_settings {
    /* files */
    char *model;         /**< folder */
    char *train_sets[2]; /**< source, target; NULL: the built-in numbers */
    char *valid_sets[2]; /**< source, target; NULL: none, or held-out built-in numbers */
    char *train_set;     /**< of a language model */
    char *valid_set;     /**< of a language model; NULL: none */
    char *vocabs[2];     /**< second NULL: the first for both sides; both NULL: trained */
    char *pretrained;    /**< file of weights that a new run starts from; NULL: random numbers */
    int64_t numbers;     /**< pairs of the built-in corpus */
    /* text */
    int vocab_kind;       /**< wg_vocabulary_kind */
    int64_t vocab_size;   /**< maximum number of tokens */
    bool vocab_tokenized; /**< wg_vocabulary_options.tokenized */
    /** In tokens; longer training pairs are left out, texts of a language model cut; 0: no limit */
    int64_t max_length;
    bool join_lines;   /**< wg_span_options.joined */
    int source_marks;  /**< wg_source_marks */
    int decoder_start; /**< wg_decoder_start */
    /* model */
    int type;                  /**< wg_model_type */
    char *preset;              /**< "numbers", or a name for wg_transformer_find */
    wg_transformer_config net; /**< all but the sizes of the vocabularies */
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
    wg_amount after;        /**< length of the run */
    wg_amount disp_freq;    /**< between lines of progress */
    wg_amount save_freq;    /**< between checkpoints */
    wg_amount valid_freq;   /**< between validations */
    int64_t early_stopping; /**< validations without improvement; 0: never */
    int64_t keep;           /**< checkpoints kept for averaging */
    char *valid_metrics;    /**< "cross-entropy bleu": the first one selects the best */
    int bleu_tokenizer;     /**< wg_bleu_tokenizer */
    /* validation and translation */
    wg_search_options search; /**< beam, penalties, limits */
    int64_t max_input;        /**< wg_translator_options.max_tokens */
    /* generation */
    wg_sampling sampling; /**< how a language model draws a token */
    int64_t length;       /**< wg_generate_options.length */
    int64_t samples;      /**< wg_generate_options.samples */
    /* machine */
    uint64_t seed;        /**< of initial values, dropout, shuffling; of what is drawn */
    int64_t threads;      /**< 0: what the process may use */
    int64_t memory;       /**< of a training run, in bytes; 0: no limit */
    bool shard_optimizer; /**< on several ranks: wg_trainer_options.shard_optimizer */
    int wire;             /**< of gradients between ranks: 0: f32, 1: bf16 */
    int64_t bucket;       /**< wg_reduce_options.bucket_bytes */
    char *backend;        /**< names or files, separated by commas; NULL: the fastest */
    bool int8;            /**< products of a trained model in 8-bit integers */
    bool quiet;           /**< no lines of progress */
    bool overwrite;       /**< train from scratch in a folder that has a model */

    uint64_t given[WG_MAX_OPTIONS / 64]; /**< one bit per option: it was set by name */
} wg_settings;

/* ---- the table ------------------------------------------------------------------------------- */

/** The form of a value and the type of its field. */
typedef enum wg_option_kind {
    WG_OPTION_BOOL = 0, /**< true or false; bool */
    WG_OPTION_WHOLE,    /**< a whole number in [min, max]; int64_t */
    WG_OPTION_SEED,     /**< any 64 bits; uint64_t */
    WG_OPTION_REAL,     /**< a number in [min, max]; double */
    WG_OPTION_AMOUNT,   /**< 100u, 2e, 5000000t; wg_amount */
    WG_OPTION_BYTES,    /**< 4096, 512M, 2G; int64_t */
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
    WG_GROUP_BATCHES,    /**< how batches are made */
    WG_GROUP_OPTIMIZER,  /**< updates and learning rate */
    WG_GROUP_COURSE,     /**< length of the run, frequencies of its actions */
    WG_GROUP_VALIDATION, /**< metrics */
    WG_GROUP_SEARCH,     /**< translation */
    WG_GROUP_GENERATION, /**< drawing of texts from a language model */
    WG_GROUP_MACHINE,    /**< seed, threads, backend */
    WG_GROUP_COUNT       /**< number of groups */
} wg_option_group;

/** Which commands have an option, and whether it may change: bits of wg_option.use. */
enum {
    WG_FOR_TRAINING = 1,    /**< an option of training */
    WG_FOR_TRANSLATION = 2, /**< of translation */
    WG_FOR_SCORING = 4,     /**< of scoring given translations */
    WG_FOR_EVALUATION = 8,  /**< of evaluation: translation and metrics */
    WG_MAY_CHANGE = 16,     /**< may differ when a run is resumed */
    WG_FOR_IMPORT = 32,     /**< of the import of other programs' models */
    WG_FOR_GENERATION = 64  /**< of texts that a language model generates */
};

/** One option. */
typedef struct wg_option {
    const char *name;          /**< of the flag and the YAML key */
    const char *aliases;       /**< names in other systems, separated by '|'; NULL: none */
    char letter;               /**< short flag, or 0 */
    int kind;                  /**< wg_option_kind */
    int group;                 /**< wg_option_group */
    unsigned use;              /**< set of the bits above */
    size_t offset;             /**< of the field in wg_settings */
    double min;                /**< as wg_option_kind says */
    double max;                /**< as wg_option_kind says */
    const char *choices;       /**< separated by '|' */
    const char *default_value; /**< as a flag's argument; NULL: that of the network */
    const char *implied_value; /**< of a flag without argument; NULL: an argument is required */
    const char *unit;          /**< placeholder of the argument: "UPDATES" */
    const char *doc;           /**< one line of help */
    const char *needs;         /**< what it has no effect without: "--optimizer sgd"; or NULL */
    /** Whether s has what is needed; NULL with `needs`: that is not a setting */
    bool (*has_effect)(const wg_settings *s);
} wg_option;

/** The i-th option, ordered by group; NULL past the end. */
WG_API const wg_option *wg_option_at(size_t i);
/** The option with that name or alias, or NULL. */
WG_API const wg_option *wg_option_find(const char *name);
/** The closest name to a misspelt one, or NULL. */
WG_API const char *wg_option_nearest(const char *name);
/** The heading of a group: "Optimizer". */
WG_API const char *wg_option_group_title(int group);

/* ---- settings by name ------------------------------------------------------------------------ */

/** Sets the defaults and the preset "numbers".  (If training sets or the
 * type of a language model are given but no preset, the preset becomes "tiny".)  WG_ENOMEM; *s is
 * then empty. */
WG_API WG_MUST_USE wg_status wg_settings_init(wg_settings *s);
/** Frees the texts and clears the struct; NULL is allowed. */
WG_API void wg_settings_free(wg_settings *s);
/** Copies the settings with their texts.  WG_ENOMEM; *out is then empty. */
WG_API WG_MUST_USE wg_status wg_settings_copy(wg_settings *out, const wg_settings *s);

/** Sets an option by name or alias to a value in the form of a flag's argument (for a pair, both
 * texts if both are required); NULL removes texts.  On failure (WG_EINVAL, WG_ENOMEM) nothing
 * changes and the error reads "NAME: what, expected, got". */
WG_API WG_MUST_USE wg_status wg_settings_set(wg_settings *s, const char *name, const char *value,
                                             wg_error *error);
/** The same with n values: two for a pair, words for WG_OPTION_WORDS; n = 0 removes the texts. */
WG_API WG_MUST_USE wg_status wg_settings_assign(wg_settings *s, const wg_option *o,
                                                const char *const *values, size_t n,
                                                wg_error *error);
/** True if the option was set by name. */
WG_API bool wg_settings_given(const wg_settings *s, const wg_option *o);
/** True if the option has the same value in both. */
WG_API bool wg_settings_equal(const wg_settings *a, const wg_settings *b, const wg_option *o);
/** The value of o as written in YAML; the caller frees *text.  WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_settings_get(const wg_settings *s, const wg_option *o, char **text);

/** Overrides the settings of an existing model by those given by name in `over`.  WG_EINVAL if an
 * option differs that must not (wg_option.use without WG_MAY_CHANGE): the error names all of them,
 * and nothing changes.  Of a model that was imported and never trained since (its `pretrained` is
 * set), only the options of the import must not, and dropout may. */
WG_API WG_MUST_USE wg_status wg_settings_override(wg_settings *model, const wg_settings *over,
                                                  wg_error *error);

/** Checks that the settings are consistent.  WG_EINVAL: they are not; the error names the options
 * at fault. */
WG_API WG_MUST_USE wg_status wg_settings_check(const wg_settings *s, wg_error *error);
/** The maximum length of a sentence in tokens, without end of sentence, that fits into a batch and
 * into the table of learned positions. */
WG_API int64_t wg_settings_longest(const wg_settings *s);

/** Reads a YAML file: one mapping of option names to scalars, or to lists of scalars where several
 * values are expected.  Messages read "file:line: what, expected, got"; unknown and repeated keys
 * are errors (WG_EDATA), and so is a shared object as backend, since a file must not choose code to
 * run.  After an error nothing changes.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_settings_read_yaml(wg_settings *s, const char *path,
                                                   wg_error *error);
/** Writes all options with comments as YAML; equal settings give equal bytes.  A list of backends
 * with a shared object is written as the default.  WG_EIO, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_settings_write_yaml(const wg_settings *s, FILE *f);

#ifdef __cplusplus
}
#endif
#endif
