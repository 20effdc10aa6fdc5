#include "wengert/decode/sample.h"
#include "graph/error.h"

#include <math.h>
#include <stdlib.h>

wg_status wg_sampling_check(const wg_sampling *s, wg_error *error)
{
    wgi_error_clear(error);
    if (!s)
        return wgi_error_set(error, WG_EINVAL, "sampling: there are no options");
    if (!(s->temperature >= 0 && isfinite(s->temperature)))
        return wgi_error_set(error, WG_EINVAL, "temperature is %g, must be 0 or a positive number",
                             s->temperature);
    if (s->top_k < 0)
        return wgi_error_set(error, WG_EINVAL, "top_k is %lld, must be positive, or 0 for all",
                             (long long)s->top_k);
    if (!(s->top_p > 0 && s->top_p <= 1))
        return wgi_error_set(error, WG_EINVAL, "top_p is %g, must be in (0, 1]", s->top_p);
    return WG_OK;
}

/* The most probable token, the first of them; n if no logit is finite or one is NaN or infinity. */
static size_t most_probable(const double *logits, size_t n)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (isnan(logits[i]) || logits[i] == (double)INFINITY)
            return n;
        if (isfinite(logits[i]) && (best == n || logits[i] > logits[best]))
            best = i;
    }
    return best;
}

/* ---- the tokens kept ------------------------------------------------------------------------- */

typedef struct ranked {
    double weight;
    size_t token;
} ranked;

/* By weight, the largest first, then by id. */
static int by_weight(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* How many of the tokens, by falling weight, have at least the share p of the first n's weight. */
static size_t nucleus(const ranked *order, size_t n, double p)
{
    double all = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        all += order[i].weight;
    for (size_t i = 0; i < n; i++)
        if ((sum += order[i].weight) >= p * all)
            return i + 1;
    return n;
}

/* Sets the weights of tokens that are not kept to 0. */
static wg_status keep(double *weight, const wg_sampling *s, size_t n)
{
    size_t k = s->top_k && (uint64_t)s->top_k < n ? (size_t)s->top_k : n;
    if (k == n && s->top_p >= 1)
        return WG_OK;
    ranked *order = malloc(n * sizeof *order);
    if (!order)
        return WG_ENOMEM;
    for (size_t i = 0; i < n; i++)
        order[i] = (ranked){weight[i], i};
    qsort(order, n, sizeof *order, by_weight);
    for (size_t i = s->top_p < 1 ? nucleus(order, k, s->top_p) : k; i < n; i++)
        weight[order[i].token] = 0;
    free(order);
    return WG_OK;
}

/* ---- probabilities --------------------------------------------------------------------------- */

wg_status wg_sampling_probabilities(double *p, const wg_sampling *s, const double *logits, size_t n,
                                    wg_error *error)
{
    wg_status status = wg_sampling_check(s, error);
    if (status != WG_OK)
        return status;
    if (!p || !logits || n == 0)
        return wgi_error_set(error, WG_EINVAL, "sampling: there are no tokens");
    size_t best = most_probable(logits, n);
    if (best == n)
        return wgi_error_set(error, WG_ENONFINITE, "the next token has no finite probability");
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        p[i] = i == best            ? 1
               : s->temperature > 0 ? exp((logits[i] - logits[best]) / s->temperature)
                                    : 0;
    if (keep(p, s, n) != WG_OK)
        return wgi_error_set(error, WG_ENOMEM, "out of memory for %zu tokens", n);
    for (size_t i = 0; i < n; i++)
        sum += p[i];
    for (size_t i = 0; i < n; i++)
        p[i] /= sum;
    return WG_OK;
}

size_t wg_sampling_draw(const double *p, size_t n, double u)
{
    size_t last = 0; /* where rounding leaves the sum below u */
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] <= 0)
            continue;
        last = i;
        if (u < (sum += p[i]))
            break;
    }
    return last;
}
