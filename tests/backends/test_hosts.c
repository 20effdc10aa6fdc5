/* Programs with OpenMP of their own: a run within a parallel region, or where OpenMP may give fewer
 * threads than the plan has, computes what it does elsewhere, and leaves OpenMP as it was.  Also
 * run with OMP_THREAD_LIMIT, OMP_DYNAMIC and OMP_MAX_ACTIVE_LEVELS. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/ops.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>

/* ---- a gradient whose kernel counts on its threads ------------------------------------------- */

typedef struct subject {
    wg_graph *g;
    wg_value *x, *w, *dw;
} subject;

/* dw of a convolution: each thread sums some of the terms, the last one their sums. */
static subject convolution(void)
{
    subject s = {.g = wg_graph_new()};
    const wg_conv2d_options o = {
        .stride = {2, 2}, .padding = {1, 1}, .dilation = {1, 1}, .groups = 1};
    s.x = wg_input(s.g, "x", WG_F32, WG_SHAPE(1, 35, 42, 42));
    s.w = wg_input(s.g, "w", WG_F32, WG_SHAPE(19, 35, 3, 3));
    wg_value *y = wg_square(wg_conv2d(s.x, s.w, NULL, &o));
    assert_int_equal(wg_grad(wg_mean(y, WG_ALL_AXES, WG_DROP), &s.w, 1, &s.dw), WG_OK);
    wg_output(s.dw, "dw");
    return s;
}

static wg_plan *filled(const subject *s, const wg_plan_options *options)
{
    wg_plan *p = plan_of(s->g, options);
    wg_value *const in[] = {s->x, s->w};
    for (int k = 0; k < 2; k++) {
        float *data = wg_plan_data(p, in[k]);
        for (int64_t i = 0; i < wg_value_count(in[k]); i++)
            data[i] = sinf(0.7f * (float)i + (float)k);
    }
    return p;
}

static int64_t compare(const char *what, const subject *s, wg_plan *p, const float *expected)
{
    const float *y = floats(p, s->dw);
    float largest = 0;
    for (int64_t i = 0; i < wg_value_count(s->dw); i++)
        largest = fmaxf(largest, fabsf(expected[i]));
    for (int64_t i = 0; i < wg_value_count(s->dw); i++)
        check_that(fabsf(y[i] - expected[i]) <= 2e-6f * largest, "%s: dw[%d] is %g, expected %g",
                   what, (int)i, (double)y[i], (double)expected[i]);
    return wg_value_count(s->dw);
}

/* ---- runs in regions ------------------------------------------------------------------------- */

enum { TEAM = 2, RUNS = 3 };

static wg_status run_in_region(wg_plan *p)
{
    wg_status status = WG_EINVAL;
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    status = wg_plan_run(p, 0);
    return status;
}

static void runs_within_a_region(void **state)
{
    (void)state;
    subject s = convolution();
    wg_plan *reference = filled(&s, &(wg_plan_options){.reference = true, .threads = 1});
    run(reference, 0);
    const float *expected = floats(reference, s.dw);
    int64_t compared = 0;
    for (int threads = 0; threads <= 4; threads++) {
        wg_plan *p = filled(&s, &(wg_plan_options){.threads = threads});
        for (int i = 0; i < RUNS; i++) {
            run(p, 0);
            compared += compare("alone", &s, p, expected);
            check_that(run_in_region(p) == WG_OK, "%s", wg_plan_message(p));
            compared += compare("in a region", &s, p, expected);
        }
        wg_plan_free(p);
    }
    wg_plan_free(reference);
    wg_graph_free(s.g);
    assert_int_equal(compared, 5 * 2 * RUNS * 19 * 35 * 9);
}

/* Of the library, not of OpenMP, which has its own call. */
static bool no_threads;
typedef void *thread_main(void *context);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, thread_main *f, void *x);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, thread_main *f, void *x);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, thread_main *f, void *x)
{
    return no_threads ? EAGAIN : __real_pthread_create(thread, how, f, x);
}

static void a_run_without_a_thread_is_an_error(void **state)
{
    (void)state;
    subject s = convolution();
    wg_plan *p = filled(&s, &(wg_plan_options){.threads = TEAM});
    bool in_region = false;
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    in_region = omp_in_parallel();
    run(p, 0);
    no_threads = true;
    wg_status status = run_in_region(p);
    no_threads = false;
    bool aside = in_region && wg_plan_statistics(p).threads > 1;
    assert_int_equal(status, aside ? WG_ENOMEM : WG_OK);
    assert_string_equal(wg_plan_message(p),
                        aside ? "no thread for the run, which begins in a parallel region" : "");
    check_that(run_in_region(p) == WG_OK, "%s", wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(s.g);
}

/* Each thread of the program makes and runs plans of its own. */
static void each_thread_has_a_plan(void **state)
{
    (void)state;
    subject own[TEAM];
    wg_plan *p[TEAM] = {NULL};
    int bad = 0;
    for (int k = 0; k < TEAM; k++)
        own[k] = convolution();
    wg_plan *reference = filled(&own[0], &(wg_plan_options){.reference = true, .threads = 1});
    run(reference, 0);
#pragma omp parallel for num_threads(TEAM) schedule(static, 1) reduction(+ : bad)
    for (int k = 0; k < TEAM; k++) { /* one has a team, the other one thread */
        p[k] = filled(&own[k], &(wg_plan_options){.threads = k == 0 ? TEAM : 0});
        for (int i = 0; i < RUNS; i++)
            bad += wg_plan_run(p[k], 0) != WG_OK;
    }
    assert_int_equal(bad, 0);
    for (int k = 0; k < TEAM; k++) {
        compare("beside another", &own[k], p[k], floats(reference, own[0].dw));
        wg_plan_free(p[k]);
    }
    wg_plan_free(reference);
    for (int k = 0; k < TEAM; k++)
        wg_graph_free(own[k].g);
}

/* A region has shared out the cores; a limit holds whatever is asked for. */
static void the_number_of_threads_fits(void **state)
{
    (void)state;
    subject s = convolution();
    int limit = omp_get_thread_limit(), in_region = 0, team = 1;
#pragma omp parallel num_threads(TEAM)
#pragma omp single
    {
        wg_plan *p = filled(&s, NULL);
        in_region = wg_plan_statistics(p).threads;
        team = omp_in_parallel() ? omp_get_num_threads() : 1;
        wg_plan_free(p);
    }
    if (team > 1)
        assert_int_equal(in_region, 1);
    wg_plan *p = filled(&s, &(wg_plan_options){.threads = 3});
    assert_int_equal(wg_plan_statistics(p).threads, limit < 3 ? limit : 3);
    wg_plan_free(p);
    wg_graph_free(s.g);
}

/* ---- what a run leaves ----------------------------------------------------------------------- */

/* The first test: the run starts the threads, so that they begin as those of the run. */
static void threads_keep_subnormals(void **state)
{
    (void)state;
    subject s = convolution();
    wg_plan *p = filled(&s, &(wg_plan_options){.threads = TEAM});
    run(p, 0);
    volatile float tiny = 1e-39f;
    float half[TEAM] = {tiny * 0.5f, tiny * 0.5f};
#pragma omp parallel num_threads(TEAM)
    half[omp_get_thread_num()] = tiny * 0.5f;
    for (int k = 0; k < TEAM; k++)
        check_that(half[k] > 0, "thread %d: half of 1e-39 is %g", k, (double)half[k]);
    wg_plan_free(p);
    wg_graph_free(s.g);
}

static void settings_stay(void **state)
{
    (void)state;
    subject s = convolution();
    wg_plan *p = filled(&s, &(wg_plan_options){.threads = TEAM});
    for (int dynamic = 0; dynamic < 2; dynamic++)
        for (int levels = 0; levels < 3; levels++) {
            omp_set_dynamic(dynamic);
            omp_set_max_active_levels(levels);
            omp_set_num_threads(3 + levels);
            run(p, 0);
            assert_int_equal(omp_get_dynamic(), dynamic);
            assert_int_equal(omp_get_max_active_levels(), levels);
            assert_int_equal(omp_get_max_threads(), 3 + levels);
        }
    wg_plan_free(p);
    wg_graph_free(s.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_keep_subnormals),
        cmocka_unit_test(runs_within_a_region),
        cmocka_unit_test(a_run_without_a_thread_is_an_error),
        cmocka_unit_test(each_thread_has_a_plan),
        cmocka_unit_test(the_number_of_threads_fits),
        cmocka_unit_test(settings_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
