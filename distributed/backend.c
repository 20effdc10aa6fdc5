/* The backend of a run on several machines: it begins sums and waits for them. */
#include "backends/all_reduce.h"
#include "distributed/ranks.h"
#include "graph/grow.h"

#include <stdlib.h>

/* ---- buckets --------------------------------------------------------------------------------- */

static wgi_bucket *bucket_of(wg_ranks *r, int64_t number)
{
    wgi_bucket *b = r->buckets;
    while (b && b->number != number)
        b = b->next;
    if (b || !(b = calloc(1, sizeof *b)))
        return b;
    b->number = number;
    b->ranks = r;
    b->next = r->buckets;
    r->buckets = b;
    return b;
}

/* Whether messages of that sum are bf16. */
static bool rounds(const wgi_bucket *b, const wg_node *n)
{
    return ((const wg_all_reduce_attrs *)n->attrs)->wire == WG_BF16 && n->in[0]->dtype == WG_F32 &&
           b->ranks->exchange.size > 1;
}

/* Room for the sum of node n, since a run allocates nothing. */
static bool make_room(wgi_bucket *b, const wg_node *n)
{
    const bool rounded = rounds(b, n);
    const size_t element = wg_dtype_size(rounded ? WG_BF16 : n->in[0]->dtype);
    const int size = b->ranks->exchange.size;
    size_t tensors = (size_t)n->n_in, total = 0, counts = b->n_capacity;
    for (int k = 0; k < n->n_in; k++)
        total += (size_t)wg_value_count(n->in[k]);
    return WGI_RESERVE(b->job.of.count, counts, tensors + 1) &&
           WGI_RESERVE(b->job.of.at, b->n_capacity, tensors + 1) &&
           (!rounded || WGI_RESERVE(b->wire, b->wire_capacity, total + 1)) &&
           WGI_RESERVE(b->job.request, b->request_capacity,
                       wgi_sum_requests(tensors, total, element, size)) &&
           WGI_RESERVE(b->job.room, b->room_capacity, wgi_sum_room(total, element, size) + 1);
}

void wgi_buckets_free(wg_ranks *r)
{
    for (wgi_bucket *b = r->buckets, *next; b; b = next) {
        next = b->next;
        free(b->job.of.at);
        free(b->job.of.count);
        free(b->wire);
        free(b->job.request);
        free(b->job.room);
        free(b);
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static void run_start(wg_call *c)
{
    wgi_bucket *b = c->state;
    wgi_job *j = &b->job;
    if (b->under_way) {
        wg_call_fail(c, "a sum of bucket %lld is under way already: each needs a number of its own",
                     (long long)b->number);
        return;
    }
    j->kind = WGI_SUM;
    j->tag = 2 * (int)b->number;
    j->wire = rounds(b, c->node) ? b->wire : NULL;
    j->dtype = j->wire ? WG_BF16 : c->node->in[0]->dtype;
    j->element = wg_dtype_size(j->dtype);
    j->of.n = (size_t)c->node->n_in;
    j->total = 0;
    wgi_all_reduce_alone(c); /* the sum grows from this rank's part */
    for (size_t k = 0; k < j->of.n; k++) {
        j->of.at[k] = c->out[k];
        j->of.count[k] = (size_t)wg_value_count(c->node->in[k]);
        j->total += j->of.count[k];
    }
    b->under_way = true;
    wgi_messenger_post(b->ranks, j);
}

static void run_wait(wg_call *c)
{
    wgi_bucket *b = c->state;
    if (!b->under_way) {
        wg_call_fail(c, "no sum of bucket %lld was begun", (long long)b->number);
        return;
    }
    wgi_messenger_wait(b->ranks, &b->job);
    b->under_way = false;
    wgi_all_reduce_alone(c); /* which is there already if the plan works in place */
}

/* ---- the table ------------------------------------------------------------------------------- */

static wg_status open_ranks(void **state, const wg_backend_config *config)
{
    *state = (void *)config->self; /* the first member of a wg_ranks */
    return WG_OK;
}

static const char *refuses(void *state, const wg_node *n)
{
    (void)state;
    return n->op == &wgi_op_all_reduce_start || n->op == &wgi_op_all_reduce_wait
               ? NULL
               : "it carries all_reduce alone";
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *k)
{
    wg_ranks *r = state;
    wgi_bucket *b = bucket_of(r, ((const wg_all_reduce_attrs *)n->attrs)->bucket);
    bool starts = n->op == &wgi_op_all_reduce_start;
    if (!b || (starts && n->n_in > 0 && !make_room(b, n)))
        return WG_ENOMEM;
    *k = (wg_kernel){
        .name = r->exchange.transport->name, .run = starts ? run_start : run_wait, .state = b};
    return WG_OK;
}

/* After a run that ended early, sums may be under way in memory that the plan will use anew. */
static void leave(void *state)
{
    wg_ranks *r = state;
    for (wgi_bucket *b = r->buckets; b; b = b->next)
        if (b->under_way) {
            wgi_messenger_wait(r, &b->job);
            b->under_way = false;
        }
}

wg_backend wgi_ranks_backend_table(void)
{
    return (wg_backend){
        .abi = WG_BACKEND_ABI,
        .name = "ranks",
        .doc = "sums over the processes of a run on several machines",
        .reproducible = WG_ANY_THREADS,
        .open = open_ranks,
        .refuses = refuses,
        .prepare = prepare,
        .leave = leave,
    };
}

const wg_backend *wg_ranks_backend(const wg_ranks *r)
{
    return &r->backend;
}

wg_backend_list wg_ranks_backends(const wg_ranks *r)
{
    wg_backend_list built = wg_backend_list_built_in(), list = {.backend = {&r->backend}};
    list.count = 1;
    for (size_t i = 0; i < built.count; i++)
        list.backend[list.count++] = built.backend[i];
    return list;
}
