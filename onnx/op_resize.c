/* Resize: along each axis, element o of the result reads a few elements around a position x(o) of
 * the operand, with weights that do not depend on the other axes.  So each axis is a product with a
 * matrix of weights, or, for the nearest element, a choice. */
#include "onnx/ops.h"

#include <math.h>
#include <string.h>

/* How one axis is resized. */
typedef struct axis_map {
    int64_t from, to;
    double scale;      /* of the attribute or operand, or to / from */
    double size;       /* from * scale, before it is rounded down to `to` */
    bool sized;        /* scale is to / from: the file gave the size */
    double start, end; /* of the region that tf_crop_and_resize takes, in units of the axis */
} axis_map;

/* What the attributes say. */
typedef struct resize {
    ox_node *n;
    const char *place, *mode, *nearest;
    double cubic; /* the coefficient a */
    bool exclude_outside;
    bool antialias; /* where an axis shrinks, more elements count: the kernel is stretched */
} resize;

/* x / scale.  A scale is the f32 next to what was meant, and which element is the nearest may hang
 * on that: 6 / 1.2 is 5 in f32 and less than 5 in f64.  So where one element is chosen, the
 * quotient is rounded to f32, as other engines do.  By sizes it is exact wherever it is whole. */
static double unscaled(const resize *r, const axis_map *m, double x)
{
    if (m->sized)
        return x * (double)m->from / (double)m->to;
    return strcmp(r->mode, "nearest") == 0 ? (double)((float)x / (float)m->scale) : x / m->scale;
}

/* The position of element o. */
static double position(const resize *r, const axis_map *m, int64_t o)
{
    double x = (double)o, last = (double)(m->from - 1), steps = (double)(m->to - 1);
    const char *place = r->place;
    if (strcmp(place, "align_corners") == 0) /* of the size before it is rounded down */
        return m->to > 1 ? x * last / (m->size - 1) : 0;
    if (strcmp(place, "asymmetric") == 0)
        return unscaled(r, m, x);
    if (strcmp(place, "tf_half_pixel_for_nn") == 0)
        return unscaled(r, m, x + 0.5);
    if (strcmp(place, "pytorch_half_pixel") == 0 && m->to <= 1)
        return 0;
    if (strcmp(place, "half_pixel_symmetric") == 0) /* about the middle, if the size was rounded */
        return 0.5 * (double)m->from - unscaled(r, m, 0.5 * (double)m->to) +
               unscaled(r, m, x + 0.5) - 0.5;
    if (strcmp(place, "tf_crop_and_resize") == 0)
        return m->to > 1 ? m->start * last + x * (m->end - m->start) * last / steps
                         : 0.5 * (m->start + m->end) * last;
    return unscaled(r, m, x + 0.5) - 0.5;
}

static bool knows_place(const char *place)
{
    static const char *const places[] = {
        "half_pixel",         "align_corners",      "asymmetric",          "tf_half_pixel_for_nn",
        "pytorch_half_pixel", "tf_crop_and_resize", "half_pixel_symmetric"};
    for (int i = 0; i < WG_COUNT(places); i++)
        if (strcmp(places[i], place) == 0)
            return true;
    return false;
}

/* The same as a number that an int64_t holds: a region of the file may be anywhere. */
static double bounded_position(const resize *r, const axis_map *m, int64_t o)
{
    return fmax(-0x1p52, fmin(position(r, m, o), 0x1p52));
}

static int64_t nearest(const resize *r, double x)
{
    const char *how = r->nearest;
    if (strcmp(how, "floor") == 0)
        return (int64_t)floor(x);
    if (strcmp(how, "ceil") == 0)
        return (int64_t)ceil(x);
    if (strcmp(how, "round_prefer_ceil") == 0)
        return (int64_t)floor(x + 0.5);
    return (int64_t)ceil(x - 0.5);
}

static int64_t within(int64_t i, int64_t size)
{
    return i < 0 ? 0 : i >= size ? size - 1 : i;
}

/* The weight of an element at that distance: linear, or cubic (Keys 1981). */
static double weight(const resize *r, bool linear, double x)
{
    double a = r->cubic;
    x = fabs(x);
    if (linear)
        return x < 1 ? 1 - x : 0;
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Row o of the matrix [to, from]: elements to the left of the position and to its right, as far as
 * the kernel goes.  Those outside are the ones at the border, or do not count; the rest sums to
 * 1. */
static void fill_row(const resize *r, const axis_map *m, int64_t o, double *row)
{
    bool linear = strcmp(r->mode, "linear") == 0;
    double x = bounded_position(r, m, o), sum = 0, reach = linear ? 1 : 2;
    double shrink = r->antialias && m->scale < 1 ? m->scale : 1;
    int64_t left = (int64_t)ceil(x) - 1, side = -(int64_t)floor(-reach / shrink);
    for (int64_t i = left - side + 1; i <= left + side; i++) {
        bool outside = i < 0 || i >= m->from;
        double w = outside && r->exclude_outside ? 0 : weight(r, linear, shrink * ((double)i - x));
        row[within(i, m->from)] += w;
        sum += w;
    }
    for (int64_t i = 0; i < m->from; i++)
        row[i] /= sum;
}

static wg_value *choose(const resize *r, wg_value *x, int axis, const axis_map *m)
{
    int64_t *at = wgi_ox_alloc(r->n, ((size_t)m->to + 1) * sizeof *at);
    for (int64_t o = 0; at && o < m->to; o++)
        at[o] = within(nearest(r, bounded_position(r, m, o)), m->from);
    return at ? wg_take(x, wgi_ox_indices(r->n->graph, at, m->to), axis) : NULL;
}

/* [to, from] times x as [before, from, behind]. */
static wg_value *interpolate(const resize *r, wg_value *x, int axis, const axis_map *m)
{
    wg_shape s = x->shape;
    int64_t before = 1, behind = 1;
    double *matrix = wgi_ox_alloc(r->n, (size_t)(m->to * m->from) * sizeof *matrix + 1);
    for (int64_t o = 0; matrix && o < m->to; o++)
        fill_row(r, m, o, matrix + o * m->from);
    for (int k = 0; k < s.rank; k++)
        before *= k < axis ? s.dim[k] : 1, behind *= k > axis ? s.dim[k] : 1;
    wg_value *w =
        matrix ? wgi_ox_constant(r->n->graph, x->dtype, WG_SHAPE(m->to, m->from), matrix) : NULL;
    wg_value *y = wg_matmul(w, wg_reshape(x, WG_SHAPE(before, m->from, behind)));
    s.dim[axis] = m->to;
    return wg_reshape(y, s);
}

/* Elements whose position along the axis is outside the operand become `value`. */
static wg_value *extrapolate(const resize *r, wg_value *x, int axis, const axis_map *m,
                             double value)
{
    double *out = wgi_ox_alloc(r->n, ((size_t)m->to + 1) * sizeof *out);
    bool any = false;
    for (int64_t o = 0; out && o < m->to; o++) {
        double at = position(r, m, o);
        out[o] = at < 0 || at > (double)(m->from - 1);
        any |= out[o] != 0;
    }
    if (!any || !x)
        return x;
    wg_shape s = x->shape;
    for (int k = 0; k < s.rank; k++)
        s.dim[k] = k == axis ? m->to : 1;
    return wg_masked_fill(x, wgi_ox_constant(r->n->graph, WG_BOOL, s, out), value);
}

/* The axes one after another. */
static wg_value *resized(const resize *r, wg_value *x, const axis_map map[WG_MAX_RANK])
{
    bool crop = strcmp(r->place, "tf_crop_and_resize") == 0, near = strcmp(r->mode, "nearest") == 0;
    for (int k = 0; x && k < x->shape.rank; k++) {
        const axis_map *m = &map[k];
        if (m->from == m->to && m->scale == 1 && !(crop && (m->start != 0 || m->end != 1)))
            continue;
        if (m->to > WGI_OX_RESIZE / (near ? 1 : m->from))
            return wgi_ox_refuse(r->n, "an axis from %lld to %lld", (long long)m->from,
                                 (long long)m->to);
        x = near ? choose(r, x, k, m) : interpolate(r, x, k, m);
        if (crop)
            x = extrapolate(r, x, k, m, wgi_ox_real(r->n, "extrapolation_value", 0));
    }
    return x;
}

/* ---- the operands ---------------------------------------------------------------------------- */

static bool check_size(ox_node *n, int axis, double from, double to)
{
    return (to >= 1 && to <= INT32_MAX && from >= 1) ||
           wgi_ox_fail(n, WG_ESHAPE, "axis %d would get the size %g", axis, to);
}

/* One scale for all axes that have sizes: the least ("not_larger") or the largest. */
static bool keep_ratio(ox_node *n, axis_map map[WG_MAX_RANK], const int *axis, size_t count)
{
    const char *policy = wgi_ox_word(n, "keep_aspect_ratio_policy", "stretch");
    if (strcmp(policy, "stretch") == 0)
        return true;
    bool largest = strcmp(policy, "not_smaller") == 0;
    double scale = count ? map[axis[0]].scale : 1;
    for (size_t i = 1; i < count; i++)
        scale = largest ? fmax(scale, map[axis[i]].scale) : fmin(scale, map[axis[i]].scale);
    for (size_t i = 0; i < count; i++) {
        axis_map *m = &map[axis[i]];
        double to = floor(scale * (double)m->from + 0.5);
        if (!check_size(n, axis[i], (double)m->from, to))
            return false;
        m->scale = scale;
        m->size = scale * (double)m->from;
        m->to = (int64_t)to;
        m->sized = false;
    }
    return true;
}

/* The product in f32: 10 times the f32 that is next to 0.7 is 7 there, and less in f64. */
static double scaled_size(int64_t from, double scale)
{
    return (double)((float)from * (float)scale);
}

/* Sets the map of each axis from scales or sizes; `axes` are those they are for. */
static bool set_maps(ox_node *n, const wg_value *x, axis_map map[WG_MAX_RANK],
                     const ox_reals *scales, const ox_ints *sizes)
{
    ox_ints axes;
    bool some = wgi_ox_ints(n, "axes", &axes);
    size_t count = some ? axes.n : (size_t)x->shape.rank, given = scales->n ? scales->n : sizes->n;
    int axis[WG_MAX_RANK] = {0};
    if (given != count || count > WG_MAX_RANK) {
        wgi_ox_fail(n, WG_ESHAPE, "%zu scales or sizes for %zu axes", given, count);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        int k = wgi_ox_axis(n, some ? axes.at[i] : (int64_t)i, x->shape.rank);
        if (k < 0)
            return false;
        double from = (double)map[k].from;
        axis[i] = k;
        map[k].scale = scales->n ? scales->at[i] : (double)sizes->at[i] / from;
        map[k].size = scales->n ? scaled_size(map[k].from, scales->at[i]) : (double)sizes->at[i];
        map[k].sized = !scales->n;
        if (!check_size(n, k, from, floor(map[k].size)))
            return false;
        map[k].to = (int64_t)map[k].size;
    }
    return scales->n || keep_ratio(n, map, axis, count);
}

/* The region of tf_crop_and_resize: the starts of the axes, then the ends. */
static bool set_region(ox_node *n, int rank, axis_map map[WG_MAX_RANK])
{
    ox_reals roi;
    if (!wgi_ox_has(n, 1) || !wgi_ox_reals_in(n, 1, &roi))
        return false;
    ox_ints axes;
    bool some = wgi_ox_ints(n, "axes", &axes);
    size_t count = some ? axes.n : (size_t)rank;
    for (size_t i = 0; i < count && roi.n == 2 * count; i++) {
        int k = wgi_ox_axis(n, some ? axes.at[i] : (int64_t)i, rank);
        if (k < 0)
            return false;
        map[k].start = roi.at[i];
        map[k].end = roi.at[count + i];
    }
    return roi.n == 2 * count || wgi_ox_fail(n, WG_ESHAPE, "roi: %zu numbers", roi.n);
}

static void identity_maps(const wg_value *x, axis_map map[WG_MAX_RANK])
{
    for (int k = 0; k < x->shape.rank; k++)
        map[k] = (axis_map){.from = x->shape.dim[k],
                            .to = x->shape.dim[k],
                            .scale = 1,
                            .size = (double)x->shape.dim[k],
                            .end = 1};
}

static wg_value *check_and_resize(const resize *r, wg_value *x, const axis_map *map)
{
    bool near = strcmp(r->mode, "nearest") == 0;
    if (!near && strcmp(r->mode, "linear") != 0 && strcmp(r->mode, "cubic") != 0)
        return wgi_ox_refuse(r->n, "mode '%s'", r->mode);
    if (!knows_place(r->place))
        return wgi_ox_refuse(r->n, "coordinate_transformation_mode '%s'", r->place);
    if (!near && !wg_dtype_is_float(x->dtype))
        return wgi_ox_refuse(r->n, "mode '%s' of integers", r->mode);
    return resized(r, x, map);
}

static bool has_numbers(ox_node *n, int i)
{
    return wgi_ox_has(n, i) &&
           (!n->operand[i]->value || wg_value_count(n->operand[i]->value) > 0) &&
           (!n->operand[i]->tensor || wg_shape_count(&n->operand[i]->tensor->shape) > 0);
}

wg_value *wgi_ox_resize(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    axis_map map[WG_MAX_RANK];
    ox_reals scales = {0};
    ox_ints sizes = {0};
    resize r = {n,
                wgi_ox_word(n, "coordinate_transformation_mode", "half_pixel"),
                wgi_ox_word(n, "mode", "nearest"),
                wgi_ox_word(n, "nearest_mode", "round_prefer_floor"),
                wgi_ox_real(n, "cubic_coeff_a", -0.75),
                wgi_ox_int(n, "exclude_outside", 0) != 0,
                wgi_ox_int(n, "antialias", 0) != 0};
    if (!x)
        return NULL;
    if (n->opset < 11) {
        r.place = "asymmetric";
        r.nearest = "floor";
    }
    int at = n->opset < 11 ? 1 : 2;
    identity_maps(x, map);
    if (has_numbers(n, at) ? !wgi_ox_reals_in(n, at, &scales) : !wgi_ox_ints_in(n, 3, &sizes))
        return NULL;
    if (!set_maps(n, x, map, &scales, &sizes))
        return NULL;
    if (strcmp(r.place, "tf_crop_and_resize") == 0 && !set_region(n, x->shape.rank, map))
        return wgi_ox_failed(n) ? NULL : wgi_ox_fail(n, WG_EDATA, "no roi");
    return check_and_resize(&r, x, map);
}

wg_value *wgi_ox_upsample(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    axis_map map[WG_MAX_RANK];
    ox_reals scales;
    const char *mode = wgi_ox_word(n, "mode", "nearest");
    resize r = {n,     "asymmetric", strcmp(mode, "bilinear") == 0 ? "linear" : mode, "floor", 0,
                false, false};
    if (!x)
        return NULL;
    identity_maps(x, map);
    if (!(n->opset < 9 ? wgi_ox_reals(n, "scales", &scales) : wgi_ox_reals_in(n, 1, &scales)))
        return wgi_ox_failed(n) ? NULL : wgi_ox_fail(n, WG_EDATA, "no scales");
    return set_maps(n, x, map, &scales, &(ox_ints){0}) ? check_and_resize(&r, x, map) : NULL;
}
