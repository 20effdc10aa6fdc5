/* Convolution in three dimensions against its definition, element by element; against conv2d where
 * the depth is 1; transposed convolution as its adjoint; refusals. */
#include "tests/small.h"
#include "wengert/autograd/grad.h"

typedef struct geometry {
    const char *name;
    int64_t batch, in, out, groups;
    int64_t size[3], kernel[3], stride[3], padding[3], dilation[3];
} geometry;

/* clang-format off */
static const geometry geometries[] = {
    /* name                N  C  O  groups  size       kernel     stride     padding    dilation */
    {"2x2x2",              2, 3, 4, 1, {3, 4, 5}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
    {"same",               1, 2, 3, 1, {3, 4, 3}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {"1x1x1",              2, 3, 2, 1, {2, 3, 2}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
    {"strided",            1, 2, 2, 1, {7, 5, 6}, {3, 2, 1}, {3, 2, 4}, {1, 0, 0}, {1, 1, 1}},
    {"dilated",            1, 2, 2, 1, {6, 5, 4}, {2, 3, 2}, {1, 1, 1}, {1, 2, 0}, {3, 2, 1}},
    {"dilated, strided",   1, 1, 2, 1, {7, 6, 5}, {3, 2, 2}, {2, 3, 1}, {2, 0, 1}, {2, 1, 3}},
    {"groups",             2, 4, 6, 2, {3, 3, 4}, {2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 1}},
    {"depthwise",          1, 3, 3, 3, {3, 4, 3}, {3, 2, 3}, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}},
    {"padding over kernel",1, 1, 2, 1, {2, 1, 3}, {1, 2, 1}, {2, 1, 3}, {3, 2, 4}, {1, 1, 1}},
    {"depth 1",            2, 2, 3, 1, {1, 5, 4}, {1, 3, 2}, {1, 2, 1}, {0, 1, 0}, {1, 1, 2}},
    {"only depth",         2, 2, 2, 1, {6, 1, 1}, {3, 1, 1}, {2, 1, 1}, {1, 0, 0}, {1, 1, 1}},
    {"empty batch",        0, 2, 3, 1, {3, 3, 3}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}},
    {"many channels",      1, 8, 16, 1, {3, 4, 9}, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
};
/* clang-format on */

static wg_conv3d_options options_of(const geometry *t)
{
    wg_conv3d_options o = {.groups = t->groups};
    memcpy(o.stride, t->stride, sizeof o.stride);
    memcpy(o.padding, t->padding, sizeof o.padding);
    memcpy(o.dilation, t->dilation, sizeof o.dilation);
    return o;
}

static wg_shape volumes(int64_t a, int64_t b, const int64_t size[3])
{
    return WG_SHAPE(a, b, size[0], size[1], size[2]);
}

static int64_t volume(const int64_t size[3])
{
    return size[0] * size[1] * size[2];
}

/* Where tap number `tap` of window number `window` lies in its volume of x; -1: in the padding. */
static int64_t place(const geometry *t, const int64_t windows[3], int64_t window, int64_t tap)
{
    int64_t at = 0, step = 1;
    for (int k = 2; k >= 0; k--) {
        int64_t i = window % windows[k] * t->stride[k] - t->padding[k] +
                    tap % t->kernel[k] * t->dilation[k];
        if (i < 0 || i >= t->size[k])
            return -1;
        at += i * step;
        step *= t->size[k];
        window /= windows[k];
        tap /= t->kernel[k];
    }
    return at;
}

static double x_numbers[SMALL_MAX], w_numbers[SMALL_MAX], dy_numbers[SMALL_MAX], b_numbers[64];
static double y_numbers[SMALL_MAX], dx_numbers[SMALL_MAX], dw_numbers[SMALL_MAX];

/* y, and dx and dw for the cotangent dy, by the definition. */
static void define(const geometry *t, const int64_t windows[3])
{
    int64_t in = t->in / t->groups, out = t->out / t->groups;
    int64_t n_windows = volume(windows), n_taps = volume(t->kernel), n_places = volume(t->size);
    memset(dx_numbers, 0, sizeof dx_numbers);
    memset(dw_numbers, 0, sizeof dw_numbers);
    for (int64_t y = 0; y < t->batch * t->out * n_windows; y++) {
        int64_t b = y / n_windows / t->out, o = y / n_windows % t->out;
        y_numbers[y] = b_numbers[o];
        for (int64_t k = 0; k < in * n_taps; k++) {
            int64_t at = place(t, windows, y % n_windows, k % n_taps);
            int64_t x = (b * t->in + o / out * in + k / n_taps) * n_places + at;
            int64_t w = o * in * n_taps + k;
            if (at < 0)
                continue;
            y_numbers[y] += w_numbers[w] * x_numbers[x];
            dx_numbers[x] += w_numbers[w] * dy_numbers[y];
            dw_numbers[w] += x_numbers[x] * dy_numbers[y];
        }
    }
}

static int64_t is_its_definition(const geometry *t, wg_dtype dtype)
{
    uint64_t seed = 1;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, dtype, volumes(t->batch, t->in, t->size), &seed, x_numbers);
    wg_value *w =
        small_constant(g, dtype, volumes(t->out, t->in / t->groups, t->kernel), &seed, w_numbers);
    wg_value *bias = small_constant(g, dtype, WG_SHAPE(t->out), &seed, b_numbers);
    wg_conv3d_options o = options_of(t);
    wg_value *y[4] = {wg_conv3d(x, w, bias, &o)}, *operands[] = {x, w, bias};
    check_that(y[0], "%s: %s", t->name, wg_graph_message(g));
    wg_value *dy = small_constant(g, dtype, y[0]->shape, &seed, dy_numbers);
    assert_int_equal(wg_vjp(y, &dy, 1, operands, 3, NULL, y + 1), WG_OK);
    define(t, y[0]->shape.dim + 2);
    wg_plan *p = small_run(g, y, 4, 2);
    int64_t compared = small_equal(t->name, p, y[0], y_numbers, wg_value_count(y[0]));
    compared += small_equal(t->name, p, y[1], dx_numbers, wg_value_count(x));
    compared += small_equal(t->name, p, y[2], dw_numbers, wg_value_count(w));
    wg_plan_free(p);
    wg_graph_free(g);
    return compared;
}

static void conv3d_and_its_gradients_are_their_definitions(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int i = 0; i < WG_COUNT(geometries); i++)
        for (wg_dtype dtype = WG_F32; dtype <= WG_F64; dtype++)
            compared += is_its_definition(&geometries[i], dtype);
    assert_true(compared > 10000);
}

/* Sums that round: both must add in the same order. */
static void depth_one_has_the_bits_of_conv2d(void **state)
{
    (void)state;
    uint64_t seed = 5;
    wg_graph *g = wg_graph_new();
    wg_value *x[2] = {small_constant(g, WG_F64, WG_SHAPE(2, 4, 9, 8), &seed, NULL)};
    wg_value *w[2] = {small_constant(g, WG_F64, WG_SHAPE(6, 2, 3, 2), &seed, NULL)};
    wg_value *y[6], *dy[2];
    x[0] = wg_exp(wg_scale(x[0], 0.3));
    w[0] = wg_exp(wg_scale(w[0], 0.2));
    x[1] = wg_reshape(x[0], WG_SHAPE(2, 4, 1, 9, 8));
    w[1] = wg_reshape(w[0], WG_SHAPE(6, 2, 1, 3, 2));
    y[0] = wg_conv2d(
        x[0], w[0], NULL,
        &(wg_conv2d_options){.stride = {2, 1}, .padding = {1, 1}, .dilation = {1, 2}, .groups = 2});
    y[3] = wg_conv3d(
        x[1], w[1], NULL,
        &(wg_conv3d_options){
            .stride = {1, 2, 1}, .padding = {0, 1, 1}, .dilation = {1, 1, 2}, .groups = 2});
    for (int i = 0; i < 2; i++) {
        dy[i] = wg_tanh(y[3 * i]);
        assert_int_equal(
            wg_vjp(&y[3 * i], &dy[i], 1, (wg_value *[]){x[i], w[i]}, 2, NULL, y + 3 * i + 1),
            WG_OK);
    }
    wg_plan *p = small_run(g, y, 6, 1);
    for (int i = 0; i < 3; i++) {
        assert_true(wg_value_count(y[i]) > 0);
        assert_int_equal(wg_value_bytes(y[i]), wg_value_bytes(y[i + 3]));
        assert_memory_equal(wg_plan_data(p, y[i]), wg_plan_data(p, y[i + 3]), wg_value_bytes(y[i]));
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

/* <conv_transpose3d(x, w), z> = <x, conv3d(z, w)>; z has the size that output_padding chooses. */
static void transposed_convolution_is_the_adjoint(void **state)
{
    (void)state;
    static const struct {
        int64_t size[3], kernel[3], output_padding[3];
        wg_conv3d_options o;
    } cases[] = {
        {{4, 5, 4}, {2, 3, 1}, {0, 0, 0}, {.groups = 1}},
        {{8, 3, 6}, {3, 2, 2}, {1, 0, 1}, {{2, 1, 3}, {0, 1, 0}, {1, 2, 1}, 2, {0}}},
        {{5, 7, 4}, {2, 2, 3}, {0, 1, 0}, {{3, 2, 1}, {0, 0, 2}, {1, 1, 2}, 1, {0}}},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        uint64_t seed = 3;
        wg_graph *g = wg_graph_new();
        wg_conv3d_options o = cases[i].o;
        wg_value *z = small_constant(g, WG_F64, volumes(2, 4, cases[i].size), &seed, NULL);
        wg_value *w =
            small_constant(g, WG_F64, volumes(6, 4 / o.groups, cases[i].kernel), &seed, NULL);
        wg_value *y = wg_conv3d(z, w, NULL, &o);
        check_that(y, "%s", wg_graph_message(g));
        wg_value *x = small_constant(g, WG_F64, y->shape, &seed, NULL);
        memcpy(o.output_padding, cases[i].output_padding, sizeof o.output_padding);
        wg_value *back = wg_conv_transpose3d(x, w, NULL, &o);
        check_that(back && wg_shape_equal(&back->shape, &z->shape), "case %d: %s", i,
                   wg_graph_message(g));
        wg_value *products[] = {wg_sum(wg_mul(y, x), WG_ALL_AXES, WG_DROP),
                                wg_sum(wg_mul(z, back), WG_ALL_AXES, WG_DROP)};
        wg_plan *p = small_run(g, products, 2, 1);
        double first = small_at(p, products[0], 0);
        assert_true(first != 0);
        small_equal("conv_transpose3d", p, products[1], &first, 1);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void refused(wg_conv3d_options o, bool transposed, const char *words)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1, 4, 3, 5, 6));
    wg_value *w = wg_input(g, "w", WG_F32, WG_SHAPE(4, 4, 2, 3, 3));
    assert_null(transposed ? wg_conv_transpose3d(x, w, NULL, &o) : wg_conv3d(x, w, NULL, &o));
    small_refused(g, words);
}

static void wrong_geometry_is_refused_with_its_numbers(void **state)
{
    (void)state;
    refused((wg_conv3d_options){.dilation = {3, 1, 1}}, false,
            "conv3d(x, w): along D a kernel of 2 with dilation 3 spans 4, more than the 3 of size "
            "3 and padding 0");
    refused((wg_conv3d_options){.stride = {1, 1, -1}}, false,
            "the stride along W is -1, must be 1 to 2147483647");
    refused((wg_conv3d_options){.groups = 2}, false, "for 4 channels in each of 2 groups");
    refused((wg_conv3d_options){.output_padding = {1, 0, 0}}, false,
            "an output padding (1 along D) is for transposed convolutions only");
    refused((wg_conv3d_options){.output_padding = {1, 0, 0}}, true,
            "the output padding along D is 1, must be 0 to stride - 1 = 0");
    refused((wg_conv3d_options){.padding = {9, 0, 0}}, true,
            "the result would have size -14 along D");
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1, 4, 5, 6));
    assert_null(wg_conv3d(x, wg_input(g, "w", WG_F32, WG_SHAPE(4, 4, 3, 3, 3)), NULL, NULL));
    small_refused(g, "rank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv3d_and_its_gradients_are_their_definitions),
        cmocka_unit_test(depth_one_has_the_bits_of_conv2d),
        cmocka_unit_test(transposed_convolution_is_the_adjoint),
        cmocka_unit_test(wrong_geometry_is_refused_with_its_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
