/* Which ops are written, and how. */
#include "onnx/lower_forms.h"

#include <math.h>

/* ---- the table ------------------------------------------------------------------------------- */

static bool is_plain_linear(const wg_node *n)
{
    const wg_linear_attrs *a = n->attrs;
    return n->in[0]->shape.rank == 2 && a->activation == WG_ACTIVATION_NONE && !a->in_first;
}

static bool is_plain_entropy(const wg_node *n)
{
    const wg_cross_entropy_attrs *a = n->attrs;
    return wg_value_count(n->in[0]) > 0 && a->smoothing == 0 && n->n_in == 2;
}

static bool is_unit_step(const wg_node *n)
{
    const wg_slice_grad_attrs *a = n->attrs;
    for (int k = 0; k < a->step.rank; k++)
        if (a->step.dim[k] != 1)
            return false;
    return true;
}

static bool is_first_axis(const wg_node *n)
{
    const wg_segment_attrs *a = n->attrs;
    return a->axis == 0;
}

static bool is_usual_norm(const wg_node *n)
{
    const wg_vector_norm_attrs *a = n->attrs;
    return a->p == 1 || a->p == 2 || isinf(a->p);
}

static bool is_plain_transform(const wg_node *n)
{
    const wg_rfft_attrs *a = n->attrs;
    return !a->weighted;
}

/* Comparisons of bools, and remainders, would need more than one form. */
static bool is_of_numbers(const wg_node *n)
{
    return n->in[0]->dtype != WG_BOOL;
}

/* Engines have cubic interpolation of images; signals and volumes are written as images. */
static bool is_not_cubic(const wg_node *n)
{
    const wg_upsample_attrs *a = n->attrs;
    return a->mode != WG_CUBIC;
}

ox_writer *wgi_ox_writer_of(const wg_node *n)
{
    static const struct {
        const wg_op *op;
        ox_writer *write;
        bool (*only)(const wg_node *n); /* NULL: always */
    } table[] = {
        {&wg_op_constant, wgi_ox_write_constant, NULL},
        {&wg_op_fill, wgi_ox_write_fill, NULL},
        {&wg_op_iota, wgi_ox_write_iota, NULL},
        {&wg_op_one_hot, wgi_ox_write_one_hot, NULL},
        {&wg_op_stop_gradient, wgi_ox_write_identity, NULL},
        {&wg_op_barrier, wgi_ox_write_identity, NULL},
        {&wg_op_guard, wgi_ox_write_identity, NULL},
        {&wg_op_check_lengths, wgi_ox_write_identity, NULL},
        {&wg_op_square, wgi_ox_write_square, NULL},
        {&wg_op_rsqrt, wgi_ox_write_rsqrt, NULL},
        {&wg_op_log1p, wgi_ox_write_log1p, NULL},
        {&wg_op_expm1, wgi_ox_write_expm1, NULL},
        {&wg_op_not_equal, wgi_ox_write_not_equal, is_of_numbers},
        {&wg_op_isfinite, wgi_ox_write_isfinite, NULL},
        {&wg_op_remainder, wgi_ox_write_remainder, NULL},
        {&wg_op_floor_divide, wgi_ox_write_floor_divide, NULL},
        {&wg_op_bitwise_not, wgi_ox_write_bitwise_not, NULL},
        {&wg_op_silu, wgi_ox_write_silu, NULL},
        {&wg_op_gelu, wgi_ox_write_gelu, NULL},
        {&wg_op_leaky_relu, wgi_ox_write_leaky_relu, NULL},
        {&wg_op_elu, wgi_ox_write_elu, NULL},
        {&wg_op_relu_grad, wgi_ox_write_relu_grad, NULL},
        {&wg_op_clamp, wgi_ox_write_clamp, NULL},
        {&wg_op_cast, wgi_ox_write_cast, NULL},
        {&wg_op_masked_fill, wgi_ox_write_masked_fill, NULL},
        {&wg_op_dropout, wgi_ox_write_dropout, NULL},
        {&wg_op_sum, wgi_ox_write_reduction, NULL},
        {&wg_op_mean, wgi_ox_write_reduction, NULL},
        {&wg_op_max, wgi_ox_write_reduction, NULL},
        {&wg_op_min, wgi_ox_write_reduction, NULL},
        {&wg_op_prod, wgi_ox_write_reduction, NULL},
        {&wg_op_logsumexp, wgi_ox_write_reduction, NULL},
        {&wg_op_any, wgi_ox_write_any_all, NULL},
        {&wg_op_all, wgi_ox_write_any_all, NULL},
        {&wg_op_vector_norm, wgi_ox_write_norm, is_usual_norm},
        {&wg_op_var, wgi_ox_write_var, NULL},
        {&wg_op_argmax, wgi_ox_write_arg, NULL},
        {&wg_op_argmin, wgi_ox_write_arg, NULL},
        {&wg_op_topk, wgi_ox_write_topk, NULL},
        {&wg_op_sort, wgi_ox_write_sort, NULL},
        {&wg_op_cumsum, wgi_ox_write_cumsum, NULL},
        {&wg_op_fft, wgi_ox_write_fft, NULL},
        {&wg_op_rfft, wgi_ox_write_rfft, is_plain_transform},
        {&wg_op_reshape, wgi_ox_write_shaped, NULL},
        {&wg_op_expand, wgi_ox_write_shaped, NULL},
        {&wg_op_permute, wgi_ox_write_permute, NULL},
        {&wg_op_slice, wgi_ox_write_slice, NULL},
        {&wg_op_slice_grad, wgi_ox_write_slice_grad, is_unit_step},
        {&wg_op_pad, wgi_ox_write_pad, NULL},
        {&wg_op_concat, wgi_ox_write_concat, NULL},
        {&wg_op_triangle, wgi_ox_write_triangle, NULL},
        {&wg_op_embedding, wgi_ox_write_embedding, NULL},
        {&wg_op_take, wgi_ox_write_take, NULL},
        {&wg_op_gather, wgi_ox_write_take, NULL},
        {&wg_op_scatter, wgi_ox_write_scatter, NULL},
        {&wg_op_scatter_add, wgi_ox_write_scatter, NULL},
        {&wg_op_put_rows, wgi_ox_write_put_rows, NULL},
        {&wg_op_segment_sum, wgi_ox_write_segment_sum, is_first_axis},
        {&wg_op_matmul, wgi_ox_write_matmul, NULL},
        {&wg_op_slogdet, wgi_ox_write_slogdet, NULL},
        {&wg_op_linear, wgi_ox_write_linear, is_plain_linear},
        {&wg_op_conv2d, wgi_ox_write_conv, NULL},
        {&wg_op_conv3d, wgi_ox_write_conv, NULL},
        {&wg_op_conv2d_grad_x, wgi_ox_write_conv_transpose, NULL},
        {&wg_op_conv3d_grad_x, wgi_ox_write_conv_transpose, NULL},
        {&wg_op_max_pool2d, wgi_ox_write_pool, NULL},
        {&wg_op_avg_pool2d, wgi_ox_write_pool, NULL},
        {&wg_op_max_pool3d, wgi_ox_write_pool, NULL},
        {&wg_op_avg_pool3d, wgi_ox_write_pool, NULL},
        {&wg_op_upsample1d, wgi_ox_write_upsample, is_not_cubic},
        {&wg_op_upsample2d, wgi_ox_write_upsample, NULL},
        {&wg_op_upsample3d, wgi_ox_write_upsample, is_not_cubic},
        {&wg_op_softmax, wgi_ox_write_softmax, NULL},
        {&wg_op_log_softmax, wgi_ox_write_softmax, NULL},
        {&wg_op_layernorm, wgi_ox_write_layernorm, NULL},
        {&wg_op_batchnorm_eval, wgi_ox_write_batchnorm, NULL},
        {&wg_op_cross_entropy, wgi_ox_write_cross_entropy, is_plain_entropy},
    };
    if (wgi_ox_same_name(n->op))
        return wgi_ox_write_same;
    for (int i = 0; i < WG_COUNT(table); i++)
        if (table[i].op == n->op)
            return !table[i].only || table[i].only(n) ? table[i].write : NULL;
    return NULL;
}
