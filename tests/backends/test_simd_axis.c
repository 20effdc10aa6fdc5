/* Cumulative sums and products, and the k largest of rows, for each instruction set: lines and
 * columns, all remainders, equal numbers, NaN, infinities, rows that grow and rows that fall. */
#include "tests/simd.h"

#include <math.h>

/* ---- cumulative ------------------------------------------------------------------------------ */

/* By definition, in double and in the order of the kernels: the same bits. */
static void cumulate_line(const simd_cumulate *c, int64_t at, float *y)
{
    double sofar = c->products;
    for (int64_t k = 0; k < c->size; k++) {
        int64_t i = at + (c->reverse ? c->size - 1 - k : k) * c->inner;
        double before = sofar;
        sofar = c->products ? sofar * (double)c->x[i] : sofar + (double)c->x[i];
        y[i] = (float)(c->exclusive ? before : sofar);
    }
}

static int64_t cumulate(setting *s, simd_cumulate c)
{
    int64_t n = c.outer * c.size * c.inner, compared = 0;
    float *x = numbers(s, n), *expected = room(n);
    c.x = x;
    for (int64_t o = 0; o < c.outer; o++)
        for (int64_t i = 0; i < c.inner; i++)
            cumulate_line(&c, o * c.size * c.inner + i, expected);
    for (int t = 0; t < s->n_tables; t++)
        for (int in_place = 0; in_place < 2; in_place++) {
            c.y = room(n);
            c.x = in_place ? memcpy(c.y, x, (size_t)n * sizeof *x) : x;
            c.threads = 1 + t % 2;
            s->table[t]->cumulate(&c);
            for (int64_t i = 0; i < n; i++, compared++)
                check_that(memcmp(&c.y[i], &expected[i], sizeof *x) == 0,
                           "%s, [%lld,%lld,%lld]%s%s%s%s: y[%lld] is %.9g, expected %.9g",
                           s->table[t]->isa, (long long)c.outer, (long long)c.size,
                           (long long)c.inner, c.products ? ", products" : "",
                           c.reverse ? ", reverse" : "", c.exclusive ? ", exclusive" : "",
                           in_place ? ", in place" : "", (long long)i, (double)c.y[i],
                           (double)expected[i]);
            free_room(c.y, n);
        }
    free_room(expected, n);
    free(x);
    return compared;
}

static void sums_and_products(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1},  {3, 7, 1},  {4, 64, 1},   {9, 129, 1},
                                        {1, 5, 2},  {2, 40, 3}, {3, 31, 16},  {2, 9, 63},
                                        {1, 6, 64}, {2, 9, 65}, {1, 20, 300}, {17, 2, 1}};
    setting s = all_tables();
    int64_t compared = 0;
    for (size_t k = 0; k < WG_COUNT(shapes); k++)
        for (int variant = 0; variant < 8; variant++)
            compared += cumulate(&s, (simd_cumulate){.outer = shapes[k][0],
                                                     .size = shapes[k][1],
                                                     .inner = shapes[k][2],
                                                     .products = variant & 1,
                                                     .reverse = variant & 2,
                                                     .exclusive = variant & 4});
    print_message("%lld elements\n", (long long)compared);
    assert_true(compared > 100000);
}

/* ---- the k largest --------------------------------------------------------------------------- */

/* Whether element i of a row comes before element j. */
static bool comes_before(const float *x, int64_t i, int64_t j)
{
    bool nan_i = isnan(x[i]), nan_j = isnan(x[j]);
    if (nan_i != nan_j)
        return nan_i;
    return !nan_i && x[i] != x[j] ? x[i] > x[j] : i < j;
}

/* Each element of the result comes before the next, and all others after the last. */
static int64_t check_row(const simd_select *a, int64_t row, const char *isa)
{
    const float *x = a->x + row * a->width, *value = a->values + row * a->k;
    const int64_t *id = a->ids + row * a->k;
    int64_t before = 0;
    for (int64_t i = 0; i < a->k; i++) {
        check_that(id[i] >= 0 && id[i] < a->width && memcmp(&value[i], &x[id[i]], 4) == 0,
                   "%s: row %lld, %lld: element %lld", isa, (long long)row, (long long)i,
                   (long long)id[i]);
        check_that(i == 0 || comes_before(x, id[i - 1], id[i]), "%s: row %lld: order at %lld", isa,
                   (long long)row, (long long)i);
    }
    for (int64_t j = 0; j < a->width; j++)
        before += comes_before(x, j, id[a->k - 1]);
    check_that(before == a->k - 1, "%s: row %lld of %lld, k %lld: %lld come before the last", isa,
               (long long)row, (long long)a->width, (long long)a->k, (long long)before);
    return a->k;
}

enum { RANDOM, EQUAL, FEW, GROWING, FALLING, WITH_NAN, ONLY_NAN, INFINITE, KINDS };

static float changed(float x, int kind, int64_t i)
{
    switch (kind) {
    case EQUAL: return 1;
    case FEW: return truncf(3 * x);
    case GROWING: return (float)i;
    case FALLING: return -(float)i;
    case WITH_NAN: return i % 11 == 5 ? NAN : x;
    case ONLY_NAN: return NAN;
    case INFINITE: return i % 3 == 0 ? -INFINITY : i % 70 == 69 ? INFINITY : x;
    default: return x;
    }
}

static int64_t select_largest(setting *s, int64_t rows, int64_t width, int64_t k, int kind)
{
    float *x = numbers(s, rows * width);
    int64_t *ids = malloc((size_t)(rows * k) * sizeof *ids), compared = 0;
    assert_non_null(ids);
    for (int64_t i = 0; i < rows * width; i++)
        x[i] = changed(x[i], kind, i % width);
    for (int t = 0; t < s->n_tables; t++) {
        simd_select a = {x, room(rows * k), ids, rows, width, k, 1 + t % 2};
        s->table[t]->select_rows(&a);
        for (int64_t row = 0; row < rows; row++)
            compared += check_row(&a, row, s->table[t]->isa);
        free_room(a.values, rows * k);
    }
    free(ids);
    free(x);
    return compared;
}

static void largest(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 63, 64, 65, 200, 1000}, ks[] = {1, 2, 5, 64, 130, 1000};
    setting s = all_tables();
    int64_t compared = 0;
    for (size_t w = 0; w < WG_COUNT(widths); w++)
        for (size_t k = 0; k < WG_COUNT(ks); k++)
            for (int kind = 0; kind < KINDS && ks[k] <= widths[w]; kind++)
                compared += select_largest(&s, 3, widths[w], ks[k], kind);
    print_message("%lld elements\n", (long long)compared);
    assert_true(compared > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_and_products),
        cmocka_unit_test(largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
