/* Pooling to a given size.  Window i of m along an axis of n elements is
 *
 *   [floor(i n / m), ceil((i + 1) n / m))
 *
 * If m divides n, these are windows of n / m side by side, as any pooling has them.  If not, their
 * lengths differ by 1 at most, and they may overlap; so the elements of each are laid side by side,
 * as many as the longest has.  For maxima, a shorter window repeats its last element, and all are
 * pooled at once: of equal numbers, the first of the whole window counts.  Means are taken along
 * one axis after the other, which leaves less to lay out for the next; a shorter window has a zero
 * at its end, and its mean is multiplied by what it lacks. */
#include "wengert/ops/ops.h"

enum { AXES = 3 };

/* What a builder was asked for. */
typedef struct request {
    const char *at, *name;
    wg_value *x; /* [N, C, ...] */
    int axes;    /* of the windows */
    int64_t to[AXES];
    bool max;
} request;

static bool fail(const request *r, wg_status status, const char *what, int axis, int64_t size)
{
    static const char names[] = "DHW";
    char name = r->axes == 1 ? 'L' : names[AXES - r->axes + axis];
    return wg_graph_fail(wg_graph_of(r->x), status, r->at, r->name,
                         "the %s along %c is %lld, must be 1 to %d", what, name, (long long)size,
                         INT32_MAX);
}

static bool is_size(int64_t size)
{
    return size >= 1 && size <= INT32_MAX;
}

static bool check(const request *r)
{
    const wg_shape *s = &r->x->shape;
    char text[160];
    if (s->rank != r->axes + 2)
        return wg_graph_fail(wg_graph_of(r->x), WG_ESHAPE, r->at, r->name,
                             "x is %s of rank %d, must be of rank %d",
                             wg_shape_text(s, text, sizeof text), s->rank, r->axes + 2);
    for (int k = 0; k < r->axes; k++) {
        if (!is_size(s->dim[2 + k]))
            return fail(r, WG_ESHAPE, "size of x", k, s->dim[2 + k]);
        if (!is_size(r->to[k]))
            return fail(r, WG_EINVAL, "size", k, r->to[k]);
    }
    return true;
}

static int64_t begin_of(int64_t from, int64_t to, int64_t i)
{
    return i * from / to;
}

static int64_t length_of(int64_t from, int64_t to, int64_t i)
{
    return ((i + 1) * from + to - 1) / to - begin_of(from, to, i);
}

/* Of the longest window */
static int64_t longest(int64_t from, int64_t to)
{
    int64_t most = 0;
    for (int64_t i = 0; i < to; i++)
        most = length_of(from, to, i) > most ? length_of(from, to, i) : most;
    return most;
}

/* The windows of an axis side by side, `most` elements each. */
static wg_value *side_by_side(const request *r, wg_value *x, int axis, int64_t most)
{
    wg_graph *g = wg_graph_of(r->x);
    int64_t from = r->x->shape.dim[axis], to = r->to[axis - 2];
    int64_t *ids = wg_graph_alloc(g, (size_t)(to * most) * sizeof *ids);
    if (!ids)
        return NULL;
    for (int64_t i = 0; i < to; i++) {
        int64_t begin = begin_of(from, to, i), length = length_of(from, to, i);
        for (int64_t k = 0; k < most; k++)
            ids[i * most + k] = k < length ? begin + k : r->max ? begin + length - 1 : from;
    }
    if (!r->max) { /* a zero behind the last element */
        wg_shape none = {x->shape.rank, {0}}, one = none;
        one.dim[axis] = 1;
        x = (wg_pad)(r->at, x, none, one, 0);
    }
    return (wg_take)(r->at, x, (wg_constant)(r->at, g, WG_I64, WG_SHAPE(to * most), ids), axis);
}

/* y by what the means of the shorter windows of an axis lack */
static wg_value *with_shares(const request *r, wg_value *y, int axis, int64_t most)
{
    wg_graph *g = wg_graph_of(r->x);
    int64_t from = r->x->shape.dim[axis], to = r->to[axis - 2];
    double *share = wg_graph_alloc(g, (size_t)to * sizeof *share);
    if (!share)
        return NULL;
    for (int64_t i = 0; i < to; i++)
        share[i] = (double)most / (double)length_of(from, to, i);
    wg_shape s = {r->x->shape.rank, {1, 1, 1, 1, 1}};
    s.dim[axis] = to;
    wg_value *shares = (wg_constant)(r->at, g, WG_F64, s, share);
    return (wg_mul)(r->at, y, (wg_cast)(r->at, shares, r->x->dtype));
}

/* Windows of that size side by side. */
static wg_value *pool(const request *r, wg_value *x, const int64_t *kernel)
{
    wg_pool3d_options three = {.kernel = {kernel[0], kernel[1], kernel[2]}};
    wg_pool2d_options two = {.kernel = {kernel[0], kernel[1]}};
    wg_pool1d_options one = {.kernel = kernel[0]};
    if (r->axes == 1)
        return (r->max ? (wg_max_pool1d) : (wg_avg_pool1d))(r->at, x, &one);
    if (r->axes == 2)
        return (r->max ? (wg_max_pool2d) : (wg_avg_pool2d))(r->at, x, &two);
    return (r->max ? (wg_max_pool3d) : (wg_avg_pool3d))(r->at, x, &three);
}

/* Means along an axis whose windows are not of one length */
static wg_value *means_along(const request *r, wg_value *x, int axis, int64_t most)
{
    int64_t kernel[AXES] = {1, 1, 1};
    kernel[axis - 2] = most;
    x = side_by_side(r, x, axis, most);
    x = x ? pool(r, x, kernel) : NULL;
    return x ? with_shares(r, x, axis, most) : NULL;
}

static wg_value *adapt(const request *r)
{
    wg_value *x = r->x;
    int64_t kernel[AXES] = {0};
    bool rest = false; /* windows of several elements are left */
    if (!x || !check(r))
        return NULL;
    for (int k = 0; k < r->axes && x; k++) {
        int64_t from = r->x->shape.dim[2 + k], most = longest(from, r->to[k]);
        bool even = from % r->to[k] == 0;
        kernel[k] = even || r->max ? most : 1;
        if (!even)
            x = r->max ? side_by_side(r, x, 2 + k, most) : means_along(r, x, 2 + k, most);
        rest = rest || kernel[k] > 1;
    }
    return x && (rest || x == r->x) ? pool(r, x, kernel) : x;
}

wg_value *(wg_adaptive_max_pool1d)(const char *at, wg_value *x, int64_t size)
{
    return adapt(&(request){at, "adaptive_max_pool1d", x, 1, {size, 0, 0}, true});
}

wg_value *(wg_adaptive_max_pool2d)(const char *at, wg_value *x, int64_t height, int64_t width)
{
    return adapt(&(request){at, "adaptive_max_pool2d", x, 2, {height, width, 0}, true});
}

wg_value *(wg_adaptive_max_pool3d)(const char *at, wg_value *x, int64_t depth, int64_t height,
                                   int64_t width)
{
    return adapt(&(request){at, "adaptive_max_pool3d", x, 3, {depth, height, width}, true});
}

wg_value *(wg_adaptive_avg_pool1d)(const char *at, wg_value *x, int64_t size)
{
    return adapt(&(request){at, "adaptive_avg_pool1d", x, 1, {size, 0, 0}, false});
}

wg_value *(wg_adaptive_avg_pool2d)(const char *at, wg_value *x, int64_t height, int64_t width)
{
    return adapt(&(request){at, "adaptive_avg_pool2d", x, 2, {height, width, 0}, false});
}

wg_value *(wg_adaptive_avg_pool3d)(const char *at, wg_value *x, int64_t depth, int64_t height,
                                   int64_t width)
{
    return adapt(&(request){at, "adaptive_avg_pool3d", x, 3, {depth, height, width}, false});
}
