/* Numbers as text: the shortest of a few precisions that reads back as the same bits. */
#include "graph/element.h"
#include "graph/file/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- locale ---------------------------------------------------------------------------------- */

bool wgi_locale_enter(wgi_locale *l)
{
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    *l = (wgi_locale){c, c ? uselocale(c) : c};
    return c;
}

void wgi_locale_restore(const wgi_locale *l)
{
    if (!l->c)
        return;
    uselocale(l->before);
    freelocale(l->c);
}

/* ---- reading --------------------------------------------------------------------------------- */

static bool read_float(const char *text, wg_dtype dtype, void *element)
{
    char *end;
    float narrow = dtype == WG_F32 ? strtof(text, &end) : 0;
    double wide = dtype == WG_F32 ? (double)narrow : strtod(text, &end);
    uint64_t rounded = 0; /* to the dtype, once: a float by strtof */
    if (dtype == WG_F32)
        memcpy(&rounded, &narrow, sizeof narrow);
    else
        wgi_put_element(&rounded, dtype, 0, wide);
    bool named = strpbrk(text, "iInN"); /* inf, nan */
    bool overflow = isinf(wgi_get_element(&rounded, dtype, 0)) && !named;
    if (end == text || *end || overflow)
        return false;
    memcpy(element, &rounded, wg_dtype_size(dtype));
    return true;
}

/* The limits of a dtype of whole numbers. */
static void limits(wg_dtype dtype, int64_t *min, int64_t *max)
{
    switch (dtype) {
    case WG_I64: *min = INT64_MIN, *max = INT64_MAX; break;
    case WG_I32: *min = INT32_MIN, *max = INT32_MAX; break;
    case WG_I8: *min = INT8_MIN, *max = INT8_MAX; break;
    case WG_U8: *min = 0, *max = UINT8_MAX; break;
    default: *min = 0, *max = 1; break; /* WG_BOOL */
    }
}

static bool read_whole(const char *text, wg_dtype dtype, void *element)
{
    char *end;
    int64_t min, max;
    limits(dtype, &min, &max);
    errno = 0;
    int64_t x = strtoll(text, &end, 10);
    if (end == text || *end || errno || x < min || x > max)
        return false;
    union {
        int64_t i64;
        int32_t i32;
        int8_t i8;
        uint8_t u8;
    } whole = {.i64 = x};
    if (dtype == WG_I32)
        whole.i32 = (int32_t)x;
    else if (dtype == WG_I8)
        whole.i8 = (int8_t)x;
    else if (dtype != WG_I64)
        whole.u8 = (uint8_t)x;
    memcpy(element, &whole, wg_dtype_size(dtype));
    return true;
}

bool wgi_number_read(const char *text, wg_dtype dtype, void *element)
{
    return wg_dtype_is_float(dtype) ? read_float(text, dtype, element)
                                    : read_whole(text, dtype, element);
}

/* ---- writing --------------------------------------------------------------------------------- */

static bool reads_back(const char *text, wg_dtype dtype, const void *element)
{
    uint64_t again;
    return wgi_number_read(text, dtype, &again) &&
           memcmp(&again, element, wg_dtype_size(dtype)) == 0;
}

bool wgi_number_has_text(wg_dtype dtype, const void *element)
{
    char text[WGI_NUMBER_TEXT];
    uint64_t aligned = 0;
    memcpy(&aligned, element, wg_dtype_size(dtype));
    double x = wgi_get_element(&aligned, dtype, 0);
    bool plain = dtype == WG_BOOL ? *(const unsigned char *)element < 2 : x == x;
    return plain || (dtype != WG_BOOL && wgi_number_write(text, dtype, element));
}

bool wgi_number_write(char text[WGI_NUMBER_TEXT], wg_dtype dtype, const void *element)
{
    static const int precisions[] = {3, 6, 7, 8, 9, 15, 16, 17};
    uint64_t aligned = 0;
    size_t size = wg_dtype_size(dtype);
    memcpy(&aligned, element, size);
    if (!wg_dtype_is_float(dtype)) {
        int64_t whole = dtype == WG_I64 || dtype == WG_I32
                            ? wgi_get_int(&aligned, dtype, 0)
                            : (int64_t)wgi_get_element(&aligned, dtype, 0);
        snprintf(text, WGI_NUMBER_TEXT, "%lld", (long long)whole);
        return reads_back(text, dtype, element);
    }
    double x = wgi_get_element(&aligned, dtype, 0);
    for (int i = 0; i < WG_COUNT(precisions); i++) {
        snprintf(text, WGI_NUMBER_TEXT, "%.*g", precisions[i], x);
        if (reads_back(text, dtype, element))
            return true;
    }
    return false;
}
