/* The signs of eigenvectors and singular vectors, which only a rule makes unique.  Included by
 * kernels that are compiled for each element type, after `real`. */
#ifndef WG_BACKENDS_SIGNS_H
#define WG_BACKENDS_SIGNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline real signs_size(real x)
{
    return x < 0 ? -x : x;
}

/* Whether column j of v [rows, columns] has the wrong sign: of the components that are at least
 * 0.99 times as large as the largest, the first must be positive.  The largest itself would not do:
 * where two are equal, as in structured matrices, rounding alone would decide. */
static inline bool signs_wrong(const real *v, int64_t rows, int64_t columns, int64_t j)
{
    real largest = 0;
    int64_t i = 0;
    for (int64_t k = 0; k < rows; k++)
        if (signs_size(v[k * columns + j]) > largest)
            largest = signs_size(v[k * columns + j]);
    while (i < rows && !(signs_size(v[i * columns + j]) >= (real)0.99 * largest))
        i++;
    return i < rows && v[i * columns + j] < 0;
}

/* The columns of v [rows, columns] get their signs and, with them, the rows of partner [columns,
 * width], which may be NULL. */
static inline void signs_fix(real *v, int64_t rows, int64_t columns, real *partner, int64_t width)
{
    for (int64_t j = 0; j < columns; j++) {
        if (!signs_wrong(v, rows, columns, j))
            continue;
        for (int64_t i = 0; i < rows; i++)
            v[i * columns + j] = -v[i * columns + j];
        for (int64_t i = 0; partner && i < width; i++)
            partner[j * width + i] = -partner[j * width + i];
    }
}

#endif
