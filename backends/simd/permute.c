/* Permutations that change the innermost axis: transposes of matrices that lie in larger
 * tensors. */

#include "backends/axes.h"
#include "backends/simd/internal.h"
#include "wengert/ops/movement.h"

enum { LEAST = 64 }; /* numbers of a matrix: below, a task takes longer than the plain copy */

/* The matrices to transpose, and where they lie.  columns 0: the innermost axis of the result is
 * that of x. */
static simd_permute transposes_of(const wg_node *n)
{
    const wg_axes *order = &((const wg_permute_attrs *)n->attrs)->order;
    const wg_shape *s = &n->out[0]->shape;
    int64_t dense[WG_MAX_RANK], to[WG_MAX_RANK], from[WG_MAX_RANK];
    wg_shape_strides(&n->in[0]->shape, dense);
    wg_shape_strides(s, to);
    for (int i = 0; i < order->count; i++)
        from[i] = dense[wg_normalize_axis(order->axis[i], order->count)];
    wgi_axes all = wgi_axes_merged(s, to, from);
    simd_permute p = {.rows = all.size[0], .x_step = all.from[0], .matrices = 1};
    for (int i = 1; i < all.rank; i++)
        if (all.from[i] == 1) {
            p.columns = all.size[i];
            p.y_step = all.to[i];
        } else {
            p.size[p.rank] = all.size[i];
            p.x_stride[p.rank] = all.from[i];
            p.y_stride[p.rank++] = all.to[i];
            p.matrices *= all.size[i];
        }
    return p;
}

static const char *refuses(const wg_node *n)
{
    size_t bytes = wg_dtype_size(n->in[0]->dtype);
    if (bytes != 4 && bytes != 8)
        return "neither of 4 nor of 8 bytes";
    if (wg_value_count(n->in[0]) == 0)
        return "an empty result";
    simd_permute p = transposes_of(n);
    if (p.columns == 0)
        return "whole rows are copied";
    return p.rows * p.columns < LEAST ? "small matrices" : NULL;
}

static void run(wg_call *c)
{
    simd_permute p = transposes_of(c->node);
    p.x = c->in[0];
    p.y = c->out[0];
    p.threads = c->threads;
    simd_of_size(c, c->node->in[0]->dtype)->permute(&p);
}

const simd_kernel wgi_simd_permute[] = {
    {&wg_op_permute, "transposes", refuses, NULL, run},
    {.op = NULL},
};
