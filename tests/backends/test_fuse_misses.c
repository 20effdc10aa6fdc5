/* Nearly what a pattern of the fusion looks for: another axis, a second reader, a bias or reshape
 * where the pattern has none, other attributes.  What is not the pattern is not fused, and the
 * results are those of the plan without fusions. */
#include "tests/fusions.h"
#include "wengert/models/optimizer.h"

enum { CLASSES = 11, ROWS = 6, K = 3 };

/* ---- norms of sums --------------------------------------------------------------------------- */

static void a_norm_over_two_axes_is_not_that_of_a_residual_sum(void **state)
{
    (void)state;
    for (int gradient = 0; gradient < 2; gradient++) {
        model m = new_model();
        wg_value *x = leaf(&m, WG_SHAPE(B, T, D));
        wg_value *branch = wg_dropout(leaf(&m, WG_SHAPE(B, T, D)), 0.25);
        wg_value *y = wg_layernorm(wg_add(x, branch), leaf(&m, WG_SHAPE(T, D)),
                                   leaf(&m, WG_SHAPE(T, D)), 2, 1e-5);
        output(&m, y);
        if (gradient)
            add_gradients(&m, y);
        check_fusion(&m, gradient ? &wg_op_residual_layernorm_grad : &wg_op_residual_layernorm, 0);
    }
}

/* ---- the loss of a linear layer -------------------------------------------------------------- */

enum { BIAS, ACTIVATION, IN_FIRST, BATCHED, NO_LAYER, EACH_LOSS, LAYERS };

static wg_value *logits_of(model *m, int how)
{
    wg_value *x = leaf(m, how == BATCHED ? WG_SHAPE(1, ROWS, D) : WG_SHAPE(ROWS, D));
    wg_value *w = leaf(m, how == BATCHED    ? WG_SHAPE(1, CLASSES, D)
                          : how == IN_FIRST ? WG_SHAPE(D, CLASSES)
                                            : WG_SHAPE(CLASSES, D));
    switch (how) {
    case BIAS: return wg_linear(x, w, leaf(m, WG_SHAPE(CLASSES)), WG_ACTIVATION_NONE);
    case ACTIVATION: return wg_linear(x, w, NULL, WG_ACTIVATION_TANH);
    case IN_FIRST: return wg_matmul(x, w);
    case BATCHED: return wg_reshape(wg_matmul_t(x, w, WG_NT), WG_SHAPE(ROWS, CLASSES));
    case NO_LAYER: return wg_tanh(wg_matmul_t(x, w, WG_NT));
    default: return wg_matmul_t(x, w, WG_NT);
    }
}

static void add_gradients_of_sum(model *m, wg_value *loss)
{
    wg_value *d[MAX];
    const size_t n = (size_t)m->n_leaves;
    check_that(wg_grad(wg_sum(loss, WG_ALL_AXES, WG_DROP), m->leaf, n, d) == WG_OK, "%s",
               wg_graph_message(m->g));
    for (size_t i = 0; i < n; i++)
        output(m, d[i]);
}

static void a_loss_of_other_logits_computes_them(void **state)
{
    (void)state;
    for (int how = 0; how < LAYERS; how++)
        for (int gradient = 0; gradient < 2; gradient++) {
            model m = new_model();
            wg_value *targets = wg_iota(m.g, WG_I32, WG_SHAPE(ROWS), -1, 0, 1);
            const wg_cross_entropy_attrs a = {.reduction =
                                                  how == EACH_LOSS ? WG_LOSS_NONE : WG_LOSS_MEAN};
            wg_value *loss = output(&m, wg_cross_entropy(logits_of(&m, how), targets, NULL, &a));
            if (gradient)
                add_gradients_of_sum(&m, loss);
            check_fusion(
                &m, gradient ? &wg_op_linear_cross_entropy_step : &wg_op_linear_cross_entropy, 0);
        }
}

/* What reads the gradient of the logits is not what the step computes from it. */
enum { SECOND_READER, ONLY_OF_X, OTHER_PRODUCT, STEPS };

static void a_gradient_of_logits_that_is_used_otherwise_is_computed(void **state)
{
    (void)state;
    for (int how = 0; how < STEPS; how++) {
        model m = new_model();
        wg_value *x = leaf(&m, WG_SHAPE(ROWS, D)), *w = leaf(&m, WG_SHAPE(CLASSES, D)), *d[3];
        wg_value *logits = wg_matmul_t(x, w, WG_NT);
        wg_value *targets = wg_iota(m.g, WG_I32, WG_SHAPE(ROWS), -1, 0, 1);
        wg_value *loss = output(&m, wg_cross_entropy(logits, targets, NULL, NULL));
        wg_value *wrt[] = {x, w, logits};
        if (how == SECOND_READER) {
            check_that(wg_grad(loss, wrt, 3, d) == WG_OK, "%s", wg_graph_message(m.g));
            for (int i = 0; i < 3; i++)
                output(&m, d[i]);
        } else {
            check_that(wg_grad(loss, wrt + 2, 1, d) == WG_OK, "%s", wg_graph_message(m.g));
            output(&m, wg_matmul(d[0], w));
            if (how == OTHER_PRODUCT)
                output(&m, wg_matmul_t(d[0], wg_tanh(x), WG_TN));
        }
        check_fusion(&m, &wg_op_linear_cross_entropy_step, 0);
    }
}

/* ---- the most probable classes --------------------------------------------------------------- */

enum { SOFTMAX_AXIS, TOPK_AXIS, SOFTMAX_READ, NO_SOFTMAX, SEARCHES };

static void the_most_probable_along_another_axis_are_not_fused(void **state)
{
    (void)state;
    for (int how = 0; how < SEARCHES; how++) {
        model m = new_model();
        wg_value *x = leaf(&m, WG_SHAPE(ROWS, CLASSES));
        wg_value *p =
            how == NO_SOFTMAX ? wg_tanh(x) : wg_log_softmax(x, how == SOFTMAX_AXIS ? 0 : -1);
        if (how == SOFTMAX_READ)
            output(&m, p);
        output(&m, wg_topk(p, K, how == TOPK_AXIS ? 0 : -1));
        check_fusion(&m, &wg_op_log_softmax_topk, 0);
    }
}

enum { LOGITS_READ, WEIGHT_IN_FIRST, WIDE_BIAS, ACTIVE, HEADS };

static void the_most_probable_of_other_layers_have_their_logits_first(void **state)
{
    (void)state;
    for (int how = 0; how < HEADS; how++) {
        model m = new_model();
        wg_value *x = leaf(&m, WG_SHAPE(ROWS, D));
        wg_value *w =
            leaf(&m, how == WEIGHT_IN_FIRST ? WG_SHAPE(D, CLASSES) : WG_SHAPE(CLASSES, D));
        wg_value *y = how == ACTIVE ? wg_linear(x, w, NULL, WG_ACTIVATION_TANH)
                                    : wg_matmul_t(x, w, how == WEIGHT_IN_FIRST ? WG_NN : WG_NT);
        if (how == WIDE_BIAS)
            y = wg_add(y, leaf(&m, WG_SHAPE(ROWS, 1)));
        if (how == LOGITS_READ)
            output(&m, y);
        output(&m, wg_topk(wg_log_softmax(y, -1), K, -1));
        check_fusion(&m, &wg_op_linear_log_softmax_topk, 0);
    }
}

/* ---- linear layers --------------------------------------------------------------------------- */

enum { TRANSPOSED, BATCH_OF_WEIGHTS, LONG_BIAS, TWICE_ACTIVE, PRODUCT_READ, DENSES };

static wg_value *odd_dense(model *m, int how)
{
    const bool many = how == BATCH_OF_WEIGHTS;
    wg_value *x = leaf(m, how == TRANSPOSED ? WG_SHAPE(D, ROWS) : WG_SHAPE(2, ROWS, D));
    wg_value *w = leaf(m, many ? WG_SHAPE(2, D, K) : WG_SHAPE(D, K));
    wg_value *y = how == TWICE_ACTIVE ? wg_tanh(wg_add(x, x))
                                      : wg_matmul_t(x, w, how == TRANSPOSED ? WG_TN : WG_NN);
    if (how == PRODUCT_READ)
        output(m, y);
    if (how == LONG_BIAS)
        y = wg_add(y, leaf(m, WG_SHAPE(ROWS, K)));
    else if (how == PRODUCT_READ)
        y = wg_add(leaf(m, WG_SHAPE(K)), y);
    return wg_tanh(y);
}

static void products_that_are_no_linear_layer_stay_products(void **state)
{
    (void)state;
    for (int how = 0; how < DENSES; how++)
        for (int gradient = 0; gradient < 2; gradient++) {
            model m = new_model();
            wg_value *y = output(&m, odd_dense(&m, how));
            if (gradient)
                add_gradients(&m, y);
            check_fusion(&m, &wg_op_linear, 0);
        }
}

/* ---- attention ------------------------------------------------------------------------------- */

enum { OTHER_ORDER, OTHER_ORDER_OF_RESULT, NOT_PERMUTED, ATTENTIONS };

static wg_value *heads_of(model *m, wg_axes order)
{
    wg_value *x = leaf(m, WG_SHAPE(B, T, D));
    return wg_permute(wg_reshape(x, WG_SHAPE(B, T, H, D / H)), order);
}

static void attention_between_other_permutations_stays(void **state)
{
    (void)state;
    for (int how = 0; how < ATTENTIONS; how++)
        for (int gradient = 0; gradient < 2; gradient++) {
            model m = new_model();
            wg_axes order = how == OTHER_ORDER ? WG_AXES(2, 0, 1, 3) : WG_AXES(0, 2, 1, 3);
            wg_value *q =
                how == NOT_PERMUTED ? leaf(&m, WG_SHAPE(B, H, T, D / H)) : heads_of(&m, order);
            wg_value *k = heads_of(&m, order), *v = heads_of(&m, order);
            wg_value *y = wg_attention(q, k, v, NULL, &(wg_attention_attrs){.causal = true});
            y = wg_permute(y, how == OTHER_ORDER_OF_RESULT ? WG_AXES(2, 0, 1, 3)
                                                           : WG_AXES(0, 2, 1, 3));
            output(&m, y);
            if (gradient)
                add_gradients(&m, y);
            check_fusion(&m, gradient ? &wg_op_attention_by_token_grad : &wg_op_attention_by_token,
                         0);
        }
}

/* Queries, keys and values of one projection, but cut along the tokens, or of two projections, or
 * into four parts. */
enum { OTHER_AXIS, TWO_PROJECTIONS, FOUR_PARTS, ORDER_OF_PARTS, CUTS };

static wg_value *cut_attention(model *m, int how)
{
    const int64_t same[] = {T, T, T}, wide[] = {D, D, D, D};
    wg_value *x = leaf(m, how == OTHER_AXIS   ? WG_SHAPE(B, 3 * T, D)
                          : how == FOUR_PARTS ? WG_SHAPE(B, T, 4 * D)
                                              : WG_SHAPE(B, T, 3 * D));
    wg_value *cut = how == OTHER_AXIS ? wg_split(x, 1, same, 3)
                                      : wg_split(x, -1, wide, how == FOUR_PARTS ? 4 : 3);
    wg_value *other =
        how == TWO_PROJECTIONS ? wg_split(leaf(m, WG_SHAPE(B, T, 3 * D)), -1, wide, 3) : cut;
    wg_value *part[3];
    for (int i = 0; i < 3; i++)
        part[i] = wg_permute(
            wg_reshape(wg_result_of(i == 2 ? other : cut, how == ORDER_OF_PARTS ? 2 - i : i),
                       WG_SHAPE(B, T, H, D / H)),
            WG_AXES(0, 2, 1, 3));
    wg_value *y = wg_attention(part[0], part[1], part[2], NULL, NULL);
    return wg_reshape(wg_permute(y, WG_AXES(0, 2, 1, 3)), WG_SHAPE(B, T, D));
}

static void attention_of_other_cuts_is_not_packed(void **state)
{
    (void)state;
    for (int how = 0; how < CUTS; how++)
        for (int gradient = 0; gradient < 2; gradient++) {
            model m = new_model();
            wg_value *y = output(&m, cut_attention(&m, how));
            if (gradient)
                add_gradients(&m, y);
            check_fusion(&m, gradient ? &wg_op_packed_attention_grad : &wg_op_packed_attention, 0);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_norm_over_two_axes_is_not_that_of_a_residual_sum),
        cmocka_unit_test(a_loss_of_other_logits_computes_them),
        cmocka_unit_test(a_gradient_of_logits_that_is_used_otherwise_is_computed),
        cmocka_unit_test(the_most_probable_along_another_axis_are_not_fused),
        cmocka_unit_test(the_most_probable_of_other_layers_have_their_logits_first),
        cmocka_unit_test(products_that_are_no_linear_layer_stay_products),
        cmocka_unit_test(attention_between_other_permutations_stays),
        cmocka_unit_test(attention_of_other_cuts_is_not_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
