/* Fusions: each pattern fires where it should, not where it must not, and changes no result beyond
 * rounding. */
#include "tests/fusions.h"
#include "wengert/models/optimizer.h"

/* ---- attention between permutations ---------------------------------------------------------- */

static wg_value *by_token(wg_value *x)
{
    return wg_permute(wg_reshape(x, WG_SHAPE(B, T, H, D / H)), WG_AXES(0, 2, 1, 3));
}

static wg_value *attention(model *m, wg_value **heads)
{
    wg_value *q = by_token(leaf(m, WG_SHAPE(B, T, D))), *k = by_token(leaf(m, WG_SHAPE(B, T, D)));
    wg_value *v = by_token(leaf(m, WG_SHAPE(B, T, D)));
    *heads = wg_attention(q, k, v, NULL, &(wg_attention_attrs){.causal = true, .dropout = 0.25});
    return wg_reshape(wg_permute(*heads, WG_AXES(0, 2, 1, 3)), WG_SHAPE(B, T, D));
}

static void permutations_around_attention_vanish(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *heads;
    output(&m, attention(&m, &heads));
    check_fusion(&m, &wg_op_attention_by_token, 1);
    m = new_model();
    add_gradients(&m, output(&m, attention(&m, &heads)));
    check_fusion(&m, &wg_op_attention_by_token_grad, 1);
}

/* Queries, keys and values by one projection, x [B, T, 3 D]; keys and values of half as many heads
 * if grouped. */
static wg_value *packed(model *m, bool grouped, bool another_order, wg_value **cut)
{
    int64_t key_heads = grouped ? H / 2 : H, d = D / H;
    const int64_t sizes[] = {D, key_heads * d, key_heads * d};
    wg_value *x = leaf(m, WG_SHAPE(B, T, D + 2 * key_heads * d));
    *cut = wg_split(x, -1, sizes, 3);
    wg_value *part[3];
    for (int i = 0; i < 3; i++)
        part[i] =
            wg_permute(wg_reshape(wg_result_of(*cut, i), WG_SHAPE(B, T, i ? key_heads : H, d)),
                       WG_AXES(0, 2, 1, 3));
    wg_value *heads =
        wg_attention(part[0], part[another_order ? 2 : 1], part[another_order ? 1 : 2], NULL,
                     &(wg_attention_attrs){.causal = true, .dropout = 0.25});
    return wg_reshape(wg_permute(heads, WG_AXES(0, 2, 1, 3)), WG_SHAPE(B, T, D));
}

static void attention_reads_one_projection_where_it_is(void **state)
{
    (void)state;
    for (int grouped = 0; grouped < 2; grouped++) {
        model m = new_model();
        wg_value *cut;
        output(&m, packed(&m, grouped, false, &cut));
        check_fusion(&m, &wg_op_packed_attention, 1);
        m = new_model();
        add_gradients(&m, output(&m, packed(&m, grouped, false, &cut)));
        check_fusion(&m, &wg_op_packed_attention_grad, 1);
    }
}

/* Others may read the queries; forward they are cut out for these alone, backward nothing is
 * packed. */
static void other_readers_of_a_projection_get_their_part(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *cut;
    output(&m, packed(&m, false, false, &cut));
    output(&m, cut);
    check_fusion(&m, &wg_op_packed_attention, 1);
    m = new_model();
    wg_value *y = packed(&m, false, false, &cut);
    add_gradients(&m, output(&m, wg_add(y, cut)));
    check_fusion(&m, &wg_op_packed_attention_grad, 0);
    m = new_model();
    output(&m, packed(&m, false, true, &cut));
    check_fusion(&m, &wg_op_packed_attention, 0);
}

static void attention_that_is_also_read_by_heads_stays(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *heads;
    output(&m, attention(&m, &heads));
    output(&m, heads);
    check_fusion(&m, &wg_op_attention_by_token, 0);
}

/* ---- layernorm of a residual sum ------------------------------------------------------------- */

/* The parameters are made after the sum, as layers do. */
static wg_value *post_norm(model *m, double p, bool branch_first, wg_value **sum)
{
    wg_value *x = leaf(m, WG_SHAPE(B, T, D)), *branch = wg_dropout(leaf(m, WG_SHAPE(B, T, D)), p);
    *sum = branch_first ? wg_add(branch, x) : wg_add(x, branch);
    wg_value *gain = leaf(m, WG_SHAPE(D)), *bias = leaf(m, WG_SHAPE(D));
    return wg_layernorm(*sum, gain, bias, WG_LAST_AXIS, 1e-5);
}

static void a_residual_sum_is_fused_with_its_norm(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        model m = new_model();
        wg_value *sum;
        output(&m, post_norm(&m, variant & 1 ? 0.25 : 0, variant & 2, &sum));
        if (variant == 3)
            output(&m, sum); /* others may read the sum */
        check_fusion(&m, &wg_op_residual_layernorm, 1);
    }
}

static void the_gradient_of_a_residual_norm_is_fused(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *sum;
    add_gradients(&m, output(&m, post_norm(&m, 0.25, false, &sum)));
    check_fusion(&m, &wg_op_residual_layernorm_grad, 1);
}

/* The sum is read by the norm and by the next sum: its gradient takes the cotangent of both. */
static void the_gradient_is_fused_if_the_sum_is_also_read_elsewhere(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        model m = new_model();
        wg_value *sum, *y = post_norm(&m, 0.25, variant & 1, &sum);
        y = wg_mul(wg_tanh(y), leaf(&m, y->shape));
        add_gradients(&m, output(&m, variant & 2 ? wg_add(sum, y) : wg_add(y, sum)));
        check_fusion(&m, &wg_op_residual_layernorm_grad, 1);
    }
}

static void a_broadcast_sum_is_not_fused_with_its_norm(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *x = leaf(&m, WG_SHAPE(B, T, D)), *shift = leaf(&m, WG_SHAPE(D));
    output(&m, wg_layernorm(wg_add(x, shift), NULL, NULL, WG_LAST_AXIS, 1e-5));
    check_fusion(&m, &wg_op_residual_layernorm, 0);
}

static void a_branch_that_others_read_is_not_dropped_inside(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *x = leaf(&m, WG_SHAPE(B, T, D)),
             *branch = wg_dropout(leaf(&m, WG_SHAPE(B, T, D)), 0.25);
    output(&m, branch);
    output(&m, wg_layernorm(wg_add(x, branch), NULL, NULL, WG_LAST_AXIS, 1e-5));
    check_fusion(&m, &wg_op_residual_layernorm, 1); /* of the sum, without its dropout */
}

/* ---- linear layers --------------------------------------------------------------------------- */

static wg_value *dense(model *m, bool in_first, bool with_bias, wg_value **z)
{
    wg_value *x = leaf(m, WG_SHAPE(B, T, D)),
             *weight = leaf(m, in_first ? WG_SHAPE(D, 3) : WG_SHAPE(3, D));
    *z = wg_matmul_t(wg_scale(x, 0.1), weight, in_first ? WG_NN : WG_NT);
    return with_bias ? *z = wg_add(*z, leaf(m, WG_SHAPE(3))) : *z;
}

static void products_with_bias_and_activation_are_linear_layers(void **state)
{
    (void)state;
    for (int variant = 0; variant < 24; variant++) {
        model m = new_model();
        int activation = variant / 4;
        bool with_bias = variant & 1;
        wg_value *z, *y = dense(&m, variant & 2, with_bias, &z);
        switch (activation) {
        case 1: y = wg_relu(y); break;
        case 2: y = wg_tanh(y); break;
        case 3: y = wg_sigmoid(y); break;
        case 4: y = wg_silu(y); break;
        case 5: y = wg_gelu(y, variant & 2 ? WG_GELU_TANH : WG_GELU_ERF); break;
        default: break;
        }
        output(&m, y);
        check_fusion(&m, &wg_op_linear, activation || with_bias ? 1 : 0);
    }
}

static void gradients_of_fused_linear_layers_are_right(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *z;
    add_gradients(&m, output(&m, wg_relu(dense(&m, true, true, &z))));
    check_fusion(&m, &wg_op_linear, 1);
}

static void a_preactivation_that_others_read_stays(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *z, *y = wg_relu(dense(&m, true, false, &z));
    output(&m, y);
    output(&m, z);
    check_fusion(&m, &wg_op_linear, 0);
}

static void a_bias_of_another_shape_is_added(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *z, *y = dense(&m, true, false, &z);
    output(&m, wg_add(y, leaf(&m, WG_SHAPE(T, 1))));
    check_fusion(&m, &wg_op_linear, 0);
}

/* ---- cross-entropy of a linear layer --------------------------------------------------------- */

enum { CLASSES = 11 };

enum { LOSSES = 5 };

/* `how`: 0 a linear layer, 1 a product, 2 rows from the start, 3 logits and targets made rows, 4
 * logits made rows of the targets */
static wg_value *language_loss(model *m, int how, wg_value **logits)
{
    wg_shape shape = how == 2 ? WG_SHAPE(B * T, D) : WG_SHAPE(B, T, D);
    wg_shape ids = how == 2 || how == 4 ? WG_SHAPE(B * T) : WG_SHAPE(B, T);
    wg_value *x = leaf(m, shape), *weight = leaf(m, WG_SHAPE(CLASSES, D));
    wg_value *targets = wg_iota(m->g, WG_I32, ids, -1, 0, 1);
    *logits =
        how == 1 ? wg_matmul_t(x, weight, WG_NT) : wg_linear(x, weight, NULL, WG_ACTIVATION_NONE);
    bool rows = how > 2;
    return wg_cross_entropy(
        rows ? wg_reshape(*logits, WG_SHAPE(B * T, CLASSES)) : *logits,
        rows ? wg_reshape(targets, WG_SHAPE(B * T)) : targets, NULL,
        &(wg_cross_entropy_attrs){.smoothing = 0.1, .use_ignore = true, .ignore = 2});
}

static void logits_of_a_training_step_are_not_computed(void **state)
{
    (void)state;
    for (int how = 0; how < LOSSES; how++) {
        model m = new_model();
        wg_value *logits, *dx[2], *loss = output(&m, language_loss(&m, how, &logits));
        check_that(wg_grad(loss, m.leaf, 2, dx) == WG_OK, "%s", wg_graph_message(m.g));
        output(&m, dx[0]);
        output(&m, dx[1]);
        check_fusion(&m, &wg_op_linear_cross_entropy_step, how < 4);
    }
}

static void logits_of_validation_are_not_computed(void **state)
{
    (void)state;
    for (int how = 0; how < LOSSES; how++) {
        model m = new_model();
        wg_value *logits;
        output(&m, language_loss(&m, how, &logits));
        check_fusion(&m, &wg_op_linear_cross_entropy, how < 4);
    }
}

static void logits_that_others_read_are_computed(void **state)
{
    (void)state;
    for (int with_gradient = 0; with_gradient < 2; with_gradient++) {
        model m = new_model();
        wg_value *logits, *dx[2], *loss = output(&m, language_loss(&m, 0, &logits));
        output(&m, logits);
        if (with_gradient) {
            check_that(wg_grad(loss, m.leaf, 2, dx) == WG_OK, "%s", wg_graph_message(m.g));
            output(&m, dx[0]);
            output(&m, dx[1]);
        }
        check_fusion(
            &m, with_gradient ? &wg_op_linear_cross_entropy_step : &wg_op_linear_cross_entropy, 0);
    }
}

/* The gradient of a weight that is also an embedding: its product stays a part of the loss. */
static void a_product_of_the_loss_is_not_taken_from_it(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *logits, *dx[2], *loss = language_loss(&m, 1, &logits);
    loss = output(&m, wg_add(loss, wg_sum(wg_square(m.leaf[1]), WG_ALL_AXES, WG_DROP)));
    check_that(wg_grad(loss, m.leaf, 2, dx) == WG_OK, "%s", wg_graph_message(m.g));
    output(&m, dx[0]);
    output(&m, dx[1]);
    wg_plan *p = plan_of(&m, true);
    assert_int_equal(steps_with(p, &wg_op_matmul_add), 0);
    wg_plan_free(p);
    check_fusion(&m, &wg_op_linear_cross_entropy_step, 1);
}

static void a_step_that_trains_only_the_weight_is_not_fused(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *logits, *dweight, *loss = output(&m, language_loss(&m, 0, &logits));
    check_that(wg_grad(loss, m.leaf + 1, 1, &dweight) == WG_OK, "%s", wg_graph_message(m.g));
    output(&m, dweight);
    check_fusion(&m, &wg_op_linear_cross_entropy_step, 0);
}

static void a_bad_target_is_named(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *x = leaf(&m, WG_SHAPE(4, D)), *weight = leaf(&m, WG_SHAPE(CLASSES, D));
    wg_value *targets = wg_input(m.g, "targets", WG_I64, WG_SHAPE(4));
    wg_value *loss =
        wg_cross_entropy(wg_linear(x, weight, NULL, WG_ACTIVATION_NONE), targets, NULL, NULL);
    wg_output(loss, "loss");
    const wg_backend_list built = wg_backend_list_built_in();
    wg_plan *p;
    assert_int_equal(
        wg_plan_create(&p, m.g,
                       &(wg_plan_options){.backends = built.backend, .n_backends = built.count}),
        WG_OK);
    ((int64_t *)wg_plan_data(p, targets))[2] = CLASSES;
    assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
    check_that(strstr(wg_plan_message(p), "target 11 at position 2 is outside [0, 11)") != NULL,
               "%s", wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(m.g);
}

/* ---- adam of scaled gradients ---------------------------------------------------------------- */

enum { PARAMETERS = 4, STEPS = 3 };

/* How gradients reach the update. */
typedef enum way { CLIPPED, CLIPPED_ADAMW, PLAIN, SCALED_IS_READ, TWO_RATES, WAYS } way;

static const struct {
    const wg_op *op;
    int times, alone; /* fused nodes; adam nodes that stay */
} updates[WAYS] = {
    [CLIPPED] = {&wg_op_adam_scaled, 1, 0},        [CLIPPED_ADAMW] = {&wg_op_adamw_scaled, 1, 0},
    [PLAIN] = {&wg_op_adam_scaled, 0, PARAMETERS}, [SCALED_IS_READ] = {&wg_op_adam_scaled, 1, 1},
    [TWO_RATES] = {&wg_op_adam_scaled, 2, 0},
};

/* Parameters of several shapes, one of them empty, with the gradients of a sum of squares. */
static model training(way how, wg_value **param)
{
    static const wg_shape shapes[PARAMETERS] = {
        {2, {300, 70}}, {1, {5}}, {1, {0}}, {2, {129, 257}}};
    model m = new_model();
    wg_value *grad[PARAMETERS], *loss = NULL;
    for (int i = 0; i < PARAMETERS; i++) {
        char name[8];
        snprintf(name, sizeof name, "p%d", i);
        param[i] = wg_parameter(m.g, name, WG_F32, shapes[i], wg_ones());
        wg_value *off = wg_sub(param[i], leaf(&m, shapes[i]));
        wg_value *sum = wg_sum(wg_mul(off, off), WG_ALL_AXES, WG_DROP);
        loss = loss ? wg_add(loss, sum) : sum;
    }
    assert_int_equal(wg_grad(loss, param, PARAMETERS, grad), WG_OK);
    wg_value *lr = wg_fill(m.g, WG_F32, WG_SCALAR, 0.25),
             *other = wg_fill(m.g, WG_F32, WG_SCALAR, 0.125);
    if (how != PLAIN)
        output(&m, wg_clip_by_global_norm(grad, PARAMETERS, 1, grad));
    if (how == SCALED_IS_READ)
        output(&m, grad[1]);
    wg_adam_options o = {.eps = 1e-3, .weight_decay = 0.1, .decoupled = how == CLIPPED_ADAMW};
    size_t first = how == TWO_RATES ? 2 : PARAMETERS;
    wg_adam_update(param, grad, first, lr, &o);
    o.name = "second";
    if (first < PARAMETERS)
        wg_adam_update(param + first, grad + first, PARAMETERS - first, other, &o);
    check_that(wg_graph_status(m.g) == WG_OK, "%s", wg_graph_message(m.g));
    return m;
}

static void updates_with_a_common_factor_are_fused(void **state)
{
    (void)state;
    for (way how = 0; how < WAYS; how++) {
        wg_value *param[PARAMETERS];
        model m = training(how, param);
        wg_plan *fused = plan_of(&m, true), *plain = plan_of(&m, false);
        assert_int_equal(steps_with(fused, updates[how].op), updates[how].times);
        assert_int_equal(steps_with(fused, &wg_op_adam) + steps_with(fused, &wg_op_adamw),
                         updates[how].alone);
        assert_int_equal(steps_with(plain, updates[how].op), 0);
        for (int step = 1; step < STEPS; step++)
            assert_true(wg_plan_run(fused, 3) == WG_OK && wg_plan_run(plain, 3) == WG_OK);
        int64_t compared = 0, moved = 0;
        for (int i = 0; i < PARAMETERS; i++) {
            const float *a = wg_plan_data(fused, param[i]), *b = wg_plan_data(plain, param[i]);
            for (int64_t k = 0; k < wg_value_count(param[i]); k++, compared++) {
                check_that(fabs((double)a[k] - (double)b[k]) <= 2e-5,
                           "way %d, parameter %d: %g, %g", (int)how, i, (double)a[k], (double)b[k]);
                moved += a[k] != 1;
            }
        }
        assert_true(compared > 50000 && moved > compared / 2);
        assert_int_equal(wg_plan_check(fused), WG_OK);
        wg_plan_free(fused);
        wg_plan_free(plain);
        wg_graph_free(m.g);
    }
}

/* The new values are written straight into the store: the buffer has no room for those of one large
 * parameter. */
static void a_fused_update_is_in_place(void **state)
{
    (void)state;
    wg_value *param[PARAMETERS];
    model m = training(CLIPPED, param);
    wg_plan *fused = plan_of(&m, true), *plain = plan_of(&m, false);
    size_t bytes = wg_plan_statistics(fused).buffer_bytes,
           fair = wg_plan_statistics(plain).buffer_bytes;
    check_that(bytes < fair + wg_value_bytes(param[0]), "%zu bytes fused, %zu plain", bytes, fair);
    wg_plan_free(fused);
    wg_plan_free(plain);
    wg_graph_free(m.g);
}

static void without_another_backend_nothing_is_fused(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *sum;
    output(&m, post_norm(&m, 0.25, false, &sum));
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, m.g, &(wg_plan_options){.reference = true}), WG_OK);
    assert_int_equal(steps_with(p, &wg_op_residual_layernorm), 0);
    wg_plan_free(p);
    wg_graph_free(m.g);
}

/* ---- the most probable classes --------------------------------------------------------------- */

static void log_softmax_and_topk_are_fused(void **state)
{
    (void)state;
    for (int variant = 0; variant < 3; variant++) {
        model m = new_model();
        wg_value *p = wg_log_softmax(leaf(&m, WG_SHAPE(B, T, 700)), -1);
        wg_value *best = output(&m, wg_topk(p, 4, variant == 1 ? 1 : -1));
        output(&m, wg_cast(wg_result_of(best, 1), WG_F32));
        if (variant == 2)
            output(&m, p);
        check_fusion(&m, &wg_op_log_softmax_topk,
                     variant == 0); /* not along another axis, nor if others read them */
    }
}

static void linear_log_softmax_and_topk_are_fused(void **state)
{
    (void)state;
    enum { WITH_BIAS = 1, IN_FIRST, READ, VARIANTS };
    for (int variant = 0; variant < VARIANTS; variant++) {
        model m = new_model();
        bool in_first = variant == IN_FIRST;
        wg_value *x = leaf(&m, WG_SHAPE(B, T, D)),
                 *weight = leaf(&m, in_first ? WG_SHAPE(D, 700) : WG_SHAPE(700, D)),
                 *bias = variant == WITH_BIAS ? leaf(&m, WG_SHAPE(700)) : NULL;
        wg_value *logits =
            in_first ? wg_matmul(x, weight) : wg_linear(x, weight, bias, WG_ACTIVATION_NONE);
        wg_value *best = output(&m, wg_topk(wg_log_softmax(logits, -1), 4, -1));
        output(&m, wg_cast(wg_result_of(best, 1), WG_F32));
        if (variant == READ)
            output(&m, logits);
        check_fusion(&m, &wg_op_linear_log_softmax_topk, variant <= WITH_BIAS);
    }
}

/* Not along another axis, nor if the logits are read by others. */
static void linear_and_topk_are_fused(void **state)
{
    (void)state;
    enum { WITHOUT_BIAS, WITH_BIAS, ADDED_BIAS, IN_FIRST, ALONG_ROWS, READ, VARIANTS };
    for (int variant = 0; variant < VARIANTS; variant++) {
        model m = new_model();
        bool in_first = variant == IN_FIRST, adds = variant == ADDED_BIAS;
        wg_value *x = leaf(&m, WG_SHAPE(B, T, D)),
                 *weight = leaf(&m, in_first ? WG_SHAPE(D, 700) : WG_SHAPE(700, D)),
                 *bias = variant == WITH_BIAS || adds ? leaf(&m, WG_SHAPE(700)) : NULL;
        wg_value *logits = in_first ? wg_matmul(x, weight)
                                    : wg_linear(x, weight, adds ? NULL : bias, WG_ACTIVATION_NONE);
        if (adds)
            logits = wg_add(logits, bias);
        wg_value *best = output(&m, wg_topk(logits, 4, variant == ALONG_ROWS ? 1 : -1));
        output(&m, wg_cast(wg_result_of(best, 1), WG_F32));
        if (variant == READ)
            output(&m, logits);
        check_fusion(&m, &wg_op_linear_topk, variant <= ADDED_BIAS);
    }
}

/* In 8 bits, not if it is cut off at 0 first, or read by others. */
static void quantized_log_softmax_and_topk_are_fused(void **state)
{
    (void)state;
    enum { WITH_BIAS = 1, CUT_OFF, READ, VARIANTS };
    for (int variant = 0; variant < VARIANTS; variant++) {
        model m = new_model();
        wg_value *x = wg_quantize(leaf(&m, WG_SHAPE(B, T, D))),
                 *weight = wg_quantize(leaf(&m, WG_SHAPE(700, D))),
                 *bias = variant == WITH_BIAS ? leaf(&m, WG_SHAPE(700)) : NULL;
        wg_value *logits =
            wg_quantized_linear(x, wg_result_of(x, 1), weight, wg_result_of(weight, 1), bias,
                                variant == CUT_OFF ? WG_ACTIVATION_RELU : WG_ACTIVATION_NONE);
        wg_value *best = output(&m, wg_topk(wg_log_softmax(logits, -1), 4, -1));
        output(&m, wg_cast(wg_result_of(best, 1), WG_F32));
        if (variant == READ)
            output(&m, logits);
        check_fusion(&m, &wg_op_quantized_linear_log_softmax_topk, variant <= WITH_BIAS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(permutations_around_attention_vanish),
        cmocka_unit_test(attention_reads_one_projection_where_it_is),
        cmocka_unit_test(other_readers_of_a_projection_get_their_part),
        cmocka_unit_test(attention_that_is_also_read_by_heads_stays),
        cmocka_unit_test(a_residual_sum_is_fused_with_its_norm),
        cmocka_unit_test(the_gradient_of_a_residual_norm_is_fused),
        cmocka_unit_test(the_gradient_is_fused_if_the_sum_is_also_read_elsewhere),
        cmocka_unit_test(a_broadcast_sum_is_not_fused_with_its_norm),
        cmocka_unit_test(a_branch_that_others_read_is_not_dropped_inside),
        cmocka_unit_test(products_with_bias_and_activation_are_linear_layers),
        cmocka_unit_test(gradients_of_fused_linear_layers_are_right),
        cmocka_unit_test(a_preactivation_that_others_read_stays),
        cmocka_unit_test(a_bias_of_another_shape_is_added),
        cmocka_unit_test(logits_of_a_training_step_are_not_computed),
        cmocka_unit_test(logits_of_validation_are_not_computed),
        cmocka_unit_test(logits_that_others_read_are_computed),
        cmocka_unit_test(a_step_that_trains_only_the_weight_is_not_fused),
        cmocka_unit_test(a_product_of_the_loss_is_not_taken_from_it),
        cmocka_unit_test(a_bad_target_is_named),
        cmocka_unit_test(updates_with_a_common_factor_are_fused),
        cmocka_unit_test(a_fused_update_is_in_place),
        cmocka_unit_test(log_softmax_and_topk_are_fused),
        cmocka_unit_test(linear_log_softmax_and_topk_are_fused),
        cmocka_unit_test(linear_and_topk_are_fused),
        cmocka_unit_test(quantized_log_softmax_and_topk_are_fused),
        cmocka_unit_test(without_another_backend_nothing_is_fused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
