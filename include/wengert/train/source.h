/* Where a training run takes its batches from.
 *
 * Examples of one shape, in arrays or written one at a time by a function, are batched and
 * shuffled by the trainer:
 *
 *     const wg_field fields[] = {{"x", WG_F32, WG_SHAPE(784), pixels},
 *                                {"label", WG_I32, WG_SCALAR, labels}};
 *     const wg_examples digits = {.fields = fields, .n_fields = 2, .count = 60000, .batch = 64};
 *
 * The model then has the inputs x [64,784] and label [64].
 *
 * Batches of several shapes, such as sentences of several lengths, come from a wg_source, whose
 * functions describe and write any batch.
 *
 * A batch is a function of (epoch, number of the batch): nothing else is the state of a source.
 * So a run that is resumed sees the batches that it would have seen. */
#ifndef WG_TRAIN_SOURCE_H
#define WG_TRAIN_SOURCE_H

#include "wengert/graph/error.h"
#include "wengert/graph/shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One input of a model. */
typedef struct wg_field {
    const char *name; /**< of the graph's input */
    wg_dtype dtype;   /**< of its elements */
    wg_shape shape;   /**< of one example: a batch is [rows, shape...].  Not used by wg_source */
    /** Of wg_examples: the numbers of all examples, [count, shape...], dense, or NULL if
     * wg_examples.read writes them.  Not used by wg_source. */
    const void *data;
} wg_field;

/** The order of the examples in an epoch. */
typedef enum wg_example_order {
    WG_ORDER_SHUFFLED = 0, /**< another one in each epoch, a function of (seed, epoch) */
    WG_ORDER_GIVEN         /**< as they are: for validation */
} wg_example_order;

/** What becomes of the last examples of an epoch, if they do not fill a batch. */
typedef enum wg_last_batch {
    WG_LAST_SMALLER = 0, /**< a batch of fewer rows, which has a plan of its own */
    WG_LAST_DROPPED      /**< left out; of shuffled examples other ones in each epoch */
} wg_last_batch;

/** Examples of one shape.  Zero means the default in every field but the first three.  What it
 * points to must stay as it is while it is in use. */
typedef struct wg_examples {
    const wg_field *fields; /**< [n_fields] the inputs of the model */
    size_t n_fields;        /**< length of `fields` */
    int64_t count;          /**< examples in an epoch, below 2^32 */
    /** Writes one example: to[k] is the place of its input k, with room for fields[k].shape.
     * `epoch` may choose among variants of it (an excerpt, a mirror image), as long as equal
     * arguments give equal bytes.  On failure it fills `error` and returns its status, which ends
     * the run.  NULL: examples are copied from fields[k].data. */
    wg_status (*read)(void *context, int64_t epoch, int64_t example, void *const *to,
                      wg_error *error);
    void *context;          /**< first argument of `read` */
    int64_t batch;          /**< rows of a batch; 0: 32 */
    wg_example_order order; /**< of the examples */
    wg_last_batch last;     /**< what becomes of the rest */
    uint64_t seed;          /**< of the order; 0: that of the run */
} wg_examples;

/** The size of a batch, as far as it is not in its shapes. */
typedef struct wg_batch_size {
    /** The weight of the batch in means over batches: its rows, or its tokens without padding.  The
     * loss of an update of several batches is the mean with these weights. */
    int64_t weight;
    int64_t examples; /**< rows that are not filler; 0: as many as `weight` */
} wg_batch_size;

/** Batches of any shapes.  Its functions are called by one thread at a time. */
typedef struct wg_source {
    const wg_field *fields; /**< [n_fields] names and dtypes of the inputs of the model */
    size_t n_fields;        /**< length of `fields` */
    int64_t batches;        /**< in an epoch, the same number in every epoch */
    /** Describes batch 0 <= i < batches of the epoch (0, 1, ...): the whole shape of each input in
     * shapes[0..n_fields), and its size.  Each set of shapes has a plan, so there should be few.
     * On failure it fills `error` and returns its status, which ends the run. */
    wg_status (*describe)(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                          wg_batch_size *size, wg_error *error);
    /** Writes that batch: to[k] is the memory of input k.  Fails as `describe` does. */
    wg_status (*fill)(void *context, int64_t epoch, int64_t i, void *const *to, wg_error *error);
    void *context; /**< first argument of all three */
    /** A hash of the data, by which a run that is resumed knows that they are the same; 0: it
     * cannot tell.  (Of wg_examples in arrays, the trainer computes it.) */
    uint64_t hash;
    /** The number of an example by which the user knows it, such as its line in a file: that in
     * this row of input k of the batch, a row being an index of the input's first axis.  It is for
     * messages about bad data; negative: it has none.  NULL: they tell the row alone.  (Of
     * wg_examples it is the number that `read` is given.) */
    int64_t (*example)(void *context, int64_t epoch, int64_t i, size_t k, int64_t row);
} wg_source;

/** A position in a source.  A group is the batches of one update. */
typedef struct wg_cursor {
    int64_t epoch; /**< 0, 1, ... */
    int64_t group; /**< the next group of batches in this epoch */
} wg_cursor;

#ifdef __cplusplus
}
#endif
#endif
