/* Casts between floats, integers and bool. */

#include "backends/simd/internal.h"

static const struct {
    wg_dtype from, to;
    simd_conversion how;
} conversions[] = {
    {WG_BF16, WG_F32, SIMD_BF16_TO_F32}, {WG_F32, WG_BF16, SIMD_BF16_FROM_F32},
    {WG_F16, WG_F32, SIMD_F16_TO_F32},   {WG_F32, WG_F16, SIMD_F16_FROM_F32},
    {WG_BOOL, WG_F32, SIMD_BYTE_TO_F32}, {WG_BOOL, WG_F64, SIMD_BYTE_TO_F64},
    {WG_BOOL, WG_I32, SIMD_BYTE_TO_I32}, {WG_BOOL, WG_I64, SIMD_BYTE_TO_I64},
    {WG_U8, WG_F32, SIMD_BYTE_TO_F32},   {WG_U8, WG_F64, SIMD_BYTE_TO_F64},
    {WG_U8, WG_I32, SIMD_BYTE_TO_I32},   {WG_U8, WG_I64, SIMD_BYTE_TO_I64},
    {WG_I32, WG_F32, SIMD_I32_TO_F32},   {WG_I32, WG_F64, SIMD_I32_TO_F64},
    {WG_I64, WG_F32, SIMD_I64_TO_F32},   {WG_I64, WG_F64, SIMD_I64_TO_F64},
    {WG_F32, WG_F64, SIMD_F32_TO_F64},   {WG_F64, WG_F32, SIMD_F64_TO_F32},
    {WG_F32, WG_I32, SIMD_F32_TO_I32},   {WG_F64, WG_I32, SIMD_F64_TO_I32},
    {WG_F32, WG_I64, SIMD_F32_TO_I64},   {WG_F64, WG_I64, SIMD_F64_TO_I64},
    {WG_F32, WG_BOOL, SIMD_F32_TO_BOOL}, {WG_F64, WG_BOOL, SIMD_F64_TO_BOOL},
    {WG_I32, WG_BOOL, SIMD_I32_TO_BOOL}, {WG_I64, WG_BOOL, SIMD_I64_TO_BOOL},
    {WG_I32, WG_I64, SIMD_I32_TO_I64},   {WG_I64, WG_I32, SIMD_I64_TO_I32},
};

/* The index of the conversion; WG_COUNT(conversions): there is none. */
static int conversion_of(const wg_node *n)
{
    int i = 0;
    while (i < WG_COUNT(conversions) &&
           (conversions[i].from != n->in[0]->dtype || conversions[i].to != n->out[0]->dtype))
        i++;
    return i;
}

static const char *refuses(const wg_node *n)
{
    return conversion_of(n) < WG_COUNT(conversions) ? NULL : "no loop for these dtypes";
}

static void run(wg_call *c)
{
    simd_cast a = {.x = c->in[0],
                   .y = c->out[0],
                   .count = wg_value_count(c->node->out[0]),
                   .how = conversions[conversion_of(c->node)].how,
                   .threads = c->threads};
    simd_kernels(c)->cast(&a);
}

const simd_kernel wgi_simd_cast[] = {
    {&wg_op_cast, "conversion", refuses, NULL, run},
    {.op = NULL},
};
