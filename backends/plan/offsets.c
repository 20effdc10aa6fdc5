/* Offsets in the buffer.  Storages that are alive together must not overlap, and the buffer should
 * be small.  Two methods are tried and the smaller result is kept:
 *
 *   along the order   simulates an allocator: at its first step each storage takes the free block
 *                     that fits best, and returns it after its last.  Blocks are kept in bins by
 *                     size, so each operation takes constant time (as in TLSF, Masmano et al.
 *                     2004).
 *   by size           the largest first, each in the tightest gap between those already placed
 *                     whose lifetimes overlap its own (Pisarchyk and Lee 2020, "greedy by size").
 *                     As long as the buffer is larger than what is live at once, the order is
 *                     changed and all are placed again: the storages at the end go to the front
 *                     ("squeaky wheels", Joslin and Clements 1999), or a few change places.
 *                     Quadratic, so only for up to BY_SIZE_MAX storages, and again only up to
 *                     MOST_STEPS comparisons. */
#include "backends/plan/offsets.h"
#include "backends/memory.h"
#include "backends/plan/facts.h"
#include "graph/mix.h"

#include <stdlib.h>
#include <string.h>

enum { BY_SIZE_MAX = 3000, MOST_STEPS = 1 << 20, MOST_ROUNDS = 256 };

/* ---- along the order ------------------------------------------------------------------------- */

enum { BIN_COUNT = 512, MAX_COMPARED = 32 }; /* blocks of a bin */

typedef struct block {
    size_t offset, size;
    int64_t below, above;  /* neighbours in the buffer */
    int64_t before, after; /* in its bin, if free      */
    bool is_free;
} block;

typedef struct heap {
    block *block;
    size_t n_blocks;
    int64_t unused; /* block records to be used again, linked by `after` */
    int64_t top;    /* the block at the end of the buffer                */
    int64_t bin[BIN_COUNT];
    uint64_t filled[BIN_COUNT / 64];
    size_t size;
} heap;

/* Eight bins for each power of two. */
static size_t bin_of(size_t size)
{
    size_t q = size / WGI_ALIGN, power = 3;
    if (q < 8)
        return q;
    while (q >> (power + 1))
        power++;
    return (power - 2) * 8 + ((q >> (power - 3)) & 7);
}

static void put_in_bin(heap *h, int64_t i)
{
    block *b = &h->block[i];
    size_t bin = bin_of(b->size);
    b->is_free = true;
    b->before = WGI_NONE;
    b->after = h->bin[bin];
    if (b->after != WGI_NONE)
        h->block[b->after].before = i;
    h->bin[bin] = i;
    h->filled[bin / 64] |= UINT64_C(1) << bin % 64;
}

static void take_from_bin(heap *h, int64_t i)
{
    block *b = &h->block[i];
    size_t bin = bin_of(b->size);
    b->is_free = false;
    if (b->before != WGI_NONE)
        h->block[b->before].after = b->after;
    else
        h->bin[bin] = b->after;
    if (b->after != WGI_NONE)
        h->block[b->after].before = b->before;
    if (h->bin[bin] == WGI_NONE)
        h->filled[bin / 64] &= ~(UINT64_C(1) << bin % 64);
}

/* A block between `below` and `above`, not yet in a bin. */
static int64_t new_block(heap *h, size_t offset, size_t size, int64_t below, int64_t above)
{
    int64_t i = h->unused;
    if (i != WGI_NONE)
        h->unused = h->block[i].after;
    else
        i = (int64_t)h->n_blocks++;
    h->block[i] = (block){offset, size, below, above, WGI_NONE, WGI_NONE, false};
    if (below != WGI_NONE)
        h->block[below].above = i;
    if (above != WGI_NONE)
        h->block[above].below = i;
    else
        h->top = i;
    return i;
}

/* Merges block i with the one above it. */
static void absorb_above(heap *h, int64_t i)
{
    int64_t gone = h->block[i].above, above = h->block[gone].above;
    h->block[i].size += h->block[gone].size;
    h->block[i].above = above;
    if (above != WGI_NONE)
        h->block[above].below = i;
    else
        h->top = i;
    h->block[gone].after = h->unused;
    h->unused = gone;
}

/* The smallest free block of at least `size` among the first few of each bin, WGI_NONE if there is
 * none. */
static int64_t best_fit(const heap *h, size_t size)
{
    for (size_t bin = bin_of(size); bin < BIN_COUNT; bin++) {
        if (!(h->filled[bin / 64] >> bin % 64)) {
            bin |= 63; /* nothing in the rest of this word */
            continue;
        }
        int64_t best = WGI_NONE;
        int left = MAX_COMPARED;
        for (int64_t i = h->bin[bin]; i != WGI_NONE && left-- > 0; i = h->block[i].after)
            if (h->block[i].size >= size &&
                (best == WGI_NONE || h->block[i].size < h->block[best].size))
                best = i;
        if (best != WGI_NONE)
            return best;
    }
    return WGI_NONE;
}

static int64_t allocate(heap *h, size_t size)
{
    int64_t i = best_fit(h, size);
    if (i == WGI_NONE && h->top != WGI_NONE && h->block[h->top].is_free) { /* the free end grows */
        i = h->top;
        take_from_bin(h, i);
        h->size += size - h->block[i].size;
        h->block[i].size = size;
        return i;
    }
    if (i == WGI_NONE) {
        i = new_block(h, h->size, size, h->top, WGI_NONE);
        h->size += size;
        return i;
    }
    take_from_bin(h, i);
    size_t rest = h->block[i].size - size;
    if (rest) {
        h->block[i].size = size;
        put_in_bin(h, new_block(h, h->block[i].offset + size, rest, i, h->block[i].above));
    }
    return i;
}

static void give_back(heap *h, int64_t i)
{
    int64_t above = h->block[i].above, below = h->block[i].below;
    if (above != WGI_NONE && h->block[above].is_free) {
        take_from_bin(h, above);
        absorb_above(h, i);
    }
    if (below != WGI_NONE && h->block[below].is_free) {
        take_from_bin(h, below);
        absorb_above(h, below);
        i = below;
    }
    put_in_bin(h, i);
}

static bool is_placed(const wgi_storage *s)
{
    return s->kind == WGI_STORAGE_BUFFER && !s->exclusive;
}

/* The storages to place, in order of their first and of their last step. */
typedef struct list {
    const wgi_storage *storage;
    size_t *by_first, *by_last;
    size_t count, n_storages;
} list;

/* offset[i] for each storage; the size of the buffer in *size.  false without memory. */
static bool along_the_order(const list *l, size_t *offset, size_t *size)
{
    heap h = {
        .unused = WGI_NONE, .top = WGI_NONE, .block = malloc((2 * l->count + 2) * sizeof(block))};
    int64_t *taken = malloc((l->n_storages + 1) * sizeof *taken);
    for (size_t i = 0; i < BIN_COUNT; i++)
        h.bin[i] = WGI_NONE;
    bool ok = h.block && taken;
    for (size_t i = 0, back = 0; ok && i < l->count; i++) {
        size_t id = l->by_first[i];
        const wgi_storage *s = &l->storage[id];
        for (; l->storage[l->by_last[back]].last < s->first; back++)
            give_back(&h, taken[l->by_last[back]]);
        taken[id] = allocate(&h, s->bytes);
        offset[id] = h.block[taken[id]].offset;
    }
    *size = h.size;
    free(h.block);
    free(taken);
    return ok;
}

/* ---- by size --------------------------------------------------------------------------------- */

typedef struct sized {
    size_t bytes, id;
} sized;

static int larger_first(const void *a, const void *b)
{
    const sized *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* The tightest gap for s between the `n` storages placed so far, which are in order of their
 * offset. */
static size_t tightest_gap(const wgi_storage *storage, const wgi_storage *s, const size_t *placed,
                           size_t n, const size_t *offset)
{
    size_t end = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        const wgi_storage *o = &storage[placed[i]];
        if (o->last < s->first || o->first > s->last)
            continue;
        size_t at = offset[placed[i]];
        if (at >= end && at - end >= s->bytes && at - end < best_gap) {
            best = end;
            best_gap = at - end;
        }
        end = at + o->bytes > end ? at + o->bytes : end;
    }
    return best != SIZE_MAX ? best : end;
}

/* Places all in that order; the size of the buffer.  `placed` is scratch. */
static size_t place(const list *l, const sized *order, size_t *placed, size_t *offset)
{
    size_t size = 0;
    for (size_t i = 0; i < l->count; i++) {
        size_t id = order[i].id, at = i;
        const wgi_storage *s = &l->storage[id];
        offset[id] = tightest_gap(l->storage, s, placed, i, offset);
        size = offset[id] + s->bytes > size ? offset[id] + s->bytes : size;
        for (; at > 0 && offset[placed[at - 1]] > offset[id]; at--)
            placed[at] = placed[at - 1];
        placed[at] = id;
    }
    return size;
}

/* The storages that end where the buffer ends go to the front, in the order that they have. */
static void raise_ends(const list *l, sized *order, const size_t *offset, size_t size)
{
    size_t front = 0;
    for (size_t i = 0; i < l->count; i++) {
        const sized x = order[i];
        if (offset[x.id] + x.bytes != size)
            continue;
        memmove(&order[front + 1], &order[front], (i - front) * sizeof *order);
        order[front++] = x;
    }
}

/* Two pairs change places. */
static void swap_some(const list *l, sized *order, uint64_t *random)
{
    for (int k = 0; k < 2; k++) {
        size_t i = wgi_splitmix64(random) % l->count, j = wgi_splitmix64(random) % l->count;
        sized x = order[i];
        order[i] = order[j];
        order[j] = x;
    }
}

/* The most bytes that are live at one step: no buffer is smaller. */
static size_t live_at_once(const list *l)
{
    size_t live = 0, most = 0;
    for (size_t i = 0, back = 0; i < l->count; i++) {
        const wgi_storage *s = &l->storage[l->by_first[i]];
        for (; l->storage[l->by_last[back]].last < s->first; back++)
            live -= l->storage[l->by_last[back]].bytes;
        live += s->bytes;
        most = live > most ? live : most;
    }
    return most;
}

/* `least` is what is live at once. */
static bool by_size(const list *l, size_t least, size_t *offset, size_t *size)
{
    sized *order = malloc(2 * (l->count + 1) * sizeof *order), *other = order + l->count;
    size_t *placed = malloc((l->count + 1) * sizeof *placed),
           *again = malloc((l->n_storages + 1) * sizeof *again);
    bool ok = order && placed && again;
    for (size_t i = 0; ok && i < l->count; i++)
        order[i] = (sized){l->storage[l->by_first[i]].bytes, l->by_first[i]};
    if (ok) {
        qsort(order, l->count, sizeof *order, larger_first);
        *size = place(l, order, placed, offset);
        memcpy(again, offset, l->n_storages * sizeof *again);
    }
    const size_t rounds = MOST_STEPS / (l->count * l->count + 1);
    uint64_t random = 0;
    for (size_t i = 0; ok && i < rounds && i < MOST_ROUNDS && least < *size; i++) {
        memcpy(other, order, l->count * sizeof *order);
        if (i % 2 == 0)
            raise_ends(l, other, offset, *size);
        if (i > 0)
            swap_some(l, other, &random);
        size_t got = place(l, other, placed, again);
        if (got <= *size) {
            *size = got;
            memcpy(order, other, l->count * sizeof *order);
            memcpy(offset, again, l->n_storages * sizeof *again);
        }
    }
    free(order);
    free(placed);
    free(again);
    return ok;
}

/* ---- the better of the two ------------------------------------------------------------------- */

/* Storages are made in order of their first step; a counting sort brings them in that of their
 * last. */
static bool make_list(list *l, const wgi_storage *storage, size_t n)
{
    int64_t steps = 0;
    for (size_t i = 0; i < n; i++)
        steps = storage[i].last >= steps ? storage[i].last + 1 : steps;
    size_t *start = calloc((size_t)steps + 1, sizeof *start);
    *l = (list){storage, malloc((n + 1) * sizeof *l->by_first),
                malloc((n + 1) * sizeof *l->by_last), 0, n};
    if (!start || !l->by_first || !l->by_last) {
        free(start);
        return false;
    }
    for (size_t i = 0; i < n; i++)
        if (is_placed(&storage[i]) && storage[i].bytes > 0) {
            l->by_first[l->count++] = i;
            start[storage[i].last + 1]++;
        }
    for (int64_t t = 0; t < steps; t++)
        start[t + 1] += start[t];
    for (size_t i = 0; i < l->count; i++)
        l->by_last[start[storage[l->by_first[i]].last]++] = l->by_first[i];
    free(start);
    return true;
}

size_t wgi_place_storages(wgi_storage *storage, size_t n)
{
    list l = {0};
    size_t size = SIZE_MAX, other = SIZE_MAX;
    size_t *offset = calloc(n + 1, sizeof *offset), *second = calloc(n + 1, sizeof *second);
    bool ok = offset && second && make_list(&l, storage, n) && along_the_order(&l, offset, &size);
    const size_t least = ok ? live_at_once(&l) : 0;
    if (ok && l.count <= BY_SIZE_MAX && least < size)
        ok = by_size(&l, least, second, &other);
    const size_t *better = other < size ? second : offset;
    for (size_t i = 0; ok && i < n; i++)
        if (is_placed(&storage[i]))
            storage[i].offset = better[i];
    free(l.by_first);
    free(l.by_last);
    free(offset);
    free(second);
    return !ok ? SIZE_MAX : other < size ? other : size;
}
