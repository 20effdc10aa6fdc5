/* The vocabulary of shape rules.  Each check answers false after sticking an error that names the
 * op, the operands, both numbers, the scope and the line. */
#include "graph/element.h"
#include "graph/internal.h"

#include <string.h>

bool wg_fail(wg_node *n, wg_status status, const char *format, ...)
{
    wg_graph *g = n->graph;
    if (g->status != WG_OK)
        return false;
    char text[1400], what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    wgi_graph_stick(g, status, "%s", wg_node_message(n, what, text, sizeof text));
    return false;
}

bool wg_set_result_count(wg_node *n, int count)
{
    if (count < 0)
        return wg_fail(n, WG_EINVAL, "%d results", count);
    if (n->out) /* a re-derivation (wg_graph_verify): the number must come out the same */
        return count == n->n_out || wg_fail(n, WG_EINVAL, "%d results, not %d", n->n_out, count);
    wgi_arena *a = &n->graph->arena;
    n->out = wgi_arena_alloc(a, sizeof *n->out * (size_t)(count ? count : 1));
    wg_value *v = n->out ? wgi_arena_alloc(a, sizeof *v * (size_t)(count ? count : 1)) : NULL;
    if (!v)
        return wgi_graph_no_memory(n->graph) != NULL;
    for (int i = 0; i < count; i++) {
        v[i] = (wg_value){.node = n, .index = i};
        n->out[i] = &v[i];
    }
    n->n_out = count;
    return true;
}

bool wg_set_result(wg_node *n, int i, wg_dtype dtype, wg_shape shape)
{
    char text[160];
    if (i < 0 || i >= n->n_out)
        return wg_fail(n, WG_EINVAL, "its shape rule sets result %d of %d", i, n->n_out);
    if (wg_dtype_size(dtype) == 0)
        return wg_fail(n, WG_EDTYPE, "dtype %d is unknown", (int)dtype);
    if (shape.rank < 0 || shape.rank > WG_MAX_RANK)
        return wg_fail(n, WG_ESHAPE, "rank %d is outside 0..%d", shape.rank, WG_MAX_RANK);
    for (int k = 0; k < shape.rank; k++)
        if (shape.dim[k] < 0)
            return wg_fail(n, WG_ESHAPE, "the shape %s has a negative size",
                           wg_shape_text(&shape, text, sizeof text));
    if (!wg_shape_valid(&shape, dtype))
        return wg_fail(n, WG_ESHAPE, "the bytes of %s%s overflow 64 bits", wg_dtype_name(dtype),
                       wg_shape_text(&shape, text, sizeof text));
    for (int k = shape.rank; k < WG_MAX_RANK; k++)
        shape.dim[k] = 0;
    n->out[i]->dtype = dtype;
    n->out[i]->shape = shape;
    return true;
}

static const char *operand(const wg_node *n, int i, char *text, size_t size)
{
    return wg_op_operand_name(n->op, i, text, size);
}

/* An operand that may be left out may be absent where a rule asks for it. */
static bool has_operand(wg_node *n, int i)
{
    return (i >= 0 && i < n->n_in) ||
           wg_fail(n, WG_EINVAL, "its shape rule asks for operand %d of %d", i, n->n_in);
}

static bool need(wg_node *n, int i, bool ok, const char *wanted)
{
    char name[64];
    return ok || wg_fail(n, WG_EDTYPE, "%s is %s, must be %s", operand(n, i, name, sizeof name),
                         wg_dtype_name(n->in[i]->dtype), wanted);
}

bool wg_need_float(wg_node *n, int i)
{
    return has_operand(n, i) &&
           need(n, i, wg_dtype_is_float(n->in[i]->dtype), "f32, f64, bf16 or f16");
}

bool wg_need_int(wg_node *n, int i)
{
    return has_operand(n, i) && need(n, i, wg_dtype_is_int(n->in[i]->dtype), "i32 or i64");
}

bool wg_need_number(wg_node *n, int i)
{
    return has_operand(n, i) &&
           need(n, i, wg_dtype_is_float(n->in[i]->dtype) || wg_dtype_is_int(n->in[i]->dtype),
                "f32, f64, bf16, f16, i32 or i64");
}

bool wg_need_dtype(wg_node *n, int i, wg_dtype dtype)
{
    return has_operand(n, i) && need(n, i, n->in[i]->dtype == dtype, wg_dtype_name(dtype));
}

bool wg_need_held(wg_node *n, const char *name, double x, wg_dtype dtype)
{
    return wgi_can_hold(dtype, x) || wg_fail(n, WG_EDTYPE, "%s is %.10g, which %s cannot hold",
                                             name, x, wg_dtype_name(dtype));
}

bool wg_need_same_dtype(wg_node *n, int i, int j)
{
    char a[64], b[64];
    if (!has_operand(n, i) || !has_operand(n, j))
        return false;
    return n->in[i]->dtype == n->in[j]->dtype ||
           wg_fail(n, WG_EDTYPE, "%s is %s but %s is %s", operand(n, i, a, sizeof a),
                   wg_dtype_name(n->in[i]->dtype), operand(n, j, b, sizeof b),
                   wg_dtype_name(n->in[j]->dtype));
}

bool wg_need_same_shape(wg_node *n, int i, int j)
{
    char a[64], b[64], as[160], bs[160];
    if (!has_operand(n, i) || !has_operand(n, j))
        return false;
    return wg_shape_equal(&n->in[i]->shape, &n->in[j]->shape) ||
           wg_fail(n, WG_ESHAPE, "%s is %s but %s is %s", operand(n, i, a, sizeof a),
                   wg_shape_text(&n->in[i]->shape, as, sizeof as), operand(n, j, b, sizeof b),
                   wg_shape_text(&n->in[j]->shape, bs, sizeof bs));
}

bool wg_need_rank(wg_node *n, int i, int min, int max)
{
    char name[64], shape[160];
    if (!has_operand(n, i))
        return false;
    int rank = n->in[i]->shape.rank;
    if (rank >= min && rank <= max)
        return true;
    operand(n, i, name, sizeof name);
    wg_shape_text(&n->in[i]->shape, shape, sizeof shape);
    if (min == max)
        return wg_fail(n, WG_ESHAPE, "%s is %s of rank %d, must be of rank %d", name, shape, rank,
                       min);
    if (max >= WG_MAX_RANK)
        return wg_fail(n, WG_ESHAPE, "%s is %s of rank %d, must be of rank %d or more", name, shape,
                       rank, min);
    return wg_fail(n, WG_ESHAPE, "%s is %s of rank %d, must be of rank %d to %d", name, shape, rank,
                   min, max);
}

bool wg_need_dim(wg_node *n, int i, int axis, int64_t size)
{
    char name[64], shape[160];
    if (!has_operand(n, i))
        return false;
    const wg_shape *s = &n->in[i]->shape;
    int k = wg_normalize_axis(axis, s->rank);
    operand(n, i, name, sizeof name);
    wg_shape_text(s, shape, sizeof shape);
    if (k < 0 || k >= s->rank)
        return wg_fail(n, WG_ESHAPE, "%s is %s, it has no axis %d", name, shape, axis);
    return s->dim[k] == size ||
           wg_fail(n, WG_ESHAPE, "%s is %s, its axis %d must be %lld, not %lld", name, shape, axis,
                   (long long)size, (long long)s->dim[k]);
}

int wg_normalize_axis(int64_t axis, int rank)
{
    return axis < -rank || axis >= rank ? -1 : (int)(axis < 0 ? axis + rank : axis);
}

bool wg_need_axis(wg_node *n, int i, int64_t axis, int *out)
{
    char name[64], shape[160];
    if (!has_operand(n, i))
        return false;
    const wg_shape *s = &n->in[i]->shape;
    *out = wg_normalize_axis(axis, s->rank);
    if (*out >= 0)
        return true;
    return wg_fail(n, WG_ESHAPE, "axis %lld is outside %s, which is %s", (long long)axis,
                   operand(n, i, name, sizeof name), wg_shape_text(s, shape, sizeof shape));
}

wg_axes wg_normalize_axes(const wg_axes *axes, int rank)
{
    bool chosen[WG_MAX_RANK] = {false};
    wg_axes out = {0};
    for (int i = 0; i < axes->count; i++) {
        int k = wg_normalize_axis(axes->axis[i], rank);
        if (k >= 0)
            chosen[k] = true;
    }
    for (int k = 0; k < rank; k++)
        if (chosen[k] || axes->count == 0)
            out.axis[out.count++] = k;
    return out;
}

bool wg_need_axes(wg_node *n, int i, const wg_axes *axes, wg_axes *out)
{
    bool chosen[WG_MAX_RANK] = {false};
    if (!has_operand(n, i))
        return false;
    if (axes->count < 0 || axes->count > WG_MAX_RANK)
        return wg_fail(n, WG_ESHAPE, "the list has %d axes, must have 0 to %d", axes->count,
                       WG_MAX_RANK);
    for (int k = 0; k < axes->count; k++) {
        int axis;
        if (!wg_need_axis(n, i, axes->axis[k], &axis))
            return false;
        if (chosen[axis])
            return wg_fail(n, WG_ESHAPE, "axis %d is given twice", axes->axis[k]);
        chosen[axis] = true;
    }
    *out = wg_normalize_axes(axes, n->in[i]->shape.rank);
    return true;
}

bool wg_need_broadcast(wg_node *n, const wg_shape *a, const wg_shape *b, wg_shape *out)
{
    char as[160], bs[160];
    wg_shape s = {.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 1; i <= s.rank; i++) { /* from the last axis */
        int64_t x = i <= a->rank ? a->dim[a->rank - i] : 1;
        int64_t y = i <= b->rank ? b->dim[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1)
            return wg_fail(n, WG_ESHAPE,
                           "%s and %s do not broadcast: sizes %lld and %lld at axis %d",
                           wg_shape_text(a, as, sizeof as), wg_shape_text(b, bs, sizeof bs),
                           (long long)x, (long long)y, -i);
        s.dim[s.rank - i] = x == 1 ? y : x;
    }
    *out = s;
    return true;
}

wg_shape wg_shape_reduced(const wg_shape *shape, const wg_axes *axes, wg_keep keep)
{
    bool reduced[WG_MAX_RANK] = {false};
    for (int i = 0; i < axes->count; i++)
        reduced[axes->axis[i]] = true;
    wg_shape out = {0};
    for (int i = 0; i < shape->rank; i++)
        if (!reduced[i])
            out.dim[out.rank++] = shape->dim[i];
        else if (keep)
            out.dim[out.rank++] = 1;
    return out;
}
