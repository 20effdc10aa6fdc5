/* The libraries of the lapack backend, which are loaded for the first node that it takes; and how
 * many threads its BLAS is told to use: one for small matrices, those of the plan for large ones,
 * and afterwards as many as before.  OpenBLAS's functions for it are found in this program
 * first. */
#include "tests/plans.h"
#include "wengert/backends/lapack.h"
#include "wengert/ops/ops.h"

#include <dlfcn.h>

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

static wg_value *orthogonal(wg_value *a)
{
    return wg_qr(a);
}

static wg_value *eigenvalues(wg_value *a)
{
    return wg_eigh(a);
}

static wg_value *singular_values(wg_value *a)
{
    return wg_svdvals(a);
}

/* A plan of a backend for a Cholesky factor of n rows */
static void plan_cholesky(const wg_backend *backend, int64_t n)
{
    wg_graph *g = wg_graph_new();
    wg_output(cholesky(wg_input(g, "a", WG_F32, WG_SHAPE(n, n))), "y");
    wg_plan_free(plan_of(g, &(wg_plan_options){.backends = &backend, .n_backends = 1}));
    wg_graph_free(g);
}

static bool is_loaded(void)
{
    void *library = dlopen("liblapacke.so.3", RTLD_LAZY | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    return library != NULL;
}

static void libraries_are_loaded_for_the_first_node(void **state)
{
    (void)state;
    const wg_backend *lapack = wg_lapack_backend();
    if (!lapack)
        skip();
    assert_false(is_loaded());
    plan_cholesky(lapack, 4); /* too small: the reference has it */
    plan_cholesky(wg_cpu_backend(), 40);
    assert_false(is_loaded());
    plan_cholesky(lapack, 40);
    assert_true(is_loaded());
}

static void blas_has_as_many_threads_as_pay(void **state)
{
    (void)state;
    if (!wg_lapack_backend())
        skip();
    wg_value *(*const builds[])(wg_value *) = {cholesky,   lu,          inverse,
                                               orthogonal, eigenvalues, singular_values};
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(libraries_are_loaded_for_the_first_node),
                                       cmocka_unit_test(blas_has_as_many_threads_as_pay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
