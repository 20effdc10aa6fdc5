/* NaN and infinities are found in tensors of each dtype, wherever they are. */
#include "tests/test.h"
#include "graph/element.h"
#include "train/finite.h"

#include <float.h>
#include <math.h>

enum { COUNT = 5003 }; /* several blocks and some */

static void every_place_is_looked_at(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F64, WG_F32, WG_BF16, WG_F16};
    static const double bad[] = {NAN, -NAN, INFINITY, -INFINITY},
                        good[] = {0, -0.0, 1, -1.5, 65504, -65504, 6e-8};
    static double data[COUNT];
    size_t found = 0;
    wg_error error;
    for (int d = 0; d < 4; d++) {
        wg_tensor t = {"weight", dtypes[d], WG_SHAPE(COUNT), data};
        for (int i = 0; i < COUNT; i++)
            wgi_put_element(data, t.dtype, i, good[i % WG_COUNT(good)]);
        wgi_put_element(data, t.dtype, 7, d == 0 ? DBL_MAX : d == 3 ? 65504 : FLT_MAX * 0.99);
        error.text[0] = '\0';
        assert_int_equal(wgi_check_finite(&t, 1, WG_EDATA, "file", &error), WG_OK);
        for (int i = 0; i < COUNT; i++) {
            double before = wgi_get_element(data, t.dtype, i), x = bad[i % 4];
            char expected[80];
            wgi_put_element(data, t.dtype, i, x);
            error.text[0] = '\0';
            assert_int_equal(wgi_check_finite(&t, 1, WG_EDATA, "file", &error), WG_EDATA);
            snprintf(expected, sizeof expected, "file: tensor weight: element %d is %s", i,
                     isnan(x) ? "NaN" : "infinite");
            assert_string_equal(error.text, expected);
            wgi_put_element(data, t.dtype, i, before);
            found++;
        }
    }
    assert_int_equal(found, 4 * COUNT);
}

static void integers_and_empty_tensors_are_finite(void **state)
{
    (void)state;
    static const int32_t all_bits[] = {-1, INT32_MAX, INT32_MIN, 0x7f800000};
    const wg_tensor list[] = {{"steps", WG_I32, WG_SHAPE(4), (void *)(uintptr_t)all_bits},
                              {"none", WG_F32, WG_SHAPE(0), NULL}};
    assert_int_equal(wgi_check_finite(list, 2, WG_EDATA, "file", NULL), WG_OK);
    const wg_tensor floats = {"x", WG_F32, WG_SHAPE(4), (void *)(uintptr_t)all_bits};
    assert_int_equal(wgi_check_finite(&floats, 1, WG_ENONFINITE, "file", NULL), WG_ENONFINITE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_is_looked_at),
        cmocka_unit_test(integers_and_empty_tensors_are_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
