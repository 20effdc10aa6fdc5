/* The k largest of log_softmax(logits) in each row, or of the logits themselves, where somebody
 * else makes these, a block at a time: some classes of a group of rows.  A block is read while it
 * is in the nearest cache, then forgotten.  Of each row are kept
 *
 *   - for each chunk of classes, the largest logit m and the sum of exp(logit - m), rescaled
 *     whenever m grows; or, of logits as they are, how many are NaN;
 *   - the k best classes.  A block is searched only where its largest logit exceeds the last of
 *     them.
 *
 * The rows of a group are the lanes of vectors: nothing is added up across a vector.  Threads share
 * groups, by bands, and where there are few of these also the chunks.  The chunks are always the
 * same and are joined in their order, so a row's bits depend neither on the other rows nor on the
 * number of threads. */
#include "backends/simd/kernels/sizes.h"
#include "backends/simd/kernels/team.h"
#include "backends/simd/kernels/topk.h"

#include <math.h>

enum {
    LANES = SIMD_TOPK_ROWS,
    FEW = 8, /* lanes that are looked at if there are no more rows: as in the search of one beam */
    SUB = 16,
    SUBS = SIMD_TOPK_CLASSES / SUB,
    TOGETHER = 8
};

/* ---- the sum of exponentials ----------------------------------------------------------------- */

/* exp(x) for x <= 0, 0 from exp(-88) down, NaN for NaN:
 *     exp(x) = 2^n 2^f,  n the nearest integer to x / ln 2,
 * with 2^f by the polynomial of Cephes' exp2f, to 2e-7.  Adding `magic` rounds to an integer and
 * puts 127 + n, the exponent's bits of 2^n, into the last bits of the mantissa. */
static inline float exp_of_negative(float x)
{
    const float magic = 12582912.0f + 127; /* 1.5 2^23 + 127 */
    float t = x * 1.44269504f;
    t = t < -127 ? -127 : t;
    float rounded = t + magic, f = t - (rounded - magic), p = 1.535336188e-4f, power;
    p = p * f + 1.339887440e-3f;
    p = p * f + 9.618437357e-3f;
    p = p * f + 5.550332471e-2f;
    p = p * f + 2.402264791e-1f;
    p = p * f + 6.931472029e-1f;
    p = p * f + 1;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits <<= 23;
    memcpy(&power, &bits, sizeof power);
    return p * power;
}

/* The largest of each SUB classes, and at last of all; NaN does not count.  `lanes` is a constant
 * where this is called. */
SIMD_INLINE void find_tops(const float *block, int lanes, float tops[SUBS + 1][LANES])
{
    float *all = tops[SUBS];
    for (int lane = 0; lane < lanes; lane++)
        all[lane] = -INFINITY;
    for (int sub = 0; sub < SUBS; sub++) {
        const float *b = block + sub * SUB * LANES;
        float *top = tops[sub];
        for (int lane = 0; lane < lanes; lane++)
            top[lane] = -INFINITY;
        for (int c = 0; c < SUB; c += 4, b += 4 * LANES) {
#pragma omp simd
            for (int lane = 0; lane < lanes; lane++) {
                float x0 = b[lane], x1 = b[LANES + lane], x2 = b[2 * LANES + lane],
                      x3 = b[3 * LANES + lane], x = top[lane];
                x = x0 > x ? x0 : x;
                x = x1 > x ? x1 : x;
                x = x2 > x ? x2 : x;
                top[lane] = x3 > x ? x3 : x;
            }
        }
#pragma omp simd
        for (int lane = 0; lane < lanes; lane++)
            all[lane] = top[lane] > all[lane] ? top[lane] : all[lane];
    }
}

/* The same. */
SIMD_INLINE void add_block(const float *block, int64_t classes, int lanes, const float *block_top,
                           simd_topk_sums *s)
{
    float shift[LANES];
#pragma omp simd
    for (int lane = 0; lane < lanes; lane++) {
        float top = s->top[lane] > block_top[lane] ? s->top[lane] : block_top[lane];
        shift[lane] = top == -INFINITY ? 0 : top;
        s->sum[lane] *= exp_of_negative(s->top[lane] - shift[lane]);
        s->top[lane] = top;
    }
    for (int64_t c = 0; c < classes; c += TOGETHER) {
        const float *b = block + c * LANES;
#pragma omp simd
        for (int lane = 0; lane < lanes; lane++) {
            float m = shift[lane], sum = 0;
            SIMD_UNROLLED
            for (int i = 0; i < TOGETHER; i++)
                sum += exp_of_negative(b[i * LANES + lane] - m);
            s->sum[lane] += sum;
        }
    }
}

/* sum += the number of NaNs */
static void count_nans(const float *block, int64_t classes, simd_topk_sums *s)
{
    for (int64_t c = 0; c < classes; c++) {
        const float *b = block + c * LANES;
#pragma omp simd
        for (int lane = 0; lane < LANES; lane++)
            s->sum[lane] += b[lane] == b[lane] ? 0 : 1;
    }
}

/* ---- the best so far ------------------------------------------------------------------------- */

/* Of a group's rows: those of row r begin at values + r k, ids + r k.  least[r], the last of them,
 * is what a class must exceed; +inf where a lane is no row. */
typedef struct bests {
    float *values;
    int64_t *ids;
    int64_t rows, k, count; /* there are so many of each row */
    float min[LANES];
} bests;

static inline bool is_larger(float x, int64_t i, float y, int64_t j)
{
    (void)i, (void)j;
    return x > y;
}

/* NaN counts as largest. */
static inline bool is_larger_or_nan(float x, int64_t i, float y, int64_t j)
{
    (void)i, (void)j;
    return x > y || (isnan(x) && !isnan(y));
}

/* Of equal ones the first comes first, if they are inserted in their order. */
static void insert(float x, int64_t id, float *value, int64_t *ids, int64_t *count, int64_t k)
{
    simd_insert(is_larger, x, id, value, ids, count, k);
}

/* Bit i says whether class i of SUB classes exceeds `least` in a lane: without a branch for each,
 * which would often be guessed wrong. */
static uint32_t classes_above(const float *block, int64_t lane, float least)
{
    uint32_t above = 0;
    SIMD_UNROLLED
    for (int i = 0; i < SUB; i++)
        above |= (uint32_t)(block[i * LANES + lane] > least) << i;
    return above;
}

static void search_lane(bests *best, const float *block, int64_t first, int64_t classes,
                        float tops[SUBS + 1][LANES], int64_t lane)
{
    float *value = best->values + lane * best->k;
    int64_t *ids = best->ids + lane * best->k, count = best->count, taken = 0;
    for (; taken < classes && count < best->k; taken++)
        insert(block[taken * LANES + lane], first + taken, value, ids, &count, best->k);
    for (int64_t c = taken / SUB * SUB; c < classes; c += SUB) {
        if (!(tops[c / SUB][lane] > value[count - 1]))
            continue;
        uint32_t above = classes_above(block + c * LANES, lane, value[count - 1]);
        if (c < taken)
            above &= ~0u << (taken - c);
        for (; above; above &= above - 1) {
            int64_t i = c + __builtin_ctz(above);
            insert(block[i * LANES + lane], first + i, value, ids, &count, best->k);
        }
    }
    best->min[lane] = count == best->k ? value[count - 1] : -INFINITY;
}

/* The same of lanes, each of which exceeds what it has */
static uint32_t lanes_above(const float *top, const float *min)
{
    uint32_t above = 0;
    SIMD_UNROLLED
    for (int lane = 0; lane < LANES; lane++)
        above |= (uint32_t)(top[lane] > min[lane]) << lane;
    return above;
}

static void keep_best(bests *best, const float *block, int64_t first, int64_t classes,
                      float tops[SUBS + 1][LANES])
{
    int64_t more = simd_smaller(classes, best->k - best->count);
    uint32_t above = more > 0 ? ~0u >> (LANES - best->rows) : lanes_above(tops[SUBS], best->min);
    for (; above; above &= above - 1)
        search_lane(best, block, first, classes, tops, __builtin_ctz(above));
    best->count += more;
}

/* ---- groups and chunks ----------------------------------------------------------------------- */

typedef struct lists {
    float *values;
    int64_t *ids; /* [rows, k] each */
} lists;

/* Those of the first part are the result. */
static lists lists_of(const simd_topk_of *a, int64_t part, int64_t parts)
{
    int64_t size = a->rows * a->k;
    simd_topk_sums *sums = a->scratch;
    int64_t *ids = (int64_t *)(sums + simd_topk_groups(a->rows) * simd_topk_chunks(a->classes));
    float *values = (float *)(ids + (parts - 1) * size);
    return part == 0 ? (lists){a->values, a->ids}
                     : (lists){values + (part - 1) * size, ids + (part - 1) * size};
}

static simd_topk_sums *sums_of(const simd_topk_of *a, int64_t group, int64_t chunk)
{
    return (simd_topk_sums *)a->scratch + group * simd_topk_chunks(a->classes) + chunk;
}

/* A group on its way through the classes. */
static void begin(const simd_topk_of *a, int64_t group, lists to, bests *best)
{
    int64_t row = group * LANES, k = a->k;
    *best = (bests){
        to.values + row * k, to.ids + row * k, simd_smaller(LANES, a->rows - row), k, 0, {0}};
    for (int64_t lane = 0; lane < LANES; lane++)
        best->min[lane] = lane < best->rows ? -INFINITY : INFINITY;
}

static void take(const simd_topk_of *a, int me, int64_t group, int64_t first, int64_t classes,
                 float *block, bests *best)
{
    float tops[SUBS + 1][LANES];
    a->logits(a->of, me, group, first, classes, block);
    for (int64_t i = classes * LANES; i < SIMD_TOPK_CLASSES * LANES; i++)
        block[i] = -INFINITY;
    simd_topk_sums *sums = sums_of(a, group, first / SIMD_TOPK_CHUNK);
    if (best->rows <= FEW)
        find_tops(block, FEW, tops);
    else
        find_tops(block, LANES, tops);
    if (a->as_they_are)
        count_nans(block, classes, sums);
    else if (best->rows <= FEW)
        add_block(block, classes, FEW, tops[SUBS], sums);
    else
        add_block(block, classes, LANES, tops[SUBS], sums);
    keep_best(best, block, first, classes, tops);
}

/* Bands of groups, and parts of the classes: a task is one part for one band. */
typedef struct division {
    const simd_topk_of *a;
    int64_t bands, parts;
} division;

/* The groups of a band meet each block of classes one after the other, so that whatever it is made
 * of stays near. */
static void reduce(const simd_topk_of *a, int me, int64_t band, int64_t part, int64_t parts)
{
    _Alignas(64) float block[SIMD_TOPK_CLASSES * LANES] = {0};
    bests best[SIMD_TOPK_BAND];
    int64_t first_group = band * SIMD_TOPK_BAND, chunks = simd_topk_chunks(a->classes),
            groups = simd_smaller(SIMD_TOPK_BAND, simd_topk_groups(a->rows) - first_group);
    int64_t begins = part * chunks / parts * SIMD_TOPK_CHUNK,
            ends = simd_smaller(a->classes, (part + 1) * chunks / parts * SIMD_TOPK_CHUNK);
    for (int64_t g = 0; g < groups; g++)
        begin(a, first_group + g, lists_of(a, part, parts), &best[g]);
    for (int64_t first = begins; first < ends; first += SIMD_TOPK_CLASSES)
        for (int64_t g = 0; g < groups; g++)
            take(a, me, first_group + g, first, simd_smaller(SIMD_TOPK_CLASSES, ends - first),
                 block, &best[g]);
}

static void reduce_some(const void *args, simd_member m)
{
    const division *d = args;
    int64_t tasks = d->bands * d->parts;
    for (int64_t i = simd_first(m, tasks); i < simd_end(m, tasks); i++)
        reduce(d->a, m.me, i % d->bands, i / d->bands, d->parts);
}

static bool has_nan(const simd_topk_of *a, int64_t group, int64_t lane)
{
    float count = 0;
    for (int64_t chunk = 0; chunk < simd_topk_chunks(a->classes); chunk++)
        count += sums_of(a, group, chunk)->sum[lane];
    return count > 0;
}

/* A row that has NaN, once more, one logit after the other */
static void search_again(const simd_topk_of *a, int64_t row)
{
    _Alignas(64) float block[SIMD_TOPK_CLASSES * LANES] = {0};
    float *value = a->values + row * a->k;
    int64_t *ids = a->ids + row * a->k, count = 0;
    for (int64_t c = 0; c < a->classes; c++) {
        int64_t in_block = c % SIMD_TOPK_CLASSES;
        if (in_block == 0)
            a->logits(a->of, 0, row / LANES, c, simd_smaller(SIMD_TOPK_CLASSES, a->classes - c),
                      block);
        simd_insert(is_larger_or_nan, block[in_block * LANES + row % LANES], c, value, ids, &count,
                    a->k);
    }
}

/* Of all parts of a group's row: they come in the order of classes. */
static void merge(const void *args, int64_t row)
{
    const division *d = args;
    const simd_topk_of *a = d->a;
    int64_t parts = d->parts;
    int64_t group = row / LANES, lane = row % LANES, k = a->k,
            chunks = simd_topk_chunks(a->classes);
    int64_t count = simd_smaller(k, simd_smaller(a->classes, chunks / parts * SIMD_TOPK_CHUNK));
    float *value = a->values + row * k;
    for (int64_t p = 1; p < parts; p++) {
        lists other = lists_of(a, p, parts);
        for (int64_t i = 0; i < simd_smaller(k, a->classes - p * chunks / parts * SIMD_TOPK_CHUNK);
             i++)
            insert(other.values[row * k + i], other.ids[row * k + i], value, a->ids + row * k,
                   &count, k);
    }
    if (a->as_they_are) {
        if (has_nan(a, group, lane))
            search_again(a, row);
        return;
    }
    float top = value[0] == -INFINITY ? 0 : value[0], sum = 0;
    for (int64_t chunk = 0; chunk < chunks; chunk++) {
        const simd_topk_sums *s = sums_of(a, group, chunk);
        sum += s->sum[lane] * exp_of_negative(s->top[lane] - top);
    }
    float shift = sum != 0 ? top + logf(sum) : 0;
    for (int64_t i = 0; i < k; i++)
        value[i] -= shift;
}

void SIMD(best_of_logits)(const simd_topk_of *a)
{
    simd_topk_sums nothing = {{0}, {0}};
    for (int64_t lane = 0; lane < LANES; lane++)
        nothing.top[lane] = -INFINITY;
    int64_t groups = simd_topk_groups(a->rows), chunks = simd_topk_chunks(a->classes),
            bands = simd_topk_bands(a->rows),
            parts = simd_topk_parts(a->rows, a->classes, a->threads);
    for (int64_t i = 0; i < groups * chunks; i++)
        *sums_of(a, 0, i) = nothing;
    const division d = {a, bands, parts};
    simd_team(a->threads, reduce_some, &d);
    simd_tasks(a->threads, a->rows, merge, &d);
}

/* ---- of logits that are there ---------------------------------------------------------------- */

void SIMD(rows_as_lanes)(const float *x, int64_t ldx, int64_t rows, int64_t classes, float *block)
{
    for (int64_t lane = 0; lane < LANES; lane++)
        for (int64_t c = 0; c < classes; c++)
            block[c * LANES + lane] = lane < rows ? x[lane * ldx + c] : 0;
}

static void given_logits(const void *of, int me, int64_t group, int64_t first, int64_t classes,
                         float *block)
{
    const simd_topk *a = of;
    (void)me;
    int64_t row = group * LANES;
    SIMD(rows_as_lanes)
    (a->x + row * a->width + first, a->width, simd_smaller(LANES, a->rows - row), classes, block);
}

void SIMD(topk)(const simd_topk *a)
{
    const simd_topk_of best = {given_logits, a,    a->values,  a->ids,     a->rows,
                               a->width,     a->k, a->threads, a->scratch, false};
    SIMD(best_of_logits)(&best);
}
