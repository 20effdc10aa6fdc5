/* What decoding step by step rests on: rows put into a pool, attention over slots of it, positions
 * that are data. */
#include "tests/numbers.h"
#include "tests/trial.h"
#include "wengert/autograd/grad.h"

#include <math.h>

/* Of equal ids the last counts, and its row alone gets the cotangent. */
static void rows_are_put_in_order(void **state)
{
    (void)state;
    enum { N = 5, M = 4, D = 3 };
    static const wg_dtype dtypes[] = {WG_I32, WG_I64};
    static const double places[M] = {3, 1, 3, 0};
    for (int k = 0; k < 2; k++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, WG_F32, WG_SHAPE(N, D)),
                 *rows = trial_input(&t, WG_F32, WG_SHAPE(M, D)),
                 *c = trial_input(&t, WG_F32, WG_SHAPE(N, D));
        wg_value *ids = trial_input_in(&t, dtypes[k], WG_SHAPE(M), 0, N);
        memcpy(trial_data(&t, ids), places, sizeof places);
        wg_value *wrt[] = {x, rows}, *y = wg_put_rows(x, ids, rows), *d[2];
        assert_int_equal(wg_vjp(&y, &c, 1, wrt, 2, NULL, d), WG_OK);
        wg_value *all[] = {y, d[0], d[1]};
        trial_run(&t, all, 3, 2);
        for (int i = 0; i < N * D; i++) {
            int from = i / D == 3 ? 2 : i / D == 1 ? 1 : i / D == 0 ? 3 : -1;
            trial_expect(&t, "put_rows", y, i,
                         from < 0 ? trial_data(&t, x)[i] : trial_data(&t, rows)[from * D + i % D]);
            trial_expect(&t, "dx", d[0], i, from < 0 ? trial_data(&t, c)[i] : 0);
        }
        for (int i = 0; i < M * D; i++)
            trial_expect(&t, "drows", d[1], i,
                         i / D == 0 ? 0 : trial_data(&t, c)[(int)places[i / D] * D + i % D]);
        trial_end(&t, 2 * N * D + M * D);
    }
}

/* A state that takes what was put into it: three runs write three rows, and the plan holds no
 * second pool. */
static void a_state_is_written_in_place(void **state)
{
    (void)state;
    enum { N = 4096, D = 8 };
    wg_graph *g = wg_graph_new();
    wg_value *pool = wg_state(g, "pool", WG_F32, WG_SHAPE(N, D), wg_zeros());
    wg_value *id = wg_input(g, "id", WG_I32, WG_SHAPE(1)),
             *row = wg_input(g, "row", WG_F32, WG_SHAPE(1, D));
    wg_value *next = wg_put_rows(pool, id, row);
    wg_assign(pool, next);
    wg_value *sum = wg_output(wg_sum(wg_take(next, id, 0), WG_AXES(0, 1), WG_DROP), "sum");
    wg_plan *p;
    check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
    assert_true(wg_plan_statistics(p).buffer_bytes < N * D);
    for (int run = 0; run < 3; run++) {
        *(int32_t *)wg_plan_data(p, id) = run * 7;
        for (int i = 0; i < D; i++)
            ((float *)wg_plan_data(p, row))[i] = (float)(run + 1);
        assert_int_equal(wg_plan_run(p, (uint64_t)run), WG_OK);
        assert_true(*(float *)wg_plan_data(p, sum) == (float)(D * (run + 1)));
    }
    const float *kept = wg_store_find(wg_plan_store(p), "pool")->data;
    for (int i = 0; i < N * D; i++) {
        int r = i / D, run = r / 7;
        assert_true(kept[i] == (r == run * 7 && run < 3 ? (float)(run + 1) : 0));
    }
    *(int32_t *)wg_plan_data(p, id) = N;
    assert_int_equal(wg_plan_run(p, 3), WG_EDATA);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Slots that repeat, are shared and come in any order; past the lengths they point nowhere. */
static void paged_attention_is_its_definition(void **state)
{
    (void)state;
    enum { R = 5, H = 4, HK = 2, D = 3, DV = 5, N = 7, L = 6 };
    static const int length[R] = {6, 1, 0, 3, 6};
    trial t = trial_new();
    wg_value *q = trial_input(&t, WG_F64, WG_SHAPE(R, H, D)),
             *k = trial_input(&t, WG_F64, WG_SHAPE(N, HK, D)),
             *v = trial_input(&t, WG_F64, WG_SHAPE(N, HK, DV));
    wg_value *slots = trial_input_in(&t, WG_I32, WG_SHAPE(R, L), 0, N),
             *lengths = trial_input_in(&t, WG_I64, WG_SHAPE(R), 0, 1);
    for (int r = 0; r < R; r++) {
        trial_data(&t, lengths)[r] = length[r];
        for (int i = length[r]; i < L; i++)
            trial_data(&t, slots)[r * L + i] = i % 2 ? -1 : 1000;
    }
    wg_value *y = wg_paged_attention(q, k, v, slots, lengths, 0.25);
    trial_run(&t, &y, 1, 2);
    for (int at = 0; at < R * H * DV; at++) {
        int r = at / (H * DV), h = at / DV % H, g = h / (H / HK), seen = length[r];
        double sum = 0, value = 0;
        for (int i = 0; i < seen; i++) {
            int slot = (int)trial_data(&t, slots)[r * L + i];
            double dot = 0;
            for (int j = 0; j < D; j++)
                dot += trial_data(&t, q)[(r * H + h) * D + j] *
                       trial_data(&t, k)[(slot * HK + g) * D + j];
            sum += exp(0.25 * dot);
            value += exp(0.25 * dot) * trial_data(&t, v)[(slot * HK + g) * DV + at % DV];
        }
        assert_true(numbers_close(trial_at(&t, y, at), seen ? value / sum : 0, 1e-13));
        t.compared++;
    }
    trial_data(&t, slots)[0] = N;
    assert_int_equal(trial_try(&t, &y, 1, 1), WG_EDATA);
    trial_data(&t, slots)[0] = 0;
    trial_data(&t, lengths)[4] = L + 1;
    assert_int_equal(trial_try(&t, &y, 1, 1), WG_EDATA);
    trial_end(&t, R * H * DV);
}

/* Each row by its position: as a sequence in which it stands there. */
static void rotary_positions_are_data(void **state)
{
    (void)state;
    enum { B = 4, H = 2, T = 3, D = 4, LONG = 12 };
    static const double places[B] = {0, 5, 9, 5};
    for (int pairs = 0; pairs < 2; pairs++) {
        trial t = trial_new();
        wg_value *x = trial_input(&t, WG_F32, WG_SHAPE(B, H, T, D)),
                 *positions = trial_input_in(&t, WG_I32, WG_SHAPE(B), 0, 1);
        memcpy(trial_data(&t, positions), places, sizeof places);
        const wg_rotary_attrs a = {.base = 100, .first = 2, .pairs = pairs};
        wg_value *out[1 + B] = {wg_rotary_at(x, positions, &a)};
        for (int b = 0; b < B; b++) {
            wg_rotary_attrs there = a;
            there.first += (int64_t)places[b];
            out[1 + b] = wg_rotary(x, &there);
        }
        trial_run(&t, out, 1 + B, 2);
        for (int i = 0; i < B * H * T * D; i++)
            trial_expect(&t, "rotary_at", out[0], i, trial_at(&t, out[1 + i / (H * T * D)], i));
        trial_end(&t, B * H * T * D);
    }
}

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    static const struct {
        int which;
        const char *message;
    } cases[] = {
        {0, "rows is f32 but x is f64"},
        {1, "rows is [2,3], its axis 0 must be 4"},
        {2, "3 heads of queries cannot share 2 heads of keys"},
        {3, "slots is [4,2], its axis 0 must be 2"},
        {4, "positions is [4], its axis 0 must be 2"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_fill(g, WG_F64, WG_SHAPE(5, 3), 0),
                 *four = wg_fill(g, WG_I32, WG_SHAPE(4), 0);
        wg_value *q = wg_fill(g, WG_F32, WG_SHAPE(2, 3, 4), 0),
                 *k = wg_fill(g, WG_F32, WG_SHAPE(9, 2, 4), 0);
        wg_value *slots = wg_fill(g, WG_I32, WG_SHAPE(4, 2), 0);
        switch (cases[i].which) {
        case 0: wg_put_rows(x, four, wg_fill(g, WG_F32, WG_SHAPE(4, 3), 0)); break;
        case 1: wg_put_rows(x, four, wg_fill(g, WG_F64, WG_SHAPE(2, 3), 0)); break;
        case 2: wg_paged_attention(q, k, k, slots, four, 0); break;
        case 3: wg_paged_attention(q, q, q, slots, four, 0); break;
        default: wg_rotary_at(q, four, NULL); break;
        }
        check_that(strstr(wg_graph_message(g), cases[i].message) != NULL,
                   "case %d: \"%s\" has no \"%s\"", i, wg_graph_message(g), cases[i].message);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_put_in_order),
        cmocka_unit_test(a_state_is_written_in_place),
        cmocka_unit_test(paged_attention_is_its_definition),
        cmocka_unit_test(rotary_positions_are_data),
        cmocka_unit_test(wrong_arguments_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
