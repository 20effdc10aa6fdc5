/* Sentences shared out among workers, one for each thread. */
#ifndef WG_PRIVATE_DECODE_PARALLEL_H
#define WG_PRIVATE_DECODE_PARALLEL_H

#include "decode/worker.h"

typedef struct wgi_workers {
    const wg_search_model *model;
    wgi_worker *shared;  /* for few sentences: all threads share each step */
    wgi_worker **single; /* [n_single] for many: one thread each           */
    size_t n_single, capacity;
    size_t threads;
} wgi_workers;

bool wgi_workers_init(wgi_workers *w, const wg_search_model *model); /* false without memory */
void wgi_workers_clear(wgi_workers *w);

/* Translates all sentences: the k-th best of sentence i goes to results[i * n_best + k].  A failure
 * is in the error of `shared`. */
wg_status wgi_workers_run(wgi_workers *w, const wgi_sentences *sentences,
                          const wg_search_options *options, wg_hypothesis *results);

#endif
