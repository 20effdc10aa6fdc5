/* Layers: where their parameters come from (found again, averaged, kept in another dtype), which
 * names they have, how they compose, and what they refuse. */
#include "tests/layers.h"

static wg_value *input(wg_graph *g, const char *name, wg_dtype dtype, int64_t rows, int64_t columns)
{
    return wg_input(g, name, dtype, WG_SHAPE(rows, columns));
}

static wg_value *tower(wg_value *x)
{
    return wg_dense("out", wg_dense("hidden", x, 4, WG_ACTIVATION_TANH), 2, WG_ACTIVATION_NONE);
}

static size_t count_parameters(const wg_graph *g)
{
    return wg_graph_parameters(g, NULL, 0);
}

/* ---- found again ----------------------------------------------------------------------------- */

/* Siamese towers have one set of weights, and its gradient is the sum over both. */
static void a_marked_scope_finds_parameters_again(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = input(g, "a", WG_F64, 3, 5), *b = input(g, "b", WG_F64, 3, 5);
    wg_scope_push(g, "siamese");
    wg_scope_reuse(g);
    wg_value *ya = tower(a), *yb = tower(b);
    wg_scope_pop(g);
    assert_int_equal(count_parameters(g), 4);
    wg_value *w[4], *both[4], *first[4], *second[4];
    wg_graph_parameters(g, w, 4);
    assert_string_equal(w[0]->name, "siamese/hidden/weight");
    wg_value *la = wg_sum(wg_square(ya), WG_ALL_AXES, WG_DROP),
             *lb = wg_sum(wg_sin(yb), WG_ALL_AXES, WG_DROP);
    wg_grad(wg_add(la, lb), w, 4, both);
    wg_grad(la, w, 4, first);
    wg_grad(lb, w, 4, second);
    for (int i = 0; i < 4; i++)
        wg_output(both[i], NULL), wg_output(first[i], NULL), wg_output(second[i], NULL);
    wg_plan *p = layers_plan(g, NULL);
    layers_run(p, 0);
    int64_t compared = 0;
    for (int i = 0; i < 4; i++)
        for (int64_t k = 0; k < wg_value_count(w[i]); k++, compared++) {
            double x = small_at(p, first[i], k), y = small_at(p, second[i], k);
            assert_true(x != 0 && y != 0 && numbers_close(small_at(p, both[i], k), x + y, 1e-14));
        }
    assert_int_equal(compared, 4 * 5 + 4 + 2 * 4 + 2);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ALBERT: one layer, applied three times. */
static void a_layer_can_be_repeated_with_its_weights(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 8)), *y = x;
    wg_scope_reuse(g); /* of the whole graph */
    for (int i = 0; i < 3; i++) {
        wg_value *h = wg_multi_head_attention("attention", y, y, NULL);
        y = wg_layernorm_layer("norm", wg_add(y, wg_feed_forward("ff", h, 16, NULL)));
    }
    check_that(y != NULL, "%s", wg_graph_message(g));
    assert_int_equal(count_parameters(g), 8 + 4 + 2);
    wg_graph_free(g);
}

static void without_the_mark_a_name_is_taken_once(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, "x", WG_F32, 3, 5);
    tower(x);
    assert_null(tower(x));
    small_refused(g, "the name 'hidden/weight' is taken by a value built at test_layers.c:");

    g = wg_graph_new(); /* the mark is that of one scope, not of those beside it */
    x = input(g, "x", WG_F32, 3, 5);
    wg_scope_push(g, "shared");
    wg_scope_reuse(g);
    wg_scope_pop(g);
    tower(x);
    assert_null(tower(x));
    small_refused(g, "the name 'hidden/weight' is taken");
}

static void what_is_found_must_be_what_is_asked_for(void **state)
{
    (void)state;
    static const struct {
        wg_dtype dtype;
        int64_t size;
        double std;
        bool state;
        const char *words;
    } other[] = {
        {WG_F32, 5, 1, false, "'w' is f32[4], but f32[5] is asked for under this name"},
        {WG_F64, 4, 1, false, "'w' is f32[4], but f64[4] is asked for under this name"},
        {WG_F32, 4, 2, false, "'w' has other initial values than are asked for under this name"},
        {WG_F32, 4, 1, true, "'w' is a parameter, but a state is asked for under this name"},
    };
    for (int i = 0; i < WG_COUNT(other); i++) {
        wg_graph *g = wg_graph_new();
        wg_scope_reuse(g);
        wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(4), wg_normal_init(1));
        assert_ptr_equal(wg_parameter(g, "w", WG_F32, WG_SHAPE(4), wg_normal_init(1)), w);
        wg_shape shape = WG_SHAPE(other[i].size);
        wg_init init = wg_normal_init(other[i].std);
        assert_null(other[i].state ? wg_state(g, "w", other[i].dtype, shape, init)
                                   : wg_parameter(g, "w", other[i].dtype, shape, init));
        assert_non_null(strstr(wg_graph_message(g), "test_layers.c:"));
        small_refused(g, other[i].words);
    }
}

/* ---- moving averages ------------------------------------------------------------------------- */

enum { RUNS = 4 };

/* A student that gradient descent moves by a constant gradient, and its teacher. */
static void a_teacher_is_the_average_of_its_student(void **state)
{
    (void)state;
    const double decay = 0.75, rate = 0.5;
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, "x", WG_F64, 3, 5), *w, *dw;
    wg_value *y = wg_dense_with("net", x, 2, &(wg_dense_options){.no_bias = true});
    wg_scope_push(g, "teacher");
    wg_scope_average(g);
    wg_value *target = wg_dense_with("net", x, 2, &(wg_dense_options){.no_bias = true});
    wg_scope_pop(g);
    check_that(target != NULL, "%s", wg_graph_message(g));
    assert_int_equal(wg_graph_parameters(g, &w, 1), 1);
    wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), &w, 1, &dw);
    wg_assign(w, wg_sub(w, wg_scale(dw, rate)));
    assert_int_equal(wg_average_update(g, "teacher", decay), WG_OK);
    wg_output(y, "y");
    wg_output(target, "target");
    wg_output(dw, "dw");

    wg_plan *p = layers_plan(g, NULL);
    const double *now = wg_plan_data(p, w),
                 *average = wg_plan_data(p, wg_graph_find(g, "teacher/net/weight"));
    double expected[10];
    memcpy(expected, now, sizeof expected);
    for (int step = 0; step < RUNS; step++) {
        double before[10], first = 0;
        memcpy(before, expected, sizeof before);
        for (int i = 0; i < 5; i++)
            first += before[i] * small_at(p, x, i);
        layers_run(p, (uint64_t)step);
        assert_true(numbers_close(small_at(p, target, 0), first, 1e-14));
        assert_true((small_at(p, target, 0) == small_at(p, y, 0)) == (step == 0));
        for (int i = 0; i < 10; i++) {
            expected[i] = decay * before[i] + (1 - decay) * now[i];
            assert_true(numbers_close(average[i], expected[i], 1e-14) && average[i] != now[i]);
        }
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Layers elsewhere that are called the same are none of its business. */
static void a_teacher_follows_the_student_beside_it_alone(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, "x", WG_F64, 3, 5);
    const wg_dense_options plain = {.no_bias = true};
    wg_scope_push(g, "a");
    wg_output(wg_dense_with("net", x, 2, &plain), "y");
    wg_scope_push(g, "teacher");
    wg_scope_average(g);
    wg_output(wg_dense_with("net", x, 2, &plain), "target");
    wg_scope_pop(g);
    wg_scope_pop(g);
    wg_scope_push(g, "b");
    wg_output(wg_dense_with("net", x, 2, &plain), "z");
    wg_scope_pop(g);
    assert_int_equal(wg_average_update(g, "a/teacher", 0.5), WG_OK);
    assert_int_equal(wg_graph_assign_count(g), 2); /* the average, and the number of updates */
    wg_value *leaf, *value;
    wg_graph_assign_at(g, 0, &leaf, &value);
    assert_string_equal(leaf->name, "a/teacher/net/weight");
    wg_graph_free(g);
}

/* A student with a teacher and an average by hand, after some steps of Adam. */
static wg_plan *taught(wg_graph *g, bool average_first)
{
    wg_value *x = input(g, "x", WG_F64, 3, 5), *w, *dw;
    const wg_dense_options plain = {.no_bias = true};
    wg_value *y = wg_dense_with("net", x, 2, &plain);
    wg_scope_push(g, "teacher");
    wg_scope_average(g);
    wg_output(wg_dense_with("net", x, 2, &plain), "target");
    wg_scope_pop(g);
    assert_int_equal(wg_graph_parameters(g, &w, 1), 1);
    wg_value *mine = wg_state(g, "mine", WG_F64, w->shape, wg_zeros());
    wg_assign(mine, wg_moving_average(mine, w, 0.5));
    wg_grad(wg_sum(wg_square(y), WG_ALL_AXES, WG_DROP), &w, 1, &dw);
    if (average_first)
        assert_int_equal(wg_average_update(g, "teacher", 0.75), WG_OK);
    wg_adam_update(&w, &dw, 1, wg_fill(g, WG_F64, WG_SCALAR, 0.1), NULL);
    if (!average_first)
        assert_int_equal(wg_average_update(g, "teacher", 0.75), WG_OK);
    wg_plan *p = layers_plan(g, NULL);
    for (uint64_t step = 0; step < RUNS; step++)
        layers_run(p, step);
    return p;
}

/* It follows the new parameters all the same; what is assigned by hand is left alone. */
static void a_teacher_may_be_moved_before_there_is_an_optimizer(void **state)
{
    (void)state;
    static const char *const names[] = {"net/weight", "teacher/net/weight", "mine"};
    wg_graph *g = wg_graph_new(), *h = wg_graph_new();
    wg_plan *p = taught(g, true), *q = taught(h, false);
    for (int i = 0; i < WG_COUNT(names); i++)
        for (int64_t k = 0; k < 10; k++)
            check_that(small_at(p, wg_graph_find(g, names[i]), k) ==
                           small_at(q, wg_graph_find(h, names[i]), k),
                       "%s[%d]", names[i], (int)k);
    assert_true(small_at(p, wg_graph_find(g, "mine"), 0) != 0);
    wg_plan_free(p);
    wg_plan_free(q);
    wg_graph_free(g);
    wg_graph_free(h);
}

/* No derivative goes through a teacher, and what it averages is no parameter. */
static void a_teacher_has_no_gradient(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, "x", WG_F64, 3, 5), *w[4], *dw[4];
    tower(x);
    wg_scope_push(g, "teacher");
    wg_scope_average(g);
    wg_value *target = tower(x);
    wg_scope_pop(g);
    assert_int_equal(wg_graph_parameters(g, w, 4), 4);
    assert_int_equal(wg_grad(wg_sum(wg_square(target), WG_ALL_AXES, WG_DROP), w, 4, dw), WG_OK);
    wg_output(dw[0], NULL);
    wg_output(target, NULL);
    wg_plan *p = layers_plan(g, NULL);
    layers_run(p, 0);
    for (int64_t k = 0; k < wg_value_count(dw[0]); k++)
        assert_true(small_at(p, dw[0], k) == 0);
    assert_true(small_at(p, target, 0) != 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void averages_of_nothing_are_refused(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, "x", WG_F32, 3, 5);
    wg_scope_push(g, "teacher");
    wg_scope_average(g);
    assert_null(tower(x));
    small_refused(g, "there is no parameter 'hidden/weight' to average as 'teacher/hidden/weight'");
    g = wg_graph_new();
    wg_scope_average(g);
    small_refused(g, "no scope is open");
    g = wg_graph_new();
    assert_int_not_equal(wg_average_update(g, "teacher", 0.9), WG_OK);
    small_refused(g, "the scope 'teacher' has no averages");
    g = wg_graph_new();
    tower(input(g, "x", WG_F32, 3, 5));
    wg_scope_push(g, "teacher");
    wg_scope_average(g);
    tower(input(g, "x", WG_F32, 3, 5));
    assert_int_not_equal(wg_average_update(g, "teacher", 1), WG_OK);
    small_refused(g, "decay is 1, must be in [0, 1)");
    g = wg_graph_new();
    tower(input(g, "x", WG_F32, 3, 5));
    wg_state(g, "/updates", WG_F32, WG_SCALAR, wg_zeros());
    assert_int_equal(wg_average_update(g, NULL, 0.9), WG_OK); /* of no scope: no averages */
    wg_graph_free(g);
}

/* ---- feed-forward ---------------------------------------------------------------------------- */

static wg_value *no_bias(const char *name, wg_value *x, int64_t features)
{
    return wg_dense_with(name, x, features, &(wg_dense_options){.no_bias = true});
}

static void swiglu_without_biases_is_three_products(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 3, 5)), *w[8];
    const wg_feed_forward_options o = {
        .activation = WG_ACTIVATION_SILU, .gated = true, .no_bias = true};
    wg_value *y = wg_feed_forward("mlp", x, 7, &o);
    assert_int_equal(wg_graph_parameters(g, w, 8), 3); /* no bias anywhere */
    wg_scope_push(g, "mlp");
    wg_scope_reuse(g);
    wg_value *h = wg_mul(wg_silu(no_bias("inner", x, 7)), no_bias("gate", x, 7));
    wg_value *z = no_bias("outer", h, 5), *difference;
    wg_scope_pop(g);
    difference = wg_output(wg_max(wg_abs(wg_sub(y, z)), WG_ALL_AXES, WG_DROP), "difference");
    wg_output(wg_max(wg_abs(y), WG_ALL_AXES, WG_DROP), "size");
    wg_plan *p = NULL;
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
    for (int i = 0; i < 30; i++)
        wg_plan_f64(p, x)[i] = (i * 7 % 11 - 5) / 4.0;
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    assert_true(wg_plan_scalar(p, wg_graph_output(g, 1)) > 0.1);
    assert_true(wg_plan_scalar(p, difference) <= 1e-15);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- parameters of another dtype ------------------------------------------------------------- */

/* A vision Transformer on 4 patches: activations in bf16, parameters and their moments in f32. */
static wg_value *vision_transformer(wg_graph *g)
{
    wg_value *patches = wg_input(g, "patches", WG_BF16, WG_SHAPE(8, 4, 12));
    wg_value *x = wg_dense("embed", patches, 16, WG_ACTIVATION_NONE);
    x = wg_add(x, wg_learned_positions("positions", g, WG_BF16, 0, 4, 16, 0, 4));
    for (int i = 0; i < 2; i++) {
        wg_scope_push(g, "layer%d", i);
        wg_value *n = wg_layernorm_layer("norm1", x);
        const wg_multi_head_options heads = {.heads = 4, .key_heads = 2, .fused = true};
        x = wg_add(x, wg_multi_head_attention("attention", n, n, &heads));
        x = wg_add(x, wg_feed_forward("ff", wg_norm_layer("norm2", x, WG_RMSNORM, 1e-5), 32, NULL));
        wg_scope_pop(g);
    }
    wg_value *logits = wg_dense("logits", wg_mean(x, WG_AXES(1), WG_DROP), 3, WG_ACTIVATION_NONE);
    return wg_cross_entropy(wg_cast(logits, WG_F32), wg_input(g, "labels", WG_I64, WG_SHAPE(8)),
                            NULL, NULL);
}

static void a_model_in_bf16_trains_with_parameters_in_f32(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_parameter_dtype(g, WG_F32);
    wg_value *loss = wg_output(vision_transformer(g), "loss"), *w[64], *dw[64];
    check_that(loss != NULL, "%s", wg_graph_message(g));
    size_t n = wg_graph_parameters(g, w, 64);
    assert_in_range(n, 20, 64);
    wg_grad(loss, w, n, dw);
    for (size_t i = 0; i < n; i++)
        assert_true(w[i]->dtype == WG_F32 && dw[i]->dtype == WG_F32);
    wg_clip_by_global_norm(dw, n, 1, dw);
    wg_value *lr = wg_fill(g, WG_F32, WG_SCALAR, 0.01);
    check_that(wg_adam_update(w, dw, n, lr, NULL) == WG_OK, "%s", wg_graph_message(g));
    wg_plan *p = layers_plan(g, NULL);
    double first = 0, last = 0;
    for (uint64_t step = 0; step < 30; step++) {
        layers_run(p, step);
        last = small_at(p, loss, 0);
        first = step == 0 ? last : first;
    }
    check_that(last < 0.5 * first, "the loss went from %g to %g", first, last);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* All layers, each with its parameters in f64 beside activations in f32. */
static void every_layer_keeps_its_parameters_as_told(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 8)), *w[64];
    wg_value *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(2, 3));
    wg_value *image = wg_input(g, "image", WG_F32, WG_SHAPE(2, 3, 6, 6));
    wg_scope_push(g, "wide");
    wg_scope_parameter_dtype(g, WG_F64);
    const wg_multi_head_options additive = {.heads = 2, .kind = WG_ATTENTION_ADDITIVE};
    wg_value *y[] = {
        wg_dense("dense", x, 4, WG_ACTIVATION_NONE),
        wg_layernorm_layer("norm", x),
        wg_batchnorm_layer("batchnorm", image, true, NULL),
        wg_multi_head_attention("attention", x, x, &additive),
        wg_conv_layer("conv", image, 4, 3, NULL),
        wg_conv1d_layer("conv1d", x, 4, 3, NULL),
        wg_embedding_layer("embedding", ids, 3, 8, WG_F32),
        wg_lstm_layer("lstm", x, 4),
        wg_recurrent_layer("gru", WG_GRU, x, 4, NULL).y,
    };
    wg_scope_pop(g);
    wg_value *narrow = wg_dense("narrow", x, 4, WG_ACTIVATION_NONE);
    check_that(wg_graph_status(g) == WG_OK, "%s", wg_graph_message(g));
    for (int i = 0; i < WG_COUNT(y); i++)
        assert_true(y[i] && y[i]->dtype == WG_F32);
    size_t n = wg_graph_parameters(g, w, 64);
    assert_in_range(n, 20, 64);
    for (size_t i = 0; i < n; i++)
        check_that((w[i]->dtype == WG_F64) == (strncmp(w[i]->name, "wide/", 5) == 0), "%s",
                   w[i]->name);
    assert_int_equal(narrow->dtype, WG_F32);
    assert_int_equal(wg_graph_find(g, "wide/batchnorm/running_var")->dtype, WG_F64);
    wg_graph_free(g);
    g = wg_graph_new();
    wg_scope_parameter_dtype(g, WG_I32);
    small_refused(g, "the dtype of parameters is i32, must be f32, f64, bf16 or f16");
}

/* ---- batch normalisation --------------------------------------------------------------------- */

/* Two calls under one name: weights are shared, and the first batch is the one recorded. */
static void a_shared_batchnorm_records_its_first_batch(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = input(g, "a", WG_F64, 6, 2), *b = input(g, "b", WG_F64, 6, 2);
    wg_scope_reuse(g);
    wg_value *ya = wg_batchnorm_layer("norm", a, true, NULL),
             *yb = wg_batchnorm_layer("norm", b, true, NULL);
    wg_output(ya, NULL), wg_output(yb, NULL);
    assert_int_equal(count_parameters(g), 2);
    wg_plan *p = layers_plan(g, NULL);
    layers_run(p, 0);
    double mean = 0, other = 0;
    for (int i = 0; i < 6; i++)
        mean += small_at(p, a, 2 * i) / 6, other += small_at(p, yb, 2 * i);
    assert_true(fabs(other) < 1e-12 && fabs(mean) > 1e-3);
    const double *running = wg_plan_data(p, wg_graph_find(g, "norm/running_mean"));
    assert_true(numbers_close(running[0], 0.1 * mean, 1e-14));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void batchnorm_refuses_a_momentum_that_is_no_share(void **state)
{
    (void)state;
    const double bad[] = {-0.1, 1.5};
    for (int i = 0; i < 2; i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = input(g, "x", WG_F32, 6, 2);
        assert_null(
            wg_batchnorm_layer("norm", x, true, &(wg_batchnorm_options){.momentum = bad[i]}));
        small_refused(g, i ? "momentum is 1.5, must be in (0, 1]" : "momentum is -0.1, must be");
    }
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static wg_value *nameless(wg_graph *g, int which)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 4)),
             *image = wg_input(g, "image", WG_F32, WG_SHAPE(1, 2, 5, 5)),
             *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(2));
    switch (which) {
    case 0: return wg_dense(NULL, x, 5, WG_ACTIVATION_NONE);
    case 1: return wg_layernorm_layer(NULL, x);
    case 2: return wg_feed_forward(NULL, x, 5, NULL);
    case 3: return wg_batchnorm_layer(NULL, image, true, NULL);
    case 4: return wg_conv_layer(NULL, image, 4, 3, NULL);
    case 5: return wg_conv1d_layer(NULL, x, 4, 3, NULL);
    case 6: return wg_embedding_layer(NULL, ids, 5, 4, WG_F32);
    case 7: return wg_lstm_layer(NULL, x, 5);
    case 8: return wg_multi_head_attention(NULL, x, x, &(wg_multi_head_options){.heads = 2});
    case 9: return wg_learned_positions(NULL, g, WG_F32, 0, 3, 4, 0, 8);
    default: return wg_relative_bias(NULL, g, WG_F32, 2, 3, 3, 2);
    }
}

static void a_layer_needs_a_name(void **state)
{
    (void)state;
    for (int i = 0; i <= 10; i++) {
        wg_graph *g = wg_graph_new();
        assert_null(nameless(g, i));
        check_that(strstr(wg_graph_message(g),
                          "layer: its name is NULL: name the scope that its "
                          "parameters are in (test_layers.c:") == wg_graph_message(g),
                   "%d: %s", i, wg_graph_message(g));
        wg_graph_free(g);
    }
    char here[128];
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, "x", WG_F32, 3, 5);
    snprintf(here, sizeof here,
             "layer: a name with a slash, 'a/b': open the scopes one after the other, with "
             "wg_scope_push (test_layers.c:%d)",
             __LINE__ + 1);
    assert_null(wg_dense("a/b", x, 2, WG_ACTIVATION_NONE));
    assert_string_equal(wg_graph_message(g), here);
    wg_graph_free(g);
    g = wg_graph_new();
    wg_scope_push(g, NULL);
    assert_string_equal(wg_graph_message(g), "wg_scope_push: the name is NULL");
    wg_graph_free(g);
    g = wg_graph_new();
    assert_null(wg_name(wg_exp(wg_input(g, "x", WG_F32, WG_SCALAR)), NULL));
    check_that(strstr(wg_graph_message(g), "wg_name: the name is NULL (test_layers.c:"), "%s",
               wg_graph_message(g));
    wg_graph_free(g);
}

/* Bytes of a picture, say: what is wrong is the input, not the parameters that would follow. */
static void layers_refuse_integers_by_name(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *image = wg_input(g, "image", WG_U8, WG_SHAPE(2, 1, 8, 8));
    assert_null(wg_conv_layer("c", image, 4, 3, NULL));
    check_that(strstr(wg_graph_message(g),
                      "c: layer: its input is u8, must be a float: wg_cast it first "
                      "(test_layers.c:"),
               "%s", wg_graph_message(g));
    wg_graph_free(g);
}

/* A bias of attention is a box of its own in pictures, as what layers build is. */
static void alibi_is_built_in_a_scope(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_push(g, "block");
    wg_value *bias = wg_alibi(g, WG_F32, 2, 3, 3);
    assert_string_equal(bias->node->scope->path, "block/alibi");
    assert_string_equal(wg_scope_path(g), "block");
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_marked_scope_finds_parameters_again),
        cmocka_unit_test(a_layer_can_be_repeated_with_its_weights),
        cmocka_unit_test(without_the_mark_a_name_is_taken_once),
        cmocka_unit_test(what_is_found_must_be_what_is_asked_for),
        cmocka_unit_test(a_teacher_is_the_average_of_its_student),
        cmocka_unit_test(a_teacher_follows_the_student_beside_it_alone),
        cmocka_unit_test(a_teacher_may_be_moved_before_there_is_an_optimizer),
        cmocka_unit_test(a_teacher_has_no_gradient),
        cmocka_unit_test(averages_of_nothing_are_refused),
        cmocka_unit_test(swiglu_without_biases_is_three_products),
        cmocka_unit_test(a_model_in_bf16_trains_with_parameters_in_f32),
        cmocka_unit_test(every_layer_keeps_its_parameters_as_told),
        cmocka_unit_test(a_shared_batchnorm_records_its_first_batch),
        cmocka_unit_test(batchnorm_refuses_a_momentum_that_is_no_share),
        cmocka_unit_test(a_layer_needs_a_name),
        cmocka_unit_test(layers_refuse_integers_by_name),
        cmocka_unit_test(alibi_is_built_in_a_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
