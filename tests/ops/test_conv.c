/* Convolution against its definition, element by element, for many geometries; its adjoints by
 * <conv(x, w), dy> = <x, grad_x(dy, w)> = <w, grad_w(x, dy)>; refusals. */
#include "tests/small.h"
#include "wengert/autograd/grad.h"

typedef struct geometry {
    const char *name;
    int batch, in, height, width, out, kernel[2], stride[2], padding[2], dilation[2], groups;
} geometry;

/* clang-format off */
static const geometry geometries[] = {
    /* name                 N  C  H  W  O   kernel  stride  padding dilation groups */
    {"3x3",                 2, 3, 5, 6, 4, {3, 3}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"same",                2, 2, 5, 7, 3, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
    {"1x1",                 3, 5, 4, 3, 2, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"1x1 strided",         1, 2, 5, 6, 3, {1, 1}, {2, 3}, {0, 0}, {1, 1}, 1},
    {"strided",             2, 3, 8, 7, 4, {3, 2}, {2, 3}, {1, 0}, {1, 1}, 1},
    {"stride over kernel",  1, 2, 9, 8, 2, {2, 1}, {4, 3}, {0, 0}, {1, 1}, 1},
    {"stride leaves rest",  1, 1, 10, 9, 1, {2, 3}, {3, 4}, {0, 1}, {1, 1}, 1},
    {"dilated",             1, 2, 9, 8, 3, {3, 2}, {1, 1}, {2, 1}, {2, 3}, 1},
    {"dilated, strided",    2, 2, 9, 10, 2, {3, 3}, {2, 3}, {3, 2}, {3, 2}, 1},
    {"groups",              2, 6, 5, 5, 4, {3, 3}, {1, 2}, {1, 1}, {1, 1}, 2},
    {"depthwise",           2, 4, 6, 5, 4, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 4},
    {"depthwise, two each", 1, 3, 6, 5, 6, {3, 2}, {2, 1}, {1, 0}, {1, 2}, 3},
    {"padding of a kernel", 1, 2, 3, 3, 2, {2, 2}, {1, 1}, {2, 2}, {1, 1}, 1},
    {"padding over kernel", 1, 1, 2, 3, 2, {2, 1}, {2, 3}, {5, 4}, {1, 1}, 1},
    {"kernel over input",   1, 2, 2, 1, 2, {5, 4}, {1, 1}, {2, 3}, {1, 1}, 1},
    {"kernel = input",      2, 2, 4, 5, 3, {4, 5}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"one row",             2, 2, 1, 9, 2, {1, 4}, {1, 2}, {0, 1}, {1, 2}, 1},
    {"one column",          2, 2, 9, 1, 2, {4, 1}, {2, 1}, {1, 0}, {2, 1}, 1},
    {"one element",         1, 1, 1, 1, 1, {1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"empty batch",         0, 2, 4, 4, 3, {2, 2}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"no input channels",   2, 0, 4, 4, 3, {2, 2}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"no output channels",  2, 2, 4, 4, 0, {2, 2}, {1, 1}, {0, 0}, {1, 1}, 1},
    {"groups of no inputs", 1, 0, 4, 4, 4, {2, 2}, {1, 1}, {0, 0}, {1, 1}, 2},
    {"groups of no outputs",1, 4, 4, 4, 0, {2, 2}, {1, 1}, {0, 0}, {1, 1}, 2},
    {"wide, many channels", 2, 8, 9, 33, 16, {3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},
};
/* clang-format on */

static wg_conv2d_options options_of(const geometry *t)
{
    return (wg_conv2d_options){.stride = {t->stride[0], t->stride[1]},
                               .padding = {t->padding[0], t->padding[1]},
                               .dilation = {t->dilation[0], t->dilation[1]},
                               .groups = t->groups};
}

static double x_numbers[SMALL_MAX], w_numbers[SMALL_MAX], y_numbers[SMALL_MAX];
static double b_numbers[64], dx_numbers[SMALL_MAX], dw_numbers[SMALL_MAX];

/* Calls `each` with the flat places of w, x and y for every term of the convolution. */
static void every_term(const geometry *t, int64_t rows, int64_t columns,
                       void (*each)(int64_t y, int64_t w, int64_t x))
{
    int in = t->in / t->groups, out = t->out / t->groups;
    for (int b = 0; b < t->batch; b++)
        for (int o = 0; o < t->out; o++)
            for (int64_t p = 0; p < rows; p++)
                for (int64_t q = 0; q < columns; q++)
                    for (int c = 0; c < in; c++)
                        for (int k = 0; k < t->kernel[0]; k++)
                            for (int l = 0; l < t->kernel[1]; l++) {
                                int64_t i = p * t->stride[0] - t->padding[0] + k * t->dilation[0];
                                int64_t j = q * t->stride[1] - t->padding[1] + l * t->dilation[1];
                                if (i < 0 || i >= t->height || j < 0 || j >= t->width)
                                    continue;
                                int64_t channel = o / out * in + c;
                                each(((b * t->out + o) * rows + p) * columns + q,
                                     ((o * in + c) * t->kernel[0] + k) * t->kernel[1] + l,
                                     ((b * t->in + channel) * t->height + i) * t->width + j);
                            }
}

static void add_to_y(int64_t y, int64_t w, int64_t x)
{
    y_numbers[y] += w_numbers[w] * x_numbers[x];
}

static void add_to_dx(int64_t y, int64_t w, int64_t x)
{
    dx_numbers[x] += w_numbers[w] * y_numbers[y];
}

static void add_to_dw(int64_t y, int64_t w, int64_t x)
{
    dw_numbers[w] += x_numbers[x] * y_numbers[y];
}

static int64_t conv_is_its_definition(const geometry *t, wg_dtype dtype)
{
    uint64_t seed = 1;
    wg_graph *g = wg_graph_new();
    wg_shape xs = WG_SHAPE(t->batch, t->in, t->height, t->width);
    wg_shape ws = WG_SHAPE(t->out, t->in / t->groups, t->kernel[0], t->kernel[1]);
    wg_value *x = small_constant(g, dtype, xs, &seed, x_numbers);
    wg_value *w = small_constant(g, dtype, ws, &seed, w_numbers);
    wg_value *bias = small_constant(g, dtype, WG_SHAPE(t->out), &seed, b_numbers);
    wg_conv2d_options o = options_of(t);
    wg_value *y = wg_conv2d(x, w, bias, &o);
    check_that(y, "%s: %s", t->name, wg_graph_message(g));

    int64_t rows = y->shape.dim[2], columns = y->shape.dim[3], count = wg_value_count(y);
    for (int64_t i = 0; i < count; i++)
        y_numbers[i] = b_numbers[i / (rows * columns) % t->out];
    every_term(t, rows, columns, add_to_y);
    wg_plan *p = small_run(g, &y, 1, 1);
    small_equal(t->name, p, y, y_numbers, count);
    wg_plan_free(p);

    /* and backwards, for a cotangent of small numbers */
    wg_value *operands[] = {x, w, bias}, *d[3];
    wg_value *dy = small_constant(g, dtype, y->shape, &seed, y_numbers);
    check_that(wg_vjp(&y, &dy, 1, operands, 3, NULL, d) == WG_OK, "%s", wg_graph_message(g));
    memset(dx_numbers, 0, sizeof dx_numbers);
    memset(dw_numbers, 0, sizeof dw_numbers);
    memset(b_numbers, 0, sizeof b_numbers);
    every_term(t, rows, columns, add_to_dx);
    every_term(t, rows, columns, add_to_dw);
    for (int64_t i = 0; i < count; i++)
        b_numbers[i / (rows * columns) % t->out] += y_numbers[i];
    p = small_run(g, d, 3, 1);
    count += small_equal(t->name, p, d[0], dx_numbers, wg_shape_count(&xs));
    count += small_equal(t->name, p, d[1], dw_numbers, wg_shape_count(&ws));
    count += small_equal(t->name, p, d[2], b_numbers, t->out);
    wg_plan_free(p);
    wg_graph_free(g);
    return count;
}

static void convolutions_and_gradients_are_their_definitions(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(geometries); i++)
        for (wg_dtype dtype = WG_F32; dtype <= WG_F64; dtype++)
            compared += conv_is_its_definition(&geometries[i], dtype);
    assert_true(compared > 10000);
}

/* <conv(x, w), dy> = <x, grad_x(dy, w)> = <w, grad_w(x, dy)>, all computed by the ops. */
static void the_three_primitives_are_adjoint(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(geometries); i++) {
        const geometry *t = &geometries[i];
        uint64_t seed = 7 + (uint64_t)i;
        wg_graph *g = wg_graph_new();
        wg_value *x =
            small_constant(g, WG_F64, WG_SHAPE(t->batch, t->in, t->height, t->width), &seed, NULL);
        wg_value *w = small_constant(
            g, WG_F64, WG_SHAPE(t->out, t->in / t->groups, t->kernel[0], t->kernel[1]), &seed,
            NULL);
        wg_conv2d_options o = options_of(t);
        wg_value *y = wg_conv2d(x, w, NULL, &o);
        check_that(y, "%s: %s", t->name, wg_graph_message(g));
        wg_value *dy = small_constant(g, WG_F64, y->shape, &seed, NULL);
        wg_conv_attrs a = {.stride = {1, t->stride[0], t->stride[1]},
                           .padding = {0, t->padding[0], t->padding[1]},
                           .dilation = {1, t->dilation[0], t->dilation[1]},
                           .groups = t->groups,
                           .size = {1, t->height, t->width}};
        wg_value *dx = wg_conv2d_grad_x(dy, w, &a);
        a.size[1] = t->kernel[0];
        a.size[2] = t->kernel[1];
        wg_value *dw = wg_conv2d_grad_w(x, dy, &a);
        wg_value *products[] = {wg_sum(wg_mul(y, dy), WG_ALL_AXES, WG_DROP),
                                wg_sum(wg_mul(x, dx), WG_ALL_AXES, WG_DROP),
                                wg_sum(wg_mul(w, dw), WG_ALL_AXES, WG_DROP)};
        wg_plan *p = small_run(g, products, 3, 1);
        double first = small_at(p, products[0], 0);
        small_equal(t->name, p, products[1], &first, 1);
        small_equal(t->name, p, products[2], &first, 1);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* y[o, i s - padding + k d] += w[c, o, k] x[c, i] for every i and k, cut off at the borders. */
static void transposed_convolution_is_its_definition(void **state)
{
    (void)state;
    static const struct {
        int length, kernel, stride, padding, dilation, groups, output_padding;
    } cases[] = {{4, 3, 1, 0, 1, 1, 0}, {4, 3, 2, 1, 1, 1, 0}, {5, 2, 3, 0, 2, 2, 2},
                 {3, 1, 2, 0, 1, 1, 1}, {1, 4, 3, 1, 1, 2, 0}, {6, 3, 1, 2, 2, 1, 0}};
    enum { BATCH = 2, IN = 4, OUT = 6 };
    for (int n = 0; n < WG_COUNT(cases); n++) {
        int length = cases[n].length, kernel = cases[n].kernel, stride = cases[n].stride;
        int padding = cases[n].padding, dilation = cases[n].dilation, groups = cases[n].groups;
        int size = (length - 1) * stride - 2 * padding + dilation * (kernel - 1) + 1 +
                   cases[n].output_padding;
        uint64_t seed = 3;
        wg_graph *g = wg_graph_new();
        wg_value *x = small_constant(g, WG_F64, WG_SHAPE(BATCH, IN, length), &seed, x_numbers);
        wg_value *w =
            small_constant(g, WG_F64, WG_SHAPE(IN, OUT / groups, kernel), &seed, w_numbers);
        wg_value *bias = small_constant(g, WG_F64, WG_SHAPE(OUT), &seed, b_numbers);
        wg_value *y =
            wg_conv_transpose1d(x, w, bias,
                                &(wg_conv1d_options){.stride = stride,
                                                     .padding = padding,
                                                     .dilation = dilation,
                                                     .groups = groups,
                                                     .output_padding = cases[n].output_padding});
        check_that(y, "%s", wg_graph_message(g));
        assert_int_equal(y->shape.dim[2], size);
        for (int i = 0; i < BATCH * OUT * size; i++)
            y_numbers[i] = b_numbers[i / size % OUT];
        for (int b = 0; b < BATCH; b++)
            for (int c = 0; c < IN; c++)
                for (int o = 0; o < OUT / groups; o++)
                    for (int i = 0; i < length; i++)
                        for (int k = 0; k < kernel; k++) {
                            int at = i * stride - padding + k * dilation;
                            int channel = c / (IN / groups) * (OUT / groups) + o;
                            if (at >= 0 && at < size)
                                y_numbers[(b * OUT + channel) * size + at] +=
                                    w_numbers[(c * (OUT / groups) + o) * kernel + k] *
                                    x_numbers[(b * IN + c) * length + i];
                        }
        wg_plan *p = small_run(g, &y, 1, 1);
        small_equal("conv_transpose1d", p, y, y_numbers, BATCH * OUT * size);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void one_dimension_is_two_of_height_one(void **state)
{
    (void)state;
    uint64_t seed = 5;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F64, WG_SHAPE(2, 4, 11), &seed, NULL);
    wg_value *w = small_constant(g, WG_F64, WG_SHAPE(6, 2, 3), &seed, NULL);
    wg_value *b = small_constant(g, WG_F64, WG_SHAPE(6), &seed, NULL);
    wg_value *y[] = {
        wg_conv1d(x, w, b,
                  &(wg_conv1d_options){.stride = 2, .padding = 1, .dilation = 2, .groups = 2}),
        wg_conv2d(wg_reshape(x, WG_SHAPE(2, 4, 1, 11)), wg_reshape(w, WG_SHAPE(6, 2, 1, 3)), b,
                  &(wg_conv2d_options){
                      .stride = {1, 2}, .padding = {0, 1}, .dilation = {1, 2}, .groups = 2})};
    wg_plan *p = small_run(g, y, 2, 1);
    small_equal("conv1d", p, y[0], wg_plan_data(p, y[1]), wg_value_count(y[1]));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    uint64_t seed = 9;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F32, WG_SHAPE(3, 8, 17, 19), &seed, NULL);
    wg_value *w = small_constant(g, WG_F32, WG_SHAPE(8, 4, 3, 3), &seed, NULL);
    x = wg_exp(wg_scale(x, 0.3)); /* sums that round */
    wg_value *y[3] = {wg_conv2d(
        x, w, NULL, &(wg_conv2d_options){.stride = {2, 1}, .padding = {1, 1}, .groups = 2})};
    wg_value *dy = wg_tanh(y[0]), *operands[] = {x, w};
    assert_int_equal(wg_vjp(y, &dy, 1, operands, 2, NULL, y + 1), WG_OK);
    small_same_at_any_threads(g, y, 3);
    wg_graph_free(g);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* A convolution of x[1, 4, 5, 6] with w[6, in, 3, 3], or its transpose of x[1, 6, 5, 6]. */
typedef struct convolution {
    int64_t in;
    bool transposed;
    wg_conv2d_options o;
} convolution;

static wg_value *convolve(wg_graph *g, const void *arguments)
{
    const convolution *c = arguments;
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1, c->transposed ? 6 : 4, 5, 6));
    wg_value *w = wg_input(g, "w", WG_F32, WG_SHAPE(6, c->in, 3, 3));
    return c->transposed ? wg_conv_transpose2d(x, w, NULL, &c->o) : wg_conv2d(x, w, NULL, &c->o);
}

static wg_value *convolve_with_a_long_bias(wg_graph *g, const void *arguments)
{
    (void)arguments;
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 9));
    wg_value *w = wg_input(g, "w", WG_F32, WG_SHAPE(4, 3, 3));
    return wg_conv1d(x, w, wg_input(g, "b", WG_F32, WG_SHAPE(3)), NULL);
}

static wg_value *convolve_along_one(wg_graph *g, const void *options)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 9));
    return wg_conv1d(x, wg_input(g, "w", WG_F32, WG_SHAPE(4, 3, 10)), NULL, options);
}

static wg_value *transpose_along_one(wg_graph *g, const void *options)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 9));
    return wg_conv_transpose1d(x, wg_input(g, "w", WG_F32, WG_SHAPE(3, 4, 3)), NULL, options);
}

static wg_value *differentiate_another_size(wg_graph *g, const void *arguments)
{
    wg_value *dy = wg_input(g, "dy", WG_F32, WG_SHAPE(1, 4, 3, 3));
    return wg_conv2d_grad_x(dy, wg_input(g, "w", WG_F32, WG_SHAPE(4, 2, 3, 3)), arguments);
}

static const small_refusal refusals[] = {
    {convolve, &(const convolution){4, false, {.dilation = {1, 4}}},
     "conv2d(x, w): along W a kernel of 3 with dilation 4 spans 9, more than the 6 of size 6 and "
     "padding 0"},
    {convolve, &(const convolution){3, false, {.groups = 1}},
     "conv2d(x, w): x is [1,4,5,6], of 4 channels along axis 1; w is [6,3,3,3], for 3 channels"},
    {convolve, &(const convolution){1, false, {.groups = 4}},
     "4 groups do not divide 4 input and 6 output channels"},
    {convolve, &(const convolution){4, false, {.groups = -1}}, "-1 groups do not divide"},
    {convolve, &(const convolution){4, false, {.stride = {-2, 1}}},
     "the stride along H is -2, must be 1 to 2147483647"},
    {convolve, &(const convolution){4, false, {.padding = {0, -1}}},
     "the padding along W is -1, must be 0 to 2147483647"},
    {convolve, &(const convolution){4, false, {.padding = {INT64_MAX, 0}}},
     "the padding along H is 9223372036854775807"},
    {convolve, &(const convolution){4, false, {.dilation = {INT64_MAX, 1}}},
     "the dilation along H is 9223372036854775807"},
    {convolve, &(const convolution){4, false, {.output_padding = {0, 1}}},
     "an output padding (1 along W) is for transposed convolutions only"},
    {convolve, &(const convolution){4, true, {.stride = {2, 2}, .output_padding = {2, 0}}},
     "the output padding along H is 2, must be 0 to stride - 1 = 1"},
    {convolve, &(const convolution){4, true, {.padding = {9, 0}}},
     "the result would have size -11 along H"},
    {convolve, &(const convolution){4, true, {.groups = 4}},
     "4 groups do not divide 6 input channels"},
    {convolve, &(const convolution){4, true, {.groups = INT64_MAX}},
     "9223372036854775807 groups of 4 channels"},
    {convolve_with_a_long_bias, NULL, "bias is [3], its axis 0 must be 4, not 3"},
    {convolve_along_one, NULL,
     "conv1d(x, w): along L a kernel of 10 with dilation 1 spans 10, more than the 9 of size 9"},
    {convolve_along_one, &(const wg_conv1d_options){.stride = -1}, "the stride along L is -1"},
    {convolve_along_one, &(const wg_conv1d_options){.output_padding = 1},
     "an output padding (1 along L) is for transposed convolutions only"},
    {transpose_along_one, &(const wg_conv1d_options){.padding = 9},
     "the result would have size -7 along L"},
    {differentiate_another_size,
     &(const wg_conv_attrs){
         .stride = {1, 1, 1}, .dilation = {1, 1, 1}, .groups = 1, .size = {1, 5, 6}},
     "dy is [1,4,3,3], the convolution is [1,4,3,4]"},
};

static void wrong_geometry_is_refused_with_its_numbers(void **state)
{
    (void)state;
    small_refuse_all(refusals, WG_COUNT(refusals));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_and_gradients_are_their_definitions),
        cmocka_unit_test(the_three_primitives_are_adjoint),
        cmocka_unit_test(transposed_convolution_is_its_definition),
        cmocka_unit_test(one_dimension_is_two_of_height_one),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(wrong_geometry_is_refused_with_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
