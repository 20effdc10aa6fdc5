/* Permutations, comparisons, choices and casts of the simd backend against the reference, bit for
 * bit, on one thread and on three: the sizes at which tiles and rows end, every pattern of
 * broadcasting, special numbers. */
#include "tests/numbers.h"
#include "tests/plans.h"
#include "wengert/backends/simd.h"

enum { PLANS = 3 }; /* the reference, simd on one thread and on three */

/* Special numbers among others.  None is subnormal: beside the reference they are 0. */
static void fill(wg_plan *p, const wg_value *x)
{
    static const double specials[] = {
        0.0,           -0.0,          1.0,    -1.5,  NAN,    INFINITY,     -INFINITY,
        0x1p31,        -0x1p31,       3e38,   1e-37, -2.5e9, 2147483520.0, 2147483647.0,
        4294967296.25, -2147483649.0, 0x1p62, 1e300, -1e300};
    uint64_t seed = 5 + (uint64_t)x->node->id;
    for (int64_t i = 0; i < wg_value_count(x); i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double v = seed >> 62 == 0   ? specials[(seed >> 33) % WG_COUNT(specials)]
                   : seed >> 62 == 1 ? (double)(seed >> 61 & 1) /* many are equal */
                                     : (double)(int64_t)(seed >> 32 & 0x7fffffff) - 0x1p30;
        wgi_put_element(wg_plan_data(p, x), x->dtype, i, v);
    }
}

/* Compares y of all plans, of which simd has this kernel; returns how many elements. */
static int64_t compared(wg_graph *g, wg_value *y, const char *kernel)
{
    const wg_backend *const simd[] = {wg_simd_backend()};
    check_that(wg_output(y, "y"), "%s", wg_graph_message(g));
    wg_plan *p[PLANS];
    for (int i = 0; i < PLANS; i++) {
        p[i] = plan_of(g, &(wg_plan_options){.reference = i == 0,
                                             .backends = simd,
                                             .n_backends = i > 0,
                                             .threads = i == 2 ? 3 : 1,
                                             .no_fold = true});
        wg_plan_step last = wg_plan_step_at(p[i], wg_plan_step_count(p[i]) - 1);
        assert_string_equal(last.kernel, i ? kernel : "reference");
        for (int k = 0; k < y->node->n_in; k++) {
            const wg_value *x = y->node->in[k];
            if (i)
                memcpy(wg_plan_data(p[i], x), wg_plan_data(p[0], x), wg_value_bytes(x));
            else
                fill(p[0], x);
        }
        run(p[i], 0);
    }
    for (int i = 1; i < PLANS; i++)
        numbers_same_bits(y->node->op->name, p[0], y, p[i], y);
    int64_t n = wg_value_count(y);
    for (int i = 0; i < PLANS; i++)
        wg_plan_free(p[i]);
    wg_graph_free(g);
    return n;
}

/* ---- permute --------------------------------------------------------------------------------- */

static int64_t permuted(wg_dtype dtype, wg_shape shape, wg_axes order, const char *kernel)
{
    wg_graph *g = wg_graph_new();
    return compared(g, wg_permute(wg_input(g, "x", dtype, shape), order), kernel);
}

static void matrices_are_transposed(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 3, 7, 8, 9, 15, 16, 17, 33, 64, 65, 143, 1030};
    int64_t n = 0;
    for (int i = 0; i < WG_COUNT(sizes); i++)
        for (int j = 0; j < WG_COUNT(sizes); j++) {
            int64_t r = sizes[i], c = sizes[j];
            bool takes = r > 1 && c > 1 && r * c >= 64;
            static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_I32, WG_I64};
            wg_dtype dtype = dtypes[(i + j) % 4];
            n += permuted(dtype, WG_SHAPE(r, c), WG_AXES(1, 0), takes ? "transposes" : "reference");
            n += permuted(dtype, WG_SHAPE(3, r, c), WG_AXES(0, 2, 1),
                          takes ? "transposes" : "reference");
        }
    check_that(n > 7900000, "%lld", (long long)n);
}

static bool moves_to_the_next_order(wg_axes *order)
{
    int k = order->count - 2, l = order->count - 1;
    while (k >= 0 && order->axis[k] > order->axis[k + 1])
        k--;
    if (k < 0)
        return false;
    while (order->axis[l] < order->axis[k])
        l--;
    int axis = order->axis[k];
    order->axis[k] = order->axis[l];
    order->axis[l] = axis;
    for (k++, l = order->count - 1; k < l; k++, l--) {
        axis = order->axis[k];
        order->axis[k] = order->axis[l];
        order->axis[l] = axis;
    }
    return true;
}

/* simd takes all that move the last axis: no matrix here has fewer than 64 numbers. */
static void every_order_of_axes(void **state)
{
    (void)state;
    static const wg_shape shapes[] = {
        {3, {9, 17, 33}},    {3, {8, 16, 100}},    {3, {70, 15, 10}},
        {4, {9, 8, 17, 15}}, {4, {16, 33, 7, 10}}, {5, {8, 9, 10, 8, 9}},
    };
    int64_t n = 0, taken = 0;
    for (int i = 0; i < WG_COUNT(shapes); i++) {
        wg_axes order = {.count = shapes[i].rank, .axis = {0, 1, 2, 3, 4}};
        while (moves_to_the_next_order(&order)) {
            bool moves = order.axis[order.count - 1] != order.count - 1;
            for (wg_dtype d = WG_F32; d <= WG_F64; d++, taken += moves)
                n += permuted(d, shapes[i], order, moves ? "transposes" : "reference");
        }
    }
    check_that(n > 5000000 && taken > 200, "%lld, %lld", (long long)n, (long long)taken);
}

static void small_and_other_elements_are_left(void **state)
{
    (void)state;
    permuted(WG_F32, WG_SHAPE(100, 7, 9), WG_AXES(0, 2, 1), "reference");
    permuted(WG_BF16, WG_SHAPE(100, 17, 19), WG_AXES(0, 2, 1), "reference");
    permuted(WG_BOOL, WG_SHAPE(100, 17, 19), WG_AXES(0, 2, 1), "reference");
}

/* ---- comparisons and choices ----------------------------------------------------------------- */

typedef wg_value *comparison(const char *at, wg_value *a, wg_value *b);
static comparison *const comparisons[] = {(wg_equal),      (wg_not_equal), (wg_less),
                                          (wg_less_equal), (wg_greater),   (wg_greater_equal)};

/* Axes of the first size, unless bit i of `ones` is set; the last has `size`. */
static wg_shape shape_of(int ones, int64_t size)
{
    return WG_SHAPE(ones & 1 ? 1 : 3, ones & 2 ? 1 : 5, ones & 4 ? 1 : size);
}

/* Of the ways to broadcast, every one or every fifth. */
enum { SOME = SANITIZED ? 5 : 1 };

static void comparisons_are_the_same(void **state)
{
    (void)state;
    static const int64_t sizes[] = {64, 65, 100, 127, 4097};
    int64_t n = 0;
    for (int f = 0; f < WG_COUNT(comparisons); f++)
        for (int ones = 0; ones < 64; ones += SOME)
            for (int s = 0; s < WG_COUNT(sizes); s++) {
                if ((ones >> 3 & ones) != 0)
                    continue; /* the result has all axes */
                wg_dtype dtype = (f + ones + s) % 2 ? WG_F32 : WG_F64;
                wg_graph *g = wg_graph_new();
                wg_value *a = wg_input(g, "a", dtype, shape_of(ones & 7, sizes[s])),
                         *b = wg_input(g, "b", dtype, shape_of(ones >> 3, sizes[s]));
                n += compared(g, comparisons[f](WG_HERE, a, b), "comparison");
            }
    for (int64_t count = 1; count < 200; count++) { /* one row */
        wg_dtype dtype = count % 2 ? WG_F32 : WG_F64;
        wg_graph *g = wg_graph_new();
        wg_value *a = wg_input(g, "a", dtype, WG_SHAPE(count));
        n += compared(g, wg_less(a, wg_input(g, "b", dtype, WG_SHAPE(count))), "comparison");
    }
    check_that(n > 5000000 / SOME, "%lld", (long long)n);
}

static void choices_are_the_same(void **state)
{
    (void)state;
    static const int64_t sizes[] = {64, 65, 127, 4097};
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_I32, WG_I64};
    int64_t n = 0;
    for (int ones = 0; ones < 512; ones += SOME)
        for (int s = 0; s < WG_COUNT(sizes); s++) {
            int c = ones & 7, a = ones >> 3 & 7, b = ones >> 6;
            if ((c & a & b) != 0)
                continue;
            wg_dtype dtype = dtypes[(ones + s) % 4];
            wg_graph *g = wg_graph_new();
            wg_value *w = wg_input(g, "w", WG_BOOL, shape_of(c, sizes[s]));
            wg_value *x = wg_input(g, "a", dtype, shape_of(a, sizes[s]));
            n += compared(g, wg_where(w, x, wg_input(g, "b", dtype, shape_of(b, sizes[s]))),
                          "where");
        }
    for (int64_t count = 1; count < 200; count++) {
        wg_graph *g = wg_graph_new();
        wg_dtype dtype = dtypes[count % 4];
        wg_value *w = wg_input(g, "w", WG_BOOL, WG_SHAPE(count)),
                 *x = wg_input(g, "a", dtype, WG_SHAPE(count));
        n += compared(g, wg_where(w, x, wg_input(g, "b", dtype, WG_SHAPE(count))), "where");
    }
    check_that(n > 10000000 / SOME, "%lld", (long long)n);
}

static void short_rows_are_left(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_input(g, "a", WG_F32, WG_SHAPE(50, 10));
    compared(g, wg_less(a, wg_input(g, "b", WG_F32, WG_SHAPE(50, 1))), "reference");
    for (int one = 0; one < 2; one++) {
        g = wg_graph_new();
        wg_value *w = wg_input(g, "w", WG_BOOL, WG_SHAPE(50, one ? 1 : 10));
        a = wg_input(g, "a", WG_F32, WG_SHAPE(50, 1));
        compared(g, wg_where(w, a, wg_input(g, "b", WG_F32, WG_SHAPE(50, 10))),
                 one ? "where" : "reference");
    }
}

/* ---- casts ----------------------------------------------------------------------------------- */

static void casts_are_the_same(void **state)
{
    (void)state;
    static const wg_dtype casts[][2] = {
        {WG_BOOL, WG_F32}, {WG_BOOL, WG_F64}, {WG_BOOL, WG_I32}, {WG_BOOL, WG_I64},
        {WG_U8, WG_F32},   {WG_U8, WG_F64},   {WG_U8, WG_I32},   {WG_U8, WG_I64},
        {WG_I32, WG_F32},  {WG_I32, WG_F64},  {WG_I64, WG_F32},  {WG_I64, WG_F64},
        {WG_F32, WG_F64},  {WG_F64, WG_F32},  {WG_F32, WG_I32},  {WG_F64, WG_I32},
        {WG_F32, WG_I64},  {WG_F64, WG_I64},  {WG_F32, WG_BOOL}, {WG_F64, WG_BOOL},
        {WG_I32, WG_BOOL}, {WG_I64, WG_BOOL}, {WG_I32, WG_I64},  {WG_I64, WG_I32},
    };
    static const int64_t counts[] = {1, 2, 3, 7, 15, 16, 17, 31, 63, 65, 1000, 4097, 40001};
    int64_t n = 0;
    for (int i = 0; i < WG_COUNT(casts); i++)
        for (int k = 0; k < WG_COUNT(counts); k++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_input(g, "x", casts[i][0], WG_SHAPE(counts[k]));
            n += compared(g, wg_cast(x, casts[i][1]), "conversion");
        }
    check_that(n > 1000000, "%lld", (long long)n);
}

/* An i64 is rounded twice, to f64 and then to f32, as by the reference; floats of any bits
 * become the integers that they become there. */
static void extreme_integers_are_the_same(void **state)
{
    (void)state;
    enum { COUNT = 1 << 16 };
    static const wg_dtype casts[][2] = {
        {WG_I64, WG_F32}, {WG_I64, WG_F64}, {WG_I64, WG_I32}, {WG_F32, WG_I32},
        {WG_F32, WG_I64}, {WG_F64, WG_I32}, {WG_F64, WG_I64},
    };
    const wg_backend *const simd[] = {wg_simd_backend()};
    for (int i = 0; i < WG_COUNT(casts); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", casts[i][0], WG_SHAPE(COUNT)), *y = wg_cast(x, casts[i][1]);
        wg_output(y, "y");
        wg_plan *p[2];
        for (int k = 0; k < 2; k++) {
            p[k] = plan_of(
                g, &(wg_plan_options){.reference = k == 0, .backends = simd, .n_backends = k > 0});
            uint64_t seed = 1, *bits = wg_plan_data(p[k], x);
            for (size_t j = 0; j < wg_value_bytes(x) / sizeof *bits; j++) {
                seed = seed * 6364136223846793005u + 1442695040888963407u;
                bits[j] = (seed ^ seed >> 31) >> (casts[i][0] == WG_I64 ? j % 40 : 0);
            }
            run(p[k], 0);
        }
        numbers_same_bits("cast of any bits", p[0], y, p[1], y);
        for (int k = 0; k < 2; k++)
            wg_plan_free(p[k]);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices_are_transposed),
        cmocka_unit_test(every_order_of_axes),
        cmocka_unit_test(small_and_other_elements_are_left),
        cmocka_unit_test(comparisons_are_the_same),
        cmocka_unit_test(choices_are_the_same),
        cmocka_unit_test(short_rows_are_left),
        cmocka_unit_test(casts_are_the_same),
        cmocka_unit_test(extreme_integers_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
