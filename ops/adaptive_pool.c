/* Pooling to a size: along an axis of n elements, the i-th of m windows begins at floor(i n / m)
 * and ends before ceil((i + 1) n / m).  They are rectangles, so that H and W are reduced one after
 * the other; where they all have the same size and do not overlap, by one node of max_pool2d or
 * avg_pool2d. */
#include "wengert/ops/ops.h"

#include <stdlib.h>

/* A pooling: its name, and how a window and windows of one size are reduced. */
typedef struct pooling {
    const char *name;
    wg_value *(*reduce)(const char *at, wg_value *x, wg_axes axes, wg_keep keep);
    wg_value *(*pool)(const char *at, wg_value *x, const wg_pool2d_options *options);
} pooling;

static const pooling max_pooling = {"adaptive_max_pool2d", (wg_max), (wg_max_pool2d)};
static const pooling avg_pooling = {"adaptive_avg_pool2d", (wg_mean), (wg_avg_pool2d)};

static wg_value *along(const char *at, const pooling *p, wg_value *x, int axis, int64_t m)
{
    if (!x)
        return NULL;
    const int64_t n = x->shape.dim[axis];
    wg_value **piece = calloc((size_t)m, sizeof *piece), *y = NULL;
    bool whole = piece;
    for (int64_t i = 0; whole && i < m; i++) {
        int64_t first = i * n / m, end = ((i + 1) * n + m - 1) / m;
        piece[i] = p->reduce(at, (wg_slice)(at, x, axis, first, end, 1), WG_AXES(axis), WG_KEEP);
        whole = piece[i];
    }
    if (whole)
        y = (wg_concat)(at, piece, (size_t)m, axis);
    else if (!piece)
        wg_graph_fail(wg_graph_of(x), WG_ENOMEM, at, p->name, "out of memory");
    free(piece);
    return y;
}

/* Windows are nodes: a size beyond this one is a mistake. */
enum { MOST = 1 << 16 };

static wg_value *adaptive(const char *at, const pooling *p, wg_value *x, int64_t P, int64_t Q)
{
    wg_graph *g = wg_graph_of(x);
    char shape[160];
    if (!x)
        return NULL;
    if (x->shape.rank != 4 || x->shape.dim[2] < 1 || x->shape.dim[3] < 1)
        return wg_graph_fail(g, WG_ESHAPE, at, p->name,
                             "x has shape %s, must be [N, C, H, W] with H and W at least 1",
                             wg_shape_text(&x->shape, shape, sizeof shape));
    if (P < 1 || P > MOST || Q < 1 || Q > MOST)
        return wg_graph_fail(g, WG_EINVAL, at, p->name, "%lld x %lld windows, must be 1 to %d each",
                             (long long)P, (long long)Q, MOST);
    int64_t H = x->shape.dim[2], W = x->shape.dim[3];
    if (H % P == 0 && W % Q == 0)
        return p->pool(at, x, &(wg_pool2d_options){.kernel = {H / P, W / Q}});
    return along(at, p, along(at, p, x, 2, P), 3, Q);
}

wg_value *(wg_adaptive_max_pool2d)(const char *at, wg_value *x, int64_t P, int64_t Q)
{
    return adaptive(at, &max_pooling, x, P, Q);
}

wg_value *(wg_adaptive_avg_pool2d)(const char *at, wg_value *x, int64_t P, int64_t Q)
{
    return adaptive(at, &avg_pooling, x, P, Q);
}
