/* How reductions walk.  A reduction is three functions over a `partial`:
 *
 *   take    n elements side by side, n at most CPU_RUN, into a partial
 *   join    one partial into another
 *   result  of a partial
 *
 * and cpu_reduce drives them over any set of axes: along the last axis if that is reduced, else
 * over blocks of columns.  A partial of zeros (count 0) is the empty reduction.
 *
 * Where there are few blocks of results, each is cut into parts, whose number depends on the shape
 * alone and which are joined in order: hence the same bits at any number of threads. */
#ifndef WG_BACKENDS_CPU_REDUCE_H
#define WG_BACKENDS_CPU_REDUCE_H

#include "backends/cpu/kernel.h"

enum {
    CPU_RUN = 1024,   /* elements taken at once     */
    CPU_COLUMNS = 64, /* columns of a block        */
    CPU_TILE = 32,    /* rows taken at once by a block */
    CPU_PARTS = 16    /* least number of parts of all blocks together, if there are so many units */
};

typedef struct partial {
    wide a, b;
    int64_t count;
} partial;

typedef struct reduction {
    void (*take)(partial *p, const real *x, int64_t n, const void *attrs);
    void (*join)(partial *p, const partial *q);
    real (*result)(const partial *p, const void *attrs);
    /* Optional: element j of each of `rows` rows into p[j], j < width.  Without it, columns are
     * copied together and taken. */
    void (*take_rows)(partial *p, const real *const *row, int64_t rows, int64_t width,
                      const void *attrs);
} reduction;

/* The sum in a, and of how many elements. */
static inline void cpu_take_sum(partial *p, const real *x, int64_t n, const void *attrs)
{
    (void)attrs;
    wide sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < n; i++)
        sum += x[i];
    p->a += sum;
    p->count += n;
}

static inline void cpu_join_sum(partial *p, const partial *q)
{
    p->a += q->a;
    p->count += q->count;
}

/* x as groups of adjacent axes, each group all kept or all reduced, without axes of size 1. */
typedef struct cpu_groups {
    int count;
    int64_t size[WG_MAX_RANK], stride[WG_MAX_RANK];
} cpu_groups;

typedef struct cpu_reducer {
    const reduction *how;
    const void *attrs;
    const real *in;
    real *out;
    cpu_groups kept, reduced; /* without the last group, which is: */
    int64_t inner;            /* its size                          */
    bool along;               /* it is reduced                     */
    int64_t runs;             /* product of the sizes of `reduced` */
    int64_t pieces;           /* of inner, if along                */
    int64_t width, blocks;    /* results of a block; blocks of all */
    int64_t units;            /* a block's work: pieces of runs, or tiles of rows */
} cpu_reducer;

static inline int64_t cpu_group_offset(const cpu_groups *g, int64_t index)
{
    int64_t at = 0;
    for (int i = g->count - 1; i > 0; i--) {
        at += index % g->size[i] * g->stride[i];
        index /= g->size[i];
    }
    return g->count ? at + index * g->stride[0] : 0;
}

static inline int64_t cpu_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline cpu_reducer cpu_reducer_of(const wg_call *c, const wg_axes *axes,
                                         const reduction *how)
{
    const wg_shape *x = &c->node->in[0]->shape;
    cpu_reducer r = {.how = how,
                     .attrs = c->node->attrs,
                     .in = c->in[0],
                     .out = c->out[0],
                     .inner = 1,
                     .along = true,
                     .runs = 1,
                     .width = 1};
    wg_axes set = wg_normalize_axes(axes, x->rank);
    int64_t stride[WG_MAX_RANK], outputs = 1;
    bool reduced[WG_MAX_RANK] = {false}, before = false, any = false;
    wg_shape_strides(x, stride);
    for (int i = 0; i < set.count; i++)
        reduced[set.axis[i]] = true;
    for (int i = 0; i < x->rank; i++) {
        cpu_groups *g = reduced[i] ? &r.reduced : &r.kept;
        if (x->dim[i] == 1)
            continue;
        if (!any || before != reduced[i])
            g->size[g->count++] = 1;
        g->size[g->count - 1] *= x->dim[i];
        g->stride[g->count - 1] = stride[i];
        before = reduced[i];
        any = true;
    }
    if (any) {
        r.along = before;
        cpu_groups *last = r.along ? &r.reduced : &r.kept;
        r.inner = last->size[--last->count];
    }
    for (int i = 0; i < r.reduced.count; i++)
        r.runs *= r.reduced.size[i];
    for (int i = 0; i < r.kept.count; i++)
        outputs *= r.kept.size[i];
    r.width = r.along ? 1 : CPU_COLUMNS;
    r.pieces = (r.inner + CPU_RUN - 1) / CPU_RUN;
    r.blocks = r.along ? outputs : outputs * ((r.inner + CPU_COLUMNS - 1) / CPU_COLUMNS);
    r.units = r.along ? r.runs * r.pieces : (r.runs + CPU_TILE - 1) / CPU_TILE;
    return r;
}

/* The units [from, to) of one result, whose elements start at x. */
static inline void cpu_reduce_along(const cpu_reducer *r, const real *x, int64_t from, int64_t to,
                                    partial *p)
{
    for (int64_t u = from; u < to; u++) {
        int64_t start = u % r->pieces * CPU_RUN;
        const real *run = x + cpu_group_offset(&r->reduced, u / r->pieces) + start;
        r->how->take(p, run, cpu_min(r->inner - start, CPU_RUN), r->attrs);
    }
}

/* The units [from, to) of `width` results side by side. */
static inline void cpu_reduce_across(const cpu_reducer *r, const real *x, int64_t width,
                                     int64_t from, int64_t to, partial *p)
{
    const real *row[CPU_TILE];
    real column[CPU_COLUMNS][CPU_TILE];
    for (int64_t u = from; u < to; u++) {
        int64_t rows = cpu_min(r->runs - u * CPU_TILE, CPU_TILE);
        for (int64_t i = 0; i < rows; i++)
            row[i] = x + cpu_group_offset(&r->reduced, u * CPU_TILE + i);
        if (r->how->take_rows) {
            r->how->take_rows(p, row, rows, width, r->attrs);
            continue;
        }
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < width; j++)
                column[j][i] = row[i][j];
        for (int64_t j = 0; j < width; j++)
            r->how->take(&p[j], column[j], rows, r->attrs);
    }
}

/* The units [from, to) of block b into p[0..width); returns where its results belong. */
static inline real *cpu_reduce_block(const cpu_reducer *r, int64_t b, int64_t from, int64_t to,
                                     partial *p, int64_t *width)
{
    if (r->along) {
        *width = 1;
        cpu_reduce_along(r, r->in + cpu_group_offset(&r->kept, b), from, to, p);
        return r->out + b;
    }
    int64_t across = (r->inner + CPU_COLUMNS - 1) / CPU_COLUMNS, first = b % across * CPU_COLUMNS;
    *width = cpu_min(r->inner - first, CPU_COLUMNS);
    cpu_reduce_across(r, r->in + cpu_group_offset(&r->kept, b / across) + first, *width, from, to,
                      p);
    return r->out + b / across * r->inner + first;
}

static inline void cpu_reduce_finish(const cpu_reducer *r, const partial *p, int64_t width,
                                     real *out)
{
    for (int64_t j = 0; j < width; j++)
        out[j] = r->how->result(&p[j], r->attrs);
}

static inline void cpu_reduce_blocks(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    (void)c;
    const cpu_reducer *r = loop;
    for (int64_t b = first; b < end; b++) {
        partial p[CPU_COLUMNS];
        int64_t width;
        memset(p, 0, (size_t)r->width * sizeof *p);
        real *out = cpu_reduce_block(r, b, 0, r->units, p, &width);
        cpu_reduce_finish(r, p, width, out);
    }
}

static inline void cpu_reduce(wg_call *c, const wg_axes *axes, const reduction *how)
{
    cpu_reducer r = cpu_reducer_of(c, axes, how);
    int64_t work = cpu_count(c->node->in[0]);
    if (r.blocks >= CPU_PARTS || work < 1 << 15 || r.units < 2) {
        cpu_share(c, &r, r.blocks, cpu_threads(c, work), cpu_reduce_blocks);
        return;
    }
    /* One parallel region for all blocks: on a busy machine its end may cost milliseconds. */
    enum { MAX_PARTS = 2 * CPU_PARTS };
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): where there is work, there are blocks */
    int64_t parts = cpu_min(r.units, (CPU_PARTS + r.blocks - 1) / r.blocks);
    partial p[MAX_PARTS][CPU_COLUMNS] = {{{0}}};
    int64_t width[MAX_PARTS];
    real *out[MAX_PARTS];
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, work))
    for (int64_t i = 0; i < r.blocks * parts; i++) {
        int64_t part = i % parts;
        out[i] = cpu_reduce_block(&r, i / parts, r.units * part / parts,
                                  r.units * (part + 1) / parts, p[i], &width[i]);
    }
    for (int64_t first = 0; first < r.blocks * parts; first += parts) {
        for (int64_t i = 1; i < parts; i++)
            for (int64_t j = 0; j < width[first]; j++)
                how->join(&p[first][j], &p[first + i][j]);
        cpu_reduce_finish(&r, p[first], width[first], out[first]);
    }
}

#endif
