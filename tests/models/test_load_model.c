/* Models in shared objects: the example, and objects that are none. */
#include "tests/graph_text.h"
#include "tests/plans.h"
#include "wengert.h"

static void expect_failure(const char *path, wg_status expected, const char *text)
{
    wg_error error = {.text = ""};
    wg_loaded_model loaded = {wg_model_at(0), NULL};
    wg_status status = wg_model_load(&loaded, path, &error);
    check_that(status == expected && error.status == status, "%s: status '%s', message '%s'",
               path ? path : "NULL", wg_status_text(status), error.text);
    check_that(strstr(error.text, text) != NULL, "'%s' does not say '%s'", error.text, text);
    assert_null(loaded.model);
    assert_null(loaded.handle);
    assert_int_equal(wg_model_load(&loaded, path, NULL), expected);
    wg_model_unload(&loaded);
}

static void failures_say_why(void **state)
{
    (void)state;
    expect_failure(NULL, WG_EINVAL, "no path of a model");
    expect_failure("", WG_EINVAL, "no path of a model");
    expect_failure("./nowhere/model.so", WG_EIO, "./nowhere/model.so");
    expect_failure("/dev/null", WG_EIO, "/dev/null");
    expect_failure(NO_BACKEND, WG_EINVAL, "is not a model: it has no function 'wengert_model'");
    expect_failure(MODEL_OF_OTHER_ABI, WG_EUNSUPPORTED, "was built for a model ABI other than 2");
    expect_failure(MODEL_NAMELESS, WG_EINVAL, "its model lacks a name");
    expect_failure(MODEL_WITHOUT_BUILD, WG_EINVAL, "its model lacks a build function");
    wg_model_unload(NULL);
    assert_int_equal(wg_model_load(NULL, MODEL_NAMELESS, NULL), WG_EINVAL);
}

static void a_mistake_of_the_model_is_in_its_graph(void **state)
{
    (void)state;
    wg_loaded_model loaded;
    assert_int_equal(wg_model_load(&loaded, MODEL_WITH_MISTAKE, NULL), WG_OK);
    wg_graph *g = wg_graph_new();
    assert_null(loaded.model->build(g));
    check_that(
        strstr(wg_graph_message(g),
               "matmul(x, x): [2,3] times [2,3]: inner sizes 3 and 2 differ (bad_model.c:") != NULL,
        "%s", wg_graph_message(g));
    wg_graph_free(g);
    wg_model_unload(&loaded);
}

#ifdef EXAMPLE_MODEL
/* The op of its own is in the object, the lines of the nodes are the graph's. */
static void the_example_builds_and_is_read_back(void **state)
{
    (void)state;
    wg_error error;
    wg_loaded_model loaded;
    check_that(wg_model_load(&loaded, EXAMPLE_MODEL, &error) == WG_OK, "%s", error.text);
    assert_string_equal(loaded.model->name, "line");
    assert_int_equal(wg_model_range(loaded.model, "class"), 5);
    wg_graph *g = wg_graph_new();
    wg_value *loss = loaded.model->build(g), *w = wg_graph_find(g, "w"), *dw;
    check_that(wg_grad(loss, &w, 1, &dw) == WG_OK, "%s", wg_graph_message(g));
    wg_output(dw, "dw");
    const wg_op *own = NULL;
    for (size_t i = 0; i < wg_graph_node_count(g); i++)
        if (strcmp(wg_graph_node(g, i)->op->name, "log_cosh") == 0)
            own = wg_graph_node(g, i)->op;
    assert_non_null(own);
    wg_graph_free(there_and_back(g, &(wg_parse_options){.ops = &own, .n_ops = 1}));
    wg_plan *p = plan_of(g, NULL);
    run(p, 0);
    assert_true(*floats(p, loss) == *floats(p, loss)); /* a number */
    wg_plan_free(p);
    wg_graph_free(g);
    wg_model_unload(&loaded);
}

/* A graph of built-in ops alone outlives the object. */
static void lines_outlive_the_object(void **state)
{
    (void)state;
    wg_loaded_model loaded;
    assert_int_equal(wg_model_load(&loaded, EXAMPLE_MODEL, NULL), WG_OK);
    wg_graph *g = wg_graph_new();
    loaded.model->build(g);
    const wg_node *n = wg_graph_node(g, 0);
    wg_model_unload(&loaded);
    check_that(strstr(n->at, "line.c:") != NULL, "%s", n->at);
    wg_graph_free(g);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failures_say_why),
        cmocka_unit_test(a_mistake_of_the_model_is_in_its_graph),
#ifdef EXAMPLE_MODEL
        cmocka_unit_test(the_example_builds_and_is_read_back),
        cmocka_unit_test(lines_outlive_the_object),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
