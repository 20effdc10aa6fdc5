/* The bits of integers: no derivatives. */
#include "ops/rows.h"

static bool infer_binary(wg_node *n)
{
    return wg_need_int(n, 0) && wgi_infer_binary_number(n);
}

static bool infer_unary(wg_node *n)
{
    return wg_need_int(n, 0) && wgi_infer_unary_number(n);
}

static const wg_sample pair_samples[] = {
    {"same shape", NULL, 2, {WG_INTS(-99, 99, 2, 3, 4), WG_INTS(-99, 99, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_INTS(-99, 99, 3, 2, 1, 4), WG_INTS(-99, 99, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_INTS(-99, 99, 2, 3, 2), WG_INTS(-99, 99, 0, 0)}},
    {"empty", NULL, 2, {WG_INTS(-99, 99, 2, 0, 4), WG_INTS(-99, 99, 1, 4)}},
};
/* counts on both sides of 0 to 63 */
static const wg_sample shift_samples[] = {
    {"same shape", NULL, 2, {WG_INTS(-99, 99, 2, 3, 4), WG_INTS(0, 9, 2, 3, 4)}},
    {"broadcast", NULL, 2, {WG_INTS(-99, 99, 3, 2, 1, 4), WG_INTS(-20, 90, 2, 3, 1)}},
    {"scalar", NULL, 2, {WG_INTS(-99, 99, 0, 0), WG_INTS(-20, 90, 2, 3, 4)}},
};
static const wg_sample single_samples[] = {
    {"matrix", NULL, 1, {WG_INTS(-99, 99, 2, 3, 4)}},
    {"scalar", NULL, 1, {WG_INTS(-99, 99, 0, 0)}},
    {"empty", NULL, 1, {WG_INTS(-99, 99, 1, 0)}},
};

#define BITS(NAME, FORMULA, OPERANDS, INPLACE, INFER, SAMPLES)                                     \
    const wg_op wg_op_bitwise_##NAME = {.name = "bitwise_" #NAME,                                  \
                                        .formula = FORMULA,                                        \
                                        .family = WG_FAMILY_ELEMENTWISE,                           \
                                        .operands = OPERANDS,                                      \
                                        .results = "y",                                            \
                                        .flags = WG_OP_ELEMENTWISE | WG_OP_DISCRETE,               \
                                        .inplace = INPLACE,                                        \
                                        .infer = INFER,                                            \
                                        WG_SAMPLES(SAMPLES)};
BITS(and, "y = a & b", "a b", 3, infer_binary, pair_samples)
BITS(or, "y = a | b", "a b", 3, infer_binary, pair_samples)
BITS(xor, "y = a ^ b", "a b", 3, infer_binary, pair_samples)
BITS(not, "y = ~x", "x", 1, infer_unary, single_samples)
BITS(left_shift, "y = a 2^b, without the bits that do not fit", "a b", 3, infer_binary,
     shift_samples)
BITS(right_shift, "y = floor(a / 2^b)", "a b", 3, infer_binary, shift_samples)

/* The op of integers, or that of bools. */
static const wg_op *op_for(const wg_value *x, const wg_op *bits, const wg_op *logic)
{
    return x && x->dtype == WG_BOOL ? logic : bits;
}

#define BITS_BUILDER(NAME)                                                                         \
    wg_value *(wg_bitwise_##NAME)(const char *at, wg_value *a, wg_value *b)                        \
    {                                                                                              \
        const wg_op *op = op_for(a, &wg_op_bitwise_##NAME, &wg_op_logical_##NAME);                 \
        return wg_apply2(at, op, NULL, a, b);                                                      \
    }
BITS_BUILDER(and)
BITS_BUILDER(or)
BITS_BUILDER(xor)

wg_value *(wg_bitwise_not)(const char *at, wg_value *x)
{
    return wg_apply1(at, op_for(x, &wg_op_bitwise_not, &wg_op_logical_not), NULL, x);
}

wg_value *(wg_bitwise_left_shift)(const char *at, wg_value *a, wg_value *b)
{
    return wg_apply2(at, &wg_op_bitwise_left_shift, NULL, a, b);
}

wg_value *(wg_bitwise_right_shift)(const char *at, wg_value *a, wg_value *b)
{
    return wg_apply2(at, &wg_op_bitwise_right_shift, NULL, a, b);
}
