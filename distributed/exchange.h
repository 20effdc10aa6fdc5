/* Sums, sharings and gatherings over a transport, each a job that is driven step by step.
 *
 * A sum is of a list of tensors, seen as one long vector and cut into a slice for each rank.
 * Every rank sends slice r to rank r; that rank adds the copies by wgi_tree_sum, and sends the sum
 * to all.  These are the bytes of a ring, with two latencies instead of 2 (N - 1), and the bits do
 * not depend on which message comes first.  Messages go straight from the tensors and into them;
 * only the copies of the own slice need room.
 *
 * With `wire`, messages are bf16: all operands are rounded into that array, which is then the
 * vector that travels.  The copies are added in f32, the sum is rounded once more, and all ranks,
 * its owner included, widen what they have got.
 *
 * A sharing is the second half of a sum: each rank has its slice and sends it to all. */
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
enum {
    WGI_TAG_GATHER = 32000,
    WGI_TAG_BEAT,
    WGI_TAG_SHARE
}; /* those below are two for each bucket */

/* Arrays, seen as one vector. */
typedef struct wgi_vector {
    size_t n;
    void **at;     /* [n] */
    size_t *count; /* [n] elements of each */
} wgi_vector;

typedef struct wgi_job {
    enum { WGI_SUM, WGI_SHARE, WGI_GATHER } kind;
    int tag;

    /* a sum or a sharing */
    wgi_vector of;     /* its tensors */
    size_t total;      /* elements of all */
    size_t element;    /* bytes of one, in a message */
    const size_t *cut; /* [size + 1] where slices begin, in elements; NULL: they are even */

    /* a sum */
    wg_dtype dtype; /* of messages: f32 or f64 as the tensors, or bf16 */
    char *room;     /* wgi_sum_room bytes */
    void *wire;     /* [total] of bf16, NULL: messages go from and to the tensors */

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

/* Requests of a sum or a sharing, and bytes of room for a sum, of n arrays of `total` elements that
 * travel. */
size_t wgi_sum_requests(size_t n, size_t total, size_t element, int size);
size_t wgi_sum_room(size_t total, size_t element, int size);

/* Posts messages, or looks for those that have arrived; *moved if something was done.  Whether the
 * job is complete. */
bool wgi_job_advance(const wgi_exchange *x, wgi_job *j, bool *moved);

#endif
