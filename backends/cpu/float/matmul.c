/* y[..., i, j] = sum over k of a[..., i, k] b[..., k, j], each sum in the order of k from 0: the
 * bits of the plain triple loop, whatever the blocks and the threads.
 *
 * y is cut into tiles, which threads share out.  For a tile, k advances in steps of DEPTH: so
 * many columns of a and rows of b are packed, transposed or not, into panels that the inner loops
 * read from end to end; then each block of y of ROWS x COLUMNS is carried in registers through
 * the depth (as in Goto and van de Geijn, Anatomy of High-Performance Matrix Multiplication,
 * 2008). */
#include "backends/broadcast.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/linalg.h"

enum {
    ROWS = 4,                    /* of a block of y held in registers:    */
    COLUMNS = 32 / sizeof(real), /* 4 x 8 floats, 4 x 4 doubles           */
    TILE = 128,                  /* most rows and columns of a tile       */
    DEPTH = 512 / sizeof(real),  /* of packed panels: 64 KiB each, on the stack */
};

/* A matrix as it lies in memory. */
typedef struct matrix {
    const real *at;
    int64_t row, column; /* strides */
} matrix;

static matrix part(matrix m, int64_t row, int64_t column)
{
    m.at += row * m.row + column * m.column;
    return m;
}

static int64_t min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Strips of `width` lines: to[strip][k][line] = from[line, k], lines beyond the last are 0. */
static void pack(real *restrict to, matrix from, int64_t lines, int64_t depth, int width)
{
    for (int64_t first = 0; first < lines; first += width, to += depth * width) {
        int64_t count = min(width, lines - first);
        const real *restrict x = from.at + first * from.row;
        if (count < width)
            memset(to, 0, sizeof *to * (size_t)(depth * width));
        if (from.row == 1)
            for (int64_t k = 0; k < depth; k++)
                for (int64_t i = 0; i < count; i++)
                    to[k * width + i] = x[k * from.column + i];
        else
            for (int64_t i = 0; i < count; i++)
                for (int64_t k = 0; k < depth; k++)
                    to[k * width + i] = x[i * from.row + k * from.column];
    }
}

/* y[i][j] += sum over k of a[k][i] b[k][j], for one block. */
static void block(real y[restrict ROWS][COLUMNS], const real *restrict a, const real *restrict b,
                  int64_t depth)
{
    real s[ROWS][COLUMNS];
    memcpy(s, y, sizeof s);
    for (int64_t k = 0; k < depth; k++, a += ROWS, b += COLUMNS)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                s[i][j] += a[i] * b[j];
    memcpy(y, s, sizeof s);
}

/* One tile of y, rows x columns, `stride` apart. */
static void tile(real *y, int64_t stride, matrix a, matrix b, int64_t rows, int64_t columns,
                 int64_t inner)
{
    _Alignas(64) real pa[TILE * DEPTH], pb[TILE * DEPTH], yb[ROWS][COLUMNS] = {{0}};
    for (int64_t i = 0; i < rows; i++)
        memset(y + i * stride, 0, sizeof *y * (size_t)columns);
    for (int64_t k = 0; k < inner; k += DEPTH) {
        int64_t depth = min(DEPTH, inner - k);
        matrix bt = {b.at + k * b.row, b.column, b.row};
        pack(pa, part(a, 0, k), rows, depth, ROWS);
        pack(pb, bt, columns, depth, COLUMNS);
        for (int64_t j = 0; j < columns; j += COLUMNS)
            for (int64_t i = 0; i < rows; i += ROWS) {
                int64_t height = min(ROWS, rows - i), width = min(COLUMNS, columns - j);
                for (int64_t r = 0; r < height; r++)
                    memcpy(yb[r], y + (i + r) * stride + j, sizeof *y * (size_t)width);
                block(yb, pa + i * depth, pb + j * depth, depth);
                for (int64_t r = 0; r < height; r++)
                    memcpy(y + (i + r) * stride + j, yb[r], sizeof *y * (size_t)width);
            }
    }
}

void KERNEL(matmul)(wg_call *c)
{
    const wg_node *n = c->node;
    const wg_matmul_attrs *t = n->attrs;
    const wg_shape *as = &n->in[0]->shape, *bs = &n->in[1]->shape, *ys = &n->out[0]->shape;
    int64_t rows = ys->dim[ys->rank - 2], columns = ys->dim[ys->rank - 1];
    int64_t inner = as->dim[as->rank - (t->transpose_a ? 2 : 1)];
    if (cpu_count(n->out[0]) == 0)
        return;

    wg_shape batch = *ys, abatch = *as, bbatch = *bs;
    batch.rank -= 2, abatch.rank -= 2, bbatch.rank -= 2;
    int64_t sa[WG_MAX_RANK], sb[WG_MAX_RANK], batches = wg_shape_count(&batch);
    wgi_broadcast_strides(&abatch, &batch, sa);
    wgi_broadcast_strides(&bbatch, &batch, sb);

    int threads = cpu_threads(c, batches * rows * columns * inner);
    int64_t height = TILE; /* lower where the tiles would not go round */
    int64_t across = (columns + TILE - 1) / TILE, down = (rows + height - 1) / height;
    while (batches * down * across < threads && height > 4 * ROWS) {
        height /= 2;
        down = (rows + height - 1) / height;
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < batches * down * across; k++) {
        int64_t i = k / across % down * height, j = k % across * TILE, ia = 0, ib = 0;
        for (int64_t axis = batch.rank - 1, rest = k / across / down; axis >= 0; axis--) {
            /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): a rank is small */
            ia += rest % batch.dim[axis] * sa[axis];
            ib += rest % batch.dim[axis] * sb[axis];
            rest /= batch.dim[axis];
        }
        matrix a = {(const real *)c->in[0] + ia * rows * inner, t->transpose_a ? 1 : inner,
                    t->transpose_a ? rows : 1};
        matrix b = {(const real *)c->in[1] + ib * inner * columns, t->transpose_b ? 1 : columns,
                    t->transpose_b ? inner : 1};
        real *y = (real *)c->out[0] + k / across / down * rows * columns + i * columns + j;
        tile(y, columns, part(a, i, 0), part(b, 0, j), min(height, rows - i),
             min(TILE, columns - j), inner);
    }
}
