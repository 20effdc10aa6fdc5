/* What float/channel_norm.c, channel_columns.c and group_runs.c have in common: a simd_channel_norm
 * (norm.h) in the kernels' element type, and means with all their digits. */
#ifndef WG_BACKENDS_SIMD_KERNELS_CHANNEL_NORM_H
#define WG_BACKENDS_SIMD_KERNELS_CHANNEL_NORM_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"

#include <tgmath.h>

typedef struct channel_norm {
    const real *x, *dy, *gain, *bias;
    real *y, *dx, *dgain, *dbias, *mean, *spread;
    int64_t examples, channels, size, groups;
    real eps;
    double *scratch;
} channel_norm;

static inline channel_norm channel_norm_of(const simd_channel_norm *a)
{
    return (channel_norm){.x = a->x,
                          .dy = a->dy,
                          .gain = a->gain,
                          .bias = a->bias,
                          .y = a->y,
                          .dx = a->dx,
                          .dgain = a->dgain,
                          .dbias = a->dbias,
                          .mean = a->mean,
                          .spread = a->spread,
                          .examples = a->examples,
                          .channels = a->channels,
                          .size = a->size,
                          .groups = a->groups,
                          .eps = (real)a->eps,
                          .scratch = a->scratch};
}

/* Results are x - c - rest, scaled, with c the rounded mean and `rest` what it lacks, which may be
 * much of a small result.  In f32 the sum of x, in double, has the digits of rest; in f64 it is the
 * mean of x - c. */
enum { SUMS_HAVE_REST = sizeof(real) < sizeof(double) };

/* c + rest; an infinite c has none. */
static inline real whole_mean(real c, double rest)
{
    return isfinite(c) ? (real)((double)c + rest) : c;
}

/* Not negative; NaN stays. */
static inline real variance_of(double squares, double rest)
{
    const double var = squares - rest * rest;
    return (real)(var > 0 || isnan(var) ? var : 0);
}

#endif
