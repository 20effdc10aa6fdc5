/* Composite ops in plans: taken whole by a backend, expanded where none does, or where a gradient
 * needs a part. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/isa.h"
#include "wengert/backends/load.h"
#include "wengert/backends/onednn.h"
#include "wengert/ops/activation.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

/* y = 2 x, by expansion x + x; `claimed` is its fused kernel in the backend `eager`. */
static bool infer_twice(wg_node *n)
{
    return wg_need_float(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}
static void expand_twice(wg_node *n, wg_value **y)
{
    y[0] = wg_add(n->in[0], n->in[0]);
}
static const wg_op twice = {.name = "twice",
                            .formula = "y = 2 x",
                            .operands = "x",
                            .results = "y",
                            .infer = infer_twice,
                            .expand = expand_twice};
/* y = twice(twice(x)): an expansion of composites */
static void expand_fourfold(wg_node *n, wg_value **y)
{
    y[0] = wg_apply1(NULL, &twice, NULL, wg_apply1(NULL, &twice, NULL, n->in[0]));
}
static const wg_op fourfold = {.name = "fourfold",
                               .formula = "y = 4 x",
                               .operands = "x",
                               .results = "y",
                               .infer = infer_twice,
                               .expand = expand_fourfold};

static void claimed(wg_call *c)
{
    for (int64_t i = 0; i < wg_value_count(c->node->out[0]); i++)
        ((float *)c->out[0])[i] = 2 * ((const float *)c->in[0])[i];
    memset(c->scratch, 1, 1000);
}
static const char *takes_twice(void *state, const wg_node *n)
{
    (void)state;
    return n->op == &twice ? NULL : "only twice";
}
static const char *takes_all(void *state, const wg_node *n)
{
    (void)state;
    (void)n;
    return NULL;
}
static wg_status prepare_claimed(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state;
    (void)n;
    *k = (wg_kernel){.name = "fused", .run = claimed, .scratch = 1000};
    return WG_OK;
}
static wg_status prepare_fails(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state;
    (void)n;
    (void)k;
    return WG_EUNSUPPORTED;
}
static const wg_backend eager = {.abi = WG_BACKEND_ABI,
                                 .name = "eager",
                                 .doc = "",
                                 .refuses = takes_twice,
                                 .prepare = prepare_claimed};
static const wg_backend broken = {.abi = WG_BACKEND_ABI,
                                  .name = "broken",
                                  .doc = "",
                                  .refuses = takes_all,
                                  .prepare = prepare_fails};

static void composites_are_expanded_where_no_backend_takes_them(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4));
    wg_value *y = wg_output(wg_exp(wg_apply1(WG_HERE, &fourfold, NULL, x)), "y");
    wg_value *z = wg_output(wg_exp(wg_apply1(WG_HERE, &fourfold, NULL, x)), "z");
    const wg_backend *const both[] = {&eager};
    for (int with = 0; with < 2; with++) {
        wg_plan *p = plan_of(
            g,
            &(wg_plan_options){.backends = both, .n_backends = (size_t)with, .reference = !with});
        assert_int_equal(wg_plan_step_count(p), 3);
        wg_plan_step s = wg_plan_step_at(p, 0);
        assert_string_equal(s.node->op->name, with ? "twice" : "add");
        assert_string_equal(s.backend, with ? "eager" : "cpu");
        assert_string_equal(s.kernel, with ? "fused" : "reference");
        s = wg_plan_step_at(p, 2);
        assert_string_equal(s.refused, with ? "eager: only twice" : "");
        ((float *)wg_plan_data(p, x))[1] = 0.5f;
        run(p, 0);
        assert_true(floats(p, y)[1] == expf(2));
        assert_ptr_equal(wg_plan_data(p, y), wg_plan_data(p, z));
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

static void a_backend_that_fails_to_prepare_hands_on(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4)), *y = wg_output(wg_exp(x), "y");
    const wg_backend *const two[] = {&eager, &broken};
    wg_plan *p = plan_of(g, &(wg_plan_options){.backends = two, .n_backends = 2});
    assert_string_equal(wg_plan_step_at(p, 0).backend, "cpu");
    assert_string_equal(wg_plan_step_at(p, 0).refused, "eager: only twice; broken: not supported");
    run(p, 0);
    assert_true(floats(p, y)[0] == 1);
    wg_plan_free(p);
    wg_graph_free(g);
}

static wg_status prepare_nothing(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state;
    (void)n;
    (void)k;
    return WG_OK;
}
static wg_status prepare_nameless(void *state, const wg_node *n, wg_kernel *k)
{
    wg_status status = prepare_claimed(state, n, k);
    k->name = NULL;
    return status;
}

/* A kernel without a function is none; one without a name has its backend's. */
static void half_a_kernel_is_none(void **state)
{
    (void)state;
    wg_backend forgetful = broken, nameless = eager;
    forgetful.name = "forgetful";
    forgetful.prepare = prepare_nothing;
    nameless.name = "nameless";
    nameless.prepare = prepare_nameless;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4));
    wg_value *y = wg_output(wg_apply1(NULL, &twice, NULL, x), "y");
    const wg_backend *const two[] = {&forgetful, &nameless};
    wg_plan *p = plan_of(g, &(wg_plan_options){.backends = two, .n_backends = 2});
    wg_plan_step s = wg_plan_step_at(p, 0);
    assert_string_equal(s.refused, "forgetful: it has prepared no function to run");
    assert_string_equal(s.backend, "nameless");
    assert_string_equal(s.kernel, "nameless");
    ((float *)wg_plan_data(p, x))[1] = 3;
    run(p, 0);
    assert_true(floats(p, y)[1] == 6);
    wg_plan_free(p);
    wg_graph_free(g);
}

static const char *yields_twice(void *state, const wg_node *n)
{
    (void)state;
    return n->op == &twice ? "twice is better elsewhere" : NULL;
}
static const wg_backend polite = {.abi = WG_BACKEND_ABI,
                                  .name = "polite",
                                  .doc = "",
                                  .refuses = takes_twice,
                                  .yields = yields_twice,
                                  .prepare = prepare_claimed};

static void a_backend_yields_to_a_later_one_that_is_not_the_reference(void **state)
{
    (void)state;
    static const struct {
        const wg_backend *later;
        const char *chosen, *refused;
    } cases[] = {
        {NULL, "polite", ""},
        {&eager, "eager", "polite: twice is better elsewhere"},
        {&broken, "polite", ""},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4));
        wg_value *y = wg_output(wg_apply1(WG_HERE, &twice, NULL, x), "y");
        const wg_backend *const list[] = {&polite, cases[i].later};
        wg_plan *p =
            plan_of(g, &(wg_plan_options){.backends = list, .n_backends = cases[i].later ? 2 : 1});
        assert_string_equal(wg_plan_step_at(p, 0).backend, cases[i].chosen);
        assert_string_equal(wg_plan_step_at(p, 0).refused, cases[i].refused);
        ((float *)wg_plan_data(p, x))[3] = 21;
        run(p, 0);
        assert_true(floats(p, y)[3] == 42);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* A small product costs less than a call of oneDNN, a large one does not.  With AVX2 oneDNN is
 * slower on many rows, and where they are a multiple of 2 KiB apart; its threads share badly a long
 * sum for a narrow result.  AMX, where it is asked for, takes all but the small ones. */
static void products_go_to_the_faster_kernels(void **state)
{
    static const struct {
        int64_t rows, size; /* of x; w has as many columns */
        bool transposed, own, own_with_avx2;
    } cases[] = {{8, 8, false, true, true},      {64, 512, false, false, true},
                 {64, 520, false, false, false}, {64, 256, true, false, true},
                 {64, 512, true, false, true},   {1024, 520, false, false, true},
                 {1024, 128, true, true, true}};
    (void)state;
    const wg_backend_list all = wg_backend_list_built_in();
    const char *first = all.count > 1 ? all.backend[0]->name : "cpu";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t size = cases[i].size, rows = cases[i].rows;
        bool avx2 = wg_isa_best() >= WG_ISA_AVX2 && wg_isa_best() < WG_ISA_AVX512_CORE,
             amx = wg_isa_best() == WG_ISA_AVX512_CORE_AMX;
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(rows, size));
        wg_value *w = wg_input(g, "w", WG_F32, WG_SHAPE(cases[i].transposed ? rows : size, size));
        wg_output(cases[i].transposed ? wg_matmul_t(x, w, WG_TN) : wg_matmul(x, w), "y");
        wg_plan *p = plan_of(g, &(wg_plan_options){.threads = 2});
        bool own =
            strcmp(first, "onednn") != 0 || amx || (avx2 ? cases[i].own_with_avx2 : cases[i].own);
        assert_string_equal(wg_plan_step_at(p, 0).backend, !own            ? "onednn"
                                                           : all.count > 1 ? "simd"
                                                                           : "cpu");
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- layers with an activation --------------------------------------------------------------- */

static const char *takes_linear(void *state, const wg_node *n)
{
    (void)state;
    return n->op == &wg_op_linear ? NULL : "only linear layers";
}
static const wg_backend layers = {.abi = WG_BACKEND_ABI,
                                  .name = "layers",
                                  .doc = "",
                                  .refuses = takes_linear,
                                  .prepare = prepare_claimed};

static size_t count_steps(wg_plan *p, const wg_op *op)
{
    size_t count = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        count += wg_plan_step_at(p, i).node->op == op;
    return count;
}

/* y = activation(x w' + b) is one step.  Where the gradient reads x w' + b as well, that is the
 * step, and not a second product: gelu and silu; relu, tanh and sigmoid have gradients in y. */
static void a_layer_multiplies_once_in_training(void **state)
{
    (void)state;
    const wg_backend *const only[] = {&layers};
    static const struct {
        wg_activation activation;
        const wg_op *apart;
    } cases[] = {
        {WG_ACTIVATION_NONE, NULL},        {WG_ACTIVATION_RELU, NULL},
        {WG_ACTIVATION_TANH, NULL},        {WG_ACTIVATION_SIGMOID, NULL},
        {WG_ACTIVATION_GELU, &wg_op_gelu}, {WG_ACTIVATION_GELU_TANH, &wg_op_gelu},
        {WG_ACTIVATION_SILU, &wg_op_silu},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++)
        for (int training = 0; training < 2; training++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(5, 4)), *dx[3];
            wg_value *wrt[] = {x, wg_input(g, "w", WG_F32, WG_SHAPE(3, 4)),
                               wg_input(g, "b", WG_F32, WG_SHAPE(3))};
            wg_value *y = wg_linear(x, wrt[1], wrt[2], cases[i].activation);
            wg_output(y, "y");
            assert_int_equal(wg_grad(wg_sum(wg_mul(y, y), WG_ALL_AXES, WG_DROP), wrt, 3, dx),
                             WG_OK);
            for (int k = 0; training && k < 3; k++)
                wg_output(dx[k], NULL);
            wg_plan *p = plan_of(g, &(wg_plan_options){.backends = only, .n_backends = 1});
            bool apart = training && cases[i].apart;
            assert_int_equal(count_steps(p, &wg_op_linear), 1);
            assert_int_equal(count_steps(p, &wg_op_matmul), training ? 2 : 0); /* dx and dw */
            if (cases[i].apart)
                assert_int_equal(count_steps(p, cases[i].apart), apart);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(composites_are_expanded_where_no_backend_takes_them),
        cmocka_unit_test(a_backend_that_fails_to_prepare_hands_on),
        cmocka_unit_test(half_a_kernel_is_none),
        cmocka_unit_test(a_backend_yields_to_a_later_one_that_is_not_the_reference),
        cmocka_unit_test(products_go_to_the_faster_kernels),
        cmocka_unit_test(a_layer_multiplies_once_in_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
