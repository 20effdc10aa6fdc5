/* What a decoder does with a row, for each instruction set of this CPU: attention over slots, the
 * best classes. */
#include "tests/simd.h"
#include "backends/simd/kernels/topk.h"

/* ---- attention over slots -------------------------------------------------------------------- */

enum { SLOTS = 50 };

/* The softmax of q . k[slot] over the slots, applied to v[slot], for head h of row r, in double. */
static double paged(const simd_paged *a, int64_t r, int64_t h, int64_t j)
{
    double sum = 0, y = 0;
    for (int64_t i = 0; i < a->lengths32[r]; i++) {
        int64_t at = a->slots32[r * a->max + i] * (a->heads / a->groups) + h / a->groups;
        double dot = 0;
        for (int64_t c = 0; c < a->d; c++)
            dot += (double)a->q[(r * a->heads + h) * a->d + c] * (double)a->k[at * a->d + c];
        sum += exp((double)a->scale * dot);
        y += exp((double)a->scale * dot) * (double)a->v[at * a->d_v + j];
    }
    return sum > 0 ? y / sum : 0;
}

static void every_set_attends_to_slots(void **state)
{
    (void)state;
    static const int64_t widths[][4] = {
        {4, 1, 32, 32}, {2, 1, 64, 64}, {6, 3, 5, 17}}; /* heads, groups, d, d_v */
    enum { ROWS = 7, SEEN = 21 };
    static const int32_t lengths[ROWS] = {0, 1, 2, 15, 16, 17, SEEN};
    setting s = all_tables();
    int32_t slots[ROWS * SEEN];
    for (int i = 0; i < ROWS * SEEN; i++)
        slots[i] = i % SEEN < lengths[i / SEEN] ? i * 7 % SLOTS : -1;
    for (int t = 0; t < s.n_tables; t++)
        for (int w = 0; w < 3; w++) {
            int64_t heads = widths[w][0], groups = widths[w][1], d = widths[w][2],
                    d_v = widths[w][3];
            int64_t count = ROWS * heads * d_v, scratch = 2 * simd_paged_scratch(heads, SEEN);
            float *q = numbers(&s, ROWS * heads * d), *k = numbers(&s, SLOTS * heads * d),
                  *v = numbers(&s, SLOTS * heads * d_v), *y = room(count), *own = room(scratch);
            const simd_paged a = {.q = q,
                                  .k = k,
                                  .v = v,
                                  .y = y,
                                  .slots32 = slots,
                                  .lengths32 = lengths,
                                  .rows = ROWS,
                                  .heads = heads,
                                  .groups = groups,
                                  .d = d,
                                  .d_v = d_v,
                                  .max = SEEN,
                                  .scale = 0.5f,
                                  .threads = 2,
                                  .scratch = own};
            s.table[t]->paged_attention(&a);
            for (int64_t i = 0; i < count; i++) {
                double expected = paged(&a, i / (heads * d_v), i / d_v % heads, i % d_v);
                check_that(fabs((double)y[i] - expected) <= 1e-5,
                           "%s, widths %d, element %lld: %g, expected %g", s.table[t]->isa, w,
                           (long long)i, (double)y[i], expected);
            }
            free_room(y, count);
            free_room(own, scratch);
            free(q);
            free(k);
            free(v);
        }
}

/* ---- the most probable classes --------------------------------------------------------------- */

/* Room for values and ids [rows, k] of the best classes, found by `threads` threads. */
typedef struct found {
    float *values;
    int64_t *ids;
} found;

static found best_of(const simd_table *table, const float *x, int64_t rows, int64_t width,
                     int64_t k, int threads)
{
    void *scratch = malloc(simd_topk_scratch(rows, width, k, threads));
    found f = {room(rows * k), malloc((size_t)(rows * k) * sizeof *f.ids)};
    assert_true(scratch && f.ids);
    table->topk(&(simd_topk){x, f.values, f.ids, rows, width, k, threads, scratch});
    free(scratch);
    return f;
}

static void free_found(found f, int64_t count)
{
    free_room(f.values, count);
    free(f.ids);
}

/* Rows of few and of many blocks, with equal numbers, of which the first comes first; the same by
 * any number of threads. */
static void every_set_finds_the_most_probable(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{3, 1, 1},     {3, 9, 9},    {3, 64, 7},   {3, 65, 3},
                                        {33, 130, 64}, {32, 200, 7}, {3, 1000, 7}, {3, 9712, 12},
                                        {40, 2900, 7}, {2, 4097, 3}}; /* rows, width, k */
    setting s = all_tables();
    float *x = numbers(&s, 3 * MAX);
    for (int64_t i = 0; i < 3 * MAX; i += 5)
        x[i] = (float)(i % 35) / 40.0f; /* 7 values, repeated */
    for (int t = 0; t < s.n_tables; t++)
        for (size_t n = 0; n < WG_COUNT(shapes); n++) {
            int64_t rows = shapes[n][0], width = shapes[n][1], k = shapes[n][2], count = rows * k;
            found f = best_of(s.table[t], x, rows, width, k, 1);
            for (int threads = 2; threads <= 5; threads++) {
                found again = best_of(s.table[t], x, rows, width, k, threads);
                assert_memory_equal(again.values, f.values, (size_t)count * sizeof *f.values);
                assert_memory_equal(again.ids, f.ids, (size_t)count * sizeof *f.ids);
                free_found(again, count);
            }
            for (int64_t r = 0; r < rows; r++) {
                const float *row = x + r * width;
                double sum = 0;
                for (int64_t i = 0; i < width; i++)
                    sum += exp((double)row[i]);
                for (int64_t i = 0; i < k; i++) {
                    int64_t id = f.ids[r * k + i], before = 0;
                    for (int64_t j = 0; j < width; j++)
                        before += row[j] > row[id] || (row[j] == row[id] && j < id);
                    check_that(before == i, "%s, width %lld: %lld has place %lld, not %lld",
                               s.table[t]->isa, (long long)width, (long long)id, (long long)before,
                               (long long)i);
                    double expected = (double)row[id] - log(sum);
                    check_that(fabs((double)f.values[r * k + i] - expected) <= 4e-6,
                               "%s, width %lld: %g, expected %g", s.table[t]->isa, (long long)width,
                               (double)f.values[r * k + i], expected);
                }
            }
            free_found(f, count);
        }
    free(x);
}

/* x [rows, width], w [classes, width] */
typedef struct linear_layer {
    const float *x, *w, *bias;
    int64_t rows, width, classes;
} linear_layer;

static found best_of_linear(const simd_table *table, const linear_layer *l, int64_t k, int threads,
                            bool packs)
{
    int64_t panels = simd_topk_groups(l->rows) * SIMD_TOPK_ROWS * l->width,
            packed = simd_topk_packed(l->width, l->classes);
    float *own = room(panels), *turned = packs ? room(packed) : NULL;
    void *scratch = malloc(simd_topk_scratch(l->rows, l->classes, k, threads));
    found f = {room(l->rows * k), malloc((size_t)(l->rows * k) * sizeof *f.ids)};
    assert_true(scratch && f.ids);
    simd_linear_topk a = {l->x,       l->w, l->bias, f.values, f.ids,   l->rows, l->width,
                          l->classes, k,    threads, own,      scratch, turned,  false};
    if (packs) {
        table->pack_classes(&a);
        a.w = NULL; /* not to be read again */
    }
    table->linear_topk(&a);
    free_room(own, panels);
    if (packs)
        free_room(turned, packed);
    free(scratch);
    return f;
}

/* Of a linear layer, against the best of its logits; threads share groups of rows, or chunks of
 * classes. */
static void every_set_finds_the_best_of_a_linear_layer(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {1, 1, 1, 1},    {5, 7, 60, 9},     {16, 128, 1030, 5},
        {17, 33, 70, 3}, {70, 20, 333, 64}, {40, 64, 2100, 7}}; /* rows, width, classes, k */
    setting s = all_tables();
    for (size_t n = 0; n < WG_COUNT(shapes); n++) {
        int64_t rows = shapes[n][0], d = shapes[n][1], classes = shapes[n][2], k = shapes[n][3];
        float *x = numbers(&s, rows * d), *w = numbers(&s, classes * d),
              *bias = numbers(&s, classes);
        float *logits = room(rows * classes);
        for (int t = 0; t < 2 * s.n_tables; t++) {
            const simd_table *table = s.table[t / 2];
            for (int64_t i = 0; i < rows * classes; i++) {
                double sum = t % 2 ? (double)bias[i % classes] : 0;
                for (int64_t j = 0; j < d; j++)
                    sum += (double)x[i / classes * d + j] * (double)w[i % classes * d + j];
                logits[i] = (float)sum;
            }
            found expected = best_of(table, logits, rows, classes, k, 1), first = {0};
            for (int threads = 1; threads <= 4; threads++) {
                const linear_layer l = {x, w, t % 2 ? bias : NULL, rows, d, classes};
                found f = best_of_linear(table, &l, k, threads, rows <= SIMD_TOPK_FEW && n % 2);
                for (int64_t i = 0; i < rows * k; i++) {
                    check_that(fabs((double)f.values[i] - (double)expected.values[i]) <= 1e-5,
                               "%s, shape %zu, %lld: %g, expected %g", table->isa, n, (long long)i,
                               (double)f.values[i], (double)expected.values[i]);
                    check_that(fabs((double)logits[i / k * classes + f.ids[i]] -
                                    (double)logits[i / k * classes + expected.ids[i]]) <= 1e-5,
                               "%s, shape %zu, %lld: class %lld", table->isa, n, (long long)i,
                               (long long)f.ids[i]);
                }
                if (threads == 1) {
                    first = f;
                    continue;
                }
                assert_memory_equal(f.values, first.values, (size_t)(rows * k) * sizeof *f.values);
                assert_memory_equal(f.ids, first.ids, (size_t)(rows * k) * sizeof *f.ids);
                free_found(f, rows * k);
            }
            free_found(first, rows * k);
            free_found(expected, rows * k);
        }
        free_room(logits, rows * classes);
        free(x);
        free(w);
        free(bias);
    }
}

/* Few rows are multiplied in other blocks than many: the bits of a sentence do not depend on those
 * beside it. */
static void every_set_finds_the_same_for_few_rows_as_among_many(void **state)
{
    (void)state;
    enum { ROWS = 70, WIDTH = 48, CLASSES = 203, K = 5 };
    setting s = all_tables();
    float *x = numbers(&s, ROWS * WIDTH), *w = numbers(&s, CLASSES * WIDTH),
          *bias = numbers(&s, CLASSES);
    for (int t = 0; t < 2 * s.n_tables; t++) {
        linear_layer l = {x, w, t % 2 ? bias : NULL, ROWS, WIDTH, CLASSES};
        found all = best_of_linear(s.table[t / 2], &l, K, 1, false);
        for (int turn = 1; turn < ROWS + SIMD_TOPK_FEW; turn++) { /* those of few rows twice */
            l.rows = turn < ROWS ? turn : turn - ROWS + 1;
            int64_t first = ROWS - l.rows; /* the last rows, which have other lanes then */
            l.x = x + first * WIDTH;
            found few = best_of_linear(s.table[t / 2], &l, K, 1, turn >= ROWS);
            size_t count = (size_t)(l.rows * K);
            check_that(memcmp(few.values, all.values + first * K, count * sizeof *few.values) == 0,
                       "%s: %lld rows have other values", s.table[t / 2]->isa, (long long)l.rows);
            assert_memory_equal(few.ids, all.ids + first * K, count * sizeof *few.ids);
            free_found(few, l.rows * K);
        }
        free_found(all, ROWS * K);
    }
    free(x);
    free(w);
    free(bias);
}

/* ---- the largest logits as they are ---------------------------------------------------------- */

/* Of logits in full, NaN as largest, of equal ones the first */
static void expect_largest(const char *what, const linear_layer *l, int64_t k, const found *f)
{
    float *row = malloc((size_t)l->classes * sizeof *row);
    assert_non_null(row);
    for (int64_t r = 0; r < l->rows; r++) {
        for (int64_t c = 0; c < l->classes; c++) {
            double sum = l->bias ? (double)l->bias[c] : 0;
            for (int64_t j = 0; j < l->width; j++)
                sum += (double)l->x[r * l->width + j] * (double)l->w[c * l->width + j];
            row[c] = (float)sum;
        }
        for (int64_t i = 0; i < k; i++) {
            int64_t id = f->ids[r * k + i], above = 0, nans = 0;
            check_that(id >= 0 && id < l->classes, "%s: class %lld", what, (long long)id);
            for (int64_t c = 0; c < l->classes; c++) {
                above += row[c] > row[id] + 2e-4f * (1 + fabsf(row[id]));
                nans += isnan(row[c]) != 0;
            }
            float value = f->values[r * k + i];
            if (i < nans || isnan(row[id])) {
                check_that(i < nans && isnan(row[id]) && isnan(value), "%s, row %lld, %lld: %g",
                           what, (long long)r, (long long)i, (double)value);
                continue;
            }
            check_that(above <= i - nans, "%s, row %lld: %lld larger than number %lld", what,
                       (long long)r, (long long)above, (long long)i);
            check_that(value == row[id] || fabsf(value - row[id]) <= 2e-4f * (1 + fabsf(row[id])),
                       "%s, row %lld: %g, expected %g", what, (long long)r, (double)value,
                       (double)row[id]);
            for (int64_t other = 0; other < i; other++)
                check_that(f->ids[r * k + other] != id, "%s: class %lld twice", what,
                           (long long)id);
        }
    }
    free(row);
}

/* So many bytes, aligned as cache lines */
static void *lines(size_t bytes)
{
    void *x = aligned_alloc(64, simd_round_to_line(bytes));
    assert_non_null(x);
    return x;
}

/* Those of approximate_classes and screened_topk; the rows that were searched exactly are added to
 * *missed. */
static found largest_of_screened(const simd_table *table, const linear_layer *l, int64_t k,
                                 int threads, int64_t *missed)
{
    void *approximate = lines(simd_approximate_bytes(l->width, l->classes)),
         *scratch = lines(simd_screened_scratch(l->rows, l->width, l->classes, k, threads));
    found f = {room(l->rows * k), malloc((size_t)(l->rows * k) * sizeof *f.ids)};
    assert_non_null(f.ids);
    const simd_screened_topk a = {.of = {.x = l->x,
                                         .w = l->w,
                                         .bias = l->bias,
                                         .values = f.values,
                                         .ids = f.ids,
                                         .rows = l->rows,
                                         .width = l->width,
                                         .classes = l->classes,
                                         .k = k,
                                         .threads = threads},
                                  .approximate = approximate,
                                  .scratch = scratch};
    table->approximate_classes(&a);
    table->screened_topk(&a);
    *missed += ((const simd_approximate *)approximate)->missed;
    free(approximate);
    free(scratch);
    return f;
}

static found largest_of_linear(const simd_table *table, const linear_layer *l, int64_t k,
                               int threads)
{
    int64_t panels = simd_topk_groups(l->rows) * SIMD_TOPK_ROWS * l->width;
    float *own = room(panels);
    void *scratch = malloc(simd_topk_scratch(l->rows, l->classes, k, threads));
    found f = {room(l->rows * k), malloc((size_t)(l->rows * k) * sizeof *f.ids)};
    assert_true(scratch && f.ids);
    table->linear_topk(&(simd_linear_topk){l->x, l->w, l->bias, f.values, f.ids, l->rows, l->width,
                                           l->classes, k, threads, own, scratch, NULL, true});
    free_room(own, panels);
    free(scratch);
    return f;
}

/* Numbers that a screen may stumble over: row 0 is 0, row 1 has a NaN, row 2 an infinity, row 3 is
 * tiny and row 4 huge; classes 10 and 20 are equal, and the largest of row 5; class 30 is 0; those
 * from 40 on are the largest of row 6, the later the larger, by less than a step. */
static void spoil(float *x, float *w, int64_t width, int64_t classes, int how)
{
    for (int64_t j = 0; j < width; j++) {
        x[j] = 0;
        x[3 * width + j] *= 1e-34f;
        x[4 * width + j] *= 1e34f;
        w[10 * width + j] = w[20 * width + j] = x[5 * width + j];
        w[30 * width + j] = 0;
        for (int64_t i = 0; i < 20; i++)
            w[(40 + i) * width + j] = x[6 * width + j] * (3 + 1e-5f * (float)i);
    }
    x[width + 7] = NAN;
    x[2 * width + 3] = INFINITY;
    if (how > 0)
        w[(classes - 3) * width + 2] = how == 1 ? NAN : INFINITY;
}

/* By approximate logits: bit by bit what is found without, whatever the numbers. */
static void every_set_screens_without_a_difference(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {16, 33, 100, 1}, {9, 128, 1500, 2}, {70, 48, 2100, 3}, {33, 512, 300, 9}};
    setting s = integer_tables();
    int64_t compared = 0;
    for (size_t n = 0; n < WG_COUNT(shapes); n++) {
        int64_t rows = shapes[n][0], d = shapes[n][1], classes = shapes[n][2], k = shapes[n][3];
        for (int how = -2; how < 3; how++) {
            float *x = numbers(&s, rows * d), *w = numbers(&s, classes * d),
                  *bias = numbers(&s, classes);
            if (how >= 0)
                spoil(x, w, d, classes, how);
            for (int64_t c = 0; how == -2 && c < classes; c++) /* sums are rounded to it */
                bias[c] = 3e7f + 2 * (float)(c % 3);
            for (int t = 0; t < 2 * s.n_tables; t++) {
                const simd_table *table = s.table[t / 2];
                const linear_layer l = {x, w, t % 2 ? bias : NULL, rows, d, classes};
                char what[64];
                snprintf(what, sizeof what, "%s, shape %zu, numbers %d", table->isa, n, how);
                found plain = largest_of_linear(table, &l, k, 1);
                if (how <= 0)
                    expect_largest(what, &l, k, &plain);
                for (int threads = 1; threads <= 3; threads++) {
                    int64_t missed = 0;
                    found f = largest_of_screened(table, &l, k, threads, &missed);
                    for (int64_t i = 0; i < rows * k; i++, compared++)
                        check_that(f.ids[i] == plain.ids[i] &&
                                       (f.values[i] == plain.values[i] ||
                                        (isnan(f.values[i]) && isnan(plain.values[i]))),
                                   "%s: number %lld is %g at %lld, not %g at %lld", what,
                                   (long long)i, (double)f.values[i], (long long)f.ids[i],
                                   (double)plain.values[i], (long long)plain.ids[i]);
                    check_that(how < 0    ? missed <= rows / 4 || (how == -2 && l.bias)
                               : how == 0 ? missed >= (l.bias ? 5 : 6) && missed < rows
                                          : missed == rows,
                               "%s: %lld rows missed", what, (long long)missed);
                    free_found(f, rows * k);
                }
                free_found(plain, rows * k);
            }
            free(x);
            free(w);
            free(bias);
        }
    }
    check_that(compared > 10000, "only %lld compared", (long long)compared);
}

/* Biases B, of which rounding is 4; the product of class 10 lies hardly above 2, so that its logit
 * is B + 4 like that of class 50, but many an approximate one is B. */
static void what_a_large_bias_rounds_to_is_seen(void **state)
{
    (void)state;
    enum { ROWS = 64, WIDTH = 100, CLASSES = 80, EARLY = 10, LATE = 50 };
    const float large = 0x1p25f;
    setting s = integer_tables();
    float *x = numbers(&s, ROWS * WIDTH), *w = numbers(&s, CLASSES * WIDTH), bias[CLASSES];
    for (int64_t c = 0; c < CLASSES; c++) {
        bias[c] = c == LATE ? large + 4 : large;
        for (int64_t j = 0; c != EARLY && j < WIDTH; j++)
            w[c * WIDTH + j] = 0;
    }
    for (int64_t r = 0; r < ROWS; r++) {
        double sum = 0;
        for (int64_t j = 0; j < WIDTH; j++)
            sum += (double)x[r * WIDTH + j] * (double)w[EARLY * WIDTH + j];
        for (int64_t j = 0; j < WIDTH; j++)
            x[r * WIDTH + j] = (float)((double)x[r * WIDTH + j] * 2.00005 / sum);
    }
    const linear_layer l = {x, w, bias, ROWS, WIDTH, CLASSES};
    for (int t = 0; t < s.n_tables; t++) {
        int64_t missed = 0, first = 0;
        found f = largest_of_screened(s.table[t], &l, 1, 1, &missed);
        for (int64_t r = 0; r < ROWS; r++)
            first += f.ids[r] == EARLY && f.values[r] == large + 4;
        check_that(first == ROWS, "%s: %lld of %d rows", s.table[t]->isa, (long long)first, ROWS);
        free_found(f, ROWS);
    }
    free(x);
    free(w);
}

/* Infinities and NaN in a row of two chunks: what log_softmax and topk make of them. */
static void what_is_not_finite_shows_among_the_best(void **state)
{
    (void)state;
    enum { WIDTH = 1100, K = 3 };
    setting s = all_tables();
    for (int t = 0; t < s.n_tables; t++)
        for (int where = 0; where < WIDTH; where += 549) {
            float x[4 * WIDTH];
            for (int i = 0; i < WIDTH; i++) {
                x[i] = x[WIDTH + i] = -INFINITY;
                x[2 * WIDTH + i] = x[3 * WIDTH + i] = -(float)i;
            }
            x[WIDTH + where] = 5;
            x[2 * WIDTH + where] = NAN;
            x[3 * WIDTH + where] = INFINITY;
            found f = best_of(s.table[t], x, 4, WIDTH, K, 2);
            const float *y = f.values;
            for (int i = 0; i < K; i++) {
                assert_true(y[i] == -INFINITY && f.ids[i] == i); /* nothing is probable */
                assert_true(i ? y[K + i] == -INFINITY : y[K] == 0);
                assert_true(isnan(y[2 * K + i]));
                assert_true(isnan(y[3 * K + i]));
            }
            assert_int_equal(f.ids[K], where);
            assert_int_equal(f.ids[K + 1], where == 0);
            assert_int_equal(f.ids[3 * K], where);
            free_found(f, 4 * K);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_attends_to_slots),
        cmocka_unit_test(every_set_finds_the_most_probable),
        cmocka_unit_test(every_set_finds_the_best_of_a_linear_layer),
        cmocka_unit_test(every_set_finds_the_same_for_few_rows_as_among_many),
        cmocka_unit_test(every_set_screens_without_a_difference),
        cmocka_unit_test(what_a_large_bias_rounds_to_is_seen),
        cmocka_unit_test(what_is_not_finite_shows_among_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
