#include "translate/presets.h"
#include "wengert/graph/status.h"

#include <stddef.h>
#include <string.h>

/* The built-in corpus: phrases of about ten tokens, learned in a minute.  The vocabulary is large
 * enough to hold every word that number phrases consist of. */
static const char *const numbers[][2] = {
    {"vocab-size", "128"},
    {"d-model", "64"},
    {"d-ff", "256"},
    {"encoder-layers", "2"},
    {"decoder-layers", "2"},
    {"dropout", "0"},
    {"mini-batch-words", "1024"},
    {"lr-schedule", "cosine"},
    {"learn-rate", "0.003"},
    {"lr-warmup", "300"},
    {"after", "4e"},
    {"disp-freq", "50u"},
    {"valid-metrics", "cross-entropy accuracy"},
    {"bleu-tokenizer", "char"}, /* a German number is one word */
    {NULL, NULL},
};

/* Small corpora such as Multi30k: Wu et al. 2021, "Good for Misconceived Reasons", section 4;
 * projections and positions of fairseq, which they used. */
static const char *const few[][2] = {
    {"vocab-size", "10000"},
    {"fused-projections", "true"},
    {"positions", "halves"},
    {"first-position", "2"},
    {"optimizer-delay", "2"},
    {"adam-eps", "1e-8"},
    {"lr-schedule", "inverse-sqrt"},
    {"learn-rate", "0.005"},
    {"lr-warmup", "2000"},
    {"lr-warmup-start-rate", "1e-7"},
    {"clip-norm", "25"},
    {"after", "8000u"},
    {"keep", "10"},
    {"beam-size", "5"},
    {"normalize", "1"},
    {"length-penalty", "length"},
    {"max-output-length", "200"},
    {NULL, NULL},
};

/* Vaswani et al. 2017, sections 5 and 6.1.  Everything else is the default of its option. */
static const char *const base[][2] = {
    {"vocab-size", "37000"}, {"mini-batch-words", "25000"}, {"keep", "5"}, {NULL, NULL}};
static const char *const big[][2] = {{"vocab-size", "37000"},
                                     {"mini-batch-words", "25000"},
                                     {"after", "300000u"},
                                     {"keep", "20"},
                                     {NULL, NULL}};

/* No translations, so no smoothing, which only raises perplexity; and the norms of GPT-2. */
const char *const wgi_language_recipe[][2] = {
    {"encoder-layers", "0"},
    {"label-smoothing", "0"},
    {"pre-norm", "true"},
    {"dropout", "0.1"},
    {"valid-metrics", "perplexity"},
    {"max-length", "256"},
    {NULL, NULL},
};

static const wgi_preset presets[] = {
    {"numbers", "tiny", numbers}, {"tiny", "tiny", few}, {"small", "small", few},
    {"base", "base", base},       {"big", "big", big},
};

const wgi_preset *wgi_preset_find(const char *name)
{
    for (size_t i = 0; i < WG_COUNT(presets); i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}
