/* Losses over classes, which are axis 1. */
#include "onnx/ops.h"

#include <string.h>

/* Targets [N, ..] as ids, with 0 in the place of those to ignore; *counts is true where a target
 * counts, NULL if all do. */
static wg_value *take_targets(ox_node *n, wg_value **counts)
{
    wg_value *t = wgi_ox_in(n, 1);
    int64_t ignore = wgi_ox_int(n, "ignore_index", 0);
    *counts = NULL;
    if (!t || !wgi_ox_attribute(n, "ignore_index"))
        return t;
    *counts = wg_not_equal(t, wg_scalar_like(t, (double)ignore));
    return wg_where(*counts, t, wg_scalar_like(t, 0));
}

static wg_value *reduced(ox_node *n, wg_value *loss, wg_value *weight)
{
    const char *how = wgi_ox_word(n, "reduction", "mean");
    if (strcmp(how, "none") == 0)
        return loss;
    wg_value *sum = wg_sum(loss, WG_ALL_AXES, WG_DROP);
    if (strcmp(how, "sum") == 0)
        return sum;
    return weight ? wg_div(sum, wg_sum(weight, WG_ALL_AXES, WG_DROP))
                  : wg_mean(loss, WG_ALL_AXES, WG_DROP);
}

/* -log_probs[i, target] weight[target], and 0 where the target is ignored; the mean is over the
 * weights. */
static wg_value *nll(ox_node *n, wg_value *log_probs)
{
    wg_value *counts, *t = take_targets(n, &counts), *classes = wgi_ox_in(n, 2);
    if (!log_probs || !t)
        return NULL;
    if (log_probs->shape.rank != t->shape.rank + 1 || !t->shape.rank)
        return wgi_ox_fail(n, WG_ESHAPE, "scores of %d axes and targets of %d",
                           log_probs->shape.rank, t->shape.rank);
    wg_value *picked = wg_squeeze(wg_gather(log_probs, wg_unsqueeze(t, 1), 1), 1);
    wg_value *weight = classes ? wg_take(classes, t, 0) : NULL;
    if (counts && !weight)
        weight = wg_cast(counts, log_probs->dtype);
    else if (counts)
        weight = wg_where(counts, weight, wg_scalar_like(weight, 0));
    wg_value *loss = wg_neg(picked);
    if (classes)
        loss = wg_mul(loss, weight);
    if (counts)
        loss = wg_where(counts, loss, wg_scalar_like(loss, 0));
    return reduced(n, loss, weight);
}

wg_value *wgi_ox_nll_loss(ox_node *n)
{
    return nll(n, wgi_ox_in(n, 0));
}

/* Without weights, rows of classes are what cross_entropy takes. */
static wg_value *fused(ox_node *n, wg_value *scores)
{
    const char *how = wgi_ox_word(n, "reduction", "mean");
    wg_cross_entropy_attrs o = {.use_ignore = wgi_ox_attribute(n, "ignore_index"),
                                .ignore = wgi_ox_int(n, "ignore_index", 0)};
    o.reduction = strcmp(how, "none") == 0  ? WG_LOSS_NONE
                  : strcmp(how, "sum") == 0 ? WG_LOSS_SUM
                                            : WG_LOSS_MEAN;
    return wg_cross_entropy(scores, wgi_ox_in(n, 1), NULL, &o);
}

wg_value *wgi_ox_softmax_cross_entropy(ox_node *n)
{
    wg_value *scores = wgi_ox_in(n, 0);
    if (!scores || scores->shape.rank < 2)
        return wgi_ox_fail(n, WG_ESHAPE, "expected scores of 2 axes or more");
    if (scores->shape.rank == 2 && !wgi_ox_has(n, 2) && !wgi_ox_wants(n, 1))
        return fused(n, scores);
    wg_value *log_probs = wg_log_softmax(scores, 1);
    wgi_ox_set(n, 1, log_probs);
    return nll(n, log_probs);
}
