/* Convolutions and group norms with their parameters: names, shapes, initial values, dtypes. */
#include "tests/layers.h"
#include "tests/plans.h"
#include "wengert/models/layers.h"

#include <math.h>
#include <string.h>

static void check_parameter(wg_graph *g, const char *name, wg_shape shape, wg_dtype dtype)
{
    const wg_value *w = wg_graph_find(g, name);
    check_that(w != NULL, "no %s", name);
    layers_check_shape(w, shape);
    assert_int_equal(w->dtype, dtype);
}

static void convolutions_have_the_weights_that_they_say(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(2, 4, 9, 9));
    wg_value *series = wg_input(g, "series", WG_F32, WG_SHAPE(2, 4, 9));
    wg_value *volume = wg_input(g, "volume", WG_F32, WG_SHAPE(2, 4, 5, 9, 7)), *w[16];
    const wg_conv2d_layer_options two = {
        .conv = {.groups = 2, .stride = {2, 1}}, .kernel_w = 1, .no_bias = true, .init = wg_he(1)};
    const wg_conv1d_layer_options one = {.conv = {.padding = 1, .stride = 1}};
    const wg_conv3d_layer_options three = {.conv = {.stride = {1, 2, 2}}};
    layers_check_shape(wg_conv2d_layer("a", image, 6, 3, &two), WG_SHAPE(2, 6, 4, 9));
    layers_check_shape(wg_conv1d_layer("b", series, 6, 3, &one), WG_SHAPE(2, 6, 9));
    layers_check_shape(wg_conv3d_layer("c", volume, 6, 3, &three), WG_SHAPE(2, 6, 3, 4, 3));
    layers_check_shape(wg_conv_layer("d", image, 6, 3, NULL), WG_SHAPE(2, 6, 7, 7));
    assert_int_equal(wg_graph_parameters(g, w, 16), 7);
    check_parameter(g, "a/weight", WG_SHAPE(6, 2, 3, 1), WG_F32);
    check_parameter(g, "b/weight", WG_SHAPE(6, 4, 3), WG_F32);
    check_parameter(g, "c/weight", WG_SHAPE(6, 4, 3, 3, 3), WG_F32);
    check_parameter(g, "c/bias", WG_SHAPE(6), WG_F32);
    check_parameter(g, "d/weight", WG_SHAPE(6, 4, 3, 3), WG_F32);
    assert_null(wg_graph_find(g, "a/bias"));
    wg_graph_free(g);
    assert_null(wg_conv1d_layer("c", NULL, 6, 3, NULL));
    assert_null(wg_conv3d_layer("c", NULL, 6, 3, NULL));
    assert_null(wg_conv_transpose2d_layer("c", NULL, 6, 3, NULL));
}

/* Their first axis is that of the input, and the parameters keep the dtype of their scope. */
static void transposed_ones_too(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(2, 4, 5, 5));
    wg_value *series = wg_input(g, "series", WG_F32, WG_SHAPE(2, 4, 5));
    wg_value *volume = wg_input(g, "volume", WG_F32, WG_SHAPE(2, 4, 3, 5, 5)), *w[16];
    wg_scope_parameter_dtype(g, WG_F64);
    const wg_conv2d_layer_options two = {
        .conv = {.groups = 2, .stride = {2, 2}, .padding = {1, 1}, .output_padding = {1, 0}}};
    const wg_conv1d_layer_options one = {.conv = {.stride = 2}, .no_bias = true};
    const wg_conv3d_layer_options three = {.conv = {.stride = {2, 2, 2}}};
    layers_check_shape(wg_conv_transpose2d_layer("a", image, 6, 4, &two), WG_SHAPE(2, 6, 11, 10));
    layers_check_shape(wg_conv_transpose1d_layer("b", series, 6, 3, &one), WG_SHAPE(2, 6, 11));
    layers_check_shape(wg_conv_transpose3d_layer("c", volume, 6, 2, &three),
                       WG_SHAPE(2, 6, 6, 10, 10));
    assert_int_equal(wg_graph_parameters(g, w, 16), 5);
    check_parameter(g, "a/weight", WG_SHAPE(4, 3, 4, 4), WG_F64);
    check_parameter(g, "a/bias", WG_SHAPE(6), WG_F64);
    check_parameter(g, "b/weight", WG_SHAPE(4, 6, 3), WG_F64);
    check_parameter(g, "c/weight", WG_SHAPE(4, 6, 2, 2, 2), WG_F64);
    wg_graph_free(g);
}

/* Uniform within 1 / sqrt(second and further sizes), as PyTorch draws them. */
static void weights_begin_within_their_bound(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1, 8, 6, 6));
    wg_output(wg_conv2d_layer("a", x, 16, 3, NULL), "a");
    wg_output(wg_conv_transpose2d_layer("b", x, 16, 3, NULL), "b");
    wg_plan *p = plan_of(g, NULL);
    const double bounds[] = {1 / sqrt(8 * 9.0), 1 / sqrt(16 * 9.0)};
    for (int k = 0; k < 2; k++) {
        const wg_value *w = wg_graph_find(g, k ? "b/weight" : "a/weight");
        const float *number = wg_plan_data(p, w);
        double most = 0;
        assert_int_equal(wg_value_count(w), 8 * 16 * 9);
        for (int64_t i = 0; i < wg_value_count(w); i++)
            most = fmax(most, fabs((double)number[i]));
        check_that(most <= bounds[k] && most > 0.99 * bounds[k], "%g, bound %g", most, bounds[k]);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

/* With a group for each channel, each has mean 0 and variance 1 over its positions. */
static void a_group_norm_of_single_channels_is_an_instance_norm(void **state)
{
    (void)state;
    enum { N = 2, C = 4, S = 15 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(N, C, 3, 5));
    wg_value *y = wg_groupnorm_layer("norm", x, C, 0);
    wg_value *small = wg_scale(x, 1e-4), *of_default = wg_groupnorm_layer("d", small, C, 0),
             *of_eps = wg_groupnorm_layer("e", small, C, 1e-5);
    wg_output(y, "y");
    wg_output(of_default, "of_default");
    wg_output(of_eps, "of_eps");
    check_parameter(g, "norm/gain", WG_SHAPE(C), WG_F32);
    check_parameter(g, "norm/bias", WG_SHAPE(C), WG_F32);
    wg_plan *p = plan_of(g, NULL);
    for (int i = 0; i < N * C * S; i++)
        wg_plan_f32(p, x)[i] = (float)(i * i % 23);
    run(p, 0);
    const float *out = floats(p, y);
    for (int row = 0; row < N * C; row++) {
        double sum = 0, squares = 0;
        for (int i = 0; i < S; i++) {
            double v = (double)out[row * S + i];
            sum += v;
            squares += v * v;
        }
        check_that(fabs(sum / S) <= 1e-6 && fabs(squares / S - 1) <= 1e-4, "row %d: %g, %g", row,
                   sum / S, squares / S);
    }
    assert_memory_equal(floats(p, of_default), floats(p, of_eps), N * C * S * sizeof(float));
    wg_plan_free(p);
    wg_graph_free(g);
    assert_null(wg_groupnorm_layer("norm", NULL, 2, 0));
    g = wg_graph_new();
    x = wg_input(g, "x", WG_F32, WG_SHAPE(N, C, 3));
    assert_null(wg_groupnorm_layer("norm", x, 3, 0));
    check_that(strstr(wg_graph_message(g), "test_layers_conv.c:"), "%s", wg_graph_message(g));
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_have_the_weights_that_they_say),
        cmocka_unit_test(transposed_ones_too),
        cmocka_unit_test(weights_begin_within_their_bound),
        cmocka_unit_test(a_group_norm_of_single_channels_is_an_instance_norm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
