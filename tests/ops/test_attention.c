/* Attention against its definition, and what masks promise: exact zeros, the same bits whatever
 * stands in masked places, defined results for rows without any key.  Rotary positions. */
#include "tests/numbers.h"

/* ---- the definition -------------------------------------------------------------------------- */

typedef struct setting {
    int64_t B, H, Hk, T, S, d, dv;
    int64_t length[4]; /* of each example; length[0] < 0: none given */
    wg_attention_attrs a;
    int64_t bias[4]; /* shape of the bias; bias[0] 0: none */
} setting;

static bool sees(const setting *c, int64_t b, int64_t t, int64_t s)
{
    int64_t distance = s - t - c->a.causal_offset;
    return (c->length[0] < 0 || s < c->length[b]) && (!c->a.causal || distance <= 0) &&
           (!c->a.window || (-c->a.left <= distance && distance <= c->a.right));
}

/* Where in the bias the number for score [b, h, t, s] is. */
static int64_t in_bias(const setting *c, int64_t b, int64_t h, int64_t t, int64_t s)
{
    const int64_t at[] = {b, h, t, s};
    int64_t place = 0;
    for (int i = 0; i < 4; i++)
        place = place * c->bias[i] + (c->bias[i] > 1 ? at[i] : 0);
    return place;
}

static double score(const setting *c, const double *q, const double *k)
{
    double sum = 0;
    for (int64_t i = 0; i < c->d; i++)
        sum += q[i] * k[i];
    return sum * (c->a.scale != 0 ? c->a.scale : 1 / sqrt((double)c->d));
}

/* weights [B,H,T,S] and y [B,H,T,dv] */
static void define(const setting *c, const double *q, const double *k, const double *v,
                   const double *bias, double *w, double *y)
{
    for (int64_t row = 0; row < c->B * c->H * c->T; row++) {
        int64_t t = row % c->T, h = row / c->T % c->H, b = row / c->T / c->H;
        int64_t head = b * c->Hk + h / (c->H / c->Hk);
        double sum = 0;
        for (int64_t s = 0; s < c->S; s++) {
            double *at = &w[row * c->S + s], added = c->bias[0] ? bias[in_bias(c, b, h, t, s)] : 0;
            *at = sees(c, b, t, s)
                      ? exp(score(c, q + row * c->d, k + (head * c->S + s) * c->d) + added)
                      : 0;
            sum += *at;
        }
        for (int64_t j = 0; j < c->dv; j++)
            y[row * c->dv + j] = 0;
        for (int64_t s = 0; s < c->S && sum > 0; s++) {
            w[row * c->S + s] /= sum;
            for (int64_t j = 0; j < c->dv; j++)
                y[row * c->dv + j] += w[row * c->S + s] * v[(head * c->S + s) * c->dv + j];
        }
    }
}

/* ---- a graph of one attention ---------------------------------------------------------------- */

enum { MAX = 4096 };

typedef struct numbers_of { /* q, k, v, dy, bias */
    double x[5][MAX];
} numbers_of;

static void shapes_of(const setting *c, wg_shape shape[5])
{
    shape[4] = WG_SHAPE(c->bias[0], c->bias[1], c->bias[2], c->bias[3]);
    shape[0] = WG_SHAPE(c->B, c->H, c->T, c->d);
    shape[1] = WG_SHAPE(c->B, c->Hk, c->S, c->d);
    shape[2] = WG_SHAPE(c->B, c->Hk, c->S, c->dv);
    shape[3] = WG_SHAPE(c->B, c->H, c->T, c->dv);
}

static void draw(const setting *c, numbers_of *n, uint64_t seed)
{
    wg_shape shape[5];
    shapes_of(c, shape);
    for (int i = 0; i < 5; i++)
        for (int64_t k = 0; k < wg_shape_count(&shape[i]); k++) {
            assert_true(k < MAX);
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            n->x[i][k] = (double)(seed >> 33) * 0x1p-30 - 1;
        }
}

enum { Y, DQ, DK, DV, W, OUTPUTS }; /* results of run() */

/* y, dq, dk, dv and the weights */
static wg_plan *run(const setting *c, const numbers_of *n, wg_dtype dtype, int threads,
                    wg_value *out[OUTPUTS])
{
    wg_graph *g = wg_graph_new();
    wg_shape shape[5];
    wg_value *in[4], *lengths = NULL, *bias = NULL;
    shapes_of(c, shape);
    for (int i = 0; i < 4; i++)
        in[i] = numbers(g, dtype, shape[i], n->x[i]);
    if (c->bias[0])
        bias = numbers(g, dtype, shape[4], n->x[4]);
    if (c->length[0] >= 0)
        lengths = wg_constant(g, WG_I64, WG_SHAPE(c->B), c->length);
    out[Y] = wg_biased_attention(in[0], in[1], in[2], bias, lengths, &c->a);
    out[W] = wg_biased_attention_weights(in[0], in[1], bias, lengths, &c->a);
    wg_vjp(&out[Y], &in[3], 1, in, 3, NULL, out + DQ);
    return small_run(g, out, OUTPUTS, threads);
}

static void end(wg_plan *p, wg_value *const *out)
{
    wg_graph *g = wg_graph_of(out[0]);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static const setting settings[] = {
    {2, 2, 2, 3, 5, 4, 3, {-1}, {0}, {0}},
    {2, 2, 2, 5, 5, 4, 4, {-1}, {.causal = true}, {0}},
    {3, 2, 2, 3, 5, 4, 3, {5, 0, 2}, {.scale = 0.7}, {0}},
    {2, 4, 2, 3, 5, 4, 3, {4, 5}, {.causal = true, .causal_offset = 2}, {0}},
    {1, 4, 1, 3, 2, 4, 3, {-1}, {.causal = true, .causal_offset = -1}, {0}},
    {2, 1, 1, 1, 1, 1, 1, {1, 0}, {0}, {0}},
    {2, 2, 1, 3, 4, 2, 3, {-1}, {0}, {2, 2, 3, 4}},
    {2, 2, 2, 3, 4, 2, 3, {4, 1}, {.causal = true, .causal_offset = 1}, {1, 2, 1, 4}},
    {2, 4, 2, 3, 4, 2, 3, {-1}, {0}, {2, 1, 3, 1}},
    {2, 2, 1, 7, 8, 2, 3, {-1}, {.window = true, .left = 2, .right = 1}, {0}},
    {2, 2, 1, 5, 8, 2, 3, {6, 1}, {.window = true, .left = 1, .right = 4, .causal = true}, {0}},
    {1, 2, 1, 5, 8, 2, 3, {-1}, {.window = true, .causal_offset = 3, .left = 1}, {1, 1, 5, 8}},
    {1, 1, 1, 5, 2, 2, 3, {-1}, {.window = true, .causal_offset = -4, .right = 1}, {0}},
};

static void attention_is_its_definition(void **state)
{
    (void)state;
    static numbers_of n;
    static double w[MAX], y[MAX];
    for (int i = 0; i < WG_COUNT(settings); i++)
        for (wg_dtype d = WG_F32; d <= WG_F64; d++) {
            const setting *c = &settings[i];
            wg_value *out[OUTPUTS];
            draw(c, &n, 1);
            define(c, n.x[0], n.x[1], n.x[2], n.x[4], w, y);
            wg_plan *p = run(c, &n, d, 1, out);
            double tolerance = d == WG_F64 ? 1e-14 : 1e-6;
            numbers_near("y", p, out[Y], y, c->B * c->H * c->T * c->dv, tolerance);
            numbers_near("weights", p, out[W], w, c->B * c->H * c->T * c->S, tolerance);
            end(p, out);
        }
}

static void masked_weights_are_exact_zeros_and_blind_rows_are_zero(void **state)
{
    (void)state;
    static numbers_of n;
    const setting *c = &settings[2];
    wg_value *out[OUTPUTS];
    draw(c, &n, 2);
    wg_plan *p = run(c, &n, WG_F32, 1, out);
    int64_t zeros = 0;
    for (int64_t row = 0; row < c->B * c->H * c->T; row++) {
        int64_t b = row / c->T / c->H;
        for (int64_t s = 0; s < c->S; s++) {
            assert_true((small_at(p, out[W], row * c->S + s) == 0) == (s >= c->length[b]));
            zeros += s >= c->length[b];
        }
        for (int64_t j = 0; j < c->dv; j++)
            assert_true((small_at(p, out[Y], row * c->dv + j) == 0) == (c->length[b] == 0));
    }
    assert_int_equal(zeros, 2 * 3 * (0 + 5 + 3));
    for (int i = DQ; i <= DV; i++)
        numbers_finite("gradient", p, out[i]);
    end(p, out);
}

/* NaN in padded keys and values: not one bit of any result changes. */
static void padding_may_hold_anything(void **state)
{
    (void)state;
    static numbers_of clean, dirty;
    for (int i = 2; i <= 3; i++) {
        const setting *c = &settings[i];
        wg_value *a[OUTPUTS], *b[OUTPUTS];
        draw(c, &clean, 3);
        dirty = clean;
        for (int64_t row = 0; row < c->B * c->Hk * c->S; row++)
            if (row % c->S >= c->length[row / c->S / c->Hk]) {
                for (int64_t j = 0; j < c->d; j++)
                    dirty.x[1][row * c->d + j] = j % 2 ? NAN : INFINITY;
                for (int64_t j = 0; j < c->dv; j++)
                    dirty.x[2][row * c->dv + j] = j % 2 ? 1e30 : NAN;
            }
        assert_true(memcmp(&clean, &dirty, sizeof clean) != 0);
        wg_plan *p = run(c, &clean, WG_F32, 1, a), *q = run(c, &dirty, WG_F32, 1, b);
        for (int k = 0; k < OUTPUTS; k++)
            numbers_same_bits("padding", p, a[k], q, b[k]);
        end(p, a);
        end(q, b);
    }
}

/* Other keys and values from position 3 on: the queries before see the same bits. */
static void the_future_does_not_matter(void **state)
{
    (void)state;
    static numbers_of before, after;
    const setting *c = &settings[1];
    wg_value *a[OUTPUTS], *b[OUTPUTS];
    draw(c, &before, 4);
    draw(c, &after, 5);
    for (int i = 1; i < 3; i++)
        for (int64_t k = 0; k < c->B * c->H * c->S * c->d; k++)
            if (k / c->d % c->S < 3)
                after.x[i][k] = before.x[i][k];
    memcpy(after.x[0], before.x[0], sizeof before.x[0]);
    wg_plan *p = run(c, &before, WG_F32, 1, a), *q = run(c, &after, WG_F32, 1, b);
    int64_t same = 0, other = 0;
    for (int64_t k = 0; k < wg_value_count(a[Y]); k++) {
        bool equal = small_at(p, a[Y], k) == small_at(q, b[Y], k);
        check_that(equal || k / c->dv % c->T >= 3, "query %lld saw the future",
                   (long long)(k / c->dv % c->T));
        same += equal;
        other += !equal;
    }
    assert_true(same >= 2 * 2 * 3 * 4 && other > 0);
    end(p, a);
    end(q, b);
}

/* Scores of 1e30 and the same bits at 1 and 4 threads. */
static void huge_scores_and_threads(void **state)
{
    (void)state;
    static numbers_of n;
    const setting *c = &settings[3];
    wg_value *a[OUTPUTS], *b[OUTPUTS];
    draw(c, &n, 6);
    for (int i = 0; i < MAX; i++)
        n.x[0][i] *= 1e15, n.x[1][i] *= 1e15;
    wg_plan *p = run(c, &n, WG_F32, 1, a), *q = run(c, &n, WG_F32, 4, b);
    numbers_finite("y", p, a[Y]);
    for (int k = 0; k < OUTPUTS; k++)
        numbers_same_bits("threads", p, a[k], q, b[k]);
    end(p, a);
    end(q, b);
}

/* The backward pass asks for the same weights as the forward pass; a plan computes them once. */
static void weights_are_computed_once(void **state)
{
    (void)state;
    static numbers_of n;
    wg_value *out[OUTPUTS];
    draw(&settings[3], &n, 7);
    wg_plan *p = run(&settings[3], &n, WG_F32, 1, out);
    int softmaxes = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        softmaxes += wg_plan_step_at(p, i).node->op == &wg_op_softmax;
    assert_int_equal(softmaxes, 1);
    end(p, out);
}

static void dropout_draws_anew_each_step_and_keeps_the_mean(void **state)
{
    (void)state;
    enum { S = 10000 };
    wg_graph *g = wg_graph_new();
    wg_value *q = wg_fill(g, WG_F64, WG_SHAPE(1, 1, 2, 1), 0),
             *k = wg_fill(g, WG_F64, WG_SHAPE(1, 1, S, 1), 0);
    wg_value *v = wg_fill(g, WG_F64, WG_SHAPE(1, 1, S, 1), 1);
    wg_attention_attrs a = {.dropout = 0.25};
    wg_value *y[] = {wg_attention(q, k, v, NULL, &a), wg_attention(q, k, v, NULL, &a)};
    wg_plan *p = small_run(g, y, 2, 1);
    double first[4];
    for (int i = 0; i < 4; i++) { /* two queries of two nodes: four masks */
        first[i] = small_at(p, y[i / 2], i % 2);
        assert_true(fabs(first[i] - 1) < 0.03);
        for (int j = 0; j < i; j++)
            assert_true(first[i] != first[j]);
    }
    assert_int_equal(wg_plan_run(p, 1), WG_OK);
    assert_true(small_at(p, y[0], 0) != first[0]);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    assert_true(small_at(p, y[0], 0) == first[0]);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* q [B, T, D] (heads 0) or [B, heads, T, D], as the definition says it, a row at a time. */
static int64_t check_additive(int heads, const wg_additive_attrs *a)
{
    enum { B = 2, T = 3, S = 4, D = 5, E = 2 };
    static const int64_t length[B] = {4, 2};
    wg_graph *g = wg_graph_new();
    uint64_t seed = 8;
    const int64_t n = heads ? heads : 1, q4[] = {B, n, T, D}, k4[] = {B, n, S, D},
                  v4[] = {B, n, S, E}, q3[] = {B, T, D}, k3[] = {B, S, D}, v3[] = {B, S, E},
                  w2[] = {n, D};
    int rank = heads ? 4 : 3;
    wg_value *in[] = {
        numbers_drawn(g, WG_F64, wg_shape_make(rank, heads ? q4 : q3), -1, 1, &seed),
        numbers_drawn(g, WG_F64, wg_shape_make(rank, heads ? k4 : k3), -1, 1, &seed),
        numbers_drawn(g, WG_F64, wg_shape_make(rank - 2, heads ? w2 : w2 + 1), -1, 1, &seed),
        numbers_drawn(g, WG_F64, wg_shape_make(rank, heads ? v4 : v3), -1, 1, &seed), NULL};
    in[4] = wg_additive_attention(in[0], in[1], in[2], in[3],
                                  wg_constant(g, WG_I64, WG_SHAPE(B), length), a);
    wg_plan *p = small_run(g, in, 5, 1);
    for (int64_t row = 0; row < B * n * T; row++) {
        double w[S], sum = 0, y[E] = {0};
        int64_t group = row / T, t = row % T, keys = length[group / n];
        if (a->causal && keys > t + a->causal_offset + 1)
            keys = t + a->causal_offset + 1;
        for (int64_t s = 0; s < keys; s++) {
            double e = 0;
            for (int64_t i = 0; i < D; i++)
                e += small_at(p, in[2], group % n * D + i) *
                     tanh(small_at(p, in[0], row * D + i) +
                          small_at(p, in[1], (group * S + s) * D + i));
            sum += w[s] = exp(e);
        }
        for (int64_t s = 0; s < keys; s++)
            for (int64_t j = 0; j < E; j++)
                y[j] += w[s] / sum * small_at(p, in[3], (group * S + s) * E + j);
        for (int64_t j = 0; j < E; j++)
            assert_true(numbers_close(small_at(p, in[4], row * E + j), y[j], 1e-14));
    }
    wg_plan_free(p);
    wg_graph_free(g);
    return B * n * T * E;
}

static void additive_attention_is_its_definition(void **state)
{
    (void)state;
    static const wg_additive_attrs attrs[] = {
        {0}, {.causal = true}, {.causal = true, .causal_offset = 1}};
    for (int heads = 0; heads <= 3; heads++)
        for (int i = 0; i < 3; i++)
            assert_true(check_additive(heads, &attrs[i]) > 0);
}

/* Position 2 of width 4: pair 0 turns by 2, pair 1 by 2 / sqrt(100). */
static void rotary_turns_pairs(void **state)
{
    (void)state;
    const double x[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 3};
    const double interleaved[] = {cos(2), sin(2), -3 * sin(0.2), 3 * cos(0.2)};
    const double halves[] = {cos(2), -3 * sin(0.2), sin(2), 3 * cos(0.2)};
    wg_graph *g = wg_graph_new();
    wg_value *in = numbers(g, WG_F64, WG_SHAPE(3, 4), x), *out[4];
    for (int pairs = 0; pairs < 2; pairs++) {
        out[2 * pairs] = wg_rotary(in, &(wg_rotary_attrs){.base = 100, .pairs = pairs});
        out[2 * pairs + 1] = wg_rotary(
            out[2 * pairs], &(wg_rotary_attrs){.base = 100, .pairs = pairs, .inverse = true});
    }
    wg_plan *p = small_run(g, out, 4, 1);
    for (int i = 0; i < 4; i++) {
        assert_true(numbers_close(small_at(p, out[0], 8 + i), interleaved[i], 1e-15));
        assert_true(numbers_close(small_at(p, out[2], 8 + i), halves[i], 1e-15));
    }
    for (int i = 0; i < 12; i++)
        assert_true(numbers_close(small_at(p, out[1], i), x[i], 1e-15) &&
                    numbers_close(small_at(p, out[3], i), x[i], 1e-15));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* q at m and k at n: the product depends on m - n only. */
static void rotary_products_depend_on_distance(void **state)
{
    (void)state;
    const double q[] = {1, -2, 0.5, 3}, k[] = {0.25, 1, -1, 2};
    for (int pairs = 0; pairs < 2; pairs++) {
        wg_graph *g = wg_graph_new();
        wg_value *out[3], *a = numbers(g, WG_F64, WG_SHAPE(1, 4), q),
                          *b = numbers(g, WG_F64, WG_SHAPE(1, 4), k);
        for (int i = 0; i < 3; i++) {
            int64_t m = i == 2 ? 6 : 5 + 70 * i, n = 70 * i + (i == 2 ? -140 : 0);
            out[i] =
                wg_matmul_t(wg_rotary(a, &(wg_rotary_attrs){.first = m, .pairs = pairs}),
                            wg_rotary(b, &(wg_rotary_attrs){.first = n, .pairs = pairs}), WG_NT);
        }
        wg_plan *p = small_run(g, out, 3, 1);
        assert_true(numbers_close(small_at(p, out[0], 0), small_at(p, out[1], 0), 1e-13));
        assert_true(fabs(small_at(p, out[0], 0) - small_at(p, out[2], 0)) > 1e-3);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* A mask of bools for sequences of 2 and 3 tokens in one row: each block attends to itself alone,
 * as if it stood alone, and no key at all gives zeros. */
static void a_mask_of_bools_hides_keys(void **state)
{
    (void)state;
    static const double document[] = {0, 0, 1, 1, 1, 7}, other[] = {0, 0, 1, 1, 1, 8};
    static numbers_of n;
    const setting c = {1, 2, 1, 6, 6, 4, 3, {-1}, {.causal = true}, {0}};
    wg_graph *g = wg_graph_new();
    wg_shape shape[5];
    wg_value *in[3], *part[3], *y[2];
    shapes_of(&c, shape);
    draw(&c, &n, 9);
    for (int i = 0; i < 3; i++) {
        in[i] = numbers(g, WG_F64, shape[i], n.x[i]);
        part[i] = wg_slice(in[i], 2, 2, 5, 1);
    }
    wg_value *same = wg_equal(numbers(g, WG_F64, WG_SHAPE(6, 1), document),
                              numbers(g, WG_F64, WG_SHAPE(1, 6), other));
    y[0] = wg_biased_attention(in[0], in[1], in[2], wg_reshape(same, WG_SHAPE(1, 1, 6, 6)), NULL,
                               &c.a);
    y[1] = wg_attention(part[0], part[1], part[2], NULL, &c.a);
    wg_plan *p = small_run(g, y, 2, 1);
    for (int64_t h = 0; h < 2; h++)
        for (int64_t i = 0; i < 3 * c.dv; i++)
            assert_true(numbers_close(small_at(p, y[0], (h * 6 + 2) * c.dv + i),
                                      small_at(p, y[1], h * 3 * c.dv + i), 1e-14));
    for (int64_t i = 0; i < c.dv; i++)
        assert_true(small_at(p, y[0], 5 * c.dv + i) == 0 && small_at(p, y[0], i) != 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* What a window hides does not change one bit. */
static void keys_outside_a_window_do_not_matter(void **state)
{
    (void)state;
    static numbers_of before, after;
    const setting c = {2, 2, 1, 6, 9, 4, 3, {-1}, {.window = true, .left = 1, .right = 1}, {0}};
    wg_value *a[OUTPUTS], *b[OUTPUTS];
    draw(&c, &before, 4);
    draw(&c, &after, 5);
    memcpy(after.x[0], before.x[0], sizeof before.x[0]);
    const int64_t width[] = {0, c.d, c.dv};
    for (int i = 1; i < 3; i++) /* key 0 changes, and those from 7 on, which nobody sees */
        for (int64_t k = 0; k < c.B * c.Hk * c.S * width[i]; k++)
            if (k / width[i] % c.S > 0 && k / width[i] % c.S < 7)
                after.x[i][k] = before.x[i][k];
    wg_plan *p = run(&c, &before, WG_F32, 1, a), *q = run(&c, &after, WG_F32, 1, b);
    int64_t same = 0, other = 0;
    for (int64_t k = 0; k < wg_value_count(a[Y]); k++) {
        bool equal = small_at(p, a[Y], k) == small_at(q, b[Y], k), sees_key_0 = k / c.dv % c.T < 2;
        assert_true(equal || sees_key_0);
        same += equal;
        other += !equal;
    }
    assert_true(same >= 2 * 2 * 4 * 3 && other > 0);
    end(p, a);
    end(q, b);
}

/* In f64 on the reference backend, a window gives the bits of attention to all keys with the mask
 * of bools that says the same: results and gradients. */
static void a_window_is_a_mask_bit_for_bit(void **state)
{
    (void)state;
    static const wg_attention_attrs windows[] = {
        {.window = true, .left = 2, .right = 1},
        {.window = true, .left = 1, .right = 3, .causal = true},
        {.window = true, .left = 3, .causal_offset = 2, .dropout = 0.25, .key = 3},
        {.window = true},
    };
    static numbers_of n;
    int64_t compared = 0, hidden = 0;
    for (int i = 0; i < WG_COUNT(windows); i++) {
        const setting c = {2, 4, 2, 7, 9, 4, 3, {9, 4}, windows[i], {0}};
        bool mask[7 * 9];
        wg_value *out[2][4], *in[4];
        wg_shape shape[5];
        wg_attention_attrs all = {.dropout = c.a.dropout, .key = c.a.key};
        for (int64_t k = 0; k < c.T * c.S; k++) {
            mask[k] = sees(&c, 0, k / c.S, k % c.S);
            hidden += !mask[k];
        }
        wg_graph *g = wg_graph_new();
        draw(&c, &n, 11 + (uint64_t)i);
        shapes_of(&c, shape);
        for (int k = 0; k < 4; k++)
            in[k] = numbers(g, WG_F64, shape[k], n.x[k]);
        wg_value *lengths = wg_constant(g, WG_I64, WG_SHAPE(c.B), c.length),
                 *seen = wg_constant(g, WG_BOOL, WG_SHAPE(1, 1, c.T, c.S), mask);
        out[0][0] = wg_attention(in[0], in[1], in[2], lengths, &c.a);
        out[1][0] = wg_biased_attention(in[0], in[1], in[2], seen, lengths, &all);
        for (int k = 0; k < 2; k++)
            wg_vjp(out[k], &in[3], 1, in, 3, NULL, out[k] + 1);
        wg_plan *p;
        wg_plan_options o = {.outputs = &out[0][0],
                             .n_outputs = 8,
                             .reference = true,
                             .no_fold = true,
                             .no_cse = true};
        check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
        check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
        for (int k = 0; k < 4; k++) {
            numbers_same_bits("a window", p, out[0][k], p, out[1][k]);
            compared += wg_value_count(out[0][k]);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_true(compared > 1000 && hidden > 50);
}

static void bad_shapes_are_refused(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(1, 3, 2, 4), 0),
             *two = wg_fill(g, WG_F32, WG_SHAPE(1, 2, 2, 4), 0);
    wg_attention(x, two, two, NULL, NULL);
    small_refused(g, "3 heads of queries cannot share 2 heads of keys");
    g = wg_graph_new();
    x = wg_fill(g, WG_F32, WG_SHAPE(2, 3, 2, 4), 0);
    wg_attention(x, x, x, wg_fill(g, WG_I32, WG_SHAPE(3), 1), NULL);
    small_refused(g, "lengths is [3], its axis 0 must be 2, not 3");
    g = wg_graph_new();
    x = wg_fill(g, WG_F32, WG_SHAPE(2, 3, 2, 4), 0);
    wg_attention(x, x, x, NULL, &(wg_attention_attrs){.dropout = 1});
    small_refused(g, "dropout is 1, must be in [0, 1)");
    g = wg_graph_new();
    wg_rotary(wg_fill(g, WG_F32, WG_SHAPE(2, 3), 0), NULL);
    small_refused(g, "the last axis of x is 3, must be even: positions turn pairs");
}

static void bad_biases_and_windows_are_refused(void **state)
{
    (void)state;
    static const struct {
        wg_shape bias;
        wg_dtype dtype;
        wg_attention_attrs a;
        const char *words;
    } bad[] = {
        {{4, {1, 1, 3, 2}},
         WG_F32,
         {0},
         "bias is [1,1,3,2], must broadcast to the scores [2,3,2,2]"},
        {{2, {2, 2}}, WG_F32, {0}, "bias is [2,2] of rank 2, must be of rank 4"},
        {{4, {1, 1, 2, 2}}, WG_F64, {0}, "bias is f64 but q is f32"},
        {{4, {1, 1, 1, 1}},
         WG_F32,
         {.window = true, .left = -1},
         "left is -1 and right is 0, must"},
        {{4, {1, 1, 1, 1}}, WG_F32, {.right = 3}, "right is 3, but window is false"},
    };
    for (int i = 0; i < WG_COUNT(bad); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(2, 3, 2, 4), 0);
        wg_biased_attention(x, x, x, wg_fill(g, bad[i].dtype, bad[i].bias, 0), NULL, &bad[i].a);
        small_refused(g, bad[i].words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_is_its_definition),
        cmocka_unit_test(masked_weights_are_exact_zeros_and_blind_rows_are_zero),
        cmocka_unit_test(padding_may_hold_anything),
        cmocka_unit_test(the_future_does_not_matter),
        cmocka_unit_test(huge_scores_and_threads),
        cmocka_unit_test(weights_are_computed_once),
        cmocka_unit_test(dropout_draws_anew_each_step_and_keeps_the_mean),
        cmocka_unit_test(additive_attention_is_its_definition),
        cmocka_unit_test(rotary_turns_pairs),
        cmocka_unit_test(rotary_products_depend_on_distance),
        cmocka_unit_test(a_mask_of_bools_hides_keys),
        cmocka_unit_test(keys_outside_a_window_do_not_matter),
        cmocka_unit_test(a_window_is_a_mask_bit_for_bit),
        cmocka_unit_test(bad_shapes_are_refused),
        cmocka_unit_test(bad_biases_and_windows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
