/* Convolutions and their gradients of each instruction set, of f32 and f64, against their
 * definition, of random sizes, strides, paddings, dilations and groups; and the bits of several
 * threads against those of one. */
#include "tests/simd.h"

#include "backends/simd/kernels/direct.h"

#include <tgmath.h>

static simd_window draw_window(setting *s, int64_t windows)
{
    simd_window w = {
        .kernel = 1 + draw(s, 4), .stride = 1 + draw(s, 3), .dilation = 1 + draw(s, 2)};
    int64_t span = w.dilation * (w.kernel - 1) + 1;
    w.padding = draw(s, span + 1);
    w.size = (windows - 1) * w.stride + span - 2 * w.padding + draw(s, w.stride);
    w.size = w.size > 0 ? w.size : 1;
    w.count = (w.size + 2 * w.padding - span) / w.stride + 1;
    if (w.size + 2 * w.padding < span)
        w = (simd_window){
            .size = windows, .kernel = 1, .stride = 1, .dilation = 1, .count = windows};
    return w;
}

typedef struct sizes {
    int64_t x, weight, y;
} sizes;

static sizes sizes_of(const simd_conv *a)
{
    return (sizes){a->batch * a->groups * a->in * a->d.size * a->h.size * a->w.size,
                   a->groups * a->out * a->in * a->d.kernel * a->h.kernel * a->w.kernel,
                   a->batch * a->groups * a->out * a->d.count * a->h.count * a->w.count};
}

static int64_t position_of(const simd_window *w, int64_t o, int64_t k)
{
    int64_t at = o * w->stride - w->padding + k * w->dilation;
    return at >= 0 && at < w->size ? at : -1;
}

/* Which of the three tensors is computed, and what it must be, with the sum of magnitudes */
typedef struct expectation {
    int which;
    const real *x, *weight, *y; /* the other two */
    int64_t count;
    wide *to, *size;
} expectation;

/* One term of y += weight x, dx += weight dy, or dweight += x dy */
static void add_term(expectation *e, int64_t x, int64_t weight, int64_t y)
{
    const int64_t to = e->which == 0 ? y : e->which == 1 ? x : weight;
    const wide product = e->which == 0   ? (wide)e->weight[weight] * (wide)e->x[x]
                         : e->which == 1 ? (wide)e->weight[weight] * (wide)e->y[y]
                                         : (wide)e->x[x] * (wide)e->y[y];
    e->to[to] += product;
    e->size[to] += fabs(product);
}

/* The terms of element y of y, but those of the padding: a sum over channels and taps. */
static void add_terms(const simd_conv *a, expectation *e, int64_t y)
{
    int64_t i = y, q = i % a->w.count, p = (i /= a->w.count) % a->h.count;
    int64_t r = (i /= a->h.count) % a->d.count, o = (i /= a->d.count) % (a->groups * a->out);
    int64_t first = (i / (a->groups * a->out) * a->groups + o / a->out) * a->in, weight = o * a->in;
    weight *= a->d.kernel * a->h.kernel * a->w.kernel;
    for (int64_t channel = first; channel < first + a->in; channel++)
        for (int64_t m = 0; m < a->d.kernel; m++)
            for (int64_t k = 0; k < a->h.kernel; k++)
                for (int64_t l = 0; l < a->w.kernel; l++, weight++) {
                    int64_t z = position_of(&a->d, r, m), row = position_of(&a->h, p, k),
                            column = position_of(&a->w, q, l);
                    int64_t x = ((channel * a->d.size + z) * a->h.size + row) * a->w.size + column;
                    if (z >= 0 && row >= 0 && column >= 0)
                        add_term(e, x, weight, y);
                }
}

static expectation expect(const simd_conv *a, int which, const real *x, const real *w,
                          const real *y)
{
    sizes n = sizes_of(a);
    expectation e = {which, x, w, y, which == 0 ? n.y : which == 1 ? n.x : n.weight, NULL, NULL};
    e.to = calloc((size_t)e.count, sizeof *e.to);
    e.size = calloc((size_t)e.count, sizeof *e.size);
    assert_true(e.to && e.size);
    const real *bias = which == 0 ? a->bias : NULL;
    int64_t of_channel = n.y / (a->batch * a->groups * a->out);
    for (int64_t i = 0; i < e.count; i++)
        e.to[i] = bias ? (wide)bias[i / of_channel % (a->groups * a->out)] : 0;
    for (int64_t i = 0; i < n.y; i++)
        add_terms(a, &e, i);
    return e;
}

static int64_t compared;

/* Numbers of scratch, and what is to be tested of a table */
static int64_t scratch_of(const simd_conv *a, int which, bool direct)
{
    if (!direct)
        return simd_conv_scratch(a, which);
    const simd_direct p = simd_direct_of(a, which);
    return (int64_t)(simd_direct_room(&p, sizeof(real)) / sizeof(real)) * a->threads;
}

static void run_kernel(const simd_float_table *f, const simd_conv *a, int which, bool direct)
{
    void (*const kernels[2][3])(const simd_conv *) = {
        {f->conv_forward, f->conv_grad_x, f->conv_grad_w},
        {f->direct_forward, f->direct_grad_x, f->direct_grad_w}};
    kernels[direct][which](a);
}

static bool is_right(wide got, wide expected, wide size)
{
    return isfinite(expected) ? fabs(got - expected) <= 17 * (wide)EPSILON * (1 + size)
           : isnan(expected)  ? isnan(got)
                              : got == expected;
}

/* `odd`: one of the numbers is infinite, which zeros of padding must not spread. */
static void check(setting *s, simd_conv a, bool direct, bool odd)
{
    sizes n = sizes_of(&a);
    real *x = numbers(s, n.x), *w = numbers(s, n.weight), *y = numbers(s, n.y),
         *bias = numbers(s, a.groups * a.out);
    a.bias = draw(s, 2) ? bias : NULL;
    if (odd) {
        int64_t which = draw(s, 3), count = which == 0 ? n.x : which == 1 ? n.weight : n.y;
        (which == 0 ? x : which == 1 ? w : y)[draw(s, count)] = INFINITY;
    }
    for (int which = 0; which < 3; which++) {
        expectation e = expect(&a, which, x, w, y);
        for (int i = 0; i < s->n_tables; i++) {
            real *first = NULL;
            for (int threads = 1; threads <= 3; threads++) {
                simd_conv c = a;
                c.x = x;
                c.weight = w;
                c.y = y;
                c.bias = which == 0 ? a.bias : NULL;
                c.threads = threads;
                int64_t size = scratch_of(&c, which, direct);
                c.threads -= threads == 3 && draw(s, 2); /* fewer than it was made for */
                real *to = room(e.count), *scratch = room(size);
                c.to = to;
                c.scratch = scratch;
                run_kernel(floats_of(s->table[i]), &c, which, direct);
                for (int64_t k = 0; k < e.count; k++, compared++)
                    check_that(is_right(to[k], e.to[k], e.size[k]),
                               "%s, tensor %d, element %lld: %.17g, not %.17g", s->table[i]->isa,
                               which, (long long)k, (double)to[k], (double)e.to[k]);
                free_room(scratch, size);
                if (first)
                    assert_memory_equal(first, to, (size_t)e.count * sizeof *to);
                if (first)
                    free_room(to, e.count);
                else
                    first = to;
            }
            free_room(first, e.count);
        }
        free(e.to);
        free(e.size);
    }
    free(x);
    free(w);
    free(y);
    free(bias);
}

static void convolutions_are_right_at_any_number_of_threads(void **state)
{
    (void)state;
    setting s = all_tables();
    for (int i = 0; i < drawn_cases(60); i++)
        check(&s,
              (simd_conv){.batch = 1 + draw(&s, 4),
                          .groups = 1 + draw(&s, 2),
                          .in = 1 + draw(&s, 5),
                          .out = 1 + draw(&s, 17),
                          .d = draw_window(&s, 1 + draw(&s, 3)),
                          .h = draw_window(&s, 1 + draw(&s, 6)),
                          .w = draw_window(&s, 1 + draw(&s, 20))},
              false, false);
    assert_true(compared > drawn_cases(100000));
}

/* Several blocks of channels, of positions and of examples; pieces of a gradient; one tap */
static void so_are_large_ones(void **state)
{
    (void)state;
    const simd_window one = {1, 1, 1, 0, 1, 1}, three = {9, 3, 1, 1, 1, 9},
                      many = {700, 3, 1, 1, 1, 700}, few = {20, 1, 1, 0, 1, 20};
    const simd_conv cases[] = {
        {.batch = 2, .groups = 1, .in = 90, .out = 3, .d = one, .h = three, .w = three},
        {.batch = 2, .groups = 1, .in = 3, .out = 5, .d = one, .h = one, .w = many},
        {.batch = 2, .groups = 2, .in = 2, .out = 4, .d = one, .h = three, .w = many},
        {.batch = 19, .groups = 1, .in = 3, .out = 7, .d = one, .h = three, .w = three},
        {.batch = 3, .groups = 2, .in = 20, .out = 30, .d = one, .h = few, .w = few},
        {.batch = 2, .groups = 1, .in = 400, .out = 2, .d = one, .h = few, .w = few},
    };
    setting s = all_tables();
    for (size_t i = 0; i < WG_COUNT(cases); i++)
        check(&s, cases[i], false, false);
    simd_conv_plan p[WG_COUNT(cases)];
    for (size_t i = 0; i < WG_COUNT(cases); i++)
        p[i] = simd_conv_plan_of(&cases[i]);
    assert_true(p[0].channel_blocks > 1 && p[3].pieces > 1 && p[1].position_blocks > 1);
    assert_true(p[3].example_blocks > 1 && p[3].examples > 1 && p[5].channel_blocks > 1);
}

/* NaN and infinity reach the windows that see them, and no others, in whatever block they lie. */
static void what_is_not_finite_shows(void **state)
{
    (void)state;
    enum { SIZE = 9, COUNT = 2 * SIZE * SIZE };
    const simd_window one = {1, 1, 1, 0, 1, 1}, three = {SIZE, 3, 1, 1, 1, SIZE};
    simd_conv a = {.batch = 2, .groups = 1, .in = 1, .out = 1, .d = one, .h = three, .w = three};
    setting s = all_tables();
    real *x = numbers(&s, COUNT), *w = numbers(&s, 9);
    x[4 * SIZE + 4] = (real)NAN;
    a.threads = 1;
    int64_t size = simd_conv_scratch(&a, SIMD_CONV_Y);
    for (int t = 0; t < s.n_tables; t++) {
        real *y = room(COUNT), *scratch = room(size);
        a.x = x;
        a.weight = w;
        a.to = y;
        a.scratch = scratch;
        floats_of(s.table[t])->conv_forward(&a);
        for (int i = 0; i < COUNT; i++) {
            int row = i / SIZE, column = i % SIZE;
            bool sees = row >= 3 && row <= 5 && column >= 3 && column <= 5;
            check_that(isnan(y[i]) == sees, "%s, element %d", s.table[t]->isa, i);
        }
        free_room(y, COUNT);
        free_room(scratch, size);
    }
    free(x);
    free(w);
}

/* An infinite weight, or cotangent, times the padding is nothing: samples of ops, which other tests
 * take, are too small for these kernels. */
static void padding_stays_finite(void **state)
{
    (void)state;
    enum { SIZE = 9, COUNT = SIZE * SIZE, TAPS = 9 };
    const simd_window one = {1, 1, 1, 0, 1, 1}, three = {SIZE, 3, 1, 1, 1, SIZE};
    setting s = all_tables();
    real *x = numbers(&s, COUNT), *w = numbers(&s, TAPS), *dy = numbers(&s, COUNT), bias = 1;
    w[0] = (real)INFINITY;
    dy[0] = (real)INFINITY;
    simd_conv a = {.batch = 1, .groups = 1, .in = 1, .out = 1, .d = one, .h = three, .w = three};
    a.x = x;
    a.weight = w;
    a.y = dy;
    a.bias = &bias;
    a.threads = 2;
    for (int t = 0; t < s.n_tables; t++)
        for (int kind = SIMD_CONV_Y; kind <= SIMD_CONV_W; kind += SIMD_CONV_W - SIMD_CONV_Y) {
            int count = kind == SIMD_CONV_Y ? COUNT : TAPS, side = kind == SIMD_CONV_Y ? SIZE : 3;
            int64_t size = simd_conv_scratch(&a, kind);
            real *to = room(count), *scratch = room(size);
            const simd_float_table *f = floats_of(s.table[t]);
            a.to = to;
            a.scratch = scratch;
            (kind == SIMD_CONV_Y ? f->conv_forward : f->conv_grad_w)(&a);
            for (int i = 0; i < count; i++) /* the first tap, or window, lies above and left of x */
                check_that(isfinite(to[i]) == (i / side == 0 || i % side == 0), "%s, %d: %g at %d",
                           s.table[t]->isa, kind, (double)to[i], i);
            free_room(to, count);
            free_room(scratch, size);
        }
    free(x);
    free(w);
    free(dy);
}

static simd_window window_of(int64_t size, int64_t kernel, int64_t stride, int64_t dilation)
{
    const int64_t span = dilation * (kernel - 1) + 1, padding = span / 2;
    return (simd_window){size,    kernel,   stride,
                         padding, dilation, (size + 2 * padding - span) / stride + 1};
}

/* Few channels a group and windows so large that their taps are several tiles, some of them of one
 * row, since others would go far beyond a low plane */
static void wide_windows_are_right_too(void **state)
{
    (void)state;
    static const struct {
        int64_t height, width, down, across, stride, dilation;
    } cases[] = {{20, 33, 5, 5, 1, 1}, {17, 14, 7, 7, 1, 1}, {9, 40, 6, 8, 1, 1},
                 {3, 30, 7, 5, 1, 1},  {25, 12, 4, 5, 1, 2}, {12, 20, 5, 7, 1, 3},
                 {21, 34, 7, 7, 2, 1}, {16, 17, 5, 5, 2, 1}, {18, 19, 5, 5, 3, 1},
                 {1, 300, 1, 11, 1, 4}};
    setting s = all_tables();
    for (size_t i = 0; i < WG_COUNT(cases); i++)
        check(&s,
              (simd_conv){.batch = 2,
                          .groups = 2,
                          .in = 1 + (int64_t)(i % 2),
                          .out = 1,
                          .d = {1, 1, 1, 0, 1, 1},
                          .h = window_of(cases[i].height, cases[i].down, cases[i].stride,
                                         cases[i].dilation),
                          .w = window_of(cases[i].width, cases[i].across, cases[i].stride,
                                         cases[i].dilation)},
              true, i == 2);
}

/* Few channels a group: of strips of rows or of depths, and of rows of many vectors */
static void direct_ones_are_right_too(void **state)
{
    (void)state;
    setting s = all_tables();
    int64_t before = compared;
    for (int i = 0; i < drawn_cases(120); i++) {
        bool deep = i % 4 == 0, large = i % 10 == 0;
        simd_conv a = {.batch = 1 + draw(&s, 3),
                       .groups = 1 + draw(&s, 4),
                       .in = 1 + draw(&s, i % 2 ? 1 : 5),
                       .out = 1 + draw(&s, i % 2 ? 1 : 7),
                       .d = {1, 1, 1, 0, 1, 1},
                       .h = draw_window(&s, 1 + draw(&s, 12)),
                       .w = draw_window(&s, 1 + draw(&s, large ? 900 : 40))};
        if (deep)
            a.d = draw_window(&s, 1 + draw(&s, 4));
        if (i % 5 == 0 && !large)
            a.h = (simd_window){40, 9, 2, 3, 1, 19};
        check(&s, a, true, i % 3 == 0);
    }
    const simd_window one = {1, 1, 1, 0, 1, 1}, many = {200, 3, 1, 1, 1, 200};
    const simd_conv strips = {
        .batch = 1, .groups = 2, .in = 1, .out = 1, .d = one, .h = many, .w = many};
    check(&s, strips, true, false);
    for (int kind = SIMD_CONV_Y; kind <= SIMD_CONV_W; kind++)
        assert_true(simd_direct_of(&strips, kind).strips > 2);
    assert_true(compared - before > drawn_cases(100000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(convolutions_are_right_at_any_number_of_threads),
        cmocka_unit_test(so_are_large_ones),
        cmocka_unit_test(direct_ones_are_right_too),
        cmocka_unit_test(wide_windows_are_right_too),
        cmocka_unit_test(what_is_not_finite_shows),
        cmocka_unit_test(padding_stays_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
