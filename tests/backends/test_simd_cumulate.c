/* Cumulative sums and products, for each instruction set: lines and columns, all remainders, in
 * both directions, in place. */
#include "tests/simd.h"

/* By definition, in double and in the order of the kernels: the same bits. */
static void cumulate_line(const simd_cumulate *c, int64_t at, real *y)
{
    const real *x = c->x;
    double sofar = c->products;
    for (int64_t k = 0; k < c->size; k++) {
        int64_t i = at + (c->reverse ? c->size - 1 - k : k) * c->inner;
        double before = sofar;
        sofar = c->products ? sofar * (double)x[i] : sofar + (double)x[i];
        y[i] = (real)(c->exclusive ? before : sofar);
    }
}

static int64_t cumulate(setting *s, simd_cumulate c)
{
    int64_t n = c.outer * c.size * c.inner, compared = 0;
    real *x = numbers(s, n), *expected = room(n);
    c.x = x;
    for (int64_t o = 0; o < c.outer; o++)
        for (int64_t i = 0; i < c.inner; i++)
            cumulate_line(&c, o * c.size * c.inner + i, expected);
    for (int t = 0; t < s->n_tables; t++)
        for (int in_place = 0; in_place < 2; in_place++) {
            real *y = room(n);
            c.y = y;
            c.x = in_place ? memcpy(y, x, (size_t)n * sizeof *x) : x;
            c.threads = 1 + t % 2;
            floats_of(s->table[t])->cumulate(&c);
            for (int64_t i = 0; i < n; i++, compared++)
                check_that(memcmp(&y[i], &expected[i], sizeof *x) == 0,
                           "%s, [%lld,%lld,%lld]%s%s%s%s: y[%lld] is %.9g, expected %.9g",
                           s->table[t]->isa, (long long)c.outer, (long long)c.size,
                           (long long)c.inner, c.products ? ", products" : "",
                           c.reverse ? ", reverse" : "", c.exclusive ? ", exclusive" : "",
                           in_place ? ", in place" : "", (long long)i, (double)y[i],
                           (double)expected[i]);
            free_room(y, n);
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sums_and_products)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
