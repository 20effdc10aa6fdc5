/* A model of inputs and outputs, planned with fusions and without: what tests of fusions share. */
#ifndef WG_TESTS_FUSIONS_H
#define WG_TESTS_FUSIONS_H

#include "ops/steps.h"
#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

enum { B = 2, T = 5, H = 2, D = 128, MAX = 16 };

typedef struct model {
    wg_graph *g;
    wg_value *leaf[MAX]; /* inputs, to be filled */
    wg_value *out[MAX];  /* outputs, compared    */
    int n_leaves, n_out;
} model;

static inline model new_model(void)
{
    model m = {.g = wg_graph_new()};
    assert_non_null(m.g);
    return m;
}

static inline wg_value *leaf(model *m, wg_shape shape)
{
    char name[16];
    snprintf(name, sizeof name, "x%d", m->n_leaves);
    return m->leaf[m->n_leaves++] = wg_input(m->g, name, WG_F32, shape);
}

static inline wg_value *output(model *m, wg_value *v)
{
    assert_true(m->n_out < MAX);
    return m->out[m->n_out++] = wg_output(v, NULL);
}

/* The gradients of sum(y weights) with respect to all leaves become outputs. */
static inline void add_gradients(model *m, wg_value *y)
{
    wg_value *dx[MAX];
    wg_value *weights = wg_iota(m->g, WG_F32, y->shape, -1, -1, 0.01);
    wg_value *loss = wg_sum(wg_mul(y, weights), WG_ALL_AXES, WG_DROP);
    int leaves = m->n_leaves;
    check_that(wg_grad(loss, m->leaf, (size_t)leaves, dx) == WG_OK, "%s", wg_graph_message(m->g));
    for (int i = 0; i < leaves; i++)
        output(m, dx[i]);
}

static inline wg_plan *plan_of(model *m, bool fuse)
{
    const wg_backend_list built = wg_backend_list_built_in();
    wg_plan *p;
    wg_plan_options o = {
        .backends = built.backend, .n_backends = built.count, .threads = 2, .no_fuse = !fuse};
    check_that(wg_plan_create(&p, m->g, &o) == WG_OK, "%s", wg_graph_message(m->g));
    for (int i = 0; i < m->n_leaves; i++) {
        float *x = wg_plan_data(p, m->leaf[i]);
        for (int64_t k = 0; k < wg_value_count(m->leaf[i]); k++)
            x[k] = (float)sin(1.7 * (double)(k + 1) * (i + 1));
    }
    check_that(wg_plan_run(p, 3) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

/* Of a fused_elementwise, too. */
static inline int steps_with(const wg_plan *p, const wg_op *op)
{
    wgi_element_step step[WGI_STEPS];
    int found = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        const wg_node *n = wg_plan_step_at(p, i).node;
        bool fused = n->op == &wg_op_fused_elementwise;
        const wg_fused_elementwise_attrs *a = fused ? n->attrs : NULL;
        int steps = fused ? wgi_steps_read(a->steps, step) : 0;
        for (int k = 0; k < steps; k++)
            found += step[k].op == op;
        found += n->op == op;
    }
    return found;
}

/* Runs both ways, compares every output; `op` must run `times` times in the fused plan. */
static inline void check_fusion(model *m, const wg_op *op, int times)
{
    wg_plan *fused = plan_of(m, true), *plain = plan_of(m, false);
    assert_int_equal(steps_with(fused, op), times);
    assert_int_equal(steps_with(plain, op), 0);
    int64_t compared = 0;
    for (int i = 0; i < m->n_out; i++) {
        const float *a = wg_plan_data(fused, m->out[i]), *b = wg_plan_data(plain, m->out[i]);
        for (int64_t k = 0; k < wg_value_count(m->out[i]); k++, compared++) {
            double error = fabs((double)a[k] - (double)b[k]), scale = fmax(1, fabs((double)b[k]));
            check_that(error <= 2e-5 * scale, "output %d, element %lld: %g fused, %g plain", i,
                       (long long)k, (double)a[k], (double)b[k]);
        }
    }
    assert_true(compared > 0);
    assert_int_equal(wg_plan_check(fused), WG_OK);
    wg_plan_free(fused);
    wg_plan_free(plain);
    wg_graph_free(m->g);
}

#endif
