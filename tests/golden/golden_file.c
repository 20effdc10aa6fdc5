#include "tests/golden/golden_file.h"

#include <math.h>
#include <string.h>

wg_dtype golden_dtype(const wg_file_tensor *t)
{
    if (strchr(t->dtype_name, 'F') && t->dtype != WG_BOOL)
        return WG_F64;
    return t->dtype == WG_BOOL || t->dtype == WG_I32 ? t->dtype : WG_I64;
}

static double half(uint16_t h)
{
    int exponent = h >> 10 & 31, fraction = h & 1023;
    double x = exponent == 31 ? (fraction ? NAN : INFINITY)
               : exponent     ? ldexp(1024 + fraction, exponent - 25)
                              : ldexp(fraction, -24);
    return h >> 15 ? -x : x;
}

double golden_element(const wg_file_tensor *t, int64_t i)
{
#define READ(type)                                                                                 \
    type v;                                                                                        \
    memcpy(&v, (const char *)t->data + i * (int64_t)sizeof v, sizeof v)
    const char *name = t->dtype_name;
    if (strcmp(name, "F64") == 0) {
        READ(double);
        return v;
    } else if (strcmp(name, "F32") == 0) {
        READ(float);
        return v;
    } else if (strcmp(name, "BF16") == 0) {
        READ(uint16_t);
        uint32_t bits = (uint32_t)v << 16;
        float x;
        memcpy(&x, &bits, 4);
        return x;
    } else if (strcmp(name, "F16") == 0) {
        READ(uint16_t);
        return half(v);
    } else if (strcmp(name, "I64") == 0 || strcmp(name, "U64") == 0) {
        READ(int64_t);
        return (double)v;
    } else if (strcmp(name, "I32") == 0) {
        READ(int32_t);
        return v;
    } else if (strcmp(name, "U32") == 0) {
        READ(uint32_t);
        return v;
    } else if (strcmp(name, "I16") == 0) {
        READ(int16_t);
        return v;
    } else if (strcmp(name, "U16") == 0) {
        READ(uint16_t);
        return v;
    } else if (strcmp(name, "I8") == 0) {
        READ(int8_t);
        return v;
    }
    READ(uint8_t); /* U8, BOOL */
    return v;
#undef READ
}

double golden_number(const void *data, wg_dtype dtype, int64_t i)
{
    switch (dtype) {
    case WG_F64: return ((const double *)data)[i];
    case WG_F32: return ((const float *)data)[i];
    case WG_I64: return (double)((const int64_t *)data)[i];
    case WG_I32: return ((const int32_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

void golden_fill(void *data, wg_dtype dtype, const wg_file_tensor *t)
{
    for (int64_t i = 0; i < wg_shape_count(&t->shape); i++)
        switch (dtype) {
        case WG_F64: ((double *)data)[i] = golden_element(t, i); break;
        case WG_F32: ((float *)data)[i] = (float)golden_element(t, i); break;
        case WG_I64: ((int64_t *)data)[i] = (int64_t)golden_element(t, i); break;
        case WG_I32: ((int32_t *)data)[i] = (int32_t)golden_element(t, i); break;
        default: ((uint8_t *)data)[i] = golden_element(t, i) != 0; break;
        }
}
