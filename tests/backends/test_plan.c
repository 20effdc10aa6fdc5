/* Plans: what they leave out, merge, fold and expand; what a run computes; what they report. */
#include "tests/any_threads.h"
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/evaluate.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

static size_t steps_of(wg_graph *g, wg_plan_options options)
{
    wg_plan *p = plan_of(g, &options);
    size_t n = wg_plan_step_count(p);
    wg_plan_free(p);
    return n;
}

/* ---- what is computed ------------------------------------------------------------------------ */

/* y = sum((x w - 1)^2): value and gradient by hand. */
static void a_plan_computes_value_and_gradient(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 2));
    wg_value *w = wg_parameter(g, "w", WG_F64, WG_SHAPE(2, 1), wg_ones());
    wg_value *e = wg_shift(wg_matmul(x, w), -1);
    wg_value *loss = wg_sum(wg_mul(e, e), WG_ALL_AXES, WG_DROP), *dw;
    assert_int_equal(wg_grad(loss, &w, 1, &dw), WG_OK);
    wg_output(loss, "loss");
    wg_assign(w, wg_sub(w, wg_scale(dw, 0.5)));
    wg_plan *p = plan_of(g, NULL);
    memcpy(wg_plan_data(p, x), (double[]){1, 2, 3, 4}, 4 * sizeof(double));
    run(p, 0);
    const double *y = wg_plan_data(p, loss), *got = wg_plan_data(p, w);
    check_that(*y == 4 + 36, "loss %g", *y);
    check_that(got[0] == 1 - 20 && got[1] == 1 - 28, "w %g %g", got[0], got[1]); /* dw = 2 x' e */
    wg_plan_free(p);
    wg_graph_free(g);
}

static void only_what_is_needed_runs(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4)),
             *unused = wg_input(g, "unused", WG_F32, WG_SHAPE(4));
    wg_value *y = wg_exp(x), *dead = wg_exp(wg_tanh(unused));
    wg_output(y, "y");
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(wg_plan_step_count(p), 1);
    assert_non_null(wg_plan_data(p, unused)); /* filling it is harmless */
    assert_null(wg_plan_data(p, dead));
    wg_plan_free(p);
    p = plan_of(
        g, &(wg_plan_options){.outputs = (wg_value *[]){dead}, .n_outputs = 1, .no_fuse = true});
    assert_int_equal(wg_plan_step_count(p), 2);
    assert_null(wg_plan_data(p, y));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void equal_nodes_run_once(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4));
    wg_output(wg_mul(wg_exp(wg_tanh(x)), wg_exp(wg_tanh(x))), "y");
    assert_int_equal(steps_of(g, (wg_plan_options){.no_fuse = true}), 3);
    assert_int_equal(steps_of(g, (wg_plan_options){.no_cse = true, .no_fuse = true}), 5);
    wg_graph_free(g);
}

/* Two random nodes have two keys and stay two; a copy of a node has its key and merges with it. */
static void random_nodes_merge_if_their_keys_are_equal(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_uniform(g, WG_F32, WG_SHAPE(64), 0, 1),
             *b = wg_uniform(g, WG_F32, WG_SHAPE(64), 0, 1);
    wg_node *again = wg_node_copy(g, a->node, NULL, WG_DTYPE_DEFAULT);
    wg_output(a, "a");
    wg_output(b, "b");
    wg_output(again->out[0], "again");
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(wg_plan_step_count(p), 2);
    run(p, 0);
    assert_ptr_equal(wg_plan_data(p, a), wg_plan_data(p, again->out[0]));
    assert_true(memcmp(floats(p, a), floats(p, b), 64 * sizeof(float)) != 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void constants_are_folded(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4));
    wg_value *c =
        wg_exp(wg_mul(wg_iota(g, WG_F32, WG_SHAPE(4), 0, 0, 1), wg_fill(g, WG_F32, WG_SCALAR, 2)));
    wg_value *y = wg_add(x, c);
    wg_output(y, "y");
    assert_int_equal(steps_of(g, (wg_plan_options){.no_fold = true, .no_fuse = true}), 5);
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(wg_plan_step_count(p), 1);
    run(p, 0);
    for (int i = 0; i < 4; i++)
        check_that(floats(p, y)[i] == expf(2 * (float)i), "element %d", i);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* The folded part may itself be an output. */
static void large_and_random_nodes_are_not_folded(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_output(wg_neg(wg_fill(g, WG_F32, WG_SHAPE(1024, 1024), 1)), "large");
    wg_output(wg_neg(wg_uniform(g, WG_F32, WG_SHAPE(4), 0, 1)), "random");
    wg_value *small = wg_output(wg_neg(wg_fill(g, WG_F32, WG_SHAPE(2), 1)), "small");
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(wg_plan_step_count(p), 4);
    run(p, 0);
    assert_true(floats(p, small)[1] == -1);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* A kernel that finds bad data while folding reports it in the run, with its name. */
static void bad_constant_data_is_reported_by_the_run(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_push(g, "encoder");
    wg_value *table = wg_name(wg_fill(g, WG_F32, WG_SHAPE(9, 2), 1), "table");
    wg_value *ids = wg_name(wg_constant(g, WG_I64, WG_SHAPE(2), ((int64_t[]){3, 12})), "ids");
    wg_value *y = wg_embedding(table, ids);
    int line = __LINE__ - 1;
    wg_output(wg_exp(y), "y");
    wg_scope_pop(g);
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
    char expected[200];
    snprintf(expected, sizeof expected,
             "encoder: embedding(table, ids): id 12 at position 1 is outside [0,9) "
             "(test_plan.c:%d)",
             line);
    assert_string_equal(wg_plan_message(p), expected);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void views_share_memory_and_run_nothing(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3)), *v = wg_reshape(x, WG_SHAPE(6));
    wg_value *y = wg_reshape(wg_exp(v), WG_SHAPE(3, 2)), *z = wg_reshape(y, WG_SHAPE(6));
    wg_output(v, "v");
    wg_output(y, "y");
    wg_output(z, "z");
    wg_output(z, "z again");
    wg_output(x, "x");
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(wg_plan_step_count(p), 1);
    assert_ptr_equal(wg_plan_data(p, v), wg_plan_data(p, x));
    assert_ptr_equal(wg_plan_data(p, y), wg_plan_data(p, z));
    memset(wg_plan_data(p, x), 0, 6 * sizeof(float));
    run(p, 0);
    assert_true(floats(p, z)[5] == 1);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void empty_and_scalar_tensors_are_planned(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(0, 3)),
             *s = wg_input(g, "s", WG_F32, WG_SCALAR);
    wg_value *y = wg_tanh(wg_add(x, s)), *sum = wg_sum(y, WG_ALL_AXES, WG_DROP);
    wg_output(y, "y");
    wg_output(wg_add(sum, s), "z");
    wg_plan *p = plan_of(g, &(wg_plan_options){.poison = true, .check_nonfinite = true});
    *(float *)wg_plan_data(p, s) = 2;
    run(p, 0);
    assert_non_null(wg_plan_data(p, y));
    assert_true(floats(p, wg_graph_output(g, 1))[0] == 2);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Sizes beside a 0 may be huge: nothing may loop over them. */
static void empty_results_cost_nothing(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(INT64_C(1) << 50, 0));
    wg_value *c = wg_fill(g, WG_F32, WG_SHAPE(INT64_C(1) << 50, 0), 1);
    wg_output(wg_add(wg_softmax(x, 1), wg_softmax(c, 1)), "y");
    wg_plan *p = plan_of(g, NULL);
    run(p, 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Four tensors of 2^62 bytes are 2^64 bytes, which size_t has no room for. */
static void sums_of_bytes_do_not_wrap(void **state)
{
    (void)state;
    const wg_shape huge = WG_SHAPE(INT64_C(1) << 60);
    static const size_t memory[] = {0, 1000};
    for (int leaves = 0; leaves < 2; leaves++)
        for (int k = 0; k < WG_COUNT(memory); k++) {
            wg_graph *g = wg_graph_new();
            wg_plan *p;
            wg_value *a = leaves ? wg_parameter(g, "a", WG_F32, huge, wg_zeros())
                                 : wg_iota(g, WG_F32, huge, 0, 0, 1);
            wg_output(leaves ? wg_input(g, "b", WG_F32, huge) : wg_exp(a), "b");
            wg_output(leaves ? wg_input(g, "c", WG_F32, huge) : wg_sin(a), "c");
            wg_output(leaves ? wg_input(g, "d", WG_F32, huge) : wg_cos(a), "d");
            wg_output(a, "a");
            const wg_plan_options o = {.memory = memory[k]};
            assert_int_equal(wg_plan_create(&p, g, &o), WG_ENOMEM);
            assert_null(p);
            check_that(strstr(wg_graph_message(g), leaves
                                                       ? "memory of parameters, states and inputs"
                                                       : "memory of results"),
                       "%s", wg_graph_message(g));
            wg_graph_free(g);
        }
}

static void inputs_can_be_bound_to_the_callers_memory(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4)), *v = wg_reshape(x, WG_SHAPE(2, 2));
    wg_value *y = wg_add(wg_exp(x), wg_reshape(wg_neg(v), WG_SHAPE(4))),
             *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(4), wg_ones());
    wg_output(y, "y");
    wg_output(v, "v");
    wg_plan *p = plan_of(g, NULL);
    _Alignas(64) float mine[5] = {0};
    memset(wg_plan_data(p, x), 0xff, 4 * sizeof(float));
    assert_int_equal(wg_plan_bind(p, x, mine), WG_OK);
    run(p, 0);
    assert_true(floats(p, y)[3] == 1);
    assert_ptr_equal(wg_plan_data(p, v), mine);
    assert_int_equal(wg_plan_bind(p, x, mine + 1), WG_EINVAL);
    assert_non_null(strstr(wg_plan_message(p), "aligned"));
    assert_int_equal(wg_plan_bind(p, w, mine), WG_EINVAL);
    assert_int_equal(wg_plan_bind(p, x, NULL), WG_OK); /* back to the plan's own */
    run(p, 0);
    assert_true(floats(p, y)[3] != floats(p, y)[3]);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- failures -------------------------------------------------------------------------------- */

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    wg_plan *p = (wg_plan *)state;
    assert_int_equal(wg_plan_create(&p, NULL, NULL), WG_ENOMEM);
    assert_null(p);
    assert_int_equal(wg_plan_create(NULL, NULL, NULL), WG_EINVAL);
    wg_graph *g = wg_graph_new(), *other = wg_graph_new();
    wg_output(wg_input(g, "y", WG_F32, WG_SHAPE(2)), "y");
    assert_int_equal(wg_plan_create(NULL, g, NULL), WG_EINVAL);
    assert_string_equal(wg_graph_message(g), "wg_plan_create: `out` is NULL");
    wg_value *x = wg_input(other, "x", WG_F32, WG_SHAPE(2));
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.outputs = &x, .n_outputs = 1}),
                     WG_EINVAL);
    assert_string_equal(wg_graph_message(g), "wg_plan_create: output 0 is of another graph");
    wg_plan_free(plan_of(g, NULL)); /* those were errors of the options */
    wg_plan_free(NULL);
    assert_int_equal(wg_plan_run(NULL, 0), WG_EINVAL);
    assert_int_equal(wg_plan_check(NULL), WG_EINVAL);
    assert_int_equal(wg_plan_bind(NULL, x, NULL), WG_EINVAL);
    assert_null(wg_plan_data(NULL, x));
    assert_null(wg_plan_first_nonfinite(NULL, 0));
    assert_int_equal(wg_plan_step_count(NULL), 0);
    assert_int_equal(wg_plan_statistics(NULL).nodes, 0);
    other = (wg_graph_free(other), wg_graph_new());
    wg_input(other, "x", WG_F32, WG_SHAPE(2));
    assert_int_equal(wg_plan_create(&p, other, NULL), WG_EINVAL);
    assert_non_null(strstr(wg_graph_message(other), "nothing to compute"));
    other = (wg_graph_free(other), wg_graph_new());
    wg_parameter(other, "w", WG_F32, WG_SHAPE(2), wg_ones());
    wg_plan *empty = plan_of(other, NULL); /* which gives it its value */
    run(empty, 0);
    assert_null(wg_plan_data(empty, NULL));
    assert_true(((const float *)wg_store_find(wg_plan_store(empty), "w")->data)[1] == 1);
    wg_plan_free(empty);
    wg_graph_free(g);
    wg_graph_free(other);
}

static bool infer_as_first(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

static void an_op_without_a_kernel_names_the_node(void **state)
{
    (void)state;
    static const wg_op unknown = {
        .name = "unknown", .operands = "x", .results = "y", .infer = infer_as_first};
    wg_graph *g = wg_graph_new();
    wg_output(wg_apply1(WG_HERE, &unknown, NULL, wg_input(g, "x", WG_F32, WG_SHAPE(2))), "y");
    wg_plan *p;
    const wg_plan_options options = {.reference = true};
    assert_int_equal(wg_plan_create(&p, g, &options), WG_EUNSUPPORTED);
    assert_non_null(
        strstr(wg_graph_message(g), "unknown(x): cpu: no reference kernel (test_plan.c:"));
    wg_graph_free(g);
}

static void the_first_nonfinite_value_is_named(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)),
             *s = wg_state(g, "s", WG_F32, WG_SHAPE(3), wg_ones());
    wg_scope_push(g, "head");
    wg_value *y = wg_log(x);
    int line = __LINE__ - 1;
    wg_scope_pop(g);
    wg_assign(s, wg_add(s, wg_tanh(y)));
    wg_output(wg_exp(y), "z");
    char expected[200];
    snprintf(expected, sizeof expected,
             "head: log(x): result 0 is NaN at element 1 (test_plan.c:%d)", line);
    wg_plan *checked = plan_of(g, &(wg_plan_options){.check_nonfinite = true}),
            *plain = plan_of(g, NULL);
    for (int good = 1; good >= 0; good--) {
        wg_plan *both[] = {checked, plain};
        for (int i = 0; i < 2; i++)
            memcpy(wg_plan_data(both[i], x), (float[]){1, good ? 1 : -1, 0.5f}, 3 * sizeof(float));
        const wg_node *n = wg_plan_first_nonfinite(plain, 0);
        assert_true(good ? !n : n && strcmp(n->op->name, "log") == 0);
        assert_string_equal(wg_plan_message(plain), good ? "" : expected);
        assert_true(floats(plain, s)[0] == 1); /* neither state changed */
        assert_int_equal(wg_plan_run(checked, 0), good ? WG_OK : WG_ENONFINITE);
        assert_string_equal(wg_plan_message(checked), good ? "" : expected);
    }
    assert_true(floats(checked, s)[1] == 1); /* 1 + tanh(ln 1), and then left alone */
    wg_plan_free(checked);
    wg_plan_free(plain);
    wg_graph_free(g);
}

/* exp(-inf) and a mask of -inf are not errors: infinity is reported where it is made. */
static void infinity_of_a_mask_passes(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    wg_value *mask = wg_constant(g, WG_F32, WG_SHAPE(2), ((float[]){0, -INFINITY}));
    wg_value *y = wg_output(wg_exp(wg_add(x, mask)), "y");
    wg_plan *p = plan_of(g, &(wg_plan_options){.check_nonfinite = true});
    ((float *)wg_plan_data(p, x))[0] = 0;
    run(p, 0);
    assert_true(floats(p, y)[1] == 0);
    ((float *)wg_plan_data(p, x))[0] = 1000;
    assert_int_equal(wg_plan_run(p, 0), WG_ENONFINITE);
    assert_non_null(strstr(wg_plan_message(p), "exp("));
    assert_non_null(strstr(wg_plan_message(p), "infinite at element 0"));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* The same where the infinity is an attribute, or a number of fused steps. */
static void infinities_that_are_given_pass(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 2)), *eye = wg_eye(g, WG_BOOL, 2);
        wg_value *low = wg_fill(g, WG_F32, WG_SCALAR, -INFINITY), *s = wg_scale(wg_tanh(x), 2);
        wg_value *masked = how == 0   ? wg_masked_fill(s, eye, -INFINITY)
                           : how == 1 ? wg_where(eye, low, s)
                                      : wg_pad(s, WG_SHAPE(0, 1), WG_SHAPE(1, 0), -INFINITY);
        wg_value *y = wg_softmax(masked, -1), *z = wg_log(wg_scale(x, 3));
        wg_output(y, "y");
        wg_output(z, "z");
        wg_plan *p = plan_of(g, &(wg_plan_options){.check_nonfinite = true});
        memcpy(wg_plan_data(p, x), ((float[]){1, 2, 3, 4}), 16);
        run(p, 0);
        ((float *)wg_plan_data(p, x))[3] = 0;
        assert_int_equal(wg_plan_run(p, 0), WG_ENONFINITE);
        assert_non_null(strstr(wg_plan_message(p), "log("));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- threads, seeds, profile ----------------------------------------------------------------- */

static wg_graph *busy_graph(wg_value **x, wg_value **loss)
{
    wg_graph *g = wg_graph_new();
    *x = wg_input(g, "x", WG_F32, WG_SHAPE(256, 256));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(256, 256), wg_xavier(1)), *dw;
    wg_value *y = wg_dropout(wg_relu(wg_matmul(wg_tanh(wg_matmul(*x, w)), w)), 0.3);
    *loss = wg_sum(wg_mul(y, wg_exp(wg_neg(y))), WG_ALL_AXES, WG_DROP);
    wg_grad(*loss, &w, 1, &dw);
    wg_assign(w, wg_sub(w, wg_scale(dw, 1e-3)));
    wg_output(*loss, "loss");
    return g;
}

static void threads_do_not_change_a_bit(void **state)
{
    (void)state;
    enum { COUNT = 256 * 256 };
    static float first[COUNT];
    wg_value *x, *loss;
    wg_graph *g = busy_graph(&x, &loss);
    wg_value *w = wg_graph_find(g, "w");
    const int threads[] = {1, 2, 3, 4};
    const wg_backend_list backends = any_threads_backends();
    for (int t = 0; t < WG_COUNT(threads); t++) {
        wg_plan *p = plan_of(g, &(wg_plan_options){.backends = backends.backend,
                                                   .n_backends = backends.count,
                                                   .threads = threads[t],
                                                   .seed = 9});
        float *in = wg_plan_data(p, x);
        for (int i = 0; i < COUNT; i++)
            in[i] = (float)(i % 97) / 48 - 1;
        for (uint64_t step = 0; step < 3; step++)
            run(p, step);
        if (t == 0)
            memcpy(first, floats(p, w), sizeof first);
        else
            check_that(memcmp(first, floats(p, w), sizeof first) == 0, "%d threads give other bits",
                       threads[t]);
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

static void seed_and_step_choose_the_random_numbers(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *y = wg_output(wg_uniform(g, WG_F32, WG_SHAPE(16), 0, 1), "y");
    float first[16], second[16];
    for (int seed = 0; seed < 2; seed++) {
        wg_plan *p = plan_of(g, &(wg_plan_options){.seed = (uint64_t)seed});
        run(p, 1);
        memcpy(second, floats(p, y), sizeof second);
        run(p, 0);
        assert_true(memcmp(second, floats(p, y), sizeof second) != 0);
        run(p, 1);
        assert_memory_equal(second, floats(p, y), sizeof second);
        if (seed)
            assert_true(memcmp(first, second, sizeof first) != 0);
        memcpy(first, second, sizeof first);
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

static void a_profiled_run_times_each_step(void **state)
{
    (void)state;
    wg_value *x, *loss;
    wg_graph *g = busy_graph(&x, &loss);
    wg_plan *p = plan_of(g, &(wg_plan_options){.profile = true});
    run(p, 0);
    run(p, 1);
    double seconds = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        wg_plan_step s = wg_plan_step_at(p, i);
        assert_int_equal(s.runs, 2);
        assert_true(s.seconds >= 0);
        seconds += s.seconds;
    }
    assert_true(seconds > 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- reports --------------------------------------------------------------------------------- */

static void keep_all_makes_every_value_readable(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4)), *a = wg_exp(x),
             *c = wg_neg(wg_fill(g, WG_F32, WG_SCALAR, 3));
    wg_output(wg_mul(wg_tanh(a), c), "y");
    wg_plan *p = plan_of(g, NULL);
    assert_null(wg_plan_data(p, a));
    wg_plan_free(p);
    p = plan_of(g, &(wg_plan_options){.keep_all = true, .poison = true});
    memset(wg_plan_data(p, x), 0, wg_value_bytes(x));
    run(p, 0);
    assert_true(floats(p, a)[2] == 1 && floats(p, c)[0] == -3);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_plan_prints_itself(void **state)
{
    (void)state;
    wg_value *x, *loss;
    char *text[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        wg_graph *g = busy_graph(&x, &loss);
        wg_plan *p = plan_of(g, NULL);
        size_t size;
        FILE *file = open_memstream(&text[i], &size);
        assert_int_equal(wg_plan_print(p, file), WG_OK);
        fclose(file);
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_string_equal(text[0], text[1]); /* the same bytes each time */
    assert_non_null(strstr(text[0], "matmul"));
    assert_non_null(strstr(text[0], "alive at the peak"));
    assert_non_null(strstr(text[0], "simd elementwise"));
    free(text[0]);
    free(text[1]);
}

static void an_evaluator_fills_leaves_and_reads_outputs(void **state)
{
    (void)state;
    const wg_evaluator *e = wg_plan_evaluator();
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2)),
             *unused = wg_input(g, "unused", WG_F64, WG_SHAPE(2));
    wg_value *s = wg_state(g, "s", WG_F64, WG_SCALAR, wg_ones());
    wg_value *y = wg_exp(wg_reshape(x, WG_SHAPE(2, 1)));
    wg_assign(s, wg_neg(s));
    void *made;
    assert_int_equal(e->create(&made, g, &y, 1), WG_OK);
    assert_non_null(e->data(made, unused));
    memset(e->data(made, x), 0, 2 * sizeof(double));
    assert_int_equal(e->run(made, 0), WG_OK);
    assert_true(((double *)e->data(made, y))[1] == 1);
    assert_true(*(double *)e->data(made, s) == 1); /* assignments are left out */
    assert_string_equal(e->message(made), "");
    e->destroy(made);
    wg_graph_free(g);
}

/* A leaf that its builder has not made. */
static void a_parameter_without_a_name_is_refused(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    const wg_leaf_attrs a = {.dtype = WG_F32, .shape = {1, {3}}};
    wg_plan *p;
    wg_output(wg_neg(wg_apply0(WG_HERE, g, wg_op_find("parameter"), &a)), "y");
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_EINVAL);
    assert_null(p);
    check_that(
        strstr(wg_graph_message(g), "parameter %0 has no name, by which the store would know it"),
        "%s", wg_graph_message(g));
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parameter_without_a_name_is_refused),
        cmocka_unit_test(a_plan_computes_value_and_gradient),
        cmocka_unit_test(only_what_is_needed_runs),
        cmocka_unit_test(equal_nodes_run_once),
        cmocka_unit_test(random_nodes_merge_if_their_keys_are_equal),
        cmocka_unit_test(constants_are_folded),
        cmocka_unit_test(large_and_random_nodes_are_not_folded),
        cmocka_unit_test(bad_constant_data_is_reported_by_the_run),
        cmocka_unit_test(views_share_memory_and_run_nothing),
        cmocka_unit_test(empty_and_scalar_tensors_are_planned),
        cmocka_unit_test(empty_results_cost_nothing),
        cmocka_unit_test(sums_of_bytes_do_not_wrap),
        cmocka_unit_test(inputs_can_be_bound_to_the_callers_memory),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(an_op_without_a_kernel_names_the_node),
        cmocka_unit_test(the_first_nonfinite_value_is_named),
        cmocka_unit_test(infinity_of_a_mask_passes),
        cmocka_unit_test(infinities_that_are_given_pass),
        cmocka_unit_test(threads_do_not_change_a_bit),
        cmocka_unit_test(seed_and_step_choose_the_random_numbers),
        cmocka_unit_test(a_profiled_run_times_each_step),
        cmocka_unit_test(keep_all_makes_every_value_readable),
        cmocka_unit_test(a_plan_prints_itself),
        cmocka_unit_test(an_evaluator_fills_leaves_and_reads_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
