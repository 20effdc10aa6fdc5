/* Convolutions in blocks of channels: a plan keeps chains of them in that layout, with the sum and
 * the relu that follow in one kernel, and changes no result beyond rounding.  Weights that are
 * promised to stay are reordered once. */
#include "tests/fusions.h"

enum { BATCH = 2, CHANNELS = 32, SIZE = 7 };

static wg_value *image(model *m, int64_t channels)
{
    return leaf(m, WG_SHAPE(BATCH, channels, SIZE, SIZE));
}

/* A convolution of one to three taps each way that keeps the size, if its stride is 1. */
static wg_value *conv(model *m, wg_value *x, int64_t out, int64_t taps, int64_t stride, bool bias)
{
    const wg_conv2d_options o = {.stride = {stride, stride}, .padding = {taps / 2, taps / 2}};
    wg_value *w = wg_scale(leaf(m, WG_SHAPE(out, x->shape.dim[1], taps, taps)), 0.1);
    return wg_conv2d(x, w, bias ? leaf(m, WG_SHAPE(out)) : NULL, &o);
}

/* The blocks that the plan reorders to, and back. */
static void check_reorders(model *m, int to, int from)
{
    wg_plan *p = plan_of(m, true);
    assert_int_equal(steps_with(p, &wg_op_block_channels), to);
    assert_int_equal(steps_with(p, &wg_op_unblock_channels), from);
    wg_plan_free(p);
}

/* ---- layouts --------------------------------------------------------------------------------- */

static void what_lies_between_convolutions_stays_in_blocks(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *x =
        wg_tanh(conv(&m, image(&m, 3), CHANNELS, 3, 2, true)); /* an image has no blocks */
    x = wg_relu(conv(&m, x, CHANNELS, 1, 1, true));
    x = wg_mul(x, wg_sigmoid(conv(&m, x, CHANNELS, 3, 1, false)));
    output(&m, x);
    check_reorders(&m, 0, 1);
    check_fusion(&m, &wg_op_blocked_conv2d, 3);
}

static void other_readers_get_our_layout(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *x = conv(&m, image(&m, CHANNELS), CHANNELS, 3, 1, true);
    output(&m, x); /* read both ways */
    wg_value *y = conv(&m, wg_relu(x), CHANNELS, 3, 1, true);
    output(&m, wg_mean(y, WG_AXES(2, 3), WG_DROP));
    output(&m, wg_add(y, leaf(&m, WG_SHAPE(1, CHANNELS, 1, 1))));
    check_reorders(&m, 1, 2);
    check_fusion(&m, &wg_op_blocked_conv2d, 2);
}

/* Those of one tap come along, but do not begin. */
static void pointwise_convolutions_alone_stay(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *x = conv(&m, image(&m, CHANNELS), CHANNELS, 1, 1, true);
    output(&m, conv(&m, wg_relu(x), CHANNELS, 1, 1, true));
    check_fusion(&m, &wg_op_blocked_conv2d, 0);
    m = new_model();
    x = conv(&m, image(&m, CHANNELS), CHANNELS, 1, 1, true);
    output(&m, conv(&m, wg_relu(x), CHANNELS, 3, 1, true));
    check_reorders(&m, 1, 1);
    check_fusion(&m, &wg_op_blocked_conv2d, 2);
}

/* Planes of 16x16 are large enough for it. */
static void minimal_filtering_keeps_our_layout_where_it_has_most(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *x = leaf(&m, WG_SHAPE(BATCH, CHANNELS, 16, 16));
    x = wg_relu(conv(&m, x, CHANNELS, 3, 1, true));
    output(&m, conv(&m, x, CHANNELS, 3, 2, true)); /* a fifth of the work */
    check_fusion(&m, &wg_op_blocked_conv2d, 0);
    m = new_model();
    x = leaf(&m, WG_SHAPE(BATCH, CHANNELS, 16, 16));
    x = wg_relu(conv(&m, x, CHANNELS, 3, 1, true));
    output(&m, conv(&m, x, 8 * CHANNELS, 3, 2, true)); /* two thirds */
    check_fusion(&m, &wg_op_blocked_conv2d, 2);
}

static void groups_are_convolved_in_blocks(void **state)
{
    (void)state;
    model m = new_model();
    const wg_conv2d_options depthwise = {.padding = {1, 1}, .groups = CHANNELS};
    wg_value *x = conv(&m, image(&m, 3), CHANNELS, 3, 1, true);
    x = wg_conv2d(x, leaf(&m, WG_SHAPE(CHANNELS, 1, 3, 3)), leaf(&m, WG_SHAPE(CHANNELS)),
                  &depthwise);
    output(&m, conv(&m, wg_relu(x), CHANNELS, 1, 1, true));
    check_fusion(&m, &wg_op_blocked_conv2d, 3);
}

/* Channels that no block divides, other dtypes, and plans that need values for gradients. */
static void other_convolutions_stay(void **state)
{
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        model m = new_model();
        int64_t channels = variant == 0 ? 12 : CHANNELS;
        wg_value *x = image(&m, channels);
        if (variant == 1)
            x = wg_cast(x, WG_F64);
        wg_value *w = wg_cast(leaf(&m, WG_SHAPE(channels, channels, 3, 3)), x->dtype);
        wg_value *y = wg_relu(wg_conv2d(x, w, NULL, NULL));
        output(&m, wg_cast(wg_relu(wg_conv2d(y, w, NULL, NULL)), WG_F32));
        if (variant == 2)
            add_gradients(&m, m.out[0]);
        if (variant < 3)
            check_fusion(&m, &wg_op_blocked_conv2d, 0);
        else
            check_fusion(&m, &wg_op_blocked_conv2d, 2);
    }
}

/* ---- sums and relu --------------------------------------------------------------------------- */

/* A block of a residual network, in several ways; two or three convolutions. */
static wg_value *residual(model *m, int how)
{
    wg_value *x = wg_relu(conv(m, image(m, CHANNELS), CHANNELS, 3, 1, true));
    bool bias = how != 3;
    wg_value *y = conv(m, x, CHANNELS, 3, 1, bias);
    switch (how) {
    case 0: return wg_relu(wg_add(x, y));
    case 1: return wg_add(y, x);
    case 2: return wg_relu(wg_add(conv(m, x, CHANNELS, 1, 1, true), y));
    case 3: return wg_relu(wg_add(y, x));            /* no bias: the sum is by itself */
    case 4: return wg_relu(wg_add(y, y));            /* both operands */
    case 5: return wg_add(wg_relu(wg_add(x, y)), x); /* c is read again */
    case 6: return wg_add(wg_relu(wg_add(x, y)), y); /* and so is y */
    default: return wg_add(wg_relu(y), wg_relu(wg_scale(y, 2)));
    }
}

static void sums_and_relu_are_part_of_the_convolution(void **state)
{
    (void)state;
    static const struct {
        int convolutions, sums, relus;
    } left[] = {{2, 0, 0}, {2, 0, 0}, {3, 0, 0}, {2, 1, 1},
                {2, 1, 1}, {2, 1, 0}, {2, 2, 1}, {2, 1, 2}};
    for (int how = 0; how < WG_COUNT(left); how++) {
        model m = new_model();
        output(&m, residual(&m, how));
        wg_plan *p = plan_of(&m, true);
        assert_int_equal(steps_with(p, &wg_op_add), left[how].sums);
        assert_int_equal(steps_with(p, &wg_op_relu), left[how].relus);
        wg_plan_free(p);
        check_fusion(&m, &wg_op_blocked_conv2d, left[how].convolutions);
    }
}

/* oneDNN's own relu would make 0 of NaN. */
static void relu_keeps_nan(void **state)
{
    (void)state;
    model m = new_model();
    output(&m, residual(&m, 0));
    wg_plan *p = plan_of(&m, true);
    wg_plan_f32(p, m.leaf[0])[0] = NAN;
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    const float *y = wg_plan_f32(p, m.out[0]);
    int nan = 0, zero = 0;
    for (int64_t i = 0; i < wg_value_count(m.out[0]); i++) {
        nan += isnan(y[i]) != 0;
        zero += y[i] == 0;
    }
    assert_true(nan > 0 && zero > 0);
    wg_plan_free(p);
    wg_graph_free(m.g);
}

/* ---- weights that stay ----------------------------------------------------------------------- */

static wg_graph *weighted(bool assigns)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(BATCH, CHANNELS, SIZE, SIZE));
    wg_value *w =
        wg_parameter(g, "w", WG_F32, WG_SHAPE(CHANNELS, CHANNELS, 3, 3), wg_normal_init(0.1));
    wg_output(wg_relu(wg_conv2d(x, w, NULL, NULL)), "y");
    if (assigns)
        wg_assign(w, wg_scale(w, 0.5));
    return g;
}

/* How many kernels have packed their weights. */
static int packed(const wg_plan *p)
{
    int found = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        found += strstr(wg_plan_step_at(p, i).kernel, " packed") != NULL;
    return found;
}

static wg_plan *plan_weighted(wg_graph *g, const wg_plan_options *o)
{
    wg_plan *p;
    check_that(wg_plan_create(&p, g, o) == WG_OK, "%s", wg_graph_message(g));
    const wg_value *x = wg_graph_find(g, "x");
    for (int64_t i = 0; i < wg_value_count(x); i++)
        wg_plan_f32(p, x)[i] = (float)sin(1.7 * (double)i);
    return p;
}

static void weights_that_stay_are_packed_once(void **state)
{
    (void)state;
    enum { RUNS = 3 };
    wg_graph *g = weighted(false);
    wg_store *store = wg_store_new(1);
    wg_plan *kept = plan_weighted(g, &(wg_plan_options){.store = store, .fixed_parameters = true});
    wg_plan *plain = plan_weighted(g, &(wg_plan_options){.store = store});
    const wg_value *y = wg_graph_output(g, 0);
    assert_int_equal(packed(kept), 1);
    assert_int_equal(packed(plain), 0);
    for (int run = 0; run < RUNS; run++) {
        assert_true(wg_plan_run(kept, 0) == WG_OK && wg_plan_run(plain, 0) == WG_OK);
        assert_memory_equal(wg_plan_f32(kept, y), wg_plan_f32(plain, y), wg_value_bytes(y));
        wg_plan_f32(kept, wg_graph_find(g, "x"))[run] = 2; /* inputs change */
        wg_plan_f32(plain, wg_graph_find(g, "x"))[run] = 2;
    }
    /* the promise broken: what was packed stays */
    memset(wg_store_find(store, "w")->data, 0, wg_value_bytes(wg_graph_find(g, "w")));
    assert_true(wg_plan_run(kept, 0) == WG_OK && wg_plan_run(plain, 0) == WG_OK);
    assert_memory_not_equal(wg_plan_f32(kept, y), wg_plan_f32(plain, y), wg_value_bytes(y));
    wg_plan_free(kept);
    wg_plan_free(plain);
    wg_store_free(store);
    wg_graph_free(g);
}

static void weights_that_change_are_not_packed(void **state)
{
    (void)state;
    for (int assigns = 0; assigns < 2; assigns++) {
        wg_graph *g = weighted(assigns);
        wg_plan *p = plan_weighted(
            g, &(wg_plan_options){.fixed_parameters = true, .memory = assigns ? 0 : 1 << 30});
        assert_int_equal(packed(p), 0);
        assert_int_equal(wg_plan_run(p, 0), WG_OK);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_lies_between_convolutions_stays_in_blocks),
        cmocka_unit_test(other_readers_get_our_layout),
        cmocka_unit_test(pointwise_convolutions_alone_stay),
        cmocka_unit_test(minimal_filtering_keeps_our_layout_where_it_has_most),
        cmocka_unit_test(groups_are_convolved_in_blocks),
        cmocka_unit_test(other_convolutions_stay),
        cmocka_unit_test(sums_and_relu_are_part_of_the_convolution),
        cmocka_unit_test(relu_keeps_nan),
        cmocka_unit_test(weights_that_stay_are_packed_once),
        cmocka_unit_test(weights_that_change_are_not_packed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
