/* Reading and writing at indices. */
#include "onnx/ops.h"

#include <string.h>

/* Operand 1 as indices of an axis of that size: those below 0 count from its end, which known ones
 * do now. */
static wg_value *ids_of(ox_node *n, int64_t size)
{
    wg_value *ids = wgi_ox_in(n, 1);
    ox_ints known;
    if (!ids || !wgi_ox_known(n, 1) || wg_value_count(ids) > 1 << 20)
        return wgi_ox_from_end(ids, size);
    if (!wgi_ox_ints_in(n, 1, &known))
        return NULL;
    int64_t *at = wgi_ox_alloc(n, (known.n + 1) * sizeof *at);
    bool any = false;
    for (size_t i = 0; at && i < known.n; i++) {
        at[i] = known.at[i] < 0 ? known.at[i] + size : known.at[i];
        any |= known.at[i] < 0;
        if (at[i] < 0 || at[i] >= size)
            return wgi_ox_fail(n, WG_EDATA, "index %lld of an axis of size %lld",
                               (long long)known.at[i], (long long)size);
    }
    return any && at ? wg_constant(n->graph, WG_I64, ids->shape, at) : ids;
}

static int axis_of(ox_node *n, const wg_value *x)
{
    return x ? wgi_ox_axis(n, wgi_ox_int(n, "axis", 0), x->shape.rank) : -1;
}

wg_value *wgi_ox_gather(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int axis = axis_of(n, x);
    if (axis < 0)
        return NULL;
    wg_value *ids = ids_of(n, x->shape.dim[axis]);
    bool rows = axis == 0 && x->shape.rank == 2 && wg_dtype_is_float(x->dtype);
    return rows ? wg_embedding(x, ids) : wg_take(x, ids, axis);
}

wg_value *wgi_ox_gather_elements(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    int axis = axis_of(n, x);
    return axis < 0 ? NULL : wg_gather(x, ids_of(n, x->shape.dim[axis]), axis);
}

typedef wg_value *scatterer(const char *at, wg_value *x, wg_value *ids, wg_value *src, int axis);

wg_value *wgi_ox_scatter_elements(ox_node *n)
{
    static const struct {
        const char *name;
        scatterer *f;
    } kinds[] = {{"none", (wg_scatter)},
                 {"add", (wg_scatter_add)},
                 {"max", (wg_scatter_max)},
                 {"min", (wg_scatter_min)}};
    wg_value *x = wgi_ox_in(n, 0);
    const char *how = wgi_ox_word(n, "reduction", "none");
    int axis = axis_of(n, x);
    for (int i = 0; axis >= 0 && i < WG_COUNT(kinds); i++)
        if (strcmp(kinds[i].name, how) == 0)
            return kinds[i].f(NULL, x, ids_of(n, x->shape.dim[axis]), wgi_ox_in(n, 2), axis);
    return axis < 0 ? NULL : wgi_ox_refuse(n, "reduction '%s'", how);
}

/* ---- tuples of indices ----------------------------------------------------------------------- */

/* ids [..., k] are positions in the first k of the axes from `first` on, of sizes `dim`: the
 * numbers of these positions in row-major order, [..].  *outside: where one lies outside its axis,
 * though the number may lie inside. */
static wg_value *places(wg_value *ids, const int64_t *dim, int64_t k, wg_value **outside)
{
    wg_value *place = NULL;
    *outside = NULL;
    wg_shape s = ids->shape;
    int last = --s.rank;
    for (int64_t j = 0; j < k; j++) {
        wg_value *one = wg_reshape(wg_slice(ids, last, j, j + 1, 1), s);
        one = wgi_ox_from_end(one, dim[j]);
        wg_value *wrong = wg_logical_or(wg_less(one, wg_scalar_like(one, 0)),
                                        wg_greater_equal(one, wg_scalar_like(one, (double)dim[j])));
        *outside = *outside ? wg_logical_or(*outside, wrong) : wrong;
        place = place ? wg_add(wg_scale(place, (double)dim[j]), one) : one;
    }
    return place;
}

/* The place, or -2^62, which no op takes for a row, where an index lies outside. */
static wg_value *checked(wg_value *place, wg_value *outside)
{
    return wg_where(outside, wg_scalar_like(place, -0x1p62), place);
}

static int64_t product(const int64_t *dim, int64_t n)
{
    int64_t p = 1;
    for (int64_t i = 0; i < n; i++)
        p *= dim[i];
    return p;
}

/* Whether x and the tuples have the same first axes. */
static bool same_batch(ox_node *n, const wg_value *x, const wg_value *ids, int64_t batch)
{
    for (int64_t i = 0; i < batch; i++)
        if (ids->shape.dim[i] != x->shape.dim[i]) {
            wgi_ox_fail(n, WG_ESHAPE,
                        "axis %lld of the tuples: expected %lld, as of data, got %lld",
                        (long long)i, (long long)x->shape.dim[i], (long long)ids->shape.dim[i]);
            return false;
        }
    return true;
}

/* The length k of the tuples that operand 1 has; 0 after an error. */
static int64_t tuple_length(ox_node *n, const wg_value *x, const wg_value *ids, int64_t batch)
{
    int64_t k = ids->shape.rank ? ids->shape.dim[ids->shape.rank - 1] : 0;
    if (k >= 1 && batch >= 0 && batch < ids->shape.rank && k <= x->shape.rank - batch)
        return same_batch(n, x, ids, batch) ? k : 0;
    wgi_ox_fail(n, WG_ESHAPE, "tuples of %lld indices, with %lld axes of the batch, for rank %d",
                (long long)k, (long long)batch, x->shape.rank);
    return 0;
}

/* With the axes of the batch as one of size B, the indexed ones as one of size P: row b P + place
 * of the matrix [B P, rest]. */
wg_value *wgi_ox_gather_nd(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *ids = wgi_ox_in(n, 1);
    int64_t batch = wgi_ox_int(n, "batch_dims", 0);
    int64_t k = x && ids ? tuple_length(n, x, ids, batch) : 0;
    if (!k)
        return NULL;
    const int64_t *dim = x->shape.dim;
    int64_t b = product(dim, batch), p = product(dim + batch, k),
            rest = product(dim + batch + k, x->shape.rank - batch - k);
    wg_value *outside, *place = places(wgi_ox_cast(ids, WG_I64), dim + batch, k, &outside);
    if (!place || b * p == 0)
        return place ? wgi_ox_refuse(n, "an empty tensor") : NULL;
    wg_shape s = place->shape;
    place = wg_reshape(checked(place, outside), WG_SHAPE(b, wg_value_count(place) / b));
    place = wg_add(place, wg_iota(n->graph, WG_I64, WG_SHAPE(b, 1), 0, 0, (double)p));
    wg_value *y = wg_take(wg_reshape(x, WG_SHAPE(b * p, rest)), place, 0);
    if (s.rank + x->shape.rank - (int)(batch + k) > WG_MAX_RANK)
        return wgi_ox_refuse(n, "a result of more than %d axes", WG_MAX_RANK);
    for (int64_t i = batch + k; i < x->shape.rank; i++)
        s.dim[s.rank++] = dim[i];
    return wg_reshape(y, s);
}

/* Rows [P, rest], those of the tuples replaced, or reduced with what is there. */
static wg_value *scatter_rows(ox_node *n, wg_value *x, wg_value *ids, wg_value *rows)
{
    const char *how = wgi_ox_word(n, "reduction", "none");
    if (!x || !ids)
        return NULL;
    int64_t p = x->shape.dim[0];
    if (strcmp(how, "none") == 0)
        return wg_put_rows(x, ids, rows);
    if (strcmp(how, "add") == 0)
        return wg_add(x, wg_segment_sum(rows, ids, 0, p));
    if (strcmp(how, "max") == 0)
        return wg_maximum(x, wg_segment_max(rows, ids, 0, p));
    if (strcmp(how, "min") == 0)
        return wg_minimum(x, wg_segment_min(rows, ids, 0, p));
    return wgi_ox_refuse(n, "reduction '%s'", how);
}

wg_value *wgi_ox_scatter_nd(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *ids = wgi_ox_in(n, 1), *src = wgi_ox_in(n, 2);
    int64_t k = x && ids && src ? tuple_length(n, x, ids, 0) : 0;
    if (!k)
        return NULL;
    int64_t p = product(x->shape.dim, k), rest = product(x->shape.dim + k, x->shape.rank - k);
    wg_value *outside, *place = places(wgi_ox_cast(ids, WG_I64), x->shape.dim, k, &outside);
    place = checked(place, outside);
    int64_t count = wg_value_count(place);
    wg_value *y =
        scatter_rows(n, wg_reshape(x, WG_SHAPE(p, rest)), wg_reshape(place, WG_SHAPE(count)),
                     wg_reshape(src, WG_SHAPE(count, rest)));
    return wg_reshape(y, x->shape);
}

/* ---- what else moves along an axis ----------------------------------------------------------- */

/* Position t of sequence b is read at lengths[b] - 1 - t, or at t from lengths[b] on. */
wg_value *wgi_ox_reverse_sequence(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *lengths = wgi_ox_cast(wgi_ox_in(n, 1), WG_I64);
    int64_t time = wgi_ox_int(n, "time_axis", 0), batch = wgi_ox_int(n, "batch_axis", 1);
    if (!x || !lengths)
        return NULL;
    bool known = (time == 0 && batch == 1) || (time == 1 && batch == 0);
    if (!known || x->shape.rank < 2)
        return wgi_ox_refuse(n, "time_axis %lld and batch_axis %lld", (long long)time,
                             (long long)batch);
    wg_shape s = WG_SHAPE(1, 1);
    s.dim[batch] = x->shape.dim[batch];
    s.rank = 2;
    for (; s.rank < x->shape.rank; s.rank++)
        s.dim[s.rank] = 1;
    lengths = wg_expand(wg_reshape(lengths, s), x->shape);
    wg_value *t = wg_iota(n->graph, WG_I64, x->shape, (int)time, 0, 1);
    wg_value *back = wg_shift(wg_sub(lengths, t), -1);
    return wg_gather(x, wg_where(wg_less(t, lengths), back, t), (int)time);
}

/* The elements for which a condition holds that is known while the file is read. */
wg_value *wgi_ox_compress(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    ox_ints condition;
    if (!x || !wgi_ox_ints_in(n, 1, &condition))
        return NULL;
    bool flat = !wgi_ox_attribute(n, "axis");
    int axis = flat ? 0 : axis_of(n, x);
    int64_t *at = wgi_ox_alloc(n, (condition.n + 1) * sizeof *at), count = 0;
    for (size_t i = 0; at && i < condition.n; i++)
        if (condition.at[i])
            at[count++] = (int64_t)i;
    if (axis < 0 || !at)
        return NULL;
    x = flat ? wg_reshape(x, WG_SHAPE(wg_value_count(x))) : x;
    return wg_take(x, wgi_ox_indices(n->graph, at, count), axis);
}

/* The positions of numbers other than 0, which must be known: they give the result its shape. */
wg_value *wgi_ox_non_zero(ox_node *n)
{
    const wg_value *x = wgi_ox_in(n, 0);
    ox_reals numbers;
    if (!x || !wgi_ox_reals_in(n, 0, &numbers))
        return NULL;
    int64_t rank = x->shape.rank, count = 0, found = 0, stride[WG_MAX_RANK];
    wg_shape_strides(&x->shape, stride);
    for (size_t i = 0; i < numbers.n; i++)
        count += numbers.at[i] != 0;
    int64_t *at = wgi_ox_alloc(n, (size_t)(rank * count + 1) * sizeof *at);
    for (size_t i = 0; at && i < numbers.n; i++) {
        if (numbers.at[i] == 0)
            continue;
        for (int64_t k = 0; k < rank; k++)
            at[k * count + found] = (int64_t)i / stride[k] % x->shape.dim[k];
        found++;
    }
    n->type[0] = wgi_ox_type_of(WG_I64);
    return at ? wg_constant(n->graph, WG_I64, WG_SHAPE(rank, count), at) : NULL;
}
