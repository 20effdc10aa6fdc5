/* Resampling of planes and its transpose: the same taps, read or written. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/upsample.h"

/* The taps of COLUMNS columns are found once for ROWS rows: each takes a division. */
enum { ROWS = 16, COLUMNS = 128 };

typedef struct columns {
    int64_t first, count;
    wg_upsample_tap tap[COLUMNS];
} columns;

static void find_taps(const wg_upsample_attrs *a, int64_t from, int64_t to, int64_t first,
                      columns *h)
{
    h->first = first;
    h->count = to - first < COLUMNS ? to - first : COLUMNS;
    for (int64_t i = 0; i < h->count; i++)
        h->tap[i] = wg_upsample_tap_of(a, from, to, first + i);
}

/* Some columns of a row of y, from two rows of x */
static void read_row(const real *above, const real *below, real s, const columns *h, bool nearest,
                     real *y)
{
    for (int64_t i = 0; nearest && i < h->count; i++)
        y[h->first + i] = above[h->tap[i].first];
    for (int64_t i = 0; !nearest && i < h->count; i++) {
        int64_t left = h->tap[i].first, right = h->tap[i].second;
        real t = (real)h->tap[i].weight;
        y[h->first + i] = (1 - s) * ((1 - t) * above[left] + t * above[right]) +
                          s * ((1 - t) * below[left] + t * below[right]);
    }
}

/* The reverse */
static void add_row(const real *dy, real s, const columns *h, bool nearest, real *above,
                    real *below)
{
    for (int64_t i = 0; nearest && i < h->count; i++)
        above[h->tap[i].first] += dy[h->first + i];
    for (int64_t i = 0; !nearest && i < h->count; i++) {
        int64_t left = h->tap[i].first, right = h->tap[i].second;
        real t = (real)h->tap[i].weight, d = dy[h->first + i];
        above[left] += (1 - s) * (1 - t) * d;
        above[right] += (1 - s) * t * d;
        below[left] += s * (1 - t) * d;
        below[right] += s * t * d;
    }
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
                wg_upsample_tap v = wg_upsample_tap_of(a, from[2], to[2], q);
                read_row(in + v.first * from[3], in + v.second * from[3], (real)v.weight, &h,
                         a->mode == WG_NEAREST, y + (plane * to[2] + q) * to[3]);
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
                wg_upsample_tap v = wg_upsample_tap_of(a, from[2], to[2], q);
                add_row(dy + (p * to[2] + q) * to[3], (real)v.weight, &h, a->mode == WG_NEAREST,
                        plane + v.first * from[3], plane + v.second * from[3]);
            }
        }
    }
}
