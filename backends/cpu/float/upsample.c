/* Resampling of planes and its transpose: the same taps, read or written. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/upsample.h"

/* The taps of COLUMNS columns are found once for ROWS rows: each takes a division. */
enum { ROWS = 32, COLUMNS = 128, TAPS = 4 };

typedef struct columns {
    int64_t first, count;
    int taps; /* of each */
    int64_t index[TAPS][COLUMNS];
    real weight[TAPS][COLUMNS];
} columns;

/* The rows of a plane that one row reads. */
typedef struct rows {
    int taps;
    int64_t index[TAPS];
    real weight[TAPS];
} rows;

/* Of two, the first so that their sum is 1 after rounding, too */
static inline real weight_of(const wg_upsample_taps *t, int k)
{
    return k == 0 && t->count == 2 ? 1 - (real)t->weight[1] : (real)t->weight[k];
}

static inline rows rows_of(const wg_upsample_attrs *a, int64_t from, int64_t to, int64_t row)
{
    wg_upsample_taps t = wg_upsample_taps_of(a, from, to, row);
    rows r = {.taps = t.count};
    for (int k = 0; k < TAPS; k++) {
        r.index[k] = t.index[k];
        r.weight[k] = weight_of(&t, k);
    }
    return r;
}

static void find_taps(const wg_upsample_attrs *a, int64_t from, int64_t to, int64_t first,
                      columns *h)
{
    h->first = first;
    h->count = to - first < COLUMNS ? to - first : COLUMNS;
    for (int64_t i = 0; i < h->count; i++) {
        wg_upsample_taps t = wg_upsample_taps_of(a, from, to, first + i);
        h->taps = t.count;
        for (int l = 0; l < TAPS; l++) {
            h->index[l][i] = t.index[l];
            h->weight[l][i] = weight_of(&t, l);
        }
    }
}

static void read_one(const real *x, const columns *h, real *y)
{
    for (int64_t i = 0; i < h->count; i++)
        y[i] = x[h->index[0][i]];
}

/* Some columns of a row of y, from two rows of x */
static void read_two(const real *above, const real *below, const rows *v, const columns *h, real *y)
{
    real r = v->weight[0], s = v->weight[1];
    for (int64_t i = 0; i < h->count; i++) {
        int64_t left = h->index[0][i], right = h->index[1][i];
        real t = h->weight[0][i], u = h->weight[1][i];
        y[i] = r * (t * above[left] + u * above[right]) + s * (t * below[left] + u * below[right]);
    }
}

/* y += or = weight times what the columns read of a row */
static void read_more(const real *x, real weight, bool add, const columns *h, real *y)
{
    for (int64_t i = 0; i < h->count; i++) {
        real sum = h->weight[0][i] * x[h->index[0][i]];
        for (int l = 1; l < h->taps; l++)
            sum += h->weight[l][i] * x[h->index[l][i]];
        y[i] = add ? y[i] + weight * sum : weight * sum;
    }
}

/* The same of any taps; `x` is the plane */
static void read_row(const real *x, int64_t width, const rows *v, const columns *h, real *y)
{
    const real *first = x + v->index[0] * width;
    y += h->first;
    if (v->taps == 1 && h->taps == 1)
        read_one(first, h, y);
    else if (v->taps == 2 && h->taps == 2)
        read_two(first, x + v->index[1] * width, v, h, y);
    else
        for (int k = 0; k < v->taps; k++)
            read_more(x + v->index[k] * width, v->weight[k], k > 0, h, y);
}

/* The reverse */
static void add_one(const real *dy, const columns *h, real *dx)
{
    for (int64_t i = 0; i < h->count; i++)
        dx[h->index[0][i]] += dy[i];
}

static void add_two(const real *dy, const rows *v, const columns *h, real *above, real *below)
{
    real r = v->weight[0], s = v->weight[1];
    for (int64_t i = 0; i < h->count; i++) {
        int64_t left = h->index[0][i], right = h->index[1][i];
        real t = h->weight[0][i], u = h->weight[1][i], d = dy[i];
        above[left] += r * t * d;
        above[right] += r * u * d;
        below[left] += s * t * d;
        below[right] += s * u * d;
    }
}

static void add_row(const real *dy, int64_t width, const rows *v, const columns *h, real *dx)
{
    real *first = dx + v->index[0] * width;
    dy += h->first;
    if (v->taps == 1 && h->taps == 1)
        add_one(dy, h, first);
    else if (v->taps == 2 && h->taps == 2)
        add_two(dy, v, h, first, dx + v->index[1] * width);
    else
        for (int64_t i = 0; i < h->count; i++)
            for (int k = 0; k < v->taps; k++)
                for (int l = 0; l < h->taps; l++)
                    dx[v->index[k] * width + h->index[l][i]] +=
                        v->weight[k] * h->weight[l][i] * dy[i];
}

void KERNEL(upsample2d)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_upsample_attrs *a = n->attrs;
    const int64_t *from = n->in[0]->shape.dim, *to = n->out[0]->shape.dim;
    const real *x = c->in[0];
    real *y = c->out[0];
    int64_t blocks = (to[2] + ROWS - 1) / ROWS, tasks = to[0] * to[1] * blocks;
    int threads = cpu_threads(c, cpu_count(n->out[0]) * 8);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t task = 0; task < tasks; task++) {
        int64_t plane = task / blocks, row = task % blocks * ROWS;
        int64_t end = row + ROWS < to[2] ? row + ROWS : to[2];
        const real *in = x + plane * from[2] * from[3];
        columns h;
        for (int64_t first = 0; first < to[3]; first += COLUMNS) {
            find_taps(a, from[3], to[3], first, &h);
            for (int64_t q = row; q < end; q++) {
                rows v = rows_of(a, from[2], to[2], q);
                read_row(in, from[3], &v, &h, y + (plane * to[2] + q) * to[3]);
            }
        }
    }
}

void KERNEL(upsample2d_grad)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_upsample_attrs *a = n->attrs;
    const int64_t *from = n->out[0]->shape.dim, *to = n->in[0]->shape.dim;
    const real *dy = c->in[0];
    real *dx = c->out[0];
    int64_t planes = from[0] * from[1], size = from[2] * from[3];
    int threads = cpu_threads(c, planes * to[2] * to[3] * 8);

#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t p = 0; p < planes; p++) {
        real *plane = dx + p * size;
        columns h;
        for (int64_t i = 0; i < size; i++)
            plane[i] = 0;
        for (int64_t first = 0; first < to[3]; first += COLUMNS) {
            find_taps(a, from[3], to[3], first, &h);
            for (int64_t q = 0; q < to[2]; q++) {
                rows v = rows_of(a, from[2], to[2], q);
                add_row(dy + (p * to[2] + q) * to[3], from[3], &v, &h, plane);
            }
        }
    }
}
