/* Many sentences by many threads.  A step is short: if threads share each of its products, they
 * wait for each other some fifty times in it.  So each thread gets a search of its own, a lane,
 * whose plans are of one thread, and sentences are dealt to lanes like cards, longest first: all
 * lanes get about the same work, and always the same sentences. */
#include "decode/internal.h"

#include <omp.h>
#include <stdlib.h>

enum { MIN_SENTENCES = 8 }; /* of a lane: fewer would leave its products thin */

/* A sentence's place in the deal. */
typedef struct card {
    size_t length, index;
} card;

static int longer_first(const void *a, const void *b)
{
    const card *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* which[0..n): lane by lane, the first `first[1]` for lane 0, ... */
static bool deal(size_t *which, size_t *first, const size_t *lengths, size_t n, size_t lanes)
{
    card *cards = malloc((n + 1) * sizeof *cards);
    if (!cards)
        return false;
    for (size_t i = 0; i < n; i++)
        cards[i] = (card){lengths[i], i};
    qsort(cards, n, sizeof *cards, longer_first);
    size_t at = 0;
    for (size_t lane = 0; lane < lanes; lane++) {
        first[lane] = at;
        for (size_t i = lane; i < n; i += lanes)
            which[at++] = cards[i].index;
    }
    first[lanes] = at;
    free(cards);
    return true;
}

/* As many lanes as threads, if there are sentences enough; none: the threads share each step. */
static size_t lanes_for(const wg_search *s, size_t n)
{
    size_t threads = s->threads < 1 ? (size_t)omp_get_max_threads() : (size_t)s->threads;
    return threads > 1 && !omp_in_parallel() && n / MIN_SENTENCES >= threads ? threads : 0;
}

static bool make_lanes(wg_search *s, size_t lanes)
{
    if (s->n_lanes >= lanes)
        return true;
    wg_search **all = realloc(s->lanes, lanes * sizeof *all);
    if (!all)
        return false;
    for (s->lanes = all; s->n_lanes < lanes; s->n_lanes++)
        if (!(all[s->n_lanes] = wgi_search_lane(s, lanes)))
            return false;
    return true;
}

static wg_status run_lanes(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                           const size_t *which, const size_t *first, size_t lanes,
                           const wg_search_options *o, wg_hypothesis *results)
{
    wg_status failed = WG_OK;
    size_t by = lanes; /* the first lane that failed */
#pragma omp parallel for num_threads((int)lanes) schedule(static, 1)
    for (size_t i = 0; i < lanes; i++) {
        wg_status status = wgi_search_alone(s->lanes[i], sources, lengths, which + first[i],
                                            first[i + 1] - first[i], o, results);
        if (status != WG_OK) {
#pragma omp critical(wgi_search_lanes_failed)
            if (i < by) {
                failed = status;
                by = i;
            }
        }
    }
    return failed == WG_OK ? failed
                           : wgi_search_fail(s, failed, "%s", wg_search_message(s->lanes[by]));
}

wg_status wgi_search_together(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                              size_t n, const wg_search_options *o, wg_hypothesis *results)
{
    size_t lanes = lanes_for(s, n), dealt = lanes ? lanes : 1;
    size_t *which = malloc((n + 1) * sizeof *which), *first = calloc(dealt + 1, sizeof *first);
    wg_status status = WG_OK;
    if (!which || !first || !deal(which, first, lengths, n, dealt) || !make_lanes(s, lanes))
        status = wgi_search_fail(s, WG_ENOMEM, "out of memory");
    else if (lanes)
        status = run_lanes(s, sources, lengths, which, first, lanes, o, results);
    else
        status = wgi_search_alone(s, sources, lengths, which, n, o, results);
    free(which);
    free(first);
    return status;
}
