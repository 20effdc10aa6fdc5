/* Built-in models: they build, differentiate, run; layers name their parameters and their
 * mistakes. */
#include "tests/test.h"
#include "wengert.h"

#include <math.h>

static void fill(wg_plan *p, wg_graph *g, const wg_model *m)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        wg_value *v = wg_graph_value(g, i);
        if (strcmp(v->node->op->name, "input") != 0)
            continue;
        for (int64_t k = 0; k < wg_value_count(v); k++)
            if (v->dtype == WG_F32)
                ((float *)wg_plan_data(p, v))[k] = (float)sin((double)k);
            else if (v->dtype == WG_I32)
                ((int32_t *)wg_plan_data(p, v))[k] = (int32_t)(k % wg_model_range(m, v->name));
            else
                ((int64_t *)wg_plan_data(p, v))[k] = k % wg_model_range(m, v->name);
    }
}

/* The loss is finite, and one step of 1e-2 against the gradient lowers it. */
static void check_model(const wg_model *m)
{
    wg_graph *g = wg_graph_new();
    wg_value *loss = m->build(g), *w[512], *dw[512];
    check_that(wg_graph_status(g) == WG_OK, "%s: %s", m->name, wg_graph_message(g));
    assert_int_equal(wg_value_count(loss), 1);
    size_t n = wg_graph_parameters(g, w, 512);
    assert_in_range(n, 1, 512);
    check_that(wg_grad(loss, w, n, dw) == WG_OK, "%s: %s", m->name, wg_graph_message(g));
    for (size_t i = 0; i < n; i++)
        wg_assign(w[i], wg_sub(w[i], wg_scale(dw[i], 1e-2)));
    assert_int_equal(wg_graph_verify(g), WG_OK);

    wg_plan *p;
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s: %s", m->name, wg_graph_message(g));
    fill(p, g, m);
    float first = 0, last = 0;
    for (uint64_t step = 0; step < 5; step++) {
        check_that(wg_plan_run(p, step) == WG_OK, "%s: %s", m->name, wg_plan_message(p));
        last = *(float *)wg_plan_data(p, loss);
        first = step == 0 ? last : first;
    }
    check_that(isfinite(first) && last < first, "%s: the loss went from %g to %g", m->name,
               (double)first, (double)last);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void every_model_learns(void **state)
{
    (void)state;
    const wg_model *m;
    size_t count = 0;
    for (; (m = wg_model_at(count)); count++) {
        assert_ptr_equal(wg_model_find(m->name), m);
        check_model(m);
    }
    assert_true(count >= 4);
    assert_null(wg_model_find("no such model"));
    assert_null(wg_model_find(NULL));
}

static void layers_name_parameters_by_scope(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 3, 8));
    wg_scope_push(g, "encoder");
    wg_value *y =
        wg_multi_head_attention("attn", x, x, &(wg_multi_head_options){.heads = 2, .causal = true});
    y = wg_layernorm_layer("norm", wg_feed_forward("ff", y, 16, NULL));
    wg_scope_pop(g);
    assert_int_equal(wg_graph_status(g), WG_OK);
    assert_true(wg_shape_equal(&y->shape, &x->shape));
    static const char *const names[] = {
        "encoder/attn/q/weight",   "encoder/attn/q/bias",     "encoder/attn/k/weight",
        "encoder/attn/k/bias",     "encoder/attn/v/weight",   "encoder/attn/v/bias",
        "encoder/attn/out/weight", "encoder/attn/out/bias",   "encoder/ff/inner/weight",
        "encoder/ff/inner/bias",   "encoder/ff/outer/weight", "encoder/ff/outer/bias",
        "encoder/norm/gain",       "encoder/norm/bias",
    };
    wg_value *w[32];
    assert_int_equal(wg_graph_parameters(g, w, 32), WG_COUNT(names));
    for (size_t i = 0; i < WG_COUNT(names); i++) {
        assert_string_equal(w[i]->name, names[i]);
        assert_int_equal(w[i]->dtype, WG_F64);
    }
    assert_string_equal(wg_scope_path(g), "");
    wg_graph_free(g);
}

static void mistakes_name_the_line_of_the_layer(void **state)
{
    (void)state;
    char line[64];
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 8));
    assert_null(wg_multi_head_attention("attn", x, x, &(wg_multi_head_options){.heads = 3}));
    snprintf(line, sizeof line, "(test_models.c:%d)", __LINE__ - 1);
    assert_non_null(strstr(wg_graph_message(g), "3 heads do not divide 8 features"));
    assert_non_null(strstr(wg_graph_message(g), line));
    wg_graph_free(g);

    g = wg_graph_new();
    wg_value *scalar = wg_input(g, "s", WG_F32, WG_SCALAR);
    assert_null(wg_dense("layer", scalar, 4, WG_ACTIVATION_NONE));
    snprintf(line, sizeof line, "(test_models.c:%d)", __LINE__ - 1);
    check_that(strstr(wg_graph_message(g), line) != NULL, "%s", wg_graph_message(g));
    wg_graph_free(g);
}

/* No layer minds NULL, a negative size or a wrong rank: a status, never a crash. */
static void layers_refuse_nonsense(void **state)
{
    (void)state;
    assert_null(wg_dense("l", NULL, 1, WG_ACTIVATION_NONE));
    assert_null(wg_layernorm_layer("l", NULL));
    assert_null(wg_multi_head_attention("l", NULL, NULL, NULL));
    assert_null(wg_feed_forward("l", NULL, 1, NULL));
    assert_null(wg_conv_layer("l", NULL, 1, 1, NULL));
    assert_null(wg_embedding_layer("l", NULL, 1, 1, WG_F32));
    assert_null(wg_lstm_layer("l", NULL, 1));
    const int64_t sizes[] = {-1, INT64_MAX, INT64_MIN};
    for (int rank = 0; rank <= 4; rank++)
        for (int layer = 0; layer < 9; layer++)
            for (int i = 0; i < 3; i++) {
                const int64_t dim[] = {2, 3, 4, 5};
                wg_graph *g = wg_graph_new();
                wg_value *x = wg_input(g, "x", WG_F32, wg_shape_make(rank, dim));
                wg_value *ids = wg_input(g, "ids", WG_I64, wg_shape_make(rank, dim)), *y = NULL;
                switch (layer) {
                case 0: y = wg_dense("l", x, sizes[i], WG_ACTIVATION_RELU); break;
                case 1: y = wg_feed_forward("l", x, sizes[i], NULL); break;
                case 2: y = wg_conv_layer("l", x, 2, sizes[i], NULL); break;
                case 3: y = wg_embedding_layer("l", ids, sizes[i], 2, WG_F32); break;
                case 4: y = wg_lstm_layer("l", x, sizes[i]); break;
                case 5: y = wg_conv1d_layer("l", x, 2, sizes[i], NULL); break;
                case 6: y = wg_conv2d_layer("l", x, sizes[i], 1, NULL); break;
                case 7: y = wg_recurrent_layer("l", WG_GRU, x, sizes[i], NULL).y; break;
                case 8: y = wg_batchnorm_layer("l", ids, true, NULL); break;
                }
                assert_null(y);
                assert_int_not_equal(wg_graph_status(g), WG_OK);
                assert_true(*wg_graph_message(g));
                wg_graph_free(g);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_model_learns),
        cmocka_unit_test(layers_name_parameters_by_scope),
        cmocka_unit_test(mistakes_name_the_line_of_the_layer),
        cmocka_unit_test(layers_refuse_nonsense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
