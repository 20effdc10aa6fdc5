/* A team of one thread is a plain call: no kernel of the simd backend opens an OpenMP region for
 * it, on any instruction set (WENGERT_MAX_CPU_ISA). */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "backends/simd/kernels/team.h"
#include "tests/plans.h"
#include "tests/sample.h"
#include "wengert/backends/simd.h"

#include <dlfcn.h>
#include <stdatomic.h>

/* ---- regions are counted --------------------------------------------------------------------- */

static atomic_int of_one, of_more;

#if !defined(__clang__)
/* What gcc calls where a region begins, in the place of libgomp's. */
typedef void body(void *data);

static void count(unsigned threads)
{
    atomic_fetch_add(threads == 1 ? &of_one : &of_more, 1);
}

static void *of_libgomp(const char *name)
{
    void *f = dlsym(RTLD_NEXT, name);
    if (!f)
        abort();
    return f;
}

void GOMP_parallel(body *begun, void *data, unsigned threads, unsigned flags);
void GOMP_parallel(body *begun, void *data, unsigned threads, unsigned flags)
{
    void (*begin)(body *, void *, unsigned, unsigned);
    *(void **)&begin = of_libgomp("GOMP_parallel");
    count(threads);
    begin(begun, data, threads, flags);
}

#define LOOP(name)                                                                                 \
    void name(body *begun, void *data, unsigned threads, long from, long to, long step,            \
              long share, unsigned flags);                                                         \
    void name(body *begun, void *data, unsigned threads, long from, long to, long step,            \
              long share, unsigned flags)                                                          \
    {                                                                                              \
        void (*begin)(body *, void *, unsigned, long, long, long, long, unsigned);                 \
        *(void **)&begin = of_libgomp(#name);                                                      \
        count(threads);                                                                            \
        begin(begun, data, threads, from, to, step, share, flags);                                 \
    }
LOOP(GOMP_parallel_loop_dynamic)
LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
enum { COUNTED = true };
#else
enum { COUNTED = false }; /* LLVM's runtime gets a region with any number of arguments */
#endif

/* ---- the ways to share out work -------------------------------------------------------------- */

typedef struct seen {
    atomic_int calls, level, members;
} seen;

static void note(const void *args)
{
    seen *s = *(seen *const *)args;
    atomic_fetch_add(&s->calls, 1);
    atomic_store(&s->level, omp_get_level());
}

static void member(const void *args, simd_member m)
{
    note(args);
    atomic_store(&(*(seen *const *)args)->members, m.team);
    simd_meet(m);
}

static void task(const void *args, int64_t i)
{
    (void)i;
    note(args);
}

static void uneven_task(const void *args, int64_t i, int me)
{
    (void)i;
    (void)me;
    note(args);
}

static void one_thread_opens_no_region(void **state)
{
    enum { TASKS = 7 };
    (void)state;
    for (int threads = 0; threads <= 2; threads++) {
        const int level = threads > 1, before = of_one + of_more;
        seen s[3] = {{0}};
        const seen *at[] = {&s[0], &s[1], &s[2]};
        simd_team(threads, member, &at[0]);
        simd_tasks(threads, TASKS, task, &at[1]);
        simd_uneven_tasks(threads, TASKS, 2, uneven_task, &at[2]);
        assert_int_equal(s[0].calls, s[0].members);
        assert_true(s[0].members == 1 || threads == 2);
        assert_int_equal(s[1].calls, TASKS);
        assert_int_equal(s[2].calls, TASKS);
        for (int i = 0; i < 3; i++)
            assert_int_equal(s[i].level, level);
        if (COUNTED)
            assert_int_equal(of_one + of_more - before, 3 * level);
    }
}

/* Within a region of the program, whose threads have numbers: each is its own team of one. */
static void within_a_region_one_thread_is_number_zero(void **state)
{
    atomic_int wrong = 0;
    (void)state;
#pragma omp parallel num_threads(4)
    {
        seen s = {0};
        const seen *at = &s;
        simd_team(1, member, &at);
        atomic_fetch_add(&wrong, s.calls != 1 || s.members != 1 || s.level != 1);
    }
    assert_int_equal(wrong, 0);
}

/* ---- every kernel ---------------------------------------------------------------------------- */

/* Whether the plan has kernels of the simd backend and no others. */
static bool is_simd_alone(const wg_plan *p)
{
    size_t n = wg_plan_step_count(p);
    for (size_t i = 0; i < n; i++)
        if (strcmp(wg_plan_step_at(p, i).backend, "simd") != 0)
            return false;
    return n > 0;
}

/* Regions that the plan of a sample opens on one thread; -1 if it has other kernels too. */
static int regions_of(const wg_op *op, const wg_sample *s)
{
    const wg_backend *const list[] = {wg_simd_backend()};
    sample_graph b = sample_build(op, s, WG_F32, 1);
    int regions = -1;
    for (int i = 0; i < b.node->n_out; i++)
        wg_output(b.node->out[i], NULL);
    wg_plan *p = plan_of(b.g, &(wg_plan_options){.backends = list, .n_backends = 1, .threads = 1});
    if (is_simd_alone(p)) {
        for (int i = 0; i < b.n_in; i++)
            memcpy(wg_plan_data(p, b.in[i]), b.data[i], wg_value_bytes(b.in[i]));
        const int before = of_one + of_more;
        run(p, 1);
        regions = of_one + of_more - before;
    }
    wg_plan_free(p);
    sample_free(&b);
    return regions;
}

static void kernels_on_one_thread_open_no_region(void **state)
{
    int ran = 0, failures = 0;
    (void)state;
    if (!COUNTED)
        skip();
    FOR_EACH_SAMPLE(op, s)
    {
        int regions = op->flags & WG_OP_LEAF ? -1 : regions_of(op, s);
        if (regions > 0)
            print_error("%s, %s: %d regions for one thread\n", op->name, sample_name(s), regions);
        ran += regions >= 0;
        failures += regions > 0;
    }
    print_message("%d plans of simd kernels\n", ran);
    assert_true(ran > 150);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_opens_no_region),
        cmocka_unit_test(within_a_region_one_thread_is_number_zero),
        cmocka_unit_test(kernels_on_one_thread_open_no_region),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
