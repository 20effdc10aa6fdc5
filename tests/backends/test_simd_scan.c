/* Linear recurrences for each instruction set: long and short lines, all remainders, both
 * directions, results that go past the caches. */
#include "tests/simd.h"
#include "backends/simd/kernels/stream.h"

#include <math.h>

/* One problem [outer, size, inner] and its results in double. */
typedef struct problem {
    simd_scan s;
    double *y, *da, *dx, *dinitial;
} problem;

/* Where step t of a line is. */
static int64_t place(const simd_scan *s, int64_t outer, int64_t inner, int64_t t)
{
    return (outer * s->size + (s->reverse ? s->size - 1 - t : t)) * s->inner + inner;
}

/* The definition, line by line; states are those of the kernel, in float, so that the error is that
 * of one step. */
static void by_definition(problem *p, const float *y)
{
    const simd_scan *s = &p->s;
    for (int64_t line = 0; line < s->outer * s->inner; line++) {
        int64_t o = line / s->inner, i = line % s->inner;
        double state = s->initial ? (double)s->initial[line] : 0, carried = 0;
        for (int64_t t = 0; t < s->size; t++) {
            int64_t at = place(s, o, i, t);
            p->da[at] = state; /* y[t-1], for below */
            p->y[at] = (double)s->a[at] * state + (double)s->x[at];
            state = (double)y[at];
        }
        for (int64_t t = s->size - 1; t >= 0; t--) {
            int64_t at = place(s, o, i, t);
            p->dx[at] = (double)s->dy[at] + carried;
            p->da[at] *= p->dx[at];
            carried = (double)s->a[at] * p->dx[at];
        }
        p->dinitial[line] = carried;
    }
}

static int64_t compare(const float *got, const double *expected, int64_t n, const char *what,
                       const char *isa)
{
    for (int64_t i = 0; i < n; i++) {
        double error = fabs((double)got[i] - expected[i]),
               scale = fabs(expected[i]) > 1 ? fabs(expected[i]) : 1;
        if (!(error <= 2e-6 * scale))
            fail_msg("%s, %s[%lld]: %.9g, expected %.9g", isa, what, (long long)i, (double)got[i],
                     expected[i]);
    }
    return n;
}

/* A result in whole cache lines, as one must be to go past the caches. */
static float *aligned_room(int64_t count)
{
    size_t bytes = ((size_t)(count + 2 * GUARD) * sizeof(float) + 63) / 64 * 64;
    float *x = aligned_alloc(64, bytes);
    assert_non_null(x);
    for (int64_t i = 0; i < count + 2 * GUARD; i++)
        x[i] = i < GUARD || i >= count + GUARD ? 12345.0f : NAN;
    return x + GUARD;
}

/* Forward and backward of one table on `threads`; the results are the caller's to free. */
static void run_both(simd_scan *s, const simd_table *table, int threads, float *results[4],
                     int64_t n, int64_t lines)
{
    for (int i = 0; i < 4; i++)
        results[i] = i < 3 && n >= SIMD_STREAM ? aligned_room(n) : room(i < 3 ? n : lines);
    s->threads = threads;
    s->y = results[0];
    s->da = results[1];
    s->dx = results[2];
    s->dinitial = results[3];
    table->scan_forward(s);
    table->scan_backward(s);
}

static int64_t check(setting *s, int64_t outer, int64_t size, int64_t inner, int variant)
{
    int64_t n = outer * size * inner, lines = outer * inner, compared = 0;
    float *a = numbers(s, n), *x = numbers(s, n), *dy = numbers(s, n), *initial = numbers(s, lines);
    for (int64_t i = 0; i < n; i++)
        a[i] = a[i] / (1 + fabsf(a[i])); /* in (-1, 1): states stay bounded */
    problem p = {.s = {.a = a,
                       .x = x,
                       .dy = dy,
                       .initial = variant & 1 ? initial : NULL,
                       .outer = outer,
                       .size = size,
                       .inner = inner,
                       .reverse = variant & 2}};
    double *numbers_of[4];
    for (int i = 0; i < 4; i++)
        assert_non_null(numbers_of[i] = calloc((size_t)(i < 3 ? n : lines) + 1, sizeof(double)));
    p.y = numbers_of[0], p.da = numbers_of[1], p.dx = numbers_of[2], p.dinitial = numbers_of[3];
    for (int t = 0; t < s->n_tables; t++) {
        float *one[4], *two[4];
        const char *isa = s->table[t]->isa;
        run_both(&p.s, s->table[t], 1, one, n, lines);
        run_both(&p.s, s->table[t], 2, two, n, lines);
        by_definition(&p, one[0]);
        compared += compare(one[0], p.y, n, "y", isa) + compare(one[1], p.da, n, "da", isa) +
                    compare(one[2], p.dx, n, "dx", isa) +
                    compare(one[3], p.dinitial, lines, "dinitial", isa);
        for (int i = 0; i < 4; i++) {
            check_that(memcmp(one[i], two[i], (size_t)(i < 3 ? n : lines) * sizeof(float)) == 0,
                       "%s: other bits on two threads", isa);
            free_room(one[i], i < 3 ? n : lines);
            free_room(two[i], i < 3 ? n : lines);
        }
    }
    for (int i = 0; i < 4; i++)
        free(numbers_of[i]);
    free(a);
    free(x);
    free(dy);
    free(initial);
    return compared;
}

static void all_remainders(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 1, 1},    {3, 7, 1},   {8, 8, 1},  {9, 129, 1},
                                        {17, 300, 1}, {1, 5, 2},   {2, 40, 3}, {3, 31, 16},
                                        {2, 9, 127},  {1, 20, 300}};
    setting s = all_tables();
    int64_t compared = 0;
    for (size_t k = 0; k < WG_COUNT(shapes); k++)
        for (int variant = 0; variant < 4; variant++)
            compared += check(&s, shapes[k][0], shapes[k][1], shapes[k][2], variant);
    print_message("%lld elements\n", (long long)compared);
    assert_true(compared > 100000);
}

/* Results of 32 MiB go past the caches. */
static void large_results(void **state)
{
    (void)state;
    setting s = all_tables();
    assert_true(16LL << 19 >= SIMD_STREAM);
    assert_true(check(&s, 16, 1 << 19, 1, 2) > 0);
    assert_true(check(&s, 1, 1 << 16, 128, 1) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_remainders),
        cmocka_unit_test(large_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
