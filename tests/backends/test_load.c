/* Backends by name and by file: the example, objects that are no backend or one for another ABI. */
#include "tests/test.h"
#include "wengert/backends/load.h"
#include "wengert/backends/lapack.h"
#include "wengert/backends/onednn.h"
#include "wengert/backends/plan.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

enum { ROWS = 300, COLUMNS = 301 };

static void built_in_backends_have_names(void **state)
{
    (void)state;
    size_t n = 0;
    for (const wg_backend *b; (b = wg_backend_at(n)); n++) {
        assert_ptr_equal(wg_backend_find(b->name), b);
        assert_int_equal(b->abi, WG_BACKEND_ABI);
    }
    assert_int_equal(n, 2 + (wg_onednn_backend() != NULL) + (wg_lapack_backend() != NULL));
    assert_ptr_equal(wg_backend_at(n - 1), wg_cpu_backend());
    assert_ptr_equal(wg_backend_find("onednn"), wg_onednn_backend());
    assert_ptr_equal(wg_backend_find("simd"), wg_simd_backend());
    assert_ptr_equal(wg_backend_find("lapack"), wg_lapack_backend());
    const wg_backend_list all = wg_backend_list_built_in();
    assert_int_equal(all.count, n);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(all.backend[i], wg_backend_at(i));
    assert_null(wg_backend_find("cpus"));
    assert_null(wg_backend_find(""));
    assert_null(wg_backend_find(NULL));
}

/* ---- objects that cannot be loaded ----------------------------------------------------------- */

static void expect_failure(const char *path, wg_status expected, const char *text)
{
    wg_error error = {.text = ""};
    wg_loaded_backend loaded = {wg_cpu_backend(), NULL};
    wg_status status = wg_backend_load(&loaded, path, &error);
    check_that(status == expected, "%s: status '%s', message '%s'", path ? path : "NULL",
               wg_status_text(status), error.text);
    check_that(strstr(error.text, text) != NULL, "'%s' does not say '%s'", error.text, text);
    assert_null(loaded.backend);
    assert_null(loaded.handle);
    assert_int_equal(wg_backend_load(&loaded, path, NULL), expected);
    wg_backend_unload(&loaded);
}

static void failures_say_why(void **state)
{
    (void)state;
    expect_failure(NULL, WG_EINVAL, "no path");
    expect_failure("", WG_EINVAL, "no path");
    expect_failure("./nowhere/libmine.so", WG_EIO, "./nowhere/libmine.so");
    expect_failure("/dev/null", WG_EIO, "/dev/null");
    expect_failure(NO_BACKEND, WG_EINVAL, "it has no function 'wengert_backend'");
    expect_failure(OTHER_ABI, WG_EUNSUPPORTED, "was built for a backend ABI other than 6");
    expect_failure(WRONG_ABI, WG_EUNSUPPORTED, "is a backend for ABI 77, this is ABI 6");
    expect_failure(EMPTY_TABLE, WG_EINVAL, "lacks name, refuses or prepare");
    wg_backend_unload(NULL);
    char path[2 * WG_ERROR_TEXT] = "./";
    memset(path + 2, 'x', sizeof path - 3);
    wg_error cut;
    wg_loaded_backend loaded;
    assert_int_equal(wg_backend_load(&loaded, path, &cut), WG_EIO);
    assert_int_equal(strlen(cut.text), WG_ERROR_TEXT - 1);
    assert_int_equal(wg_backend_load(NULL, EMPTY_TABLE, NULL), WG_EINVAL);
}

/* ---- the example ----------------------------------------------------------------------------- */

#ifdef EXAMPLE_BACKEND
/* y = relu(x + w) + b, where b is a row, on this backend and cpu */
static wg_plan *make_plan(wg_graph *g, const wg_backend *backend)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(ROWS, COLUMNS));
    wg_value *w = wg_input(g, "w", WG_F32, WG_SHAPE(ROWS, COLUMNS));
    wg_value *b = wg_input(g, "b", WG_F32, WG_SHAPE(COLUMNS));
    wg_output(wg_add(wg_relu(wg_add(x, w)), b), "y");
    wg_plan *p = NULL;
    wg_status status =
        wg_plan_create(&p, g, &(wg_plan_options){.backends = &backend, .n_backends = 1});
    check_that(status == WG_OK, "%s", wg_graph_message(g));
    const char *const names[] = {"x", "w", "b"};
    for (int k = 0; k < 3; k++) {
        wg_value *v = wg_graph_find(g, names[k]);
        float *data = wg_plan_data(p, v);
        for (int64_t i = 0; i < wg_value_count(v); i++)
            data[i] = (float)((i * (k + 3) * 7919) % 2001 - 1000) / 1000;
    }
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

static void the_example_computes_and_is_reported(void **state)
{
    (void)state;
    wg_error error = {.text = ""};
    wg_loaded_backend mine;
    wg_status status = wg_backend_load(&mine, EXAMPLE_BACKEND, &error);
    check_that(status == WG_OK, "%s", error.text);
    assert_string_equal(mine.backend->name, "mine");

    wg_graph *g[2] = {wg_graph_new(), wg_graph_new()};
    wg_plan *p[2] = {make_plan(g[0], mine.backend), make_plan(g[1], wg_cpu_backend())};
    assert_memory_equal(wg_plan_data(p[0], wg_graph_output(g[0], 0)),
                        wg_plan_data(p[1], wg_graph_output(g[1], 0)),
                        ROWS * COLUMNS * sizeof(float));

    int mines = 0, refused = 0;
    for (size_t i = 0; i < wg_plan_step_count(p[0]); i++) {
        wg_plan_step s = wg_plan_step_at(p[0], i);
        mines += strcmp(s.backend, "mine") == 0 && strncmp(s.kernel, "mine:", 5) == 0;
        refused += strcmp(s.backend, "cpu") == 0 && strstr(s.refused, "does not broadcast");
    }
    assert_int_equal(mines, 2);   /* the first add, relu */
    assert_int_equal(refused, 1); /* the add of a row */

    for (int i = 0; i < 2; i++) {
        wg_plan_free(p[i]);
        wg_graph_free(g[i]);
    }
    wg_backend_unload(&mine);
    assert_null(mine.backend);
}

static void an_object_may_be_loaded_twice(void **state)
{
    (void)state;
    wg_loaded_backend a, b;
    assert_int_equal(wg_backend_load(&a, EXAMPLE_BACKEND, NULL), WG_OK);
    assert_int_equal(wg_backend_load(&b, EXAMPLE_BACKEND, NULL), WG_OK);
    wg_backend_unload(&a);
    assert_string_equal(b.backend->name, "mine");
    wg_backend_unload(&b);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_backends_have_names),
        cmocka_unit_test(failures_say_why),
#ifdef EXAMPLE_BACKEND
        cmocka_unit_test(the_example_computes_and_is_reported),
        cmocka_unit_test(an_object_may_be_loaded_twice),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
