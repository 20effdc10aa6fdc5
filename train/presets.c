#include "train/presets.h"

#include <stddef.h>
#include <string.h>

/* The built-in corpus: sentences of some ten words, learned in minutes. */
static const char *const numbers[][2] = {
    {"vocab-kind", "chars"},
    {"vocab-size", "100"},
    {"d-model", "64"},
    {"d-ff", "128"},
    {"encoder-layers", "2"},
    {"decoder-layers", "2"},
    {"dropout", "0"},
    {"lr-schedule", "inverse-sqrt"},
    {"learn-rate", "0.005"},
    {"lr-warmup", "200"},
    {"after", "10e"},
    {"valid-metrics", "cross-entropy"},
    {NULL, NULL},
};

/* Small corpora, as Multi30k: Wu et al. 2021, "Good for Misconceived Reasons", section 4. */
static const char *const few[][2] = {
    {"vocab-size", "10000"},
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

/* Vaswani et al. 2017, sections 5 and 6.1; what is not here is the default of the option. */
static const char *const base[][2] = {
    {"vocab-size", "37000"}, {"mini-batch-words", "25000"}, {"keep", "5"}, {NULL, NULL}};
static const char *const big[][2] = {{"vocab-size", "37000"},
                                     {"mini-batch-words", "25000"},
                                     {"after", "300000u"},
                                     {"keep", "20"},
                                     {NULL, NULL}};

static const wg_preset presets[] = {
    {"numbers", "tiny", numbers}, {"tiny", "tiny", few}, {"small", "small", few},
    {"base", "base", base},       {"big", "big", big},
};

const wg_preset *wg_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}
