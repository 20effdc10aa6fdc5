/* remainder and floor_divide of integers of each instruction set against C's division: numbers of
 * all sizes, the least and the largest, those about 2^51, broadcast operands, results in the place
 * of an operand. */
#include "tests/simd.h"
#include "wengert/ops/ops.h"

static int64_t floor_of(int64_t a, int64_t b)
{
    if (b == -1)
        return (int64_t)(0 - (uint64_t)a);
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t expected(int64_t a, int64_t b, bool remainder)
{
    return remainder ? (int64_t)((uint64_t)a - (uint64_t)b * (uint64_t)floor_of(a, b))
                     : floor_of(a, b);
}

/* Of up to `bits` bits, or next to a power of two; a divisor is not 0. */
static int64_t number(setting *s, int bits, bool divides)
{
    const uint64_t power = UINT64_C(1) << draw(s, bits), high = (uint64_t)draw(s, INT32_MAX) << 33;
    const int64_t any = (int64_t)(high ^ (uint64_t)draw(s, INT32_MAX)) >> (64 - bits);
    int64_t y = draw(s, 3) ? any >> draw(s, bits) : (int64_t)(power + (uint64_t)(draw(s, 5) - 2));
    y = draw(s, 20) ? y : bits == 32 ? INT32_MIN : bits == 64 ? INT64_MIN : -1;
    y = bits <= 32 ? (int32_t)y : y;
    return divides && y == 0 ? 7 : y;
}

static int64_t element(const void *x, bool is_i64, int64_t i)
{
    return is_i64 ? ((const int64_t *)x)[i] : ((const int32_t *)x)[i];
}

/* Of half of the operands, all numbers are small enough for vectors. */
static void *operand(setting *s, bool is_i64, int64_t count, bool divides)
{
    void *x = malloc((size_t)count * 8);
    assert_non_null(x);
    const int bits = is_i64 ? (draw(s, 2) ? 51 : 64) : 32;
    for (int64_t i = 0; i < count; i++)
        if (is_i64)
            ((int64_t *)x)[i] = number(s, bits, divides);
        else
            ((int32_t *)x)[i] = (int32_t)number(s, bits, divides);
    return x;
}

static const wg_shape shapes[][2] = {
    {{1, {1}}, {1, {1}}},         {{1, {5000}}, {1, {5000}}},
    {{1, {1500}}, {0}},           {{0}, {1, {700}}},
    {{2, {300, 3}}, {1, {3}}},    {{2, {40, 1}}, {2, {1, 50}}},
    {{2, {9, 600}}, {2, {9, 1}}}, {{3, {2, 1, 513}}, {2, {4, 1}}},
};

/* Element i of the result's is this one of x. */
static int64_t source_of(const wg_shape *x, const wg_shape *y, int64_t i)
{
    int64_t stride[WG_MAX_RANK], at = 0;
    wgi_broadcast_strides(x, y, stride);
    for (int k = y->rank; k-- > 0; i /= y->dim[k])
        at += i % y->dim[k] * stride[k];
    return at;
}

/* `place`: of the result, that of operand 0 or 1, or -1: its own */
static int64_t check(setting *s, const simd_table *table, const wg_shape shape[2], bool is_i64,
                     bool remainder, int place)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[2], *y;
    void *x[2], *own[2];
    for (int k = 0; k < 2; k++) {
        in[k] = wg_input(g, k ? "b" : "a", is_i64 ? WG_I64 : WG_I32, shape[k]);
        x[k] = operand(s, is_i64, wg_value_count(in[k]), k == 1);
        own[k] = malloc((size_t)wg_value_count(in[k]) * 8);
        assert_non_null(own[k]);
        memcpy(own[k], x[k], (size_t)wg_value_count(in[k]) * (is_i64 ? 8 : 4));
    }
    y = wg_remainder(in[0], in[1]);
    assert_non_null(y);
    const int64_t count = wg_value_count(y);
    const wgi_rows rows = wgi_rows_of(y->node);
    void *to = place < 0 ? malloc((size_t)count * 8) : own[place];
    assert_non_null(to);
    table->divide(&(simd_divide){.a = own[0],
                                 .b = own[1],
                                 .y = to,
                                 .is_i64 = is_i64,
                                 .remainder = remainder,
                                 .rows = &rows,
                                 .threads = 1 + (int)draw(s, 3)});
    for (int64_t i = 0; i < count; i++) {
        const int64_t a = element(x[0], is_i64, source_of(&shape[0], &y->shape, i)),
                      b = element(x[1], is_i64, source_of(&shape[1], &y->shape, i));
        const int64_t e = expected(a, b, remainder), r = element(to, is_i64, i);
        check_that(r == (is_i64 ? e : (int32_t)e), "%s, %lld and %lld: %lld, not %lld", table->isa,
                   (long long)a, (long long)b, (long long)r, (long long)e);
    }
    if (place < 0)
        free(to);
    for (int k = 0; k < 2; k++) {
        free(x[k]);
        free(own[k]);
    }
    wg_graph_free(g);
    return count;
}

static void integers_are_divided_as_by_c(void **state)
{
    (void)state;
    setting s = all_tables();
    int64_t compared = 0;
    for (int t = 0; t < s.n_tables; t++)
        for (int k = 0; k < WG_COUNT(shapes); k++)
            for (int how = 0; how < 4; how++)
                for (int i = 0; i < drawn_cases(10); i++)
                    for (int place = -1;
                         place < (wg_shape_equal(&shapes[k][0], &shapes[k][1]) ? 2 : 0); place++)
                        compared += check(&s, s.table[t], shapes[k], how & 1, how & 2, place);
    assert_true(compared > drawn_cases(500000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_divided_as_by_c),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
