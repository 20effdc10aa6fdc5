/* Two models that should compute the same: both are imported and run with the same numbers. */
#ifndef WG_TESTS_ONNX_EQUALS_H
#define WG_TESTS_ONNX_EQUALS_H

#include "graph/element.h"
#include "tests/onnx/text.h"
#include "tests/test.h"
#include "wengert.h"

#include <math.h>
#include <unistd.h>

/* The graph of a file; a message ends the test. */
static inline wg_graph *read_model(const char *name, const char *path)
{
    wg_graph *g;
    wg_error error;
    check_that(wg_onnx_import(&g, path, NULL, &error) == WG_OK, "%s: %s", name, error.text);
    return g;
}

/* Reads a model of that text. */
static inline wg_graph *read_text(const char *name, int opset, const char *text)
{
    static const char path[] = "equals.onnx";
    made m;
    made_begin(&m);
    onnx_write(onnx_text(&m, text), opset, path);
    made_free(&m);
    wg_graph *g = read_model(name, path);
    unlink(path);
    return g;
}

/* Runs it; inputs get numbers between -2 and 2 that follow from their names, or small integers. */
static inline wg_plan *run_graph(const char *name, wg_graph *g)
{
    wg_plan *p;
    const wg_plan_options o = {.fixed_parameters = true};
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s: %s", name, wg_graph_message(g));
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_value *x = wg_graph_node(g, i)->out[0];
        bool is_input = x->node->op->flags & WG_OP_INPUT;
        for (int64_t k = 0; is_input && k < wg_value_count(x); k++) {
            double number = 2 * sin(1.7 * (double)k + x->name[0]);
            wgi_put_element(wg_plan_data(p, x), x->dtype, k,
                            wg_dtype_is_float(x->dtype) ? number : (double)(k % 3));
        }
    }
    check_that(wg_plan_run(p, 0) == WG_OK, "%s: %s", name, wg_plan_message(p));
    return p;
}

/* Compares all outputs within 1e-5 of their numbers or 1 and frees both graphs; the number of
 * numbers that were compared. */
static inline size_t check_equal(const char *name, wg_graph *g, wg_graph *other)
{
    size_t compared = 0;
    wg_plan *p = run_graph(name, g), *q = run_graph(name, other);
    assert_int_equal(wg_graph_output_count(g), wg_graph_output_count(other));
    for (size_t i = 0; i < wg_graph_output_count(g); i++) {
        const wg_value *v = wg_graph_output(g, i), *w = wg_graph_output(other, i);
        check_that(v->dtype == w->dtype && wg_shape_equal(&v->shape, &w->shape),
                   "%s: output %zu differs in dtype or shape", name, i);
        const void *a = wg_plan_data(p, v), *b = wg_plan_data(q, w);
        for (int64_t k = 0; k < wg_value_count(v); k++, compared++) {
            double is = wgi_get_element(a, v->dtype, k), want = wgi_get_element(b, w->dtype, k);
            check_that(is == want || fabs(is - want) <= 1e-5 * fmax(1, fabs(want)),
                       "%s: output %zu, element %lld is %.9g, not %.9g", name, i, (long long)k, is,
                       want);
        }
    }
    check_that(compared > 0, "%s: nothing was compared", name);
    wg_plan_free(p);
    wg_plan_free(q);
    wg_graph_free(g);
    wg_graph_free(other);
    return compared;
}

#endif
