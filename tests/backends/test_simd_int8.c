/* The own kernels of 8-bit integers for each instruction set: bit for bit what is defined. */
#include "tests/simd.h"
#include "tests/plans.h"
#include "backends/simd/kernels/topk.h"
#include "wengert/ops/ops.h"

/* ---- quantize -------------------------------------------------------------------------------- */

/* x = scale q up to half a step, and the own kernels have the very bits of the definition. */
static void kernels_have_the_bits_of_the_definition(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 15, 16, 17, 31, 64, 65, 100, 333, 1000};
    enum { ROWS = 9 };
    setting s = integer_tables();
    int64_t compared = 0;
    for (size_t w = 0; w < WG_COUNT(widths); w++) {
        int64_t width = widths[w], n = ROWS * width;
        wg_graph *g = wg_graph_new();
        wg_value *in = wg_input(g, "x", WG_F32, WG_SHAPE(ROWS, width)),
                 *q = wg_output(wg_quantize(in), "q"),
                 *scale = wg_output(wg_result_of(q, 1), "scale");
        wg_plan *p = plan_of(g, NULL);
        float *x = numbers(&s, n);
        memcpy(wg_plan_data(p, in), x, (size_t)n * sizeof *x);
        run(p, 0);
        const int8_t *right = wg_plan_data(p, q);
        const float *step = wg_plan_data(p, scale);
        for (int64_t i = 0; i < n; i++) {
            double at = (double)step[i / width], error = fabs((double)x[i] - at * right[i]);
            check_that(error <= at * (0.5 + 1e-5), "%g became %g", (double)x[i], at * right[i]);
        }
        for (int t = 0; t < s.n_tables; t++) {
            int8_t *got = malloc((size_t)n + 2);
            float *steps = room(ROWS);
            assert_non_null(got);
            got[n] = 77;
            s.table[t]->quantize(&(simd_quantize){x, got, steps, ROWS, width,
                                                  (float)WG_QUANTIZE_STEPS, (float)WG_QUANTIZE_MIN,
                                                  1 + t % 2});
            assert_memory_equal(got, right, (size_t)n);
            assert_memory_equal(steps, step, ROWS * sizeof *steps);
            assert_int_equal(got[n], 77);
            compared += n;
            free(got);
            free_room(steps, ROWS);
        }
        free(x);
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_true(compared > 10000);
}

/* ---- the product ----------------------------------------------------------------------------- */

static int8_t *bytes(setting *s, int64_t count, int8_t all)
{
    int8_t *x = malloc((size_t)count + 1);
    assert_non_null(x);
    for (int64_t i = 0; i < count; i++) {
        s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = all ? all : (int8_t)(s->seed >> 56);
    }
    return x;
}

/* One product on each instruction set and number of threads: with scales of 1 the sum itself,
 * rounded to float once. */
static int64_t sums_are_exact(setting *s, int64_t rows, int64_t width, int64_t outputs,
                              int8_t all_x, int8_t all_w)
{
    int8_t *x = bytes(s, rows * width, all_x), *w = bytes(s, outputs * width, all_w);
    float *ones = room(rows + outputs);
    int64_t compared = 0;
    for (int64_t i = 0; i < rows + outputs; i++)
        ones[i] = 1;
    for (int t = 0; t < s->n_tables; t++)
        for (int threads = 1; threads <= 3; threads++) {
            size_t size = simd_int8_scratch(rows, width, threads);
            unsigned char *scratch = aligned_alloc(64, (size + 127) / 64 * 64);
            float *y = room(rows * outputs);
            assert_non_null(scratch);
            memset(scratch + size, 0x5a, 64);
            s->table[t]->int8_linear(&(simd_int8){.x = x,
                                                  .weight = w,
                                                  .x_scale = ones,
                                                  .weight_scale = ones + rows,
                                                  .y = y,
                                                  .rows = rows,
                                                  .width = width,
                                                  .outputs = outputs,
                                                  .threads = threads,
                                                  .scratch = scratch});
            for (int i = 0; i < 64; i++)
                assert_int_equal(scratch[size + (size_t)i], 0x5a);
            for (int64_t r = 0; r < rows; r++)
                for (int64_t n = 0; n < outputs; n++, compared++) {
                    int64_t sum = 0;
                    for (int64_t k = 0; k < width; k++)
                        sum += (int64_t)x[r * width + k] * w[n * width + k];
                    check_that(y[r * outputs + n] == (float)sum,
                               "%s, %lld x %lld x %lld, %d threads: [%lld, %lld] is %g, not %lld",
                               s->table[t]->isa, (long long)rows, (long long)width,
                               (long long)outputs, threads, (long long)r, (long long)n,
                               (double)y[r * outputs + n], (long long)sum);
                }
            free(scratch);
            free_room(y, rows * outputs);
        }
    free(x), free(w);
    free_room(ones, rows + outputs);
    return compared;
}

static void products_are_exact(void **state)
{
    (void)state;
    static const int64_t sizes[] = {1, 2, 3, 5, 6, 7, 13, 31, 64, 65, 130};
    enum { SIZES = WG_COUNT(sizes) };
    setting s = integer_tables();
    int64_t compared = 0;
    for (int i = 0; i < SIZES; i++)
        for (int k = 0; k < SIZES; k++)
            compared += sums_are_exact(&s, sizes[i], sizes[k], sizes[(i + 2 * k) % SIZES], 0, 0);
    static const int8_t extreme[][2] = {{-128, -128}, {-128, 127}, {127, 127}, {127, -128}};
    for (int i = 0; i < 4; i++) /* the most inputs that there may be */
        compared += sums_are_exact(&s, 2, 1 << 16, 3, extreme[i][0], extreme[i][1]);
    print_message("%lld sums\n", (long long)compared);
    assert_true(compared > 100000);
}

/* ---- the most probable outputs --------------------------------------------------------------- */

/* The best of the product's blocks have the bits of the best of the whole product, by any number of
 * threads. */
static void the_best_are_those_of_the_product(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {1, 1, 1, 1},    {5, 7, 60, 9},     {16, 128, 1030, 5},
        {17, 33, 70, 3}, {70, 20, 333, 64}, {40, 66, 2100, 7}}; /* rows, width, outputs, k */
    setting s = integer_tables();
    int64_t compared = 0;
    for (size_t n = 0; n < WG_COUNT(shapes); n++) {
        int64_t rows = shapes[n][0], width = shapes[n][1], outputs = shapes[n][2], k = shapes[n][3];
        int8_t *x = bytes(&s, rows * width, 0), *w = bytes(&s, outputs * width, 0);
        float *x_scale = numbers(&s, rows), *w_scale = numbers(&s, outputs),
              *bias = numbers(&s, outputs), *y = room(rows * outputs);
        for (int64_t i = 0; i < rows; i++)
            x_scale[i] = fabsf(x_scale[i]) / 100;
        for (int64_t i = 0; i < outputs; i++)
            w_scale[i] = fabsf(w_scale[i]) / 100;
        for (int t = 0; t < 2 * s.n_tables; t++) {
            const simd_table *table = s.table[t / 2];
            const float *b = t % 2 ? bias : NULL;
            void *scratch = aligned_alloc(64, (simd_int8_scratch(rows, width, 1) + 63) / 64 * 64);
            table->int8_linear(&(simd_int8){x, w, x_scale, w_scale, b, y, rows, width, outputs,
                                            false, 1, scratch});
            free(scratch);
            float *value = room(rows * k);
            int64_t *id = malloc((size_t)(rows * k) * sizeof *id);
            scratch = malloc(simd_topk_scratch(rows, outputs, k, 1));
            table->topk(&(simd_topk){y, value, id, rows, outputs, k, 1, scratch});
            free(scratch);
            for (int threads = 1; threads <= 4; threads++, compared += rows * k) {
                size_t size = simd_int8_topk_panels(rows, width, threads);
                unsigned char *panels = aligned_alloc(64, (size + 127) / 64 * 64);
                float *got = room(rows * k);
                int64_t *ids = malloc((size_t)(rows * k) * sizeof *ids);
                scratch = malloc(simd_topk_scratch(rows, outputs, k, threads));
                assert_true(panels && ids && scratch);
                memset(panels + size, 0x5a, 64);
                table->int8_topk(&(simd_int8_topk){x, w, x_scale, w_scale, b, got, ids, rows, width,
                                                   outputs, k, threads, panels, scratch});
                for (int i = 0; i < 64; i++)
                    assert_int_equal(panels[size + (size_t)i], 0x5a);
                assert_memory_equal(got, value, (size_t)(rows * k) * sizeof *got);
                assert_memory_equal(ids, id, (size_t)(rows * k) * sizeof *ids);
                free(panels), free(ids), free(scratch);
                free_room(got, rows * k);
            }
            free_room(value, rows * k);
            free(id);
        }
        free_room(y, rows * outputs);
        free(x), free(w), free(x_scale), free(w_scale), free(bias);
    }
    assert_true(compared > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_the_bits_of_the_definition),
        cmocka_unit_test(products_are_exact),
        cmocka_unit_test(the_best_are_those_of_the_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
