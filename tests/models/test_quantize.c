/* Numbers of 8 bits: the ops, and graphs rewritten to use them. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/load.h"
#include "wengert/backends/simd.h"
#include "wengert/models/layers.h"
#include "wengert/models/quantize.h"
#include "wengert/ops/table.h"

#include <math.h>

/* ---- quantize -------------------------------------------------------------------------------- */

/* A plan of both results of quantize(x), on one backend alone besides cpu. */
static wg_plan *quantized(wg_graph *g, wg_value *x, const wg_backend *backend, wg_value **q,
                          wg_value **scale)
{
    *q = wg_output(wg_quantize(x), "q");
    *scale = wg_output(wg_result_of(*q, 1), "scale");
    return plan_of(g, &(wg_plan_options){.backends = &backend,
                                         .n_backends = backend ? 1 : 0,
                                         .reference = !backend});
}

static void rows_are_rounded_to_their_own_grid(void **state)
{
    (void)state;
    const float max = 3.4e38f, inf = INFINITY;
    const float x[][6] = {
        {127, -127, 0.5f, 1.5f, -2.5f, 126.5f}, /* halves to even */
        {0, 0, -0.0f, 0, 0, 0},
        {1e-30f, 0, 0, -1e-31f, 0, 0}, /* as good as nothing */
        {-254, 1, 3, 100, 253, -253},  /* steps of 2 */
        {max, -max, 0, max / 2, 1, max / 127},
        {1, inf, 2, 3, 4, 5},
        {1, 2, NAN, 3, 4, 5},
        {2e-30f, -2e-30f, 1e-30f, 0, 0, 0},
    };
    enum { ROWS = WG_COUNT(x) };
    static const int8_t expected[ROWS][6] = {
        {127, -127, 0, 2, -2, 126}, {0}, {0}, {-127, 0, 2, 50, 126, -126},
        {127, -127, 0, 64, 0, 1},   {0}, {0}, {127, -127, 64, 0, 0, 0},
    };
    const float scales[ROWS] = {1, 0, 0, 2, max / 127, inf, NAN, 2e-30f / 127};
    const wg_backend *backends[] = {NULL, wg_simd_backend()};
    for (int b = 0; b < 2; b++) {
        wg_graph *g = wg_graph_new();
        wg_value *q, *scale, *in = wg_input(g, "x", WG_F32, WG_SHAPE(ROWS, 6));
        wg_plan *p = quantized(g, in, backends[b], &q, &scale);
        memcpy(wg_plan_data(p, in), x, sizeof x);
        run(p, 0);
        const int8_t *got = wg_plan_data(p, q);
        const float *s = wg_plan_data(p, scale);
        for (int i = 0; i < ROWS; i++) {
            for (int k = 0; k < 6; k++)
                check_that(got[i * 6 + k] == expected[i][k], "row %d, %d: %d, expected %d", i, k,
                           got[i * 6 + k], expected[i][k]);
            check_that(s[i] == scales[i] || (isnan(s[i]) && isnan(scales[i])),
                       "row %d: scale %g, expected %g", i, (double)s[i], (double)scales[i]);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- gradients ------------------------------------------------------------------------------- */

/* y = sum is linear in the bias and, without it, in each of the scales: <s, dy/ds> = y. */
static void gradients_reach_bias_and_scales(void **state)
{
    (void)state;
    enum { ROWS = 3, IN = 4, OUT = 2 };
    const double numbers[ROWS * IN] = {1, -2, 0.5, 3, 2, 2, -1, 0.25, 4, 1, 1, -3};
    const double weights[OUT * IN] = {1, 2, -1, 0.5, -0.5, 3, 1, 1}, biases[OUT] = {0.5, -1};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(ROWS, IN), numbers), *q = wg_quantize(x);
    wg_value *w = wg_quantize(wg_constant(g, WG_F64, WG_SHAPE(OUT, IN), weights));
    wg_value *bias = wg_constant(g, WG_F64, WG_SHAPE(OUT), biases), *d[4];
    wg_value *of[] = {wg_result_of(q, 1), wg_result_of(w, 1), bias, x};
    wg_value *y =
        wg_sum(wg_quantized_linear(q, of[0], w, of[1], bias, WG_ACTIVATION_NONE), WG_ALL_AXES, 0);
    check_that(wg_grad(y, of, 4, d) == WG_OK, "%s", wg_graph_message(g));
    for (int i = 0; i < 4; i++)
        wg_output(d[i], (const char *[]){"d0", "d1", "db", "dx"}[i]);
    wg_output(y, "y");
    for (int i = 0; i < 2; i++)
        wg_output(of[i], (const char *[]){"s0", "s1"}[i]);
    wg_plan *p = plan_of(g, NULL);
    run(p, 1);
    const double *db = wg_plan_f64(p, d[2]), *dx = wg_plan_f64(p, d[3]);
    double plain = wg_plan_scalar(p, y) - ROWS * (biases[0] + biases[1]);
    assert_true(db[0] == ROWS && db[1] == ROWS);
    for (int i = 0; i < 2; i++) {
        const double *s = wg_plan_f64(p, of[i]), *ds = wg_plan_f64(p, d[i]);
        double sum = 0;
        for (int64_t k = 0; k < wg_value_count(of[i]); k++)
            sum += s[k] * ds[k];
        check_that(fabs(sum - plain) <= 1e-12, "%g, expected %g", sum, plain);
    }
    double ds = wg_plan_f64(p, d[0])[0]; /* x has the scale |3| / 127 in its first row */
    assert_true(dx[0] == 0 && fabs(dx[3] - ds / 127) <= 1e-15);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void bad_operands_are_refused(void **state)
{
    (void)state;
    static const struct {
        wg_dtype x, w;
        int64_t in, scales, outputs, weight_in;
        const char *says;
    } cases[] = {
        {WG_I32, WG_I8, 4, 3, 5, 4, "x is i32, must be i8"},
        {WG_I8, WG_F32, 4, 3, 5, 4, "weight is f32, must be i8"},
        {WG_I8, WG_I8, 4, 2, 5, 4, "x_scale is [2], must be [3]"},
        {WG_I8, WG_I8, 4, 3, 5, 6, "inner sizes 4 and 6 differ"},
        {WG_I8, WG_I8, 65537, 3, 5, 65537, "65537 inputs"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", cases[i].x, WG_SHAPE(3, cases[i].in)),
                 *w = wg_input(g, "w", cases[i].w, WG_SHAPE(5, cases[i].weight_in)),
                 *xs = wg_input(g, "xs", WG_F32, WG_SHAPE(cases[i].scales)),
                 *ws = wg_input(g, "ws", WG_F32, WG_SHAPE(5));
        assert_null(wg_quantized_linear(x, xs, w, ws, NULL, WG_ACTIVATION_NONE));
        check_that(strstr(wg_graph_message(g), cases[i].says), "%s", wg_graph_message(g));
        wg_graph_free(g);
    }
    wg_graph *g = wg_graph_new();
    assert_null(wg_quantize(wg_input(g, "ids", WG_I32, WG_SHAPE(3))));
    assert_non_null(strstr(wg_graph_message(g), "x is i32, must be f32, f64, bf16 or f16"));
    wg_graph_free(g);
    g = wg_graph_new(); /* i8 is for these ops alone */
    wg_value *x = wg_input(g, "x", WG_I8, WG_SHAPE(3));
    assert_null(wg_add(x, x));
    assert_non_null(
        strstr(wg_graph_message(g), "a is i8, must be f32, f64, bf16, f16, i32 or i64"));
    wg_graph_free(g);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

typedef struct net {
    wg_graph *g;
    wg_value *x, *ids, *y, *kept;
} net;

/* All that is taken, and what is not: the product with x's own features, with [in, out], and the
 * embedding. */
static net net_of(wg_activation activation, wg_dtype dtype)
{
    net n = {.g = wg_graph_new()};
    n.x = wg_input(n.g, "x", dtype, WG_SHAPE(4, 3, 8));
    n.ids = wg_input(n.g, "ids", WG_I32, WG_SHAPE(4, 3));
    wg_value *h = wg_dense("hidden", n.x, 16, activation);
    wg_value *table = wg_parameter(n.g, "table", dtype, WG_SHAPE(11, 16), wg_normal_init(1));
    h = wg_add(h, wg_embedding(table, n.ids));
    wg_value *square = wg_parameter(n.g, "square", dtype, WG_SHAPE(16, 16), wg_normal_init(0.3));
    n.kept = wg_matmul(h, square);
    n.y = wg_output(wg_matmul_t(wg_add(h, n.kept), table, WG_NT), "y");
    check_that(n.y != NULL, "%s", wg_graph_message(n.g));
    return n;
}

static void fill(wg_plan *p, const net *n, wg_value *const *map)
{
    const wg_value *x = map ? map[n->x->id] : n->x, *ids = map ? map[n->ids->id] : n->ids;
    for (int64_t i = 0; i < wg_value_count(x); i++) {
        double v = sin(0.7 * (double)i) * (1 + (double)(i % 5));
        if (x->dtype == WG_F64)
            ((double *)wg_plan_data(p, x))[i] = v;
        else
            ((float *)wg_plan_data(p, x))[i] = (float)v;
    }
    for (int i = 0; i < 12; i++)
        ((int32_t *)wg_plan_data(p, ids))[i] = i * 5 % 11;
}

static wg_plan *plan_on(wg_graph *g, wg_store *store)
{
    const wg_backend_list built = wg_backend_list_built_in();
    return plan_of(g, &(wg_plan_options){
                          .store = store, .backends = built.backend, .n_backends = built.count});
}

static size_t count_of(const wg_graph *g, const wg_op *op)
{
    size_t count = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++)
        count += wg_graph_node(g, i)->op == op;
    return count;
}

static void run_once(wg_graph *g, wg_store *store)
{
    wg_plan *p = plan_on(g, store);
    run(p, 0);
    wg_plan_free(p);
}

static void products_with_parameters_become_integers(void **state)
{
    (void)state;
    for (int a = WG_ACTIVATION_NONE; a <= WG_ACTIVATION_SILU; a++) {
        net n = net_of((wg_activation)a, WG_F32);
        wg_value *map[200];
        wg_quantized q;
        assert_true(wg_graph_value_count(n.g) <= 200);
        assert_int_equal(wg_quantize_products(&q, n.g, map), WG_OK);
        assert_int_equal(q.products, 2);
        assert_int_equal(count_of(q.graph, &wg_op_quantized_linear), 2);
        assert_int_equal(count_of(q.graph, &wg_op_linear), 0);
        assert_int_equal(count_of(q.graph, &wg_op_matmul), 1); /* square */
        assert_int_equal(wg_graph_verify(q.graph), WG_OK);
        assert_int_equal(wg_graph_verify(q.weights), WG_OK);
        assert_null(wg_graph_find(q.graph, "hidden/weight")); /* no floats are left of it */
        assert_non_null(wg_graph_find(q.graph, "table"));
        assert_non_null(wg_graph_find(q.graph, "hidden/bias"));
        const wg_value *states[] = {wg_graph_find(q.graph, "hidden/weight.int8"),
                                    wg_graph_find(q.graph, "table.scale"),
                                    wg_graph_find(q.weights, "hidden/weight.int8"),
                                    wg_graph_find(q.weights, "table.scale")};
        for (int i = 0; i < 4; i++)
            assert_true(states[i] && states[i]->node->op == &wg_op_state);
        assert_int_equal(states[0]->dtype, WG_I8);
        assert_ptr_equal(map[n.y->id], wg_graph_output(q.graph, 0));
        assert_string_equal(wg_graph_output_name(q.graph, 0), "y");
        const wg_value *y = map[n.kept->id]; /* the scope and the line of what it stands for */
        assert_string_equal(y->node->at, n.kept->node->at);

        wg_store *store = wg_store_new(5);
        wg_plan *plain = plan_on(n.g, store);
        run_once(q.weights, store);
        wg_plan *integers = plan_on(q.graph, store);
        fill(plain, &n, NULL);
        fill(integers, &n, map);
        run(plain, 0);
        run(integers, 0);
        double error = 0, size = 0;
        const float *truth = floats(plain, n.y), *got = floats(integers, map[n.y->id]);
        for (int64_t i = 0; i < wg_value_count(n.y); i++) {
            error += ((double)got[i] - (double)truth[i]) * ((double)got[i] - (double)truth[i]);
            size += (double)truth[i] * (double)truth[i];
        }
        /* each factor is rounded to a 254th of its row's range: relative errors of some 0.3 % that
         * add up in squares; seen are 0.0056 to 0.0075 */
        check_that(error > 0 && sqrt(error / size) < 0.01, "activation %d: error %g", a,
                   sqrt(error / size));
        wg_plan_free(plain);
        wg_plan_free(integers);
        wg_store_free(store);
        wg_quantized_free(&q);
        wg_graph_free(n.g);
    }
}

/* Numbers on the grid lose nothing; new parameters count once they have been quantised again. */
static void representable_numbers_are_exact(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 8));
    wg_value *y = wg_output(wg_dense("layer", x, 5, WG_ACTIVATION_RELU), "y"), *map[64];
    wg_quantized q;
    assert_int_equal(wg_quantize_products(&q, g, map), WG_OK);
    wg_store *store = wg_store_new(1);
    wg_plan *plain = plan_on(g, store), *weights = plan_on(q.weights, store),
            *integers = plan_on(q.graph, store);
    float *w = wg_store_find(store, "layer/weight")->data,
          *bias = wg_store_find(store, "layer/bias")->data;
    for (int turn = 1; turn <= 3; turn++) {
        for (int i = 0; i < 40; i++)
            w[i] = 0.25f * (float)(i % 8 == 3 ? 127 * turn : turn * (i * 37 % 200 - 100));
        for (int i = 0; i < 5; i++)
            bias[i] = (float)(100 * i);
        for (int i = 0; i < 24; i++)
            ((float *)wg_plan_data(plain, x))[i] =
                ((float *)wg_plan_data(integers, map[x->id]))[i] =
                    2.0f * (float)(i % 8 == 5 ? -127 : i * 11 % 120 - 60);
        run(plain, 0);
        run(weights, 0);
        run(integers, 0);
        int64_t positive = 0;
        for (int i = 0; i < 15; i++) {
            float a = floats(plain, y)[i], b = floats(integers, map[y->id])[i];
            positive += a > 0;
            check_that(a == b, "turn %d, %d: %g, in integers %g", turn, i, (double)a, (double)b);
        }
        assert_true(positive > 3 && positive < 15);
    }
    wg_plan_free(plain);
    wg_plan_free(weights);
    wg_plan_free(integers);
    wg_store_free(store);
    wg_quantized_free(&q);
    wg_graph_free(g);
}

static void wrong_graphs_give_nothing(void **state)
{
    (void)state;
    wg_quantized q;
    wg_graph *g = wg_graph_new();
    assert_int_equal(wg_quantize_products(NULL, g, NULL), WG_EINVAL);
    wg_input(g, "x", WG_F32, WG_SHAPE(-1));
    assert_int_equal(wg_quantize_products(&q, g, NULL), wg_graph_status(g));
    assert_true(!q.graph && !q.weights);
    wg_quantized_free(&q);
    wg_quantized_free(NULL);
    wg_graph_free(g);
    assert_int_equal(wg_quantize_products(&q, NULL, NULL), WG_ENOMEM);
    g = wg_graph_new(); /* nothing to do is no error */
    wg_output(wg_relu(wg_input(g, "x", WG_F32, WG_SHAPE(2))), "y");
    assert_int_equal(wg_quantize_products(&q, g, NULL), WG_OK);
    assert_int_equal(q.products, 0);
    assert_int_equal(wg_graph_node_count(q.graph), wg_graph_node_count(g));
    assert_int_equal(wg_graph_node_count(q.weights), 0);
    wg_quantized_free(&q);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_rounded_to_their_own_grid),
        cmocka_unit_test(gradients_reach_bias_and_scales),
        cmocka_unit_test(bad_operands_are_refused),
        cmocka_unit_test(products_with_parameters_become_integers),
        cmocka_unit_test(representable_numbers_are_exact),
        cmocka_unit_test(wrong_graphs_give_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
