/* Casts of the simd backend for each instruction set that this CPU has: the conversions of
 * wengert/graph/half.h, bit for bit. */
#include "tests/half.h"
#include "tests/simd.h"

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
        t->cast(&(simd_cast){.x = x,
                             .y = y,
                             .count = count,
                             .how = f->dtype == WG_F16 ? SIMD_F16_FROM_F32 : SIMD_BF16_FROM_F32,
                             .threads = 2});
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
    t->cast(&(simd_cast){.x = x,
                         .y = y,
                         .count = COUNT,
                         .how = f->dtype == WG_F16 ? SIMD_F16_TO_F32 : SIMD_BF16_TO_F32,
                         .threads = 2});
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
                .x = bits + (count - n), .y = y, .count = n, .how = SIMD_F16_FROM_F32});
            for (int64_t i = 0; i < n; i++) {
                float x;
                memcpy(&x, &bits[count - n + i], sizeof x);
                check_that(y[i] == wg_f16_from_f32(x), "%s: %08x becomes %04x", s.table[t]->isa,
                           bits[count - n + i], y[i]);
            }
            free_guarded(y, n, sizeof *y);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_set_rounds_and_widens_the_same),
        cmocka_unit_test(nan_is_the_same_in_every_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
