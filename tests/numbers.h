/* Small graphs of given real numbers: constants from doubles, results compared within a
 * tolerance, kernels compared with the expansions of their ops. */
#ifndef WG_TESTS_NUMBERS_H
#define WG_TESTS_NUMBERS_H

#include "tests/small.h"
#include "wengert/autograd/grad.h"
#include "graph/element.h"
#include "wengert/ops/table.h"

#include <math.h>

/* A constant of any dtype from doubles. */
wg_value *numbers(wg_graph *g, wg_dtype dtype, wg_shape shape, const double *x);

/* Uniform on (lo, hi); integers of [lo, hi). */
wg_value *numbers_drawn(wg_graph *g, wg_dtype dtype, wg_shape shape, double lo, double hi,
                        uint64_t *seed);

/* |a - b| <= tolerance max(1, |b|); NaN is close to nothing, an infinity to itself. */
bool numbers_close(double a, double b, double tolerance);

void numbers_near(const char *what, wg_plan *p, const wg_value *v, const double *expected,
                  int64_t count, double tolerance);

/* Each element is finite. */
void numbers_finite(const char *what, wg_plan *p, const wg_value *v);

/* The bytes of a result in two plans are the same. */
void numbers_same_bits(const char *what, wg_plan *a, const wg_value *v, wg_plan *b,
                       const wg_value *w);

void numbers_expansion(const wg_op *op);

#endif
