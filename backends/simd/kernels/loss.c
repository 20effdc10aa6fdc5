/* Cross-entropy of a linear layer's logits, without ever holding all of them: rows go in chunks
 * through
 *
 *     L = X W',  loss = sum over rows of w_row H(q_row, softmax(L)),  G = w (softmax(L) - q)
 *     dX = scale G W,  dW += scale G' X
 *
 * where scale G overwrites L in the chunk, q is the smoothed one-hot target and w_row the row's
 * weight (0 if ignored).  The bits of our own product do not depend on the number of threads; where
 * others multiply, the three products are divided into blocks of the result by their sizes alone,
 * and each block is computed by one thread. */
#include "backends/simd/kernels/gemm.h"
#include "backends/simd/kernels/row_loss.h"
#include "backends/simd/kernels/team.h"

#include <math.h>

/* ---- products of a linear layer -------------------------------------------------------------- */

/* Whether all threads share in the product of product.c, or each calls gemm.h for blocks.  With
 * AVX2 the first is up to a tenth faster, with AVX-512 the second (docs/notes/performance.md). */
#if defined(WG_HAVE_ONEDNN) && (defined(__AVX512F__) || !defined(__AVX2__))
enum { TOGETHER = 0 };
#else
enum { TOGETHER = 1 };
#endif

/* Block i of `blocks` begins here and ends where the next begins; multiples of 16 keep vectors
 * whole. */
static int64_t block_begin(int64_t i, int64_t blocks, int64_t count)
{
    return i == blocks ? count : count * i / blocks / 16 * 16;
}

/* What the threads' products need, so many floats each. */
typedef struct room {
    float *data;
    int64_t size;
    int threads;
    bool *failed;
} room;

/* A product in tasks, each of which one thread computes: `down` blocks of rows times `across`
 * blocks of columns; or, for a result of few blocks and a long sum, neither a nor b transposed and
 * beta 0, `pieces` of the sum, each into its own [m, n] of `partial`.  All by sizes alone. */
typedef struct division {
    simd_product p;
    int64_t down, across, pieces;
    float *partial;
} division;

/* Products that wait for nothing of one another */
typedef struct products {
    division part[2];
    int count;
    const room *room;
} products;

static int64_t tasks_of(const division *d)
{
    return d->pieces > 1 ? d->pieces : d->down * d->across;
}

static simd_product block_of(const division *d, int64_t i)
{
    const simd_product *p = &d->p;
    int64_t row = block_begin(i % d->down, d->down, p->m),
            column = block_begin(i / d->down, d->across, p->n);
    simd_product block = *p;
    block.m = block_begin(i % d->down + 1, d->down, p->m) - row;
    block.n = block_begin(i / d->down + 1, d->across, p->n) - column;
    block.a = simd_product_a(p, row, 0);
    block.b = simd_product_b(p, 0, column);
    block.c = simd_product_c(p, row, column);
    return block;
}

static simd_product piece_of(const division *d, int64_t i)
{
    const simd_product *p = &d->p;
    int64_t k = block_begin(i, d->pieces, p->k);
    simd_product piece = *p;
    piece.k = block_begin(i + 1, d->pieces, p->k) - k;
    piece.a = simd_product_a(p, 0, k);
    piece.b = simd_product_b(p, k, 0);
    piece.c = d->partial + i * p->m * p->n;
    piece.ldc = p->n;
    return piece;
}

static void multiply_task(const void *args, int64_t i, int me)
{
    const products *all = args;
    const division *d = all->part;
    for (; i >= tasks_of(d); d++)
        i -= tasks_of(d);
    simd_product p = d->pieces > 1 ? piece_of(d, i) : block_of(d, i);
    p.scratch = all->room->data + me * all->room->size;
    if (p.m > 0 && p.n > 0)
        simd_gemm(&p, all->room->failed);
}

/* Row `row` of the result of a division into pieces, in their order */
static void add_pieces(const void *args, int64_t row)
{
    const division *d = args;
    const simd_product *p = &d->p;
    float *c = simd_product_c(p, row, 0);
    const float *first = d->partial + row * p->n;
    memcpy(c, first, (size_t)p->n * sizeof *c);
    for (int64_t i = 1; i < d->pieces; i++)
        for (int64_t j = 0; j < p->n; j++)
            c[j] += first[i * p->m * p->n + j];
}

static void multiply_together(const simd_product *p, const room *r)
{
    simd_product all = *p;
    all.threads = r->threads;
    all.scratch = r->data;
    SIMD(product)(&all);
}

static void multiply(const products *all)
{
    int64_t tasks = 0;
    for (int i = 0; TOGETHER && i < all->count; i++)
        multiply_together(&all->part[i].p, all->room);
    if (TOGETHER)
        return;
    for (int i = 0; i < all->count; i++)
        tasks += tasks_of(&all->part[i]);
    simd_uneven_tasks(all->room->threads, tasks, 1, multiply_task, all);
    for (int i = 0; i < all->count; i++)
        if (all->part[i].pieces > 1)
            simd_tasks(all->room->threads, all->part[i].p.m, add_pieces, &all->part[i]);
}

/* ---- one chunk of rows ----------------------------------------------------------------------- */

/* x [rows, d], logits and then their gradients g [rows, v], losses [rows]. */
typedef struct chunk {
    const simd_loss *a;
    int64_t first, rows, blocks;
    const float *x;
    float *g, *losses;
    room room;
} chunk;

/* g = x w' */
static void make_logits(const chunk *c)
{
    int64_t d = c->a->width, v = c->a->classes;
    const simd_product logits = {.m = c->rows,
                                 .n = v,
                                 .k = d,
                                 .alpha = 1,
                                 .a = c->x,
                                 .lda = d,
                                 .b = c->a->w,
                                 .ldb = d,
                                 .tb = true,
                                 .c = c->g,
                                 .ldc = v,
                                 .threads = 1};
    multiply(&(products){{{logits, .down = 1, .across = c->blocks}}, 1, &c->room});
}

/* Row r of g becomes its gradient. */
static void one_loss(const void *args, int64_t r)
{
    const chunk *c = args;
    const simd_loss *a = c->a;
    int64_t v = a->classes, target = a->targets[c->first + r];
    float weight = (float)a->weights[c->first + r];
    if (weight != 0) { /* NaN too: it must show */
        float *row = c->g + r * v;
        c->losses[r] =
            weight * loss_row(row, row, true, v, target, a->on, a->off, weight * a->scale);
    } else {
        c->losses[r] = 0;
        memset(c->g + r * v, 0, (size_t)v * sizeof *c->g);
    }
}

/* Each row of g becomes its gradient; *loss += the rows' losses, in their order. */
static void add_losses(const chunk *c, double *loss)
{
    simd_tasks(c->a->threads, c->rows, one_loss, c);
    for (int64_t r = 0; r < c->rows; r++)
        *loss += c->losses[r];
}

/* dx = g w */
static division dx_of(const chunk *c)
{
    int64_t d = c->a->width, v = c->a->classes;
    return (division){.p = {.m = c->rows,
                            .n = d,
                            .k = v,
                            .alpha = 1,
                            .a = c->g,
                            .lda = v,
                            .b = c->a->w,
                            .ldb = d,
                            .c = c->a->dx + c->first * d,
                            .ldc = d,
                            .threads = 1},
                      .down = simd_blocks(c->rows, SIMD_BLOCK_OF_ROWS),
                      .across = 1,
                      .pieces = simd_loss_pieces(c->a->chunk, v), /* as the scratch has room for */
                      .partial = c->losses + c->a->chunk};
}

/* dw += g' x */
static division dw_of(const chunk *c)
{
    int64_t d = c->a->width, v = c->a->classes;
    return (division){.p = {.m = v,
                            .n = d,
                            .k = c->rows,
                            .alpha = 1,
                            .a = c->g,
                            .lda = v,
                            .ta = true,
                            .b = c->x,
                            .ldb = d,
                            .beta = c->first ? 1 : 0,
                            .c = c->a->dw,
                            .ldc = d,
                            .threads = 1},
                      .down = c->blocks,
                      .across = 1};
}

/* Both at once where both are wanted: they keep twice as many threads busy. */
static void make_gradients(const chunk *c)
{
    products all = {.room = &c->room};
    if (c->a->dx)
        all.part[all.count++] = dx_of(c);
    if (c->a->dw)
        all.part[all.count++] = dw_of(c);
    multiply(&all);
}

void SIMD(linear_loss)(const simd_loss *a)
{
    int64_t d = a->width, v = a->classes;
    chunk c = {.a = a,
               .blocks = simd_blocks(v, SIMD_BLOCK_OF_CLASSES),
               .g = a->scratch,
               .losses = a->scratch + a->chunk * v,
               .room = {a->scratch + simd_loss_chunk(a->chunk, d, v),
                        simd_loss_gemm(a->chunk, d, v), a->threads, a->failed}};
    double loss = 0;
    for (; c.first < a->rows; c.first += a->chunk) {
        c.rows = a->rows - c.first < a->chunk ? a->rows - c.first : a->chunk;
        c.x = a->x + c.first * d;
        make_logits(&c);
        add_losses(&c, &loss);
        if (a->dx || a->dw)
            make_gradients(&c);
    }
    *a->loss = (float)loss;
}
