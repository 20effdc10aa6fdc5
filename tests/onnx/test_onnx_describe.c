/* What wg_onnx_describe says of a model, and what it does where it cannot say it. */
#include "tests/onnx/text.h"
#include "tests/test.h"

#include "wengert/onnx/onnx.h"

#include <unistd.h>

static const char path[] = "described.onnx";
static wg_error error;

static const char model[] =
    "(float[N,2] x, float[M,N] z, float[N,N,3] u, float[2] w, int64[] k, float[] s)\n"
    "=> (float[N,2] y) <float[2] w = {1, 2}, float[3,2] v = {1, 2, 3, 4, 5, 6}, int64[1] i = {4}>\n"
    "{ a = Relu (x) y = Mul (a, w) c = Relu (z) d = Sneeze (c) }\n";

/* The text; the fields of input 4 may be changed before by `change`. */
static const char *described(void (*change)(ox_value_proto *v))
{
    made m;
    made_begin(&m);
    ox_graph_proto *g = onnx_text(&m, model);
    if (change)
        change(g->input[4]);
    onnx_write(g, 17, path);
    made_free(&m);
    return onnx_described(path);
}

static void has(const char *text, const char *part)
{
    check_that(strstr(text, part), "'%s' is not in\n%s", part, text);
}

static void inputs_and_symbols_are_named_once(void **state)
{
    (void)state;
    const char *text = described(NULL);
    has(text, "  x                        float [N,2]\n");
    has(text, "  u                        float [N,N,3]\n");
    has(text, "  s                        float []\n");
    has(text, "sizes to give   N, M\n");
    check_that(!strstr(text, "k:0"), "an axis is listed that no input has:\n%s", text);
    check_that(!strstr(text, "  w  "), "an initializer is listed as an input:\n%s", text);
    has(text, "initializers    3, of these 2 of floats with 8 numbers\n");
    has(text, "  Sneeze                       1  not supported\n");
    has(text, "1 of 3 kinds of ops is not supported\n");
}

static void make_shapeless(ox_value_proto *v)
{
    v->type->tensor_type->shape = NULL;
}

static void make_strange(ox_value_proto *v)
{
    v->type->tensor_type->elem_type = 8;
}

static void make_typeless(ox_value_proto *v)
{
    v->type = NULL;
}

static void make_no_tensor(ox_value_proto *v)
{
    v->type->value_case = WGI_ONNX__TYPE_PROTO__VALUE__NOT_SET;
}

static void what_is_no_tensor_is_named(void **state)
{
    (void)state;
    const char *text = described(make_shapeless);
    has(text, "  k                        int64 of unknown shape\n");
    has(text, "sizes to give   N, M, k:0, k:1, ...\n");
    has(described(make_strange), ": not supported\n");
    has(described(make_typeless), "  k                        not a tensor: not supported\n");
    has(described(make_no_tensor), "  k                        not a tensor: not supported\n");
}

static const char *described_text(const char *text)
{
    made m;
    made_begin(&m);
    onnx_write(onnx_text(&m, text), 17, path);
    made_free(&m);
    return onnx_described(path);
}

/* What is said of the ops is true of the file. */
static void numbers_to_know_are_named(void **state)
{
    (void)state;
    has(described_text("(float[N,3] x, int64[2] s) => (float[M,K] y) { y = Reshape (x, s) }"),
        "the only kind of op is supported, where the numbers of 's' are known (--known)\n");
    has(described_text("(float[N,8] x, float[2,8] w, int64[1] k) => (float[N,M] y)\n"
                       "{ a = Reshape (x, x) b = Abs (a) y = Neg (b) }"),
        "all 3 kinds of ops are supported, where the numbers of 'x' are known (--known)\n");
    /* 5 columns do not become 2 x 2: with 64 rows all is well */
    has(described_text("(float[N,3] x, float[64,3] z, int64[2] s) => (float[M,K] y)\n"
                       "{ a = Add (x, z) y = Reshape (a, s) }"),
        "where the numbers of 's' are known");
    has(described_text("(float[N,3] x) => (float[N,3] y) { y = Abs (x) }"),
        "the only kind of op is supported\n");
    has(described_text("(float[N,3] x) => (float[N,3] y) { y = Sneeze (x) }"),
        "the only kind of op is not supported\n");
    has(described_text("(float[N,3] x) => (float[N,3] y) { a = Sneeze (x) y = Cough (a) }"),
        "2 of 2 kinds of ops are not supported\n");
}

/* A disk without room, and no place at all. */
static void texts_that_cannot_be_written_are_an_error(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    if (!full)
        skip();
    setvbuf(full, NULL, _IONBF, 0);
    made m;
    made_begin(&m);
    onnx_write(onnx_text(&m, model), 17, path);
    made_free(&m);
    assert_int_equal(wg_onnx_describe(path, full, &error), WG_EIO);
    assert_non_null(strstr(error.text, "cannot be written"));
    assert_int_equal(wg_onnx_print_ops(full, &error), WG_EIO);
    assert_non_null(strstr(error.text, "cannot be written"));
    assert_int_equal(wg_onnx_describe(NULL, full, &error), WG_EINVAL);
    assert_int_equal(wg_onnx_describe(path, NULL, &error), WG_EINVAL);
    assert_int_equal(wg_onnx_print_ops(NULL, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "no place"));
    fclose(full);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_and_symbols_are_named_once),
        cmocka_unit_test(what_is_no_tensor_is_named),
        cmocka_unit_test(numbers_to_know_are_named),
        cmocka_unit_test(texts_that_cannot_be_written_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
