/* Images read at places that are data: each result is a sum over taps around its place, with
 * weights that are a product over the axes. */
#include "onnx/ops.h"

#include <string.h>

enum { MAX_AXES = 3, MAX_TAPS = 4 };

/* How one axis is sampled. */
typedef struct axis {
    int64_t size;
    const char *padding;
    double low, high; /* between which places are reflected */
    int taps;
    wg_value *index[MAX_TAPS], *weight[MAX_TAPS]; /* [N, places] */
} axis;

/* ---- places ---------------------------------------------------------------------------------- */

/* x thrown back at both ends, as often as it takes. */
static wg_value *reflected(const axis *a, wg_value *x)
{
    double range = a->high - a->low;
    if (!(range > 0) || !x)
        return x ? wg_scalar_like(x, a->low) : NULL;
    wg_value *m = wg_remainder(wg_shift(x, -a->low), wg_scalar_like(x, 2 * range));
    return wg_shift(wg_neg(wg_abs(wg_shift(m, -range))), range + a->low);
}

/* Where x is outside of [low, high]. */
static wg_value *settled(const axis *a, wg_value *x)
{
    if (strcmp(a->padding, "zeros") == 0 || !x)
        return x;
    wg_value *inside = wg_logical_and(wg_greater_equal(x, wg_scalar_like(x, a->low)),
                                      wg_less_equal(x, wg_scalar_like(x, a->high)));
    wg_value *moved =
        strcmp(a->padding, "border") == 0 ? wg_clamp(x, 0, (double)(a->size - 1)) : reflected(a, x);
    return wg_where(inside, x, moved);
}

/* Tap k reads element i (a whole number) with weight w; outside, as the padding says. */
static void set_tap(axis *a, int k, wg_value *i, wg_value *w)
{
    double last = (double)(a->size - 1);
    if (!i || !w)
        return;
    if (strcmp(a->padding, "reflection") == 0)
        i = reflected(a, i);
    wg_value *inside = wg_clamp(i, 0, last);
    if (strcmp(a->padding, "zeros") == 0)
        w = wg_where(wg_equal(i, inside), w, wg_scalar_like(w, 0));
    a->index[k] = wg_cast(inside, WG_I64);
    a->weight[k] = w;
}

/* Keys 1981, with a = -0.75, at distance 1 + t, t, 1 - t and 2 - t. */
static wg_value *cubic_weight(wg_value *t, int k)
{
    const double a = -0.75;
    wg_value *x = k == 0   ? wg_shift(t, 1)
                  : k == 1 ? t
                  : k == 2 ? wg_shift(wg_neg(t), 1)
                           : wg_shift(wg_neg(t), 2);
    if (k == 1 || k == 2)
        return wg_shift(wg_mul(wg_square(x), wg_shift(wg_scale(x, a + 2), -(a + 3))), 1);
    wg_value *y = wg_shift(wg_mul(wg_shift(wg_scale(x, a), -5 * a), x), 8 * a);
    return wg_shift(wg_mul(y, x), -4 * a);
}

static void set_taps(axis *a, wg_value *x, const char *mode)
{
    if (strcmp(mode, "nearest") == 0) {
        a->taps = 1;
        x = settled(a, wg_round(x));
        set_tap(a, 0, x, x ? wg_scalar_like(x, 1) : NULL);
        return;
    }
    bool cubic = strcmp(mode, "cubic") == 0;
    if (!cubic || strcmp(a->padding, "border") != 0) /* else the taps alone stop at the border */
        x = settled(a, x);
    wg_value *base = wg_floor(x), *t = wg_sub(x, base);
    a->taps = cubic ? 4 : 2;
    for (int k = 0; k < a->taps; k++)
        set_tap(a, k, wg_shift(base, cubic ? k - 1 : k),
                cubic ? cubic_weight(t, k)
                : k   ? t
                      : wg_shift(wg_neg(t), 1));
}

/* From -1 .. 1 to elements: -1 and 1 are the middles of the outer ones, or their borders. */
static wg_value *denormalised(wg_value *v, int64_t size, bool align)
{
    double n = (double)size;
    return align ? wg_scale(wg_shift(v, 1), (n - 1) / 2)
                 : wg_shift(wg_scale(wg_shift(v, 1), n / 2), -0.5);
}

/* ---- sampling -------------------------------------------------------------------------------- */

/* The product of one weight and one index of each axis: x [N, C, all] at these places, weighted. */
static wg_value *term(wg_value *x, const axis *a, int rank, const int *tap)
{
    wg_value *at = NULL, *w = NULL;
    for (int k = 0; k < rank; k++) {
        wg_value *i = a[k].index[tap[k]], *v = a[k].weight[tap[k]];
        at = at ? wg_add(wg_scale(at, (double)a[k].size), i) : i;
        w = w ? wg_mul(w, v) : v;
    }
    if (!at || !w)
        return NULL;
    wg_shape s = WG_SHAPE(x->shape.dim[0], x->shape.dim[1], at->shape.dim[1]);
    at = wg_expand(wg_unsqueeze(at, 1), s);
    w = w->shape.rank ? wg_unsqueeze(w, 1) : w;
    return wg_mul(wg_gather(x, at, 2), wgi_ox_cast(w, x->dtype));
}

/* All combinations of taps, the last axis first. */
static wg_value *sum_of_terms(wg_value *x, const axis *a, int rank)
{
    int tap[MAX_AXES] = {0}, k = 0;
    wg_value *sum = NULL;
    while (k >= 0) {
        wg_value *t = term(x, a, rank, tap);
        sum = sum ? wg_add(sum, t) : t;
        for (k = rank - 1; k >= 0 && ++tap[k] == a[k].taps; k--)
            tap[k] = 0;
    }
    return sum;
}

/* "linear" for "bilinear" of earlier opsets, and so on. */
static const char *mode_of(ox_node *n)
{
    const char *given = wgi_ox_word(n, "mode", "linear");
    return strncmp(given, "bi", 2) == 0 ? given + 2 : given;
}

static wg_value *sample(ox_node *n, wg_value *x, wg_value *grid, const char *mode)
{
    axis a[MAX_AXES];
    wg_shape s = x->shape, y = s;
    int rank = s.rank - 2;
    int64_t all = 1, places = 1;
    bool align = wgi_ox_int(n, "align_corners", 0) != 0;
    for (int k = 0; k < rank; k++) {
        all *= s.dim[2 + k];
        places *= y.dim[2 + k] = grid->shape.dim[1 + k];
    }
    grid = wg_reshape(grid, WG_SHAPE(s.dim[0], places, rank));
    if (grid && wg_dtype_size(grid->dtype) < wg_dtype_size(WG_F32))
        grid = wg_cast(grid, WG_F32);
    for (int k = 0; k < rank; k++) { /* the grid has x, y, z; the axes are z, y, x */
        wg_value *v = wg_squeeze(wg_slice(grid, 2, rank - 1 - k, rank - k, 1), 2);
        double last = (double)(s.dim[2 + k] - 1);
        a[k] = (axis){.size = s.dim[2 + k],
                      .padding = wgi_ox_word(n, "padding_mode", "zeros"),
                      .low = align ? 0 : -0.5,
                      .high = align ? last : last + 0.5};
        set_taps(&a[k], denormalised(v, a[k].size, align), mode);
    }
    return wg_reshape(sum_of_terms(wg_reshape(x, WG_SHAPE(s.dim[0], s.dim[1], all)), a, rank), y);
}

wg_value *wgi_ox_grid_sample(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *grid = wgi_ox_in(n, 1);
    const char *mode = mode_of(n);
    if (!x || !grid)
        return NULL;
    int rank = x->shape.rank - 2;
    if (rank < 2 || rank > MAX_AXES || (rank == 3 && strcmp(mode, "cubic") == 0))
        return wgi_ox_refuse(n, "%d spatial axes in the mode %s", rank, mode);
    if (!wg_dtype_is_float(x->dtype) || !wg_dtype_is_float(grid->dtype))
        return wgi_ox_refuse(n, "integers");
    if (grid->shape.rank != rank + 2 || grid->shape.dim[rank + 1] != rank ||
        grid->shape.dim[0] != x->shape.dim[0] || !wg_value_count(x))
        return wgi_ox_fail(n, WG_ESHAPE, "the grid does not fit an operand of %d axes",
                           x->shape.rank);
    return sample(n, x, grid, mode);
}

/* ---- grids ----------------------------------------------------------------------------------- */

/* (x, y, 1), or (x, y, z, 1), of each place from -1 to 1: [places, rank + 1]. */
static wg_value *places_of(ox_node *n, wg_dtype dtype, const int64_t *size, int rank, bool align)
{
    int64_t all = 1;
    for (int k = 0; k < rank; k++)
        all *= size[k];
    double *at = wgi_ox_alloc(n, (size_t)(all * (rank + 1) + 1) * sizeof *at);
    for (int64_t i = 0; at && i < all; i++) {
        int64_t rest = i;
        for (int k = rank - 1; k >= 0; k--) {
            double o = (double)(rest % size[k]), d = (double)size[k];
            at[i * (rank + 1) + rank - 1 - k] =
                align ? (d > 1 ? 2 * o / (d - 1) - 1 : -1) : (2 * o + 1) / d - 1;
            rest /= size[k];
        }
        at[i * (rank + 1) + rank] = 1;
    }
    return at ? wgi_ox_constant(n->graph, dtype, WG_SHAPE(all, rank + 1), at) : NULL;
}

/* theta [N, rank, rank + 1] times each place: [N, ..., rank]. */
wg_value *wgi_ox_affine_grid(ox_node *n)
{
    enum { MOST = 1 << 26 };
    wg_value *theta = wgi_ox_in(n, 0);
    ox_ints size;
    if (!theta || !wgi_ox_ints_in(n, 1, &size))
        return NULL;
    int rank = (int)size.n - 2;
    if (rank < 2 || rank > MAX_AXES || theta->shape.rank != 3 || theta->shape.dim[1] != rank ||
        theta->shape.dim[2] != rank + 1 || theta->shape.dim[0] != size.at[0])
        return wgi_ox_fail(n, WG_ESHAPE, "theta does not fit a size of %zu numbers", size.n);
    double all = 1;
    for (int k = 0; k < rank; k++)
        all *= size.at[2 + k] < 1 ? MOST : (double)size.at[2 + k];
    if (all > MOST)
        return wgi_ox_refuse(n, "a grid of that size");
    bool align = wgi_ox_int(n, "align_corners", 0) != 0;
    wg_value *places = places_of(n, theta->dtype, size.at + 2, rank, align);
    wg_value *y = wg_matmul_t(places, theta, WG_NT);
    wg_shape s = {rank + 2, {size.at[0]}};
    memcpy(s.dim + 1, size.at + 2, (size_t)rank * sizeof *s.dim);
    s.dim[rank + 1] = rank;
    return wg_reshape(y, s);
}
