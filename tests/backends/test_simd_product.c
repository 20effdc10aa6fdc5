/* The products of each instruction set, in f32 and f64, against a plain loop in a longer type, of
 * random sizes, strides and transpositions; and the bits of several threads against those of
 * one. */
#include "tests/simd.h"

#include <tgmath.h>

enum { TRIES = 400, LARGEST = 90 };

/* Half of the sizes lie beside those at which the kernels' ways change. */
static int64_t draw_size(setting *s, int64_t largest)
{
    static const int64_t borders[] = {1,  2,  4,  5,  7,  8,  12,  13,  16,  31,
                                      32, 33, 48, 49, 64, 65, 100, 128, 129, 513};
    return draw(s, 2) ? 1 + draw(s, largest) : borders[draw(s, (int64_t)WG_COUNT(borders))];
}

/* An element, and the sum of magnitudes, which bounds the rounding error */
typedef struct element {
    wide y, size;
} element;

/* Element (i, j) */
static element expected(const simd_product *p, const real *old, int64_t i, int64_t j)
{
    const real *a = p->a, *b = p->b, *bias = p->bias;
    wide sum = 0, size = 0;
    for (int64_t q = 0; q < p->k; q++) {
        wide term = (wide)a[p->ta ? q * p->lda + i : i * p->lda + q] *
                    (wide)b[p->tb ? j * p->ldb + q : q * p->ldb + j];
        sum += term;
        size += fabs(term);
    }
    wide y = (wide)p->alpha * sum + (p->beta != 0 ? (wide)p->beta * (wide)old[i * p->ldc + j] : 0);
    y += bias ? (wide)bias[j] : 0;
    return (element){p->relu && y <= 0 ? 0 : y, size};
}

typedef void product(const simd_product *p);

/* Which is for f32, keeps no order of terms, and reads no packed matrix */
static bool is_on_amx(const simd_table *table, const simd_product *p)
{
    return sizeof(real) == sizeof(float) && table->amx_product && !p->in_order;
}

static product *product_of(const simd_table *table, const simd_product *p)
{
    return is_on_amx(table, p) ? table->amx_product : floats_of(table)->product;
}

static int64_t scratch_of(const simd_table *table, const simd_product *p, int threads)
{
    return is_on_amx(table, p) ? simd_amx_scratch(p->m, p->n, p->k, threads)
                               : simd_product_scratch(p->m, p->n, p->k, threads);
}

/* Of the sum of magnitudes: some roundings, but two at most on AMX, where a part that is left out
 * must show. */
static wide tolerance(const simd_table *table)
{
    return (table->amx_product ? 2 : 17) * (wide)EPSILON;
}

/* C of a run; what lies between its rows must stay as it is in `old`, and the scratch suffice. */
static real *result_of(const simd_table *table, simd_product p, int threads, const real *old)
{
    int64_t count = p.m * p.ldc, size = scratch_of(table, &p, threads);
    real *c = p.c = room(count), *scratch = p.scratch = room(size);
    p.threads = threads;
    memcpy(c, old, (size_t)count * sizeof *old);
    if (p.beta == 0) /* must not be read */
        for (int64_t i = 0; i < p.m * p.n; i++)
            c[i / p.n * p.ldc + i % p.n] = NAN;
    product_of(table, &p)(&p);
    free_room(scratch, size);
    return c;
}

/* `right` has the elements of C, [m, n]. */
static void check_product(const simd_table *table, const simd_product *p, const real *old,
                          const element *right)
{
    int64_t count = p->m * p->ldc;
    real *c = result_of(table, *p, 1, old);
    for (int64_t at = 0; at < count; at++) {
        int64_t i = at / p->ldc, j = at % p->ldc;
        element e = j < p->n ? right[i * p->n + j] : (element){(wide)old[at], 0};
        check_that(fabs((wide)c[at] - e.y) <= tolerance(table) * (1 + e.size),
                   "%s: [%d, %d, %d]%s%s, element %d, %d: %.9g, not %.9g", table->isa, (int)p->m,
                   (int)p->n, (int)p->k, p->ta ? " ta" : "", p->tb ? " tb" : "", (int)i, (int)j,
                   (double)c[at], (double)e.y);
    }
    for (int threads = 2; threads <= 3; threads++) {
        real *other = result_of(table, *p, threads, old);
        assert_memory_equal(c, other, (size_t)count * sizeof *c);
        free_room(other, count);
    }
    free_room(c, count);
}

/* Of these sizes; the rest is drawn. */
static void check_size(setting *s, int64_t m, int64_t n, int64_t k, bool plain)
{
    simd_product p = {.m = m,
                      .n = n,
                      .k = k,
                      .ta = draw(s, 2),
                      .tb = draw(s, 2),
                      .alpha = draw(s, 2) ? 1 : 0.75,
                      .beta = (real)draw(s, 3) / 2,
                      .relu = !plain && draw(s, 3) == 0};
    p.lda = (p.ta ? p.m : p.k) + draw(s, 3) * 5;
    p.ldb = (p.tb ? p.k : p.n) + draw(s, 3) * 5;
    p.ldc = p.n + draw(s, 3) * 5;
    real *a = numbers(s, (p.ta ? p.k : p.m) * p.lda), *b = numbers(s, (p.tb ? p.n : p.k) * p.ldb),
         *bias = numbers(s, p.n), *old = numbers(s, p.m * p.ldc);
    p.a = a;
    p.b = b;
    p.bias = plain || draw(s, 3) ? NULL : bias;
    element *right = malloc((size_t)(m * n) * sizeof *right);
    assert_non_null(right);
    for (int64_t at = 0; at < m * n; at++)
        right[at] = expected(&p, old, at / n, at % n);
    for (int t = 0; t < s->n_tables; t++)
        check_product(s->table[t], &p, old, right);
    free(right);
    free(a);
    free(b);
    free(bias);
    free(old);
}

static void products_are_right_at_any_number_of_threads(void **state)
{
    (void)state;
    setting s = product_tables();
    for (int i = 0; i < drawn_cases(TRIES); i++) {
        int64_t m = draw_size(&s, LARGEST), n = draw_size(&s, LARGEST);
        check_size(&s, m, n, draw_size(&s, 2 * LARGEST), false);
    }
}

/* Several slabs, of A, of B, and of blocks of either; and sums in segments */
static void so_are_large_ones(void **state)
{
    (void)state;
    static const struct {
        int64_t m, n, k;
        int tries;
        bool is_long;
    } sizes[] = {
        {530, 531, 9, 2, false},    {1100, 1050, 5, 2, false}, {230, 260, 1300, 1, false},
        {260, 230, 1300, 1, false}, {64, 65, 2048, 3, true},   {71, 64, 3000, 3, true},
        {100, 600, 4100, 1, true},  {256, 256, 2100, 1, true}, {33, 1000, 32, 4, false},
        {140, 70, 140, 8, false},   {150, 161, 300, 4, false},
    };
    setting s = product_tables();
    for (size_t i = 0; i < WG_COUNT(sizes); i++) {
        int64_t m = sizes[i].m, n = sizes[i].n, k = sizes[i].k;
        if (SLOWER > 1 && m * n * k > 1 << 27)
            continue;
        assert_int_equal(simd_product_segments(m, n, k) > 1, sizes[i].is_long);
        for (int try = 0; try < sizes[i].tries; try++)
            check_size(&s, m, n, k, sizes[i].is_long && try < 2);
    }
}

/* What suffices for a product suffices for each smaller one: kernels ask once for all theirs. */
static void scratch_grows_with_sizes(void **state)
{
    (void)state;
    static const int64_t side[] = {1, 63, 64, 255, 256, 257, 300, 512, 1024, 1025, 5000},
                         terms[] = {1, 384, 385, 2047, 2048, 4096, 9712};
    enum { SIDES = WG_COUNT(side), TERMS = WG_COUNT(terms) };
    for (int i = 0; i < SIDES * SIDES * TERMS; i++) {
        int64_t m = i % SIDES, n = i / SIDES % SIDES, k = i / (SIDES * SIDES);
        for (int threads = 1; threads <= 3; threads++) {
            int64_t size = simd_product_scratch(side[m], side[n], terms[k], threads);
            int64_t one = m ? simd_product_scratch(side[m - 1], side[n], terms[k], threads) : 0,
                    two = n ? simd_product_scratch(side[m], side[n - 1], terms[k], threads) : 0,
                    three = k ? simd_product_scratch(side[m], side[n], terms[k - 1], threads) : 0;
            assert_true(size >= one && size >= two && size >= three);
        }
    }
}

/* Infinity and NaN reach what depends on them, relu included, and nothing else. */
static void what_is_not_finite_shows(void **state)
{
    (void)state;
    enum { M = 30, N = 40, K = 50 };
    setting s = product_tables();
    real *a = numbers(&s, M * K), *b = numbers(&s, K * N), *old = numbers(&s, M * N);
    a[3 * K + 5] = NAN;
    for (int t = 0; t < s.n_tables; t++) {
        const simd_product p = {.m = M,
                                .n = N,
                                .k = K,
                                .alpha = 1,
                                .a = a,
                                .lda = K,
                                .b = b,
                                .ldb = N,
                                .ldc = N,
                                .relu = true};
        real *c = result_of(s.table[t], p, 2, old);
        for (int i = 0; i < M * N; i++)
            check_that(isnan(c[i]) == (i / N == 3), "%s: element %d", s.table[t]->isa, i);
        free_room(c, M * N);
    }
    free(a);
    free(b);
    free(old);
}

static bool agree(const simd_table *table, real y, element right)
{
    if (isnan(right.y) || isinf(right.y))
        return isnan(right.y) ? isnan(y) : y == (real)right.y;
    return fabs((wide)y - right.y) <= tolerance(table) * right.size;
}

/* x twice among the numbers of A or B, which are `scale` at most, those of the other one `other` */
static void check_with(setting *s, bool in_b, real x, wide scale, wide other_scale)
{
    enum { M = 70, N = 100, K = 300, PLACE = 40 };
    real *a = numbers(s, M * K), *b = numbers(s, K * N), *old = numbers(s, M * N);
    for (int i = 0; i < M * K; i++)
        a[i] *= (real)(in_b ? other_scale : scale);
    for (int i = 0; i < K * N; i++)
        b[i] *= (real)(in_b ? scale : other_scale);
    for (int term = K - 26; term < K; term += 16) /* both of a pair */
        *(in_b ? &b[term * N + PLACE] : &a[PLACE * K + term]) = x;
    const simd_product p = {
        .m = M, .n = N, .k = K, .alpha = 1, .a = a, .lda = K, .b = b, .ldb = N, .ldc = N};
    for (int t = 0; t < s->n_tables; t++) {
        real *c = result_of(s->table[t], p, 1, old), *other = result_of(s->table[t], p, 3, old);
        assert_memory_equal(c, other, M * N * sizeof *c);
        for (int i = 0; i < M * N; i++) {
            element right = expected(&p, old, i / N, i % N);
            check_that(agree(s->table[t], c[i], right),
                       "%s, with %g in %s: element %d is %g, not %g", s->table[t]->isa, (double)x,
                       in_b ? "B" : "A", i, (double)c[i], (double)right.y);
        }
        free_room(c, M * N);
        free_room(other, M * N);
    }
    free(a);
    free(b);
    free(old);
}

/* The bits of a row do not tell how many rows there are, though another loop makes few rows of few
 * terms: zeros of either sign among them. */
static void rows_of_few_terms_are_those_of_many(void **state)
{
    (void)state;
    enum { FEW_ROWS = 5, ROWS = 40, N = 70, MOST_TERMS = 8 };
    setting s = product_tables();
    real *a = numbers(&s, ROWS * MOST_TERMS), *b = numbers(&s, MOST_TERMS * N),
         *old = numbers(&s, ROWS * N);
    for (int i = 0; i < ROWS * MOST_TERMS; i += 3)
        a[i] = 0;
    for (int t = 0; t < s.n_tables; t++)
        for (int k = 1; k <= MOST_TERMS; k++)
            for (int zeros = 0; zeros < 2; zeros++) {
                const wide alpha = zeros ? 1 : 0.375L;
                simd_product p = {.m = ROWS,
                                  .n = N,
                                  .k = k,
                                  .alpha = (double)alpha,
                                  .a = a,
                                  .lda = k,
                                  .b = b,
                                  .ldb = N,
                                  .ldc = N};
                if (zeros)
                    memset(a, 0, (size_t)(FEW_ROWS * k) * sizeof *a);
                real *many = result_of(s.table[t], p, 1, old);
                p.m = FEW_ROWS;
                real *few = result_of(s.table[t], p, 1, old);
                check_that(memcmp(few, many, FEW_ROWS * N * sizeof *few) == 0, "%s, %d terms",
                           s.table[t]->isa, k);
                free_room(many, ROWS * N);
                free_room(few, FEW_ROWS * N);
            }
    free(a);
    free(b);
    free(old);
}

/* With a packed matrix, each row has the bits that it has among many without. */
static void packed_rows_are_those_of_many(void **state)
{
    (void)state;
    enum { ROWS = 200 };
    static const int64_t sizes[][2] = {{1, 5},    {7, 33},    {33, 128}, {64, 256},
                                       {70, 300}, {130, 700}, {260, 20}},
                         rows[] = {1, 2, 3, 4, 5, 6, 7, 20, 33, 64, 130, ROWS};
    setting s = product_tables();
    for (int i = 0; i < WG_COUNT(sizes); i++)
        for (int t = 0; t < s.n_tables; t++) {
            int64_t n = sizes[i][0], k = sizes[i][1], packed = simd_product_packed(n, k);
            real *a = numbers(&s, ROWS * k), *b = numbers(&s, n * k), *old = numbers(&s, ROWS * n),
                 *bias = numbers(&s, n);
            real *nothing = room(n * k); /* NaN */
            simd_product p = {.m = ROWS,
                              .n = n,
                              .k = k,
                              .alpha = 1,
                              .a = a,
                              .lda = k,
                              .b = b,
                              .ldb = k,
                              .tb = true,
                              .bias = bias,
                              .relu = i % 2,
                              .ldc = n,
                              .threads = 1,
                              .in_order = true};
            real *many = result_of(s.table[t], p, 1, old), *to = room(packed);
            p.packed = to;
            floats_of(s.table[t])->pack_product(&p);
            for (int turn = 0; turn < 2 * WG_COUNT(rows); turn++) {
                p.m = rows[turn / 2];
                p.packed = turn % 2 ? to : NULL;
                p.b = p.packed ? nothing : b; /* only what is packed is read */
                for (int threads = 1; threads < 3; threads++) {
                    real *few = result_of(s.table[t], p, threads, old);
                    check_that(memcmp(few, many, (size_t)(p.m * n) * sizeof *few) == 0,
                               "%s, %lld of [%lld, %lld]", s.table[t]->isa, (long long)p.m,
                               (long long)n, (long long)k);
                    free_room(few, p.m * n);
                }
            }
            free_room(to, packed);
            free_room(nothing, n * k);
            free_room(many, ROWS * n);
            free(a), free(b), free(old), free(bias);
        }
}

/* Infinity, NaN, the largest numbers, and operands all of whose numbers are tiny */
static void extreme_numbers_are_multiplied_as_others(void **state)
{
    (void)state;
    setting s = product_tables();
    const real large = sizeof(real) == 4 ? (real)FLT_MAX : (real)DBL_MAX;
    const struct {
        real x;
        wide scale, other;
    } cases[] = {
        {INFINITY, 1, 1},
        {-INFINITY, 1, 1},
        {NAN, 1, 1},
        {large / 4, 1, 1},
        {-large / 8, 1, 1},
        {0, 0x1p-101L, 1},
        {0, 0x1p-120L, 1},
        {0, 0, 1},
        {(real)0x1.7p-99L, 1, 1},
        {(real)0x1.7p-112L, 1, 1},
        {(real)0x1.234567p-112L, 0, 0x1p60L},
        {0, 0x1p-60L, 0x1p-58L},
        {0, 0x1p-30L, 0x1p-10L},
        {(real)0x1.ffcp63L, 0, 0x1p60L},
        {0, 0x1p50L, 0x1p60L},
    };
    for (int b = 0; b < 2; b++)
        for (int i = 0; i < WG_COUNT(cases); i++)
            check_with(&s, b, cases[i].x, cases[i].scale, cases[i].other);
}

/* (2^64 (1 - 2^-10))^2 is finite, but its parts round up to 2^64. */
static void almost_infinite_products_are_finite(void **state)
{
    (void)state;
    enum { N = 64 };
    setting s = product_tables();
    real *a = calloc(N * N, sizeof *a), *b = calloc(N * N, sizeof *b), *old = numbers(&s, N * N);
    assert_true(a && b);
    a[5 * N + 20] = b[20 * N + 7] = (real)0x1.ff8p63;
    const simd_product p = {
        .m = N, .n = N, .k = N, .alpha = 1, .a = a, .lda = N, .b = b, .ldb = N, .ldc = N};
    for (int t = 0; t < s.n_tables; t++) {
        real *c = result_of(s.table[t], p, 1, old);
        for (int i = 0; i < N * N; i++)
            assert_true(c[i] == (i == 5 * N + 7 ? a[5 * N + 20] * b[20 * N + 7] : 0));
        free_room(c, N * N);
    }
    free(a);
    free(b);
    free(old);
}

/* Vectors without gaps, which lie along either axis */
static void products_of_vectors_are_right(void **state)
{
    (void)state;
    setting s = product_tables();
    for (int i = 0; i < drawn_cases(TRIES); i++) {
        int64_t size[3] = {1, 1, 1};
        size[draw(&s, 3)] = draw_size(&s, 2 * MAX / 100);
        if (draw(&s, 3) == 0)
            size[draw(&s, 3)] = draw_size(&s, LARGEST);
        check_size(&s, size[0], size[1], size[2], false);
    }
}

/* Rows of C that are sums of up to eight rows of B, by pieces of columns and of rows; with one
 * term, of columns too, which lie like rows. */
static void products_of_few_terms_are_right(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 2, 8, 9, 300}, columns[] = {15, 33, 1024, 2051};
    setting s = product_tables();
    for (int64_t k = 1; k <= 9; k++)
        for (int i = 0; i < WG_COUNT(rows); i++)
            for (int j = 0; j < WG_COUNT(columns); j++)
                if (rows[i] * columns[j] < 1 << 16)
                    check_size(&s, rows[i], columns[j], k, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right_at_any_number_of_threads),
        cmocka_unit_test(products_of_few_terms_are_right),
        cmocka_unit_test(products_of_vectors_are_right),
        cmocka_unit_test(so_are_large_ones),
        cmocka_unit_test(scratch_grows_with_sizes),
        cmocka_unit_test(what_is_not_finite_shows),
        cmocka_unit_test(packed_rows_are_those_of_many),
        cmocka_unit_test(rows_of_few_terms_are_those_of_many),
        cmocka_unit_test(extreme_numbers_are_multiplied_as_others),
        cmocka_unit_test(almost_infinite_products_are_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
