/* The functions of the table, by file. */
#ifndef WG_ONNX_OPS_H
#define WG_ONNX_OPS_H

#include "onnx/import.h"

/* op_arithmetic.c */
ox_build wgi_ox_sum, wgi_ox_mean, wgi_ox_max, wgi_ox_min, wgi_ox_div, wgi_ox_pow, wgi_ox_mod,
    wgi_ox_bit_shift, wgi_ox_bitwise_not, wgi_ox_is_inf, wgi_ox_equal, wgi_ox_clip, wgi_ox_cast_to,
    wgi_ox_cast_like, wgi_ox_where, wgi_ox_identity, wgi_ox_det;
/* op_activation.c */
ox_build wgi_ox_relu, wgi_ox_leaky_relu, wgi_ox_elu, wgi_ox_celu, wgi_ox_selu,
    wgi_ox_thresholded_relu, wgi_ox_hard_sigmoid, wgi_ox_hard_swish, wgi_ox_shrink, wgi_ox_softsign,
    wgi_ox_mish, wgi_ox_prelu, wgi_ox_gelu, wgi_ox_swish, wgi_ox_softmax, wgi_ox_log_softmax,
    wgi_ox_hardmax, wgi_ox_dropout;
/* op_shape.c */
ox_build wgi_ox_shape, wgi_ox_size, wgi_ox_reshape, wgi_ox_flatten, wgi_ox_squeeze,
    wgi_ox_unsqueeze, wgi_ox_transpose, wgi_ox_expand, wgi_ox_concat, wgi_ox_split, wgi_ox_slice,
    wgi_ox_pad_op, wgi_ox_tile, wgi_ox_depth_to_space, wgi_ox_space_to_depth,
    wgi_ox_center_crop_pad, wgi_ox_trilu;
/* op_constant.c */
ox_build wgi_ox_constant_op, wgi_ox_constant_of_shape, wgi_ox_range, wgi_ox_eye_like,
    wgi_ox_one_hot, wgi_ox_hann, wgi_ox_hamming, wgi_ox_blackman, wgi_ox_mel;
/* op_random.c */
ox_build wgi_ox_random_normal, wgi_ox_random_uniform;
/* op_reduce.c */
ox_reduction wgi_ox_sum_of_magnitudes, wgi_ox_norm_of, wgi_ox_log_of_sum, wgi_ox_largest_of,
    wgi_ox_smallest_of, wgi_ox_sum_of_squares;
ox_build wgi_ox_arg_max, wgi_ox_arg_min, wgi_ox_cumsum, wgi_ox_top_k;
/* op_index.c */
ox_build wgi_ox_gather, wgi_ox_gather_elements, wgi_ox_gather_nd, wgi_ox_scatter_elements,
    wgi_ox_scatter_nd, wgi_ox_reverse_sequence, wgi_ox_compress, wgi_ox_non_zero;
/* op_linear.c */
ox_build wgi_ox_matmul, wgi_ox_gemm, wgi_ox_einsum, wgi_ox_matmul_integer, wgi_ox_quantize,
    wgi_ox_dequantize, wgi_ox_dynamic_quantize, wgi_ox_qlinear_matmul;
/* op_conv.c */
ox_build wgi_ox_conv, wgi_ox_conv_transpose, wgi_ox_conv_integer, wgi_ox_qlinear_conv,
    wgi_ox_col2im;
/* op_pool.c */
ox_build wgi_ox_max_pool, wgi_ox_average_pool, wgi_ox_lp_pool, wgi_ox_global_max_pool,
    wgi_ox_global_average_pool, wgi_ox_global_lp_pool, wgi_ox_max_unpool;
/* op_norm.c */
ox_build wgi_ox_batchnorm, wgi_ox_instancenorm, wgi_ox_layernorm, wgi_ox_groupnorm, wgi_ox_rmsnorm,
    wgi_ox_mean_variance, wgi_ox_lrn, wgi_ox_lp_norm;
/* op_attention.c */
ox_build wgi_ox_attention, wgi_ox_rotary_embedding;
/* op_recurrent.c */
ox_build wgi_ox_rnn, wgi_ox_lstm, wgi_ox_gru;
/* op_resize.c */
ox_build wgi_ox_resize, wgi_ox_upsample;
/* op_grid.c */
ox_build wgi_ox_grid_sample, wgi_ox_affine_grid;
/* op_signal.c */
ox_build wgi_ox_dft, wgi_ox_stft;
/* op_loss.c */
ox_build wgi_ox_nll_loss, wgi_ox_softmax_cross_entropy;
/* op_training.c */
ox_build wgi_ox_adam, wgi_ox_adagrad, wgi_ox_momentum, wgi_ox_gradient;
/* op_control.c */
ox_build wgi_ox_if, wgi_ox_loop, wgi_ox_scan;

#endif
