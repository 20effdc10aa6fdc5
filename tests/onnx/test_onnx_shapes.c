/* Shapes of inputs that the caller gives: symbolic dimensions take their sizes from them, and what
 * contradicts the file is refused. */
#include "tests/onnx/files.h"

/* An axis whose size the file leaves open; it has a name, or "". */
static void symbolic(made *m, int input, int axis, const char *name)
{
    ox_value_proto *v = m->inputs.item[input];
    ox_dim_proto *d = v->type->tensor_type->shape->dim[axis];
    d->value_case = *name ? WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM
                          : WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE__NOT_SET;
    d->dim_param = (char *)name;
}

/* x [batch, 3] and mask [batch, ?], whose product is y. */
static void write_symbolic(void)
{
    made m;
    made_begin(&m);
    made_input(&m, "x", WG_SHAPE(1, 3));
    made_input(&m, "mask", WG_SHAPE(1, 1));
    made_output(&m, "y", WG_SHAPE(1, 3));
    symbolic(&m, 0, 0, "batch");
    symbolic(&m, 1, 0, "batch");
    symbolic(&m, 1, 1, "");
    ox_value_proto *y = m.outputs.item[0];
    y->type->tensor_type->shape = NULL;
    made_node(&m, "Mul", "x", "mask", "y");
    made_write(&m, path);
    made_free(&m);
}

static void check_shape(const wg_value *v, wg_shape expected)
{
    assert_true(v && wg_shape_equal(&v->shape, &expected));
}

static void symbolic_sizes_are_those_of_given_shapes(void **state)
{
    (void)state;
    wg_graph *g;
    const wg_onnx_shape x = {"x", WG_SHAPE(5, 3)}, both[] = {{"mask", WG_SHAPE(5, 1)}, x};
    const wg_onnx_dim other = {"mask:1", 3}, batch = {"batch", 5};
    write_symbolic();
    wg_onnx_import_options o = {.shapes = both, .n_shapes = 2};
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    check_shape(wg_graph_output(g, 0), WG_SHAPE(5, 3));
    check_shape(wg_graph_find(g, "mask"), WG_SHAPE(5, 1));
    wg_graph_free(g);
    /* the symbol of one input is that of the other; `dims` and other_dims give what is left */
    o = (wg_onnx_import_options){.shapes = &x, .n_shapes = 1, .dims = &other, .n_dims = 1};
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    check_shape(wg_graph_find(g, "mask"), WG_SHAPE(5, 3));
    wg_graph_free(g);
    o = (wg_onnx_import_options){
        .shapes = &x, .n_shapes = 1, .dims = &batch, .n_dims = 1, .other_dims = 1};
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    check_shape(wg_graph_find(g, "mask"), WG_SHAPE(5, 1));
    wg_graph_free(g);
    o.other_dims = 0;
    refused(&o, WG_EINVAL, "input 'mask'", "give one for the dimension 'mask:1'");
}

static void given_shapes_are_compared_with_the_file(void **state)
{
    (void)state;
    const wg_onnx_dim batch = {"batch", 4};
    const struct {
        wg_onnx_shape shape[2];
        size_t n_dims;
        const char *first, *second;
    } bad[] = {
        {{{"x", WG_SHAPE(5, 3)}, {"mask", WG_SHAPE(6, 1)}},
         0,
         "input 'mask', axis 0 ('batch')",
         "expected the size 5, got 6"},
        {{{"x", WG_SHAPE(5, 4)}, {"mask", WG_SHAPE(5, 1)}},
         0,
         "input 'x', axis 1:",
         "expected the size 3, got 4"},
        {{{"x", WG_SHAPE(5, 3)}, {"mask", WG_SHAPE(5, 1)}},
         1,
         "input 'x', axis 0 ('batch')",
         "expected the size 4, got 5"},
        {{{"x", WG_SHAPE(5)}, {"mask", WG_SHAPE(5, 1)}},
         0,
         "input 'x'",
         "expected 2 axes, got the shape [5]"},
        {{{"x", WG_SHAPE(5, -3)}, {"mask", WG_SHAPE(5, 1)}}, 0, "input 'x'", "its shape is none"},
        {{{"x", WG_SHAPE(5, 3)}, {"masc", WG_SHAPE(5, 1)}},
         0,
         "no input 'masc'",
         "did you mean 'mask'?"},
        {{{"x", WG_SHAPE(5, 3)}, {"attention", WG_SHAPE(5, 1)}},
         0,
         "no input 'attention'",
         "only 'x', 'mask'"},
    };
    write_symbolic();
    for (int i = 0; i < WG_COUNT(bad); i++)
        refused(
            &(wg_onnx_import_options){
                .shapes = bad[i].shape, .n_shapes = 2, .dims = &batch, .n_dims = bad[i].n_dims},
            WG_EINVAL, bad[i].first, bad[i].second);
}

/* y = -x, of which the file leaves even the number of axes open. */
static void write_shapeless(void)
{
    made m;
    made_begin(&m);
    made_input(&m, "x", WG_SHAPE(1));
    made_output(&m, "y", WG_SHAPE(1));
    ox_value_proto *x = m.inputs.item[0], *y = m.outputs.item[0];
    x->type->tensor_type->shape = y->type->tensor_type->shape = NULL;
    made_node(&m, "Neg", "x", NULL, "y");
    made_write(&m, path);
    made_free(&m);
}

static void an_input_of_unknown_shape_has_the_given_one(void **state)
{
    (void)state;
    wg_graph *g;
    const wg_onnx_shape shape = {"x", WG_SHAPE(2, 3)}, scalar = {"x", WG_SCALAR};
    const wg_onnx_dim same = {"x:1", 3}, other = {"x:1", 4}, further = {"x:2", 1},
                      beyond = {"x:3", 1};
    write_shapeless();
    wg_onnx_import_options o = {.shapes = &shape, .n_shapes = 1};
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    check_shape(wg_graph_output(g, 0), WG_SHAPE(2, 3));
    wg_graph_free(g);
    o = (wg_onnx_import_options){.shapes = &shape, .n_shapes = 1, .dims = &same, .n_dims = 1};
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    check_shape(wg_graph_output(g, 0), WG_SHAPE(2, 3));
    wg_graph_free(g);
    o.dims = &other;
    refused(&o, WG_EINVAL, "input 'x', axis 1:", "expected the size 4, got 3");
    o.dims = &further;
    refused(&o, WG_EINVAL, "input 'x'", "expected 3 axes, got the shape [2,3]");
    o.dims = &beyond;
    refused(&o, WG_EINVAL, "dimension 'x:3': expected a free one", "got a name that none has");
    o = (wg_onnx_import_options){.shapes = &scalar, .n_shapes = 1};
    check_that(import(&g, &o) == WG_OK, "%s", error.text);
    check_shape(wg_graph_output(g, 0), WG_SCALAR);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbolic_sizes_are_those_of_given_shapes),
        cmocka_unit_test(given_shapes_are_compared_with_the_file),
        cmocka_unit_test(an_input_of_unknown_shape_has_the_given_one),
    };
    return cmocka_run_group_tests(tests, NULL, leave);
}
