/* The table of experiments, in the order of the paper. */
#include "paper/experiments.h"

#include <string.h>

static const paper_experiment experiments[] = {
    {"scale",
     "Section 3.2.1: for q and k of mean 0 and variance 1, q.k has variance d_k; without the "
     "factor 1/sqrt(d_k) the softmax saturates, and its gradient vanishes.",
     paper_scale},
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
