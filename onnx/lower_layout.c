/* Movement, indices, products, windows and rows, as opset 17 has them. */
#include "graph/element.h"
#include "onnx/lower_forms.h"

/* ---- movement -------------------------------------------------------------------------------- */

void wgi_ox_write_shaped(ox_export *e, const wg_node *n)
{
    const wg_shape *s = &n->out[0]->shape;
    bool reshape = n->op == &wg_op_reshape;
    const char *shape = wgi_ox_list_of(e, s->dim, (size_t)s->rank);
    ox_node_proto *p = wgi_ox_node(e, reshape ? "Reshape" : "Expand",
                                   (const char *[]){in(e, n, 0), shape}, 2, out(e, n));
    for (int k = 0; reshape && k < s->rank; k++)
        if (s->dim[k] == 0) { /* 0 would stand for the size of the operand */
            wgi_ox_set_int(e, p, "allowzero", 1);
            break;
        }
}

static const char *permuted(ox_export *e, const char *x, const wg_axes *order, const char *y)
{
    int64_t at[WG_MAX_RANK];
    size_t count = axes_of(order, at);
    ox_node_proto *p = wgi_ox_node(e, "Transpose", &x, 1, y);
    for (size_t k = 0; k < count; k++)
        at[k] = at[k] < 0 ? at[k] + (int64_t)count : at[k];
    wgi_ox_set_ints(e, p, "perm", at, count);
    return wgi_ox_result(p);
}

void wgi_ox_write_permute(ox_export *e, const wg_node *n)
{
    const wg_permute_attrs *a = n->attrs;
    permuted(e, in(e, n, 0), &a->order, out(e, n));
}

void wgi_ox_write_slice(ox_export *e, const wg_node *n)
{
    const wg_slice_attrs *a = n->attrs;
    size_t rank = (size_t)a->start.rank;
    int64_t stop[WG_MAX_RANK], axes[WG_MAX_RANK];
    for (size_t k = 0; k < rank; k++) {
        axes[k] = (int64_t)k;
        stop[k] = a->start.dim[k] + a->size.dim[k] * a->step.dim[k];
        if (a->step.dim[k] < 0 && stop[k] < 0)
            stop[k] = -INT64_MAX; /* -1 would be the last element */
    }
    const char *const operands[] = {in(e, n, 0), wgi_ox_list_of(e, a->start.dim, rank),
                                    wgi_ox_list_of(e, stop, rank), wgi_ox_list_of(e, axes, rank),
                                    wgi_ox_list_of(e, a->step.dim, rank)};
    wgi_ox_node(e, "Slice", operands, 5, out(e, n));
}

static void padded(ox_export *e, const wg_node *n, const int64_t *before, const int64_t *after,
                   int rank, double value)
{
    int64_t pads[2 * WG_MAX_RANK];
    memcpy(pads, before, (size_t)rank * sizeof *pads);
    memcpy(pads + rank, after, (size_t)rank * sizeof *pads);
    apply3(e, "Pad", in(e, n, 0), wgi_ox_list_of(e, pads, 2 * (size_t)rank),
           wgi_ox_number(e, n->out[0]->dtype, value), out(e, n));
}

void wgi_ox_write_pad(ox_export *e, const wg_node *n)
{
    const wg_pad_attrs *a = n->attrs;
    padded(e, n, a->before.dim, a->after.dim, a->before.rank, a->value);
}

void wgi_ox_write_slice_grad(ox_export *e, const wg_node *n)
{
    const wg_slice_grad_attrs *a = n->attrs;
    int64_t after[WG_MAX_RANK];
    for (int k = 0; k < a->shape.rank; k++)
        after[k] = a->shape.dim[k] - a->start.dim[k] - n->in[0]->shape.dim[k];
    padded(e, n, a->start.dim, after, a->shape.rank, 0);
}

void wgi_ox_write_concat(ox_export *e, const wg_node *n)
{
    const wg_concat_attrs *a = n->attrs;
    const char **operands = wgi_ox_room(e, ((size_t)n->n_in + 1) * sizeof *operands);
    for (int i = 0; operands && i < n->n_in; i++)
        operands[i] = in(e, n, i);
    ox_node_proto *p =
        operands ? wgi_ox_node(e, "Concat", operands, (size_t)n->n_in, out(e, n)) : NULL;
    wgi_ox_set_int(e, p, "axis", a->axis);
}

void wgi_ox_write_triangle(ox_export *e, const wg_node *n)
{
    const wg_triangle_attrs *a = n->attrs;
    const char *k = wgi_ox_number(e, WG_I64, (double)a->diagonal);
    ox_node_proto *p = wgi_ox_node(e, "Trilu", (const char *[]){in(e, n, 0), k}, 2, out(e, n));
    wgi_ox_set_int(e, p, "upper", a->triangle == WG_UPPER);
}

/* ---- indices --------------------------------------------------------------------------------- */

void wgi_ox_write_embedding(ox_export *e, const wg_node *n)
{
    wgi_ox_set_int(e, node_of(e, n, "Gather", 2), "axis", 0);
}

void wgi_ox_write_take(ox_export *e, const wg_node *n)
{
    const wg_index_attrs *a = n->attrs;
    wgi_ox_set_int(e, node_of(e, n, n->op == &wg_op_take ? "Gather" : "GatherElements", 2), "axis",
                   a->axis);
}

void wgi_ox_write_scatter(ox_export *e, const wg_node *n)
{
    const wg_index_attrs *a = n->attrs;
    ox_node_proto *p = node_of(e, n, "ScatterElements", 3);
    wgi_ox_set_int(e, p, "axis", a->axis);
    if (n->op == &wg_op_scatter_add)
        wgi_ox_set_word(e, p, "reduction", "add");
}

/* Tuples of one index each. */
static const char *tuples(ox_export *e, const wg_node *n, int i)
{
    const char *x = in(e, n, i);
    ox_node_proto *p = wgi_ox_node(e, "Cast", &x, 1, NULL);
    wgi_ox_set_int(e, p, "to", wgi_ox_type_of(WG_I64)->number);
    return apply2(e, "Unsqueeze", wgi_ox_result(p), wgi_ox_list_of(e, &(int64_t){-1}, 1), NULL);
}

void wgi_ox_write_put_rows(ox_export *e, const wg_node *n)
{
    apply3(e, "ScatterND", in(e, n, 0), tuples(e, n, 1), in(e, n, 2), out(e, n));
}

void wgi_ox_write_segment_sum(ox_export *e, const wg_node *n)
{
    const wg_shape *s = &n->out[0]->shape;
    const char *zeros = apply2(e, "Expand", wgi_ox_number(e, n->out[0]->dtype, 0),
                               wgi_ox_list_of(e, s->dim, (size_t)s->rank), NULL);
    const char *const operands[] = {zeros, tuples(e, n, 1), in(e, n, 0)};
    wgi_ox_set_word(e, wgi_ox_node(e, "ScatterND", operands, 3, out(e, n)), "reduction", "add");
}

/* ---- products and windows -------------------------------------------------------------------- */

static const char *transposed(ox_export *e, const char *x, int rank)
{
    wg_axes order = {.count = rank};
    for (int k = 0; k < rank; k++)
        order.axis[k] = k < rank - 2 ? k : 2 * rank - 3 - k;
    return permuted(e, x, &order, NULL);
}

void wgi_ox_write_matmul(ox_export *e, const wg_node *n)
{
    const wg_matmul_attrs *t = n->attrs;
    const char *a = in(e, n, 0), *b = in(e, n, 1);
    a = t->transpose_a ? transposed(e, a, n->in[0]->shape.rank) : a;
    b = t->transpose_b ? transposed(e, b, n->in[1]->shape.rank) : b;
    apply2(e, "MatMul", a, b, out(e, n));
}

/* The sign of the determinant and ln |det|; what overflows there is infinite here too. */
void wgi_ox_write_slogdet(ox_export *e, const wg_node *n)
{
    const char *det = apply1(e, "Det", in(e, n, 0), NULL);
    apply1(e, "Sign", det, out(e, n));
    apply1(e, "Log", apply1(e, "Abs", det, NULL), wgi_ox_name(e, n->out[1]));
}

void wgi_ox_write_linear(ox_export *e, const wg_node *n)
{
    wgi_ox_set_int(e, node_of(e, n, "Gemm", n->n_in), "transB", 1);
}

static void set_windows(ox_export *e, ox_node_proto *p, const wg_conv_attrs *a, int spatial)
{
    int first = 3 - spatial;
    int64_t pads[6];
    for (int k = 0; k < spatial; k++)
        pads[k] = pads[spatial + k] = a->padding[first + k];
    wgi_ox_set_ints(e, p, "strides", a->stride + first, (size_t)spatial);
    wgi_ox_set_ints(e, p, "dilations", a->dilation + first, (size_t)spatial);
    wgi_ox_set_ints(e, p, "pads", pads, 2 * (size_t)spatial);
    wgi_ox_set_int(e, p, "group", a->groups);
}

void wgi_ox_write_conv(ox_export *e, const wg_node *n)
{
    int spatial = n->in[0]->shape.rank - 2;
    ox_node_proto *p = node_of(e, n, "Conv", n->n_in);
    set_windows(e, p, n->attrs, spatial);
    wgi_ox_set_ints(e, p, "kernel_shape", n->in[1]->shape.dim + 2, (size_t)spatial);
}

/* The adjoint in x: a transposed convolution, whose output_padding makes up its size. */
void wgi_ox_write_conv_transpose(ox_export *e, const wg_node *n)
{
    const wg_conv_attrs *a = n->attrs;
    int spatial = n->in[0]->shape.rank - 2, first = 3 - spatial;
    int64_t more[3];
    ox_node_proto *p = node_of(e, n, "ConvTranspose", 2);
    for (int k = 0; k < spatial; k++)
        more[k] =
            n->out[0]->shape.dim[2 + k] -
            (a->stride[first + k] * (n->in[0]->shape.dim[2 + k] - 1) - 2 * a->padding[first + k] +
             a->dilation[first + k] * (n->in[1]->shape.dim[2 + k] - 1) + 1);
    set_windows(e, p, a, spatial);
    wgi_ox_set_ints(e, p, "kernel_shape", n->in[1]->shape.dim + 2, (size_t)spatial);
    wgi_ox_set_ints(e, p, "output_padding", more, (size_t)spatial);
}

/* Whether windows count that end behind the padding. */
static bool is_partial(const wg_node *n, const int64_t *kernel, const int64_t *stride,
                       const int64_t *padding, const int64_t *dilation, int axes)
{
    for (int k = 0; k < axes; k++) {
        int64_t end = (n->out[0]->shape.dim[2 + k] - 1) * stride[k] + dilation[k] * (kernel[k] - 1);
        if (end >= n->in[0]->shape.dim[2 + k] + 2 * padding[k])
            return true;
    }
    return false;
}

/* ceil_mode only where it makes a difference: engines do not agree on a last window that would
 * begin behind x. */
void wgi_ox_write_pool(ox_export *e, const wg_node *n)
{
    const wg_pool_attrs *a = n->attrs;
    bool max = n->op == &wg_op_max_pool2d || n->op == &wg_op_max_pool3d;
    const int64_t kernel[] = {a->kernel_d, a->kernel_h, a->kernel_w},
                  stride[] = {a->stride_d, a->stride_h, a->stride_w},
                  dilation[] = {a->dilation_d, a->dilation_h, a->dilation_w},
                  pads[] = {a->padding_d, a->padding_h, a->padding_w};
    int axes = n->in[0]->shape.rank - 2, first = 3 - axes;
    int64_t both[6];
    for (int k = 0; k < axes; k++)
        both[k] = both[axes + k] = pads[first + k];
    ox_node_proto *p = node_of(e, n, max ? "MaxPool" : "AveragePool", 1);
    wgi_ox_set_ints(e, p, "kernel_shape", kernel + first, (size_t)axes);
    wgi_ox_set_ints(e, p, "strides", stride + first, (size_t)axes);
    wgi_ox_set_ints(e, p, "pads", both, 2 * (size_t)axes);
    if (is_partial(n, kernel + first, stride + first, pads + first, dilation + first, axes))
        wgi_ox_set_int(e, p, "ceil_mode", 1);
    if (max)
        wgi_ox_set_ints(e, p, "dilations", dilation + first, (size_t)axes);
    else
        wgi_ox_set_int(e, p, "count_include_pad", !a->exclude_padding);
    if (n->n_out > 1 &&
        wgi_ox_is_read(n->out[1])) { /* of the whole tensor there, of a plane here */
        const wg_shape *x = &n->in[0]->shape;
        const char *index = wgi_ox_new_name(e, "index");
        wgi_ox_add_result(e, p, index);
        apply2(e, "Mod", index, wgi_ox_number(e, WG_I64, (double)(x->dim[2] * x->dim[3])),
               wgi_ox_name(e, n->out[1]));
    }
}

/* Neither a region nor scales: operand 3 has the sizes. */
void wgi_ox_write_upsample(ox_export *e, const wg_node *n)
{
    const wg_upsample_attrs *a = n->attrs;
    bool near = a->mode == WG_NEAREST;
    const wg_shape *y = &n->out[0]->shape;
    const char *const operands[] = {in(e, n, 0), "", "",
                                    wgi_ox_list_of(e, y->dim, (size_t)y->rank)};
    ox_node_proto *p = wgi_ox_node(e, "Resize", operands, 4, out(e, n));
    wgi_ox_set_word(e, p, "mode", near ? "nearest" : a->mode == WG_BICUBIC ? "cubic" : "linear");
    wgi_ox_set_word(e, p, "coordinate_transformation_mode",
                    near               ? "asymmetric"
                    : a->align_corners ? "align_corners"
                                       : "half_pixel");
    if (near)
        wgi_ox_set_word(e, p, "nearest_mode", "floor");
}

/* ---- along an axis, and rows ----------------------------------------------------------------- */

void wgi_ox_write_softmax(ox_export *e, const wg_node *n)
{
    const wg_softmax_attrs *a = n->attrs;
    wgi_ox_set_int(e, node_of(e, n, n->op == &wg_op_softmax ? "Softmax" : "LogSoftmax", 1), "axis",
                   a->axis);
}

/* Numbers of that shape that are all x. */
static const char *all(ox_export *e, wg_dtype dtype, const wg_shape *s, double x)
{
    int64_t count = wg_shape_count(s);
    char *data = wgi_ox_room(e, (size_t)count * wg_dtype_size(dtype) + 1);
    for (int64_t i = 0; data && i < count; i++)
        wgi_put_element(data, dtype, i, x);
    return wgi_ox_fixed(e, wgi_ox_new_name(e, "all"), dtype, s, data);
}

void wgi_ox_write_layernorm(ox_export *e, const wg_node *n)
{
    const wg_rownorm_attrs *a = n->attrs;
    const wg_shape *x = &n->in[0]->shape;
    int axes = (int)(a->axes ? a->axes : 1);
    wg_shape row = wg_shape_make(axes, x->dim + x->rank - axes);
    const char *gain = n->n_in > 1 ? in(e, n, 1) : all(e, n->out[0]->dtype, &row, 1);
    const char *const operands[] = {in(e, n, 0), gain, in(e, n, 2)};
    ox_node_proto *p = wgi_ox_node(e, "LayerNormalization", operands, 3, out(e, n));
    wgi_ox_set_int(e, p, "axis", -axes);
    wgi_ox_set_real(e, p, "epsilon", a->eps);
    wgi_ox_add_result(e, p, wgi_ox_name(e, n->out[1]));
    wgi_ox_add_result(e, p, wgi_ox_name(e, n->out[2]));
}

/* ONNX has gain and bias before the statistics, and always. */
void wgi_ox_write_batchnorm(ox_export *e, const wg_node *n)
{
    const wg_batchnorm_attrs *a = n->attrs;
    const wg_value *mean = n->in[1];
    const char *gain = n->n_in > 3 ? in(e, n, 3) : all(e, mean->dtype, &mean->shape, 1),
               *bias = n->n_in > 4 ? in(e, n, 4) : all(e, mean->dtype, &mean->shape, 0);
    const char *const operands[] = {in(e, n, 0), gain, bias, in(e, n, 1), in(e, n, 2)};
    ox_node_proto *p = wgi_ox_node(e, "BatchNormalization", operands, 5, out(e, n));
    wgi_ox_set_real(e, p, "epsilon", a->eps);
}

/* Logits with other axes become rows of classes, and what is not reduced is put back. */
void wgi_ox_write_cross_entropy(ox_export *e, const wg_node *n)
{
    static const char *const reductions[] = {"mean", "sum", "none"};
    const wg_cross_entropy_attrs *a = n->attrs;
    const wg_shape *s = &n->in[0]->shape, *t = &n->in[1]->shape;
    const char *logits = in(e, n, 0), *targets = in(e, n, 1);
    bool rows = s->rank == 2, back = !rows && a->reduction == WG_LOSS_NONE;
    int64_t shape[] = {wg_shape_count(t), s->dim[s->rank - 1]};
    if (!rows) {
        logits = apply2(e, "Reshape", logits, wgi_ox_list_of(e, shape, 2), NULL);
        targets = apply2(e, "Reshape", targets, wgi_ox_list_of(e, shape, 1), NULL);
    }
    const char *const operands[] = {logits, targets};
    ox_node_proto *p =
        wgi_ox_node(e, "SoftmaxCrossEntropyLoss", operands, 2, back ? NULL : out(e, n));
    wgi_ox_set_word(e, p, "reduction", reductions[a->reduction]);
    if (a->use_ignore)
        wgi_ox_set_int(e, p, "ignore_index", a->ignore);
    if (back)
        apply2(e, "Reshape", wgi_ox_result(p), wgi_ox_list_of(e, t->dim, (size_t)t->rank),
               out(e, n));
}
