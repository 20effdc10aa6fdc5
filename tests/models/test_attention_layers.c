/* Layers of attention with groups of heads, windows and biases. */
#include "tests/layers.h"

/* With one head of keys for each pair of heads, and a window, as with the mask that says so. */
static void attention_layers_take_groups_windows_and_biases(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_scope_reuse(g);
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(2, 5, 8)), *w[16];
    const wg_multi_head_options window = {
        .heads = 4, .key_heads = 2, .window = true, .left = 1, .right = 2, .rotary = true};
    wg_multi_head_options mask = {.heads = 4, .key_heads = 2, .rotary = true};
    wg_value *t = wg_iota(g, WG_I64, WG_SHAPE(5, 1), 0, 0, 1),
             *s = wg_iota(g, WG_I64, WG_SHAPE(1, 5), 1, 0, 1), *between = wg_sub(s, t);
    wg_value *seen = wg_logical_and(wg_greater_equal(between, wg_scalar_like(between, -1)),
                                    wg_less_equal(between, wg_scalar_like(between, 2)));
    mask.bias = wg_reshape(seen, WG_SHAPE(1, 1, 5, 5));
    wg_value *a = wg_output(wg_multi_head_attention("attention", x, x, &window), "a"),
             *b = wg_output(wg_multi_head_attention("attention", x, x, &mask), "b");
    check_that(a && b, "%s", wg_graph_message(g));
    assert_int_equal(wg_graph_parameters(g, w, 16), 8);
    layers_check_shape(wg_graph_find(g, "attention/q/weight"), WG_SHAPE(8, 8));
    layers_check_shape(wg_graph_find(g, "attention/k/weight"), WG_SHAPE(4, 8));
    wg_plan *p = layers_plan(g, NULL);
    layers_run(p, 0);
    for (int64_t k = 0; k < wg_value_count(a); k++)
        assert_true(numbers_close(small_at(p, a, k), small_at(p, b, k), 1e-14));
    assert_true(small_at(p, a, 0) != 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* The last query over a pool of the same keys, which two heads share each. */
static void grouped_heads_attend_to_slots_as_to_tokens(void **state)
{
    (void)state;
    enum { B = 3, T = 4 };
    int64_t slots[B * T], lengths[B] = {T, T, T};
    for (int64_t i = 0; i < B * T; i++)
        slots[i] = i;
    wg_graph *g = wg_graph_new();
    wg_scope_reuse(g);
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(B, T, 8));
    wg_multi_head_options o = {.heads = 4, .key_heads = 2, .causal = true};
    wg_projections p = wg_attention_projections(x, x, &o), last = p;
    wg_value *all = wg_attention_heads(p, &o);
    last.q = wg_slice(p.q, 1, T - 1, T, 1);
    last.k = wg_reshape(p.k, WG_SHAPE(B * T, 1, 4));
    last.v = wg_reshape(p.v, WG_SHAPE(B * T, 1, 4));
    o.causal = false;
    o.slots = wg_constant(g, WG_I64, WG_SHAPE(B, T), slots);
    o.lengths = wg_constant(g, WG_I64, WG_SHAPE(B), lengths);
    wg_value *a = wg_output(wg_slice(all, 1, T - 1, T, 1), "a"),
             *b = wg_output(wg_attention_heads(last, &o), "b");
    check_that(a && b, "%s", wg_graph_message(g));
    wg_plan *plan = layers_plan(g, NULL);
    layers_run(plan, 0);
    assert_int_equal(wg_value_count(b), B * 8);
    for (int64_t k = 0; k < B * 8; k++)
        assert_true(numbers_close(small_at(plan, a, k), small_at(plan, b, k), 1e-14));
    wg_plan_free(plan);
    wg_graph_free(g);
}

/* Slopes of 8 heads are 1/2, 1/4, ...; 6 heads have those of 4 and then every second of 8. */
static void alibi_falls_with_the_distance(void **state)
{
    (void)state;
    static const double of_8[] = {-1, -2, -3, -4, -5, -6, -7, -8},
                        of_6[] = {-2, -4, -6, -8, -1, -3};
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_output(wg_alibi(g, WG_F64, 8, 3, 5), "a"),
             *b = wg_output(wg_alibi(g, WG_F32, 6, 3, 5), "b");
    check_that(a && b, "%s", wg_graph_message(g));
    wg_plan *p = layers_plan(g, NULL);
    layers_run(p, 0);
    for (int i = 0; i < 14; i++)
        for (int64_t k = 0; k < 15; k++) {
            int64_t head = i < 8 ? i : i - 8, distance = k % 5 - k / 5;
            double m = exp2(i < 8 ? of_8[head] : of_6[head]);
            assert_true(small_at(p, i < 8 ? a : b, head * 15 + k) ==
                        -m * (double)(distance < 0 ? -distance : distance));
        }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_relative_bias_is_looked_up_by_distance(void **state)
{
    (void)state;
    enum { HEADS = 3, T = 4, S = 6, RADIUS = 2 };
    wg_graph *g = wg_graph_new();
    wg_value *w, *dw, *b = wg_relative_bias("bias", g, WG_F64, HEADS, T, S, RADIUS);
    check_that(wg_graph_parameters(g, &w, 1) == 1, "%s", wg_graph_message(g));
    assert_string_equal(w->name, "bias/weight");
    wg_grad(wg_sum(b, WG_ALL_AXES, WG_DROP), &w, 1, &dw);
    wg_output(b, "b");
    wg_output(dw, "dw");
    wg_plan *p = layers_plan(g, NULL);
    double uses[HEADS * (2 * RADIUS + 1)] = {0}, *table = wg_plan_data(p, w);
    for (int i = 0; i < WG_COUNT(uses); i++)
        table[i] = i + 0.5;
    layers_run(p, 0);
    for (int64_t k = 0; k < HEADS * T * S; k++) {
        int64_t h = k / S / T, d = k % S - k / S % T;
        d = d < -RADIUS ? -RADIUS : d > RADIUS ? RADIUS : d;
        int64_t place = h * (2 * RADIUS + 1) + d + RADIUS;
        assert_true(small_at(p, b, k) == (double)place + 0.5);
        uses[place]++;
    }
    for (int i = 0; i < WG_COUNT(uses); i++)
        assert_true(small_at(p, dw, i) == uses[i]);
    wg_plan_free(p);
    wg_graph_free(g);
    g = wg_graph_new();
    assert_null(wg_relative_bias("bias", g, WG_F64, HEADS, T, S, -1));
    small_refused(g, "wg_relative_bias: radius is -1, must be in [0, 2^30]");
    g = wg_graph_new();
    assert_null(wg_alibi(g, WG_F32, 0, T, S));
    small_refused(g, "wg_alibi: 0 heads, 4 queries and 6 keys of f32");
}

static void attention_layers_refuse_what_they_cannot_do(void **state)
{
    (void)state;
    static const struct {
        wg_multi_head_options o;
        bool bias;
        const char *words;
    } bad[] = {
        {{.heads = 4, .key_heads = 3}, false, "4 heads of queries cannot share 3 heads of keys"},
        {{.heads = 4, .key_heads = -1}, false, "4 heads of queries cannot share -1 heads of keys"},
        {{.heads = 4, .kind = WG_ATTENTION_ADDITIVE, .window = true},
         false,
         "additive attention has no window"},
        {{.heads = 4, .key_heads = 2, .kind = WG_ATTENTION_ADDITIVE},
         false,
         "additive attention has no key_heads"},
        {{.kind = WG_ATTENTION_ADDITIVE}, true, "additive attention has no bias"},
        {{.left = 3}, false, "left is 3 and right is 0, but window is false"},
        {{.heads = -1}, false, "heads is -1, d_k 0, d_v 0: out of range"},
        {{.heads = INT64_MAX}, false, ", d_k 0, d_v 0: out of range"},
        {{.d_k = -1}, false, "heads is 0, d_k -1, d_v 0: out of range"},
        {{.d_k = INT64_C(1) << 31}, false, "d_k 2147483648, d_v 0: out of range"},
        {{.d_v = -1}, false, "heads is 0, d_k 0, d_v -1: out of range"},
        {{.d_v = INT64_C(1) << 31}, false, "d_k 0, d_v 2147483648: out of range"},
        {{.heads = 3}, false, "3 heads do not divide 8 features"},
        {{.heads = 3, .d_k = 2}, false, "3 heads do not divide 8 features"},
    };
    for (int i = 0; i < WG_COUNT(bad); i++) {
        wg_graph *g = wg_graph_new();
        wg_multi_head_options o = bad[i].o;
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 5, 8));
        o.bias = bad[i].bias ? wg_input(g, "bias", WG_F32, WG_SHAPE(1, 1, 5, 5)) : NULL;
        assert_null(wg_multi_head_attention("attention", x, x, &o));
        assert_non_null(strstr(wg_graph_message(g), "test_attention_layers.c:"));
        small_refused(g, bad[i].words);
    }
}

/* x and memory without three axes; queries, keys and values by hand that have other axes, or sizes
 * that the heads do not divide, or are missing. */
static void attention_refuses_operands_of_other_shapes(void **state)
{
    (void)state;
    static const struct {
        int wrong; /* 0 to 2: q, k or v */
        int rank;
        const char *words;
    } bad[] = {
        {0, 2, "q has 2 axes, must have 3 [B, T, d]"},
        {1, 2, "k has 2 axes, must have 3 [B, T, d]"},
        {2, 2, "v has 2 axes, must have 3 [B, T, d]"},
        {0, 3, "2 heads do not divide 7 features"},
        {1, 3, "2 heads do not divide 7 features"},
        {2, 3, "2 heads do not divide 7 features"},
        {0, 0, ""},
        {1, 0, ""},
        {2, 0, ""},
    };
    static const char *const names[] = {"q", "k", "v"};
    const wg_multi_head_options o = {.heads = 2, .d_k = 4, .d_v = 4};
    for (int i = 0; i < WG_COUNT(bad); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *operand[3];
        for (int k = 0; k < 3; k++)
            operand[k] = wg_input(g, names[k], WG_F32, WG_SHAPE(2, 5, 8));
        operand[bad[i].wrong] = bad[i].rank == 0   ? NULL
                                : bad[i].rank == 2 ? wg_input(g, "odd", WG_F32, WG_SHAPE(5, 8))
                                                   : wg_input(g, "odd", WG_F32, WG_SHAPE(2, 5, 7));
        const wg_projections p = {.q = operand[0], .k = operand[1], .v = operand[2]};
        assert_null(wg_attention_heads(p, &o));
        if (bad[i].rank == 0) /* whoever made NULL has said why */
            wg_graph_free(g);
        else
            small_refused(g, bad[i].words);
    }
    for (int i = 0; i < 2; i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 5, 8)),
                 *flat = wg_input(g, "flat", WG_F32, WG_SHAPE(5, 8));
        assert_null(wg_multi_head_attention("attention", i ? x : flat, i ? flat : x, &o));
        small_refused(g, i ? "memory has 2 axes, must have 3" : "x has 2 axes, must have 3");
    }
    wg_graph *g = wg_graph_new();
    assert_null(
        wg_multi_head_attention("a", wg_input(g, "x", WG_F32, WG_SHAPE(2, 5, 8)), NULL, &o));
    assert_null(
        wg_multi_head_attention("a", NULL, wg_input(g, "m", WG_F32, WG_SHAPE(2, 5, 8)), &o));
    assert_null(wg_attention_projections(NULL, NULL, &o).q);
    wg_graph_free(g);
}

/* One matrix makes queries, keys and values of one x; a memory has matrices of its own. */
static void projections_are_fused_for_self_attention_alone(void **state)
{
    (void)state;
    for (int cross = 0; cross < 2; cross++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 5, 8)),
                 *memory = wg_input(g, "memory", WG_F32, WG_SHAPE(2, 3, 8));
        const wg_multi_head_options o = {.heads = 2, .fused = true};
        wg_value *y = wg_multi_head_attention("a", x, cross ? memory : x, &o);
        check_that(y != NULL, "%s", wg_graph_message(g));
        assert_true((wg_graph_find(g, "a/qkv/weight") != NULL) == !cross);
        assert_true((wg_graph_find(g, "a/k/weight") != NULL) == cross);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_layers_take_groups_windows_and_biases),
        cmocka_unit_test(grouped_heads_attend_to_slots_as_to_tokens),
        cmocka_unit_test(alibi_falls_with_the_distance),
        cmocka_unit_test(a_relative_bias_is_looked_up_by_distance),
        cmocka_unit_test(attention_layers_refuse_what_they_cannot_do),
        cmocka_unit_test(attention_refuses_operands_of_other_shapes),
        cmocka_unit_test(projections_are_fused_for_self_attention_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
