/* The sum of the rows of a matrix, which is the gradient of a bias. */
#include "backends/simd/kernels/column_sum.h"
#include "backends/simd/kernels/team.h"

/* sum = the sum of `rows` rows of x, eight at a time */
static void sum_rows(const real *restrict x, int64_t rows, int64_t stride, int64_t width,
                     real *restrict sum)
{
    int64_t r = 0;
    memset(sum, 0, (size_t)width * sizeof *sum);
    for (; r + 8 <= rows; r += 8) {
        const real *p = x + r * stride, *q = p + 4 * stride;
#pragma omp simd
        for (int64_t i = 0; i < width; i++)
            sum[i] += ((p[i] + p[i + stride]) + (p[i + 2 * stride] + p[i + 3 * stride])) +
                      ((q[i] + q[i + stride]) + (q[i + 2 * stride] + q[i + 3 * stride]));
    }
    for (; r < rows; r++)
        for (int64_t i = 0; i < width; i++)
            sum[i] += x[r * stride + i];
}

static void sum_share(const void *args, simd_member m)
{
    enum { TILE = 1024 }; /* columns of a task */
    const simd_columns *a = args;
    const real *x = a->x;
    real *y = a->y, *scratch = a->scratch;
    int64_t blocks = simd_column_blocks(a->rows), tiles = (a->width + TILE - 1) / TILE;
    int64_t tasks = blocks * tiles, joins = (a->width + SIMD_COLUMNS - 1) / SIMD_COLUMNS;
    for (int64_t task = simd_first(m, tasks); task < simd_end(m, tasks); task++) {
        int64_t row = task / tiles * SIMD_COLUMN_ROWS, column = task % tiles * TILE;
        int64_t rows = a->rows - row < SIMD_COLUMN_ROWS ? a->rows - row : SIMD_COLUMN_ROWS;
        int64_t width = a->width - column < TILE ? a->width - column : TILE;
        sum_rows(x + row * a->width + column, rows, a->width, width,
                 scratch + task / tiles * a->width + column);
    }
    simd_meet(m);
    for (int64_t join = simd_first(m, joins); join < simd_end(m, joins); join++) {
        int64_t i = join * SIMD_COLUMNS;
        simd_join(scratch + i, blocks, a->width,
                  a->width - i < SIMD_COLUMNS ? a->width - i : SIMD_COLUMNS, y + i);
    }
}

void SIMD(column_sum)(const simd_columns *a)
{
    simd_team(a->rows * a->width < 1 << 14 ? 1 : a->threads, sum_share, a);
}
