/* Sums of columns that were added up block by block: the end of every sum over rows.  The blocks do
 * not depend on the number of threads, so nor do the bits. */
#ifndef WG_BACKENDS_SIMD_KERNELS_COLUMN_SUM_H
#define WG_BACKENDS_SIMD_KERNELS_COLUMN_SUM_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"

enum { SIMD_COLUMNS = 64 }; /* joined at a time */

/* sum[i] = sum over b of part[b stride + i], i < columns <= SIMD_COLUMNS; in double, since parts
 * may be large and cancel */
static inline void simd_join(const real *part, int64_t blocks, int64_t stride, int64_t columns,
                             real *sum)
{
    double total[SIMD_COLUMNS] = {0};
    for (int64_t b = 0; b < blocks; b++)
#pragma omp simd
        for (int64_t i = 0; i < columns; i++)
            total[i] += (double)part[b * stride + i];
    for (int64_t i = 0; i < columns; i++)
        sum[i] = (real)total[i];
}

#endif
