/* Planes in another size, and the transpose of that map: both are sums over taps along the rows and
 * along the columns (kernels/resample.c), which are listed first. */
#include "backends/simd/internal.h"
#include "wengert/ops/upsample.h"

/* One axis of a node.  Elements [to] of upsample2d read elements [from]; its gradient adds to
 * [from] what they read. */
typedef struct axis {
    const wg_upsample_attrs *attrs;
    int64_t from, to;
    bool transposed;
} axis;

static axis axis_of(const wg_node *n, int i)
{
    bool transposed = n->op == &wg_op_upsample2d_grad;
    const int64_t *x = n->in[0]->shape.dim, *y = n->out[0]->shape.dim;
    return (axis){n->attrs, (transposed ? y : x)[i], (transposed ? x : y)[i], transposed};
}

/* At least the number of taps of any element.  The transpose sums for an element those that lie
 * less than 1 (cubic: 2) from it, in its units, where (to - 1) / (from - 1) of them make 1 if
 * corners are aligned, and to / from if not: there, the second one has all that lie before the
 * first as well, another half, and the last one counts as many twice.  Of cubic taps, three lie on
 * the first element for those before it, two for those in the next interval and one in that
 * behind: 4 intervals and a half. */
static int64_t most_taps(const axis *s)
{
    bool cubic = s->attrs->mode == WG_BICUBIC;
    if (s->from == s->to)
        return 1;
    if (!s->transposed)
        return cubic ? 4 : 2;
    if (s->from == 1)
        return (cubic ? 4 : 2) * s->to;
    if (cubic)
        return s->attrs->align_corners ? 4 * (s->to - 1) / (s->from - 1) + 8
                                       : 9 * s->to / (2 * s->from) + 8;
    return s->attrs->align_corners ? 2 * (s->to - 1) / (s->from - 1) + 3
                                   : 5 * s->to / (2 * s->from) + 3;
}

/* ---- the list of taps ------------------------------------------------------------------------ */

/* Written into memory for most_taps(s) times t->to numbers. */
typedef struct list {
    simd_taps t;
    int32_t *index;
    float *weight;
} list;

/* Element o gets one more. */
static void add_tap(list *l, int64_t o, int64_t index, double weight)
{
    int64_t k = 0, to = l->t.to;
    while (k < l->t.most && l->index[k * to + o] < l->t.from)
        k++;
    for (int64_t i = 0; k == l->t.most && i < to; i++) {
        l->index[k * to + i] = (int32_t)l->t.from;
        l->weight[k * to + i] = 0;
    }
    l->t.most = k < l->t.most ? l->t.most : k + 1;
    l->index[k * to + o] = (int32_t)index;
    l->weight[k * to + o] = (float)weight;
}

static simd_taps list_taps(const axis *s, int32_t *index, float *weight)
{
    bool back = s->transposed;
    list l = {.t = {.from = back ? s->to : s->from, .to = back ? s->from : s->to},
              .index = index,
              .weight = weight};
    for (int64_t o = 0; o < s->to; o++) {
        wg_upsample_taps t = wg_upsample_taps_of(s->attrs, s->from, s->to, o);
        for (int k = 0; k < t.count; k++)
            add_tap(&l, back ? t.index[k] : o, back ? o : t.index[k], t.weight[k]);
    }
    l.t.index = index;
    l.t.weight = weight;
    return l.t;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Numbers of the lists, of both a weight and an index, and of the threads' rooms */
typedef struct sizes {
    int64_t of_rows, of_columns, of_rooms;
} sizes;

static sizes sizes_of(const wg_node *n, int threads)
{
    axis rows = axis_of(n, 2), columns = axis_of(n, 3);
    const int64_t *to = n->out[0]->shape.dim, *from = n->in[0]->shape.dim;
    if (from[3] == to[3])
        return (sizes){.of_rows = most_taps(&rows) * to[2]};
    int64_t ring = from[2] < to[2] ? most_taps(&rows) : 0;
    return (sizes){most_taps(&rows) * to[2], most_taps(&columns) * to[3],
                   threads * simd_resample_scratch(from[3], to[3], ring)};
}

static size_t scratch(const wg_node *n, int threads)
{
    sizes s = sizes_of(n, threads);
    return (size_t)(2 * (s.of_rows + s.of_columns) + s.of_rooms) * sizeof(float);
}

static void run(wg_call *c)
{
    const wg_node *n = c->node;
    const sizes s = sizes_of(n, c->threads);
    axis rows = axis_of(n, 2), columns = axis_of(n, 3);
    float *weights = (float *)c->scratch + s.of_rooms;
    int32_t *indices = (int32_t *)(void *)(weights + s.of_rows + s.of_columns);
    simd_resample a = {.x = c->in[0],
                       .y = c->out[0],
                       .planes = n->in[0]->shape.dim[0] * n->in[0]->shape.dim[1],
                       .rows = list_taps(&rows, indices, weights),
                       .columns = {.from = columns.from, .to = columns.to},
                       .threads = c->threads,
                       .scratch = c->scratch};
    if (columns.from != columns.to)
        a.columns = list_taps(&columns, indices + s.of_rows, weights + s.of_rows);
    simd_kernels(c)->resample(&a);
}

/* Each tap of an element is looked for among those before. */
static const char *refuses(const wg_node *n)
{
    enum { MANY = 64 };
    const char *why = wgi_simd_refuses_empty(n);
    if (why)
        return why;
    axis rows = axis_of(n, 2), columns = axis_of(n, 3);
    return most_taps(&rows) > MANY || most_taps(&columns) > MANY ? "many taps" : NULL;
}

const simd_kernel wgi_simd_upsample[] = {
    {&wg_op_upsample2d, "taps", refuses, scratch, run},
    {&wg_op_upsample2d_grad, "taps", refuses, scratch, run},
    {.op = NULL},
};
