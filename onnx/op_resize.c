/* Resize: along each axis, element o of the result reads a few elements around a position x(o) of
 * the operand, with weights that do not depend on the other axes.  So the axes are resized one
 * after another: by upsample2d where it has the same positions, else by those elements and their
 * weights, or, for the nearest element, by a choice. */
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

/* How far the kernel reaches to each side, in elements; stretched where an axis shrinks. */
static double shrink_of(const resize *r, const axis_map *m)
{
    return r->antialias && m->scale < 1 ? m->scale : 1;
}

static int64_t side_of(const resize *r, const axis_map *m)
{
    double reach = strcmp(r->mode, "linear") == 0 ? 1 : 2;
    return (int64_t)ceil(reach / shrink_of(r, m));
}

/* What element o reads: 2 side_of() elements, to the left of its position and to its right.  Those
 * outside are the ones at the border, or do not count; the weights sum to 1. */
static void find_taps(const resize *r, const axis_map *m, int64_t o, int64_t *index, double *w)
{
    bool linear = strcmp(r->mode, "linear") == 0;
    double x = bounded_position(r, m, o), shrink = shrink_of(r, m), sum = 0;
    int64_t side = side_of(r, m), first = (int64_t)ceil(x) - side;
    for (int64_t k = 0; k < 2 * side; k++) {
        int64_t i = first + k;
        bool outside = i < 0 || i >= m->from;
        w[k] = outside && r->exclude_outside ? 0 : weight(r, linear, shrink * ((double)i - x));
        index[k] = within(i, m->from);
        sum += w[k];
    }
    for (int64_t k = 0; k < 2 * side; k++)
        w[k] /= sum;
}

static wg_value *choose(const resize *r, wg_value *x, int axis, const axis_map *m)
{
    int64_t *at = wgi_ox_alloc(r->n, ((size_t)m->to + 1) * sizeof *at);
    for (int64_t o = 0; at && o < m->to; o++)
        at[o] = within(nearest(r, bounded_position(r, m, o)), m->from);
    return at ? wg_take(x, wgi_ox_indices(r->n->graph, at, m->to), axis) : NULL;
}

/* x as [before, an axis, behind] */
static wg_shape around(const wg_value *x, int axis)
{
    wg_shape s = WG_SHAPE(1, x->shape.dim[axis], 1);
    for (int k = 0; k < x->shape.rank; k++)
        if (k != axis)
            s.dim[k < axis ? 0 : 2] *= x->shape.dim[k];
    return s;
}

static wg_value *with_size(wg_value *y, wg_shape s, int axis, int64_t size)
{
    s.dim[axis] = size;
    return wg_reshape(y, s);
}

/* Of few elements: a product with the matrix [to, from]. */
static wg_value *multiply(const resize *r, wg_value *x, int axis, const axis_map *m,
                          const int64_t *index, const double *weight)
{
    wg_shape s = around(x, axis);
    int64_t taps = 2 * side_of(r, m);
    double *matrix = wgi_ox_alloc(r->n, (size_t)(m->to * m->from) * sizeof *matrix + 1);
    for (int64_t i = 0; matrix && i < m->to * taps; i++)
        matrix[i / taps * m->from + index[i]] += weight[i];
    if (!matrix)
        return NULL;
    wg_value *w = wgi_ox_constant(r->n->graph, x->dtype, WG_SHAPE(m->to, m->from), matrix);
    wg_value *y = s.dim[2] == 1 ? wg_matmul_t(wg_reshape(x, WG_SHAPE(s.dim[0], m->from)), w, WG_NT)
                                : wg_matmul(w, wg_reshape(x, s));
    return with_size(y, x->shape, axis, m->to);
}

/* Of many: only those that are read, [before, to, taps, behind], weighted and summed. */
static wg_value *gather(const resize *r, wg_value *x, int axis, const axis_map *m,
                        const int64_t *index, const double *weight)
{
    wg_shape s = around(x, axis);
    int64_t taps = 2 * side_of(r, m), n = m->to * taps;
    wg_value *w = wgi_ox_constant(r->n->graph, x->dtype, WG_SHAPE(m->to, taps, 1), weight);
    wg_value *y = wg_take(wg_reshape(x, s), wgi_ox_indices(r->n->graph, index, n), 1);
    y = wg_mul(wg_reshape(y, WG_SHAPE(s.dim[0], m->to, taps, s.dim[2])), w);
    return with_size(wg_sum(y, WG_AXES(2), WG_DROP), x->shape, axis, m->to);
}

static wg_value *interpolate(const resize *r, wg_value *x, int axis, const axis_map *m)
{
    enum { FEW = 1 << 15 };
    int64_t taps = 2 * side_of(r, m);
    bool few = m->from <= FEW / m->to;
    if (taps > WGI_OX_RESIZE / m->to)
        return wgi_ox_refuse(r->n, "axis %d: expected at most %d weights of elements, got %g", axis,
                             WGI_OX_RESIZE, (double)taps * (double)m->to);
    int64_t *index = wgi_ox_alloc(r->n, (size_t)(m->to * taps) * sizeof *index);
    double *weight = wgi_ox_alloc(r->n, (size_t)(m->to * taps) * sizeof *weight);
    if (!index || !weight)
        return NULL;
    for (int64_t o = 0; o < m->to; o++)
        find_taps(r, m, o, index + o * taps, weight + o * taps);
    return (few ? multiply : gather)(r, x, axis, m, index, weight);
}

/* Whether upsample2d has the same positions and weights along such an axis. */
static bool is_plain(const resize *r, const axis_map *m)
{
    const char *place = r->place;
    bool cubic = strcmp(r->mode, "cubic") == 0 && r->cubic == -0.75 && !r->exclude_outside;
    if ((strcmp(r->mode, "linear") != 0 && !cubic) || m->size != (double)m->to ||
        shrink_of(r, m) < 1)
        return false;
    return strcmp(place, "align_corners") == 0 || strcmp(place, "half_pixel") == 0 ||
           strcmp(place, "half_pixel_symmetric") == 0 ||
           (strcmp(place, "pytorch_half_pixel") == 0 && m->to > 1);
}

static wg_upsample_mode mode_of(const resize *r)
{
    return strcmp(r->mode, "cubic") == 0 ? WG_CUBIC : WG_LINEAR;
}

static bool aligns_corners(const resize *r)
{
    return strcmp(r->place, "align_corners") == 0;
}

/* One axis, as H, with all axes behind it as W. */
static wg_value *upsample_axis(const resize *r, wg_value *x, int axis, const axis_map *map)
{
    wg_shape s = around(x, axis);
    wg_upsample2d_options o = {mode_of(r), aligns_corners(r), {map[axis].to, s.dim[2]}, {0}};
    wg_value *y = wg_upsample2d(wg_reshape(x, WG_SHAPE(s.dim[0], 1, s.dim[1], s.dim[2])), &o);
    return with_size(y, x->shape, axis, map[axis].to);
}

/* The last `axes`. */
static wg_value *upsample(const resize *r, wg_value *x, int axes, const axis_map *map)
{
    wg_shape s = x->shape, as = {2 + axes, {1, 1}};
    int first = s.rank - axes;
    int64_t to[3] = {0};
    for (int k = 0; k < first; k++)
        as.dim[0] *= s.dim[k];
    for (int k = 0; k < axes; k++) {
        as.dim[2 + k] = s.dim[first + k];
        s.dim[first + k] = to[k] = map[first + k].to;
    }
    x = wg_reshape(x, as);
    if (axes == 1)
        x = wg_upsample1d(x, &(wg_upsample1d_options){mode_of(r), aligns_corners(r), to[0], 0});
    else if (axes == 2)
        x = wg_upsample2d(
            x, &(wg_upsample2d_options){mode_of(r), aligns_corners(r), {to[0], to[1]}, {0}});
    else
        x = wg_upsample3d(
            x, &(wg_upsample3d_options){mode_of(r), aligns_corners(r), {to[0], to[1], to[2]}, {0}});
    return wg_reshape(x, s);
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

static bool is_crop(const resize *r)
{
    return strcmp(r->place, "tf_crop_and_resize") == 0;
}

static bool stays(const resize *r, const axis_map *m)
{
    return m->from == m->to && m->scale == 1 && !(is_crop(r) && (m->start != 0 || m->end != 1));
}

static wg_value *resized_axis(const resize *r, wg_value *x, int axis, const axis_map *m)
{
    bool near = strcmp(r->mode, "nearest") == 0;
    wg_value *y = near ? choose(r, x, axis, m) : interpolate(r, x, axis, m);
    return is_crop(r) ? extrapolate(r, y, axis, m, wgi_ox_real(r->n, "extrapolation_value", 0)) : y;
}

/* How many axes from k on go together: k, or it and all behind, if these are three at most. */
static int axes_at_once(const resize *r, int k, int rank, const axis_map *map)
{
    if (k + 3 < rank)
        return 1;
    for (int i = k; i < rank; i++)
        if (!is_plain(r, &map[i]))
            return 1;
    return rank - k;
}

/* The axes one after another. */
static wg_value *resized(const resize *r, wg_value *x, const axis_map map[WG_MAX_RANK])
{
    int rank = x->shape.rank;
    for (int k = 0, n = 1; x && k < rank; k += n) {
        const axis_map *m = &map[k];
        n = 1;
        if (stays(r, m))
            continue;
        if (m->to > WGI_OX_RESIZE)
            return wgi_ox_refuse(r->n, "axis %d: expected at most %d positions, got %lld", k,
                                 WGI_OX_RESIZE, (long long)m->to);
        n = axes_at_once(r, k, rank, map);
        if (k + n == rank && is_plain(r, m))
            x = upsample(r, x, n, map);
        else
            x = is_plain(r, m) ? upsample_axis(r, x, k, map) : resized_axis(r, x, k, m);
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
    if (strcmp(r->mode, "nearest") != 0 && !wg_dtype_is_float(x->dtype))
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
