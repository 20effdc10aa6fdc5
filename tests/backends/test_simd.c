/* The kernels of the simd backend for each instruction set that this CPU has.
 * test_conformance.c sees only the one that is chosen; here all are compared,
 * among each other and with sums in double. */
#include "tests/simd.h"

/* ---- dropout --------------------------------------------------------------------------------- */

static void every_set_drops_by_the_same_mask(void **state)
{
    (void)state;
    static const int64_t counts[] = {0, 1, 7, 8, 127, 128, 129, 255, 1000, 4095, 4097, MAX - 1};
    setting s = all_tables();
    float *x = numbers(&s, MAX);
    int64_t dropped = 0, compared = 0;
    for (int t = 0; t < s.n_tables; t++)
        for (size_t k = 0; k < WG_COUNT(counts); k++) {
            int64_t n = counts[k];
            float *y = room(n);
            simd_dropout a = {.x = x, .y = y, .count = n, .threads = 2};
            a.mask = wgi_mask_of(k, UINT64_C(1) << 40, 3, 0.3);
            floats_of(s.table[t])->dropout(&a);
            for (int64_t i = 0; i < n; i++, compared++) {
                uint16_t number[WGI_MASK_NUMBERS];
                wgi_mask_block(&a.mask, (uint64_t)i / WGI_MASK_NUMBERS, number);
                bool kept = number[i % WGI_MASK_NUMBERS] < a.mask.keep;
                check_that(y[i] == (kept ? x[i] * (float)a.mask.scale : 0),
                           "%s, element %lld of %lld", s.table[t]->isa, (long long)i, (long long)n);
                dropped += !kept;
            }
            free_room(y, n);
        }
    check_that(compared > 10000 && fabs((double)dropped / (double)compared - 0.3) < 0.02,
               "%lld of %lld", (long long)dropped, (long long)compared);
    free(x);
}

/* Rows of any width: the mask of a row begins within a group. */
static void rows_take_their_part_of_the_mask(void **state)
{
    (void)state;
    static const int64_t widths[] = {1,  2,  5,  12,  15,  16,  17,  31,
                                     32, 33, 64, 100, 128, 130, 257, 512};
    setting s = all_tables();
    for (int t = 0; t < s.n_tables; t++)
        for (size_t k = 0; k < WG_COUNT(widths); k++) {
            int64_t rows = 7, width = widths[k], n = rows * width;
            float *x = numbers(&s, n), *more = numbers(&s, n), *y = room(n), *sum = room(n);
            float *dropped = room(n), mean[7], rstd[7];
            wgi_mask mask = wgi_mask_of(5, 6, 7, 0.4);
            simd_norm a = {.residual = more,
                           .branch = x,
                           .sum = sum,
                           .y = y,
                           .mean = mean,
                           .rstd = rstd,
                           .mask = mask,
                           .rows = rows,
                           .width = width,
                           .eps = 1e-5f,
                           .threads = 1};
            s.table[t]->layernorm_forward(&a);
            floats_of(s.table[t])
                ->dropout(
                    &(simd_dropout){.x = x, .y = dropped, .count = n, .mask = mask, .threads = 1});
            for (int64_t r = 0; r < rows; r++) {
                double m = 0, v = 0;
                for (int64_t i = r * width; i < (r + 1) * width; i++) {
                    check_that(fabsf(sum[i] - (more[i] + dropped[i])) <= 4e-7f,
                               "%s, width %lld: %g", s.table[t]->isa, (long long)width,
                               (double)sum[i]);
                    m += (double)sum[i] / (double)width;
                }
                for (int64_t i = r * width; i < (r + 1) * width; i++)
                    v += ((double)sum[i] - m) * ((double)sum[i] - m) / (double)width;
                for (int64_t i = r * width; i < (r + 1) * width; i++)
                    check_that(fabs((double)y[i] - ((double)sum[i] - m) / sqrt(v + 1e-5)) < 2e-5,
                               "%s, width %lld: %g", s.table[t]->isa, (long long)width,
                               (double)y[i]);
            }
            free(x);
            free(more);
            free_room(y, n);
            free_room(sum, n);
            free_room(dropped, n);
        }
}

/* ---- sums of rows ---------------------------------------------------------------------------- */

static void columns_add_up(void **state)
{
    (void)state;
    static const int64_t shapes[][2] = {{1, 16},  {7, 33},    {8, 64},    {9, 1},     {127, 65},
                                        {128, 3}, {129, 100}, {1000, 37}, {16, 2049}, {2000, 19}};
    setting s = all_tables();
    for (size_t k = 0; k < WG_COUNT(shapes); k++) {
        int64_t rows = shapes[k][0], width = shapes[k][1];
        float *x = numbers(&s, rows * width), *y[TABLES][2];
        for (int t = 0; t < s.n_tables; t++)
            for (int two = 0; two < 2; two++) {
                int64_t size = simd_column_blocks(rows) * width;
                float *scratch = room(size);
                y[t][two] = room(width);
                floats_of(s.table[t])
                    ->column_sum(&(simd_columns){x, y[t][two], rows, width, two + 1, scratch});
                free_room(scratch, size);
                assert_memory_equal(y[t][two], y[t][0], (size_t)width * sizeof(float));
            }
        for (int64_t j = 0; j < width; j++) {
            double sum = 0;
            for (int64_t i = 0; i < rows; i++)
                sum += (double)x[i * width + j];
            for (int t = 0; t < s.n_tables; t++)
                check_that(fabs((double)y[t][0][j] - sum) < 4e-6 * fmax(1, sqrt((double)rows)),
                           "%s, [%lld, %lld], column %lld: %g, not %g", s.table[t]->isa,
                           (long long)rows, (long long)width, (long long)j, (double)y[t][0][j],
                           sum);
        }
        for (int t = 0; t < s.n_tables; t++)
            for (int two = 0; two < 2; two++)
                free_room(y[t][two], width);
        free(x);
    }
}

/* ---- embeddings ------------------------------------------------------------------------------ */

/* Repeated ids add in their order, so the bits are those of the plain loop; rows that no id names
 * are 0. */
static void rows_are_added_in_order(void **state)
{
    (void)state;
    enum { ROWS = 301, COUNT = 700 };
    static const int64_t widths[] = {1, 8, 17, 128};
    setting s = all_tables();
    for (size_t k = 0; k < WG_COUNT(widths); k++) {
        int64_t width = widths[k], n = ROWS * width, ids64[COUNT];
        int32_t ids32[COUNT];
        float *dy = numbers(&s, COUNT * width), *wanted = calloc((size_t)n, sizeof *wanted);
        assert_non_null(wanted);
        for (int64_t i = 0; i < COUNT; i++) {
            ids32[i] = (int32_t)(i % 5 ? i * i % 7 : i % ROWS);
            ids64[i] = ids32[i];
            for (int64_t j = 0; j < width; j++)
                wanted[ids64[i] * width + j] += dy[i * width + j];
        }
        for (int t = 0; t < s.n_tables; t++)
            for (int threads = 1; threads <= 3; threads++) {
                float *dw = room(n);
                simd_embedding a = {.dy = dy,
                                    .dw = dw,
                                    .rows = ROWS,
                                    .count = COUNT,
                                    .width = width,
                                    .threads = threads};
                a.ids64 = threads == 2 ? ids64 : NULL;
                a.ids32 = threads == 2 ? NULL : ids32;
                s.table[t]->embedding_grad(&a);
                assert_memory_equal(dw, wanted, (size_t)n * sizeof *dw);
                free_room(dw, n);
            }
        free(dy);
        free(wanted);
    }
}

/* ---- attention ------------------------------------------------------------------------------- */

enum { FAR = 1 << 20 }; /* more keys than there are */

/* Weight of key s for query t of one head, in double. */
static double weight_of(const simd_attention *a, int64_t t, int64_t s, int64_t keys)
{
    double sum = 0, mine = 0, d = (double)a->d;
    int64_t seen = a->last == 0 && t + 1 < keys ? t + 1 : keys;
    for (int64_t j = 0; j < seen; j++) {
        double score = 0;
        for (int64_t i = 0; i < a->d; i++)
            score += (double)a->q.data[t * a->q.row + i] * (double)a->k.data[j * a->k.row + i];
        double e = exp((double)a->scale * score - d);
        sum += e;
        mine = j == s ? e : mine;
    }
    return s < seen ? mine / sum : 0;
}

/* Sentences short enough for small products, and some that are not; y and dv against sums in
 * double. */
static void short_sentences_are_attended_to(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 16},   {5, 7, 32},   {16, 16, 32},
                                        {24, 13, 64}, {32, 32, 32}, {33, 31, 48},
                                        {64, 64, 16}, {70, 65, 32}, {12, 20, 24}};
    setting set = all_tables();
    int64_t compared = 0;
    for (size_t k = 0; k < 2 * WG_COUNT(shapes); k++) {
        int64_t T = shapes[k / 2][0], S = shapes[k / 2][1], d = shapes[k / 2][2];
        float *q = numbers(&set, T * d), *key = numbers(&set, S * d), *v = numbers(&set, S * d);
        float *dy = numbers(&set, T * d);
        for (int t = 0; t < set.n_tables; t++) {
            int64_t n[] = {T * d, T * d, S * d, S * d},
                    floats = simd_attention_scratch(T, S, S, d, d);
            float *scratch = room(floats), *r[4];
            simd_heads heads[4];
            int32_t keys = (int32_t)(S > 3 ? S - 2 : S);
            for (int i = 0; i < 4; i++) {
                r[i] = room(n[i]);
                heads[i] = (simd_heads){r[i], 0, 0, d};
            }
            simd_attention a = {.q = {q, 0, 0, d},
                                .k = {key, 0, 0, d},
                                .v = {v, 0, 0, d},
                                .y = heads[0],
                                .dy = {dy, 0, 0, d},
                                .dq = heads[1],
                                .dk = heads[2],
                                .dv = heads[3],
                                .lengths32 = &keys,
                                .batches = 1,
                                .heads = 1,
                                .groups = 1,
                                .T = T,
                                .S = S,
                                .d = d,
                                .d_v = d,
                                .scale = 0.2f,
                                .first = -FAR,
                                .last = k % 2 ? 0 : FAR,
                                .threads = 1,
                                .scratch = scratch};
            set.table[t]->attention_forward(&a);
            set.table[t]->attention_backward(&a);
            for (int64_t i = 0; i < n[0]; i++, compared++) {
                double y = 0;
                for (int64_t j = 0; j < keys && (i % d == 0 || i % d == d - 1); j++)
                    y += weight_of(&a, i / d, j, keys) * (double)v[j * d + i % d];
                check_that((i % d && i % d < d - 1) || fabs((double)r[0][i] - y) < 2e-6,
                           "%s, [%lld, %lld, %lld], y %lld: %g, not %g", set.table[t]->isa,
                           (long long)T, (long long)S, (long long)d, (long long)i, (double)r[0][i],
                           y);
            }
            for (int64_t j = 0; j < S; j += 5) {
                double dv = 0;
                for (int64_t i = 0; i < T; i++)
                    dv += weight_of(&a, i, j, keys) * (double)dy[i * d + d / 2];
                check_that(fabs((double)r[3][j * d + d / 2] - dv) < 1e-5, "%s: dv",
                           set.table[t]->isa);
            }
            double dq_k = 0, dk_k = 0; /* sum of q dq is that of k dk: both scale the scores */
            for (int64_t i = 0; i < T * d; i++)
                dq_k += (double)q[i] * (double)r[1][i];
            for (int64_t i = 0; i < S * d; i++)
                dk_k += (double)key[i] * (double)r[2][i];
            check_that(fabs(dq_k - dk_k) < 1e-4, "%s: %g, %g", set.table[t]->isa, dq_k, dk_k);
            for (int i = 0; i < 4; i++)
                free_room(r[i], n[i]);
            free_room(scratch, floats);
        }
        free(q), free(key), free(v), free(dy);
    }
    assert_true(compared > 10000);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* Tensors of several pieces, of less than one, and of none. */
static void every_set_takes_the_same_steps(void **state)
{
    (void)state;
    enum { TENSORS = 4 };
    static const int64_t counts[TENSORS] = {3 * SIMD_PIECE + 5, 0, 7, SIMD_PIECE};
    setting s = all_tables();
    for (int t = 0; t < s.n_tables; t++)
        for (int decoupled = 0; decoupled < 2; decoupled++) {
            simd_adam_tensor tensor[TENSORS];
            float *p[TENSORS], *g[TENSORS], *m[TENSORS], *v[TENSORS], *new[TENSORS][3];
            for (int k = 0; k < TENSORS; k++) {
                p[k] = numbers(&s, counts[k]), g[k] = numbers(&s, counts[k]);
                m[k] = numbers(&s, counts[k]), v[k] = numbers(&s, counts[k]);
                for (int64_t i = 0; i < counts[k]; i++)
                    v[k][i] = fabsf(v[k][i]);
                for (int r = 0; r < 3; r++)
                    new[k][r] = room(counts[k]);
                tensor[k] = (simd_adam_tensor){p[k],      g[k],      m[k],      v[k],
                                               new[k][0], new[k][1], new[k][2], counts[k]};
            }
            floats_of(s.table[t])
                ->adam(&(simd_adam){.tensor = tensor,
                                    .n_tensors = TENSORS,
                                    .beta1 = 0.75f,
                                    .beta2 = 0.5f,
                                    .share1 = 0.25f,
                                    .share2 = 0.5f,
                                    .eps = 1e-3f,
                                    .rate = 0.125f,
                                    .root_scale = 1.5f,
                                    .factor = 0.5f,
                                    .shrink = decoupled ? 0.0625f : 0,
                                    .decay = decoupled ? 0 : 0.25f,
                                    .threads = 1 + t});
            for (int k = 0; k < TENSORS; k++) {
                for (int64_t i = 0; i < counts[k]; i++) {
                    double x = (double)p[k][i],
                           d = 0.5 * (double)g[k][i] + (decoupled ? 0 : 0.25 * x);
                    double wm = 0.75 * (double)m[k][i] + 0.25 * d,
                           wv = 0.5 * (double)v[k][i] + 0.5 * d * d;
                    double wp =
                        x - (decoupled ? 0.0625 * x : 0) - 0.125 * wm / (sqrt(wv) * 1.5 + 1e-3);
                    check_that(fabs((double)new[k][1][i] - wm) < 1e-6 &&
                                   fabs((double)new[k][2][i] - wv) < 1e-6 &&
                                   fabs((double)new[k][0][i] - wp) < 2e-6 * fmax(1, fabs(wp)),
                               "%s, tensor %d, element %lld: %g, not %g", s.table[t]->isa, k,
                               (long long)i, (double)new[k][0][i], wp);
                }
                for (int r = 0; r < 3; r++)
                    free_room(new[k][r], counts[k]);
                free(p[k]), free(g[k]), free(m[k]), free(v[k]);
            }
        }
}

static void every_set_finds_the_norm(void **state)
{
    (void)state;
    enum { SPANS = 4, PIECES = 8 };
    static const int64_t counts[SPANS] = {3 * SIMD_PIECE + 5, 0, 7, SIMD_PIECE};
    setting s = all_tables();
    simd_span span[SPANS];
    float *x[SPANS], y[TABLES][3];
    double sum = 0, partial[PIECES];
    for (int k = 0; k < SPANS; k++) {
        x[k] = numbers(&s, counts[k]);
        span[k] = (simd_span){x[k], counts[k]};
        for (int64_t i = 0; i < counts[k]; i++) {
            x[k][i] *= 1e25f; /* its square is too large for a float */
            sum += (double)x[k][i] * (double)x[k][i];
        }
    }
    for (int t = 0; t < s.n_tables; t++) {
        for (int threads = 1; threads <= 3; threads++) {
            floats_of(s.table[t])
                ->norm(&(simd_spans){span, SPANS, partial, &y[t][threads - 1], threads});
            assert_memory_equal(&y[t][threads - 1], &y[t][0], sizeof(float));
        }
        check_that(fabs((double)y[t][0] / sqrt(sum) - 1) < 1e-7, "%s: %g", s.table[t]->isa,
                   (double)y[t][0] / sqrt(sum));
        x[2][6] = NAN;
        floats_of(s.table[t])->norm(&(simd_spans){span, SPANS, partial, &y[t][0], 2});
        assert_true(isnan(y[t][0]));
        x[2][6] = 0;
        sum = 0; /* of what is there from now on */
        for (int k = 0; k < SPANS; k++)
            for (int64_t i = 0; i < counts[k]; i++)
                sum += (double)x[k][i] * (double)x[k][i];
    }
    for (int k = 0; k < SPANS; k++)
        free(x[k]);
}

/* ---- NaN ------------------------------------------------------------------------------------- */

static void nan_shows(void **state)
{
    (void)state;
    enum { ROWS = 40, WIDTH = 48 };
    setting s = all_tables();
    for (int t = 0; t < s.n_tables; t++) {
        float *x = numbers(&s, ROWS * WIDTH), *y = room(ROWS * WIDTH), scratch[WIDTH];
        x[33 * WIDTH + 17] = NAN;
        floats_of(s.table[t])->column_sum(&(simd_columns){x, y, ROWS, WIDTH, 2, scratch});
        for (int j = 0; j < WIDTH; j++)
            assert_int_equal(isnan(y[j]) != 0, j == 17);
        simd_dropout a = {.x = x, .y = y, .count = ROWS * WIDTH, .threads = 2};
        a.mask = wgi_mask_of(1, 1, 1, 0);
        floats_of(s.table[t])->dropout(&a);
        for (int i = 0; i < ROWS * WIDTH; i++)
            assert_int_equal(isnan(y[i]) != 0, i == 33 * WIDTH + 17);
        free_room(y, ROWS * WIDTH);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_drops_by_the_same_mask),
        cmocka_unit_test(rows_take_their_part_of_the_mask),
        cmocka_unit_test(columns_add_up),
        cmocka_unit_test(rows_are_added_in_order),
        cmocka_unit_test(short_sentences_are_attended_to),
        cmocka_unit_test(every_set_takes_the_same_steps),
        cmocka_unit_test(every_set_finds_the_norm),
        cmocka_unit_test(nan_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
