#include "tests/views.h"
#include "graph/element.h"
#include "wengert/ops/ops.h"

#include <math.h>

operand_view view_of(const wg_shape *s, uint64_t views, int i)
{
    const operand_view v = views ? (operand_view)((views >> 2 * i) % OPERAND_VIEWS) : AS_IT_IS;
    const bool possible = v != INNER_ROWS || (s->rank > 0 && wg_shape_count(s) > 0);
    return possible ? v : AS_IT_IS;
}

/* Elements of a row along axis 0. */
static int64_t row_size(const wg_shape *s)
{
    return wg_shape_count(s) / s->dim[0];
}

static wg_shape reversed_shape(const wg_shape *s)
{
    wg_shape r = *s;
    for (int k = 0; k < s->rank; k++)
        r.dim[k] = s->dim[s->rank - 1 - k];
    return r;
}

/* The operand of shape *s that is this view of a new input, *leaf. */
wg_value *view_make(wg_graph *g, const char *name, wg_dtype dtype, const wg_shape *s,
                    operand_view view, wg_value **leaf)
{
    wg_shape all = *s;
    wg_axes reversed = {.count = s->rank};
    if (view == INNER_ROWS)
        all.dim[0] += 2;
    for (int k = 0; k < s->rank; k++)
        reversed.axis[k] = s->rank - 1 - k;
    if (view == REVERSED_AXES)
        all = reversed_shape(s);
    *leaf = wg_input(g, name, dtype, view == FLAT ? WG_SHAPE(wg_shape_count(s)) : all);
    switch (view) {
    case FLAT: return wg_reshape(*leaf, *s);
    case INNER_ROWS: return wg_slice(*leaf, 0, 1, s->dim[0] + 1, 1);
    case REVERSED_AXES: return s->rank ? wg_permute(*leaf, reversed) : *leaf;
    default: return *leaf;
    }
}

/* Where element k of the operand is in the input. */
static int64_t place(const wg_shape *s, operand_view view, int64_t k)
{
    if (view == INNER_ROWS)
        return k + row_size(s);
    if (view != REVERSED_AXES)
        return k;
    int64_t at = 0;
    for (int a = s->rank - 1; a >= 0; k /= s->dim[a--]) {
        int64_t scale = 1;
        for (int b = 0; b < a; b++)
            scale *= s->dim[b];
        at += k % s->dim[a] * scale;
    }
    return at;
}

/* The elements of an input that its view leaves out are NaN, or the largest integers: none may
 * matter. */
void view_fill(void *data, const wg_value *leaf, const wg_shape *s, operand_view view,
               const void *from, wg_dtype drawn)
{
    for (int64_t k = 0; view == INNER_ROWS && k < wg_value_count(leaf); k++)
        wgi_put_element(data, leaf->dtype, k, wg_dtype_is_float(leaf->dtype) ? (double)NAN : 1e300);
    for (int64_t k = 0; k < wg_shape_count(s); k++)
        wgi_put_element(data, leaf->dtype, place(s, view, k), wgi_get_element(from, drawn, k));
}
