/* Lengths of sequences are data: one below 0 or above the number of steps, keys or slots ends the
 * run with its place, its value and the limit, on every backend. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/load.h"
#include "wengert/ops/ops.h"

#include <math.h>

enum { B = 3 };

typedef struct model {
    wg_graph *g;
    wg_value *lengths; /* [B] */
} model;

static wg_value *input(wg_graph *g, const char *name, wg_shape shape)
{
    return wg_input(g, name, WG_F32, shape);
}

/* The builders of models return what their lengths must not exceed. */
static int64_t recur(const model *m,
                     wg_value *(*op)(const char *, wg_value *, wg_value *, wg_value *, wg_value *,
                                     wg_value *, const wg_recurrent_options *),
                     int64_t gates, bool reverse)
{
    const wg_recurrent_options o = {.lengths = m->lengths, .reverse = reverse};
    wg_value *x = input(m->g, "x", WG_SHAPE(B, 4, 2)),
             *wi = input(m->g, "wi", WG_SHAPE(gates * 3, 2)),
             *wh = input(m->g, "wh", WG_SHAPE(gates * 3, 3));
    wg_output(op(WG_HERE, x, wi, wh, NULL, NULL, &o), "y");
    return 4;
}

static int64_t build_rnn(const model *m)
{
    return recur(m, wg_rnn, 1, false);
}

static int64_t build_lstm(const model *m)
{
    return recur(m, wg_lstm, 4, true);
}

static int64_t build_gru(const model *m)
{
    return recur(m, wg_gru, 3, false);
}

/* S keys: short ones are expanded, long ones have a kernel of their own. */
static int64_t attend(const model *m, int64_t S, bool gradient)
{
    wg_value *q = input(m->g, "q", WG_SHAPE(B, 2, S, 4)),
             *k = input(m->g, "k", WG_SHAPE(B, 1, S, 4)),
             *v = input(m->g, "v", WG_SHAPE(B, 1, S, 4));
    wg_value *y = wg_attention(q, k, v, m->lengths, NULL), *dk;
    if (!gradient) {
        wg_output(y, "y");
        return S;
    }
    assert_int_equal(wg_vjp(&y, NULL, 1, &k, 1, NULL, &dk), WG_OK);
    wg_output(dk, "dk");
    return S;
}

static int64_t build_short_attention(const model *m)
{
    return attend(m, 3, false);
}

static int64_t build_long_attention(const model *m)
{
    return attend(m, 80, false);
}

static int64_t build_short_gradient(const model *m)
{
    return attend(m, 3, true);
}

static int64_t build_long_gradient(const model *m)
{
    return attend(m, 80, true);
}

static int64_t build_attention_by_token(const model *m)
{
    wg_value *x = input(m->g, "x", WG_SHAPE(B, 6, 2, 4)), *h = wg_permute(x, WG_AXES(0, 2, 1, 3));
    wg_output(wg_permute(wg_attention(h, h, h, m->lengths, NULL), WG_AXES(0, 2, 1, 3)), "y");
    return 6;
}

static int64_t build_packed_attention(const model *m)
{
    const int64_t sizes[] = {8, 8, 8};
    wg_value *cut = wg_split(input(m->g, "x", WG_SHAPE(B, 6, 24)), -1, sizes, 3), *part[3];
    for (int i = 0; i < 3; i++)
        part[i] =
            wg_permute(wg_reshape(wg_result_of(cut, i), WG_SHAPE(B, 6, 2, 4)), WG_AXES(0, 2, 1, 3));
    wg_value *y = wg_attention(part[0], part[1], part[2], m->lengths, NULL);
    wg_output(wg_permute(y, WG_AXES(0, 2, 1, 3)), "y");
    return 6;
}

static int64_t build_weights(const model *m)
{
    wg_value *q = input(m->g, "q", WG_SHAPE(B, 1, 2, 4)),
             *k = input(m->g, "k", WG_SHAPE(B, 1, 5, 4));
    wg_output(wg_attention_weights(q, k, m->lengths, NULL), "w");
    return 5;
}

static int64_t build_additive_attention(const model *m)
{
    wg_value *q = input(m->g, "q", WG_SHAPE(B, 2, 4)), *k = input(m->g, "k", WG_SHAPE(B, 5, 4)),
             *w = input(m->g, "w", WG_SHAPE(4));
    wg_output(wg_additive_attention(q, k, w, k, m->lengths, NULL), "y");
    return 5;
}

static int64_t build_paged_attention(const model *m)
{
    wg_value *q = input(m->g, "q", WG_SHAPE(B, 2, 4)), *k = input(m->g, "k", WG_SHAPE(9, 2, 4));
    wg_value *slots = wg_iota(m->g, WG_I32, WG_SHAPE(B, 7), 1, 0, 1);
    wg_output(wg_paged_attention(q, k, k, slots, m->lengths, 0), "y");
    return 7;
}

static const struct {
    const char *name; /* in the message */
    int64_t (*build)(const model *m);
} models[] = {
    {"rnn", build_rnn},
    {"lstm", build_lstm},
    {"gru", build_gru},
    {"attention", build_short_attention},
    {"attention", build_long_attention},
    {"attention", build_short_gradient},
    {"attention", build_long_gradient},
    {"attention", build_attention_by_token},
    {"attention", build_packed_attention},
    {"attention", build_weights},
    {"attention", build_additive_attention},
    {"attention", build_paged_attention},
};

static void set_lengths(wg_plan *p, const wg_value *lengths, int64_t bad, int at, int64_t max)
{
    for (int i = 0; i < B; i++) {
        int64_t length = i == at ? bad : i ? max : 0;
        if (lengths->dtype == WG_I64)
            wg_plan_i64(p, lengths)[i] = length;
        else
            wg_plan_i32(p, lengths)[i] = (int32_t)length;
    }
}

static void check_model(int which, wg_dtype dtype, const wg_plan_options *o)
{
    model m = {.g = wg_graph_new()};
    m.lengths = wg_input(m.g, "lengths", dtype, WG_SHAPE(B));
    int64_t max = models[which].build(&m);
    wg_plan *p = plan_of(m.g, o);
    for (size_t i = 0; i < wg_graph_value_count(m.g); i++) {
        const wg_value *v = wg_graph_value(m.g, i);
        for (int64_t k = 0;
             v->node->op->flags & WG_OP_INPUT && v->dtype == WG_F32 && k < wg_value_count(v); k++)
            wg_plan_f32(p, v)[k] = sinf((float)k);
    }
    const int64_t bad[] = {-1, max + 1, -7, 99 + max};
    for (int i = 0; i < WG_COUNT(bad); i++) {
        char expected[100];
        int at = i % B;
        set_lengths(p, m.lengths, bad[i], at, max);
        assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
        snprintf(expected, sizeof expected, "length %lld of example %d is outside [0,%lld] (",
                 (long long)bad[i], at, (long long)max);
        check_that(strstr(wg_plan_message(p), expected) &&
                       strstr(wg_plan_message(p), models[which].name) &&
                       strstr(wg_plan_message(p), "test_lengths.c:"),
                   "%s: %s", models[which].name, wg_plan_message(p));
    }
    set_lengths(p, m.lengths, max, 0, max); /* both ends of the range are right */
    run(p, 0);
    set_lengths(p, m.lengths, 0, 0, max);
    run(p, 0);
    wg_plan_free(p);
    wg_graph_free(m.g);
}

static void lengths_outside_their_range_end_the_run(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(models); i++)
        for (int wide = 0; wide < 2; wide++) {
            const wg_dtype dtype = wide ? WG_I64 : WG_I32;
            check_model(i, dtype, &(wg_plan_options){.reference = true});
            check_model(i, dtype, NULL);
            check_model(i, dtype, &(wg_plan_options){.no_fuse = true, .threads = 2});
            for (size_t b = 0; wg_backend_at(b); b++) {
                const wg_backend *one = wg_backend_at(b);
                check_model(i, dtype, &(wg_plan_options){.backends = &one, .n_backends = 1});
            }
        }
}

/* A plan that cannot compute them when it is made leaves them to the run. */
static void constant_lengths_are_checked_too(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    model m = {g, wg_fill(g, WG_I32, WG_SHAPE(B), 5)};
    build_lstm(&m);
    wg_plan *p = plan_of(g, NULL);
    assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
    check_that(strstr(wg_plan_message(p), "lstm: length 5 of example 0 is outside [0,4]"), "%s",
               wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_outside_their_range_end_the_run),
        cmocka_unit_test(constant_lengths_are_checked_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
