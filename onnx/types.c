#include "onnx/tensor.h"

#include <stdio.h>

static const ox_type types[] = {
    {1, "float", WG_F32, WG_F32, 0, true, 4, OX_FLOATS},
    {2, "uint8", WG_U8, WG_I32, 8, false, 1, OX_INTS},
    {3, "int8", WG_I8, WG_I32, 8, true, 1, OX_INTS},
    {4, "uint16", WG_I32, WG_I32, 16, false, 2, OX_INTS},
    {5, "int16", WG_I32, WG_I32, 16, true, 2, OX_INTS},
    {6, "int32", WG_I32, WG_I32, 0, true, 4, OX_INTS},
    {7, "int64", WG_I64, WG_I64, 0, true, 8, OX_LONGS},
    {9, "bool", WG_BOOL, WG_BOOL, 0, false, 1, OX_INTS},
    {10, "float16", WG_F16, WG_F16, 0, true, 2, OX_INTS},
    {11, "double", WG_F64, WG_F64, 0, true, 8, OX_DOUBLES},
    {12, "uint32", WG_I64, WG_I64, 32, false, 4, OX_ULONGS},
    {13, "uint64", WG_I64, WG_I64, 0, false, 8, OX_ULONGS},
    {16, "bfloat16", WG_BF16, WG_BF16, 0, true, 2, OX_INTS},
};

const ox_type *wgi_ox_type(int64_t number)
{
    for (int i = 0; i < WG_COUNT(types); i++)
        if (types[i].number == number)
            return &types[i];
    return NULL;
}

const ox_type *wgi_ox_type_of(wg_dtype dtype)
{
    for (int i = 0; i < WG_COUNT(types); i++)
        if (types[i].held == dtype && (types[i].computed == dtype || types[i].bits == 8) &&
            types[i].bits <= 8 && types[i].number != 13)
            return &types[i];
    return NULL;
}

const char *wgi_ox_type_text(int64_t number, char text[32])
{
    static const struct {
        int number;
        const char *name;
    } others[] = {{0, "undefined"}, {8, "string"}, {14, "complex64"}, {15, "complex128"}};
    const char *name = "unknown";
    for (int i = 0; i < WG_COUNT(others); i++)
        if (others[i].number == number)
            name = others[i].name;
    const ox_type *known = wgi_ox_type(number);
    snprintf(text, 32, "%s (%lld)", known ? known->name : name, (long long)number);
    return text;
}

wg_status wgi_ox_type_status(int64_t number)
{
    enum { LAST = 26 }; /* of TensorProto.DataType */
    return number >= 1 && number <= LAST ? WG_EUNSUPPORTED : WG_EDATA;
}
