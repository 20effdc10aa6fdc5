/* Cases for every op, and runs of one kernel between guards.
 *
 * A case is a wg_sample with numbers.  It is proposed by chance from a sample of the op: each size
 * that occurs in its operands (and in its attributes) is replaced by another, the same one wherever
 * it occurs, so that what must be equal stays equal; the shape rule then judges.  Size 1 stays 1,
 * since it may stand for a broadcast axis.
 *
 * Numbers are rounded to f32, so that all dtypes compute from the same. */
#ifndef WG_TESTS_CONFORMANCE_H
#define WG_TESTS_CONFORMANCE_H

#include "tests/test.h"
#include "graph/element.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>

enum { CONF_MAX_ELEMENTS = 1 << 14, CONF_RESULTS = 16, CONF_SEED = 7, CONF_STEP = 3 };

typedef struct conf_case {
    const wg_op *op;
    wg_sample sample;                   /* its attrs are owned */
    bool whole;                         /* small whole numbers */
    void *data[WG_MAX_SAMPLE_OPERANDS]; /* f32 where the dtype is open */
} conf_case;

/* ---- proposing ------------------------------------------------------------------------------- */

void conf_free(conf_case *c);

/* At most CONF_MAX_ELEMENTS in all operands together. */
bool conf_is_small(const conf_case *c);

/* Draws the numbers: floats of (lo, hi) unless both are 0, then as the sample says. */
void conf_fill(conf_case *c, double lo, double hi, uint64_t *seed);

/* The node of a case in graph g, NULL if the shape rule refuses it or its results are too large. */
wg_node *conf_build(wg_graph *g, const conf_case *c, wg_dtype dtype, wg_value **in);

/* Whose samples cases of op are proposed from: its own, mostly. */
const wg_op *conf_source_of(const wg_op *op);

/* Sample k of an op to propose from: its own first, then those of the tests; NULL past the end. */
const wg_sample *conf_sample_of(const wg_op *op, int k);

/* Case number `turn` of op from a sample of its source; false, and nothing to free, if there is
 * none. */
bool conf_case_of(const wg_op *op, const wg_sample *s, int turn, uint64_t *seed, conf_case *c);

/* ---- results --------------------------------------------------------------------------------- */

typedef struct conf_results {
    int n;
    int64_t count[CONF_RESULTS];
    wg_dtype dtype[CONF_RESULTS];
    void *data[CONF_RESULTS];
} conf_results;

void conf_results_free(conf_results *r);

bool conf_same_bits(const conf_results *a, const conf_results *b);

/* ---- running as a plan ----------------------------------------------------------------------- */

/* The case by a plan in `dtype`, with `backend` before cpu if it is not NULL.  false if the numbers
 * are refused (an id outside its range).  *used counts the steps that the backend took; `kernel`,
 * 64 bytes, names one. */
bool conf_run_plan(const conf_case *c, wg_dtype dtype, const wg_backend *backend, conf_results *r,
                   int *used, char *kernel);

/* How a case is run as a plan. */
typedef struct conf_way {
    wg_dtype dtype; /* of the operands whose dtype is open */
    /* Bits that choose for each operand how it is made of an input: as it is, or as a view of a
     * flat one, the inner rows of a longer one, one with the axes reversed.  0: all as they are. */
    uint64_t views;
    wg_plan_options options; /* outputs and seed are set */
} conf_way;

/* The same in that way. */
bool conf_run_way(const conf_case *c, const conf_way *w, conf_results *r, int *used, char *kernel);

/* ---- running one kernel between guards ------------------------------------------------------- */

typedef struct conf_device {
    const wg_backend *backend;
    void *state;
    int threads;
} conf_device;

conf_device conf_open(const wg_backend *backend, int threads);

void conf_close(conf_device *d);

/* The kernel of d for the node of case c: false if d refuses it.  With `inplace`, results take the
 * place of operands wherever the op allows it: with 1 as updates usually do, each new tensor that
 * of the old one; with 2, 3, ... those of the next operands, in turn.  Fails the test if the kernel
 * writes outside its results or into its operands. */
bool conf_run_kernel(const conf_device *d, const conf_case *c, const wg_node *n, int inplace,
                     conf_results *r, char *kernel);

#endif
