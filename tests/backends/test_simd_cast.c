/* Casts of the simd backend for each instruction set that this CPU has: the conversions of
 * wengert/graph/half.h and of the reference backend, bit for bit. */
#include "tests/half.h"
#include "tests/simd.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/ops.h"

/* A result of `count` elements of `size` bytes between guards. */
static void *guarded(int64_t count, size_t size)
{
    char *block = malloc((size_t)count * size + 2 * GUARD);
    assert_non_null(block);
    memset(block, 0x5a, (size_t)count * size + 2 * GUARD);
    return block + GUARD;
}

static void free_guarded(void *result, int64_t count, size_t size)
{
    char *x = result;
    for (int i = 1; i <= GUARD; i++)
        assert_true(x[-i] == 0x5a && x[(size_t)count * size + (size_t)i - 1] == 0x5a);
    free(x - GUARD);
}

static void check_narrowing(const simd_table *t, const half_format *f)
{
    float *x = malloc(MAX_ROUNDINGS * sizeof *x);
    uint16_t *want = malloc(MAX_ROUNDINGS * sizeof *want);
    assert_true(x && want);
    int count = half_all_roundings(f, x, want);
    uint16_t *y = guarded(count, sizeof *y);
    for (int sign = 0; sign < 2; sign++) {
        t->cast(&(simd_cast){
            .x = x, .y = y, .count = count, .from = WG_F32, .to = f->dtype, .threads = 2});
        for (int i = 0; i < count; i++) {
            check_that(y[i] == (want[i] | (sign ? 0x8000 : 0)), "%s: %a becomes %s %04x", t->isa,
                       (double)x[i], wg_dtype_name(f->dtype), y[i]);
            x[i] = -x[i];
        }
    }
    free_guarded(y, count, sizeof *y);
    free(want);
    free(x);
}

static void check_widening(const simd_table *t, const half_format *f)
{
    enum { COUNT = 0x10000 };
    uint16_t *x = malloc(COUNT * sizeof *x);
    uint32_t *y = guarded(COUNT, sizeof *y);
    assert_non_null(x);
    for (int i = 0; i < COUNT; i++)
        x[i] = (uint16_t)i;
    t->cast(
        &(simd_cast){.x = x, .y = y, .count = COUNT, .from = f->dtype, .to = WG_F32, .threads = 2});
    for (int i = 0; i < COUNT; i++)
        check_that(y[i] == half_widened_bits(f, (uint16_t)i), "%s: %s %04x becomes %08x", t->isa,
                   wg_dtype_name(f->dtype), i, y[i]);
    free_guarded(y, COUNT, sizeof *y);
    free(x);
}

static void every_set_rounds_and_widens_the_same(void **state)
{
    (void)state;
    setting s = all_tables();
    for (int t = 0; t < s.n_tables; t++)
        for (int f = 0; f < HALVES; f++) {
            check_narrowing(s.table[t], &halves[f]);
            check_widening(s.table[t], &halves[f]);
        }
}

/* Every f32 that is NaN or has few bits set, at every place in a vector. */
static void nan_is_the_same_in_every_set(void **state)
{
    (void)state;
    setting s = all_tables();
    uint32_t bits[512];
    int64_t count = 0;
    for (int i = 0; i < 23; i++)
        for (uint32_t sign = 0; sign < 2; sign++)
            for (uint32_t quiet = 0; quiet < 2; quiet++)
                bits[count++] = sign << 31 | 0x7f800000 | quiet << 22 | UINT32_C(1) << i;
    for (int i = 0; i < 32; i++)
        bits[count++] = UINT32_C(1) << i;
    for (int64_t n = 0; n <= count; n++)
        for (int t = 0; t < s.n_tables; t++) {
            uint16_t *y = guarded(n, sizeof *y);
            s.table[t]->cast(&(simd_cast){
                .x = bits + (count - n), .y = y, .count = n, .from = WG_F32, .to = WG_F16});
            for (int64_t i = 0; i < n; i++) {
                float x;
                memcpy(&x, &bits[count - n + i], sizeof x);
                check_that(y[i] == wg_f16_from_f32(x), "%s: %08x becomes %04x", s.table[t]->isa,
                           bits[count - n + i], y[i]);
            }
            free_guarded(y, n, sizeof *y);
        }
}

/* ---- all pairs ------------------------------------------------------------------------------- */

/* What formats end with and round at, and the limits of integers */
static const double edges[] = {
    0,        -0.0,     0.5,        -0.5,       1,          -1,      127,     127.5,
    128,      -128,     -128.5,     -129,       255,        255.5,   256,     65519,
    65520,    -65520,   0x1p24 + 1, 0x1.00fp24, 0x1p-24,    0x1p-25, 0x1p-26, 0x1.0002p-25,
    0x1.01p0, 0x1.03p0, 0x1.002p0,  0x1.006p0,  0x1p31 - 1, 0x1p31,  -0x1p31, -0x1p31 - 1,
    0x1p31,   0x1p63,   -0x1p63,    0x1p53,     0x1p53 + 2, 3.39e38, 3.4e38,  -1e300,
    1e-40,    -1e-310,  INFINITY,   -INFINITY,  NAN,
};

/* An edge, a number that is hardly one (which must be rounded once), or any bits. */
static double drawn_number(setting *s)
{
    double edge = edges[draw(s, WG_COUNT(edges))], x;
    switch (draw(s, 3)) {
    case 0: return edge;
    case 1: return nextafter(edge, draw(s, 2) ? INFINITY : -INFINITY);
    default: break;
    }
    uint64_t bits = (uint64_t)draw(s, INT32_MAX) << 33 ^ (uint64_t)draw(s, INT32_MAX);
    memcpy(&x, &bits, sizeof x);
    return draw(s, 2) ? x : (double)(int64_t)bits / (double)(INT64_C(1) << draw(s, 60));
}

static void draw_operand(setting *s, wg_dtype dtype, void *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        wgi_put_element(x, dtype, i, drawn_number(s));
    if (dtype == WG_I64) /* some that no double is */
        for (int64_t i = 0; i < count; i += 3)
            ((int64_t *)x)[i] += ((int64_t *)x)[i] > 0 ? -(i % 5) : i % 5;
}

/* y by the reference backend; whether numbers differ, of which NaN is one, is a matter of bits. */
static const void *reference(wg_plan **p, wg_graph *g, wg_dtype from, wg_dtype to, int64_t count,
                             const void *x)
{
    wg_value *operand = wg_input(g, "x", from, WG_SHAPE(count)), *y = wg_cast(operand, to);
    *p = plan_of(g, &(wg_plan_options){.outputs = &y, .n_outputs = 1, .reference = true});
    memcpy(wg_plan_data(*p, operand), x, (size_t)count * wg_dtype_size(from));
    run(*p, 0);
    return wg_plan_data(*p, y);
}

static void check_pair(setting *s, wg_dtype from, wg_dtype to, int64_t count)
{
    size_t size = wg_dtype_size(to);
    char *x = malloc((size_t)count * wg_dtype_size(from) + 1);
    assert_non_null(x);
    draw_operand(s, from, x, count);
    wg_graph *g = wg_graph_new();
    wg_plan *p;
    const char *want = reference(&p, g, from, to, count, x);
    for (int t = 0; t < s->n_tables; t++)
        for (int threads = 1; threads <= 2; threads++) {
            char *y = guarded(count, size);
            s->table[t]->cast(&(simd_cast){x, y, count, from, to, threads});
            for (int64_t i = 0; i < count; i++)
                check_that(memcmp(y + (size_t)i * size, want + (size_t)i * size, size) == 0,
                           "%s, %d threads: %s %.17g to %s: %.17g, not %.17g", s->table[t]->isa,
                           threads, wg_dtype_name(from), wgi_get_element(x, from, i),
                           wg_dtype_name(to), wgi_get_element(y, to, i),
                           wgi_get_element(want, to, i));
            free_guarded(y, count, size);
        }
    wg_plan_free(p);
    wg_graph_free(g);
    free(x);
}

static void every_pair_of_dtypes_is_converted_as_by_the_reference(void **state)
{
    (void)state;
    static const int64_t counts[] = {1, 7, 63, 519, 4097, 40003};
    setting s = all_tables();
    for (wg_dtype from = WG_F32; from < WG_DTYPE_COUNT; from++)
        for (wg_dtype to = WG_F32; to < WG_DTYPE_COUNT; to++)
            for (int i = 0; from != to && i < WG_COUNT(counts); i++)
                check_pair(&s, from, to, counts[i]);
}

/* No cast is left to the reference. */
static void every_pair_of_dtypes_has_a_kernel(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    for (wg_dtype from = WG_F32; from < WG_DTYPE_COUNT; from++) {
        wg_value *x = wg_input(g, wg_dtype_name(from), from, WG_SHAPE(5));
        for (wg_dtype to = WG_F32; to < WG_DTYPE_COUNT; to++) {
            wg_value *y = wg_cast(x, to);
            check_that(y, "%s", wg_graph_message(g));
            assert_true(from == to || wg_simd_backend()->refuses(NULL, y->node) == NULL);
        }
    }
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_rounds_and_widens_the_same),
        cmocka_unit_test(nan_is_the_same_in_every_set),
        cmocka_unit_test(every_pair_of_dtypes_is_converted_as_by_the_reference),
        cmocka_unit_test(every_pair_of_dtypes_has_a_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
