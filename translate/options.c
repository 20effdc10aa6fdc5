/* The table of options.  Names are Marian's where it has one; fairseq's and other spellings are
 * aliases. */
#include "wengert/translate/settings.h"

#include "graph/nearest.h"
#include "wengert/ops/linalg.h"
#include "wengert/text/vocabulary.h"

#include <string.h>

enum { /* kinds */
       BOOL = WG_OPTION_BOOL,
       WHOLE = WG_OPTION_WHOLE,
       SEED = WG_OPTION_SEED,
       REAL = WG_OPTION_REAL,
       AMOUNT = WG_OPTION_AMOUNT,
       BYTES = WG_OPTION_BYTES,
       CHOICE = WG_OPTION_CHOICE,
       WORDS = WG_OPTION_WORDS,
       TEXT = WG_OPTION_TEXT,
       PAIR = WG_OPTION_PAIR
};
enum { /* groups */
       FILES = WG_GROUP_FILES,
       WORDING = WG_GROUP_TEXT,
       MODEL = WG_GROUP_MODEL,
       BATCHES = WG_GROUP_BATCHES,
       OPTIM = WG_GROUP_OPTIMIZER,
       COURSE = WG_GROUP_COURSE,
       VALID = WG_GROUP_VALIDATION,
       SEARCH = WG_GROUP_SEARCH,
       GENERATE = WG_GROUP_GENERATION,
       MACHINE = WG_GROUP_MACHINE
};
enum { /* uses */
       TRAIN = WG_FOR_TRAINING,
       NET = WG_FOR_TRAINING | WG_FOR_IMPORT, /* what weights are made for */
       AGAIN = WG_FOR_TRAINING | WG_MAY_CHANGE,
       EVALUATE = AGAIN | WG_FOR_EVALUATION,
       SEARCHING = AGAIN | WG_FOR_EVALUATION | WG_FOR_TRANSLATION,
       ALL = AGAIN | WG_FOR_EVALUATION | WG_FOR_TRANSLATION | WG_FOR_SCORING,
       EVERY = ALL | WG_FOR_GENERATION,
       TRANSLATE = WG_FOR_TRANSLATION | WG_MAY_CHANGE,
       GENERATING = WG_FOR_GENERATION | WG_MAY_CHANGE,
       USE = TRANSLATE | WG_FOR_SCORING | WG_FOR_EVALUATION
};

/* The kind of an option, its group in the help, its uses, and its field of wg_settings. */
#define OPTION(kind_, group_, use_, field)                                                         \
    .kind = kind_, .group = group_, .use = use_, .offset = offsetof(wg_settings, field)

/* ---- which options have an effect beside the others ------------------------------------------ */

static bool with_built_in(const wg_settings *s)
{
    return !s->train_sets[0] && s->type == WG_TYPE_TRANSFORMER;
}

static bool for_translation(const wg_settings *s)
{
    return s->type == WG_TYPE_TRANSFORMER;
}

static bool for_language(const wg_settings *s)
{
    return s->type == WG_TYPE_LM;
}

static bool with_validation(const wg_settings *s)
{
    return s->type == WG_TYPE_LM ? s->valid_set != NULL : with_built_in(s) || s->valid_sets[0];
}

/* Vocabularies that are given are as they are. */
static bool with_building(const wg_settings *s)
{
    return !s->vocabs[0];
}

static bool with_building_pieces(const wg_settings *s)
{
    return with_building(s) &&
           (s->vocab_kind == WG_VOCABULARY_BPE || s->vocab_kind == WG_VOCABULARY_UNIGRAM);
}

static bool with_learned_positions(const wg_settings *s)
{
    return s->net.positions == WG_POSITIONS_LEARNED;
}

static bool with_smoothing(const wg_settings *s)
{
    return s->net.label_smoothing > 0;
}

static bool with_adam(const wg_settings *s)
{
    return s->optimizer != WG_OPTIMIZER_SGD;
}

static bool with_sgd(const wg_settings *s)
{
    return s->optimizer == WG_OPTIMIZER_SGD;
}

static bool with_an_end(const wg_settings *s)
{
    return s->schedule.kind == WG_SCHEDULE_COSINE || s->schedule.kind == WG_SCHEDULE_LINEAR;
}

/* What an option needs: in words, and as a function. */
#define BUILT_IN .needs = "the built-in corpus", .has_effect = with_built_in
#define TRANSLATOR .needs = "--type transformer", .has_effect = for_translation
#define LANGUAGE .needs = "--type lm", .has_effect = for_language
#define VALIDATION .needs = "a validation set", .has_effect = with_validation
#define BUILDS .needs = "a vocabulary to build", .has_effect = with_building
#define BUILDS_PIECES                                                                              \
    .needs = "a vocabulary of bpe or unigram to build", .has_effect = with_building_pieces
#define LEARNED .needs = "--positions learned", .has_effect = with_learned_positions
#define SMOOTHING .needs = "--label-smoothing", .has_effect = with_smoothing
#define ADAM .needs = "--optimizer adam or adamw", .has_effect = with_adam
#define SGD .needs = "--optimizer sgd", .has_effect = with_sgd
#define RANKS .needs = "--distributed"
#define FALLING .needs = "--lr-schedule cosine or linear", .has_effect = with_an_end

/* clang-format off */
static const wg_option table[] = {
    /* Each row: its names; what kind of value it has, who uses it, and where it is kept; its help.
     * Paths may change between runs, since data is recognised by its fingerprint. */
    {"model", .aliases = "save-dir", .letter = 'm',
     OPTION(TEXT, FILES, EVERY | WG_FOR_IMPORT, model), .default_value = "", .unit = "FOLDER",
     .doc = "folder of the model: settings, vocabularies, weights, progress, metrics"},
    {"train-sets", .letter = 't',
     OPTION(PAIR, FILES, AGAIN, train_sets),
     .min = 2, .max = 2, .default_value = "", .unit = "SOURCE TARGET",
     .doc = "training texts, one sentence per line, plain or .gz (default: built-in number "
            "phrases)"},
    {"valid-sets",
     OPTION(PAIR, FILES, AGAIN, valid_sets),
     .min = 2, .max = 2, .default_value = "", .unit = "SOURCE TARGET",
     .doc = "validation texts (default with the built-in corpus: 1000 pairs of it that training "
            "does not see)"},
    {"train-set",
     OPTION(TEXT, FILES, AGAIN, train_set), .default_value = "", .unit = "FILE",
     .doc = "training text of a language model, one text per line, plain or .gz"},
    {"valid-set",
     OPTION(TEXT, FILES, AGAIN, valid_set), .default_value = "", .unit = "FILE",
     .doc = "validation text of a language model"},
    {"vocabs", .aliases = "vocab", .letter = 'v',
     OPTION(PAIR, FILES, AGAIN | WG_FOR_IMPORT, vocabs),
     .min = 1, .max = 2, .default_value = "", .unit = "SOURCE [TARGET]",
     .doc = "use these vocabularies (one: both sides) instead of building them from the training "
            "sets"},
    {"pretrained-model", .aliases = "finetune-from-model",
     OPTION(TEXT, FILES, AGAIN, pretrained),
     .default_value = "", .unit = "FILE",
     .doc = "start a new run from these weights instead of random ones; they need the same network "
            "and vocabulary (--vocabs)"},
    {"numbers",
     OPTION(WHOLE, FILES, TRAIN, numbers),
     .min = 1, .max = 900000, .default_value = "20000", .unit = "N",
     BUILT_IN,
     .doc = "number of pairs in the built-in corpus"},

    {"vocab-kind", .aliases = "vocab-type",
     OPTION(CHOICE, WORDING, TRAIN, vocab_kind),
     .choices = "bpe|unigram|words|chars", .default_value = "bpe", .unit = "KIND",
     BUILDS,
     .doc = "kind of token: SentencePiece pieces (bpe or unigram), whole words, or characters"},
    {"vocab-size", .aliases = "dim-vocabs",
     OPTION(WHOLE, WORDING, TRAIN, vocab_size),
     .min = 5, .max = 10000000, .default_value = "8000", .unit = "TOKENS",
     BUILDS,
     .doc = "maximum size of a vocabulary"},
    {"vocab-tokenized",
     OPTION(BOOL, WORDING, TRAIN, vocab_tokenized),
     .default_value = "false", .implied_value = "true",
     BUILDS_PIECES,
     .doc = "for tokenised text: bpe and unigram pieces end only at blanks and mark ends of "
            "words, as in subword-nmt"},
    {"max-length", .aliases = "max-source-positions|max-target-positions",
     OPTION(WHOLE, WORDING, TRAIN, max_length),
     .max = 1e6, .default_value = "200", .unit = "TOKENS",
     .doc = "skip training pairs with a side longer than this, and cut texts of a language model "
            "there; 0: no limit"},
    {"join-lines",
     OPTION(BOOL, WORDING, TRAIN, join_lines), .default_value = "false", .implied_value = "true",
     LANGUAGE,
     .doc = "language model: lines are one text, which goes on from each line to the next"},
    {"source-marks",
     OPTION(CHOICE, WORDING, NET, source_marks),
     .choices = "end|none|both", .default_value = "end", .unit = "WHICH",
     TRANSLATOR,
     .doc = "tokens around each source sentence: its end, none, or begin and end"},
    {"decoder-start",
     OPTION(CHOICE, WORDING, NET, decoder_start),
     .choices = "bos|eos|pad", .default_value = "bos", .unit = "TOKEN",
     TRANSLATOR,
     .doc = "token that the decoder reads first: begin of sentence, end of sentence (fairseq) or "
            "padding (Marian)"},

    {"type",
     OPTION(CHOICE, MODEL, TRAIN, type),
     .choices = "transformer|lm", .default_value = "transformer", .unit = "TYPE",
     .doc = "a Transformer that translates, or a language model: only its decoder, trained on "
            "--train-set"},
    {"preset", .aliases = "arch|task", .letter = 'a',
     OPTION(WORDS, MODEL, TRAIN, preset),
     .min = 1, .max = 1, .choices = "numbers|tiny|small|base|big", .default_value = "numbers",
     .unit = "NAME",
     .doc = "model sizes and training recipe, overridden by all other options (tiny with "
            "training texts)"},
    {"d-model", .aliases = "dim-emb|encoder-embed-dim|decoder-embed-dim",
     OPTION(WHOLE, MODEL, NET, net.d_model), .min = 1, .max = 1e6, .unit = "N",
     .doc = "width of the model: features per position"},
    {"d-ff", .aliases = "transformer-dim-ffn|encoder-ffn-embed-dim|decoder-ffn-embed-dim",
     OPTION(WHOLE, MODEL, NET, net.d_ff), .min = 1, .max = 1e6, .unit = "N",
     .doc = "inner width of the feed-forward layers"},
    {"heads", .aliases = "transformer-heads|encoder-attention-heads|decoder-attention-heads",
     OPTION(WHOLE, MODEL, NET, net.heads), .min = 1, .max = 1e4, .unit = "N",
     .doc = "number of attention heads; must divide d-model unless d-k and d-v are given"},
    {"d-k",
     OPTION(WHOLE, MODEL, NET, net.d_k), .max = 1e6, .unit = "N",
     .doc = "width of the queries and keys of each head; 0: d-model / heads"},
    {"d-v",
     OPTION(WHOLE, MODEL, NET, net.d_v), .max = 1e6, .unit = "N",
     .doc = "width of the values of each head; 0: d-model / heads"},
    {"encoder-layers", .aliases = "enc-depth",
     OPTION(WHOLE, MODEL, NET, net.encoder_layers), .max = 1e4, .unit = "N",
     .doc = "number of encoder layers; a language model has none"},
    {"decoder-layers", .aliases = "dec-depth",
     OPTION(WHOLE, MODEL, NET, net.decoder_layers), .min = 1, .max = 1e4, .unit = "N",
     .doc = "number of decoder layers"},
    {"positions",
     OPTION(CHOICE, MODEL, NET, net.positions),
     .min = WG_POSITIONS_INTERLEAVED,
     .choices = "interleaved|halves|learned|rotary|paper-halves", .unit = "KIND",
     .doc = "position encoding: sines and cosines interleaved (the paper) or in halves "
            "(tensor2tensor, fairseq), learned, rotary, the paper's in halves (Hugging Face)"},
    {"max-positions",
     OPTION(WHOLE, MODEL, NET, net.max_positions), .min = 1, .max = 1e6, .unit = "N",
     LEARNED,
     .doc = "maximum number of learned positions"},
    {"first-position",
     OPTION(WHOLE, MODEL, NET, net.first_position), .max = 1e6, .unit = "N",
     .doc = "index of the first position"},
    {"norm", .aliases = "transformer-norm",
     OPTION(CHOICE, MODEL, NET, net.norm),
     .min = WG_LAYERNORM, .choices = "layer|rms", .unit = "KIND",
     .doc = "layer normalisation, or root mean square normalisation"},
    {"pre-norm", .aliases = "encoder-normalize-before|decoder-normalize-before",
     OPTION(BOOL, MODEL, NET, net.pre_norm), .implied_value = "true",
     .doc = "normalise before each sublayer, x + f(norm(x)), instead of after it, norm(x + f(x))"},
    {"final-norm",
     OPTION(CHOICE, MODEL, NET, net.final_norm),
     .min = WG_FINAL_NORM_PRE, .choices = "pre-norm|always|never", .unit = "WHEN",
     .doc = "a norm at the end of each stack: with --pre-norm only, always (torch.nn.Transformer), "
            "never"},
    {"norm-eps",
     OPTION(REAL, MODEL, NET, net.norm_eps), .max = 1, .unit = "EPS",
     .doc = "added to the variance or mean square"},
    {"attention",
     OPTION(CHOICE, MODEL, NET, net.attention),
     .min = WG_ATTENTION_DOT, .choices = "dot|additive|unscaled", .unit = "KIND",
     .doc = "attention score: scaled dot product, additive, or dot product without scale"},
    {"attention-window",
     OPTION(WHOLE, MODEL, NET, net.attention_window), .max = 1e6, .unit = "N",
     .doc = "restrict self-attention to N positions on each side (the decoder: N before); 0: all"},
    {"attention-bias",
     OPTION(BOOL, MODEL, NET, net.attention_bias), .implied_value = "true",
     .doc = "add biases to the attention projections"},
    {"fused-projections",
     OPTION(BOOL, MODEL, NET, net.fused_projections), .implied_value = "true",
     .doc = "compute the queries, keys and values of self-attention with one matrix"},
    {"activation", .aliases = "activation-fn|transformer-ffn-activation",
     OPTION(CHOICE, MODEL, NET, net.activation),
     .min = WG_ACTIVATION_RELU, .choices = "relu|tanh|sigmoid|gelu|gelu-tanh|silu", .unit = "NAME",
     .doc = "activation of the feed-forward layers"},
    {"gated",
     OPTION(BOOL, MODEL, NET, net.gated), .implied_value = "true",
     .doc = "gated feed-forward layers, W2 (act(W1 x) * W3 x)"},
    {"tying",
     OPTION(CHOICE, MODEL, NET, net.tying),
     .min = WG_TIED_ALL, .choices = "all|output|none", .unit = "WHICH",
     .doc = "weight sharing: both embeddings and the output, target embedding and output, none"},
    {"unscaled-embeddings", .aliases = "no-scale-embedding",
     OPTION(BOOL, MODEL, NET, net.unscaled_embeddings), .implied_value = "true",
     .doc = "do not multiply embeddings by the square root of d-model"},
    {"output-bias",
     OPTION(BOOL, MODEL, NET, net.output_bias), .implied_value = "true",
     .doc = "add a bias to the logits"},
    {"dropout", .aliases = "transformer-dropout",
     OPTION(REAL, MODEL, NET, net.dropout), .max = 0.99, .unit = "P",
     .doc = "dropout probability after each sublayer and on the embeddings"},
    {"attention-dropout", .aliases = "transformer-dropout-attention",
     OPTION(REAL, MODEL, NET, net.attention_dropout), .max = 0.99, .unit = "P",
     .doc = "dropout probability of the attention weights"},
    {"activation-dropout", .aliases = "transformer-dropout-ffn|relu-dropout",
     OPTION(REAL, MODEL, NET, net.activation_dropout), .max = 0.99, .unit = "P",
     .doc = "dropout probability inside the feed-forward layers"},
    {"label-smoothing",
     OPTION(REAL, MODEL, TRAIN, net.label_smoothing), .max = 0.99, .unit = "EPS",
     .doc = "probability mass taken from the correct token"},
    {"smoothing-spread",
     OPTION(CHOICE, MODEL, TRAIN, net.smoothing_spread),
     .choices = "uniform|off-target", .unit = "HOW",
     SMOOTHING,
     .doc = "spread the mass over all tokens, or over all but the correct one"},
    {"dtype", .aliases = "precision",
     OPTION(CHOICE, MODEL, NET, net.dtype), .min = WG_F32, .choices = "f32|f64", .unit = "TYPE",
     .doc = "floating-point type of the model"},

    {"mini-batch-words", .aliases = "max-tokens",
     OPTION(WHOLE, BATCHES, TRAIN, batch_tokens),
     .min = 1, .max = 1e9, .default_value = "4096", .unit = "TOKENS",
     .doc = "maximum number of tokens per batch on each side, padding included"},
    {"mini-batch", .aliases = "batch-size|max-sentences",
     OPTION(WHOLE, BATCHES, TRAIN, batch_sentences),
     .max = 1e9, .default_value = "0", .unit = "SENTENCES",
     .doc = "maximum number of sentences per batch; 0: no limit"},
    {"length-multiple", .aliases = "required-seq-len-multiple",
     OPTION(WHOLE, BATCHES, TRAIN, length_multiple),
     .min = 1, .max = 1e4, .default_value = "2", .unit = "N",
     .doc = "pad lengths to multiples of N, so that fewer shapes occur"},
    {"optimizer-delay", .aliases = "update-freq",
     OPTION(WHOLE, BATCHES, TRAIN, delay),
     .min = 1, .max = 1e6, .default_value = "1", .unit = "BATCHES",
     .doc = "number of batches per update"},

    {"optimizer", .letter = 'o',
     OPTION(CHOICE, OPTIM, TRAIN, optimizer),
     .min = WG_OPTIMIZER_ADAM, .choices = "adam|adamw|sgd", .default_value = "adam",
     .unit = "NAME",
     .doc = "optimizer"},
    {"adam-beta1",
     OPTION(REAL, OPTIM, TRAIN, beta1), .max = 0.999999, .default_value = "0.9", .unit = "BETA",
     ADAM,
     .doc = "decay rate of the first moment"},
    {"adam-beta2",
     OPTION(REAL, OPTIM, TRAIN, beta2),
     .max = 0.999999999, .default_value = "0.98", .unit = "BETA",
     ADAM,
     .doc = "decay rate of the second moment"},
    {"adam-eps",
     OPTION(REAL, OPTIM, TRAIN, eps),
     .min = 1e-30, .max = 1, .default_value = "1e-09", .unit = "EPS",
     ADAM,
     .doc = "added to the square root of the second moment"},
    {"weight-decay",
     OPTION(REAL, OPTIM, TRAIN, weight_decay), .max = 1e3, .default_value = "0", .unit = "RATE",
     .doc = "weight decay of adamw; an L2 penalty with the other optimizers"},
    {"momentum",
     OPTION(REAL, OPTIM, TRAIN, momentum), .max = 0.999999, .default_value = "0", .unit = "SHARE",
     SGD,
     .doc = "momentum of sgd"},
    {"lr-schedule", .aliases = "lr-scheduler",
     OPTION(CHOICE, OPTIM, TRAIN, schedule.kind),
     .min = WG_SCHEDULE_NOAM, .choices = "noam|inverse-sqrt|cosine|linear|constant",
     .default_value = "noam", .unit = "KIND",
     .doc = "learning rate schedule"},
    {"learn-rate", .aliases = "lr|learning-rate", .letter = 'l',
     OPTION(REAL, OPTIM, TRAIN, schedule.rate), .max = 1e30, .default_value = "1", .unit = "RATE",
     .doc = "peak learning rate; with noam, a factor"},
    {"lr-warmup", .aliases = "warmup-updates|warmup",
     OPTION(WHOLE, OPTIM, TRAIN, schedule.warmup),
     .max = 1e15, .default_value = "4000", .unit = "UPDATES",
     .doc = "length of the warm-up"},
    {"lr-warmup-start-rate", .aliases = "warmup-init-lr",
     OPTION(REAL, OPTIM, TRAIN, schedule.start), .max = 1e30, .default_value = "0", .unit = "RATE",
     .doc = "learning rate at the start of the warm-up"},
    {"lr-floor", .aliases = "min-lr",
     OPTION(REAL, OPTIM, TRAIN, schedule.floor), .max = 1e30, .default_value = "0", .unit = "RATE",
     FALLING,
     .doc = "final learning rate of cosine and linear"},
    {"lr-updates", .aliases = "total-num-update",
     OPTION(WHOLE, OPTIM, TRAIN, schedule.updates),
     .max = 1e15, .default_value = "0", .unit = "UPDATES",
     FALLING,
     .doc = "update at which cosine and linear reach --lr-floor; 0: at the limit set by --after"},
    {"clip-norm",
     OPTION(REAL, OPTIM, TRAIN, clip_norm), .max = 1e30, .default_value = "0", .unit = "NORM",
     .doc = "clip gradients to this global norm; 0: no clipping"},
    {"exponential-smoothing",
     OPTION(REAL, OPTIM, TRAIN, smoothing),
     .max = 1, .default_value = "0", .implied_value = "0.0001", .unit = "SHARE",
     .doc = "weight of each update in the moving average of the parameters; 0: no average"},

    {"after", .aliases = "max-update",
     OPTION(AMOUNT, COURSE, AGAIN, after), .default_value = "100000u", .unit = "AMOUNT",
     .doc = "stop after AMOUNT: 10e epochs, 8000u updates, 5000000t target tokens; 0: never"},
    {"disp-freq", .aliases = "log-interval",
     OPTION(AMOUNT, COURSE, AGAIN, disp_freq), .default_value = "100u", .unit = "AMOUNT",
     .doc = "print progress every AMOUNT"},
    {"save-freq", .aliases = "save-interval-updates",
     OPTION(AMOUNT, COURSE, AGAIN, save_freq), .default_value = "1e", .unit = "AMOUNT",
     .doc = "save a checkpoint every AMOUNT; 0: only at the end"},
    {"keep", .aliases = "keep-last-epochs|keep-interval-updates",
     OPTION(WHOLE, COURSE, AGAIN, keep), .max = 1e6, .default_value = "0", .unit = "N",
     .doc = "number of checkpoints kept for averaging, in addition to the last and the best"},
    {"overwrite",
     OPTION(BOOL, COURSE, AGAIN, overwrite), .default_value = "false", .implied_value = "true",
     .doc = "train from scratch, even if the folder has a model"},

    {"valid-freq", .aliases = "validate-interval-updates",
     OPTION(AMOUNT, VALID, AGAIN, valid_freq), .default_value = "1e", .unit = "AMOUNT",
     VALIDATION,
     .doc = "validate every AMOUNT; 0: never"},
    {"valid-metrics",
     OPTION(WORDS, VALID, AGAIN, valid_metrics),
     .min = 1, .max = 5, .choices = "cross-entropy|perplexity|accuracy|bleu|chrf",
     .default_value = "cross-entropy", .unit = "METRIC...",
     VALIDATION,
     .doc = "cross-entropy, perplexity, accuracy, bleu, chrf; the first one selects the best "
            "model"},
    {"early-stopping", .aliases = "patience",
     OPTION(WHOLE, VALID, AGAIN, early_stopping), .max = 1e9, .default_value = "0", .unit = "N",
     VALIDATION,
     .doc = "stop after N validations without improvement; 0: never"},
    {"bleu-tokenizer", .aliases = "tokenize",
     OPTION(CHOICE, VALID, EVALUATE, bleu_tokenizer),
     .choices = "13a|none|intl|char", .default_value = "13a", .unit = "NAME",
     .doc = "tokenizer of BLEU, as in sacreBLEU"},

    {"beam-size", .aliases = "beam", .letter = 'b',
     OPTION(WHOLE, SEARCH, SEARCHING, search.beam),
     .min = 1, .max = 1000, .default_value = "4", .unit = "N",
     .doc = "beam size: hypotheses kept for each sentence; 1: greedy"},
    {"normalize", .aliases = "lenpen", .letter = 'n',
     OPTION(REAL, SEARCH, ALL, search.alpha),
     .max = 100, .default_value = "0.6", .implied_value = "1", .unit = "ALPHA",
     .doc = "exponent of the length penalty (1 if no number follows; 0: no penalty)"},
    {"length-penalty",
     OPTION(CHOICE, SEARCH, ALL, search.penalty),
     .min = WG_PENALTY_LENGTH, .choices = "length|gnmt", .default_value = "gnmt", .unit = "KIND",
     .doc = "divide scores by length ^ ALPHA, or by ((5 + length) / 6) ^ ALPHA"},
    {"max-input-length",
     OPTION(WHOLE, SEARCH, USE, max_input),
     .max = 1e6, .default_value = "1000", .unit = "TOKENS",
     .doc = "cut longer lines, with a warning; 0: no limit.  The memory for a line grows with the "
            "square of its length"},
    {"max-output-length",
     OPTION(WHOLE, SEARCH, SEARCHING, search.max_length),
     .max = 1e6, .default_value = "0", .unit = "TOKENS",
     .doc = "maximum length of a translation, also where --max-length-factor and "
            "--max-length-extra allow more; 0: theirs alone"},
    {"max-length-factor", .aliases = "max-len-a",
     OPTION(REAL, SEARCH, SEARCHING, search.max_factor),
     .max = 1e6, .default_value = "1", .unit = "A",
     .doc = "maximum length of a translation: A * source tokens + B"},
    {"max-length-extra", .aliases = "max-len-b",
     OPTION(WHOLE, SEARCH, SEARCHING, search.max_extra),
     .max = 1e6, .default_value = "50", .unit = "B",
     .doc = "B of --max-length-factor"},
    {"n-best", .aliases = "nbest",
     OPTION(WHOLE, SEARCH, TRANSLATE, search.n_best),
     .max = 1000, .default_value = "1", .implied_value = "0", .unit = "N",
     .doc = "print the N best translations (without N: all in the beam), as: id ||| text ||| "
            "score"},
    {"search-words",
     OPTION(WHOLE, SEARCH, SEARCHING, search.batch_tokens),
     .max = 1e9, .default_value = "0", .unit = "TOKENS",
     .doc = "tokens decoded together, counted over all beams; 0: chosen automatically"},

    {"temperature",
     OPTION(REAL, GENERATE, GENERATING, sampling.temperature),
     .max = 1e6, .default_value = "1", .unit = "T",
     .doc = "divide the logits by T: below 1, probable tokens become more probable; 0: always the "
            "most probable token"},
    {"top-k",
     OPTION(WHOLE, GENERATE, GENERATING, sampling.top_k),
     .max = 1e9, .default_value = "0", .unit = "K",
     .doc = "draw from the K most probable tokens only; 0: from all"},
    {"top-p",
     OPTION(REAL, GENERATE, GENERATING, sampling.top_p),
     .min = 1e-9, .max = 1, .default_value = "1", .unit = "P",
     .doc = "draw from the nucleus only, the fewest tokens that have probability P together"},
    {"length",
     OPTION(WHOLE, GENERATE, GENERATING, length),
     .min = 1, .max = 1e6, .default_value = "100", .unit = "TOKENS",
     .doc = "maximum length of what is generated"},
    {"samples",
     OPTION(WHOLE, GENERATE, GENERATING, samples),
     .min = 1, .max = 10000, .default_value = "1", .unit = "N",
     .doc = "number of texts"},

    {"seed", .letter = 's',
     OPTION(SEED, MACHINE, TRAIN | WG_FOR_GENERATION, seed), .default_value = "1", .unit = "N",
     .doc = "random seed"},
    {"threads", .aliases = "cpu-threads",
     OPTION(WHOLE, MACHINE, EVERY, threads), .max = 1024, .default_value = "0", .unit = "N",
     .doc = "number of threads; 0: all"},
    {"memory",
     OPTION(BYTES, MACHINE, AGAIN, memory), .default_value = "0", .unit = "BYTES",
     .doc = "limit for the whole process, 512M or 2G: values of a training step that do not fit "
            "are dropped and computed again; 0: no limit"},
    {"shard-optimizer",
     OPTION(BOOL, MACHINE, AGAIN, shard_optimizer),
     .default_value = "false", .implied_value = "true",
     RANKS,
     .doc = "with --distributed: each process keeps the optimizer's moments of its part of the "
            "parameters only"},
    {"bucket-size",
     OPTION(BYTES, MACHINE, AGAIN, bucket), .default_value = "8M", .unit = "BYTES",
     RANKS,
     .doc = "with --distributed: gradients are summed in parts of about this size"},
    {"wire",
     OPTION(CHOICE, MACHINE, AGAIN, wire),
     .choices = "f32|bf16", .default_value = "f32", .unit = "DTYPE",
     RANKS,
     .doc = "with --distributed: numbers in which gradients travel; bf16 halves the bytes, and "
            "rounds"},
    {"backend",
     OPTION(TEXT, MACHINE, EVERY, backend), .default_value = "", .unit = "NAMES",
     .doc = "backends or shared objects, comma-separated, in order of preference"},
    {"int8",
     OPTION(BOOL, MACHINE, USE | WG_FOR_GENERATION, int8),
     .default_value = "false", .implied_value = "true",
     .doc = "multiply in 8-bit integers with rounded weights: faster on CPUs with AVX-512 VNNI"},
    {"quiet", .letter = 'q',
     OPTION(BOOL, MACHINE, EVERY, quiet), .default_value = "false", .implied_value = "true",
     .doc = "print only errors"},
};
/* clang-format on */
enum { COUNT = WG_COUNT(table) };
_Static_assert(COUNT <= (int)WG_MAX_OPTIONS, "each option has a bit in wg_settings.given");

const wg_option *wg_option_at(size_t i)
{
    return i < COUNT ? &table[i] : NULL;
}

/* Is `name` one of `names`, which are separated by '|'? */
static bool listed(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; at && *at; at += strcspn(at, "|"), at += *at == '|')
        if (strcspn(at, "|") == n && memcmp(at, name, n) == 0)
            return true;
    return false;
}

const wg_option *wg_option_find(const char *name)
{
    if (!name || !*name)
        return NULL;
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0 || listed(table[i].aliases, name))
            return &table[i];
    return NULL;
}

const char *wg_option_nearest(const char *name)
{
    const char *nearest = NULL;
    size_t min = SIZE_MAX;
    for (size_t i = 0; name && i < COUNT; i++) {
        size_t distance = wgi_name_distance(name, table[i].name);
        if (distance < min) {
            min = distance;
            nearest = table[i].name;
        }
    }
    return nearest;
}

const char *wg_option_group_title(int group)
{
    static const char *const titles[WG_GROUP_COUNT] = {
        [WG_GROUP_FILES] = "Files",           [WG_GROUP_TEXT] = "Text",
        [WG_GROUP_MODEL] = "Model",           [WG_GROUP_BATCHES] = "Batches",
        [WG_GROUP_OPTIMIZER] = "Optimizer",   [WG_GROUP_COURSE] = "Training run",
        [WG_GROUP_VALIDATION] = "Validation", [WG_GROUP_SEARCH] = "Translation",
        [WG_GROUP_GENERATION] = "Generation", [WG_GROUP_MACHINE] = "Machine",
    };
    return group >= 0 && group < WG_GROUP_COUNT ? titles[group] : NULL;
}
