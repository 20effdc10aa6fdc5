/* Small graphs of constants, run once: operands of small whole numbers, on which sums of products
 * are exact in f32 and f64, so that results are compared with ==. */
#ifndef WG_TESTS_SMALL_H
#define WG_TESTS_SMALL_H

#include "tests/any_threads.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

enum { SMALL_MAX = 1 << 16 };

/* Whole numbers from -4 to 4 into `numbers`, and a constant of them. */
static inline wg_value *small_constant(wg_graph *g, wg_dtype dtype, wg_shape shape, uint64_t *seed,
                                       double *numbers)
{
    static double f64[SMALL_MAX];
    static float f32[SMALL_MAX];
    int64_t count = wg_shape_count(&shape);
    assert_true(count <= SMALL_MAX);
    for (int64_t i = 0; i < count; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        f64[i] = (double)(*seed >> 33) / 238609294.3 - 4.5; /* (-4.5, 4.5) */
        f64[i] = (double)(int)(f64[i] + 10.5) - 10;
        f32[i] = (float)f64[i];
        if (numbers)
            numbers[i] = f64[i];
    }
    return wg_constant(g, dtype, shape, dtype == WG_F32 ? (const void *)f32 : (const void *)f64);
}

/* A plan of y[0..n) that has run once, on the given backends; none: on the best ones.  Fails with
 * the message of graph or plan. */
static inline wg_plan *small_run_on(const wg_backend_list *backends, wg_graph *g,
                                    wg_value *const *y, size_t n, int threads)
{
    wg_plan *p;
    wg_plan_options options = {.outputs = y, .n_outputs = n, .threads = threads, .no_fold = true};
    if (backends) {
        options.backends = backends->backend;
        options.n_backends = backends->count;
    }
    check_that(wg_plan_create(&p, g, &options) == WG_OK, "%s", wg_graph_message(g));
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

static inline wg_plan *small_run(wg_graph *g, wg_value *const *y, size_t n, int threads)
{
    return small_run_on(NULL, g, y, n, threads);
}

/* y[0..n) have the same bits on 1 to 5 threads, on the backends that promise it. */
static inline void small_same_at_any_threads(wg_graph *g, wg_value *const *y, size_t n)
{
    const wg_backend_list backends = any_threads_backends();
    wg_plan *one = small_run_on(&backends, g, y, n, 1);
    for (int threads = 2; threads <= 5; threads++) {
        wg_plan *many = small_run_on(&backends, g, y, n, threads);
        for (size_t i = 0; i < n; i++)
            check_that(memcmp(wg_plan_data(one, y[i]), wg_plan_data(many, y[i]),
                              wg_value_bytes(y[i])) == 0,
                       "result %zu, %s, differs at %d threads", i, y[i]->node->op->name, threads);
        wg_plan_free(many);
    }
    wg_plan_free(one);
}

/* Element i of a value of f32, f64 or i64 that the plan computed. */
static inline double small_at(wg_plan *p, const wg_value *v, int64_t i)
{
    const void *data = wg_plan_data(p, v);
    return v->dtype == WG_F32   ? (double)((const float *)data)[i]
           : v->dtype == WG_I64 ? (double)((const int64_t *)data)[i]
                                : ((const double *)data)[i];
}

/* Compares a result with `count` numbers, exactly; returns how many were compared. */
static inline int64_t small_equal(const char *what, wg_plan *p, const wg_value *v,
                                  const double *expected, int64_t count)
{
    check_that(wg_value_count(v) == count, "%s: %lld elements, expected %lld", what,
               (long long)wg_value_count(v), (long long)count);
    for (int64_t i = 0; i < count; i++)
        check_that(small_at(p, v, i) == expected[i], "%s: element %lld is %.17g, expected %.17g",
                   what, (long long)i, small_at(p, v, i), expected[i]);
    return count;
}

/* The graph is in error and says so in these words; frees it. */
static inline void small_refused(wg_graph *g, const char *words)
{
    check_that(wg_graph_status(g) != WG_OK, "not refused: %s", words);
    check_that(strstr(wg_graph_message(g), words), "\"%s\" does not say \"%s\"",
               wg_graph_message(g), words);
    wg_graph_free(g);
}

/* A call that must be refused: what is built from the arguments, and words of the message. */
typedef struct small_refusal {
    wg_value *(*build)(wg_graph *g, const void *arguments);
    const void *arguments;
    const char *words;
} small_refusal;

static inline void small_refuse_all(const small_refusal *rows, int n)
{
    check_that(n > 0, "nothing to refuse");
    for (int i = 0; i < n; i++) {
        wg_graph *g = wg_graph_new();
        check_that(!rows[i].build(g, rows[i].arguments), "not refused: %s", rows[i].words);
        small_refused(g, rows[i].words);
    }
}

/* n numbers in that dtype */
static inline wg_value *small_vector(wg_graph *g, wg_dtype dtype, const double *x, int64_t n)
{
    return wg_cast(wg_constant(g, WG_F64, WG_SHAPE(n), x), dtype);
}

/* The derivative of the sum of y */
static inline wg_value *small_slope(wg_value *y, wg_value *x)
{
    wg_value *dx = NULL;
    wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), &x, 1, &dx);
    return dx;
}

#endif
