/* What is exported and imported again computes the same bits. */
#include "tests/test.h"

#include "graph/element.h"
#include "tests/onnx/built_in.h"

#include <math.h>
#include <unistd.h>

static const char path[] = "exported.onnx";
static wg_error error;

static wg_plan *run(wg_graph *g, const wg_model *m, wg_store *store)
{
    wg_plan *p;
    const wg_plan_options o = {.reference = true, .store = store, .threads = 1};
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    built_in_fill_inputs(m, p, g);
    if (store)
        built_in_vary(store, 0.25);
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

/* The number of numbers that were compared: bit for bit, but for outputs whose names begin with
 * "loss" or "sum", which may be off by `tolerance`, relative to themselves or 1. */
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
        bool exact = strncmp(wg_graph_output_name(g, i), "loss", 4) != 0 &&
                     strncmp(wg_graph_output_name(g, i), "sum", 3) != 0;
        for (int64_t k = 0; k < wg_value_count(v); k++, compared++) {
            double x = wgi_get_element(a, v->dtype, k), y = wgi_get_element(b, v->dtype, k);
            if (!(x == y || (!exact && fabs(x - y) <= tolerance * fmax(1, fabs(x)))))
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

/* All built-in models, with all their float values as outputs.  Label smoothing has no op in ONNX:
 * the loss is expanded there, and its sum is taken in another order. */
static void built_in_models_come_back(void **state)
{
    (void)state;
    size_t count = 0, compared = 0;
    for (const wg_model *m; (m = wg_model_at(count)); count++) {
        wg_graph *g = wg_graph_new();
        m->build(g);
        wg_graph *plain = built_in_without_dropout(g);
        built_in_show_all(plain);
        bool smooths = strcmp(m->name, "transformer") == 0;
        size_t some = comes_back(plain, m, smooths ? 1e-6 : 0);
        print_message("%s: %zu numbers\n", m->name, some);
        compared += some;
        wg_graph_free(plain);
        wg_graph_free(g);
    }
    assert_true(count >= 6 && compared >= 10000);
}

/* Outputs of one graph, named "NAME0", "NAME1", ... */
static void name_all(wg_value *const *outputs, int n, const char *name)
{
    for (int i = 0; i < n; i++) {
        char own[24];
        snprintf(own, sizeof own, "%s%d", name, i);
        check_that(outputs[i], "%s has no value", own);
        wg_output(outputs[i], own);
    }
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
    const wg_upsample2d_options corners = {WG_BILINEAR, .align_corners = true, .scale = {1.6, 2}};
    wg_value *film = wg_input(g, "film", WG_F32, WG_SHAPE(1, 2, 4, 6, 5)),
             *series = wg_input(g, "series", WG_F32, WG_SHAPE(2, 3, 7));
    const wg_pool3d_options part = {.kernel = {2, 3, 2}, .padding = {1, 1, 0}, .ceil_mode = true};
    wg_pool3d_options parts_of_x = part;
    parts_of_x.exclude_padding = true;
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
        wg_cross_entropy(
            image, wg_iota(g, WG_I32, WG_SHAPE(2, 4, 6), 2, -1, 1), NULL,
            &(wg_cross_entropy_attrs){.use_ignore = true, .ignore = -1, .reduction = WG_LOSS_NONE}),
        wg_log_softmax(x, 1),
        wg_layernorm(x, NULL, NULL, WG_LAST_AXIS, 1e-5),
        wg_batchnorm_eval(image, wg_iota(g, WG_F32, WG_SHAPE(4), 0, 0, 0.1),
                          wg_iota(g, WG_F32, WG_SHAPE(4), 0, 1, 0.5), NULL, NULL, 1e-5),
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
        wg_conv2d(image, kernel, wg_iota(g, WG_F32, WG_SHAPE(6), 0, -1, 0.5), &conv),
        wg_conv_transpose2d(image, wide, NULL, &up),
        wg_max_pool2d(image, &pool),
        wg_avg_pool2d(image, &pool),
        wg_upsample2d(image, &(wg_upsample2d_options){.size = {9, 4}}),
        wg_upsample2d(image, &(wg_upsample2d_options){.mode = WG_BILINEAR, .size = {4, 9}}),
        wg_upsample2d(image, &corners),
        wg_upsample2d(image, &(wg_upsample2d_options){.mode = WG_BICUBIC, .size = {4, 9}}),
        wg_upsample2d(image, &(wg_upsample2d_options){WG_BICUBIC, true, {8, 3}, {0}}),
        wg_upsample1d(series, &(wg_upsample1d_options){.size = 5}),
        wg_upsample1d(series, &(wg_upsample1d_options){WG_LINEAR, true, 11, 0}),
        wg_upsample1d(series, &(wg_upsample1d_options){.mode = WG_CUBIC, .size = 11}),
        wg_upsample3d(film, &(wg_upsample3d_options){.size = {5, 4, 9}}),
        wg_upsample3d(film, &(wg_upsample3d_options){.mode = WG_LINEAR, .size = {7, 4, 9}}),
        wg_upsample3d(film, &(wg_upsample3d_options){.mode = WG_CUBIC, .size = {3, 7, 5}}),
        wg_max_pool3d(film, &part),
        wg_avg_pool3d(film, &part),
        wg_avg_pool3d(film, &parts_of_x),
        wg_max_pool2d(image, &(wg_pool2d_options){.kernel = {4, 2}, .ceil_mode = true}),
        wg_adaptive_avg_pool2d(image, 4, 3),
        wg_adaptive_max_pool2d(image, 4, 3),
        wg_segment_sum(x, ids, 0, 4),
        wg_put_rows(x, wg_constant(g, WG_I64, WG_SHAPE(2), (const int64_t[]){2, 0}),
                    wg_window(y, WG_SHAPE(0, 0), WG_SHAPE(2, 4), WG_SHAPE(1, 1))),
        wg_expand(wg_iota(g, WG_F32, WG_SHAPE(1, 4), 1, 2, 0.5), WG_SHAPE(3, 4)),
        wg_cast(wg_any(wg_isnan(x), WG_ALL_AXES, WG_DROP), WG_F32),
        wg_vector_norm(x, WG_AXES(1), WG_DROP, 2),
        wg_cast(wg_argmax(x, 1, WG_DROP), WG_F32),
        wg_sort(x, 1, WG_ASCENDING),
        wg_argsort(wg_round(x), 0, WG_DESCENDING),
        wg_remainder(ids, wg_scalar_like(ids, -2)),
        wg_slogdet(wg_matmul_t(x, x, WG_NT)),
    };
    /* Made of several ops there. */
    wg_value *const sums[] = {
        wg_remainder(x, y),
        wg_atan2(x, y),
        wg_atan2(wg_round(x), wg_round(y)),
        wg_logdet(wg_shift(wg_matmul_t(x, x, WG_NT), 1)),
    };
    name_all(outputs, WG_COUNT(outputs), "out");
    name_all(sums, WG_COUNT(sums), "sum");
    assert_true(comes_back(g, NULL, 1e-6) > 500);
    wg_graph_free(g);
}

/* The derivative of sum(y w) in x, with weights w that differ. */
static wg_value *slope(wg_value *y, wg_value *x)
{
    wg_value *dx = NULL;
    check_that(y && x, "a value is missing");
    wg_value *w = wg_sin(wg_reshape(
        wg_iota(wg_graph_of(y), WG_F32, WG_SHAPE(wg_value_count(y)), 0, 1, 0.7), y->shape));
    assert_int_equal(wg_grad(wg_sum(wg_mul(y, w), WG_ALL_AXES, WG_DROP), &x, 1, &dx), WG_OK);
    return dx;
}

/* Ops of backward passes and updates, which are made of others for a file.  Convolutions and
 * windows that overlap take their sums in another order there. */
static void derivatives_come_back(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 8)), *m = wg_input(g, "m", WG_F32, x->shape);
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(2, 4, 7, 6)),
             *space = wg_input(g, "space", WG_F32, WG_SHAPE(2, 2, 4, 5, 6)),
             *w2 = wg_input(g, "w2", WG_F32, WG_SHAPE(6, 2, 3, 2)),
             *w3 = wg_input(g, "w3", WG_F32, WG_SHAPE(4, 2, 2, 3, 2)),
             *rate = wg_input(g, "rate", WG_F32, WG_SCALAR);
    wg_value *at = wg_input(g, "at", WG_I32, WG_SHAPE(3)), *t = wg_fill(g, WG_I64, WG_SCALAR, 3);
    const wg_conv2d_options conv = {
        .stride = {2, 1}, .padding = {1, 0}, .dilation = {1, 2}, .groups = 2};
    const wg_conv3d_options conv3 = {.stride = {1, 2, 1}, .padding = {1, 0, 0}};
    const wg_pool2d_options pool = {.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 1}};
    wg_pool2d_options inner = pool;
    inner.exclude_padding = true;
    const wg_pool2d_options partial = {
        .kernel = {4, 3}, .stride = {3, 2}, .padding = {0, 1}, .ceil_mode = true};
    wg_pool2d_options partial_of_x = partial;
    partial_of_x.exclude_padding = true;
    wg_value *top = wg_max_pool2d(image, &pool), *wide = wg_reshape(x, WG_SHAPE(3, 1, 2, 4));
    const wg_rotary_attrs halves = {.first = 2, .pairs = WG_ROTARY_HALVES};
    const wg_adam_attrs attrs = {0.9, 0.98, 1e-9, 0.125};
    wg_value *step = wg_adam(x, m, x, wg_square(m), rate, t, &attrs),
             *other = wg_adamw(x, m, x, wg_square(m), rate, t, &attrs);
    wg_value *const exact[] = {
        slope(wg_slice(x, 1, 1, 8, 3), x), /* each number at its place */
        slope(top, image),
        wg_pool_gather(image, wg_result_of(top, 1)),
        wg_moving_average(x, m, 0.75),
        wg_result_of(step, 1),
        wg_result_of(step, 2),
    };
    wg_value *const sums[] = {
        slope(wg_conv2d(image, w2, NULL, &conv), w2),
        slope(wg_conv2d(image, w2, NULL, &conv), image),
        slope(wg_conv3d(space, w3, NULL, &conv3), w3),
        slope(wg_conv3d(space, w3, NULL, &conv3), space),
        slope(wg_avg_pool2d(image, &pool), image),
        slope(wg_avg_pool2d(image, &inner), image),
        slope(wg_avg_pool2d(image, &partial), image),
        slope(wg_avg_pool2d(image, &partial_of_x), image),
        slope(wg_upsample2d(image, &(wg_upsample2d_options){.size = {9, 4}}), image),
        slope(wg_upsample2d(image, &(wg_upsample2d_options){WG_BICUBIC, .size = {4, 9}}), image),
        slope(wg_upsample2d(image, &(wg_upsample2d_options){WG_BILINEAR, .size = {4, 9}}), image),
        wg_rotary(wide, NULL),
        wg_rotary_at(wide, at, &halves),
        slope(wg_rotary_at(wide, at, &halves), x),
        step,
        other,
    };
    name_all(exact, WG_COUNT(exact), "out");
    name_all(sums, WG_COUNT(sums), "sum");
    assert_true(comes_back(g, NULL, 2e-6) > 500);
    wg_graph_free(g);
}

/* Kinds of one op that have forms of their own, and axes that count from the end. */
static void kinds_of_ops_come_back(void **state)
{
    (void)state;
    static const int64_t places[] = {1, 0, 3, 2, 0, 1};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 4)),
             *cube = wg_input(g, "cube", WG_F32, WG_SHAPE(2, 3, 4)),
             *src = wg_input(g, "src", WG_F32, WG_SHAPE(3, 2)),
             *at = wg_constant(g, WG_I64, WG_SHAPE(3, 2), places);
    wg_value *const exact[] = {
        wg_vector_norm(x, WG_AXES(1), WG_DROP, 1),
        wg_vector_norm(x, WG_AXES(0), WG_KEEP, INFINITY),
        wg_cast(wg_all(wg_less(x, wg_scalar_like(x, 0.5)), WG_AXES(1), WG_DROP), WG_F32),
        wg_cast(wg_argmin(x, 0, WG_KEEP), WG_F32),
        wg_scatter(x, at, src, 1),
        wg_scatter_add(x, at, src, -1),
        slope(wg_slice(x, 1, 1, 3, 1), x),
        wg_permute(cube, WG_AXES(-1, 0, 1)),
        wg_add(x, wg_iota(g, WG_F32, WG_SHAPE(3, 4), -1, 1, 0.25)),
        wg_layernorm(cube, NULL, NULL, 2, 1e-5),
        wg_reshape(wg_slice(x, 0, 1, 1, 1), WG_SHAPE(2, 0)),
    };
    wg_value *const sums[] = {
        wg_gelu(x, WG_GELU_ERF),
        wg_gelu(x, WG_GELU_TANH),
        wg_linear(cube, x, NULL, WG_ACTIVATION_NONE),
        wg_linear(x, wg_scale(x, 0.5), NULL, WG_ACTIVATION_GELU_TANH),
    };
    name_all(exact, WG_COUNT(exact), "out");
    name_all(sums, WG_COUNT(sums), "sum");
    assert_true(comes_back(g, NULL, 2e-6) > 150);
    wg_graph_free(g);
}

static void not_exported(const wg_graph *g, const char *to, const wg_onnx_export_options *o,
                         wg_status status, const char *text)
{
    assert_int_equal(wg_onnx_export(g, to, o, &error), status);
    check_that(strstr(error.text, text), "'%s' is not in '%s'", text, error.text);
    assert_int_not_equal(access(path, F_OK), 0);
}

static void calls_without_sense_are_refused(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)), *y = wg_relu(x);
    not_exported(NULL, path, NULL, WG_EINVAL, "no graph to export");
    not_exported(g, NULL, NULL, WG_EINVAL, "no path");
    not_exported(g, path, NULL, WG_EINVAL, "no outputs");
    wg_output(y, "x");
    not_exported(g, path, NULL, WG_EINVAL, "the output 'x' has the name of an input");
    wg_add(x, wg_fill(g, WG_F32, WG_SHAPE(2), 0));
    not_exported(g, path, NULL, wg_graph_status(g), wg_graph_message(g));
    assert_int_not_equal(wg_graph_status(g), WG_OK);
    wg_graph_free(g);
}

/* One value with two names, an output that is an input, and one that was asked for twice. */
static void outputs_may_share_a_value(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3)), *y = wg_square(x);
    wg_output(y, "out0");
    wg_output(y, "out1");
    wg_output(x, "out2");
    assert_int_equal(comes_back(g, NULL, 0), 9);
    wg_graph_free(g);
}

/* A parameter that the store has not, or has with another shape or dtype. */
static void stores_of_other_models_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wg_dtype dtype;
        int64_t size;
        const char *words;
    } others[] = {{"v", WG_F32, 3, "tensor w: expected f32 [3], got none"},
                  {"w", WG_F64, 3, "tensor w: expected f32 [3], got f64 [3]"},
                  {"w", WG_F32, 4, "tensor w: expected f32 [3], got f32 [4]"}};
    wg_graph *g = wg_graph_new();
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(3), wg_xavier(1));
    wg_output(wg_relu(w), "y");
    for (int i = 0; i < WG_COUNT(others); i++) {
        wg_store *store = wg_store_new(0);
        const wg_tensor *t;
        const wg_shape shape = WG_SHAPE(others[i].size);
        assert_int_equal(wg_store_add(store, others[i].name, others[i].dtype, &shape, &t), WG_OK);
        const wg_onnx_export_options o = {.store = store};
        wg_status status = wg_onnx_export(g, path, &o, &error);
        check_that(status == WG_EDATA && strstr(error.text, others[i].words), "%d: %s", i,
                   error.text);
        assert_int_not_equal(access(path, F_OK), 0);
        wg_store_free(store);
    }
    wg_graph_free(g);
}

/* All ops that are missing, at once; nothing is written. */
static void what_cannot_be_written_is_listed(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3));
    wg_output(wg_add(wg_lgamma(x), wg_cumprod(x, 0, 0)), "y");
    wg_output(wg_vector_norm(x, WG_ALL_AXES, WG_DROP, 3), "norm");
    assert_int_equal(wg_onnx_export(g, path, NULL, &error), WG_EUNSUPPORTED);
    assert_non_null(strstr(error.text, "lgamma (1)"));
    assert_non_null(strstr(error.text, "cumprod (1)"));
    assert_non_null(strstr(error.text, "vector_norm (1)"));
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
        cmocka_unit_test(derivatives_come_back),
        cmocka_unit_test(kinds_of_ops_come_back),
        cmocka_unit_test(calls_without_sense_are_refused),
        cmocka_unit_test(outputs_may_share_a_value),
        cmocka_unit_test(stores_of_other_models_are_refused),
        cmocka_unit_test(what_cannot_be_written_is_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
