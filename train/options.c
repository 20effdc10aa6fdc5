/* The table of options.  Names are Marian's where it has one; fairseq's and other spellings are
 * aliases. */
#include "wengert/train/settings.h"

#include "graph/nearest.h"
#include "wengert/ops/linalg.h"

#include <string.h>

enum { /* kinds */
       BOOL = WG_OPTION_BOOL,
       WHOLE = WG_OPTION_WHOLE,
       SEED = WG_OPTION_SEED,
       REAL = WG_OPTION_REAL,
       AMOUNT = WG_OPTION_AMOUNT,
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
       MACHINE = WG_GROUP_MACHINE
};
enum { /* uses */
       TRAIN = WG_FOR_TRAINING,
       AGAIN = WG_FOR_TRAINING | WG_MAY_CHANGE,
       EVALUATE = AGAIN | WG_FOR_EVALUATION,
       SEARCHING = AGAIN | WG_FOR_EVALUATION | WG_FOR_TRANSLATION,
       ALL = AGAIN | WG_FOR_EVALUATION | WG_FOR_TRANSLATION | WG_FOR_SCORING,
       TRANSLATE = WG_FOR_TRANSLATION | WG_MAY_CHANGE,
       USE = TRANSLATE | WG_FOR_SCORING | WG_FOR_EVALUATION
};

#define AT(field) offsetof(wg_settings, field)

/* clang-format off */
static const wg_option table[] = {
    /* Paths may change between runs, since the data is known again by its fingerprint.
     * name, aliases, letter, kind, group, use, offset, least, most, choices, usual, bare, unit,
     * doc */
    {"model", "save-dir", 'm', TEXT, FILES, ALL, AT(model), 0, 0, 0, "", 0, "FOLDER",
     "folder of the model: settings, vocabularies, weights, progress, metrics"},
    {"train-sets", 0, 't', PAIR, FILES, AGAIN, AT(train_sets), 2, 2, 0, "", 0, "SOURCE TARGET",
     "training texts, one sentence per line, plain or .gz (default: built-in number phrases)"},
    {"valid-sets", 0, 0, PAIR, FILES, AGAIN, AT(valid_sets), 2, 2, 0, "", 0, "SOURCE TARGET",
     "validation texts"},
    {"vocabs", "vocab", 'v', PAIR, FILES, AGAIN, AT(vocabs), 1, 2, 0, "", 0, "SOURCE [TARGET]",
     "use these vocabularies (one: both sides) instead of building them from the training sets"},
    {"numbers", 0, 0, WHOLE, FILES, TRAIN, AT(numbers), 1, 900000, 0, "20000", 0, "N",
     "number of pairs in the built-in corpus"},

    {"vocab-kind", "vocab-type", 0, CHOICE, WORDING, TRAIN, AT(vocab_kind), 0, 0, "bpe|unigram|words|chars", "bpe", 0, "KIND",
     "kind of token: SentencePiece pieces (bpe or unigram), whole words, or characters"},
    {"vocab-size", "dim-vocabs", 0, WHOLE, WORDING, TRAIN, AT(vocab_size), 5, 10000000, 0, "8000", 0, "TOKENS",
     "maximum size of a vocabulary"},
    {"vocab-tokenized", 0, 0, BOOL, WORDING, TRAIN, AT(vocab_tokenized), 0, 0, 0, "false", "true", 0,
     "for tokenised text: bpe and unigram pieces end only at blanks and mark ends of words, as in "
     "subword-nmt"},
    {"max-length", "max-source-positions|max-target-positions", 0, WHOLE, WORDING, TRAIN, AT(max_length), 0, 1e6, 0, "200", 0, "TOKENS",
     "skip training pairs with a side longer than this; 0: no limit"},

    {"preset", "arch|task", 'a', WORDS, MODEL, TRAIN, AT(preset), 1, 1, "numbers|tiny|small|base|big", "numbers", 0, "NAME",
     "model sizes and training recipe, overridden by all other options (tiny with --train-sets)"},
    {"d-model", "dim-emb|encoder-embed-dim|decoder-embed-dim", 0, WHOLE, MODEL, TRAIN, AT(net.d_model), 1, 1e6, 0, 0, 0, "N",
     "width of the model: features per position"},
    {"d-ff", "transformer-dim-ffn|encoder-ffn-embed-dim|decoder-ffn-embed-dim", 0, WHOLE, MODEL, TRAIN, AT(net.d_ff), 1, 1e6, 0, 0, 0, "N",
     "inner width of the feed-forward layers"},
    {"heads", "transformer-heads|encoder-attention-heads|decoder-attention-heads", 0, WHOLE, MODEL, TRAIN, AT(net.heads), 1, 1e4, 0, 0, 0, "N",
     "number of attention heads; must divide d-model unless d-k and d-v are given"},
    {"d-k", 0, 0, WHOLE, MODEL, TRAIN, AT(net.d_k), 0, 1e6, 0, 0, 0, "N",
     "width of the queries and keys of each head; 0: d-model / heads"},
    {"d-v", 0, 0, WHOLE, MODEL, TRAIN, AT(net.d_v), 0, 1e6, 0, 0, 0, "N",
     "width of the values of each head; 0: d-model / heads"},
    {"encoder-layers", "enc-depth", 0, WHOLE, MODEL, TRAIN, AT(net.encoder_layers), 1, 1e4, 0, 0, 0, "N",
     "number of encoder layers"},
    {"decoder-layers", "dec-depth", 0, WHOLE, MODEL, TRAIN, AT(net.decoder_layers), 1, 1e4, 0, 0, 0, "N",
     "number of decoder layers"},
    {"positions", 0, 0, CHOICE, MODEL, TRAIN, AT(net.positions), WG_POSITIONS_INTERLEAVED, 0, "interleaved|halves|learned|rotary", 0, 0, "KIND",
     "position encoding: sines and cosines interleaved (the paper) or in halves, learned, rotary"},
    {"max-positions", 0, 0, WHOLE, MODEL, TRAIN, AT(net.max_positions), 1, 1e6, 0, 0, 0, "N",
     "maximum number of learned positions"},
    {"first-position", 0, 0, WHOLE, MODEL, TRAIN, AT(net.first_position), 0, 1e6, 0, 0, 0, "N",
     "index of the first position"},
    {"norm", "transformer-norm", 0, CHOICE, MODEL, TRAIN, AT(net.norm), WG_LAYERNORM, 0, "layer|rms", 0, 0, "KIND",
     "layer normalisation, or root mean square normalisation"},
    {"pre-norm", "encoder-normalize-before|decoder-normalize-before", 0, BOOL, MODEL, TRAIN, AT(net.pre_norm), 0, 0, 0, 0, "true", 0,
     "normalise before each sublayer, x + f(norm(x)), instead of after it, norm(x + f(x))"},
    {"norm-eps", 0, 0, REAL, MODEL, TRAIN, AT(net.norm_eps), 0, 1, 0, 0, 0, "EPS",
     "added to the variance or mean square"},
    {"attention", 0, 0, CHOICE, MODEL, TRAIN, AT(net.attention), WG_ATTENTION_DOT, 0, "dot|additive", 0, 0, "KIND",
     "attention score: scaled dot product, or additive"},
    {"attention-bias", 0, 0, BOOL, MODEL, TRAIN, AT(net.attention_bias), 0, 0, 0, 0, "true", 0,
     "add biases to the attention projections"},
    {"fused-projections", 0, 0, BOOL, MODEL, TRAIN, AT(net.fused_projections), 0, 0, 0, 0, "true", 0,
     "compute the queries, keys and values of self-attention with one matrix"},
    {"activation", "activation-fn|transformer-ffn-activation", 0, CHOICE, MODEL, TRAIN, AT(net.activation), WG_ACTIVATION_RELU, 0, "relu|tanh|sigmoid|gelu|gelu-tanh|silu", 0, 0, "NAME",
     "activation of the feed-forward layers"},
    {"gated", 0, 0, BOOL, MODEL, TRAIN, AT(net.gated), 0, 0, 0, 0, "true", 0,
     "gated feed-forward layers, W2 (act(W1 x) * W3 x)"},
    {"tying", 0, 0, CHOICE, MODEL, TRAIN, AT(net.tying), WG_TIED_ALL, 0, "all|output|none", 0, 0, "WHICH",
     "weight sharing: both embeddings and the output, target embedding and output, none"},
    {"output-bias", 0, 0, BOOL, MODEL, TRAIN, AT(net.output_bias), 0, 0, 0, 0, "true", 0,
     "add a bias to the logits"},
    {"dropout", "transformer-dropout", 0, REAL, MODEL, TRAIN, AT(net.dropout), 0, 0.99, 0, 0, 0, "P",
     "dropout probability after each sublayer and on the embeddings"},
    {"attention-dropout", "transformer-dropout-attention", 0, REAL, MODEL, TRAIN, AT(net.attention_dropout), 0, 0.99, 0, 0, 0, "P",
     "dropout probability of the attention weights"},
    {"activation-dropout", "transformer-dropout-ffn|relu-dropout", 0, REAL, MODEL, TRAIN, AT(net.activation_dropout), 0, 0.99, 0, 0, 0, "P",
     "dropout probability inside the feed-forward layers"},
    {"label-smoothing", 0, 0, REAL, MODEL, TRAIN, AT(net.label_smoothing), 0, 0.99, 0, 0, 0, "EPS",
     "probability mass taken from the correct token"},
    {"smoothing-spread", 0, 0, CHOICE, MODEL, TRAIN, AT(net.smoothing_spread), 0, 0, "uniform|off-target", 0, 0, "HOW",
     "spread the mass over all tokens, or over all but the correct one"},
    {"dtype", "precision", 0, CHOICE, MODEL, TRAIN, AT(net.dtype), WG_F32, 0, "f32|f64", 0, 0, "TYPE",
     "floating-point type of the model"},

    {"mini-batch-words", "max-tokens", 0, WHOLE, BATCHES, TRAIN, AT(batch_tokens), 1, 1e9, 0, "4096", 0, "TOKENS",
     "maximum number of tokens per batch on each side, padding included"},
    {"mini-batch", "batch-size|max-sentences", 0, WHOLE, BATCHES, TRAIN, AT(batch_sentences), 0, 1e9, 0, "0", 0, "SENTENCES",
     "maximum number of sentences per batch; 0: no limit"},
    {"length-multiple", "required-seq-len-multiple", 0, WHOLE, BATCHES, TRAIN, AT(length_multiple), 1, 1e4, 0, "2", 0, "N",
     "pad lengths to multiples of N, so that fewer shapes occur"},
    {"optimizer-delay", "update-freq", 0, WHOLE, BATCHES, TRAIN, AT(delay), 1, 1e6, 0, "1", 0, "BATCHES",
     "number of batches per update"},

    {"optimizer", 0, 'o', CHOICE, OPTIM, TRAIN, AT(optimizer), WG_OPTIMIZER_ADAM, 0, "adam|adamw|sgd", "adam", 0, "NAME",
     "optimizer"},
    {"adam-beta1", 0, 0, REAL, OPTIM, TRAIN, AT(beta1), 0, 0.999999, 0, "0.9", 0, "BETA",
     "decay rate of the first moment"},
    {"adam-beta2", 0, 0, REAL, OPTIM, TRAIN, AT(beta2), 0, 0.999999999, 0, "0.98", 0, "BETA",
     "decay rate of the second moment"},
    {"adam-eps", 0, 0, REAL, OPTIM, TRAIN, AT(eps), 1e-30, 1, 0, "1e-09", 0, "EPS",
     "added to the square root of the second moment"},
    {"weight-decay", 0, 0, REAL, OPTIM, TRAIN, AT(weight_decay), 0, 1e3, 0, "0", 0, "RATE",
     "weight decay of adamw; an L2 penalty with the other optimizers"},
    {"momentum", 0, 0, REAL, OPTIM, TRAIN, AT(momentum), 0, 0.999999, 0, "0", 0, "SHARE",
     "momentum of sgd"},
    {"lr-schedule", "lr-scheduler", 0, CHOICE, OPTIM, TRAIN, AT(schedule.kind), WG_SCHEDULE_NOAM, 0, "noam|inverse-sqrt|cosine|linear|constant", "noam", 0, "KIND",
     "learning rate schedule"},
    {"learn-rate", "lr|learning-rate", 'l', REAL, OPTIM, TRAIN, AT(schedule.rate), 0, 1e30, 0, "1", 0, "RATE",
     "peak learning rate; with noam, a factor"},
    {"lr-warmup", "warmup-updates|warmup", 0, WHOLE, OPTIM, TRAIN, AT(schedule.warmup), 0, 1e15, 0, "4000", 0, "UPDATES",
     "length of the warm-up"},
    {"lr-warmup-start-rate", "warmup-init-lr", 0, REAL, OPTIM, TRAIN, AT(schedule.start), 0, 1e30, 0, "0", 0, "RATE",
     "learning rate at the start of the warm-up"},
    {"lr-floor", "min-lr", 0, REAL, OPTIM, TRAIN, AT(schedule.floor), 0, 1e30, 0, "0", 0, "RATE",
     "final learning rate of cosine and linear"},
    {"lr-updates", "total-num-update", 0, WHOLE, OPTIM, TRAIN, AT(schedule.updates), 0, 1e15, 0, "0", 0, "UPDATES",
     "update at which cosine and linear reach --lr-floor; 0: at the limit set by --after"},
    {"clip-norm", 0, 0, REAL, OPTIM, TRAIN, AT(clip_norm), 0, 1e30, 0, "0", 0, "NORM",
     "clip gradients to this global norm; 0: no clipping"},
    {"exponential-smoothing", 0, 0, REAL, OPTIM, TRAIN, AT(smoothing), 0, 1, 0, "0", "0.0001", "SHARE",
     "weight of each update in the moving average of the parameters; 0: no average"},

    {"after", "max-update", 0, AMOUNT, COURSE, AGAIN, AT(after), 0, 0, 0, "100000u", 0, "AMOUNT",
     "stop after AMOUNT: 10e epochs, 8000u updates, 5000000t target tokens; 0: never"},
    {"disp-freq", "log-interval", 0, AMOUNT, COURSE, AGAIN, AT(disp_freq), 0, 0, 0, "100u", 0, "AMOUNT",
     "print progress every AMOUNT"},
    {"save-freq", "save-interval-updates", 0, AMOUNT, COURSE, AGAIN, AT(save_freq), 0, 0, 0, "1e", 0, "AMOUNT",
     "save a checkpoint every AMOUNT; 0: only at the end"},
    {"keep", "keep-last-epochs|keep-interval-updates", 0, WHOLE, COURSE, AGAIN, AT(keep), 0, 1e6, 0, "0", 0, "N",
     "number of checkpoints kept for averaging, in addition to the last and the best"},
    {"overwrite", 0, 0, BOOL, COURSE, AGAIN, AT(overwrite), 0, 0, 0, "false", "true", 0,
     "train from scratch, even if the folder has a model"},

    {"valid-freq", "validate-interval-updates", 0, AMOUNT, VALID, AGAIN, AT(valid_freq), 0, 0, 0, "1e", 0, "AMOUNT",
     "validate every AMOUNT; 0: never"},
    {"valid-metrics", 0, 0, WORDS, VALID, AGAIN, AT(valid_metrics), 1, 5, "cross-entropy|perplexity|accuracy|bleu|chrf", "cross-entropy", 0, "METRIC...",
     "cross-entropy, perplexity, accuracy, bleu, chrf; the first one selects the best model"},
    {"early-stopping", "patience", 0, WHOLE, VALID, AGAIN, AT(early_stopping), 0, 1e9, 0, "0", 0, "N",
     "stop after N validations without improvement; 0: never"},
    {"bleu-tokenizer", "tokenize", 0, CHOICE, VALID, EVALUATE, AT(bleu_tokenizer), 0, 0, "13a|none|intl|char", "13a", 0, "NAME",
     "tokenizer of BLEU, as in sacreBLEU"},

    {"beam-size", "beam", 'b', WHOLE, SEARCH, SEARCHING, AT(search.beam), 1, 1000, 0, "4", 0, "N",
     "beam size: hypotheses kept for each sentence; 1: greedy"},
    {"normalize", "lenpen", 'n', REAL, SEARCH, ALL, AT(search.alpha), 0, 100, 0, "0.6", "1", "ALPHA",
     "exponent of the length penalty (1 if no number follows; 0: no penalty)"},
    {"length-penalty", 0, 0, CHOICE, SEARCH, ALL, AT(search.penalty), WG_PENALTY_LENGTH, 0, "length|gnmt", "gnmt", 0, "KIND",
     "divide scores by length ^ ALPHA, or by ((5 + length) / 6) ^ ALPHA"},
    {"max-output-length", 0, 0, WHOLE, SEARCH, SEARCHING, AT(search.max_length), 0, 1e6, 0, "0", 0, "TOKENS",
     "maximum length of a translation; 0: that of --max-length-factor and --max-length-extra"},
    {"max-length-factor", "max-len-a", 0, REAL, SEARCH, SEARCHING, AT(search.max_factor), 0, 1e6, 0, "1", 0, "A",
     "maximum length of a translation: A * source tokens + B"},
    {"max-length-extra", "max-len-b", 0, WHOLE, SEARCH, SEARCHING, AT(search.max_extra), 0, 1e6, 0, "50", 0, "B",
     "B of --max-length-factor"},
    {"n-best", "nbest", 0, WHOLE, SEARCH, TRANSLATE, AT(search.n_best), 0, 1000, 0, "1", "0", "N",
     "print the N best translations (without N: all in the beam), as: id ||| text ||| score"},
    {"search-words", 0, 0, WHOLE, SEARCH, SEARCHING, AT(search.batch_tokens), 0, 1e9, 0, "0", 0, "TOKENS",
     "tokens decoded together, counted over all beams; 0: chosen automatically"},

    {"seed", 0, 's', SEED, MACHINE, TRAIN, AT(seed), 0, 0, 0, "1", 0, "N",
     "random seed"},
    {"threads", "cpu-threads", 0, WHOLE, MACHINE, ALL, AT(threads), 0, 1024, 0, "0", 0, "N",
     "number of threads; 0: all"},
    {"backend", 0, 0, TEXT, MACHINE, ALL, AT(backend), 0, 0, 0, "", 0, "NAMES",
     "backends or shared objects, comma-separated, in order of preference"},
    {"int8", 0, 0, BOOL, MACHINE, USE, AT(int8), 0, 0, 0, "false", "true", 0,
     "multiply in 8-bit integers with rounded weights: faster on CPUs with AVX-512 VNNI"},
    {"quiet", 0, 'q', BOOL, MACHINE, ALL, AT(quiet), 0, 0, 0, "false", "true", 0,
     "print only errors"},
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
        [WG_GROUP_MACHINE] = "Machine",
    };
    return group >= 0 && group < WG_GROUP_COUNT ? titles[group] : NULL;
}
