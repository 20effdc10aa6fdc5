/* Tensors of ONNX as arrays: each element type, from each field that may hold its numbers. */
#include "tests/test.h"

#include "onnx/proto.h"
#include "wengert.h"

#include <unistd.h>

static const char path[] = "tensor.pb";
static wg_error error;

static void write_tensor(const ox_tensor_proto *t)
{
    uint8_t *bytes = malloc(wgi_onnx__tensor_proto__get_packed_size(t) + 1);
    assert_non_null(bytes);
    size_t size = wgi_onnx__tensor_proto__pack(t, bytes);
    FILE *f = fopen(path, "wb");
    assert_true(f && fwrite(bytes, 1, size, f) == size);
    fclose(f);
    free(bytes);
}

/* Two numbers in the field that a type has for them. */
static ox_tensor_proto tensor_of(int type, const void *numbers)
{
    static int64_t dims[] = {2};
    ox_tensor_proto t = WGI_ONNX__TENSOR_PROTO__INIT;
    t.has_data_type = true;
    t.data_type = type;
    t.dims = dims;
    t.n_dims = 1;
    switch (type) {
    case 1: t.float_data = (float *)(uintptr_t)numbers, t.n_float_data = 2; break;
    case 7: t.int64_data = (int64_t *)(uintptr_t)numbers, t.n_int64_data = 2; break;
    case 11: t.double_data = (double *)(uintptr_t)numbers, t.n_double_data = 2; break;
    case 12:
    case 13: t.uint64_data = (uint64_t *)(uintptr_t)numbers, t.n_uint64_data = 2; break;
    default: t.int32_data = (int32_t *)(uintptr_t)numbers, t.n_int32_data = 2; break;
    }
    return t;
}

static void each_type_is_read_from_its_field_and_from_bytes(void **state)
{
    (void)state;
    static const float floats[] = {1.5f, -2};
    static const double doubles[] = {1.5, -2};
    static const int32_t small[] = {1, 0}, ints[] = {-5, 7}, halves[] = {0x3c00, 0xbc01};
    static const int64_t longs[] = {-5, INT64_MAX}, wide[] = {5, 7}, ones[] = {1, 0};
    static const int16_t shorts[] = {-5, 7};
    static const int8_t bytes[] = {-5, 7};
    static const uint8_t bits[] = {1, 0};
    static const uint16_t packed[] = {0x3c00, 0xbc01};
    static const uint32_t words[] = {5, 7};
    static const struct {
        int type;
        wg_dtype dtype;
        const void *field, *raw;
        size_t raw_size;
        const void *expected;
    } cases[] = {
        {1, WG_F32, floats, floats, 8, floats},   {2, WG_U8, small, bits, 2, bits},
        {3, WG_I8, ints, bytes, 2, bytes},        {4, WG_I32, halves, packed, 4, halves},
        {5, WG_I32, ints, shorts, 4, ints},       {6, WG_I32, ints, ints, 8, ints},
        {7, WG_I64, longs, longs, 16, longs},     {9, WG_BOOL, small, bits, 2, bits},
        {10, WG_F16, halves, packed, 4, packed},  {11, WG_F64, doubles, doubles, 16, doubles},
        {12, WG_I64, wide, words, 8, wide},       {13, WG_I64, ones, ones, 16, ones},
        {16, WG_BF16, halves, packed, 4, packed},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        for (int raw = 0; raw < 2; raw++) {
            wg_onnx_tensor got;
            ox_tensor_proto t = tensor_of(cases[i].type, cases[i].field);
            if (raw) {
                t.n_float_data = t.n_int32_data = t.n_int64_data = t.n_double_data = 0;
                t.n_uint64_data = 0;
                t.has_raw_data = t.has_data_location = true;
                t.raw_data.data = (uint8_t *)(uintptr_t)cases[i].raw;
                t.raw_data.len = cases[i].raw_size;
            }
            write_tensor(&t);
            check_that(wg_onnx_tensor_read(&got, path, &error) == WG_OK, "%s", error.text);
            assert_int_equal(got.dtype, cases[i].dtype);
            check_that(memcmp(got.data, cases[i].expected, 2 * wg_dtype_size(got.dtype)) == 0,
                       "type %d, %s", cases[i].type, raw ? "raw_data" : "its field");
            wg_onnx_tensor_free(&got);
        }
    wg_onnx_tensor_free(NULL);
}

static void what_a_tensor_cannot_be(void **state)
{
    (void)state;
    static const uint64_t large[] = {1, UINT64_C(1) << 63};
    static int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 2};
    static const struct {
        int type;
        size_t n_dims;
        wg_status status;
        const char *message;
    } cases[] = {
        {8, 1, WG_EUNSUPPORTED, "elements of type string (8) are not supported"},
        {77, 1, WG_EDATA, "elements of type unknown (77) are not supported"},
        {0, 1, WG_EDATA, "elements of type undefined (0) are not supported"},
        {13, 1, WG_EUNSUPPORTED, "uint64: numbers of 2^63 and more are not supported"},
        {13, 9, WG_EDATA, "dims: expected at most 8 axes, got 9"},
        {13, 0, WG_EDATA, "data: expected 1 numbers as dims says, got 2"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_onnx_tensor got;
        ox_tensor_proto t = tensor_of(13, large);
        t.data_type = cases[i].type;
        if (cases[i].n_dims == 9)
            t.dims = nine;
        t.n_dims = cases[i].n_dims;
        write_tensor(&t);
        assert_int_equal(wg_onnx_tensor_read(&got, path, &error), cases[i].status);
        check_that(strstr(error.text, path) && strstr(error.text, cases[i].message), "%s",
                   error.text);
        assert_true(!got.data && !got.name);
    }
}

static void a_tensor_needs_a_file_and_a_place(void **state)
{
    (void)state;
    wg_onnx_tensor got;
    unlink(path);
    assert_int_equal(wg_onnx_tensor_read(&got, path, &error), WG_EIO);
    assert_int_equal(wg_onnx_tensor_read(NULL, path, &error), WG_EINVAL);
    assert_int_equal(wg_onnx_tensor_read(&got, NULL, &error), WG_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_type_is_read_from_its_field_and_from_bytes),
        cmocka_unit_test(what_a_tensor_cannot_be),
        cmocka_unit_test(a_tensor_needs_a_file_and_a_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
