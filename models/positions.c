#include "wengert/models/positions.h"
#include "models/internal.h"

#include <math.h>
#include <stdlib.h>

double wg_sinusoid(wg_positions kind, int64_t position, int64_t i, int64_t d)
{
    bool halves = kind == WG_POSITIONS_HALVES;
    int64_t pairs = d / 2, pair = halves ? i % pairs : i / 2;
    bool cosine = halves ? i >= pairs : i % 2 == 1;
    double exponent =
        halves ? (double)pair / fmax(1, (double)(pairs - 1)) : 2 * (double)pair / (double)d;
    double angle = (double)position / pow(10000, exponent);
    return cosine ? cos(angle) : sin(angle);
}

wg_value *(wg_sinusoids)(const char *at, wg_graph *g, wg_positions kind, wg_dtype dtype,
                         int64_t rows, int64_t d, int64_t first)
{
    static const char who[] = "wg_sinusoids";
    const wg_shape shape = WG_SHAPE(rows, d);
    if (wg_graph_status(g) != WG_OK)
        return NULL;
    if ((dtype != WG_F32 && dtype != WG_F64) || !wg_shape_valid(&shape, dtype) || d % 2 != 0)
        return wg_graph_fail(
            g, WG_EINVAL, at, who,
            "%lld rows of %lld numbers of %s; must be an even number of f32 or f64",
            (long long)rows, (long long)d, wg_dtype_name(dtype));
    void *table = malloc((size_t)wg_shape_count(&shape) * wg_dtype_size(dtype) + 1);
    if (!table)
        return wg_graph_fail(g, WG_ENOMEM, at, who, "no memory for %lld positions",
                             (long long)rows);
    for (int64_t at_row = 0; at_row < rows; at_row++)
        for (int64_t i = 0; i < d; i++) {
            double x = wg_sinusoid(kind, first + at_row, i, d);
            if (dtype == WG_F32)
                ((float *)table)[at_row * d + i] = (float)x;
            else
                ((double *)table)[at_row * d + i] = x;
        }
    wg_value *y = (wg_constant)(at, g, dtype, shape, table);
    free(table);
    return y;
}

wg_value *(wg_learned_positions)(const char *at, const char *name, wg_graph *g, wg_dtype dtype,
                                 int64_t from, int64_t rows, int64_t d, int64_t first, int64_t max)
{
    if (wg_graph_status(g) != WG_OK)
        return NULL;
    if (from < 0 || rows < 0 || rows > max || from > max - rows)
        return wg_graph_fail(g, WG_EINVAL, at, "wg_learned_positions",
                             "%lld tokens from token %lld on, but there are %lld learned positions",
                             (long long)rows, (long long)from, (long long)max);
    if (first < 0 || max > INT64_MAX - first)
        return wg_graph_fail(g, WG_EINVAL, at, "wg_learned_positions",
                             "the first of %lld positions is %lld", (long long)max,
                             (long long)first);
    wg_origin before = wgi_layer_enter(at, g, name);
    wg_value *table = wgi_layer_parameter(g, "weight", dtype, WG_SHAPE(first + max, d),
                                          wg_normal_init(1 / sqrt(fmax(1, (double)d))));
    first += from;
    return wgi_layer_leave(g, before, wg_slice(table, 0, first, first + rows, 1));
}
