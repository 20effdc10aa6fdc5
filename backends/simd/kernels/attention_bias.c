/* The cotangent of attention's bias, which is that of the scores summed over the axes along which
 * the bias was repeated:
 *
 *     P = softmax(scale Q K' + bias)    dP = dY V'    dbias += P (dP - rowsum(P dP))
 *
 * A task has some rows of one head of the bias, or its one row, and adds up whatever read them, in
 * one order: the same bits at any number of threads. */
#include "backends/simd/kernels/attention_tile.h"

/* Of the rows t ... t + rows - 1 of head h of example b of the bias; 1 of each where it repeats. */
static void zero_bias(const simd_attention *a, int64_t b, int64_t h, int64_t t, int64_t rows)
{
    const int64_t n = a->bias.row > 0 ? rows : 1, columns = a->bias_step > 0 ? a->S : 1;
    for (int64_t i = 0; i < n; i++)
        memset(head(&a->dbias, b, h, t + i), 0, (size_t)columns * sizeof(float));
}

/* dbias += dS for the tile's keys in row t. */
static void add_row(const simd_attention *a, const tile *w, int64_t t, const float *restrict ds)
{
    float *restrict sum = head(&a->dbias, w->b, w->h, t) + w->keys.from * a->bias_step;
    int64_t n = w->keys.to - w->keys.from;
    if (a->bias_step == 0) {
        float added = 0;
#pragma omp simd reduction(+ : added)
        for (int64_t j = 0; j < n; j++)
            added += ds[j];
        *sum += added;
        return;
    }
    for (int64_t j = 0; j < n; j++)
        sum[j] += ds[j];
}

static void add_tile(const simd_attention *a, const tile *w)
{
    int64_t keys = w->keys.to - w->keys.from;
    if (keys <= 0)
        return;
    if (w->rows > 1 && !finite_where_hidden(a, w, &a->v, a->d_v)) {
        for (int64_t i = 0; i < w->rows; i++) {
            const tile one = tile_at(a, w, w->t + i, 1);
            add_tile(a, &one);
        }
        return;
    }
    simd_attention scores = *a;
    scores.scale = 1; /* the bias is added to what is scaled already */
    weights(a, w);
    gemm(&(simd_product){w->rows, keys, a->d_v, 1, head(&a->dy, w->b, w->h, w->t), a->dy.row, false,
                         head(&a->v, w->b, w->h / a->groups, w->keys.from), a->v.row, true, 0,
                         w->more, w->ld, NULL, false, 1, w->room, NULL, false},
         a->failed);
    score_cotangents(&scores, w);
    for (int64_t i = 0; i < w->rows; i++)
        add_row(a, w, w->t + i, w->more + i * w->ld);
}

/* What there is of the bias along an axis of n, and of the scores for each of these. */
static int64_t parts(int64_t stride, int64_t n)
{
    return stride > 0 ? n : 1;
}

static void bias_task(const void *args, int64_t task, int me)
{
    const tiling *s = args;
    const simd_attention *a = s->a;
    const int64_t heads = parts(a->bias.head, a->heads), batches = parts(a->bias.batch, a->batches),
                  tiles = parts(a->bias.row, s->tiles);
    const int64_t first_row = task % tiles * s->rows, h = task / tiles % heads,
                  b = task / tiles / heads;
    const int64_t last_row =
        a->bias.row > 0 && first_row + s->rows < a->T ? first_row + s->rows : a->T;
    zero_bias(a, b, h, first_row, last_row - first_row);
    for (int64_t i = b; i < a->batches; i += batches)
        for (int64_t k = h; k < a->heads; k += heads) {
            const tile first = first_tile(a, me, i, k);
            for (int64_t t = first_row; t < last_row; t += s->rows) {
                const tile w =
                    tile_at(a, &first, t, t + s->rows < last_row ? s->rows : last_row - t);
                add_tile(a, &w);
            }
        }
}

void SIMD(attention_bias)(const simd_attention *a)
{
    const tiling s = tiling_of(a);
    int64_t tasks = parts(a->bias.batch, a->batches) * parts(a->bias.head, a->heads) *
                    parts(a->bias.row, s.tiles);
    simd_uneven_tasks(a->threads, tasks, 1, bias_task, &s);
}
