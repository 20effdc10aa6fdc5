/* Sliding windows as the attributes of convolutions and pools give them. */
#ifndef WG_ONNX_WINDOW_H
#define WG_ONNX_WINDOW_H

#include "onnx/import.h"

enum { OX_MAX_SPATIAL = 3 };

/* Along each of `rank` spatial axes. */
typedef struct ox_window {
    int rank;
    int64_t kernel[OX_MAX_SPATIAL], stride[OX_MAX_SPATIAL], dilation[OX_MAX_SPATIAL];
    int64_t before[OX_MAX_SPATIAL], after[OX_MAX_SPATIAL]; /* padding */
    int64_t extra[OX_MAX_SPATIAL]; /* more behind `after`, so that ceil_mode's last window fits */
    bool exclude_padding;          /* of means: padding does not count */
} ox_window;

/* The windows over x[N, C, spatial...]; `kernel` has sizes that kernel_shape may repeat, or is
 * NULL.  false after an error. */
bool wgi_ox_window(ox_node *n, const wg_value *x, const int64_t *kernel, ox_window *w);
/* A list of one number for each spatial axis, `otherwise` if it is absent; false after an error. */
bool wgi_ox_spatial(ox_node *n, const char *name, int rank, int64_t otherwise,
                    int64_t out[OX_MAX_SPATIAL]);
/* The span of a window. */
int64_t wgi_ox_span(const ox_window *w, int axis);
/* x padded as `before` and `after` (and `extra` if asked) say, for all axes of x. */
wg_value *wgi_ox_pad_spatial(ox_node *n, wg_value *x, const ox_window *w, bool extra, double value);
/* The convolution of x over these windows; padding is g->before at both ends.  b may be NULL. */
wg_value *wgi_ox_convolve(wg_value *x, wg_value *w, wg_value *b, const ox_window *g,
                          int64_t groups);
/* Whether the paddings of each axis are equal and no larger than half of its window. */
bool wgi_ox_is_even(const ox_window *w);

#endif
