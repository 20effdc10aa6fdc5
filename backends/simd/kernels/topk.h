/* The most probable classes of rows whose logits are never written whole: see topk.c. */
#ifndef WG_BACKENDS_SIMD_KERNELS_TOPK_H
#define WG_BACKENDS_SIMD_KERNELS_TOPK_H

#include "backends/simd/kernels/kernels.h"
#include "backends/simd/kernels/unrolled.h"

enum {
    SIMD_TOPK_ROWS = 32,    /* of a group of rows, which are the lanes of a block */
    SIMD_TOPK_BAND = 8,     /* groups that go through the classes together */
    SIMD_TOPK_CLASSES = 64, /* of a block, at most                                */
    SIMD_TOPK_CHUNK = 1024, /* classes whose exponentials are summed up together  */
};

/* Writes block[c, lane], [classes, SIMD_TOPK_ROWS]: the logits of the classes from `first` on, for
 * the rows of a group, which begin at row SIMD_TOPK_ROWS group.  Lanes that are no rows, in the
 * last group, may get any numbers.  `me` is the number of the thread. */
typedef void simd_logits(const void *of, int me, int64_t group, int64_t first, int64_t classes,
                         float *block);

/* A chunk's largest logit m and the sum of exp(logit - m), of each row of a group. */
typedef struct simd_topk_sums {
    float top[SIMD_TOPK_ROWS], sum[SIMD_TOPK_ROWS];
} simd_topk_sums;

/* values, ids [rows, k]: the 0 < k <= SIMD_TOPK_CLASSES largest of log_softmax(logits) in each row,
 * or of the logits as they are, descending, of equal ones the first, and which classes they are.
 * Of logits, NaN counts as largest.  Scratch: simd_topk_scratch bytes. */
typedef struct simd_topk_of {
    simd_logits *logits;
    const void *of; /* handed to it */
    float *values;
    int64_t *ids;
    int64_t rows, classes, k;
    int threads;
    void *scratch; /* aligned as any type */
    bool as_they_are;
} simd_topk_of;

/* Keeps the k first of all x with their ids, in the order of `before`, a constant where this is
 * inlined; *count <= k are there. */
SIMD_INLINE void simd_insert(bool (*before)(float x, int64_t i, float y, int64_t j), float x,
                             int64_t id, float *value, int64_t *ids, int64_t *count, int64_t k)
{
    if (*count == k && !before(x, id, value[k - 1], ids[k - 1]))
        return;
    int64_t at = *count < k ? (*count)++ : k - 1;
    for (; at > 0 && before(x, id, value[at - 1], ids[at - 1]); at--) {
        value[at] = value[at - 1];
        ids[at] = ids[at - 1];
    }
    value[at] = x;
    ids[at] = id;
}

static inline int64_t simd_topk_groups(int64_t rows)
{
    return (rows + SIMD_TOPK_ROWS - 1) / SIMD_TOPK_ROWS;
}

static inline int64_t simd_topk_bands(int64_t rows)
{
    return (simd_topk_groups(rows) + SIMD_TOPK_BAND - 1) / SIMD_TOPK_BAND;
}

static inline int64_t simd_topk_chunks(int64_t classes)
{
    return (classes + SIMD_TOPK_CHUNK - 1) / SIMD_TOPK_CHUNK;
}

/* The chunks of a band come in so many parts that there are some for each thread. */
static inline int64_t simd_topk_parts(int64_t rows, int64_t classes, int threads)
{
    int64_t parts = threads > 1 ? (4 * threads - 1) / simd_topk_bands(rows) + 1 : 1,
            chunks = simd_topk_chunks(classes);
    return parts < chunks ? parts : chunks;
}

/* The sums of all chunks, and the best of all parts but the first. */
static inline size_t simd_topk_scratch(int64_t rows, int64_t classes, int64_t k, int threads)
{
    int64_t parts = simd_topk_parts(rows, classes, threads),
            sums = simd_topk_groups(rows) * simd_topk_chunks(classes);
    return (size_t)sums * sizeof(simd_topk_sums) +
           (size_t)((parts - 1) * rows * k) * (sizeof(int64_t) + sizeof(float));
}

/* Of few rows, in floats: blocks of classes, each transposed */
enum { SIMD_TOPK_FEW = 8 };
static inline int64_t simd_topk_packed(int64_t width, int64_t classes)
{
    return (classes + SIMD_TOPK_CLASSES - 1) / SIMD_TOPK_CLASSES * SIMD_TOPK_CLASSES * width;
}

/* Of products in 8 bits: x as lanes, and for each thread a block of weights and by how much they
 * raise sums. */
static inline size_t simd_int8_topk_panels(int64_t rows, int64_t width, int threads)
{
    size_t padded = ((size_t)width + 3) / 4 * 4 * sizeof(int32_t);
    return (size_t)simd_topk_groups(rows) * SIMD_TOPK_ROWS * padded +
           (size_t)threads * SIMD_TOPK_CLASSES * (padded + sizeof(int64_t)) + 64;
}

/* ---- from approximate logits: screened_topk.c ------------------------------------------------ */

/* Of approximate logits so many more than k are looked for. */
enum { SIMD_SCREEN_SPARE = 4 };

/* The largest number that w and x are written by, so that the sum of `width` products of two of
 * them fits in 32 bits: see screened_topk.c. */
static inline int32_t simd_screen_largest(int64_t width)
{
    int64_t q = INT16_MAX;
    while (q * q > INT32_MAX / width)
        q = q * 15 / 16;
    return (int32_t)q;
}

/* A row of 16-bit numbers, in whole groups */
static inline int64_t simd_screen_width(int64_t width)
{
    return (width + 1) / 2 * 2;
}

static inline size_t simd_round_to_line(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/* What is known of all classes; the step of each, [classes]; w in steps, [classes, width]. */
typedef struct simd_approximate {
    float error, most;        /* see screened_topk.c */
    int64_t searched, missed; /* rows so far, and those that had to be searched exactly */
} simd_approximate;

static inline size_t simd_approximate_bytes(int64_t width, int64_t classes)
{
    return simd_round_to_line(sizeof(simd_approximate)) +
           simd_round_to_line((size_t)classes * sizeof(float)) +
           (size_t)(classes * simd_screen_width(width)) * sizeof(int16_t);
}

/* Parts of the scratch of screened_topk, each aligned as cache lines */
typedef enum simd_screen_part {
    SIMD_SCREEN_STEP,   /* float [groups of rows]: of each row */
    SIMD_SCREEN_ERROR,  /* float [groups of rows]: of its approximate logits */
    SIMD_SCREEN_LANES,  /* int16_t [groups of rows, width]: x in steps */
    SIMD_SCREEN_VALUES, /* float [rows, k + SIMD_SCREEN_SPARE], the same of ids: the candidates */
    SIMD_SCREEN_IDS,
    SIMD_SCREEN_MISSED, /* int64_t [rows]: which are to be searched exactly: */
    SIMD_SCREEN_X,      /* their x */
    SIMD_SCREEN_PANELS, /* as panels */
    SIMD_SCREEN_FOUND,  /* float [rows, k], the same of ids: their best */
    SIMD_SCREEN_FOUND_IDS,
    SIMD_SCREEN_SCRATCH,
    SIMD_SCREEN_END
} simd_screen_part;

/* Where a part begins */
static inline size_t simd_screened_at(simd_screen_part part, int64_t rows, int64_t width,
                                      int64_t classes, int64_t k, int threads)
{
    const size_t n = (size_t)rows, lanes = (size_t)(simd_topk_groups(rows) * SIMD_TOPK_ROWS),
                 candidates = n * (size_t)(k + SIMD_SCREEN_SPARE), best = n * (size_t)k;
    const size_t bytes[SIMD_SCREEN_END] = {
        [SIMD_SCREEN_STEP] = lanes * sizeof(float),
        [SIMD_SCREEN_ERROR] = lanes * sizeof(float),
        [SIMD_SCREEN_LANES] = lanes * (size_t)simd_screen_width(width) * sizeof(int16_t),
        [SIMD_SCREEN_VALUES] = candidates * sizeof(float),
        [SIMD_SCREEN_IDS] = candidates * sizeof(int64_t),
        [SIMD_SCREEN_MISSED] = n * sizeof(int64_t),
        [SIMD_SCREEN_X] = n * (size_t)width * sizeof(float),
        [SIMD_SCREEN_PANELS] = lanes * (size_t)width * sizeof(float),
        [SIMD_SCREEN_FOUND] = best * sizeof(float),
        [SIMD_SCREEN_FOUND_IDS] = best * sizeof(int64_t),
        [SIMD_SCREEN_SCRATCH] = simd_topk_scratch(rows, classes, k + SIMD_SCREEN_SPARE, threads),
    };
    size_t at = 0;
    for (int i = 0; i < (int)part; i++)
        at += simd_round_to_line(bytes[i]);
    return at;
}

static inline size_t simd_screened_scratch(int64_t rows, int64_t width, int64_t classes, int64_t k,
                                           int threads)
{
    return simd_screened_at(SIMD_SCREEN_END, rows, width, classes, k, threads);
}

#ifdef SIMD_SUFFIX
void SIMD_OTHER(best_of_logits)(const simd_topk_of *a);

/* logits[i] of class ids[i], i < count, of one row: with the bits that linear_topk gives them */
void SIMD_OTHER(some_logits)(const simd_linear_topk *a, int64_t row, const int64_t *ids,
                             int64_t count, float *logits);

/* block[c, lane] = x[lane, c], x [rows <= SIMD_TOPK_ROWS, classes] with rows ldx apart; other lanes
 * become 0. */
void SIMD_OTHER(rows_as_lanes)(const float *x, int64_t ldx, int64_t rows, int64_t classes,
                               float *block);
#endif

#endif
