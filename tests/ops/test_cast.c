/* Casts among all dtypes, and images of bytes that a graph normalises. */
#include "tests/plans.h"
#include "graph/element.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/load.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"

#include <math.h>

/* ---- all pairs ------------------------------------------------------------------------------- */

/* Each dtype holds some of these as they are; others it rounds, cuts off or limits.  None is
 * subnormal in f32, which some backends flush to zero. */
static const double numbers[] = {
    0,       -0.0,    1,       -1,    1.5,      -1.5,       0.999,  -0.999,   127,       128,
    -128,    -129,    255,     255.5, 256,      300,        -300.7, 65504,    65520,     65536,
    2049,    0x1p-24, 0x1p-25, 1e-5,  1e5,      2147483647, 0x1p31, -0x1p31,  -0x1.8p31, 0x1p62,
    -0x1p63, 1e30,    -1e30,   1e300, 0x1p-126, 1.0 / 3,    NAN,    INFINITY, -INFINITY};
enum { NUMBERS = WG_COUNT(numbers) };

/* The nearest multiple of 2^lowest with at most `digits` binary digits, ties to even. */
static double rounded(double x, int digits, int lowest, double beyond)
{
    if (!isfinite(x) || x == 0)
        return x;
    int exponent;
    frexp(x, &exponent);
    double unit = ldexp(1, exponent - digits > lowest ? exponent - digits : lowest);
    double y = nearbyint(x / unit) * unit;
    return fabs(y) < beyond ? y : copysign(INFINITY, x);
}

static double limited(double x, double lo, double hi)
{
    return isnan(x) ? 0 : x < lo ? lo : x > hi ? hi : trunc(x);
}

/* x in that dtype, by its definition. */
static double expected(double x, wg_dtype dtype)
{
    switch (dtype) {
    case WG_F32: return rounded(x, 24, -149, 0x1p128);
    case WG_BF16: return rounded(x, 8, -133, 0x1p128);
    case WG_F16: return rounded(x, 11, -24, 0x1p16);
    case WG_I32: return limited(x, -0x1p31, 0x1p31 - 1);
    case WG_I64: return limited(x, -0x1p63, 0x1p63);
    case WG_I8: return limited(x, -128, 127);
    case WG_U8: return limited(x, 0, 255);
    case WG_BOOL: return x != 0;
    default: return x;
    }
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b;
}

/* x in the dtype `from`, and that in the dtype `to`; returns how many numbers were compared. */
static int check_pair(wg_dtype from, wg_dtype to, const wg_backend *backend)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", from, WG_SHAPE(NUMBERS)), *y = wg_cast(x, to);
    assert_int_equal(y->dtype, to);
    wg_plan *p = plan_of(
        g, &(wg_plan_options){
               .outputs = &y, .n_outputs = 1, .backends = &backend, .n_backends = 1, .threads = 1});
    void *data = wg_plan_data(p, x);
    for (int i = 0; i < NUMBERS; i++) {
        wgi_put_element(data, from, i, numbers[i]);
        double held = wgi_get_element(data, from, i);
        check_that(same(held, expected(numbers[i], from)), "%g as %s is %g", numbers[i],
                   wg_dtype_name(from), held);
    }
    run(p, 0);
    for (int i = 0; i < NUMBERS; i++) {
        double held = expected(numbers[i], from), want = expected(held, to);
        double got = wgi_get_element(wg_plan_data(p, y), to, i);
        check_that(same(got, want), "%s %g as %s is %.17g, not %.17g", wg_dtype_name(from), held,
                   wg_dtype_name(to), got, want);
    }
    wg_plan_free(p);
    wg_graph_free(g);
    return NUMBERS;
}

static void every_dtype_becomes_every_other(void **state)
{
    (void)state;
    int compared = 0;
    wg_backend_list all = wg_backend_list_built_in();
    for (size_t b = 0; b < all.count; b++)
        for (wg_dtype from = WG_F32; from < WG_DTYPE_COUNT; from++)
            for (wg_dtype to = WG_F32; to < WG_DTYPE_COUNT; to++)
                compared += check_pair(from, to, wg_backend_at(b));
    assert_true(compared >= 81 * NUMBERS);
}

/* Whole numbers of 64 bits that no double holds. */
static void limits_of_i64_are_exact(void **state)
{
    (void)state;
    static const int64_t whole[] = {INT64_MAX, INT64_MIN, 256, -1, 77};
    static const uint8_t bytes[] = {255, 0, 255, 0, 77};
    static const int8_t small[] = {127, -128, 127, -1, 77};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_I64, WG_SHAPE(5), whole);
    wg_value *y[] = {wg_cast(x, WG_U8), wg_cast(x, WG_I8)};
    wg_plan *p = plan_of(g, &(wg_plan_options){.outputs = y, .n_outputs = 2, .no_fold = true});
    run(p, 0);
    assert_memory_equal(wg_plan_data(p, y[0]), bytes, 5);
    assert_memory_equal(wg_plan_data(p, y[1]), small, 5);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- u8 -------------------------------------------------------------------------------------- */

/* Ops of u8 that compute are refused, and the message says what would be taken. */
static void bytes_are_cast_before_they_are_added(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_U8, WG_SHAPE(3));
    assert_null(wg_add(x, x));
    assert_non_null(
        strstr(wg_graph_message(g), "a is u8, must be f32, f64, bf16, f16, i32 or i64"));
    wg_graph_free(g);
    g = wg_graph_new();
    x = wg_input(g, "x", WG_U8, WG_SHAPE(3));
    wg_value *table = wg_input(g, "table", WG_F32, WG_SHAPE(256, 4));
    assert_null(wg_embedding(table, x));
    assert_non_null(strstr(wg_graph_message(g), "is u8, must be i32 or i64"));
    wg_graph_free(g);
    g = wg_graph_new();
    table = wg_input(g, "table", WG_F32, WG_SHAPE(256, 4));
    assert_non_null(wg_embedding(table, wg_cast(wg_input(g, "x", WG_U8, WG_SHAPE(3)), WG_I32)));
    wg_graph_free(g);
}

enum { IMAGES = 4, CHANNELS = 3, SIDE = 5, PIXELS = CHANNELS * SIDE * SIDE };

/* x [IMAGES, CHANNELS, SIDE, SIDE] of bytes: (x / 255 - mean) / std of its channel */
static wg_value *normalised(wg_value *x, const float *mean, const float *std, wg_dtype dtype)
{
    wg_graph *g = wg_graph_of(x);
    wg_value *m = wg_cast(wg_constant(g, WG_F32, WG_SHAPE(CHANNELS, 1, 1), mean), dtype);
    wg_value *s = wg_cast(wg_constant(g, WG_F32, WG_SHAPE(CHANNELS, 1, 1), std), dtype);
    return wg_div(wg_sub(wg_scale(wg_cast(x, dtype), 1.0 / 255), m), s);
}

/* Images stay bytes until the graph normalises them; flipped and cropped as bytes, they are the
 * images that are normalised first.  A layer behind them learns. */
static void images_of_bytes_are_normalised_by_the_graph(void **state)
{
    (void)state;
    static const float mean[] = {0.485f, 0.456f, 0.406f}, std[] = {0.229f, 0.224f, 0.225f};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "images", WG_U8, WG_SHAPE(IMAGES, CHANNELS, SIDE, SIDE));
    wg_value *label = wg_input(g, "label", WG_I64, WG_SHAPE(IMAGES));
    wg_value *y = normalised(x, mean, std, WG_F32);
    wg_value *before = normalised(wg_slice(wg_flip(x, WG_AXES(3)), 2, 1, 4, 1), mean, std, WG_F32);
    wg_value *after = wg_slice(wg_flip(y, WG_AXES(3)), 2, 1, 4, 1);
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(PIXELS, 2), wg_zeros()), *dw;
    wg_value *rows = wg_cast(wg_reshape(y, WG_SHAPE(IMAGES, PIXELS)), WG_F16);
    wg_value *z = wg_cast(wg_matmul(rows, wg_cast(w, WG_F16)), WG_F32);
    wg_value *loss = wg_cross_entropy(z, label, NULL, NULL);
    assert_int_equal(wg_grad(loss, &w, 1, &dw), WG_OK);
    assert_int_equal(wg_sgd_update(&w, &dw, 1, wg_fill(g, WG_F32, WG_SCALAR, 0.05), NULL), WG_OK);
    wg_value *out[] = {y, before, after, loss};
    for (int i = 0; i < WG_COUNT(out); i++)
        wg_output(out[i], NULL);
    wg_plan *p = plan_of(g, &(wg_plan_options){.threads = 2});
    uint8_t *bytes = wg_plan_data(p, x);
    for (int i = 0; i < IMAGES * PIXELS; i++)
        bytes[i] = (uint8_t)(i * 151 % 256);
    for (int i = 0; i < IMAGES; i++)
        ((int64_t *)wg_plan_data(p, label))[i] = i % 2;
    run(p, 0);
    assert_int_equal(bytes[1], 151);
    for (int i = 0; i < IMAGES * PIXELS; i++) {
        int c = i / (SIDE * SIDE) % CHANNELS;
        double want = (bytes[i] / 255.0 - (double)mean[c]) / (double)std[c];
        check_that(fabs((double)floats(p, y)[i] - want) <= 1e-5, "pixel %d is %g, not %g", i,
                   (double)floats(p, y)[i], want);
    }
    assert_memory_equal(floats(p, before), floats(p, after), wg_value_bytes(before));
    assert_true(wg_value_count(before) == IMAGES * CHANNELS * 3 * SIDE);
    assert_true(fabs((double)*floats(p, loss) - log(2)) <= 1e-6);
    for (uint64_t step = 1; step < 50; step++)
        run(p, step);
    check_that(*floats(p, loss) < 0.1f, "the loss is still %g", (double)*floats(p, loss));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Beyond 2^53, where double has no odd numbers */
static void i64_counts_exactly(void **state)
{
    (void)state;
    const int64_t first = ((int64_t)1 << 53) - 1;
    wg_graph *g = wg_graph_new();
    wg_value *y = wg_output(wg_iota(g, WG_I64, WG_SHAPE(4), 0, (double)first, 1), "y");
    wg_plan *p = plan_of(g, NULL);
    run(p, 0);
    const int64_t *got = wg_plan_data(p, y);
    for (int i = 0; i < 4; i++)
        check_that(got[i] == first + i, "number %d is %lld", i, (long long)got[i]);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* y[o, i, j] = 3 - 2 i, along each axis */
static void counts_along_an_axis_are_repeated_along_others(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_I32, WG_I64, WG_BF16, WG_I8};
    const wg_shape shapes[] = {WG_SHAPE(2, 3, 4), WG_SHAPE(5, 1, 17), WG_SHAPE(1, 20, 1),
                               WG_SHAPE(3, 0, 2), WG_SHAPE(7, 2, 40)};
    int64_t compared = 0;
    for (int d = 0; d < WG_COUNT(dtypes); d++)
        for (int s = 0; s < WG_COUNT(shapes); s++)
            for (int axis = 0; axis < 3; axis++) {
                wg_graph *g = wg_graph_new();
                const int64_t *dim = shapes[s].dim;
                wg_value *y = wg_output(wg_iota(g, dtypes[d], shapes[s], axis, 3, -2), "y");
                wg_plan *p = plan_of(g, NULL);
                run(p, 0);
                for (int64_t i = 0; i < wg_value_count(y); i++, compared++) {
                    int64_t index[] = {i / dim[2] / dim[1], i / dim[2] % dim[1], i % dim[2]};
                    double got = wgi_get_element(wg_plan_data(p, y), dtypes[d], i);
                    check_that(got == (double)(3 - 2 * index[axis]), "%s, axis %d, number %lld: %g",
                               wg_dtype_name(dtypes[d]), axis, (long long)i, got);
                }
                wg_plan_free(p);
                wg_graph_free(g);
            }
    assert_true(compared > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(i64_counts_exactly),
        cmocka_unit_test(counts_along_an_axis_are_repeated_along_others),
        cmocka_unit_test(every_dtype_becomes_every_other),
        cmocka_unit_test(limits_of_i64_are_exact),
        cmocka_unit_test(bytes_are_cast_before_they_are_added),
        cmocka_unit_test(images_of_bytes_are_normalised_by_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
