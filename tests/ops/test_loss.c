/* Losses: exact values, ignored targets, smoothing at the edges, wrong targets. */
#include "tests/numbers.h"

static const double F64_BAR = 1e-14;

static wg_value *ids(wg_graph *g, wg_shape shape, const double *x)
{
    return numbers(g, WG_I64, shape, x);
}

/* ---- cross entropy --------------------------------------------------------------------------- */

static void smoothing_of_a_ramp(void **state)
{
    (void)state;
    const double x[] = {0, 1, 2, 3, 4}, t[] = {3};
    const struct {
        double smoothing, loss;
        int spread;
    } cases[] = {
        {0, 1.451914396, WG_SMOOTH_UNIFORM},
        {0.1, 1.551914396, WG_SMOOTH_UNIFORM},
        {0.1, 1.576914396, WG_SMOOTH_OFF_TARGET},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_cross_entropy_attrs a = {.smoothing = cases[i].smoothing, .spread = cases[i].spread};
        wg_value *v = wg_cross_entropy(numbers(g, WG_F64, WG_SHAPE(1, 5), x),
                                       ids(g, WG_SHAPE(1), t), NULL, &a);
        wg_plan *p = small_run(g, &v, 1, 1);
        numbers_near("loss", p, v, &cases[i].loss, 1, 5e-10);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* d loss / d x = (softmax(x) - q) / kept, row by row, and nothing for the ignored row. */
static void gradient_is_softmax_minus_targets(void **state)
{
    (void)state;
    const double x[] = {0, log(3), NAN, NAN, log(4), 0}, t[] = {0, 7, 1};
    const double dx[] = {(0.25 - 0.95) / 2, (0.75 - 0.05) / 2, 0, 0,
                         (0.8 - 0.05) / 2,  (0.2 - 0.95) / 2};
    wg_graph *g = wg_graph_new();
    wg_cross_entropy_attrs a = {.smoothing = 0.1, .use_ignore = true, .ignore = 7};
    wg_value *logits = numbers(g, WG_F64, WG_SHAPE(3, 2), x), *d;
    wg_value *v = wg_cross_entropy(logits, ids(g, WG_SHAPE(3), t), NULL, &a);
    assert_int_equal(wg_grad(v, &logits, 1, &d), WG_OK);
    wg_value *out[] = {v, d};
    wg_plan *p = small_run(g, out, 2, 1);
    numbers_near("dx", p, d, dx, 6, F64_BAR);
    double loss = (-0.95 * log(0.25) - 0.05 * log(0.75) - 0.05 * log(0.8) - 0.95 * log(0.2)) / 2;
    numbers_near("loss", p, v, &loss, 1, F64_BAR);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* loss = sum of w_t (-log p_t) / sum of w_t over the rows that count, smoothed as in PyTorch; the
 * row that is ignored may hold anything. */
static void classes_have_weights(void **state)
{
    (void)state;
    const double x[] = {0, log(3), NAN, NAN, log(4), 0}, t[] = {0, 7, 1}, w[] = {2, 5};
    const double each[] = {0.95 * 2 * -log(0.25) + 0.05 * 5 * -log(0.75), 0,
                           0.05 * 2 * -log(0.8) + 0.95 * 5 * -log(0.2)};
    /* softmax times the sum of q w, minus q w, over 2 + 5 */
    const double dx[] = {(0.25 * 2.15 - 1.9) / 7, (0.75 * 2.15 - 0.25) / 7, 0, 0,
                         (0.8 * 4.85 - 0.1) / 7,  (0.2 * 4.85 - 4.75) / 7};
    for (int reduction = WG_LOSS_MEAN; reduction <= WG_LOSS_NONE; reduction++) {
        wg_graph *g = wg_graph_new();
        wg_cross_entropy_attrs a = {
            .smoothing = 0.1, .use_ignore = true, .ignore = 7, .reduction = reduction};
        wg_value *logits = numbers(g, WG_F64, WG_SHAPE(3, 2), x), *d;
        wg_value *v = wg_weighted_cross_entropy(logits, ids(g, WG_SHAPE(3), t),
                                                numbers(g, WG_F64, WG_SHAPE(2), w), &a);
        assert_int_equal(wg_vjp(&v, NULL, 1, &logits, 1, NULL, &d), WG_OK);
        wg_value *out[] = {v, reduction == WG_LOSS_MEAN ? d : v};
        wg_plan *p = small_run(g, out, 2, 1);
        double sum = each[0] + each[2], mean = sum / 7;
        numbers_near("loss", p, v,
                     reduction == WG_LOSS_NONE  ? each
                     : reduction == WG_LOSS_SUM ? &sum
                                                : &mean,
                     wg_value_count(v), F64_BAR);
        if (reduction == WG_LOSS_MEAN)
            numbers_near("dx", p, d, dx, 6, F64_BAR);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* No target counts, or only one whose class has the weight 0. */
static void weights_that_add_to_nothing(void **state)
{
    (void)state;
    const double x[] = {1, 2, 3, 4}, t[][2] = {{-1, -1}, {0, -1}}, w[] = {0, 3}, zero = 0;
    for (int k = 0; k < 2; k++) {
        wg_graph *g = wg_graph_new();
        wg_cross_entropy_attrs a = {.use_ignore = true, .ignore = -1};
        wg_value *v = wg_weighted_cross_entropy(numbers(g, WG_F64, WG_SHAPE(2, 2), x),
                                                ids(g, WG_SHAPE(2), t[k]),
                                                numbers(g, WG_F64, WG_SHAPE(2), w), &a);
        wg_plan *p = small_run(g, &v, 1, 1);
        small_equal("loss", p, v, &zero, 1);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* -w t ln p - (1 - t) ln(1 - p), finite where p is 0 or 1 in f64 */
static void positives_have_a_weight(void **state)
{
    (void)state;
    const double x[] = {-800, 0, 800, 800}, t[] = {1, 1, 1, 0}, w = 3;
    const double loss[] = {2400, 3 * log(2), 0, 800};
    const double dx[] = {-3, -1.5, 0, 1};
    wg_graph *g = wg_graph_new();
    wg_value *logits = numbers(g, WG_F64, WG_SHAPE(4), x), *d;
    wg_value *v = wg_weighted_bce_with_logits(logits, numbers(g, WG_F64, WG_SHAPE(4), t),
                                              numbers(g, WG_F64, WG_SCALAR, &w), WG_LOSS_NONE);
    assert_int_equal(wg_vjp(&v, NULL, 1, &logits, 1, NULL, &d), WG_OK);
    wg_value *out[] = {v, d};
    wg_plan *p = small_run(g, out, 2, 1);
    numbers_near("loss", p, v, loss, 4, 800 * F64_BAR);
    numbers_near("dx", p, d, dx, 4, F64_BAR);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void wrong_weights_are_refused(void **state)
{
    (void)state;
    static const char *const words[] = {
        "weight is [4], must be [5]: one number for each class",
        "weight is f64 but logits is f32",
        "targets is [3], must be [2]",
        "pos_weight is [3,2,5], must broadcast to [2,5]",
    };
    for (int k = 0; k < WG_COUNT(words); k++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 5)),
                 *t = wg_input(g, "t", WG_I32, WG_SHAPE(k == 2 ? 3 : 2)),
                 *w = wg_input(g, "w", k == 1 ? WG_F64 : WG_F32, WG_SHAPE(k == 0 ? 4 : 5)),
                 *many = wg_input(g, "many", WG_F32, WG_SHAPE(3, 2, 5));
        wg_value *y = k == 3 ? wg_weighted_bce_with_logits(x, x, many, WG_LOSS_MEAN)
                             : wg_weighted_cross_entropy(x, t, w, NULL);
        assert_null(y);
        small_refused(g, words[k]);
    }
}

static void nothing_to_learn_is_zero(void **state)
{
    (void)state;
    const double x[] = {1, 2, NAN, 4}, t[] = {-100, -100}, zeros[] = {0, 0, 0, 0};
    for (int reduction = WG_LOSS_MEAN; reduction <= WG_LOSS_NONE; reduction++)
        for (int given = 0; given <= (reduction == WG_LOSS_MEAN); given++) {
            wg_graph *g = wg_graph_new();
            wg_cross_entropy_attrs a = {
                .smoothing = 0.1, .use_ignore = true, .ignore = -100, .reduction = reduction};
            wg_value *logits = numbers(g, WG_F32, WG_SHAPE(2, 2), x), *d;
            wg_value *tokens = given ? wg_scalar_like(logits, 0) : NULL;
            wg_value *v = wg_cross_entropy(logits, ids(g, WG_SHAPE(2), t), tokens, &a);
            assert_int_equal(wg_vjp(&v, NULL, 1, &logits, 1, NULL, &d), WG_OK);
            wg_value *out[] = {v, d};
            wg_plan *p = small_run(g, out, 2, 1);
            small_equal("loss", p, v, zeros, wg_value_count(v));
            small_equal("dx", p, d, zeros, 4);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

static void no_rows(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *logits = wg_fill(g, WG_F32, WG_SHAPE(0, 5), 0);
    wg_value *v = wg_cross_entropy(logits, wg_fill(g, WG_I32, WG_SHAPE(0), 0), NULL, NULL);
    wg_plan *p = small_run(g, &v, 1, 1);
    assert_true(small_at(p, v, 0) == 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* A masked class (-inf): without smoothing it does not matter; with smoothing the loss is infinite,
 * as it must be, and not NaN.  Gradients are finite in both cases. */
static void masked_classes(void **state)
{
    (void)state;
    const double x[] = {0, -INFINITY, 0, 1e30, -1e30, 1e30}, t[] = {2, 0};
    for (int smooth = 0; smooth < 2; smooth++) {
        wg_graph *g = wg_graph_new();
        wg_cross_entropy_attrs a = {.smoothing = smooth * 0.5, .reduction = WG_LOSS_NONE};
        wg_value *logits = numbers(g, WG_F32, WG_SHAPE(2, 3), x), *d;
        wg_value *v = wg_cross_entropy(logits, ids(g, WG_SHAPE(2), t), NULL, &a);
        assert_int_equal(wg_vjp(&v, NULL, 1, &logits, 1, NULL, &d), WG_OK);
        wg_value *out[] = {v, d};
        wg_plan *p = small_run(g, out, 2, 1);
        double u = smooth * 0.5 / 3, hit = 0.5 - (1 - smooth * 0.5) - u;
        numbers_near("dx", p, d, (const double[]){0.5 - u, -u, hit, hit, -u, 0.5 - u}, 6, 1e-7);
        if (smooth) {
            assert_true(small_at(p, v, 0) == INFINITY);
            assert_true(numbers_close(small_at(p, v, 1) / 2e30, u, 1e-6));
        } else {
            numbers_near("loss", p, v, (const double[]){log(2), log(2)}, 2, 1e-7);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void a_row_without_any_class_is_not_nan(void **state)
{
    (void)state;
    const double x[] = {-INFINITY, -INFINITY}, t[] = {1};
    wg_graph *g = wg_graph_new();
    wg_value *logits = numbers(g, WG_F64, WG_SHAPE(1, 2), x), *d;
    wg_value *v = wg_cross_entropy(logits, ids(g, WG_SHAPE(1), t), NULL, NULL);
    assert_int_equal(wg_grad(v, &logits, 1, &d), WG_OK);
    wg_value *out[] = {v, d};
    wg_plan *p = small_run(g, out, 2, 1);
    assert_true(small_at(p, v, 0) == INFINITY);
    small_equal("dx", p, d, (const double[]){0, -1}, 2);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Where the target's class is masked, and smoothing leaves it some or nothing */
static void an_impossible_target(void **state)
{
    (void)state;
    static const struct {
        double smoothing, loss;
        int64_t classes;
    } cases[] = {{1, 0.693147181, 3}, {0.9, INFINITY, 3}, {1, 3.66356165, 40}};
    for (int i = 0; i < 3; i++)
        for (wg_dtype dtype = WG_F32; dtype <= WG_F64; dtype++) {
            wg_graph *g = wg_graph_new();
            double x[40] = {-INFINITY};
            int32_t target = 0;
            wg_value *logits = numbers(g, dtype, WG_SHAPE(1, cases[i].classes), x);
            wg_value *ids = wg_constant(g, WG_I32, WG_SHAPE(1), &target);
            wg_cross_entropy_attrs a = {.smoothing = cases[i].smoothing,
                                        .spread = WG_SMOOTH_OFF_TARGET};
            wg_value *loss = wg_cross_entropy(logits, ids, NULL, &a);
            wg_plan *p = small_run(g, &loss, 1, 1);
            double y = small_at(p, loss, 0);
            check_that(y == cases[i].loss || fabs(y - cases[i].loss) <= 1e-6, "%s: %g, not %g",
                       wg_dtype_name(dtype), y, cases[i].loss);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

static void wrong_targets_are_data_errors(void **state)
{
    (void)state;
    const double wrong[] = {5, -1, -1};
    const wg_cross_entropy_attrs unused = {.ignore = -1};
    for (int i = 0; i < 3; i++) {
        const double t[] = {0, wrong[i]};
        wg_graph *g = wg_graph_new();
        wg_value *logits = wg_fill(g, WG_F32, WG_SHAPE(2, 5), 0);
        wg_value *targets = wg_input(g, "targets", WG_I32, WG_SHAPE(2));
        wg_value *v = wg_cross_entropy(logits, targets, NULL, i == 2 ? &unused : NULL);
        wg_plan *p;
        wg_plan_options options = {.outputs = &v, .n_outputs = 1};
        assert_int_equal(wg_plan_create(&p, g, &options), WG_OK);
        for (int k = 0; k < 2; k++)
            wgi_put_element(wg_plan_data(p, targets), WG_I32, k, t[k]);
        assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
        char expected[120];
        snprintf(expected, sizeof expected, "target %d at position 1 is outside [0, 5)%s (",
                 (int)wrong[i], i == 2 ? "; it equals `ignore`, but use_ignore is false" : "");
        check_that(strstr(wg_plan_message(p), expected), "%s", wg_plan_message(p));
        check_that(strstr(wg_plan_message(p), "cross_entropy"), "%s", wg_plan_message(p));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void normaliser_divides_the_sum(void **state)
{
    (void)state;
    const double x[] = {0, 0, 0, 0}, t[] = {0, 1}, tokens = 8, loss = 2 * log(2) / 8,
                 slope = -2 * log(2) / 64;
    wg_graph *g = wg_graph_new();
    wg_value *n = numbers(g, WG_F64, WG_SCALAR, &tokens), *d;
    wg_value *v =
        wg_cross_entropy(numbers(g, WG_F64, WG_SHAPE(2, 2), x), ids(g, WG_SHAPE(2), t), n, NULL);
    assert_int_equal(wg_grad(v, &n, 1, &d), WG_OK);
    wg_value *out[] = {v, d};
    wg_plan *p = small_run(g, out, 2, 1);
    numbers_near("loss", p, v, &loss, 1, F64_BAR);
    numbers_near("slope", p, d, &slope, 1, F64_BAR);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void kernels_agree_with_expansions(void **state)
{
    (void)state;
    numbers_expansion(&wg_op_cross_entropy);
    numbers_expansion(&wg_op_cross_entropy_grad);
}

static void many_rows_same_bits_and_accurate(void **state)
{
    (void)state;
    enum { ROWS = 1000003, CLASSES = 3 };
    wg_graph *g = wg_graph_new();
    wg_value *logits = wg_fill(g, WG_F32, WG_SHAPE(ROWS, CLASSES), 0.25);
    wg_value *targets = wg_fill(g, WG_I32, WG_SHAPE(ROWS), 1), *out[2];
    out[0] = wg_cross_entropy(logits, targets, NULL, NULL);
    assert_int_equal(wg_grad(out[0], &logits, 1, &out[1]), WG_OK);
    wg_plan *one = small_run(g, out, 2, 1), *four = small_run(g, out, 2, 4);
    assert_true(fabs(small_at(one, out[0], 0) - log(3)) <= 1e-7);
    numbers_same_bits("loss", one, out[0], four, out[0]);
    numbers_same_bits("dx", one, out[1], four, out[1]);
    wg_plan_free(one);
    wg_plan_free(four);
    wg_graph_free(g);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    const struct {
        wg_cross_entropy_attrs a;
        const char *words;
    } cases[] = {
        {{.smoothing = 1.5}, "smoothing is 1.5, must be in [0, 1]"},
        {{.reduction = WG_LOSS_SUM}, "a normaliser needs the reduction mean, not sum"},
        {{.reduction = WG_LOSS_BATCH_MEAN}, "reduction is 3, must be 0 to 2"},
        {{.ignore = INT64_MAX}, "must fit in 32 bits"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *logits = wg_fill(g, WG_F32, WG_SHAPE(2, 5), 0);
        wg_cross_entropy(logits, wg_fill(g, WG_I32, WG_SHAPE(2), 0), wg_scalar_like(logits, 1),
                         &cases[i].a);
        small_refused(g, cases[i].words);
    }
    wg_graph *g = wg_graph_new();
    wg_cross_entropy(wg_fill(g, WG_F32, WG_SHAPE(2, 5), 0), wg_fill(g, WG_I32, WG_SHAPE(3), 0),
                     NULL, NULL);
    small_refused(g,
                  "targets is [3], must be [2]: logits is [2,5], with the classes along its last");
}

/* ---- the others ------------------------------------------------------------------------------ */

static double mse(double a, double b)
{
    return (a - b) * (a - b);
}
static double huber(double a, double b)
{
    double d = fabs(a - b);
    return d <= 0.75 ? d * d / 2 : 0.75 * (d - 0.375);
}
static double bce(double x, double t)
{
    double p = 1 / (1 + exp(-x));
    return -t * log(p) - (1 - t) * log(1 - p);
}
static double kl(double log_q, double p)
{
    return p * (log(p) - log_q);
}
static double kl_log(double log_q, double log_p)
{
    return exp(log_p) * (log_p - log_q);
}

static wg_value *build(int which, wg_value *a, wg_value *b, wg_reduction r)
{
    return which == 0   ? wg_mse(a, b, r)
           : which == 1 ? wg_huber(a, b, 0.75, r)
           : which == 2 ? wg_bce_with_logits(a, b, r)
                        : wg_kl(a, b, which == 4 ? WG_KL_LOG_P : WG_KL_P, r);
}

static void losses_by_their_definitions(void **state)
{
    (void)state;
    double (*const of[])(double, double) = {mse, huber, bce, kl, kl_log};
    const double a[] = {-2, -1.5, -0.25, -0.75, -1, -3}, b[] = {0.25, 0.5, 0.125, 0.75, 1, 0.5};
    for (int which = 0; which < WG_COUNT(of); which++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = numbers(g, WG_F64, WG_SHAPE(2, 3), a),
                 *y = numbers(g, WG_F64, WG_SHAPE(2, 3), b), *out[4];
        double each[6], sum = 0;
        for (int i = 0; i < 6; i++)
            sum += each[i] = of[which](a[i], b[i]);
        for (int r = WG_LOSS_MEAN; r <= WG_LOSS_BATCH_MEAN; r++)
            out[r] = build(which, x, y, (wg_reduction)r);
        wg_plan *p = small_run(g, out, 4, 1);
        numbers_near("each", p, out[WG_LOSS_NONE], each, 6, F64_BAR);
        numbers_near("sum", p, out[WG_LOSS_SUM], &sum, 1, F64_BAR);
        numbers_near("mean", p, out[WG_LOSS_MEAN], (const double[]){sum / 6}, 1, F64_BAR);
        numbers_near("batch mean", p, out[WG_LOSS_BATCH_MEAN], (const double[]){sum / 2}, 1,
                     F64_BAR);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void what_has_no_mean_is_refused(void **state)
{
    (void)state;
    static const double deltas[] = {0, -1, 1e30, NAN};
    for (int i = 0; i < WG_COUNT(deltas); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(3), 1);
        wg_huber(x, x, deltas[i], WG_LOSS_MEAN);
        small_refused(g, "delta is ");
    }
    for (int which = 0; which < 5; which++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_fill(g, WG_F32, WG_SCALAR, 1); /* without a batch */
        build(which, x, x, WG_LOSS_BATCH_MEAN);
        small_refused(g, "must be of rank 1 or more");
    }
}

static void means_of_nothing_are_zero(void **state)
{
    (void)state;
    for (int which = 0; which < 5; which++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(0, 3), 1);
        wg_value *out[] = {build(which, x, x, WG_LOSS_MEAN),
                           build(which, x, x, WG_LOSS_BATCH_MEAN)};
        wg_plan *p = small_run(g, out, 2, 1);
        assert_true(small_at(p, out[0], 0) == 0 && small_at(p, out[1], 0) == 0);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void bce_of_huge_logits_and_at_zero(void **state)
{
    (void)state;
    const double x[] = {1e30, -1e30, 1e30, 40, 0}, t[] = {1, 0, 0, 1, 0.25};
    const double each[] = {0, 0, 1e30, exp(-40), log(2)}, dx[] = {0, 0, 1, 0, 0.25};
    wg_graph *g = wg_graph_new();
    wg_value *in = numbers(g, WG_F32, WG_SHAPE(5), x), *d;
    wg_value *v = wg_bce_with_logits(in, numbers(g, WG_F32, WG_SHAPE(5), t), WG_LOSS_NONE);
    assert_int_equal(wg_vjp(&v, NULL, 1, &in, 1, NULL, &d), WG_OK);
    wg_value *out[] = {v, d};
    wg_plan *p = small_run(g, out, 2, 1);
    numbers_near("each", p, v, each, 5, 1e-7);
    assert_true(fabs(small_at(p, v, 3) / exp(-40) - 1) <= 1e-6);
    numbers_near("dx", p, d, dx, 5, 1e-7);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* 0 ln 0 = 0, forwards and backwards, also against ln q = -inf. */
static void kl_of_zeros(void **state)
{
    (void)state;
    const double log_q[] = {-INFINITY, -INFINITY, log(0.5), log(0.5)};
    const double p_of[2][4] = {{0, 0, 0, 1}, {-INFINITY, -INFINITY, -INFINITY, 0}};
    for (wg_kl_target given = WG_KL_P; given <= WG_KL_LOG_P; given++) {
        wg_graph *g = wg_graph_new();
        wg_value *in[] = {numbers(g, WG_F64, WG_SHAPE(4), log_q),
                          numbers(g, WG_F64, WG_SHAPE(4), p_of[given])};
        wg_value *out[3];
        out[2] = wg_kl(in[0], in[1], given, WG_LOSS_NONE);
        assert_int_equal(wg_vjp(&out[2], NULL, 1, in, 2, NULL, out), WG_OK);
        wg_plan *p = small_run(g, out, 3, 1);
        numbers_near("kl", p, out[2], (const double[]){0, 0, 0, log(2)}, 4, F64_BAR);
        numbers_near("d log q", p, out[0], (const double[]){0, 0, 0, -1}, 4, F64_BAR);
        numbers_finite("d p", p, out[1]);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoothing_of_a_ramp),
        cmocka_unit_test(gradient_is_softmax_minus_targets),
        cmocka_unit_test(nothing_to_learn_is_zero),
        cmocka_unit_test(no_rows),
        cmocka_unit_test(masked_classes),
        cmocka_unit_test(a_row_without_any_class_is_not_nan),
        cmocka_unit_test(an_impossible_target),
        cmocka_unit_test(wrong_targets_are_data_errors),
        cmocka_unit_test(normaliser_divides_the_sum),
        cmocka_unit_test(kernels_agree_with_expansions),
        cmocka_unit_test(many_rows_same_bits_and_accurate),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(losses_by_their_definitions),
        cmocka_unit_test(what_has_no_mean_is_refused),
        cmocka_unit_test(classes_have_weights),
        cmocka_unit_test(weights_that_add_to_nothing),
        cmocka_unit_test(positives_have_a_weight),
        cmocka_unit_test(wrong_weights_are_refused),
        cmocka_unit_test(means_of_nothing_are_zero),
        cmocka_unit_test(bce_of_huge_logits_and_at_zero),
        cmocka_unit_test(kl_of_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
