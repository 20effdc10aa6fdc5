#include "distributed/exchange.h"
#include "distributed/tree_sum.h"
#include "wengert/graph/half.h"

#include <string.h>

/* ---- slices ---------------------------------------------------------------------------------- */

/* The vector that travels. */
static wgi_vector vector_of(wgi_job *j)
{
    return j->wire ? (wgi_vector){1, &j->wire, &j->total} : j->of;
}

/* A part of the vector that is yet to be visited. */
typedef struct slice {
    wgi_vector of;
    size_t element;
    size_t array, offset; /* where it begins: element `offset` of that array */
    size_t left;          /* elements */
} slice;

static size_t border(const wgi_exchange *x, const wgi_job *j, int rank)
{
    const size_t size = (size_t)x->size, r = (size_t)rank;
    return j->cut ? j->cut[r] : j->total / size * r + j->total % size * r / size;
}

static size_t length_of(const wgi_exchange *x, const wgi_job *j, int r)
{
    return border(x, j, r + 1) - border(x, j, r);
}

static slice slice_of(const wgi_exchange *x, wgi_job *j, int r)
{
    slice s = {.of = vector_of(j), .element = j->element, .offset = border(x, j, r)};
    s.left = length_of(x, j, r);
    while (s.array < s.of.n && s.offset >= s.of.count[s.array])
        s.offset -= s.of.count[s.array++];
    return s;
}

/* The next part of it that lies in one array and is one message: `count` elements at *at. */
static bool next_piece(slice *s, char **at, size_t *count)
{
    const size_t most = WGI_LARGEST_MESSAGE / s->element;
    if (s->left == 0)
        return false;
    while (s->offset == s->of.count[s->array]) {
        s->array++;
        s->offset = 0;
    }
    size_t n = s->of.count[s->array] - s->offset;
    n = n < s->left ? n : s->left;
    n = n < most ? n : most;
    *at = (char *)s->of.at[s->array] + s->offset * s->element;
    *count = n;
    s->offset += n;
    s->left -= n;
    return true;
}

size_t wgi_sum_requests(size_t n, size_t total, size_t element, int size)
{
    /* each slice is cut at the borders of arrays and of messages */
    return (size_t)size * 2 * (n + (size_t)size + total / (WGI_LARGEST_MESSAGE / element) + 1);
}

size_t wgi_sum_room(size_t total, size_t element, int size)
{
    return (total / (size_t)size + 1) * element * (size_t)(size - 1);
}

/* ---- messages of bf16 ------------------------------------------------------------------------ */

static void round_all(const wgi_job *j)
{
    uint16_t *to = j->wire;
    for (size_t k = 0; k < j->of.n && to; k++)
        for (size_t i = 0; i < j->of.count[k]; i++)
            *to++ = wg_bf16_from_f32(((const float *)j->of.at[k])[i]);
}

static void widen_all(const wgi_job *j)
{
    const uint16_t *from = j->wire;
    for (size_t k = 0; k < j->of.n && from; k++)
        for (size_t i = 0; i < j->of.count[k]; i++)
            ((float *)j->of.at[k])[i] = wg_bf16_to_f32(*from++);
}

/* ---- messages -------------------------------------------------------------------------------- */

static void send_part(const wgi_exchange *x, wgi_job *j, const void *data, size_t bytes, int to,
                      int tag)
{
    x->transport->send(x->state, data, bytes, to, tag, &j->request[j->n_requests++]);
}

static void receive_part(const wgi_exchange *x, wgi_job *j, void *data, size_t bytes, int from,
                         int tag)
{
    x->transport->receive(x->state, data, bytes, from, tag, &j->request[j->n_requests++]);
}

/* Another rank's d-th turn: not all begin with the same one. */
static int peer_of(const wgi_exchange *x, int d)
{
    return (x->rank + d) % x->size;
}

/* Where the copy of the own slice from rank p arrives. */
static char *room_of(const wgi_exchange *x, const wgi_job *j, int p)
{
    size_t own = length_of(x, j, x->rank) * j->element;
    return j->room + own * (size_t)(p < x->rank ? p : p - 1);
}

/* ---- a sum ----------------------------------------------------------------------------------- */

static void scatter(const wgi_exchange *x, wgi_job *j)
{
    const size_t element = j->element;
    char *at;
    size_t count;
    for (int d = 1; d < x->size; d++) {
        int p = peer_of(x, d);
        char *to = room_of(x, j, p);
        for (slice s = slice_of(x, j, x->rank); next_piece(&s, &at, &count); to += count * element)
            receive_part(x, j, to, count * element, p, j->tag);
    }
    for (int d = 1; d < x->size; d++) {
        int p = peer_of(x, d);
        for (slice s = slice_of(x, j, p); next_piece(&s, &at, &count);)
            send_part(x, j, at, count * element, p, j->tag);
    }
}

static void add(const wgi_exchange *x, wgi_job *j)
{
    const size_t element = j->element;
    const void *copies[WGI_MOST_RANKS];
    char *at;
    size_t count, offset = 0;
    for (slice s = slice_of(x, j, x->rank); next_piece(&s, &at, &count); offset += count) {
        for (int p = 0; p < x->size; p++)
            copies[p] = p == x->rank ? at : room_of(x, j, p) + offset * element;
        wgi_tree_sum(j->dtype, at, copies, x->size, count);
    }
}

static void spread(const wgi_exchange *x, wgi_job *j)
{
    const size_t element = j->element;
    char *at;
    size_t count;
    for (int d = 1; d < x->size; d++) {
        int p = peer_of(x, d);
        for (slice s = slice_of(x, j, p); next_piece(&s, &at, &count);)
            receive_part(x, j, at, count * element, p, j->tag + 1);
        for (slice s = slice_of(x, j, x->rank); next_piece(&s, &at, &count);)
            send_part(x, j, at, count * element, p, j->tag + 1);
    }
}

/* ---- a gathering ----------------------------------------------------------------------------- */

static void gather(const wgi_exchange *x, wgi_job *j)
{
    if (j->root < 0 && j->bytes)
        memcpy(j->all + (size_t)x->rank * j->bytes, j->own, j->bytes);
    for (int d = 1; d < x->size; d++) {
        int p = peer_of(x, d);
        if (j->root < 0)
            receive_part(x, j, j->all + (size_t)p * j->bytes, j->bytes, p, j->tag);
        else if (j->root == p)
            receive_part(x, j, j->all, j->bytes, p, j->tag);
        if (j->root < 0 || j->root == x->rank)
            send_part(x, j, j->own, j->bytes, p, j->tag);
    }
}

/* ---- any job --------------------------------------------------------------------------------- */

/* Whether none of its messages is under way. */
static bool is_quiet(const wgi_exchange *x, wgi_job *j, bool *moved)
{
    for (size_t i = 0; i < j->n_requests;)
        if (x->transport->test(x->state, &j->request[i])) {
            j->request[i] = j->request[--j->n_requests];
            *moved = true;
        } else {
            i++;
        }
    return j->n_requests == 0;
}

bool wgi_job_advance(const wgi_exchange *x, wgi_job *j, bool *moved)
{
    if (!is_quiet(x, j, moved))
        return false;
    *moved = true;
    const int phase = j->phase++;
    if (phase == 0 && j->kind == WGI_SUM) {
        round_all(j);
        scatter(x, j);
    } else if (phase == 0 && j->kind == WGI_SHARE) {
        spread(x, j);
    } else if (phase == 0) {
        gather(x, j);
    } else if (phase == 1 && j->kind == WGI_SUM) {
        add(x, j);
        spread(x, j);
    } else {
        widen_all(j);
        return true;
    }
    return false;
}
