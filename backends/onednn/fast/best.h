/* The most probable classes of rows whose logits are never written whole: see best.c. */
#ifndef WG_BACKENDS_ONEDNN_FAST_BEST_H
#define WG_BACKENDS_ONEDNN_FAST_BEST_H

#include "backends/onednn/fast/fast.h"

enum {
    FAST_BEST_ROWS = 32,    /* of a group of rows, which are the lanes of a block */
    FAST_BEST_BAND = 8,     /* groups that go through the classes together */
    FAST_BEST_CLASSES = 64, /* of a block, at most                                */
    FAST_BEST_CHUNK = 1024, /* classes whose exponentials are summed up together  */
};

/* Writes block[c, lane], [classes, FAST_BEST_ROWS]: the logits of the classes from `first` on, for the rows of a group,
 * which begin at row FAST_BEST_ROWS group.  Lanes that are no rows, in the last group, may get any numbers. */
typedef void fast_logits(const void *of, int64_t group, int64_t first, int64_t classes,
                         float *block);

/* A chunk's largest logit m and the sum of exp(logit - m), of each row of a group. */
typedef struct fast_best_sums {
    float top[FAST_BEST_ROWS], sum[FAST_BEST_ROWS];
} fast_best_sums;

/* values, ids [rows, k]: the 0 < k <= FAST_BEST_CLASSES largest of log_softmax(logits) in each row, descending, of
 * equal ones the first, and which classes they are.  Scratch: fast_best_scratch bytes. */
typedef struct fast_best_of {
    fast_logits *logits;
    const void *of; /* handed to it */
    float *values;
    int64_t *ids;
    int64_t rows, classes, k;
    int threads;
    void *scratch; /* aligned as any type */
} fast_best_of;

static inline int64_t fast_best_groups(int64_t rows)
{
    return (rows + FAST_BEST_ROWS - 1) / FAST_BEST_ROWS;
}

static inline int64_t fast_best_bands(int64_t rows)
{
    return (fast_best_groups(rows) + FAST_BEST_BAND - 1) / FAST_BEST_BAND;
}

static inline int64_t fast_best_chunks(int64_t classes)
{
    return (classes + FAST_BEST_CHUNK - 1) / FAST_BEST_CHUNK;
}

/* The chunks of a band come in so many parts that there are some for each thread. */
static inline int64_t fast_best_parts(int64_t rows, int64_t classes, int threads)
{
    int64_t parts = threads > 1 ? (4 * threads - 1) / fast_best_bands(rows) + 1 : 1,
            chunks = fast_best_chunks(classes);
    return parts < chunks ? parts : chunks;
}

/* The sums of all chunks, and the best of all parts but the first. */
static inline size_t fast_best_scratch(int64_t rows, int64_t classes, int64_t k, int threads)
{
    int64_t parts = fast_best_parts(rows, classes, threads),
            sums = fast_best_groups(rows) * fast_best_chunks(classes);
    return (size_t)sums * sizeof(fast_best_sums) +
           (size_t)((parts - 1) * rows * k) * (sizeof(int64_t) + sizeof(float));
}

/* Of products in 8 bits: x as lanes, and for each thread a block of weights and by how much they raise sums. */
static inline size_t fast_int8_best_panels(int64_t rows, int64_t width, int threads)
{
    size_t padded = ((size_t)width + 3) / 4 * 4 * sizeof(int32_t);
    return (size_t)fast_best_groups(rows) * FAST_BEST_ROWS * padded +
           (size_t)threads * FAST_BEST_CLASSES * (padded + sizeof(int64_t)) + 64;
}

#ifdef FAST_SUFFIX
void FAST(best_of_logits)(const fast_best_of *a);

/* block[c, lane] = x[lane, c], x [rows <= FAST_BEST_ROWS, classes] with rows ldx apart; other lanes become 0. */
void FAST(rows_as_lanes)(const float *x, int64_t ldx, int64_t rows, int64_t classes, float *block);
#endif

#endif
