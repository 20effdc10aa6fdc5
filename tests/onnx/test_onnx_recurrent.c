/* Recurrent layers have their gates in another order than ours: what puts them in order is one copy
 * of each operand in a run, and nothing where the weights are constants. */
#include "tests/onnx/spelled.h"
#include "tests/onnx/text.h"

static const char path[] = "recurrent.onnx";

enum { T = 3, B = 2, C = 2, H = 3, TEXT = 4000 };

static void add_weights(char *text, const char *name, const char *shape, int count)
{
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, TEXT - n, "float[%s] %s = {", shape, name);
    for (int i = 0; i < count; i++)
        n += (size_t)snprintf(text + n, TEXT - n, "%s%.3f", i ? ", " : "", sin(1.3 * i + name[0]));
    snprintf(text + n, TEXT - n, "}%s", name[0] == 'b' ? ">" : ", ");
}

static void write_layer(const char *op, int gates, int directions, const char *attributes)
{
    char text[TEXT], w[40], r[40], b[40];
    made m;
    snprintf(w, sizeof w, "%d,%d,%d", directions, gates * H, C);
    snprintf(r, sizeof r, "%d,%d,%d", directions, gates * H, H);
    snprintf(b, sizeof b, "%d,%d", directions, 2 * gates * H);
    snprintf(text, sizeof text, "(float[%d,%d,%d] x) => (float[%d,%d,%d,%d] y) <", T, B, C, T,
             directions, B, H);
    add_weights(text, "w", w, directions * gates * H * C);
    add_weights(text, "r", r, directions * gates * H * H);
    add_weights(text, "b", b, directions * 2 * gates * H);
    size_t n = strlen(text);
    snprintf(text + n, sizeof text - n, " { y = %s <%s> (x, w, r, b) }", op, attributes);
    made_begin(&m);
    onnx_write(onnx_text(&m, text), 14, path);
    made_free(&m);
}

static wg_graph *read_layer(bool frozen)
{
    wg_graph *g;
    wg_error error;
    const char *const all[] = {"*"};
    const wg_onnx_import_options o = {.frozen = all, .n_frozen = frozen};
    check_that(wg_onnx_import(&g, path, &o, &error) == WG_OK, "%s", error.text);
    return g;
}

static void check_layer(const char *op, int gates, int directions, const char *attributes)
{
    write_layer(op, gates, directions, attributes);
    wg_graph *trained = read_layer(false), *frozen = read_layer(true);
    const size_t copies = gates * directions == 1 ? directions * 2 : directions * 4;
    check_that(count_of(trained, &wg_op_take) == copies, "%s, %d directions: %zu copies, not %zu",
               op, directions, count_of(trained, &wg_op_take), copies);
    assert_int_equal(count_of(trained, &wg_op_slice), 0);
    assert_int_equal(count_of(trained, &wg_op_concat), 0);
    assert_int_equal(count_of(frozen, &wg_op_take), 0);
    assert_int_equal(count_of(frozen, &wg_op_reshape), 0);
    wg_plan *p = run_spelled(trained, true), *q = run_spelled(frozen, true);
    const wg_value *y = wg_graph_output(trained, 0);
    assert_memory_equal(wg_plan_f32(p, y), wg_plan_f32(q, wg_graph_output(frozen, 0)),
                        (size_t)wg_value_count(y) * sizeof(float));
    wg_plan_free(p);
    wg_plan_free(q);
    wg_graph_free(trained);
    wg_graph_free(frozen);
    unlink(path);
}

static void gates_are_put_in_order_by_one_copy(void **state)
{
    (void)state;
    check_layer("LSTM", 4, 1, "hidden_size = 3");
    check_layer("LSTM", 4, 2, "direction = \"bidirectional\"");
    check_layer("GRU", 3, 1, "linear_before_reset = 1");
    check_layer("RNN", 1, 1, "hidden_size = 3");
    check_layer("RNN", 1, 2, "direction = \"bidirectional\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gates_are_put_in_order_by_one_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
