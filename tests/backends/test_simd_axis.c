/* The k largest of rows, for each instruction set: equal numbers, NaN, infinities, rows that grow
 * and rows that fall. */
#include "tests/simd.h"

#include <math.h>

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
        cmocka_unit_test(largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
