/* How often a plan asks oneDNN for a matrix product: wgi_od_matmul is replaced by a function that
 * counts. */
#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "backends/onednn/internal.h"
#include "wengert/backends/onednn.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

static int asked, refused_from; /* calls so far; from that one on nothing is offered, 0: never */

dnnl_status_t __real_wgi_od_matmul(od_pd *pd, dnnl_engine_t e, od_const_md src, od_const_md weights,
                                   od_const_md bias, od_const_md dst,
                                   const_dnnl_primitive_attr_t attr);
dnnl_status_t __wrap_wgi_od_matmul(od_pd *pd, dnnl_engine_t e, od_const_md src, od_const_md weights,
                                   od_const_md bias, od_const_md dst,
                                   const_dnnl_primitive_attr_t attr);

dnnl_status_t __wrap_wgi_od_matmul(od_pd *pd, dnnl_engine_t e, od_const_md src, od_const_md weights,
                                   od_const_md bias, od_const_md dst,
                                   const_dnnl_primitive_attr_t attr)
{
    if (++asked >= refused_from && refused_from)
        return dnnl_unimplemented;
    return __real_wgi_od_matmul(pd, e, src, weights, bias, dst, attr);
}

/* Layers of equal width, each x w' + b, which a fusion makes one op; the plan of all. */
static wg_plan *layers(int count, wg_graph **g, wg_value **y)
{
    enum { ROWS = 6, WIDTH = 8 };
    const wg_backend *fast = wg_onednn_backend();
    char name[16];
    wg_plan *p;
    *g = wg_graph_new();
    wg_value *x = *y = wg_input(*g, "x", WG_F32, WG_SHAPE(ROWS, WIDTH));
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "w%d", i);
        wg_value *w = wg_input(*g, name, WG_F32, WG_SHAPE(WIDTH, WIDTH));
        snprintf(name, sizeof name, "b%d", i);
        wg_value *b = wg_input(*g, name, WG_F32, WG_SHAPE(WIDTH));
        *y = wg_add(wg_matmul_t(*y, w, WG_NT), b);
    }
    wg_plan_options o = {
        .outputs = y, .n_outputs = 1, .backends = &fast, .n_backends = 1, .threads = 1};
    check_that(wg_plan_create(&p, *g, &o) == WG_OK, "%s", wg_graph_message(*g));
    for (int64_t i = 0; i < wg_value_count(x); i++)
        ((float *)wg_plan_data(p, x))[i] = 1;
    return p;
}

static int steps_by(wg_plan *p, const char *backend)
{
    int count = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        count += strcmp(wg_plan_step_at(p, i).backend, backend) == 0;
    return count;
}

static void equal_layers_are_asked_for_once(void **state)
{
    (void)state;
    for (int count = 1; count <= 4; count += 3) {
        wg_graph *g;
        wg_value *y;
        asked = refused_from = 0;
        wg_plan *p = layers(count, &g, &y);
        assert_int_equal(steps_by(p, "onednn"), count);
        assert_int_equal(asked, 1);
        assert_int_equal(wg_plan_run(p, 1), WG_OK); /* the offers are gone, the kernels are not */
        assert_int_equal(wg_plan_run(p, 2), WG_OK);
        assert_int_equal(asked, 1);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void ops_that_onednn_refuses_run_on_another_backend(void **state)
{
    (void)state;
    wg_graph *g;
    wg_value *y;
    asked = 0;
    refused_from = 1;
    wg_plan *p = layers(3, &g, &y);
    assert_true(asked > 0);
    assert_int_equal(steps_by(p, "onednn"), 0);
    assert_int_equal(wg_plan_run(p, 1), WG_OK);
    wg_plan_free(p);
    wg_graph_free(g);
    refused_from = 0;
}

/* An offer depends on op, attributes, dtypes and shapes: the same four operands in other orders are
 * other kinds. */
static void other_kinds_get_other_offers(void **state)
{
    (void)state;
    od_backend *b;
    const wg_backend *fast = wg_onednn_backend();
    void *opened = NULL;
    assert_int_equal(fast->open(&opened, &(wg_backend_config){.threads = 1}), WG_OK);
    b = opened;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8, 8)),
             *z = wg_input(g, "z", WG_F32, WG_SHAPE(8, 8));
    wg_value *wide = wg_input(g, "wide", WG_F32, WG_SHAPE(8, 9));
    wg_value *different[] = {wg_matmul_t(x, z, WG_NN),
                             wg_matmul_t(x, z, WG_TN),
                             wg_matmul_t(x, z, WG_NT),
                             wg_matmul_t(x, wide, WG_NN),
                             wg_linear(x, z, NULL, WG_ACTIVATION_SIGMOID),
                             wg_linear(x, z, NULL, WG_ACTIVATION_TANH)};
    const od_offer *offer[WG_COUNT(different)];
    for (int i = 0; i < WG_COUNT(different); i++) {
        offer[i] = wgi_od_offer_for(b, different[i]->node);
        assert_non_null(offer[i]);
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(offer[i], offer[k]);
    }
    assert_ptr_equal(wgi_od_offer_for(b, wg_matmul_t(z, x, WG_TN)->node), offer[1]);
    wgi_od_offers_clear(b);
    assert_null(b->offers);
    fast->close(b);
    wg_graph_free(g);
}

/* The backend of x w', x [rows, 1000], if parameters may change or are promised to stay. */
static const char *backend_of_rows(int64_t rows, bool fixed)
{
    enum { WIDTH = 1000 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(rows, WIDTH)),
             *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(WIDTH, WIDTH), wg_zeros());
    wg_output(wg_linear(x, w, NULL, WG_ACTIVATION_NONE), "y");
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.fixed_parameters = fixed}), WG_OK);
    const char *backend = wg_plan_step_at(p, 0).backend;
    wg_plan_free(p);
    wg_graph_free(g);
    return backend;
}

static void one_or_two_rows_are_left_to_own_kernels(void **state)
{
    (void)state;
    for (int fixed = 0; fixed < 2; fixed++) {
        assert_string_equal(backend_of_rows(1, fixed), "simd");
        assert_string_equal(backend_of_rows(2, fixed), "simd");
        assert_string_equal(backend_of_rows(16, fixed), "onednn");
    }
}

/* The backend of the gradient of 3 x 3 weights, of so many examples of planes */
static const char *backend_of_groups(int64_t groups, int64_t examples, int64_t side, int64_t stride)
{
    enum { CHANNELS = 64 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(examples, CHANNELS, side, side)),
             *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(CHANNELS, CHANNELS / groups, 3, 3),
                               wg_zeros()),
             *dw[1];
    wg_value *y = wg_conv2d(
        x, w, NULL,
        &(wg_conv2d_options){.stride = {stride, stride}, .padding = {1, 1}, .groups = groups});
    wg_value *loss = wg_sum(wg_square(y), WG_ALL_AXES, WG_DROP);
    assert_int_equal(wg_grad(loss, &w, 1, dw), WG_OK);
    wg_output(dw[0], "dw");
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_OK);
    const char *backend = wg_plan_step_at(p, wg_plan_step_count(p) - 1).backend;
    wg_plan_free(p);
    wg_graph_free(g);
    return backend;
}

static void large_planes_of_depthwise_gradients_are_left_to_own_kernels(void **state)
{
    (void)state;
    assert_string_equal(backend_of_groups(64, 16, 32, 1), "simd");
    assert_string_equal(backend_of_groups(64, 16, 32, 2), "onednn");
    assert_string_equal(backend_of_groups(64, 16, 14, 1), "onednn");
    assert_string_equal(backend_of_groups(64, 2, 32, 1), "onednn");
}

static void groups_of_sixteen_channels_are_left_to_minimal_filtering(void **state)
{
    (void)state;
    assert_string_equal(backend_of_groups(4, 2, 32, 1), "simd");
    assert_string_equal(backend_of_groups(8, 2, 32, 1), "onednn");
    assert_string_equal(backend_of_groups(4, 2, 32, 2), "onednn");
}

/* Runs the kernel of n with bytes behind its scratch that must stay, and keeps it in *k. */
static void run_guarded(void *state, const wg_node *n, wg_kernel *k)
{
    enum { GUARD = 4096, MOST = 13 * 3 * 3 * 3 };
    static float numbers[MOST], results[MOST];
    const void *in[] = {numbers, numbers};
    void *out[] = {results};
    assert_int_equal(wg_onednn_backend()->prepare(state, n, k), WG_OK);
    unsigned char *scratch = aligned_alloc(64, (k->scratch + 63) / 64 * 64 + GUARD);
    assert_non_null(scratch);
    memset(scratch + k->scratch, 0xa5, GUARD);
    k->run(&(wg_call){
        .node = n, .in = in, .out = out, .state = k->state, .scratch = scratch, .threads = 2});
    for (int i = 0; i < GUARD; i++)
        check_that(scratch[k->scratch + (size_t)i] == 0xa5, "byte %d behind the scratch", i);
    free(scratch);
}

/* The outer products u v' of columns and of rows given transposed differ in strides of axes of size
 * 1 alone: one primitive in the cache of oneDNN, which then copied v to a scratchpad that the
 * descriptor of the second product did not have. */
static void a_primitive_of_the_cache_has_its_own_scratchpad(void **state)
{
    (void)state;
    const wg_backend *onednn = wg_onednn_backend();
    for (int rows_first = 0; rows_first < 2; rows_first++) {
        wg_graph *g = wg_graph_new();
        wg_value *column = wg_input(g, "column", WG_F32, WG_SHAPE(12 + rows_first, 3, 3, 1)),
                 *row = wg_input(g, "row", WG_F32, WG_SHAPE(12 + rows_first, 3, 1, 3));
        const wg_node *of[] = {wg_matmul_t(column, column, WG_NT)->node,
                               wg_matmul_t(row, row, WG_TN)->node};
        void *backend = NULL;
        wg_kernel k[2];
        assert_int_equal(onednn->open(&backend, &(wg_backend_config){.threads = 2}), WG_OK);
        onednn->enter(backend);
        for (int i = 0; i < 2; i++) /* as a plan does: all descriptors are made first */
            assert_null(onednn->refuses(backend, of[i]));
        for (int i = 0; i < 2; i++)
            run_guarded(backend, of[i ^ rows_first], &k[i]);
        for (int i = 0; i < 2; i++)
            onednn->finish(backend, &k[i]);
        onednn->leave(backend);
        onednn->close(backend);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_layers_are_asked_for_once),
        cmocka_unit_test(ops_that_onednn_refuses_run_on_another_backend),
        cmocka_unit_test(other_kinds_get_other_offers),
        cmocka_unit_test(one_or_two_rows_are_left_to_own_kernels),
        cmocka_unit_test(large_planes_of_depthwise_gradients_are_left_to_own_kernels),
        cmocka_unit_test(groups_of_sixteen_channels_are_left_to_minimal_filtering),
        cmocka_unit_test(a_primitive_of_the_cache_has_its_own_scratchpad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
