/* Results of norms over rows that are computed again rather than held across the peak of memory:
 * which ones they are, and that all bits are the same. */
#include "tests/plans.h"
#include "backends/plan/facts.h"
#include "backends/plan/plan.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

enum { LAYERS = 8, WIDTH = 128, ROWS = 512 }; /* so that a value is as small as it may be */

typedef enum kind { POST_NORM, PRE_NORM, RMS, VIEWS, HALF, KINDS } kind;
static const char *const kind_name[KINDS] = {"post-norm", "pre-norm", "rmsnorm", "views", "half"};

static wg_value *norm_of(wg_value *x, kind k)
{
    wg_graph *g = x->node->graph;
    wg_shape row = WG_SHAPE(x->shape.dim[x->shape.rank - 1]);
    wg_value *gain = wg_parameter(g, "gain", x->dtype, row, wg_uniform_init(1));
    if (k == RMS)
        return wg_rmsnorm(x, gain, WG_LAST_AXIS, 1e-5);
    wg_value *bias = wg_parameter(g, "bias", x->dtype, row, wg_normal_init(0.1));
    return wg_layernorm(x, gain, bias, WG_LAST_AXIS, 1e-5);
}

/* x + dropout(tanh(x w)), where the norm stands before the product or after the sum. */
static wg_value *layer(wg_value *x, kind k)
{
    bool after = k == POST_NORM || k == VIEWS || k == HALF;
    wg_value *w = wg_parameter(x->node->graph, "w", x->dtype, WG_SHAPE(WIDTH, WIDTH), wg_xavier(1));
    wg_value *y = after ? x : norm_of(x, k);
    if (k == VIEWS) /* each use reads a view of its own */
        y = wg_reshape(wg_reshape(y, WG_SHAPE(ROWS / 4, 4, WIDTH)), y->shape);
    wg_value *sum = wg_add(x, wg_dropout(wg_tanh(wg_matmul(y, w)), 0.2));
    return after ? norm_of(sum, k) : sum;
}

typedef struct step {
    wg_graph *g;
    wg_value *x, *loss;
} step;

static step step_of(kind k, int rows, bool show)
{
    step s = {.g = wg_graph_new()};
    wg_value *y = s.x = wg_input(s.g, "x", k == HALF ? WG_BF16 : WG_F32, WG_SHAPE(rows, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer%d", i);
        wg_scope_push(s.g, "%s", name);
        y = layer(y, k);
        if (show && i == LAYERS / 2)
            wg_output(wg_reshape(y, WG_SHAPE(rows * WIDTH)), "shown");
        wg_scope_pop(s.g);
    }
    s.loss = wg_output(wg_mean(wg_square(y), WG_ALL_AXES, WG_DROP), "loss");
    wg_gradients d = wg_grad_all(s.loss);
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 0.1)));
    check_that(wg_graph_status(s.g) == WG_OK, "%s", wg_graph_message(s.g));
    return s;
}

static void fill(wg_plan *p, const step *s)
{
    float *x = wg_plan_f32(p, s->x);
    for (int64_t i = 0; i < wg_value_count(s->x); i++)
        x[i] = (float)(i * 7 % 11) / 5.0f - 1;
}

/* The losses of three steps and the parameters after them, beside those of a plan that keeps all
 * values. */
static size_t compare(const step *s, wg_plan *p)
{
    size_t compared = 0;
    wg_plan *all = plan_of(s->g, &(wg_plan_options){.keep_all = true, .threads = 2});
    fill(p, s);
    fill(all, s);
    for (uint64_t i = 0; i < 3; i++) {
        run(p, i);
        run(all, i);
        assert_memory_equal(wg_plan_data(p, s->loss), wg_plan_data(all, s->loss), sizeof(float));
    }
    const wg_tensor *a, *b;
    for (; (a = wg_store_at(wg_plan_store(p), compared)); compared++) {
        b = wg_store_find(wg_plan_store(all), a->name);
        assert_non_null(b);
        assert_memory_equal(a->data, b->data,
                            wg_dtype_size(a->dtype) * (size_t)wg_shape_count(&a->shape));
    }
    wg_plan_free(all);
    return compared;
}

static int norms_in(const wg_plan *p)
{
    int found = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        const wg_op *op = wg_plan_step_at(p, i).node->op;
        found += op == &wg_op_layernorm || op == &wg_op_rmsnorm || op == &wg_op_residual_layernorm;
    }
    return found;
}

/* That of products depends on the backend that takes them, and on the threads. */
static size_t largest_scratch(const wg_plan *p)
{
    size_t largest = 0;
    for (size_t i = 0; i < p->program.n_work; i++) {
        int64_t at = p->program.work[i].scratch;
        size_t bytes = at == WGI_NONE ? 0 : p->layout.storage[at].bytes;
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

/* Held across the peak are the sums and the results of tanh; the first results are used at once in
 * the gradient of the last layer, or come from the input. */
static void results_are_not_held_across_the_peak(void **state)
{
    (void)state;
    for (kind k = POST_NORM; k < HALF; k++) {
        step s = step_of(k, ROWS, false);
        wg_plan *p = plan_of(s.g, &(wg_plan_options){.threads = 2});
        wg_plan_stats stats = wg_plan_statistics(p);
        size_t again = stats.again_nodes, value = sizeof(float) * ROWS * WIDTH,
               held = stats.buffer_bytes - largest_scratch(p);
        check_that(again >= LAYERS - 2 && again <= LAYERS, "%s: %zu norms again", kind_name[k],
                   again);
        check_that(norms_in(p) == LAYERS + (int)again, "%s: %d norms", kind_name[k], norms_in(p));
        check_that(held <= (2 * LAYERS + 6) * value, "%s: %zu values", kind_name[k], held / value);
        assert_int_equal(compare(&s, p), LAYERS * (k == RMS ? 2 : 3));
        wg_plan_free(p);
        wg_graph_free(s.g);
    }
}

static void what_is_small_shown_or_rounded_is_computed_once(void **state)
{
    (void)state;
    step small = step_of(POST_NORM, ROWS - 1, false), half = step_of(HALF, 2 * ROWS, false),
         once = step_of(POST_NORM, ROWS, false), shown = step_of(POST_NORM, ROWS, true);
    wg_plan *p = plan_of(small.g, NULL), *h = plan_of(half.g, NULL),
            *plain = plan_of(once.g, &(wg_plan_options){.no_fuse = true}),
            *without = plan_of(once.g, NULL), *with = plan_of(shown.g, NULL);
    assert_int_equal(wg_plan_statistics(p).again_nodes, 0);
    assert_int_equal(wg_plan_statistics(h).again_nodes, 0);
    assert_int_equal(wg_plan_statistics(plain).again_nodes, 0);
    assert_int_equal(wg_plan_statistics(with).again_nodes,
                     wg_plan_statistics(without).again_nodes - 1);
    wg_plan *plans[] = {p, h, plain, without, with};
    wg_graph *graphs[] = {small.g, half.g, once.g, shown.g};
    for (int i = 0; i < WG_COUNT(plans); i++)
        wg_plan_free(plans[i]);
    for (int i = 0; i < WG_COUNT(graphs); i++)
        wg_graph_free(graphs[i]);
}

/* Without a gradient nothing is needed twice. */
static void a_forward_pass_computes_each_norm_once(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *y = wg_input(g, "x", WG_F32, WG_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < LAYERS; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer%d", i);
        wg_scope_push(g, "%s", name);
        y = layer(y, i % 2 ? POST_NORM : PRE_NORM);
        wg_scope_pop(g);
    }
    wg_output(y, "y");
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(norms_in(p), LAYERS);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* A budget goes on from there: it says that norms are computed again, and keeps the bits. */
static void a_budget_goes_on_from_there(void **state)
{
    (void)state;
    step s = step_of(POST_NORM, ROWS, true); /* whose output is a view */
    wg_plan *p = plan_of(s.g, &(wg_plan_options){.threads = 2});
    wg_plan_stats free = wg_plan_statistics(p), tight;
    wg_plan_free(p);
    size_t memory = free.library_bytes + free.leaf_bytes + free.buffer_bytes * 3 / 4;
    p = plan_of(s.g, &(wg_plan_options){.threads = 2, .memory = memory});
    tight = wg_plan_statistics(p);
    assert_true(tight.library_bytes + tight.leaf_bytes + tight.buffer_bytes <= memory);
    assert_true(tight.again_nodes > free.again_nodes);
    assert_int_equal(compare(&s, p), LAYERS * 3);
    wg_plan_free(p);
    wg_graph_free(s.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_not_held_across_the_peak),
        cmocka_unit_test(what_is_small_shown_or_rounded_is_computed_once),
        cmocka_unit_test(a_forward_pass_computes_each_norm_once),
        cmocka_unit_test(a_budget_goes_on_from_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
