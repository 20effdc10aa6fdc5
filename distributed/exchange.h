/* Sums and gatherings over a transport, each a job that is driven step by step.
 *
 * A sum is of a list of tensors, seen as one long vector and cut into a slice for each rank.
 * Every rank sends slice r to rank r; that rank adds the copies by wgi_tree_sum, and sends the sum
 * to all.  These are the bytes of a ring, with two latencies instead of 2 (N - 1), and the bits do
 * not depend on which message comes first.  Messages go straight from the tensors and into them;
 * only the copies of the own slice need room. */
#ifndef WG_PRIVATE_DISTRIBUTED_EXCHANGE_H
#define WG_PRIVATE_DISTRIBUTED_EXCHANGE_H

#include "distributed/transport.h"
#include "wengert/graph/shape.h"

typedef struct wgi_exchange {
    const wgi_transport *transport;
    void *state;
    int rank, size;
} wgi_exchange;

enum { WGI_MOST_RANKS = 4096 };
enum { WGI_TAG_GATHER = 32000, WGI_TAG_BEAT }; /* those below are two for each bucket */

typedef struct wgi_job {
    enum { WGI_SUM, WGI_GATHER } kind;
    int tag;

    /* a sum */
    wg_dtype dtype; /* f32 or f64 */
    size_t n;       /* tensors */
    void **at;      /* [n] */
    size_t *count;  /* [n] elements of each */
    size_t total;   /* elements of all */
    char *room;     /* wgi_sum_room bytes */

    /* a gathering */
    const void *own;
    char *all;    /* [size][bytes]; of a broadcast the data themselves */
    size_t bytes; /* at most WGI_LARGEST_MESSAGE */
    int root;     /* of a broadcast, or -1 */

    wgi_request *request; /* [n_requests] under way */
    size_t n_requests;
    int phase; /* how often its messages have been posted */
    bool done; /* under the lock of wg_ranks */
    struct wgi_job *next;
} wgi_job;

/* Requests and bytes of room for the sum of n tensors of `total` elements. */
size_t wgi_sum_requests(size_t n, size_t total, size_t element, int size);
size_t wgi_sum_room(size_t total, size_t element, int size);

/* Posts messages, or looks for those that have arrived; *moved if something was done.  Whether the
 * job is complete. */
bool wgi_job_advance(const wgi_exchange *x, wgi_job *j, bool *moved);

#endif
