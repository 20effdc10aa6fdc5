/* A worker translates sentences by itself: the share of one thread, or all of them.  It has its own
 * plans; the model is shared. */
#ifndef WG_PRIVATE_DECODE_WORKER_H
#define WG_PRIVATE_DECODE_WORKER_H

#include "decode/cached.h"
#include "decode/plain.h"
#include "decode/sentences.h"

typedef struct wgi_worker {
    wgi_decode_context context;
    wgi_cached *cached;
    wgi_plain *plain;
} wgi_worker;

/* The model must outlive it; its plans use `threads` threads.  NULL without memory. */
wgi_worker *wgi_worker_new(const wg_search_model *model, int threads);
void wgi_worker_free(wgi_worker *w);

/* Translates the sentences which[0..n), which are sorted, longest first; the k-th best of sentence
 * i goes to results[i * n_best + k].  Ids and options have been checked. */
wg_status wgi_worker_run(wgi_worker *w, const wgi_sentences *sentences, const size_t *which,
                         size_t n, const wg_search_options *options, wg_hypothesis *results);

#endif
