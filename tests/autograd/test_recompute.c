/* Recomputed scopes: the same gradients, bit by bit, in less memory. */
#include "tests/test.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/evaluate.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

enum { ROWS = 64, WIDTH = 32, DEPTH = 12, INNER = 6 };

typedef enum marks { NONE, OUTER, NESTED } marks;

typedef struct model {
    wg_graph *g;
    wg_value *x, *w[DEPTH], *loss, *grad[DEPTH + 1]; /* of x last */
    size_t forward;                                  /* nodes before the gradient */
} model;

/* A chain of layers, each of which makes several activations that its rules read. */
static void build(model *m, marks marked)
{
    wg_graph *g = m->g = wg_graph_new();
    m->x = wg_input(g, "x", WG_F32, WG_SHAPE(ROWS, WIDTH));
    wg_value *h = m->x;
    for (int i = 0; i < DEPTH; i++) {
        wg_scope_push(g, "layer%d", i);
        if (marked != NONE)
            wg_scope_recompute(g);
        m->w[i] = wg_parameter(g, "w", WG_F32, WG_SHAPE(WIDTH, WIDTH), wg_xavier(1));
        wg_value *a = wg_matmul(h, m->w[i]);
        wg_scope_push(g, "inner");
        if (marked == NESTED)
            wg_scope_recompute(g);
        for (int k = 0; k < INNER; k++)
            a = wg_dropout(wg_tanh(wg_scale(a, 1.25)), 0.1); /* the copy draws the same mask */
        wg_scope_pop(g);
        h = wg_add(h, a);
        wg_scope_pop(g);
    }
    m->loss = wg_sum(wg_mul(h, h), WG_ALL_AXES, WG_DROP);
    wg_output(m->loss, "loss");
    m->forward = wg_graph_node_count(g);
    wg_value *wrt[DEPTH + 1];
    memcpy(wrt, m->w, sizeof m->w);
    wrt[DEPTH] = m->x;
    check_that(wg_grad(m->loss, wrt, DEPTH + 1, m->grad) == WG_OK, "%s", wg_graph_message(g));
    for (int i = 0; i <= DEPTH; i++)
        wg_output(m->grad[i], NULL);
    assert_int_equal(wg_graph_verify(g), WG_OK);
}

static wg_plan *run(model *m, wg_plan_stats *stats)
{
    wg_plan *p = NULL;
    wg_plan_options options = {.seed = 3};
    check_that(wg_plan_create(&p, m->g, &options) == WG_OK, "%s", wg_graph_message(m->g));
    float *x = wg_plan_data(p, m->x);
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)((i * 37 + 11) % 101) / 101.0f - 0.5f;
    check_that(wg_plan_run(p, 5) == WG_OK, "%s", wg_plan_message(p));
    check_that(wg_plan_check(p) == WG_OK, "%s", wg_plan_message(p));
    *stats = wg_plan_statistics(p);
    return p;
}

static void gradients_are_bit_identical_and_the_peak_is_smaller(void **state)
{
    (void)state;
    model stored, less[2];
    wg_plan_stats full, small;
    build(&stored, NONE);
    wg_plan *p = run(&stored, &full);
    for (int k = 0; k < 2; k++) {
        build(&less[k], k ? NESTED : OUTER);
        wg_plan *q = run(&less[k], &small);
        assert_memory_equal(wg_plan_data(p, stored.loss), wg_plan_data(q, less[k].loss),
                            sizeof(float));
        for (int i = 0; i <= DEPTH; i++) {
            assert_memory_equal(wg_plan_data(p, stored.grad[i]), wg_plan_data(q, less[k].grad[i]),
                                wg_value_bytes(stored.grad[i]));
            assert_true(((const float *)wg_plan_data(p, stored.grad[i]))[0] != 0);
        }
        print_message("buffer: stored %zu bytes, recomputed %zu\n", full.buffer_bytes,
                      small.buffer_bytes);
        print_message("alive at most: stored %zu bytes, recomputed %zu\n", full.live_bytes,
                      small.live_bytes);
        check_that(small.buffer_bytes * 2 < full.buffer_bytes, "%zu is not half of %zu",
                   small.buffer_bytes, full.buffer_bytes);
        assert_true(small.flops > full.flops);
        wg_plan_free(q);
        wg_graph_free(less[k].g);
    }
    wg_plan_free(p);
    wg_graph_free(stored.g);
}

/* Nodes of the backward pass read no activation of a marked scope: only what enters or leaves it,
 * through a barrier or in another scope. */
static void the_backward_pass_reads_no_activation_of_a_marked_scope(void **state)
{
    (void)state;
    model m;
    build(&m, OUTER);
    size_t barriers = 0;
    for (size_t i = m.forward; i < wg_graph_node_count(m.g); i++) {
        const wg_node *n = wg_graph_node(m.g, i);
        bool is_barrier = strcmp(n->op->name, "barrier") == 0;
        barriers += is_barrier;
        for (int k = 0; k < n->n_in && !is_barrier; k++) {
            const wg_node *from = n->in[k]->node;
            bool activation = from->phase == WG_FORWARD && from->n_in > 0 && from->scope->depth > 0;
            bool leaves = strcmp(from->op->name, "add") == 0; /* the layer's result */
            check_that(!activation || leaves, "%s reads %s of %s", n->op->name, from->op->name,
                       from->scope->path);
        }
    }
    assert_true(barriers >= DEPTH);
    wg_graph_free(m.g);
}

static void derivatives_through_recomputed_scopes_are_right(void **state)
{
    (void)state;
    for (marks marked = OUTER; marked <= NESTED; marked++) {
        wg_graph *g = wg_graph_new();
        wg_value *h = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4));
        for (int i = 0; i < 3; i++) {
            wg_scope_push(g, "layer%d", i);
            wg_scope_recompute(g);
            wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(4, 4), wg_xavier(1));
            wg_scope_push(g, "inner");
            if (marked == NESTED)
                wg_scope_recompute(g);
            h = wg_add(h, wg_dropout(wg_tanh(wg_matmul(h, w)), 0.25));
            h = wg_mul(h, wg_exp(wg_neg(wg_mul(h, h))));
            wg_scope_pop(g);
            wg_scope_pop(g);
        }
        wg_output(h, "y");
        wg_gradcheck_options o = {
            .evaluator = wg_plan_evaluator(), .order = 2, .seed = 2, .max = 8};
        wg_gradcheck_report r;
        check_that(wg_gradcheck(g, &o, &r) == WG_OK, "%s", r.message);
        assert_true(r.compared > 32);
        wg_graph_free(g);
    }
}

static void a_scope_must_be_open(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_recompute(g);
    assert_int_equal(wg_graph_status(g), WG_EINVAL);
    assert_string_equal(wg_graph_message(g), "wg_scope_recompute: no scope is open");
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_bit_identical_and_the_peak_is_smaller),
        cmocka_unit_test(the_backward_pass_reads_no_activation_of_a_marked_scope),
        cmocka_unit_test(derivatives_through_recomputed_scopes_are_right),
        cmocka_unit_test(a_scope_must_be_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
