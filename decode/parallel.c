/* A step is short, and threads that share it wait for each other about fifty times.  So if there
 * are many sentences, each thread gets a worker of its own, whose plans use one thread.  Sentences
 * are dealt out longest first, in turn, so that all workers have about the same work, and the same
 * sentences in every run.  With a model whose steps may have a single row, a few sentences are
 * many, and a step of less is not shared. */
#include "decode/parallel.h"
#include "decode/sizes.h"
#include "graph/threads.h"
#include "graph/error.h"
#include "graph/grow.h"

#include <omp.h>
#include <stdlib.h>

/* Minimum per worker: fewer would make products with few rows. */
enum { MIN_SENTENCES = 8, MIN_SENTENCES_OF_SMALL = 2 };

static bool is_small(const wgi_workers *w)
{
    return w->shared->context.least_rows < WGI_LEAST_ROWS;
}

bool wgi_workers_init(wgi_workers *w, const wg_search_model *model)
{
    *w = (wgi_workers){.model = model,
                       .shared = wgi_worker_new(model, model->threads),
                       .threads = (size_t)wgi_threads(model->threads)};
    if (w->shared && is_small(w))
        w->shared->context.threads = 1;
    return w->shared != NULL;
}

void wgi_workers_clear(wgi_workers *w)
{
    wgi_worker_free(w->shared);
    for (size_t i = 0; i < w->n_single; i++)
        wgi_worker_free(w->single[i]);
    free(w->single);
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* Worker i has the sentences which[first[i]] to which[first[i + 1] - 1]. */
typedef struct shares {
    size_t *which, *first; /* [sentences], [workers + 1] */
} shares;

typedef struct sized {
    size_t length, index;
} sized;

static int longer_first(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->length != y->length)
        return x->length < y->length ? 1 : -1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool share_out(shares *out, const wgi_sentences *sentences, size_t workers)
{
    const size_t n = sentences->n;
    sized *sorted = malloc((n + 1) * sizeof *sorted);
    *out = (shares){malloc((n + 1) * sizeof(size_t)), malloc((workers + 1) * sizeof(size_t))};
    bool ok = sorted && out->which && out->first;
    for (size_t i = 0; ok && i < n; i++)
        sorted[i] = (sized){sentences->length[i], i};
    if (ok)
        qsort(sorted, n, sizeof *sorted, longer_first);
    size_t at = 0;
    for (size_t w = 0; ok && w < workers; w++) {
        out->first[w] = at;
        for (size_t i = w; i < n; i += workers)
            out->which[at++] = sorted[i].index;
    }
    if (ok)
        out->first[workers] = at;
    free(sorted);
    return ok;
}

static void free_shares(shares *s)
{
    free(s->which);
    free(s->first);
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* As many as threads if there are enough sentences, else as many as there are enough for; 0: all
 * threads share each step, as they do with a large model before half of them would be idle. */
static size_t count_workers(const wgi_workers *w, size_t sentences)
{
    bool small = is_small(w);
    size_t most = sentences / (small ? MIN_SENTENCES_OF_SMALL : MIN_SENTENCES);
    size_t workers = most < w->threads ? most : w->threads;
    bool busy = small || 2 * workers >= w->threads;
    return workers > 1 && busy && !omp_in_parallel() ? workers : 0;
}

static bool make_workers(wgi_workers *w, size_t count)
{
    if (w->n_single >= count)
        return true;
    if (!WGI_RESERVE(w->single, w->capacity, count))
        return false;
    for (; w->n_single < count; w->n_single++)
        if (!(w->single[w->n_single] = wgi_worker_new(w->model, 1)))
            return false;
    return true;
}

static wg_status run_single(wgi_workers *w, const wgi_sentences *sentences, const shares *share,
                            size_t count, const wg_search_options *o, wg_hypothesis *results)
{
    size_t failed = count; /* the first worker that failed */
#pragma omp parallel for num_threads((int)count) schedule(static, 1)
    for (size_t i = 0; i < count; i++) {
        const size_t first = share->first[i], n = share->first[i + 1] - first;
        wg_status status =
            wgi_worker_run(w->single[i], sentences, share->which + first, n, o, results);
        if (status != WG_OK) {
#pragma omp critical(wgi_workers_failed)
            failed = i < failed ? i : failed;
        }
    }
    if (failed == count)
        return WG_OK;
    w->shared->context.error = w->single[failed]->context.error;
    return w->shared->context.error.status;
}

wg_status wgi_workers_run(wgi_workers *w, const wgi_sentences *sentences,
                          const wg_search_options *options, wg_hypothesis *results)
{
    const size_t count = count_workers(w, sentences->n);
    shares all;
    wg_status status;
    if (!share_out(&all, sentences, count ? count : 1) || !make_workers(w, count))
        status = wgi_error_set(&w->shared->context.error, WG_ENOMEM, "out of memory");
    else if (count)
        status = run_single(w, sentences, &all, count, options, results);
    else
        status = wgi_worker_run(w->shared, sentences, all.which, sentences->n, options, results);
    free_shares(&all);
    return status;
}
