/* The k largest of each row.  The best so far are a heap in the result itself, whose root is the
 * last of them in order; the row is compared with that root in blocks, and most blocks have nothing
 * better.  In the end the heap is sorted.  n elements take n comparisons in vectors and log k steps
 * for each that enters: n log k at worst, where every element is better than those before. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/team.h"

enum { BLOCK = 64 };

typedef struct heap {
    float *value;
    int64_t *id;
    int64_t count;
} heap;

/* Whether a comes before b whatever their places: it is larger, or the only NaN. */
static inline bool is_larger(float a, float b)
{
    return !(a <= b) & (b == b);
}

/* Whether element i of the heap comes after element j in the order of the result. */
static inline bool is_after(const heap *h, int64_t i, int64_t j)
{
    float a = h->value[i], b = h->value[j];
    return is_larger(b, a) || (!is_larger(a, b) && h->id[i] > h->id[j]);
}

static inline void exchange(heap *h, int64_t i, int64_t j)
{
    float value = h->value[i];
    int64_t id = h->id[i];
    h->value[i] = h->value[j];
    h->id[i] = h->id[j];
    h->value[j] = value;
    h->id[j] = id;
}

/* Element i goes down until none below it comes after it. */
static void sift_down(heap *h, int64_t i)
{
    for (int64_t child; (child = 2 * i + 1) < h->count; i = child) {
        child += child + 1 < h->count && is_after(h, child + 1, child);
        if (!is_after(h, child, i))
            return;
        exchange(h, i, child);
    }
}

/* Whether any of the numbers comes before `last`. */
static inline bool any_larger(const float *x, float last)
{
    int any = 0;
#pragma omp simd reduction(| : any)
    for (int i = 0; i < BLOCK; i++)
        any |= !(x[i] <= last);
    return any && last == last;
}

static void offer(heap *h, float x, int64_t id)
{
    if (!is_larger(x, h->value[0]))
        return;
    h->value[0] = x;
    h->id[0] = id;
    sift_down(h, 0);
}

static void sort(heap *h)
{
    while (h->count > 1) {
        exchange(h, 0, --h->count);
        sift_down(h, 0);
    }
}

static void select_row(const float *x, int64_t width, heap h)
{
    int64_t i = 0;
    for (; i < h.count; i++) {
        h.value[i] = x[i];
        h.id[i] = i;
    }
    for (int64_t parent = h.count / 2; parent-- > 0;)
        sift_down(&h, parent);
    for (; i + BLOCK <= width; i += BLOCK)
        if (any_larger(x + i, h.value[0]))
            for (int64_t j = i; j < i + BLOCK; j++)
                offer(&h, x[j], j);
    for (; i < width; i++)
        offer(&h, x[i], i);
    sort(&h);
}

static void select_of_row(const void *args, int64_t row)
{
    const simd_select *s = args;
    select_row(s->x + row * s->width, s->width,
               (heap){s->values + row * s->k, s->ids + row * s->k, s->k});
}

void SIMD(select_rows)(const simd_select *s)
{
    simd_tasks(s->threads, s->rows, select_of_row, s);
}
