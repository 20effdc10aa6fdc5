#include "wengert/models/positions.h"
#include "models/internal.h"

#include <math.h>
#include <stdlib.h>

bool wg_positions_are_sinusoids(wg_positions kind)
{
    return kind != WG_POSITIONS_LEARNED && kind != WG_POSITIONS_ROTARY;
}

double wg_sinusoid(wg_positions kind, int64_t position, int64_t i, int64_t d)
{
    bool halves = kind != WG_POSITIONS_INTERLEAVED;
    int64_t pairs = d / 2, pair = halves ? i % pairs : i / 2;
    bool cosine = halves ? i >= pairs : i % 2 == 1;
    double exponent = kind == WG_POSITIONS_HALVES ? (double)pair / fmax(1, (double)(pairs - 1))
                                                  : 2 * (double)pair / (double)d;
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
    void *table = malloc(wg_shape_bytes(&shape, dtype) + 1);
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

/* ---- biases of attention --------------------------------------------------------------------- */

enum { MAX_HEADS = 1 << 16, MAX_DISTANCE = 1 << 30 };

static bool has_valid_sizes(const char *at, wg_graph *g, const char *who, wg_dtype dtype,
                            int64_t heads, int64_t T, int64_t S)
{
    bool ok = wg_dtype_is_float(dtype) && heads > 0 && heads <= MAX_HEADS && T >= 0 &&
              T <= MAX_DISTANCE && S >= 0 && S <= MAX_DISTANCE;
    if (!ok)
        wg_graph_fail(g, WG_EINVAL, at, who, "%lld heads, %lld queries and %lld keys of %s",
                      (long long)heads, (long long)T, (long long)S, wg_dtype_name(dtype));
    return ok && wg_graph_status(g) == WG_OK;
}

/* s - t for T queries and S keys: [T, S] */
static wg_value *distances(wg_graph *g, wg_dtype dtype, int64_t T, int64_t S)
{
    wg_value *s = wg_iota(g, dtype, WG_SHAPE(1, S), 1, 0, 1);
    return wg_sub(s, wg_iota(g, dtype, WG_SHAPE(T, 1), 0, 0, 1));
}

static double alibi_slope(int64_t head, int64_t heads)
{
    int64_t power = 1;
    while (2 * power <= heads)
        power *= 2;
    if (head < power)
        return exp2(-8 * (double)(head + 1) / (double)power);
    return exp2(-4 * (double)(2 * (head - power) + 1) / (double)power);
}

wg_value *(wg_alibi)(const char *at, wg_graph *g, wg_dtype dtype, int64_t heads, int64_t T,
                     int64_t S)
{
    if (!has_valid_sizes(at, g, "wg_alibi", dtype, heads, T, S))
        return NULL;
    double *slope = wg_graph_alloc(g, (size_t)heads * sizeof *slope);
    for (int64_t h = 0; slope && h < heads; h++)
        slope[h] = -alibi_slope(h, heads);
    if (!slope)
        return NULL;
    wg_origin before = wgi_layer_enter(at, g, "alibi");
    wg_value *m = wg_cast(wg_constant(g, WG_F64, WG_SHAPE(1, heads, 1, 1), slope), dtype);
    wg_value *bias = wg_mul(m, wg_cast(wg_abs(distances(g, WG_F64, T, S)), dtype));
    return wgi_layer_leave(g, before, bias);
}

wg_value *(wg_relative_bias)(const char *at, const char *name, wg_graph *g, wg_dtype dtype,
                             int64_t heads, int64_t T, int64_t S, int64_t radius)
{
    static const char who[] = "wg_relative_bias";
    if (!has_valid_sizes(at, g, who, dtype, heads, T, S))
        return NULL;
    if (radius < 0 || radius > MAX_DISTANCE)
        return wg_graph_fail(g, WG_EINVAL, at, who, "radius is %lld, must be in [0, 2^30]",
                             (long long)radius);
    wg_origin before = wgi_layer_enter(at, g, name);
    wg_value *table =
        wgi_layer_parameter(g, "weight", dtype, WG_SHAPE(heads, 2 * radius + 1), wg_zeros());
    wg_value *distance = wg_shift(distances(g, WG_I64, T, S), (double)radius);
    distance = wg_maximum(distance, wg_scalar_like(distance, 0));
    distance = wg_minimum(distance, wg_scalar_like(distance, 2 * (double)radius));
    wg_value *bias = wg_reshape(wg_take(table, distance, 1), WG_SHAPE(1, heads, T, S));
    return wgi_layer_leave(g, before, bias);
}
