/* Attention by tiles of query rows: the scores of a tile, [rows, keys], never leave the cache, and
 * no [T, S] tensor exists.  Forward, for one tile of one head:
 *
 *     S = scale Q K' + bias   P = softmax(S), row by row, over the keys that the row may see
 *     Y = P V
 *
 * Backward makes P again and then, with dP = dY V' and D = rowsum(P dP):
 *
 *     dV += P' dY             dS = scale P (dP - D)
 *     dQ  = dS K              dK += dS' Q
 *
 * Keys that no row of a tile may see are not touched at all, so nothing in them can leak, and the
 * time for a window of r keys grows as T r.  A key
 * that only some rows may see has weight 0 in the others; as 0 times NaN is NaN, a tile whose such
 * keys are not finite goes row by row.
 *
 * Each task (a tile, or backward a key-value head) is done by one thread in one order: the same
 * bits at any number of threads.  Its products are those of gemm.h or, for short sentences, of
 * small.h. */
#include "backends/simd/kernels/attention_tile.h"

static void forward_rows(const simd_attention *a, const tile *w)
{
    float *y = head(&a->y, w->b, w->h, w->t);
    int64_t keys = w->keys.to - w->keys.from;
    if (keys <= 0) {
        zero_rows(y, w->rows, a->d_v, a->y.row);
        return;
    }
    if (w->rows > 1 && !finite_where_hidden(a, w, &a->v, a->d_v)) {
        for (int64_t i = 0; i < w->rows; i++) {
            const tile one = tile_at(a, w, w->t + i, 1);
            forward_rows(a, &one);
        }
        return;
    }
    weights(a, w);
    for (int64_t i = 0; a->mask.keep && i < w->rows; i++)
        drop_row(a, row_mask(a, w, i, w->rows), w->p + i * w->ld, keys);
    gemm(&(simd_product){w->rows, a->d_v, keys, 1, w->p, w->ld, false,
                         head(&a->v, w->b, w->h / a->groups, w->keys.from), a->v.row, false, 0, y,
                         a->y.row, NULL, false, 1, w->room, NULL, false},
         a->failed);
}

static void forward_tile(const void *args, int64_t task, int me)
{
    const tiling *s = args;
    const simd_attention *a = s->a;
    int64_t t = task % s->tiles * s->rows, head = task / s->tiles;
    const tile first = first_tile(a, me, head / a->heads, head % a->heads);
    const tile w = tile_at(a, &first, t, t + s->rows < a->T ? s->rows : a->T - t);
    forward_rows(a, &w);
}

void SIMD(attention_forward)(const simd_attention *a)
{
    const tiling s = tiling_of(a);
    int64_t tasks = a->batches * a->heads * s.tiles;
    simd_uneven_tasks(a->threads, tasks, tasks_at_a_time(tasks, a->threads), forward_tile, &s);
}

static void backward_rows(const simd_attention *a, const tile *w)
{
    int64_t kv = w->h / a->groups, from = w->keys.from, keys = w->keys.to - from;
    const float *q = head(&a->q, w->b, w->h, w->t), *dy = head(&a->dy, w->b, w->h, w->t);
    const float *k = head(&a->k, w->b, kv, from), *v = head(&a->v, w->b, kv, from);
    float *dq = head(&a->dq, w->b, w->h, w->t), *dk = head(&a->dk, w->b, kv, from),
          *dv = head(&a->dv, w->b, kv, from), *p = w->p, *dp = w->more;
    if (keys <= 0) {
        zero_rows(dq, w->rows, a->d, a->dq.row);
        return;
    }
    if (w->rows > 1 &&
        !(finite_where_hidden(a, w, &a->v, a->d_v) && finite_where_hidden(a, w, &a->k, a->d))) {
        for (int64_t i = 0; i < w->rows; i++) {
            const tile one = tile_at(a, w, w->t + i, 1);
            backward_rows(a, &one);
        }
        return;
    }
    weights(a, w);
    gemm(&(simd_product){w->rows, keys, a->d_v, 1, dy, a->dy.row, false, v, a->v.row, true, 0, dp,
                         w->ld, NULL, false, 1, w->room, NULL, false},
         a->failed);
    score_cotangents(a, w);
    gemm(&(simd_product){keys, a->d_v, w->rows, 1, p, w->ld, true, dy, a->dy.row, false, 1, dv,
                         a->dv.row, NULL, false, 1, w->room, NULL, false},
         a->failed);
    gemm(&(simd_product){w->rows, a->d, keys, 1, dp, w->ld, false, k, a->k.row, false, 0, dq,
                         a->dq.row, NULL, false, 1, w->room, NULL, false},
         a->failed);
    gemm(&(simd_product){keys, a->d, w->rows, 1, dp, w->ld, true, q, a->q.row, false, 1, dk,
                         a->dk.row, NULL, false, 1, w->room, NULL, false},
         a->failed);
}

/* All query heads of one key-value head, whose cotangents they add to. */
static void backward_head(const void *args, int64_t task, int me)
{
    const tiling *s = args;
    const simd_attention *a = s->a;
    int64_t kv_heads = a->heads / a->groups, kv = task % kv_heads, b = task / kv_heads;
    zero_rows(head(&a->dk, b, kv, 0), a->S, a->d, a->dk.row);
    zero_rows(head(&a->dv, b, kv, 0), a->S, a->d_v, a->dv.row);
    for (int64_t h = kv * a->groups; h < (kv + 1) * a->groups; h++) {
        const tile first = first_tile(a, me, b, h);
        for (int64_t t = 0; t < a->T; t += s->rows) {
            const tile w = tile_at(a, &first, t, t + s->rows < a->T ? s->rows : a->T - t);
            backward_rows(a, &w);
        }
    }
}

void SIMD(attention_backward)(const simd_attention *a)
{
    const tiling s = tiling_of(a);
    int64_t tasks = a->batches * (a->heads / a->groups);
    simd_uneven_tasks(a->threads, tasks, tasks_at_a_time(tasks, a->threads), backward_head, &s);
}
