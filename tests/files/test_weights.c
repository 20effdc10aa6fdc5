/* A model's tensors go to a file and come back; a file of another model is refused with every
 * difference. */
#include "tests/test.h"
#include "wengert/files/weights.h"

#include <unistd.h>

static const char path[] = "weights.safetensors";
static wg_error error;

static float *add(wg_store *s, const char *name, int64_t n)
{
    const wg_tensor *t;
    wg_shape shape = WG_SHAPE(n);
    assert_int_equal(wg_store_add(s, name, WG_F32, &shape, &t), WG_OK);
    return t->data;
}

static void a_store_comes_back_from_its_file(void **state)
{
    (void)state;
    wg_store *from = wg_store_new(1), *to = wg_store_new(2);
    memcpy(add(from, "a", 2), (float[]){1, 2}, 8);
    memcpy(add(from, "b", 1), (float[]){3}, 4);
    float *b = add(to, "b", 1), *a = add(to, "a", 2); /* order does not matter */
    assert_int_equal(wg_store_save(from, path, &error), WG_OK);
    assert_int_equal(wg_store_load(to, path, &error), WG_OK);
    assert_true(a[0] == 1 && a[1] == 2 && b[0] == 3);
    wg_store_free(from);
    wg_store_free(to);
}

static void every_difference_is_listed_and_nothing_changed(void **state)
{
    (void)state;
    wg_store *from = wg_store_new(1), *to = wg_store_new(2);
    add(from, "same", 1)[0] = 7;
    add(from, "shape", 2);
    add(from, "old", 1);
    float *same = add(to, "same", 1);
    add(to, "shape", 3);
    add(to, "new", 1);
    same[0] = 5;
    assert_int_equal(wg_store_save(from, path, &error), WG_OK);
    assert_int_equal(wg_store_load(to, path, &error), WG_EDATA);
    assert_string_equal(error.text,
                        "weights.safetensors: tensor shape: expected F32 [3], got F32 [2]\n"
                        "weights.safetensors: tensor new: expected F32 [1], got none\n"
                        "weights.safetensors: tensor old: expected none");
    assert_true(same[0] == 5);
    unlink(path);
    assert_int_equal(wg_store_load(to, path, &error), WG_EIO);
    wg_store_free(from);
    wg_store_free(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_store_comes_back_from_its_file),
        cmocka_unit_test(every_difference_is_listed_and_nothing_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
