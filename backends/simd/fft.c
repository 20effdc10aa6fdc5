/* Fourier transforms: how a node's is done, and its tables. */
#include "backends/roots.h"
#include "backends/simd/internal.h"
#include "wengert/ops/fft.h"

#include <stdlib.h>

/* Tables of pairs in the node's dtype, one after the other in one block; without a block they are
 * only counted. */
typedef struct tables {
    bool f64;
    char *block;
    size_t bytes;
} tables;

static void *new_table(tables *t, int64_t pairs)
{
    const size_t size = 2 * (size_t)pairs * (t->f64 ? sizeof(double) : sizeof(float));
    void *table = t->block ? t->block + t->bytes : NULL;
    t->bytes += (size + 63) / 64 * 64;
    return table;
}

static void put(const tables *t, void *table, int64_t j, double re, double im)
{
    if (t->f64) {
        ((double *)table)[2 * j] = re;
        ((double *)table)[2 * j + 1] = im;
    } else {
        ((float *)table)[2 * j] = (float)re;
        ((float *)table)[2 * j + 1] = (float)im;
    }
}

/* [count] e^(-2 pi i j / n) */
static void *new_roots(tables *t, int64_t count, int64_t n)
{
    void *table = new_table(t, count);
    for (int64_t j = 0; j < count && table; j++) {
        double re, im;
        wgi_root(j % n, n, &re, &im);
        put(t, table, j, re, -im);
    }
    return table;
}

/* ---- by factors ------------------------------------------------------------------------------ */

enum { LARGEST_RADIX = 47 };

/* The factors of n, fours first; false if one is too large. */
static bool factorise(simd_fft_core *c, int64_t n)
{
    static const int preferred[] = {4, 2, 3, 5};
    c->length = n;
    c->factors = 0;
    for (int i = 0; i < WG_COUNT(preferred); i++)
        for (; n % preferred[i] == 0; n /= preferred[i])
            c->factor[c->factors++] = preferred[i];
    for (int r = 7; r <= LARGEST_RADIX; r += 2)
        for (; n % r == 0; n /= r)
            c->factor[c->factors++] = r;
    return n == 1;
}

static bool has_small_factors(int64_t n)
{
    simd_fft_core c;
    return factorise(&c, n);
}

/* The least power of two of at least n. */
static int64_t power_from(int64_t n)
{
    int64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* ---- by convolution -------------------------------------------------------------------------- */

/* e^(-pi i j^2 / n), j < 2^32 */
static void chirp_at(int64_t j, int64_t n, double *re, double *im)
{
    const uint64_t steps = (uint64_t)j * (uint64_t)j % (uint64_t)(2 * n);
    wgi_root((int64_t)steps, 2 * n, re, im);
    *im = -*im;
}

static void *new_chirp(tables *t, int64_t n)
{
    void *table = new_table(t, n);
    for (int64_t j = 0; j < n && table; j++) {
        double re, im;
        chirp_at(j, n, &re, &im);
        put(t, table, j, re, im);
    }
    return table;
}

/* x [n] becomes its transform, n a power of two; in f64, whatever the node has. */
static void transform(double *x, int64_t n)
{
    for (int64_t i = 1, j = 0; i < n; i++) { /* bits in reverse order */
        int64_t bit = n / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        for (int k = 0; k < 2 && i < j; k++) {
            double swapped = x[2 * i + k];
            x[2 * i + k] = x[2 * j + k];
            x[2 * j + k] = swapped;
        }
    }
    for (int64_t size = 2; size <= n; size *= 2)
        for (int64_t p = 0; p < size / 2; p++) {
            double c, d;
            wgi_root(p, size, &c, &d);
            for (int64_t i = p; i < n; i += size) {
                double *a = x + 2 * i, *b = a + size, re = b[0] * c + b[1] * d,
                       im = b[1] * c - b[0] * d;
                b[0] = a[0] - re;
                b[1] = a[1] - im;
                a[0] += re;
                a[1] += im;
            }
        }
}

/* [length] of the convolution with c*, which is the same forwards and backwards; NULL also without
 * memory, where *ok becomes false. */
static void *new_filter(tables *t, int64_t n, int64_t length, bool *ok)
{
    void *table = new_table(t, length);
    double *x = table ? calloc(2 * (size_t)length, sizeof *x) : NULL;
    if (!x) {
        *ok = *ok && !table;
        return NULL;
    }
    for (int64_t j = 0; j < n; j++) {
        double re, im;
        chirp_at(j, n, &re, &im);
        for (int side = 0; side < 2; side++) {
            const int64_t i = side && j ? length - j : j;
            x[2 * i] = re / (double)length;
            x[2 * i + 1] = -im / (double)length;
        }
    }
    transform(x, length);
    for (int64_t j = 0; j < length; j++)
        put(t, table, j, x[2 * j], x[2 * j + 1]);
    free(x);
    return table;
}

/* ---- how a node's transform is done ---------------------------------------------------------- */

static void make_core(tables *t, simd_fft_core *c, int64_t n, bool *ok)
{
    *c = (simd_fft_core){.n = n};
    if (!factorise(c, n)) {
        factorise(c, power_from(2 * n - 1));
        c->chirp = new_chirp(t, n);
        c->filter = new_filter(t, n, c->length, ok);
    }
    c->roots = new_roots(t, c->length, c->length);
}

/* The divisor of n that is nearest to its root, from below, such that both are done by factors; 1
 * if there is none. */
static int64_t middle_divisor(int64_t n)
{
    int64_t best = 1;
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0)
            best = d;
    return has_small_factors(n) ? best : 1;
}

static void make_split(tables *t, simd_fft_split *s, int64_t n, bool *ok)
{
    s->n1 = middle_divisor(n);
    s->n2 = n / s->n1;
    make_core(t, &s->columns, s->n1, ok);
    make_core(t, &s->rows, s->n2, ok);
    void *twist = new_table(t, n);
    s->twist = twist;
    for (int64_t k = 0; k < s->n1 && twist; k++)
        for (int64_t j = 0; j < s->n2; j++) {
            double re, im;
            wgi_root(k * j, n, &re, &im);
            put(t, twist, k * s->n2 + j, re, -im);
        }
}

/* A line at a time: where lines are too few to fill the lanes, or too long to lie in the caches
 * side by side. */
static bool goes_by_line(const simd_fft *f, bool f64)
{
    enum { SHORT = 64, CACHE = 1 << 20 };
    const int64_t lanes = f64 ? 8 : 16, lines = f->outer * f->inner;
    const int64_t bytes = 4 * 64 * f->m; /* two buffers of pairs of lines of a cache */
    return f->m >= SHORT && (2 * lines <= lanes || bytes > CACHE);
}

/* Sizes, tables and, while they are only counted, nothing else. */
static bool make(simd_fft *f, tables *t)
{
    bool ok = true;
    if (2 * f->m == f->n)
        f->halves = new_roots(t, f->m + 1, f->n);
    if (!goes_by_line(f, t->f64)) {
        make_core(t, &f->core, f->m, &ok);
        return ok;
    }
    const int64_t smallest = 8;
    int64_t length = f->m;
    if (middle_divisor(length) < smallest) {
        length = power_from(2 * f->m - 1);
        f->chirp = new_chirp(t, f->m);
        f->filter = new_filter(t, f->m, length, &ok);
    }
    make_split(t, &f->split, length, &ok);
    return ok;
}

static simd_fft transform_of(const wg_node *n)
{
    const bool pairs = n->op == &wg_op_fft;
    const wg_fft_attrs *a = n->attrs;
    const wg_rfft_attrs *r = n->attrs;
    wgi_axis of = wgi_axis_of(&n->in[0]->shape, pairs ? a->axis : r->axis);
    simd_fft f = {.kind = pairs                  ? SIMD_FFT_PAIRS
                          : n->op == &wg_op_rfft ? SIMD_FFT_TO
                                                 : SIMD_FFT_FROM,
                  .outer = of.outer,
                  .n = n->op == &wg_op_irfft ? r->n : of.size,
                  .inner = n->op == &wg_op_rfft ? of.inner : of.inner / 2,
                  .inverse = pairs && a->inverse,
                  .weighted = !pairs && r->weighted};
    f.m = pairs || f.n % 2 ? f.n : f.n / 2;
    return f;
}

/* The state of a kernel: a copy of the backend, and the transform. */
typedef struct fft_state {
    simd_backend backend;
    simd_fft fft;
} fft_state;

void *wgi_simd_fft_state(const simd_backend *b, const wg_node *n)
{
    enum { LINE = 64, HEAD = (sizeof(fft_state) + LINE - 1) / LINE * LINE };
    tables counted = {.f64 = n->in[0]->dtype == WG_F64};
    simd_fft trial = transform_of(n);
    make(&trial, &counted);
    char *memory = aligned_alloc(LINE, HEAD + counted.bytes);
    if (!memory)
        return NULL;
    fft_state *s = (fft_state *)memory;
    *s = (fft_state){*b, transform_of(n)};
    tables made = {.f64 = counted.f64, .block = memory + HEAD};
    if (make(&s->fft, &made))
        return s;
    free(memory);
    return NULL;
}

/* ---- the table ------------------------------------------------------------------------------- */

static size_t scratch(const wg_node *n, int threads)
{
    tables counted = {.f64 = n->in[0]->dtype == WG_F64};
    simd_fft f = transform_of(n);
    f.threads = threads;
    make(&f, &counted);
    const int64_t line = counted.f64 ? 8 : 16;
    return (size_t)simd_fft_scratch(&f, line) * (counted.f64 ? sizeof(double) : sizeof(float));
}

static void run(wg_call *c)
{
    enum { SMALL = 1 << 14 }; /* numbers that one thread does sooner */
    const fft_state *state = c->state;
    simd_fft f = state->fft;
    f.x = c->in[0];
    f.y = c->out[0];
    f.threads = f.outer * f.inner * f.n < SMALL ? 1 : c->threads;
    f.scratch = c->scratch;
    simd_floats(c)->fft(&f);
}

static const char *refuses(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty_floats(n);
    return why ? why : transform_of(n).n > UINT32_MAX ? "long lines" : NULL;
}

const simd_kernel wgi_simd_fft[] = {
    {&wg_op_fft, "fft", refuses, scratch, run},
    {&wg_op_rfft, "fft", refuses, scratch, run},
    {&wg_op_irfft, "fft", refuses, scratch, run},
    {.op = NULL},
};
