/* Fourier transforms by the simd backend against the sums of the reference, and what must not
 * depend on threads, other lines or the way in which a line is done. */
#include "tests/test.h"
#include "wengert.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/table.h"

#include <float.h>
#include <math.h>

enum { KINDS = 6 };
static const char *const kinds[KINDS] = {"fft",           "inverse fft", "rfft",
                                         "weighted rfft", "irfft",       "weighted irfft"};

/* Lines [outer, n, inner] of a kind. */
typedef struct lines {
    int kind;
    int64_t outer, n, inner;
    wg_dtype dtype;
} lines;

static wg_value *transformed(const lines *c, wg_graph *g, wg_value **x)
{
    const bool weighted = c->kind % 2;
    const wg_fft_attrs pairs = {1, c->kind == 1};
    const wg_rfft_attrs to = {1, 0, weighted}, from = {1, c->n, weighted};
    const int64_t size = c->kind < 4 ? c->n : c->n / 2 + 1;
    const wg_shape shape = c->kind / 2 == 1 ? WG_SHAPE(c->outer, size, c->inner)
                                            : WG_SHAPE(c->outer, size, c->inner, 2);
    *x = wg_input(g, "x", c->dtype, shape);
    return c->kind < 2   ? wg_apply1(WG_HERE, &wg_op_fft, &pairs, *x)
           : c->kind < 4 ? wg_apply1(WG_HERE, &wg_op_rfft, &to, *x)
                         : wg_apply1(WG_HERE, &wg_op_irfft, &from, *x);
}

static double get(wg_plan *p, const wg_value *v, int64_t i)
{
    return v->dtype == WG_F32 ? (double)wg_plan_f32(p, v)[i] : wg_plan_f64(p, v)[i];
}

static void put(wg_plan *p, const wg_value *v, int64_t i, double to)
{
    if (v->dtype == WG_F32)
        wg_plan_f32(p, v)[i] = (float)to;
    else
        wg_plan_f64(p, v)[i] = to;
}

/* The result, n numbers that the caller frees.  If poisoned, the first number of x is NaN. */
static double *run(const lines *c, bool reference, int threads, bool poisoned, int64_t *n)
{
    wg_plan *p;
    wg_graph *g = wg_graph_new();
    wg_value *x, *y = wg_output(transformed(c, g, &x), "y");
    const wg_backend *const simd[] = {wg_simd_backend()};
    const wg_plan_options o = {.reference = reference,
                               .backends = reference ? NULL : simd,
                               .n_backends = !reference,
                               .threads = threads};
    check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
    uint64_t random = 1;
    for (int64_t i = 0; i < wg_value_count(x); i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        put(p, x, i, (double)(random >> 11) / 9007199254740992.0 - 0.5);
    }
    if (poisoned)
        put(p, x, 0, (double)NAN);
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    const wg_plan_step step = wg_plan_step_at(p, wg_plan_step_count(p) - 1);
    check_that(strcmp(step.backend, reference ? "cpu" : "simd") == 0, "by %s", step.backend);
    *n = wg_value_count(y);
    double *made = malloc((size_t)*n * sizeof *made);
    assert_non_null(made);
    for (int64_t i = 0; i < *n; i++)
        made[i] = get(p, y, i);
    wg_plan_free(p);
    wg_graph_free(g);
    return made;
}

/* Within the error of the reference's sums in double, and some roundings of each pass. */
static int64_t compare(const lines *c)
{
    int64_t n;
    double *want = run(c, true, 1, false, &n), *got = run(c, false, 1, false, &n), size = 0;
    const double eps = c->dtype == WG_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    for (int64_t i = 0; i < n; i++)
        size = fmax(size, fabs(want[i]));
    const double tolerance = size * (6 * eps + 2 * DBL_EPSILON * sqrt((double)c->n));
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= tolerance))
            fail_msg("%s of [%lld, %lld, %lld], %s: number %lld is %.17g, expected %.17g, the "
                     "largest is %g",
                     kinds[c->kind], (long long)c->outer, (long long)c->n, (long long)c->inner,
                     wg_dtype_name(c->dtype), (long long)i, got[i], want[i], size);
    free(want);
    free(got);
    return n;
}

static int64_t compare_all(int64_t outer, int64_t n, int64_t inner)
{
    int64_t compared = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int f64 = 0; f64 < 2; f64++)
            compared += compare(&(lines){kind, outer, n, inner, f64 ? WG_F64 : WG_F32});
    return compared;
}

/* Side by side: every radix, products of them, convolutions; rows, columns, and both mixed. */
static void short_lines(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 12, 13, 15,
                                    16, 17, 18, 20, 24, 25, 27, 30, 32, 36, 45, 47, 48,
                                    49, 53, 59, 60, 64, 77, 94, 97, 98, 99, 100};
    static const int64_t around[][2] = {{1, 1}, {3, 1}, {37, 1}, {2, 3}, {1, 16}, {2, 37}};
    int64_t compared = 0;
    for (size_t i = 0; i < WG_COUNT(sizes); i++)
        for (size_t k = 0; k < WG_COUNT(around); k++)
            compared += compare_all(around[k][0], sizes[i], around[k][1]);
    print_message("%lld numbers\n", (long long)compared);
    assert_true(compared > 500000);
}

/* A line at a time, in two steps, and with factors that are too large. */
static void long_lines(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{1, 128, 1}, {1, 144, 3},  {2, 210, 1},
                                        {1, 127, 1}, {1, 254, 2},  {3, 251, 1},
                                        {1, 225, 1}, {1, 1024, 1}, {1, 1018, 1}};
    int64_t compared = 0;
    for (size_t i = 0; i < WG_COUNT(shapes); i++)
        compared += compare_all(shapes[i][0], shapes[i][1], shapes[i][2]);
    print_message("%lld numbers\n", (long long)compared);
    assert_true(compared > 50000);
}

/* Work that several threads share, of lines, of groups of lines, and within a line. */
static void bits_for_any_threads(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = {{100, 240, 1}, {3, 101, 80}, {1, 20000, 1}, {1, 10007, 2}};
    int64_t compared = 0, n;
    for (size_t i = 0; i < WG_COUNT(shapes); i++)
        for (int kind = 0; kind < KINDS; kind += 2) {
            const lines c = {kind, shapes[i][0], shapes[i][1], shapes[i][2], WG_F32};
            double *one = run(&c, false, 1, false, &n);
            for (int threads = 2; threads <= 3; threads++) {
                double *more = run(&c, false, threads, false, &n);
                check_that(memcmp(one, more, (size_t)n * sizeof *one) == 0,
                           "%s of shape %zu: other bits by %d threads", kinds[kind], i, threads);
                free(more);
                compared += n;
            }
            free(one);
        }
    assert_true(compared > 500000);
}

/* NaN in the first line makes all of it NaN, but for what it does not reach, and no other. */
static void lines_are_apart(void **state)
{
    (void)state;
    int64_t n;
    for (int kind = 0; kind < KINDS; kind++)
        for (int64_t size = 7; size <= 8; size++) {
            const lines c = {kind, 20, size, 1, WG_F32};
            double *made = run(&c, false, 1, true, &n), *clean = run(&c, false, 1, false, &n);
            for (int64_t i = n / 20; i < n; i++)
                check_that(made[i] == clean[i], "%s of %lld: number %lld is %g, not %g",
                           kinds[kind], (long long)size, (long long)i, made[i], clean[i]);
            for (int64_t i = 0; i < n / 20; i += 2)
                check_that(isnan(made[i]), "%s of %lld: number %lld is %g", kinds[kind],
                           (long long)size, (long long)i, made[i]);
            free(made);
            free(clean);
        }
}

/* There and back: through any size, and along each axis of a picture. */
static void inverses(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 40; n++) {
        wg_plan *p;
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_uniform(g, WG_F64, WG_SHAPE(3, n, 5), -1, 1);
        wg_value *flat = wg_irfft(wg_rfft(x, 1), 1, n);
        wg_value *plane = wg_fft(wg_rfft(x, -1), -2); /* [3, n, 3, 2] */
        wg_value *back = wg_irfft(wg_ifft(plane, -2), -1, 5);
        wg_value *far = wg_max(wg_maximum(wg_abs(wg_sub(flat, x)), wg_abs(wg_sub(back, x))),
                               WG_ALL_AXES, WG_DROP);
        wg_output(far, "far");
        check_that(wg_plan_create(&p, g, NULL) == WG_OK, "%s", wg_graph_message(g));
        check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
        if (!(wg_plan_scalar(p, far) <= 1e-14))
            fail_msg("n = %lld: %g from where it began", (long long)n, wg_plan_scalar(p, far));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

static void wrong_arguments(void **state)
{
    (void)state;
    const struct {
        int axis;
        int64_t n;
        const char *says;
    } cases[] = {
        {3, 0, "fft: x [4,6,2], without the axis of its pairs, has no axis 3"},
        {2, 0, "has no axis 2"},
        {-3, 0, "has no axis -3"},
        {1, 9, "6 frequencies along axis 1 are of n = 10 or 11 numbers, not 9"},
        {0, 8, "4 frequencies along axis 0 are of n = 6 or 7 numbers, not 8"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4, 6, 2));
        wg_value *y =
            cases[i].n ? wg_irfft(x, cases[i].axis, cases[i].n) : wg_fft(x, cases[i].axis);
        check_that(!y && strstr(wg_graph_message(g), cases[i].says), "case %zu: %s", i,
                   wg_graph_message(g));
        wg_graph_free(g);
    }
    wg_graph *g = wg_graph_new();
    assert_null(wg_real_part(wg_input(g, "x", WG_F32, WG_SHAPE(4, 3))));
    check_that(strstr(wg_graph_message(g), "x is [4,3], must be pairs: a last axis of 2"), "%s",
               wg_graph_message(g));
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(short_lines),
        cmocka_unit_test(long_lines),
        cmocka_unit_test(bits_for_any_threads),
        cmocka_unit_test(lines_are_apart),
        cmocka_unit_test(inverses),
        cmocka_unit_test(wrong_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
