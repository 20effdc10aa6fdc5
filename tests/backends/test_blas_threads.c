/* How many threads the BLAS of the lapack backend is told to use: one for small matrices, those of
 * the plan for large ones; and afterwards as many as before.  OpenBLAS's functions for it are found
 * in this program first. */
#include "tests/plans.h"
#include "wengert/backends/lapack.h"
#include "wengert/ops/ops.h"

enum { BEFORE = 5, MOST = 64 };

static int now = BEFORE, told[MOST], times;

WG_API int openblas_get_num_threads(void);
int openblas_get_num_threads(void)
{
    return now;
}

WG_API void openblas_set_num_threads(int threads);
void openblas_set_num_threads(int threads)
{
    assert_in_range(times, 0, MOST - 1);
    told[times++] = now = threads;
}

/* Each call of BLAS is told of `used` threads, and then of those before. */
static void check(wg_value *(*build)(wg_value *a), int64_t n, int threads, int used)
{
    const wg_backend *lapack = wg_lapack_backend();
    wg_graph *g = wg_graph_new();
    wg_value *a = wg_input(g, "a", WG_F32, WG_SHAPE(n, n));
    wg_output(build(a), "y");
    wg_plan *p =
        plan_of(g, &(wg_plan_options){.backends = &lapack, .n_backends = 1, .threads = threads});
    float *data = wg_plan_data(p, a);
    for (int64_t i = 0; i < n * n; i++)
        data[i] = i % (n + 1) == 0 ? 2 : 0;
    times = 0;
    run(p, 0);
    assert_true(times >= 2 && times % 2 == 0);
    for (int i = 0; i < times; i += 2) {
        assert_int_equal(told[i], used);
        assert_int_equal(told[i + 1], BEFORE);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static wg_value *cholesky(wg_value *a)
{
    return wg_cholesky(a, WG_LOWER);
}

static wg_value *lu(wg_value *a)
{
    return wg_lu(a);
}

static wg_value *inverse(wg_value *a)
{
    return wg_inverse(a); /* lu and triangular_solve */
}

static void blas_has_as_many_threads_as_pay(void **state)
{
    (void)state;
    if (!wg_lapack_backend())
        skip();
    wg_value *(*const builds[])(wg_value *) = {cholesky, lu, inverse};
    for (int i = 0; i < WG_COUNT(builds); i++) {
        check(builds[i], 40, 3, 1);
        check(builds[i], 600, 1, 1);
    }
    check(cholesky, 600, 3, 3);
    check(lu, 600, 3, 3);
    check(lu, 600, BEFORE + 1, BEFORE); /* OPENBLAS_NUM_THREADS */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(blas_has_as_many_threads_as_pay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
