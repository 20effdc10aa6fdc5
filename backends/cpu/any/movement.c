/* Movement of elements of 1, 2, 4 or 8 bytes: each kernel says with which strides its operand and
 * its result are walked. */
#include "backends/cpu/any/strided.h"
#include "backends/broadcast.h"
#include "backends/cpu/kernel.h"
#include "graph/element.h"
#include "ops/ops_internal.h"
#include "wengert/ops/concat.h"
#include "wengert/ops/movement.h"
#include "wengert/ops/slice.h"

/* A plan gives a view its operand's memory and calls no kernel; this one is for callers without a
 * planner. */
void wgi_cpu_reshape(wg_call *c)
{
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(c->node->out[0]));
}

void wgi_cpu_permute(wg_call *c)
{
    const wg_permute_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0], *y = c->node->out[0];
    cpu_walk dense = wgi_cpu_dense(&x->shape), walk = {0};
    for (int i = 0; i < a->order.count; i++)
        walk.stride[i] = dense.stride[wg_normalize_axis(a->order.axis[i], a->order.count)];
    wgi_cpu_copy(c, y->dtype, &y->shape, c->out[0], wgi_cpu_dense(&y->shape), c->in[0], walk);
}

void wgi_cpu_expand(wg_call *c)
{
    const wg_value *x = c->node->in[0], *y = c->node->out[0];
    cpu_walk walk = {0};
    wgi_broadcast_strides(&x->shape, &y->shape, walk.stride);
    wgi_cpu_copy(c, y->dtype, &y->shape, c->out[0], wgi_cpu_dense(&y->shape), c->in[0], walk);
}

void wgi_cpu_slice(wg_call *c)
{
    const wg_slice_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0], *y = c->node->out[0];
    if (cpu_count(y) == 0) /* then a start may lie outside x */
        return;
    wgi_cpu_copy(c, y->dtype, &y->shape, c->out[0], wgi_cpu_dense(&y->shape), c->in[0],
                 wgi_cpu_window(&x->shape, &a->start, &y->shape, &a->step));
}

void wgi_cpu_slice_grad(wg_call *c)
{
    const wg_slice_grad_attrs *a = c->node->attrs;
    const wg_value *dy = c->node->in[0], *dx = c->node->out[0];
    wgi_cpu_fill_with(c, dx->dtype, cpu_count(dx), c->out[0], 0);
    if (cpu_count(dy) == 0)
        return;
    wgi_cpu_copy(c, dx->dtype, &dy->shape, c->out[0],
                 wgi_cpu_window(&dx->shape, &a->start, &dy->shape, &a->step), c->in[0],
                 wgi_cpu_dense(&dy->shape));
}

void wgi_cpu_pad(wg_call *c)
{
    const wg_pad_attrs *a = c->node->attrs;
    const wg_value *x = c->node->in[0], *y = c->node->out[0];
    wg_shape ones = {.rank = x->shape.rank, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
    wgi_cpu_fill_with(c, y->dtype, cpu_count(y), c->out[0], a->value);
    if (cpu_count(x) == 0)
        return;
    wgi_cpu_copy(c, y->dtype, &x->shape, c->out[0],
                 wgi_cpu_window(&y->shape, &a->before, &x->shape, &ones), c->in[0],
                 wgi_cpu_dense(&x->shape));
}

/* The window of that size at `start`, operand 1, in a tensor of shape x; false, and the call has
 * failed, if it is not within x. */
static bool window_at(wg_call *c, const wg_shape *x, const wg_shape *size, cpu_walk *walk)
{
    wg_shape start = {.rank = x->rank}, ones = start;
    for (int k = 0; k < x->rank; k++) {
        int64_t at = wgi_get_int(c->in[1], c->node->in[1]->dtype, k);
        if (at < 0 || at > x->dim[k] - size->dim[k]) {
            wg_call_fail(c,
                         "start %lld of axis %d: %lld positions from there are not within [0,%lld)",
                         (long long)at, k, (long long)size->dim[k], (long long)x->dim[k]);
            return false;
        }
        start.dim[k] = at;
        ones.dim[k] = 1;
    }
    *walk = wgi_cpu_window(x, &start, size, &ones);
    return true;
}

void wgi_cpu_dynamic_slice(wg_call *c)
{
    const wg_value *x = c->node->in[0], *y = c->node->out[0];
    cpu_walk walk;
    if (window_at(c, &x->shape, &y->shape, &walk))
        wgi_cpu_copy(c, y->dtype, &y->shape, c->out[0], wgi_cpu_dense(&y->shape), c->in[0], walk);
}

void wgi_cpu_dynamic_update_slice(wg_call *c)
{
    const wg_value *x = c->node->in[0], *update = c->node->in[2];
    cpu_walk walk;
    if (!window_at(c, &x->shape, &update->shape, &walk))
        return;
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(x));
    wgi_cpu_copy(c, x->dtype, &update->shape, c->out[0], walk, c->in[2],
                 wgi_cpu_dense(&update->shape));
}

/* The end of x comes before its beginning. */
void wgi_cpu_roll(wg_call *c)
{
    const wg_roll_attrs *a = c->node->attrs;
    const wg_value *y = c->node->out[0];
    const int axis = wg_normalize_axis(a->axis, y->shape.rank);
    const int64_t end = wgi_rolled(c->node), beginning = y->shape.dim[axis] - end;
    const cpu_walk from_0 = wgi_cpu_dense(&y->shape);
    cpu_walk later = from_0;
    wg_shape part = y->shape;
    part.dim[axis] = end;
    later.start = beginning * from_0.stride[axis];
    wgi_cpu_copy(c, y->dtype, &part, c->out[0], from_0, c->in[0], later);
    part.dim[axis] = beginning;
    later.start = end * from_0.stride[axis];
    wgi_cpu_copy(c, y->dtype, &part, c->out[0], later, c->in[0], from_0);
}

void wgi_cpu_concat(wg_call *c)
{
    const wg_concat_attrs *a = c->node->attrs;
    const wg_value *y = c->node->out[0];
    cpu_walk walk = wgi_cpu_dense(&y->shape);
    int axis = wg_normalize_axis(a->axis, y->shape.rank);
    for (int i = 0; i < c->node->n_in; i++) {
        const wg_value *x = c->node->in[i];
        wgi_cpu_copy(c, y->dtype, &x->shape, c->out[0], walk, c->in[i], wgi_cpu_dense(&x->shape));
        walk.start += x->shape.dim[axis] * walk.stride[axis];
    }
}
