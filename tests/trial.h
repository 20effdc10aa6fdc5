/* A trial: a small graph whose inputs hold whole numbers from -4 to 4 (bools: 0 and 1), which
 * every dtype holds exactly and whose sums of products are exact, so that results are compared
 * with ==. */
#ifndef WG_TESTS_TRIAL_H
#define WG_TESTS_TRIAL_H

#include "tests/test.h"
#include "graph/element.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

enum { TRIAL_INPUTS = 16 };

typedef struct trial {
    wg_graph *g;
    wg_plan *p;
    int n;
    wg_value *x[TRIAL_INPUTS];
    double
        *data[TRIAL_INPUTS]; /* what goes into x, row-major; a test may change it before the run */
    uint64_t seed;
    bool reference; /* on the reference kernels alone */
    int64_t compared;
} trial;

trial trial_new(void);

/* a whole number of [lo, hi) */
double trial_draw(trial *t, double lo, double hi);

/* An input of whole numbers of [lo, hi). */
wg_value *trial_input_in(trial *t, wg_dtype dtype, wg_shape shape, double lo, double hi);

wg_value *trial_input(trial *t, wg_dtype dtype, wg_shape shape);

/* The numbers of an input. */
double *trial_data(const trial *t, const wg_value *x);

/* Plans y[0..n), fills the inputs and runs; the status is the run's. */
wg_status trial_try(trial *t, wg_value *const *y, size_t n, int threads);

void trial_run(trial *t, wg_value *const *y, size_t n, int threads);

double trial_at(const trial *t, const wg_value *y, int64_t i);

/* Element i of y must be exactly `expected`. */
void trial_expect(trial *t, const char *what, const wg_value *y, int64_t i, double expected);

/* Frees; at least `least` elements must have been compared. */
void trial_end(trial *t, int64_t min);

/* Counts an index up, the last axis fastest; false after the last. */
bool trial_next(const wg_shape *s, int64_t *index);

/* Where an index lies in a dense tensor of shape s; an axis of size 1 broadcasts. */
int64_t trial_offset(const wg_shape *s, const int64_t *index);

/* That a failed build says `message` (up to its line number). */
void trial_expect_message(const char *message, wg_value *y, wg_graph *g);

#endif
