/* Convolutions of 3x3 taps by minimal filtering, of each instruction set, against their definition
 * in f64, and the bits of several threads against those of one: sizes of one block and of many,
 * with paddings of either axis and groups of channels, and numbers that are not finite or nearly
 * too large. */
#include "tests/plans.h"
#include "tests/simd.h"

#include "backends/simd/kernels/winograd.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/conv.h"
#include "wengert/ops/leaf.h"

#include <math.h>

typedef struct sizes {
    int64_t x, weight, y;
} sizes;

static sizes sizes_of(const simd_conv *a)
{
    return (sizes){a->batch * a->groups * a->in * a->h.size * a->w.size,
                   a->groups * a->out * a->in * 9,
                   a->batch * a->groups * a->out * a->h.count * a->w.count};
}

static int64_t count_of(const simd_conv *a, simd_conv_kind kind)
{
    sizes n = sizes_of(a);
    return kind == SIMD_CONV_Y ? n.y : kind == SIMD_CONV_X ? n.x : n.weight;
}

/* count 0: there is no window */
static simd_window window(int64_t size, int64_t padding)
{
    int64_t count = size + 2 * padding - 2;
    return (simd_window){size, 3, 1, padding, 1, count > 0 ? count : 0};
}

/* What is expected, and the sums of magnitudes */
typedef struct expectation {
    double *to, *size;
} expectation;

/* Terms of one plane of x, one of weights and one of y */
static void add_planes(const simd_conv *a, simd_conv_kind kind, const float *x, const float *weight,
                       const float *y, double *to, double *size)
{
    for (int64_t p = 0; p < a->h.count; p++)
        for (int64_t q = 0; q < a->w.count; q++)
            for (int64_t k = 0; k < 9; k++) {
                int64_t i = p - a->h.padding + k / 3, j = q - a->w.padding + k % 3;
                if (i < 0 || j < 0 || i >= a->h.size || j >= a->w.size)
                    continue;
                int64_t in_x = i * a->w.size + j, in_y = p * a->w.count + q;
                double term = kind == SIMD_CONV_Y   ? (double)x[in_x] * (double)weight[k]
                              : kind == SIMD_CONV_X ? (double)y[in_y] * (double)weight[k]
                                                    : (double)x[in_x] * (double)y[in_y];
                int64_t at = kind == SIMD_CONV_Y ? in_y : kind == SIMD_CONV_X ? in_x : k;
                to[at] += term;
                size[at] += fabs(term);
            }
}

/* The 9 numbers of a filter come from the same 16 points, and have errors of one size. */
static void share_sizes(double *size, int64_t count)
{
    for (double *of = size; of < size + count; of += 9) {
        double largest = 0;
        for (int i = 0; i < 9; i++)
            largest = of[i] > largest ? of[i] : largest;
        for (int i = 0; i < 9; i++)
            of[i] = largest;
    }
}

static expectation expect(const simd_conv *a, simd_conv_kind kind)
{
    int64_t count = count_of(a, kind), of_x = a->h.size * a->w.size, of_y = a->h.count * a->w.count;
    expectation e = {calloc((size_t)count, sizeof *e.to), calloc((size_t)count, sizeof *e.size)};
    assert_true(e.to && e.size);
    for (int64_t i = 0; kind == SIMD_CONV_Y && a->bias && i < count; i++)
        e.to[i] = (double)((const float *)a->bias)[i / of_y % (a->groups * a->out)];
    for (int64_t b = 0; b < a->batch * a->groups; b++)
        for (int64_t o = 0; o < a->out; o++)
            for (int64_t c = 0; c < a->in; c++) {
                int64_t x = (b * a->in + c) * of_x, y = (b * a->out + o) * of_y;
                int64_t w = ((b % a->groups * a->out + o) * a->in + c) * 9;
                int64_t at = kind == SIMD_CONV_Y ? y : kind == SIMD_CONV_X ? x : w;
                add_planes(a, kind, (const float *)a->x + x, (const float *)a->weight + w,
                           (const float *)a->y + y, e.to + at, e.size + at);
            }
    if (kind == SIMD_CONV_W)
        share_sizes(e.size, count);
    return e;
}

static bool is_right(float got, double expected, double size, double tolerance)
{
    float rounded = (float)expected;
    return isfinite(rounded) ? fabs((double)got - expected) <= tolerance * (1 + size)
           : isnan(rounded)  ? isnan(got)
                             : got == rounded;
}

static int64_t compared;

/* Every table at 1 to 3 threads, and fewer than scratch was made for */
static void check_kind(setting *s, simd_conv a, simd_conv_kind kind, double tolerance)
{
    int64_t count = count_of(&a, kind);
    expectation e = expect(&a, kind);
    if (kind != SIMD_CONV_Y)
        a.bias = NULL;
    for (int i = 0; i < s->n_tables; i++) {
        const simd_table *f = s->table[i];
        void (*const kernels[])(const simd_conv *) = {f->winograd_forward, f->winograd_grad_x,
                                                      f->winograd_grad_w};
        float *first = room(count);
        for (int threads = 1; threads <= 3; threads++) {
            a.threads = threads;
            int64_t size = simd_winograd_scratch(&a, kind);
            a.threads -= threads == 3 && draw(s, 2);
            float *to = threads == 1 ? first : room(count);
            a.scratch = room(size);
            a.to = to;
            kernels[kind](&a);
            free_room(a.scratch, size);
            for (int64_t k = 0; threads == 1 && k < count; k++, compared++)
                check_that(is_right(to[k], e.to[k], e.size[k], tolerance),
                           "%s, tensor %d, element %lld: %.9g, not %.9g", f->isa, (int)kind,
                           (long long)k, (double)to[k], e.to[k]);
            assert_memory_equal(first, to, (size_t)count * sizeof *to);
            if (to != first)
                free_room(to, count);
        }
        free_room(first, count);
    }
    free(e.to);
    free(e.size);
}

/* `spoil`, if there is one, puts numbers into operands. */
static void check(setting *s, simd_conv a, double tolerance,
                  void (*spoil)(setting *s, const simd_conv *a, float *x, float *w, float *y))
{
    sizes n = sizes_of(&a);
    if (n.y == 0)
        return;
    float *x = numbers(s, n.x), *w = numbers(s, n.weight), *y = numbers(s, n.y),
          *bias = numbers(s, a.groups * a.out);
    if (spoil)
        spoil(s, &a, x, w, y);
    a.d = (simd_window){1, 1, 1, 0, 1, 1};
    a.x = x;
    a.weight = w;
    a.y = y;
    a.bias = draw(s, 2) ? bias : NULL;
    for (int kind = SIMD_CONV_Y; kind <= SIMD_CONV_W; kind++)
        check_kind(s, a, kind, tolerance);
    free(x);
    free(w);
    free(y);
    free(bias);
}

/* Relative to the sum of magnitudes and 1: of numbers drawn at random the worst is 3.6 epsilons. */
static const double TOLERANCE = 5 * (double)FLT_EPSILON;

static void sizes_and_paddings_are_right_at_any_number_of_threads(void **state)
{
    (void)state;
    static const int64_t channels[] = {16, 17, 32, 40};
    setting s = all_tables();
    for (int i = 0; i < 9 * 9 * 9; i += 2 * SLOWER) {
        int64_t height = 1 + i % 9, width = 1 + i / 9 % 9, padding = i / 81;
        check(&s,
              (simd_conv){.batch = draw(&s, 2) ? 3 : 1,
                          .groups = draw(&s, 4) ? 1 : 2,
                          .in = channels[draw(&s, 4)],
                          .out = channels[draw(&s, 4)],
                          .h = window(height, padding % 3),
                          .w = window(width, padding / 3)},
              TOLERANCE, NULL);
    }
    assert_true(compared > drawn_cases(500000));
}

/* Several blocks of images, rows and columns, chunks and groups of channels, pieces of a sum */
static void so_are_large_ones(void **state)
{
    (void)state;
    const simd_conv cases[] = {
        {.batch = 1, .groups = 1, .in = 16, .out = 17, .h = window(32, 1), .w = window(32, 0)},
        {.batch = 90, .groups = 1, .in = 17, .out = 16, .h = window(9, 1), .w = window(8, 1)},
        {.batch = 1, .groups = 1, .in = 140, .out = 70, .h = window(7, 1), .w = window(9, 2)},
        {.batch = 1, .groups = 1, .in = 16, .out = 16, .h = window(20, 1), .w = window(301, 1)},
        {.batch = 2, .groups = 1, .in = 70, .out = 16, .h = window(25, 2), .w = window(40, 1)},
        {.batch = 40, .groups = 3, .in = 18, .out = 34, .h = window(9, 1), .w = window(12, 1)},
        {.batch = 2, .groups = 2, .in = 66, .out = 70, .h = window(11, 0), .w = window(13, 1)},
    };
    setting s = all_tables();
    for (size_t i = 0; i < WG_COUNT(cases); i++)
        check(&s, cases[i], TOLERANCE, NULL);
    simd_winograd forward[WG_COUNT(cases)], sum[WG_COUNT(cases)];
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        forward[i] = simd_winograd_of(&cases[i], SIMD_CONV_Y);
        sum[i] = simd_winograd_of(&cases[i], SIMD_CONV_W);
    }
    assert_true(forward[1].images > 1 && forward[1].image_blocks > 1);
    assert_true(forward[3].column_blocks > 1 && forward[4].row_blocks > 1);
    assert_true(sum[1].pieces > 1 && sum[2].in_chunks > 1 && sum[2].out_chunks > 1);
    assert_true(sum[5].pieces > 1 && sum[6].in_chunks > 1 && sum[6].out_chunks > 1);
}

/* One number that is not finite, anywhere, often in a corner */
static void put_odd_numbers(setting *s, const simd_conv *a, float *x, float *w, float *y)
{
    const float odd[] = {INFINITY, -INFINITY, NAN};
    sizes n = sizes_of(a);
    int64_t which = draw(s, 3), count = which == 0 ? n.x : which == 1 ? n.weight : n.y;
    float *to = which == 0 ? x : which == 1 ? w : y;
    to[draw(s, 2) ? draw(s, count) : draw(s, 2) * (count - 1)] = odd[draw(s, 3)];
}

static void what_is_not_finite_stays_where_it_belongs(void **state)
{
    (void)state;
    setting s = all_tables();
    for (int i = 0; i < drawn_cases(150); i++)
        check(&s,
              (simd_conv){.batch = 1 + draw(&s, 2),
                          .groups = 1 + draw(&s, 2),
                          .in = 16 + draw(&s, 2),
                          .out = 16 + draw(&s, 18),
                          .h = window(3 + draw(&s, 7), draw(&s, 3)),
                          .w = window(3 + draw(&s, 7), draw(&s, 3))},
              TOLERANCE, put_odd_numbers);
}

/* All of x and dy near the largest number, but of weights so small that sums are finite, or not:
 * they are of the same sign, so that a sum in f32 is as one in f64. */
static void put_large_numbers(setting *s, const simd_conv *a, float *x, float *w, float *y)
{
    sizes n = sizes_of(a);
    float scale = draw(s, 2) ? 0x1p-9F / (float)simd_larger(a->in, a->out) : 1;
    for (int64_t i = 0; i < n.x; i++)
        x[i] = 3e38F;
    for (int64_t i = 0; i < n.weight; i++)
        w[i] = fabsf(w[i]) * scale;
    for (int64_t i = 0; i < n.y; i++)
        y[i] = fabsf(y[i]) * scale / (float)n.y;
}

/* What is rounded on the way to a sum: 4 times the points of x, 4 times those of weights, a product
 * for each channel, the sum of these, and 4 times that of points; each by half an epsilon.  Equal
 * numbers are rounded alike each time, which adds up, and how far depends on the order that a
 * compiler has chosen: of 300 cases, the worst was 10.7 epsilons with gcc and 10.1 with clang. */
static double in_any_order(int64_t channels)
{
    return (double)(4 + 4 + 1 + channels + 4) * (double)FLT_EPSILON / 2;
}

static void numbers_near_the_largest_do_not_overflow(void **state)
{
    (void)state;
    setting s = all_tables();
    for (int i = 0; i < drawn_cases(40); i++) {
        const simd_conv a = {.batch = 1 + draw(&s, 2),
                             .groups = 1,
                             .in = 16 + draw(&s, 2),
                             .out = 16 + draw(&s, 18),
                             .h = window(3 + draw(&s, 5), draw(&s, 3)),
                             .w = window(3 + draw(&s, 5), draw(&s, 3))};
        check(&s, a, in_any_order(a.in), put_large_numbers);
    }
}

/* A plan of weights that are promised to stay reads them in its first run alone, and has the bits
 * of one without the promise. */
static void points_of_fixed_weights_are_kept(void **state)
{
    (void)state;
    enum { IN = 40, OUT = 70, GROUPS = 2, SIZE = 15, RUNS = 3 };
    const wg_backend *simd = wg_simd_backend();
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1, IN, SIZE, SIZE)),
             *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(OUT, IN / GROUPS, 3, 3), wg_zeros()),
             *y = wg_conv2d(x, w, NULL, &(wg_conv2d_options){.groups = GROUPS});
    wg_output(y, "y");
    for (int threads = 1; threads <= 2; threads++) {
        wg_plan *p[2];
        for (int fixed = 0; fixed < 2; fixed++) {
            p[fixed] = plan_of(g, &(wg_plan_options){.backends = &simd,
                                                     .n_backends = 1,
                                                     .threads = threads,
                                                     .fixed_parameters = fixed});
            assert_string_equal(wg_plan_step_at(p[fixed], 0).kernel, "winograd");
            float *weights = wg_plan_data(p[fixed], w), *image = wg_plan_data(p[fixed], x);
            for (int64_t i = 0; i < wg_value_count(w); i++)
                weights[i] = (float)(i * 7919 % 101) / 50 - 1;
            for (int64_t i = 0; i < wg_value_count(x); i++)
                image[i] = (float)(i * 104729 % 89) / 40 - 1;
        }
        for (int i = 0; i < RUNS; i++) {
            run(p[0], 0);
            run(p[1], 0);
            assert_memory_equal(floats(p[0], y), floats(p[1], y),
                                (size_t)wg_value_count(y) * sizeof(float));
            if (i == 1)
                memset(wg_plan_data(p[1], w), 0, (size_t)wg_value_count(w) * sizeof(float));
        }
        assert_true(floats(p[1], y)[0] != 0);
        wg_plan_free(p[0]);
        wg_plan_free(p[1]);
    }
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_fixed_weights_are_kept),
        cmocka_unit_test(sizes_and_paddings_are_right_at_any_number_of_threads),
        cmocka_unit_test(so_are_large_ones),
        cmocka_unit_test(what_is_not_finite_stays_where_it_belongs),
        cmocka_unit_test(numbers_near_the_largest_do_not_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
