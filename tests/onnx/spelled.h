/* Models whose nodes spell out an activation, a norm or attention: imported as they are and with
 * composites, both compute the same. */
#ifndef WG_TESTS_ONNX_SPELLED_H
#define WG_TESTS_ONNX_SPELLED_H

#include "tests/onnx/models.h"
#include "tests/test.h"
#include "wengert.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <unistd.h>

static inline size_t count_of(const wg_graph *g, const wg_op *op)
{
    size_t n = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++)
        n += wg_graph_node(g, i)->op == op;
    return n;
}

static inline wg_plan *run_spelled(wg_graph *g, bool reference)
{
    wg_plan *p;
    check_that(wg_plan_create(&p, g, &(wg_plan_options){.reference = reference}) == WG_OK, "%s",
               wg_graph_message(g));
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_value *x = wg_graph_node(g, i)->out[0];
        for (int64_t k = 0; x->node->op == &wg_op_input && k < wg_value_count(x); k++)
            wg_plan_f32(p, x)[k] = (float)(3 * sin(1.7 * (double)k + x->name[0]));
    }
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

static inline wg_graph *read_spelled(const char *path, bool spelled_out)
{
    wg_graph *g;
    wg_error error;
    const wg_onnx_import_options o = {.spelled_out = spelled_out};
    check_that(wg_onnx_import(&g, path, &o, &error) == WG_OK, "%s", error.text);
    return g;
}

/* Imports the file both ways: with composites it has `op` that many times, and the same outputs as
 * without, on the reference and on all backends.  Returns the graph with composites. */
static inline wg_graph *check_spelled(const char *path, const char *name, const wg_op *op,
                                      size_t times)
{
    wg_graph *g = read_spelled(path, false), *plain = read_spelled(path, true);
    assert_int_equal(count_of(plain, op), 0);
    check_that(count_of(g, op) == times, "%s: %s %zu times, not %zu", name, op->name,
               count_of(g, op), times);
    wg_plan *expected = run_spelled(plain, true);
    size_t compared = 0;
    for (int reference = 0; reference < 2; reference++) {
        wg_plan *p = run_spelled(g, reference);
        const wg_value *y = wg_graph_output(g, 0), *z = wg_graph_output(plain, 0);
        assert_true(wg_shape_equal(&y->shape, &z->shape));
        for (int64_t k = 0; k < wg_value_count(y); k++, compared++) {
            double a = (double)wg_plan_f32(p, y)[k], b = (double)wg_plan_f32(expected, z)[k];
            check_that(fabs(a - b) <= 4e-6 * fmax(1, fabs(b)), "%s: element %lld: %g, not %g", name,
                       (long long)k, a, b);
        }
        wg_plan_free(p);
    }
    assert_true(compared > 0);
    wg_plan_free(expected);
    wg_graph_free(plain);
    unlink(path);
    return g;
}

#endif
