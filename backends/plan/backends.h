/* The backends of a plan, in the order in which they are asked; the cpu backend, the reference, is
 * the last. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_BACKENDS_H
#define WG_PRIVATE_BACKENDS_PLAN_BACKENDS_H

#include "wengert/backends/backend.h"

/* A backend with its state for one plan. */
typedef struct wgi_open_backend {
    const wg_backend *backend;
    void *state;
} wgi_open_backend;

typedef struct wgi_backends {
    wgi_open_backend *open;
    size_t count;
} wgi_backends;

static inline const wgi_open_backend *wgi_reference(const wgi_backends *b)
{
    return &b->open[b->count - 1];
}

/* Whether one of the first `count` backends takes n. */
bool wgi_is_taken(const wgi_backends *b, size_t count, const wg_node *n);

/* Without elements in its results a node computes nothing: its kernel is replaced, since kernels
 * may loop over the other sizes, as of [2^40, 0]. */
void wgi_skip_if_empty(const wg_node *n, wg_kernel *k);

/* One call of n's kernel.  WG_EUNSUPPORTED: the backend has none; or what the kernel reports. */
wg_status wgi_compute_node(const wgi_open_backend *b, const wg_node *n, const void *const *in,
                           void *const *out, int threads);

#endif
