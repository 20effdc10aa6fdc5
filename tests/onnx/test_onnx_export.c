/* What is exported and imported again computes the same bits. */
#include "tests/test.h"

#include "graph/element.h"
#include "graph/mix.h"
#include "wengert.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <unistd.h>

static const char path[] = "exported.onnx";
static wg_error error;

/* Floats in (-1, 1), integers in the range of the model's input; of equal names the same. */
static void fill(const wg_model *m, const wg_value *v, void *data)
{
    uint64_t state = wgi_hash_text(v->name);
    int64_t below = wg_dtype_is_int(v->dtype) && m ? wg_model_range(m, v->name) : 2;
    for (int64_t i = 0; i < wg_value_count(v); i++) {
        uint64_t bits = wgi_splitmix64(&state);
        double real = 2 * (((double)(bits >> 41) + 0.5) * 0x1p-23) - 1;
        bool whole = !wg_dtype_is_float(v->dtype);
        wgi_put_element(data, v->dtype, i, whole ? (double)(bits % (uint64_t)below) : real);
    }
}

static wg_plan *run(wg_graph *g, const wg_model *m, wg_store *store)
{
    wg_plan *p;
    const wg_plan_options o = {.reference = true, .store = store, .threads = 1};
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        if (v->node->op->flags & WG_OP_INPUT)
            fill(m, v, wg_plan_data(p, v));
    }
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

static bool drop_nothing(void *context, wg_graph *to, const wg_node *n, wg_value *const *in,
                         wg_value **y)
{
    (void)context;
    (void)to;
    if (n->op != &wg_op_dropout)
        return false;
    y[0] = in[0];
    return true;
}

/* The number of numbers that were compared: bit for bit, but for the output `loss`, which may be
 * off by `tolerance`, relative to itself. */
static size_t comes_back(wg_graph *g, const wg_model *m, double tolerance)
{
    size_t compared = 0;
    wg_store *store = wg_store_new(0);
    wg_plan *p = run(g, m, store);
    const wg_onnx_export_options o = {.store = store};
    check_that(wg_onnx_export(g, path, &o, &error) == WG_OK, "%s", error.text);
    wg_graph *back;
    check_that(wg_onnx_import(&back, path, NULL, &error) == WG_OK, "%s", error.text);
    wg_plan *q = run(back, m, NULL);
    assert_int_equal(wg_graph_output_count(back), wg_graph_output_count(g));
    for (size_t i = 0; i < wg_graph_output_count(g); i++) {
        const wg_value *v = wg_graph_output(g, i), *w = wg_graph_output(back, i);
        assert_string_equal(wg_graph_output_name(g, i), wg_graph_output_name(back, i));
        assert_true(v->dtype == w->dtype && wg_shape_equal(&v->shape, &w->shape));
        const void *a = wg_plan_data(p, v), *b = wg_plan_data(q, w);
        bool exact = strcmp(wg_graph_output_name(g, i), "loss") != 0;
        for (int64_t k = 0; k < wg_value_count(v); k++, compared++) {
            double x = wgi_get_element(a, v->dtype, k), y = wgi_get_element(b, v->dtype, k);
            if (!(x == y || (!exact && fabs(x - y) <= tolerance * fabs(x))))
                fail_msg("output %zu, element %lld: %.9g, not %.9g", i, (long long)k, y, x);
        }
    }
    wg_plan_free(p);
    wg_plan_free(q);
    wg_store_free(store);
    wg_graph_free(back);
    unlink(path);
    return compared;
}

/* Every computed value of floats becomes an output besides. */
static void show_all(wg_graph *g)
{
    for (size_t i = 0, n = wg_graph_value_count(g); i < n; i++) {
        wg_value *v = wg_graph_value(g, i);
        char name[40];
        snprintf(name, sizeof name, "shown%zu", i);
        if (v->index == 0 && !(v->node->op->flags & WG_OP_LEAF) && wg_dtype_is_float(v->dtype) &&
            !(wg_graph_output_count(g) && v == wg_graph_output(g, 0)))
            wg_output(v, name);
    }
}

/* All built-in models, with all their float values as outputs.  Label smoothing has no op in ONNX:
 * the loss is expanded there, and its sum is taken in another order. */
static void built_in_models_come_back(void **state)
{
    (void)state;
    size_t count = 0, compared = 0;
    for (const wg_model *m; (m = wg_model_at(count)); count++) {
        wg_graph *g = wg_graph_new();
        m->build(g);
        wg_graph *plain = wg_graph_clone(g, &(wg_clone_options){.replace = drop_nothing}, NULL);
        check_that(plain && wg_graph_status(plain) == WG_OK, "%s", m->name);
        show_all(plain);
        bool smooths = strcmp(m->name, "transformer") == 0;
        size_t some = comes_back(plain, m, smooths ? 1e-6 : 0);
        print_message("%s: %zu numbers\n", m->name, some);
        compared += some;
        wg_graph_free(plain);
        wg_graph_free(g);
    }
    assert_true(count >= 6 && compared >= 10000);
}

/* Each op with a form of its own, in one graph: one output for each. */
static void ops_come_back(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4)),
             *y = wg_input(g, "y", WG_F32, WG_SHAPE(3, 4));
    wg_value *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(3));
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(2, 4, 6, 5));
    wg_value *kernel = wg_parameter(g, "kernel", WG_F32, WG_SHAPE(6, 2, 3, 3), wg_xavier(1));
    wg_value *wide = wg_parameter(g, "wide", WG_F32, WG_SHAPE(4, 2, 3, 3), wg_xavier(1));
    const wg_conv2d_options conv = {.stride = {2, 1}, .padding = {1, 0}, .groups = 2};
    const wg_conv2d_options up = {.stride = {2, 2}, .padding = {1, 0}, .output_padding = {1, 0}};
    const wg_pool2d_options pool = {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 0}};
    wg_value *const outputs[] = {
        wg_add(x, y),
        wg_where(wg_less(x, y), wg_square(x), wg_rsqrt(wg_abs(y))),
        wg_clamp(x, -0.5, 0.25),
        wg_leaky_relu(x, 0.1),
        wg_elu(x, 0.7),
        wg_sum(x, WG_AXES(1), WG_DROP),
        wg_mean(x, WG_ALL_AXES, WG_KEEP),
        wg_max(x, WG_AXES(0), WG_DROP),
        wg_logsumexp(x, WG_AXES(-1), WG_KEEP),
        wg_softmax(x, 0),
        wg_log_softmax(x, 1),
        wg_layernorm(x, NULL, NULL, WG_LAST_AXIS, 1e-5),
        wg_take(x, ids, 1),
        wg_embedding(x, ids),
        wg_one_hot(ids, 5, WG_F32),
        wg_slice(wg_flip(x, WG_ALL_AXES), 1, WG_TO_END, WG_TO_START, -2),
        wg_pad(x, WG_SHAPE(1, 0), WG_SHAPE(0, 2), 0.5),
        wg_concat((wg_value *const[]){x, y}, 2, 0),
        wg_permute(image, WG_AXES(2, 0, 3, 1)),
        wg_matmul_t(x, y, WG_NT),
        wg_topk(x, 2, 1),
        wg_cumsum(x, 1, WG_CUMSUM_REVERSE | WG_CUMSUM_EXCLUSIVE),
        wg_triu(x, 1),
        wg_conv2d(image, kernel, NULL, &conv),
        wg_conv_transpose2d(image, wide, NULL, &up),
        wg_max_pool2d(image, &pool),
        wg_avg_pool2d(image, &pool),
        wg_segment_sum(x, ids, 0, 4),
        wg_put_rows(x, wg_constant(g, WG_I64, WG_SHAPE(2), (const int64_t[]){2, 0}),
                    wg_window(y, WG_SHAPE(0, 0), WG_SHAPE(2, 4), WG_SHAPE(1, 1))),
        wg_expand(wg_iota(g, WG_F32, WG_SHAPE(1, 4), 1, 2, 0.5), WG_SHAPE(3, 4)),
        wg_cast(wg_any(wg_isnan(x), WG_ALL_AXES, WG_DROP), WG_F32),
        wg_vector_norm(x, WG_AXES(1), WG_DROP, 2),
        wg_cast(wg_argmax(x, 1, WG_DROP), WG_F32),
    };
    for (int i = 0; i < WG_COUNT(outputs); i++) {
        char name[16];
        snprintf(name, sizeof name, "out%d", i);
        check_that(outputs[i], "output %d: %s", i, wg_graph_message(g));
        wg_output(outputs[i], name);
    }
    assert_true(comes_back(g, NULL, 0) > 500);
    wg_graph_free(g);
}

/* All ops that are missing, at once; nothing is written. */
static void what_cannot_be_written_is_listed(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    wg_output(wg_add(wg_lgamma(x), wg_atan2(x, x)), "y");
    assert_int_equal(wg_onnx_export(g, path, NULL, &error), WG_EUNSUPPORTED);
    assert_non_null(strstr(error.text, "lgamma (1)"));
    assert_non_null(strstr(error.text, "atan2 (1)"));
    assert_int_not_equal(access(path, F_OK), 0);
    wg_graph_free(g);
    g = wg_graph_new();
    wg_output(wg_relu(wg_input(g, "x", WG_F32, WG_SHAPE(3))), NULL);
    assert_int_equal(wg_onnx_export(g, path, NULL, &error), WG_EINVAL);
    assert_non_null(strstr(error.text, "no name"));
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_models_come_back),
        cmocka_unit_test(ops_come_back),
        cmocka_unit_test(what_cannot_be_written_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
