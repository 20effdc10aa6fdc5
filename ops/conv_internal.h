/* What convolutions (conv.c) and transposed convolutions (conv_transpose.c) share. */
#ifndef WG_OPS_CONV_INTERNAL_H
#define WG_OPS_CONV_INTERNAL_H

#include "wengert/ops/conv.h"

/* Entries of wg_conv_attrs. */
enum { WGI_D, WGI_H, WGI_W, WGI_CONV_AXES };
/* What messages call the axis of entry k in tensors of that rank: an only one is L. */
const char *wgi_conv_axis(int rank, int k);

/* The axis of an x, w or y of that rank which entry k is about; below 2: it has none. */
static inline int wgi_conv_dim(int rank, int k)
{
    return rank - WGI_CONV_AXES + k;
}

/* The first entry that tensors of that rank have. */
static inline int wgi_conv_first(int rank)
{
    return WGI_CONV_AXES + 2 - rank;
}

/* clang-format off */
#define WGI_CONV_FIELD(name, field)                                                                \
    {name, WG_ATTR_INT, offsetof(wg_conv_attrs, field), 0}
#define WGI_CONV_HW(name, field)                                                                   \
    WGI_CONV_FIELD(name "_h", field[WGI_H]), WGI_CONV_FIELD(name "_w", field[WGI_W])
#define WGI_CONV_DHW(name, field)                                                                  \
    WGI_CONV_FIELD(name "_d", field[WGI_D]), WGI_CONV_HW(name, field)
#define WGI_CONV_FIELDS_1D                                                                         \
    WGI_CONV_FIELD("stride", stride[WGI_W]), WGI_CONV_FIELD("padding", padding[WGI_W]),            \
    WGI_CONV_FIELD("dilation", dilation[WGI_W]), WGI_CONV_FIELD("groups", groups)
#define WGI_CONV_FIELDS_2D                                                                         \
    WGI_CONV_HW("stride", stride), WGI_CONV_HW("padding", padding),                                \
    WGI_CONV_HW("dilation", dilation), WGI_CONV_FIELD("groups", groups)
#define WGI_CONV_FIELDS_3D                                                                         \
    WGI_CONV_DHW("stride", stride), WGI_CONV_DHW("padding", padding),                              \
    WGI_CONV_DHW("dilation", dilation), WGI_CONV_FIELD("groups", groups)

#define WGI_CONVOLUTION                                                                            \
    .family = WG_FAMILY_CONVOLUTION, .smoothness = WG_PIECEWISE_LINEAR

/* Numbers along D, H and W in a sample. */
#define WGI_DHW(d, h, w) {d, h, w}
#define WGI_F(...) WG_FLOATS(-2, 2, __VA_ARGS__)
/* clang-format on */

/* Operands 0 and 1 are floats of one dtype and of that rank. */
bool wgi_conv_need_floats(wg_node *n, int rank);
/* Operand 2, if there is one, is the bias of that many channels. */
bool wgi_conv_need_bias(wg_node *n, int64_t channels);
/* groups >= 1, and `groups` groups of `each` channels are a number. */
bool wgi_conv_need_groups(wg_node *n, int64_t groups, int64_t each);

/* Windows along entry k over an input of shape x by a kernel of shape w; count is not yet set. */
wg_sliding wgi_conv_windows(const wg_conv_attrs *a, const wg_shape *x, const wg_shape *w, int k);

/* Sets a->size to the sizes of s along the axes that it has. */
void wgi_conv_set_size(wg_conv_attrs *a, const wg_shape *s);

/* Of a convolution or an adjoint, where each element of `each` meets every weight of one channel
 * once: weight[channels, ...]. */
double wgi_conv_flops(const wg_value *each, const wg_value *weight);

/* The expansion of an op of one dimension: `two` on x and w seen as [.., .., 1, ..]. */
void wgi_conv_expand_1d(wg_node *n, wg_value **y, const wg_op *two);

/* The attributes that options mean; NULL: all defaults. */
wg_conv_attrs wgi_conv_attrs_1d(const wg_conv1d_options *options);
wg_conv_attrs wgi_conv_attrs_2d(const wg_conv2d_options *options);
wg_conv_attrs wgi_conv_attrs_3d(const wg_conv3d_options *options);

#endif
