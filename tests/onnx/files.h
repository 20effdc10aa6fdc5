/* A file of ONNX that a test makes, and how importing it fails. */
#ifndef WG_TESTS_ONNX_FILES_H
#define WG_TESTS_ONNX_FILES_H

#include "tests/onnx/models.h"
#include "tests/test.h"
#include "wengert.h"

#include <unistd.h>

static const char path[] = "made.onnx";
static wg_error error;

static inline wg_status import(wg_graph **g, const wg_onnx_import_options *o)
{
    return wg_onnx_import(g, path, o, &error);
}

/* Importing fails with that status and a message that begins with the file and has these texts. */
static inline void refused(const wg_onnx_import_options *o, wg_status status, const char *first,
                           const char *second)
{
    wg_graph *g;
    assert_int_equal(import(&g, o), status);
    assert_null(g);
    check_that(strncmp(error.text, path, strlen(path)) == 0, "%s", error.text);
    check_that(strstr(error.text, first) && strstr(error.text, second), "%s", error.text);
}

static inline void refused_model(made *m, wg_status status, const char *first, const char *second)
{
    made_write(m, path);
    refused(NULL, status, first, second);
    made_free(m);
}

/* After all tests */
static inline int leave(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

static inline void write_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *f = fopen(name, "wb");
    assert_true(f && fwrite(bytes, 1, size, f) == size);
    fclose(f);
}

static const float numbers[6] = {1, -2, 3, 0.5f, 4, -0.25f};

/* x [2, 3] and w [2, 3]: y = x w + w */
static inline void begin(made *m)
{
    const wg_shape s = WG_SHAPE(2, 3);
    made_begin(m);
    made_input(m, "x", s);
    made_output(m, "y", s);
    wgi_ox_tensor(&m->e, "w", WG_F32, &s, numbers);
    made_node(m, "Mul", "x", "w", "p");
    made_node(m, "Add", "p", "w", "y");
}

#endif
