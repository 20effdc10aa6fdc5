/* sort: each line is sorted in place, elements together with their indices.  Equal elements are
 * compared by index, so no two are equal, and any order that is right is stable.  Quicksort, with
 * heapsort for what it cuts badly (Musser, "Introspective sorting and selection algorithms", 1997):
 * n log n comparisons whatever the order, and no memory. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/select.h"

/* A line along the axis: its elements are `step` apart. */
typedef struct line {
    real *value;
    int64_t *index;
    int64_t step;
    bool descending;
} line;

typedef struct item {
    real value;
    int64_t index;
} item;

static inline item get(const line *l, int64_t i)
{
    return (item){l->value[i * l->step], l->index[i * l->step]};
}

static inline void put(const line *l, int64_t i, item x)
{
    l->value[i * l->step] = x.value;
    l->index[i * l->step] = x.index;
}

static inline void swap(const line *l, int64_t i, int64_t j)
{
    item x = get(l, i);
    put(l, i, get(l, j));
    put(l, j, x);
}

/* NaN counts as largest. */
static inline bool less(real a, real b)
{
    return a < b || (cpu_is_nan(b) && !cpu_is_nan(a));
}

/* Whether a comes before b. */
static inline bool before(const line *l, item a, item b)
{
    real small = l->descending ? b.value : a.value, large = l->descending ? a.value : b.value;
    return less(small, large) || (a.index < b.index && !less(large, small));
}

/* ---- few elements, and any number ------------------------------------------------------------ */

static void insertion_sort(const line *l, int64_t from, int64_t to)
{
    for (int64_t i = from + 1; i < to; i++) {
        item x = get(l, i);
        int64_t k = i;
        for (; k > from && before(l, x, get(l, k - 1)); k--)
            put(l, k, get(l, k - 1));
        put(l, k, x);
    }
}

/* Element i of the heap [from, from + size) sinks until what is below it comes before it. */
static void sink(const line *l, int64_t from, int64_t size, int64_t i)
{
    item x = get(l, from + i);
    for (int64_t child; (child = 2 * i + 1) < size; i = child) {
        if (child + 1 < size && before(l, get(l, from + child), get(l, from + child + 1)))
            child++;
        if (!before(l, x, get(l, from + child)))
            break;
        put(l, from + i, get(l, from + child));
    }
    put(l, from + i, x);
}

static void heapsort(const line *l, int64_t from, int64_t to)
{
    int64_t size = to - from;
    for (int64_t i = size / 2; i-- > 0;)
        sink(l, from, size, i);
    while (size-- > 1) {
        swap(l, from, from + size);
        sink(l, from, size, 0);
    }
}

/* ---- quicksort ------------------------------------------------------------------------------- */

/* Exchanges elements of [from, to) until, for the k that is returned, none below k comes after the
 * median of the first, the middle and the last element, and none from k on before it (Hoare).  Both
 * parts have elements, since no two are equal. */
static int64_t cut(const line *l, int64_t from, int64_t to)
{
    item a = get(l, from), b = get(l, from + (to - from) / 2), c = get(l, to - 1);
    item median = before(l, a, b) ? (before(l, b, c)   ? b
                                     : before(l, a, c) ? c
                                                       : a)
                                  : (before(l, a, c)   ? a
                                     : before(l, b, c) ? c
                                                       : b);
    int64_t i = from - 1, j = to;
    for (;;) {
        while (before(l, get(l, ++i), median))
            ;
        while (before(l, median, get(l, --j)))
            ;
        if (i >= j)
            return i;
        swap(l, i, j);
    }
}

/* `cuts` are left before heapsort takes over.  The smaller part is a call, the larger the loop, so
 * that calls are at most log2 n deep. */
static void sort(const line *l, int64_t from, int64_t to, int cuts)
{
    enum { FEW = 24 };
    for (; to - from > FEW; cuts--) {
        if (cuts == 0) {
            heapsort(l, from, to);
            return;
        }
        int64_t k = cut(l, from, to);
        bool left_is_smaller = k - from < to - k;
        if (left_is_smaller)
            sort(l, from, k, cuts - 1);
        else
            sort(l, k, to, cuts - 1);
        from = left_is_smaller ? k : from;
        to = left_is_smaller ? to : k;
    }
    insertion_sort(l, from, to);
}

void KERNEL(sort)(wg_call *c)
{
    const wg_sort_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0];
    wgi_axis s = wgi_axis_of(&x->shape, a->axis);
    int64_t lines = s.size ? s.outer * s.inner : 0;
    int cuts = 2;
    for (int64_t size = s.size; size > 1; size /= 2)
        cuts += 2;
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(x));
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, lines *s.size *cuts))
    for (int64_t k = 0; k < lines; k++) {
        int64_t at = k / s.inner * s.size * s.inner + k % s.inner;
        line l = {(real *)c->out[0] + at, (int64_t *)c->out[1] + at, s.inner,
                  a->order == WG_DESCENDING};
        for (int64_t i = 0; i < s.size; i++)
            l.index[i * l.step] = i;
        sort(&l, 0, s.size, cuts);
    }
}
