/* The table of experiments, in the order of the paper. */
#include "paper/experiments.h"

#include <string.h>

static const paper_experiment experiments[] = {
    {"scale",
     "Section 3.2.1: for q and k of mean 0 and variance 1, q.k has variance d_k; without the "
     "factor 1/sqrt(d_k) the softmax saturates, and its gradient vanishes.",
     paper_scale},
    {"heads",
     "Section 3.2.2 and Table 3 (A, B): h heads of width d / h cost as much as one of width d; one "
     "head is worse than several, too many are worse again, and so are narrower keys.",
     paper_heads},
    {"additive",
     "Section 3.2.1: dot-product attention is much faster and smaller than additive attention; "
     "without the factor 1/sqrt(d_k) it is as good for small d_k and worse for large ones.",
     paper_additive},
    {"positions",
     "Section 3.5 and Table 3 (E): learned positions do as well as sinusoids, whose PE(p + k) is a "
     "linear function of PE(p) and which may extend to sentences longer than those of training.",
     paper_positions},
    {"table1",
     "Table 1: self-attention costs O(n^2 d), recurrence and convolution O(n d^2), restricted "
     "attention O(r n d); only recurrence takes O(n) steps one after the other; the path between "
     "two positions has length O(1), O(n), O(log n) and O(n/r).",
     paper_table1},
    {"warmup", "Section 5.3: the learning rate first rises and then falls; the rise is needed.",
     paper_warmup},
    {"norm",
     "Section 3.1 has the norm after each sublayer, which needs the warm-up of section 5.3; with "
     "the norm before each sublayer, as later models have it, training needs none.",
     paper_norm},
    {"dropout", "Section 5.4 and Table 3 (D): dropout is very helpful against overfitting.",
     paper_dropout},
    {"smoothing",
     "Section 5.4 and Table 3 (D): label smoothing hurts perplexity, as the model learns to be "
     "more unsure, but improves accuracy and BLEU.",
     paper_smoothing},
    {"averaging",
     "Section 6.1: the mean of the last 5 checkpoints (20 for the big model) is the model that "
     "translates.",
     paper_averaging},
    {"beam",
     "Section 6.1: translations are found by beam search, with 4 hypotheses and the length penalty "
     "alpha = 0.6.",
     paper_beam},
    {"size", "Table 3 (C): larger models are better.", paper_size},
    {"visualise",
     "Figures 1 to 5: the model and its attention; its heads learn to do different things, which "
     "have to do with the structure of sentences.",
     paper_visualise},
    {"parsing",
     "Section 6.3: a Transformer that was not made for it learns constituency parsing, as "
     "translation into brackets, and is better than a grammar read off the same trees.",
     paper_parsing},
    {"lm",
     "Section 3.2.3: masked self-attention keeps the decoder auto-regressive, so that each "
     "prediction depends on the tokens before it only; alone, the decoder is a language model.",
     paper_lm},
};

const paper_experiment *paper_experiment_at(size_t i)
{
    return i < WG_COUNT(experiments) ? &experiments[i] : NULL;
}

const paper_experiment *paper_experiment_find(const char *name)
{
    for (size_t i = 0; i < WG_COUNT(experiments); i++)
        if (strcmp(experiments[i].name, name) == 0)
            return &experiments[i];
    return NULL;
}
