/* An op applied to one of its samples, and numbers for its operands: what the generic tests share.
 */
#ifndef WG_TESTS_SAMPLE_H
#define WG_TESTS_SAMPLE_H

#include "graph/mix.h"
#include "tests/test.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

typedef struct sample_graph {
    wg_graph *g;
    wg_node *node; /* NULL if the op refused */
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    void *data[WG_MAX_SAMPLE_OPERANDS]; /* of each operand */
    int n_in;
} sample_graph;

/* Numbers for v, an operand of op that the sample describes as x, drawn as the sample says. */
void sample_fill(const wg_op *op, const wg_sample_operand *x, const wg_value *v, void *data,
                 uint64_t *state);

/* The op on operands of the sample's shapes, every size above 1 times `times`; no numbers. */
sample_graph sample_shapes(const wg_op *op, const wg_sample *s, wg_dtype real, int64_t times);

sample_graph sample_build(const wg_op *op, const wg_sample *s, wg_dtype real, int64_t times);

void sample_free(sample_graph *b);

const char *sample_name(const wg_sample *s);

/* About how many steps a run of the node takes: its operations, or its elements, of which an axis
 * of size 0 counts as one, since kernels may walk along the others. */
double sample_work(const wg_node *n);

/* Largest difference of two results, relative to the largest magnitude of b (at least 1); NaN if
 * one of them alone has NaN. */
double sample_distance(const void *a, wg_dtype da, const void *b, wg_dtype db, int64_t count);

/* for each op of the table and each of its samples */
#define FOR_EACH_SAMPLE(op, s)                                                                     \
    for (size_t op##_at = 0; op##_at != SIZE_MAX;                                                  \
         op##_at = wg_op_at(op##_at + 1) ? op##_at + 1 : SIZE_MAX)                                 \
        for (const wg_op *op = wg_op_at(op##_at), *op##_once = op; op##_once; op##_once = NULL)    \
            for (const wg_sample *s = op->samples; s < op->samples + op->n_samples; s++)

#endif
