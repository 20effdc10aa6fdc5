/* Models of ONNX without memory: allocations of an import, a description and an export fail, once
 * and from then on, and so do pieces that a graph's arena is asked for.  The answer is WG_ENOMEM
 * with a message. */
#include "tests/arena_allocations.h"
#include "tests/onnx/cases.h"
#include "tests/onnx/strangers.h"

#include "wengert/onnx/onnx.h"

#include <unistd.h>

/* Every so many allocations fail, from another one on for each model. */
enum { STRIDE = SANITIZED ? 29 : 1 };

static const char path[] = "memory.onnx", copy[] = "memory_copy.onnx";

/* The status, if the message agrees with it. */
static wg_status told(wg_status status, const wg_error *error)
{
    assert_true((status == WG_OK) == (*error->text == '\0'));
    return status;
}

typedef struct importing {
    const char *path;
    wg_onnx_import_options options;
} importing;

static wg_status import(void *context)
{
    const importing *what = context;
    wg_graph *g;
    wg_error error;
    wg_status status = told(wg_onnx_import(&g, what->path, &what->options, &error), &error);
    assert_true((status == WG_OK) == (g != NULL));
    wg_graph_free(g);
    return status;
}

static wg_status describe(void *context)
{
    wg_error error;
    return told(wg_onnx_describe(path, context, &error), &error);
}

static wg_status export(void *context)
{
    wg_error error;
    return told(wg_onnx_export(context, copy, NULL, &error), &error);
}

static void imports_without_memory(void **state)
{
    (void)state;
    size_t total = 0;
    for (int i = 0; i < WG_COUNT(strangers); i++) {
        importing what = {path, {.other_dims = 2, .train = i % 2}};
        write_stranger(&strangers[i], path);
        total += fail_some(strangers[i].name, import, &what, WG_OK,
                           (failing_allocations){.first = (size_t)i, .stride = STRIDE});
    }
    assert_true(total > 10000);
}

static void import_case(onnx_case *c, void *context)
{
    char file[400];
    size_t *total = context;
    importing what = {file, {.known = c->known, .n_known = c->n_known}};
    snprintf(file, sizeof file, "%s/model.onnx", c->folder);
    *total += fail_some(c->folder, import, &what, WG_OK,
                        (failing_allocations){.first = *total, .stride = STRIDE});
}

static void cases_without_memory(void **state)
{
    (void)state;
    size_t total = 0;
    if (!onnx_visit_cases(import_case, &total))
        skip();
    assert_true(total > 10000);
}

static void descriptions_without_memory(void **state)
{
    (void)state;
    FILE *out = fopen("/dev/null", "w");
    assert_non_null(out);
    for (int i = 0; i < WG_COUNT(strangers); i += 5) {
        write_stranger(&strangers[i], path);
        assert_true(fail_some(strangers[i].name, describe, out, WG_OK,
                              (failing_allocations){.first = (size_t)i, .stride = STRIDE}) > 0);
    }
    fclose(out);
}

static void exports_without_memory(void **state)
{
    (void)state;
    size_t total = 0, exported = 0;
    for (int i = 0; i < WG_COUNT(strangers); i++) {
        wg_graph *g;
        wg_error error;
        const wg_onnx_import_options o = {.other_dims = 2};
        write_stranger(&strangers[i], path);
        check_that(wg_onnx_import(&g, path, &o, &error) == WG_OK, "%s", error.text);
        wg_status status = export(g);
        check_that(status == WG_OK || status == WG_EUNSUPPORTED, "%s", strangers[i].name);
        if (status == WG_OK)
            total += fail_some(strangers[i].name, export, g, WG_OK,
                               (failing_allocations){.first = (size_t)i, .stride = STRIDE});
        exported += status == WG_OK;
        wg_graph_free(g);
    }
    assert_true(exported > 20 && total > 1000);
}

static int remove_files(void **state)
{
    (void)state;
    unlink(path);
    unlink(copy);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_without_memory),
        cmocka_unit_test(cases_without_memory),
        cmocka_unit_test(descriptions_without_memory),
        cmocka_unit_test(exports_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
