/* Transposes of many matrices: y[j, i] = x[i, j], where rows of x are x_step apart and those of y
 * y_step.  Elements may be anything of that size: they are only moved.
 *
 * A matrix is cut into tiles that the first cache holds, source and result, and a tile into squares
 * that are transposed in registers. */
#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/real.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/transpose.h"

enum {
    TILE = 256 / sizeof(real), /* rows and columns */
    TILE_NUMBERS = TILE * TILE,
    CROWDED = 4096 / sizeof(real) /* a step of so many maps to the same set of the cache */
};

/* ---- tiles ----------------------------------------------------------------------------------- */

/* An axis cut into `count` parts of `part` numbers, the last of what is left. */
typedef struct cut {
    int64_t size, part, count;
} cut;

static inline cut cut_of(int64_t size, int64_t part)
{
    return (cut){size, part, (size + part - 1) / part};
}

/* Where part k begins.  If less than a cache line is left for the last, it takes one from the part
 * before: no part is shorter than a square unless the axis is. */
static inline int64_t begin_of(cut c, int64_t k)
{
    int64_t begin = k * c.part < c.size ? k * c.part : c.size;
    return k > 0 && k == c.count - 1 && c.size - begin < SIMD_LINE ? begin - SIMD_LINE : begin;
}

typedef struct tiles {
    cut rows, columns;
} tiles;

/* Tiles of a matrix with one short side are long along the other. */
static inline tiles tiles_of(const simd_permute *a)
{
    int64_t rows = a->rows < TILE ? a->rows : TILE;
    int64_t columns = a->columns < TILE ? a->columns : TILE;
    if (rows < TILE)
        columns = TILE_NUMBERS / rows;
    else if (columns < TILE)
        rows = TILE_NUMBERS / columns;
    return (tiles){cut_of(a->rows, rows), cut_of(a->columns, columns)};
}

/* ---- one tile -------------------------------------------------------------------------------- */

/* Where the square begins that is to begin at i: the last overlaps the one before. */
static inline int64_t square_at(int64_t i, int64_t size)
{
    return i + SIMD_STEP < size ? i : size - SIMD_STEP;
}

/* Neither side is shorter than a square; most often, columns is the constant SIMD_LINE. */
SIMD_INLINE void transpose_squares(const real *x, int64_t x_step, real *y, int64_t y_step,
                                   int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i += SIMD_STEP)
        for (int64_t j = 0; j < columns; j += SIMD_STEP) {
            int64_t row = square_at(i, rows), column = square_at(j, columns);
            simd_transpose_square(x + row * x_step + column, x_step, y + column * y_step + row,
                                  y_step);
        }
}

/* Copies `count` rows of `size` numbers, contiguous at x, to rows of y that are y_step apart. */
static void copy_rows(const real *x, real *y, int64_t y_step, int64_t count, int64_t size)
{
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < size; i += SIMD_STEP) {
            int64_t at = square_at(i, size);
            *(simd_group *)(y + k * y_step + at) = *(const simd_group *)(x + k * size + at);
        }
}

/* Goes by SIMD_LINE columns: a whole cache line of x, and few rows of y.  If the rows of y map to
 * the same few sets of the cache, of 8 or 12 lines each, a line that one square has begun is
 * evicted before the next square goes on with it.  Such rows are first built in a strip, then
 * copied whole. */
static void transpose_lines(const real *x, int64_t x_step, real *y, int64_t y_step, int64_t rows,
                            int64_t columns)
{
    real strip[TILE_NUMBERS];
    bool crowded = y_step % CROWDED == 0;
    for (int64_t line = 0; line < columns; line += SIMD_LINE) {
        int64_t j = square_at(line, columns), n = columns - j < SIMD_LINE ? columns - j : SIMD_LINE;
        real *to = crowded ? strip : y + j * y_step;
        int64_t step = crowded ? rows : y_step;
        if (n == SIMD_LINE)
            transpose_squares(x + j, x_step, to, step, rows, SIMD_LINE);
        else
            transpose_squares(x + j, x_step, to, step, rows, n);
        if (crowded)
            copy_rows(strip, y + j * y_step, y_step, n, rows);
    }
}

/* The inner loop is along the shorter side, whose steps are the long ones on one side at most. */
static void transpose_numbers(const real *x, int64_t x_step, real *y, int64_t y_step, int64_t rows,
                              int64_t columns)
{
    if (rows < columns) {
        for (int64_t j = 0; j < columns; j++)
            for (int64_t i = 0; i < rows; i++)
                y[j * y_step + i] = x[i * x_step + j];
    } else {
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < columns; j++)
                y[j * y_step + i] = x[i * x_step + j];
    }
}

static void permute_tile(const void *args, int64_t tile)
{
    const simd_permute *a = args;
    tiles t = tiles_of(a);
    int64_t column = tile % t.columns.count, row = tile / t.columns.count % t.rows.count;
    int64_t i = begin_of(t.rows, row), rows = begin_of(t.rows, row + 1) - i;
    int64_t j = begin_of(t.columns, column), columns = begin_of(t.columns, column + 1) - j;
    int64_t from = i * a->x_step + j, to = j * a->y_step + i;
    int64_t matrix = tile / t.columns.count / t.rows.count;
    for (int k = 0; k < a->rank; k++) {
        from += matrix % a->size[k] * a->x_stride[k];
        to += matrix % a->size[k] * a->y_stride[k];
        matrix /= a->size[k];
    }
    bool squares = rows >= SIMD_STEP && columns >= SIMD_STEP;
    (squares ? transpose_lines : transpose_numbers)((const real *)a->x + from, a->x_step,
                                                    (real *)a->y + to, a->y_step, rows, columns);
}

void SIMD(permute)(const simd_permute *a)
{
    tiles t = tiles_of(a);
    int64_t n = t.rows.count * t.columns.count * a->matrices;
    bool small = a->rows * a->columns * a->matrices < 1 << 15;
    simd_tasks(small ? 1 : a->threads, n, permute_tile, a);
}
