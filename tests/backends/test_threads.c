/* How many threads control groups leave to a run, and how many a plan makes use of. */
#include "tests/test.h"
#include "graph/quota.h"
#include "graph/threads.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- quotas ---------------------------------------------------------------------------------- */

typedef struct made {
    const char *path, *text; /* a file below the test's folder */
} made;

static const struct {
    const char *what;
    int processors;
    made files[6]; /* the first is what /proc/self/cgroup would say */
} quotas[] = {
    {"no control groups", 0, {{"groups", ""}}},
    {"version 2, a container", 2, {{"groups", "0::/\n"}, {"cpu.max", "200000 100000\n"}}},
    {"rounded up", 2, {{"groups", "0::/\n"}, {"cpu.max", "150000 100000\n"}}},
    {"less than one", 1, {{"groups", "0::/\n"}, {"cpu.max", "5000 100000\n"}}},
    {"version 2, no limit", 0, {{"groups", "0::/a\n"}, {"a/cpu.max", "max 100000\n"}}},
    {"a group below",
     3,
     {{"groups", "0::/a/b\n"}, {"a/b/cpu.max", "300000 100000\n"}, {"a/cpu.max", "max 100000\n"}}},
    {"a group above is stricter",
     1,
     {{"groups", "0::/a/b/c\n"},
      {"a/b/c/cpu.max", "300000 100000\n"},
      {"a/b/cpu.max", "max 100000\n"},
      {"a/cpu.max", "50000 50000\n"}}},
    {"another group's limit", 0, {{"groups", "0::/a\n"}, {"b/cpu.max", "100000 100000\n"}}},
    {"version 1",
     2,
     {{"groups", "5:cpuset:/\n4:cpu,cpuacct:/a\n0::/\n"},
      {"cpu/a/cpu.cfs_quota_us", "200000\n"},
      {"cpu/a/cpu.cfs_period_us", "100000\n"},
      {"cpu/cpu.cfs_quota_us", "-1\n"},
      {"cpu/cpu.cfs_period_us", "100000\n"}}},
    {"version 1, no limit",
     0,
     {{"groups", "1:cpu:/\n"},
      {"cpu/cpu.cfs_quota_us", "-1\n"},
      {"cpu/cpu.cfs_period_us", "100000\n"}}},
    {"version 1, a container that is told the group's path outside",
     1,
     {{"groups", "4:cpuacct,cpu:/docker/1234\n"},
      {"cpu/cpu.cfs_quota_us", "100000\n"},
      {"cpu/cpu.cfs_period_us", "100000\n"}}},
    {"a controller whose name begins alike",
     0,
     {{"groups", "4:cpuacct:/\n"},
      {"cpu/cpu.cfs_quota_us", "100000\n"},
      {"cpu/cpu.cfs_period_us", "100000\n"}}},
    {"files that say nothing", 0, {{"groups", "0::/\nx\n1:\n"}, {"cpu.max", "\n"}}},
    {"a period of zero", 0, {{"groups", "0::/\n"}, {"cpu.max", "100000 0\n"}}},
};

static void make_file(const char *folder, const made *m)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, m->path);
    for (char *slash = strchr(path + strlen(folder) + 1, '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(m->text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void test_quotas(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(quotas); i++) {
        char folder[] = "/tmp/wg_quota_XXXXXX", groups[100], command[100];
        assert_non_null(mkdtemp(folder));
        for (const made *m = quotas[i].files; m->path; m++)
            make_file(folder, m);
        snprintf(groups, sizeof groups, "%s/groups", folder);
        int processors = wgi_quota_in(groups, folder);
        if (processors != quotas[i].processors)
            fail_msg("%s: %d processors, expected %d", quotas[i].what, processors,
                     quotas[i].processors);
        snprintf(command, sizeof command, "rm -r %s", folder);
        assert_int_equal(system(command), 0);
    }
    assert_int_equal(wgi_quota_in("/nonexistent/groups", "/nonexistent"), 0);
}

static void test_default(void **state)
{
    (void)state;
    int threads = wgi_threads(0), quota = wgi_quota_processors();
    assert_true(threads >= 1);
    assert_int_equal(wgi_threads(7), 7);
    assert_true(getenv("OMP_NUM_THREADS") || quota == 0 || threads <= quota);
    const struct {
        int openmp, quota, threads;
    } defaults[] = {
        {8, 0, 8},
        {8, 3, 3},
        {2, 5, 2},
        {WG_MAX_THREADS, 0, WG_MAX_THREADS},
        {WG_MAX_THREADS + 1, 0, WG_MAX_THREADS},
        {INT_MAX, WG_MAX_THREADS + 1, WG_MAX_THREADS},
        {INT_MAX, 1, 1},
    };
    for (size_t i = 0; i < WG_COUNT(defaults); i++)
        assert_int_equal(wgi_threads_default(defaults[i].openmp, defaults[i].quota),
                         defaults[i].threads);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static int threads_of_calls; /* that the kernels of `counting` have had, at most */

static const char *refuses_nothing(void *state, const wg_node *n)
{
    (void)state, (void)n;
    return NULL;
}

static void count_threads(wg_call *c)
{
    threads_of_calls = c->threads > threads_of_calls ? c->threads : threads_of_calls;
    memset(c->out[0], 0, wg_value_bytes(c->node->out[0]));
}

static wg_status prepare_count(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state, (void)n;
    *k = (wg_kernel){.name = "count", .run = count_threads};
    return WG_OK;
}

/* Of some products of [n, n] one after the other, or of a sine of n x n numbers; a larger one that
 * is not asked for makes no difference.  A product of 128 is large, but only two are worth a team;
 * no number of small ones is. */
static void test_plans(void **state)
{
    (void)state;
    static const struct {
        bool sine;
        int64_t n;
        int times, asked;
        int plan, call; /* 0: as many as there are */
    } cases[] = {
        {false, 8, 1, 0, 1, 1},   {false, 64, 1, 0, 1, 1},  {false, 64, 40, 0, 1, 1},
        {false, 128, 1, 0, 1, 1}, {false, 128, 2, 0, 0, 0}, {false, 512, 1, 0, 0, 0},
        {false, 8, 1, 3, 3, 1},   {false, 64, 1, 3, 3, 3},  {false, 512, 1, 3, 3, 3},
        {false, 512, 1, 1, 1, 1}, {true, 128, 1, 0, 1, 1},  {true, 512, 1, 0, 0, 0},
        {true, 16, 1, 2, 2, 1},   {true, 64, 1, 2, 2, 2},
    };
    static const wg_backend counting = {.abi = WG_BACKEND_ABI,
                                        .name = "counting",
                                        .reproducible = WG_ANY_THREADS,
                                        .refuses = refuses_nothing,
                                        .prepare = prepare_count};
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(cases[i].n, cases[i].n));
        wg_value *big = wg_input(g, "big", WG_F32, WG_SHAPE(512, 512));
        wg_value *y = x;
        for (int k = 0; k < cases[i].times; k++)
            y = cases[i].sine ? wg_sin(y) : wg_matmul(y, x);
        wg_output(wg_matmul(big, big), "not asked for");
        const wg_backend *only = &counting;
        wg_plan *p;
        assert_int_equal(wg_plan_create(&p, g,
                                        &(wg_plan_options){.threads = cases[i].asked,
                                                           .outputs = &y,
                                                           .n_outputs = 1,
                                                           .backends = &only,
                                                           .n_backends = 1}),
                         WG_OK);
        int all = wgi_threads(0);
        threads_of_calls = 0;
        assert_int_equal(wg_plan_run(p, 1), WG_OK);
        assert_int_equal(wg_plan_statistics(p).threads, cases[i].plan ? cases[i].plan : all);
        assert_int_equal(threads_of_calls, cases[i].call ? cases[i].call : all);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotas),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
