/* The mean of files of tensors, and what is said of files that do not go together. */
#include "tests/test.h"
#include "wengert/graph/half.h"
#include "wengert/train/average.h"

#include <math.h>
#include <unistd.h>

static wg_error error;
static const char *const paths[] = {"average_a.safetensors", "average_b.safetensors",
                                    "average_c.safetensors"};
static const char out[] = "average_out.safetensors";

static void write_file(const char *path, const wg_tensor *tensors, size_t n)
{
    assert_int_equal(wg_safetensors_write(path, tensors, n, NULL, 0, &error), WG_OK);
}

static void remove_all(void)
{
    for (int i = 0; i < 3; i++)
        unlink(paths[i]);
    unlink(out);
}

/* In f32 the sum would lose the small number beside the large ones. */
static void the_mean_is_computed_in_double(void **state)
{
    (void)state;
    float x[3][2] = {{16777216, 1}, {-16777216, 2}, {3, 6}};
    double y[3] = {0.25, 0.5, 0.75};
    uint16_t z[3] = {wg_bf16_from_f64(1), wg_bf16_from_f64(2), wg_bf16_from_f64(6)};
    int64_t steps = 7;
    for (int i = 0; i < 3; i++)
        write_file(paths[i],
                   (wg_tensor[]){{"x", WG_F32, WG_SHAPE(2), x[i]},
                                 {"y", WG_F64, WG_SCALAR, &y[i]},
                                 {"z", WG_BF16, WG_SHAPE(1), &z[i]},
                                 {"steps", WG_I64, WG_SCALAR, &steps},
                                 {"empty", WG_F32, WG_SHAPE(0, 3), x[i]}},
                   5);
    assert_int_equal(wg_average_files(paths, 3, out, &error), WG_OK);
    wg_safetensors *f;
    assert_int_equal(wg_safetensors_open(&f, out, &error), WG_OK);
    assert_int_equal(wg_safetensors_count(f), 5);
    float gx[2];
    double gy;
    uint16_t gz;
    int64_t gsteps;
    memcpy(gx, wg_safetensors_find(f, "x")->data, sizeof gx);
    memcpy(&gy, wg_safetensors_find(f, "y")->data, sizeof gy);
    memcpy(&gz, wg_safetensors_find(f, "z")->data, sizeof gz);
    memcpy(&gsteps, wg_safetensors_find(f, "steps")->data, sizeof gsteps);
    assert_true(gx[0] == 1 && gx[1] == 3 && gy == 0.5 && wg_bf16_to_f32(gz) == 3 && gsteps == 7);
    wg_safetensors_close(f);
    /* of one file: the file; and in its place */
    const char *const again[] = {out};
    assert_int_equal(wg_average_files(again, 1, out, &error), WG_OK);
    assert_int_equal(wg_safetensors_open(&f, out, &error), WG_OK);
    assert_memory_equal(wg_safetensors_find(f, "x")->data, gx, sizeof gx);
    wg_safetensors_close(f);
    remove_all();
}

static void all_differences_are_listed(void **state)
{
    (void)state;
    float x[3] = {1, 2, 3};
    double y[3] = {1, 2, 3};
    int64_t one = 1, two = 2;
    write_file(paths[0],
               (wg_tensor[]){{"same", WG_F32, WG_SHAPE(3), x},
                             {"shape", WG_F32, WG_SHAPE(3), x},
                             {"dtype", WG_F32, WG_SHAPE(3), x},
                             {"gone", WG_F32, WG_SHAPE(3), x},
                             {"steps", WG_I64, WG_SCALAR, &one}},
               5);
    write_file(paths[1],
               (wg_tensor[]){{"same", WG_F32, WG_SHAPE(3), x},
                             {"shape", WG_F32, WG_SHAPE(1, 3), x},
                             {"dtype", WG_F64, WG_SHAPE(3), y},
                             {"new", WG_F32, WG_SHAPE(3), x},
                             {"steps", WG_I64, WG_SCALAR, &two}},
               5);
    assert_int_equal(wg_average_files(paths, 2, out, &error), WG_EDATA);
    assert_string_equal(
        error.text,
        "average_b.safetensors: tensor dtype: expected F32 [3], got F64 [3]\n"
        "average_b.safetensors: tensor gone: expected F32 [3], got none\n"
        "average_b.safetensors: tensor shape: expected F32 [3], got F32 [1,3]\n"
        "average_b.safetensors: tensor steps: expected I64 [] equal to the first file's\n"
        "average_b.safetensors: tensor new: expected none");
    assert_int_equal(access(out, F_OK), -1);
    assert_int_equal(wg_average_files(paths, 3, out, &error), WG_EIO);
    assert_non_null(strstr(error.text, "average_c.safetensors"));
    assert_int_equal(wg_average_files(paths, 0, out, &error), WG_EINVAL);
    remove_all();
}

/* Weights of other vocabularies; entries of other programs may differ, and are left out. */
static void entries_of_the_project_must_agree(void **state)
{
    (void)state;
    float x[3] = {1, 2, 3};
    const wg_tensor tensor = {"x", WG_F32, WG_SHAPE(3), x};
    const wg_file_note notes[3][2] = {{{"author", "a"}, {"wengert-vocabularies", "1234"}},
                                      {{"author", "b"}, {"wengert-vocabularies", "1234"}},
                                      {{"author", "b"}, {"wengert-vocabularies", "abcd"}}};
    for (int i = 0; i < 3; i++)
        assert_int_equal(wg_safetensors_write(paths[i], &tensor, 1, notes[i], 2, &error), WG_OK);
    wg_safetensors *f;
    assert_int_equal(wg_average_files(paths, 2, out, &error), WG_OK);
    assert_int_equal(wg_safetensors_open(&f, out, &error), WG_OK);
    assert_string_equal(wg_safetensors_note(f, "wengert-vocabularies"), "1234");
    assert_null(wg_safetensors_note(f, "author"));
    wg_safetensors_close(f);
    unlink(out);
    assert_int_equal(wg_average_files(paths, 3, out, &error), WG_EDATA);
    assert_string_equal(error.text, "average_c.safetensors: wengert-vocabularies: expected 1234, "
                                    "as in the first file, got abcd");
    assert_int_not_equal(access(out, F_OK), 0);
    remove_all();
}

static void numbers_that_are_none_are_refused(void **state)
{
    (void)state;
    float x[2][3] = {{1, 2, 3}, {1, NAN, 3}}, y[2] = {INFINITY, 0};
    for (int i = 0; i < 2; i++)
        write_file(paths[i],
                   (wg_tensor[]){{"x", WG_F32, WG_SHAPE(3), x[i]}, {"y", WG_F32, WG_SCALAR, &y[i]}},
                   2);
    assert_int_equal(wg_average_files(paths, 2, out, &error), WG_EDATA);
    assert_non_null(strstr(error.text, "average_b.safetensors: tensor x: element 1 is NaN"));
    assert_non_null(strstr(error.text, "average_a.safetensors: tensor y: element 0 is infinite"));
    assert_int_not_equal(access(out, F_OK), 0);
    remove_all();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mean_is_computed_in_double),
        cmocka_unit_test(all_differences_are_listed),
        cmocka_unit_test(entries_of_the_project_must_agree),
        cmocka_unit_test(numbers_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
