/* Numbers on which frameworks have failed, on each built-in backend alone (the reference does what
 * it lacks): rows that see nothing, padding that holds NaN, huge and tiny numbers, nothing at all,
 * sums of ten million. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/load.h"
#include "wengert/models/optimizer.h"
#include "wengert/ops/ops.h"

#include <fenv.h>
#include <float.h>
#include <math.h>

static wg_backend_list backends;

static int open_backends(void **state)
{
    (void)state;
    return wg_backend_list_open(&backends, NULL, NULL) == WG_OK && backends.count ? 0 : -1;
}

static int close_backends(void **state)
{
    (void)state;
    wg_backend_list_close(&backends);
    return 0;
}

/* The outputs of a graph on backend b. */
static wg_plan *plan_on(wg_graph *g, size_t b)
{
    return plan_of(g, &(wg_plan_options){.backends = &backends.backend[b], .n_backends = 1});
}

static void fill(wg_plan *p, const wg_value *v, float (*f)(int64_t i))
{
    float *x = wg_plan_data(p, v);
    assert_non_null(x);
    for (int64_t i = 0; i < wg_value_count(v); i++)
        x[i] = f(i);
}

static float wave(int64_t i)
{
    return sinf((float)i);
}

/* All finite; how many were looked at. */
static int64_t finite(const char *what, size_t b, wg_plan *p, const wg_value *v)
{
    const float *x = floats(p, v);
    for (int64_t i = 0; i < wg_value_count(v); i++)
        check_that(isfinite(x[i]), "%s on %s: element %d is %g", what, backends.backend[b]->name,
                   (int)i, (double)x[i]);
    return wg_value_count(v);
}

static wg_value *float_input(wg_graph *g, const char *name, wg_shape shape)
{
    return wg_input(g, name, WG_F32, shape);
}

/* ---- attention ------------------------------------------------------------------------------- */

enum { B = 3, H = 2, T = 16, S = 24, D = 16, N_QKV = 3 };

typedef struct attention {
    wg_graph *g;
    wg_value *in[N_QKV], *lengths, *y, *d[N_QKV];
} attention;

static attention attention_graph(void)
{
    attention a = {.g = wg_graph_new()};
    a.in[0] = float_input(a.g, "q", WG_SHAPE(B, H, T, D));
    a.in[1] = float_input(a.g, "k", WG_SHAPE(B, H, S, D));
    a.in[2] = float_input(a.g, "v", WG_SHAPE(B, H, S, D));
    a.lengths = wg_input(a.g, "lengths", WG_I32, WG_SHAPE(B));
    a.y = wg_output(wg_attention(a.in[0], a.in[1], a.in[2], a.lengths, NULL), "y");
    wg_value *loss = wg_sum(wg_square(a.y), WG_ALL_AXES, WG_DROP);
    assert_int_equal(wg_grad(loss, a.in, N_QKV, a.d), WG_OK);
    for (int i = 0; i < N_QKV; i++)
        wg_output(a.d[i], NULL);
    return a;
}

/* Puts `dirt` into the keys and values past the lengths: all of the second sentence. */
static void fill_attention(const attention *a, wg_plan *p, float dirt)
{
    static const int32_t lengths[B] = {S, 0, 5};
    memcpy(wg_plan_data(p, a->lengths), lengths, sizeof lengths);
    for (int i = 0; i < N_QKV; i++) {
        fill(p, a->in[i], wave);
        float *x = wg_plan_data(p, a->in[i]);
        for (int64_t k = 0; i > 0 && k < wg_value_count(a->in[i]); k++)
            if (k / D % S >= lengths[k / D / S / H])
                x[k] = dirt;
    }
}

/* A program may have set traps: a fill with -inf is no invalid operation. */
static void planning_raises_no_exception(void **state)
{
    (void)state;
    feclearexcept(FE_ALL_EXCEPT);
    attention a = attention_graph();
    wg_plan_free(plan_of(a.g, NULL));
    assert_int_equal(fetestexcept(FE_INVALID | FE_DIVBYZERO), 0);
    wg_graph_free(a.g);
}

/* A sentence without a key gives zeros and harms no other; padding may hold anything. */
static void attention_ignores_what_it_must_not_see(void **state)
{
    (void)state;
    static const float dirt[] = {0, NAN, INFINITY, 1e30f};
    static float clean[4][B * H * S * D];
    attention a = attention_graph();
    const wg_value *const results[] = {a.y, a.d[0], a.d[1], a.d[2]};
    int64_t compared = 0;
    for (size_t b = 0; b < backends.count; b++) {
        wg_plan *p = plan_on(a.g, b);
        for (int i = 0; i < WG_COUNT(dirt); i++) {
            fill_attention(&a, p, dirt[i]);
            run(p, 0);
            for (int k = 0; k < 4; k++) {
                compared += finite("attention", b, p, results[k]);
                size_t bytes = wg_value_bytes(results[k]);
                if (i == 0)
                    memcpy(clean[k], floats(p, results[k]), bytes);
                check_that(memcmp(clean[k], floats(p, results[k]), bytes) == 0,
                           "attention on %s: padding of %g leaks into result %d",
                           backends.backend[b]->name, (double)dirt[i], k);
            }
            for (int64_t k = H * T * D; k < 2 * H * T * D; k++)
                assert_true(floats(p, a.y)[k] == 0);
        }
        wg_plan_free(p);
    }
    assert_true(compared > 10000);
    wg_graph_free(a.g);
}

/* ---- softmax and losses ---------------------------------------------------------------------- */

enum { ROWS = 33, V = 97 };

/* The sum of two masks of the largest negative number is -inf: hidden all the same, and a row of
 * nothing else is as the op defines it. */
static void two_masks_are_one(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = float_input(g, "x", WG_SHAPE(ROWS, V)), *d;
    wg_value *mask = float_input(g, "mask", WG_SHAPE(ROWS, V));
    wg_value *y = wg_output(wg_softmax(wg_add(wg_add(x, mask), mask), -1), "y");
    wg_value *total = wg_sum(wg_square(y), WG_ALL_AXES, WG_DROP);
    assert_int_equal(wg_grad(total, &x, 1, &d), WG_OK);
    wg_output(d, "d");
    for (size_t b = 0; b < backends.count; b++) {
        wg_plan *p = plan_on(g, b);
        fill(p, x, wave);
        float *m = wg_plan_data(p, mask);
        for (int i = 0; i < ROWS * V; i++)
            m[i] = i / V == 1 || i % 3 ? -FLT_MAX : 0;
        run(p, 0);
        finite("softmax", b, p, y);
        finite("the gradient of softmax", b, p, d);
        for (int i = 0; i < ROWS * V; i++)
            assert_true((floats(p, y)[i] == 0) == (i / V == 1 || i % 3 != 0));
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

typedef struct loss {
    wg_graph *g;
    wg_value *logits, *targets, *y, *d;
} loss;

static loss loss_graph(double smoothing)
{
    loss l = {.g = wg_graph_new()};
    const wg_cross_entropy_attrs attrs = {.use_ignore = true, .ignore = -1, .smoothing = smoothing};
    l.logits = float_input(l.g, "logits", WG_SHAPE(ROWS, V));
    l.targets = wg_input(l.g, "targets", WG_I32, WG_SHAPE(ROWS));
    l.y = wg_output(wg_cross_entropy(l.logits, l.targets, NULL, &attrs), "loss");
    assert_int_equal(wg_grad(l.y, &l.logits, 1, &l.d), WG_OK);
    wg_output(l.d, "d");
    return l;
}

static float huge(int64_t i)
{
    return i % V == i / V ? 1e30f : i % V % 2 ? -1e30f : 0;
}

/* No target counts: neither 0/0 nor a gradient, whatever the logits are. */
static void a_loss_without_targets_is_zero(void **state)
{
    (void)state;
    for (int smooth = 0; smooth < 2; smooth++) {
        loss l = loss_graph(0.1 * smooth);
        for (size_t b = 0; b < backends.count; b++) {
            wg_plan *p = plan_on(l.g, b);
            float *x = wg_plan_data(p, l.logits);
            int32_t *t = wg_plan_data(p, l.targets);
            for (int i = 0; i < ROWS * V; i++)
                x[i] = NAN;
            for (int i = 0; i < ROWS; i++)
                t[i] = -1;
            run(p, 0);
            assert_true(floats(p, l.y)[0] == 0);
            for (int i = 0; i < ROWS * V; i++)
                assert_true(floats(p, l.d)[i] == 0);
            wg_plan_free(p);
        }
        wg_graph_free(l.g);
    }
}

/* Where the model is certain beyond any float: right, the loss is 0, and with smoothing the mean
 * distance of the others; wrong, it is the distance.  0 log 0 is 0. */
static void huge_logits_have_a_loss(void **state)
{
    (void)state;
    for (int smooth = 0; smooth < 2; smooth++) {
        loss l = loss_graph(0.1 * smooth);
        for (size_t b = 0; b < backends.count; b++) {
            wg_plan *p = plan_on(l.g, b);
            int32_t *t = wg_plan_data(p, l.targets);
            for (int wrong = 0; wrong < 2; wrong++) {
                fill(p, l.logits, huge);
                for (int i = 0; i < ROWS; i++)
                    t[i] = wrong ? V - 1 : i; /* of even number: its logit is 0 */
                run(p, 0);
                finite("the loss", b, p, l.y);
                finite("the gradient of the loss", b, p, l.d);
                double y = (double)floats(p, l.y)[0];
                check_that(smooth  ? y >= 1e28 && y < 2e30
                           : wrong ? fabs(y / 1e30 - 1) <= 1e-6
                                   : y == 0,
                           "a loss of %g on %s", y, backends.backend[b]->name);
            }
            wg_plan_free(p);
        }
        wg_graph_free(l.g);
    }
}

static void an_id_outside_its_table_is_refused(void **state)
{
    (void)state;
    static const int32_t bad[] = {-1, V, INT32_MAX, INT32_MIN};
    wg_graph *g = wg_graph_new();
    wg_value *table = float_input(g, "table", WG_SHAPE(V, D)),
             *ids = wg_input(g, "ids", WG_I32, WG_SHAPE(ROWS));
    wg_output(wg_embedding(table, ids), "rows");
    loss l = loss_graph(0);
    for (size_t b = 0; b < backends.count; b++)
        for (int i = 0; i < WG_COUNT(bad); i++) {
            wg_plan *p = plan_on(g, b), *q = plan_on(l.g, b);
            fill(p, table, wave);
            fill(q, l.logits, wave);
            int32_t *at = wg_plan_data(p, ids), *t = wg_plan_data(q, l.targets);
            memset(at, 0, ROWS * sizeof *at);
            memset(t, 0, ROWS * sizeof *t);
            at[ROWS / 2] = t[ROWS / 2] = bad[i];
            check_that(wg_plan_run(p, 0) == WG_EDATA, "embedding of id %d on %s", bad[i],
                       backends.backend[b]->name);
            check_that(bad[i] == -1 || wg_plan_run(q, 0) == WG_EDATA, "a loss of target %d on %s",
                       bad[i], backends.backend[b]->name);
            wg_plan_free(p);
            wg_plan_free(q);
        }
    wg_graph_free(g);
    wg_graph_free(l.g);
}

/* ---- nothing at all -------------------------------------------------------------------------- */

static void empty_tensors_are_computed(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *none = float_input(g, "none", WG_SHAPE(0, V)),
             *thin = float_input(g, "thin", WG_SHAPE(ROWS, 0)),
             *wide = float_input(g, "wide", WG_SHAPE(0, D));
    wg_value *q = float_input(g, "q", WG_SHAPE(B, H, T, D)),
             *k = float_input(g, "k", WG_SHAPE(B, H, 0, D));
    wg_value *lengths = wg_input(g, "lengths", WG_I32, WG_SHAPE(B));
    wg_value *y[] = {
        wg_softmax(none, -1),
        wg_softmax(thin, -1),
        wg_layernorm(none, NULL, NULL, WG_LAST_AXIS, 1e-5),
        wg_matmul(thin, wide),
        wg_attention(q, k, k, lengths, NULL),
        wg_attention(k, q, q, lengths, NULL),
        wg_sum(none, WG_ALL_AXES, WG_DROP),
        wg_cross_entropy(none, wg_input(g, "targets", WG_I32, WG_SHAPE(0)), NULL, NULL),
    };
    for (int i = 0; i < WG_COUNT(y); i++)
        wg_output(y[i], NULL);
    for (size_t b = 0; b < backends.count; b++) {
        wg_plan *p = plan_on(g, b);
        fill(p, q, wave);
        memset(wg_plan_data(p, lengths), 0, B * sizeof(int32_t));
        run(p, 0);
        int64_t zeros = 0;
        for (int i = 0; i < WG_COUNT(y); i++)
            for (int64_t n = 0; n < wg_value_count(y[i]); n++, zeros++)
                check_that(floats(p, y[i])[n] == 0, "result %d on %s is %g", i,
                           backends.backend[b]->name, (double)floats(p, y[i])[n]);
        assert_int_equal(zeros, ROWS * D + B * H * T * D + 2);
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

/* ---- clipping, tiny numbers, long sums ------------------------------------------------------- */

/* A norm of NaN or infinity shows in every clipped gradient: it is never clipped to a number. */
static void a_norm_that_is_none_is_not_clipped_away(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    wg_graph *g = wg_graph_new();
    wg_value *x[] = {float_input(g, "x", WG_SHAPE(ROWS, V)), float_input(g, "y", WG_SHAPE(V))};
    wg_value *clipped[2], *norm = wg_output(wg_clip_by_global_norm(x, 2, 1, clipped), "norm");
    for (int i = 0; i < 2; i++)
        wg_output(clipped[i], NULL);
    for (size_t b = 0; b < backends.count; b++) {
        wg_plan *p = plan_on(g, b);
        for (int i = 0; i < WG_COUNT(bad); i++) {
            fill(p, x[0], wave);
            fill(p, x[1], wave);
            ((float *)wg_plan_data(p, x[0]))[ROWS * V - 1] = bad[i];
            run(p, 0);
            assert_true(!isfinite(floats(p, norm)[0]));
            assert_true(!isfinite(floats(p, clipped[0])[ROWS * V - 1]));
        }
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

static float tiny(int64_t i)
{
    return (float)(i % 7 + 1) * 1e-41f; /* subnormal */
}

/* Subnormal numbers count as they are or as 0, and make neither NaN nor infinity. */
static void subnormal_numbers_are_numbers(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = float_input(g, "x", WG_SHAPE(ROWS, V)), *d;
    wg_value *y[] = {
        wg_softmax(x, -1),
        wg_layernorm(x, NULL, NULL, WG_LAST_AXIS, 1e-5),
        wg_rmsnorm(x, NULL, WG_LAST_AXIS, 1e-30),
        wg_silu(x),
        wg_tanh(x),
        wg_global_norm(&x, 1),
        wg_sum(x, WG_ALL_AXES, WG_DROP),
    };
    wg_value *total = NULL;
    for (int i = 0; i < WG_COUNT(y); i++) {
        wg_value *part = wg_sum(wg_output(y[i], NULL), WG_ALL_AXES, WG_DROP);
        total = total ? wg_add(total, part) : part;
    }
    assert_int_equal(wg_grad(total, &x, 1, &d), WG_OK);
    wg_output(d, "d");
    for (size_t b = 0; b < backends.count; b++) {
        wg_plan *p = plan_on(g, b);
        fill(p, x, tiny);
        run(p, 0);
        for (int i = 0; i < WG_COUNT(y); i++)
            finite("subnormal numbers", b, p, y[i]);
        finite("a gradient at subnormal numbers", b, p, d);
        for (int i = 0; i < ROWS * V; i++) {
            assert_true(fabsf(floats(p, y[0])[i] - 1.0f / V) <= 1e-7f);
            assert_true(fabsf(floats(p, y[4])[i]) <= 1e-40f);
        }
        assert_true(floats(p, y[6])[0] >= 0 && floats(p, y[6])[0] <= ROWS * V * 7e-41f);
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

static float tenth(int64_t i)
{
    (void)i;
    return 0.1f;
}

/* Ten million times 0.1 in f32: added one by one, it would be 1,087,937. */
static void long_sums_are_accurate(void **state)
{
    (void)state;
    enum { COUNT = 10000000, COLUMNS = 8 };
    const double each = (double)0.1f, all = COUNT * each;
    wg_graph *g = wg_graph_new();
    wg_value *x = float_input(g, "x", WG_SHAPE(COUNT / COLUMNS, COLUMNS));
    wg_value *sum = wg_output(wg_sum(x, WG_ALL_AXES, WG_DROP), "sum"),
             *mean = wg_output(wg_mean(x, WG_ALL_AXES, WG_DROP), "mean"),
             *columns = wg_output(wg_sum(x, WG_AXES(0), WG_DROP), "columns"),
             *norm = wg_output(wg_global_norm(&x, 1), "norm");
    for (size_t b = 0; b < backends.count; b++) {
        wg_plan *p = plan_on(g, b);
        fill(p, x, tenth);
        run(p, 0);
        const char *name = backends.backend[b]->name;
        check_that(fabs((double)floats(p, sum)[0] / all - 1) <= 1e-6, "a sum of %.9g on %s",
                   (double)floats(p, sum)[0], name);
        check_that(fabs((double)floats(p, mean)[0] / each - 1) <= 1e-6, "a mean of %.9g on %s",
                   (double)floats(p, mean)[0], name);
        check_that(fabs((double)floats(p, norm)[0] / sqrt(COUNT * each * each) - 1) <= 1e-6,
                   "a norm of %.9g on %s", (double)floats(p, norm)[0], name);
        for (int i = 0; i < COLUMNS; i++)
            check_that(fabs((double)floats(p, columns)[i] / (all / COLUMNS) - 1) <= 1e-6,
                       "a sum of rows of %.9g on %s", (double)floats(p, columns)[i], name);
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planning_raises_no_exception),
        cmocka_unit_test(attention_ignores_what_it_must_not_see),
        cmocka_unit_test(two_masks_are_one),
        cmocka_unit_test(a_loss_without_targets_is_zero),
        cmocka_unit_test(huge_logits_have_a_loss),
        cmocka_unit_test(an_id_outside_its_table_is_refused),
        cmocka_unit_test(empty_tensors_are_computed),
        cmocka_unit_test(a_norm_that_is_none_is_not_clipped_away),
        cmocka_unit_test(subnormal_numbers_are_numbers),
        cmocka_unit_test(long_sums_are_accurate),
    };
    return cmocka_run_group_tests(tests, open_backends, close_backends);
}
