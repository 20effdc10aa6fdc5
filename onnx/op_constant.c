/* Constants and tensors made from nothing. */
#include "graph/element.h"
#include "onnx/ops.h"

#include <math.h>
#include <string.h>

/* ---- constants ------------------------------------------------------------------------------- */

static wg_value *constant_tensor(ox_node *n, const ox_tensor_proto *t)
{
    wg_error error;
    wg_onnx_tensor *x = wgi_ox_own(n->import);
    if (!x)
        return wgi_ox_fail(n, WG_ENOMEM, "out of memory");
    wg_status status = wgi_ox_tensor_describe(x, t, &n->import->file, &error);
    if (status == WG_OK)
        status = wgi_ox_tensor_fill(x, t, &n->import->file, &error);
    if (status != WG_OK)
        return wgi_ox_fail(n, status, "value: %s", error.text);
    n->type[0] = wgi_ox_type(t->data_type);
    return wgi_ox_cast(wg_constant(n->graph, x->dtype, x->shape, x->data), n->type[0]->computed);
}

static wg_value *constant_numbers(ox_node *n)
{
    ox_ints ints;
    ox_reals reals;
    const ox_attribute_proto *a;
    if ((a = wgi_ox_attribute(n, "value_float"))) {
        return wg_constant(n->graph, WG_F32, WG_SCALAR, &a->f);
    } else if ((a = wgi_ox_attribute(n, "value_int"))) {
        return wg_constant(n->graph, WG_I64, WG_SCALAR, &a->i);
    } else if (wgi_ox_ints(n, "value_ints", &ints)) {
        return wgi_ox_indices(n->graph, ints.at, (int64_t)ints.n);
    } else if (wgi_ox_reals(n, "value_floats", &reals)) {
        return wgi_ox_constant(n->graph, WG_F32, WG_SHAPE((int64_t)reals.n), reals.at);
    }
    return wgi_ox_refuse(n, "a constant of texts, or a sparse one");
}

wg_value *wgi_ox_constant_op(ox_node *n)
{
    const ox_attribute_proto *a = wgi_ox_attribute(n, "value");
    return a && a->t ? constant_tensor(n, a->t) : constant_numbers(n);
}

wg_value *wgi_ox_constant_of_shape(ox_node *n)
{
    const ox_attribute_proto *a = wgi_ox_attribute(n, "value");
    ox_ints sizes;
    if (!wgi_ox_ints_in(n, 0, &sizes))
        return NULL;
    if (sizes.n > WG_MAX_RANK)
        return wgi_ox_refuse(n, "a shape of %zu axes", sizes.n);
    wg_shape s = wg_shape_make((int)sizes.n, sizes.at);
    wg_value *one = a && a->t ? constant_tensor(n, a->t) : wg_fill(n->graph, WG_F32, WG_SCALAR, 0);
    if (!one || wg_value_count(one) != 1)
        return wgi_ox_fail(n, WG_EDATA, "value: expected one number");
    if (!n->type[0])
        n->type[0] = wgi_ox_type_of(WG_F32);
    return wg_expand(wg_reshape(one, WG_SCALAR), s);
}

/* start + i delta, in the dtype of the operands; count = max(0, ceil((limit - start) / delta)) */
wg_value *wgi_ox_range(ox_node *n)
{
    enum { MOST = 1 << 28 };
    const wg_value *x = wgi_ox_in(n, 0);
    double start = wgi_ox_real_in(n, 0, 0), limit = wgi_ox_real_in(n, 1, 0),
           delta = wgi_ox_real_in(n, 2, 1);
    if (!x || wgi_ox_failed(n))
        return NULL;
    if (delta == 0)
        return wgi_ox_fail(n, WG_EDATA, "delta is 0, between %g and %g", start, limit);
    double count = ceil((limit - start) / delta);
    if (!(count <= MOST))
        return wgi_ox_refuse(n, "%g numbers", count);
    count = count > 0 ? count : 0;
    return wg_iota(n->graph, x->dtype, WG_SHAPE((int64_t)count), 0, start, delta);
}

static wg_dtype dtype_attribute(ox_node *n, wg_dtype otherwise)
{
    int64_t number = wgi_ox_int(n, n->op->name[0] == 'E' ? "dtype" : "output_datatype", 0);
    char text[32];
    if (!number)
        return otherwise;
    n->type[0] = wgi_ox_type(number);
    if (!n->type[0])
        wgi_ox_fail(n, wgi_ox_type_status(number), "not supported: elements of type %s",
                    wgi_ox_type_text(number, text));
    return n->type[0] ? n->type[0]->computed : WG_DTYPE_DEFAULT;
}

/* 1 where column - row = k, else 0. */
wg_value *wgi_ox_eye_like(ox_node *n)
{
    const wg_value *x = wgi_ox_in(n, 0);
    if (!x || x->shape.rank != 2)
        return x ? wgi_ox_fail(n, WG_ESHAPE, "expected 2 axes, got %d", x->shape.rank) : NULL;
    wg_dtype dtype = dtype_attribute(n, x->dtype);
    wg_value *row = wg_iota(n->graph, WG_I64, x->shape, 0, 0, 1);
    wg_value *column = wg_iota(n->graph, WG_I64, x->shape, 1, -(double)wgi_ox_int(n, "k", 0), 1);
    return wgi_ox_cast(wg_equal(row, column), dtype);
}

/* off + (on - off) one-hot, with the new axis moved to its place. */
wg_value *wgi_ox_one_hot(ox_node *n)
{
    wg_value *ids = wgi_ox_in(n, 0), *values = wgi_ox_in(n, 2);
    int64_t depth = wgi_ox_int_in(n, 1, 0);
    if (!ids || !values || wgi_ox_failed(n) || depth < 0 || depth > INT32_MAX)
        return ids && values ? wgi_ox_fail(n, WG_EINVAL, "depth %lld", (long long)depth) : NULL;
    int rank = ids->shape.rank + 1, order[WG_MAX_RANK + 1];
    int axis = wgi_ox_axis(n, wgi_ox_int(n, "axis", -1), rank);
    if (axis < 0 || rank > WG_MAX_RANK)
        return axis < 0 ? NULL : wgi_ox_refuse(n, "%d axes", rank);
    wg_value *hot = wg_one_hot(wgi_ox_from_end(wgi_ox_cast(ids, WG_I64), depth), depth, WG_BOOL);
    for (int k = 0; k < rank; k++)
        order[k] = k < axis ? k : k == axis ? rank - 1 : k - 1;
    wg_value *off = wg_reshape(wg_slice(values, 0, 0, 1, 1), WG_SCALAR);
    wg_value *on = wg_reshape(wg_slice(values, 0, 1, 2, 1), WG_SCALAR);
    n->type[0] = wgi_ox_type_in(n, 2);
    return wg_where(wg_permute(hot, wg_axes_make(rank, order)), on, off);
}

/* ---- windows and the mel scale --------------------------------------------------------------- */

/* a - b cos(2 pi i / N) + c cos(4 pi i / N), with N = size or size - 1 */
static wg_value *window(ox_node *n, double a, double b, double c)
{
    enum { MOST = 1 << 24 };
    double size = wgi_ox_real_in(n, 0, 0), pi = 3.14159265358979323846;
    bool periodic = wgi_ox_int(n, "periodic", 1);
    wg_dtype dtype = dtype_attribute(n, WG_F32);
    if (wgi_ox_failed(n) || !(size >= 0 && size <= MOST))
        return wgi_ox_refuse(n, "a window of %g numbers", size);
    if (!n->type[0])
        n->type[0] = wgi_ox_type_of(WG_F32);
    double *w = wgi_ox_alloc(n, ((size_t)size + 1) * sizeof *w), steps = periodic ? size : size - 1;
    for (int64_t i = 0; w && i < (int64_t)size; i++) {
        double t = 2 * pi * (double)i / steps;
        w[i] = a - b * cos(t) + c * cos(2 * t);
    }
    return w ? wgi_ox_constant(n->graph, dtype, WG_SHAPE((int64_t)size), w) : NULL;
}

wg_value *wgi_ox_hann(ox_node *n)
{
    return window(n, 0.5, 0.5, 0);
}

wg_value *wgi_ox_hamming(ox_node *n)
{
    return window(n, 25.0 / 46, 21.0 / 46, 0);
}

wg_value *wgi_ox_blackman(ox_node *n)
{
    return window(n, 0.42, 0.5, 0.08);
}

static double to_mel(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

static double to_hertz(double mel)
{
    return 700 * (pow(10, mel / 2595) - 1);
}

/* Triangles between neighbouring bins of the mel scale: rises from bin[j] to bin[j + 1], falls to
 * bin[j + 2]. */
static void mel_column(double *y, const int64_t *bin, int64_t j, int64_t n_bins, int64_t rows)
{
    int64_t low = bin[j], center = bin[j + 1], high = bin[j + 2];
    for (int64_t i = low; low != center && i <= center && i < rows; i++)
        y[i * n_bins + j] = (double)(i - low) / (double)(center - low);
    if (low == center && center < rows)
        y[center * n_bins + j] = 1;
    for (int64_t i = center; high != center && i < high && i < rows; i++)
        y[i * n_bins + j] = (double)(high - i) / (double)(high - center);
}

wg_value *wgi_ox_mel(ox_node *n)
{
    enum { MOST = 1 << 14 };
    double bins = wgi_ox_real_in(n, 0, 0), length = wgi_ox_real_in(n, 1, 0),
           rate = wgi_ox_real_in(n, 2, 0), low = to_mel(wgi_ox_real_in(n, 3, 0)),
           high = to_mel(wgi_ox_real_in(n, 4, 0));
    wg_dtype dtype = dtype_attribute(n, WG_F32);
    if (wgi_ox_failed(n) ||
        !(bins >= 1 && bins <= MOST && length >= 1 && length <= MOST && rate > 0))
        return wgi_ox_refuse(n, "%g bins of a transform of length %g", bins, length);
    if (!n->type[0])
        n->type[0] = wgi_ox_type_of(WG_F32);
    int64_t n_bins = (int64_t)bins, rows = (int64_t)length / 2 + 1, *bin;
    double *y = wgi_ox_alloc(n, (size_t)(n_bins * rows) * sizeof *y);
    bin = wgi_ox_alloc(n, (size_t)(n_bins + 2) * sizeof *bin);
    if (!y || !bin)
        return NULL;
    for (int64_t j = 0; j < n_bins + 2; j++) {
        double at =
            floor((length + 1) * to_hertz(low + (double)j * (high - low) / (bins + 2)) / rate);
        bin[j] = at >= 0 && at < (double)rows ? (int64_t)at : rows;
    }
    for (int64_t j = 0; j < n_bins; j++)
        mel_column(y, bin, j, n_bins, rows);
    return wgi_ox_constant(n->graph, dtype, WG_SHAPE(rows, n_bins), y);
}
