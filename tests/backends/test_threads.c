/* How many threads control groups leave to a run, how many a plan makes use of, and when threads
 * wait briefly for each other. */
#include "tests/test.h"
#include "backends/delay.h"
#include "backends/waiting.h"
#include "graph/quota.h"
#include "graph/threads.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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

/* ---- waiting --------------------------------------------------------------------------------- */

/* The seconds from each beginning of brief waiting to its end, when cores are lost at the times
 * [from, to) of each pair, looked at ten times a second. */
static size_t spans(const double lost[][2], size_t n, double end, double *out, size_t max)
{
    wgi_waiting w = {0};
    size_t count = 0;
    double begun = 0;
    for (int tick = 0; tick < (int)(end * 10); tick++) {
        double second = tick / 10.0;
        bool gone = false, before = w.briefly;
        for (size_t i = 0; i < n; i++)
            gone = gone || (second >= lost[i][0] && second < lost[i][1]);
        bool now = wgi_waiting_next(&w, (int64_t)tick * 100000000, gone);
        if (now && !before)
            begun = second;
        if (before && !now && count < max)
            out[count++] = second - begun;
    }
    return count;
}

static void test_waiting(void **state)
{
    (void)state;
    double length[8];
    assert_int_equal(spans(NULL, 0, 100, length, 8), 0); /* a quiet machine */
    /* one disturbance: two seconds from its last sign */
    const double once[][2] = {{10, 10.1}, {60, 63}};
    assert_int_equal(spans(once, 2, 100, length, 8), 2);
    assert_true(length[0] >= 2 && length[0] <= 2.2);
    assert_true(length[1] >= 4.9 && length[1] <= 5.2);
    /* a machine that is always shared, which shows only while threads spin: twice as long each
     * time, up to a minute */
    wgi_waiting w = {0};
    double total = 0;
    int begun = 0;
    for (int tick = 0; tick < 6000; tick++) {
        bool before = w.briefly, now = wgi_waiting_next(&w, (int64_t)tick * 100000000, !before);
        begun += now && !before;
        total += now * 0.1;
    }
    assert_in_range(begun, 10, 16);
    assert_true(total > 590);
}

/* Looks ten times a second, of which each sees so many nanoseconds of waiting more; which of them
 * say that cores are lost, as a text of one letter a look. */
static const char *looks_of(int threads, const int64_t *waited, int n)
{
    static char said[64];
    const int64_t start = 5000000000, before = 3000000000; /* of another life of the process */
    wgi_cores c = {0};
    int64_t delay = before;
    for (int i = 0; i < n; i++) {
        delay += waited[i];
        said[i] = wgi_cores_note(&c, start + i * (int64_t)100000000, delay, threads) ? 'L' : '.';
    }
    said[n] = '\0';
    return said;
}

/* Of two threads, more than 25 % + 2 * 3.125 % of the time is lost; and nothing of it in the first
 * five looks, while they settle. */
static void test_lost_cores(void **state)
{
    (void)state;
    enum { MS = 1000000, BAR = 31 * MS + MS / 4 };
    static const int64_t quiet[12] = {0}, shared[8] = {0,       90 * MS, 90 * MS, 90 * MS,
                                                       90 * MS, 90 * MS, 90 * MS, 90 * MS},
                         settling[10] = {0, 150 * MS, 150 * MS, 150 * MS, 150 * MS, 2 * MS, 3 * MS},
                         once[9] = {0, 0, 0, 0, 0, 0, 50 * MS, 0, 0},
                         bar[9] = {0, 0, 0, 0, 0, BAR, BAR + 1, BAR - 1, BAR + 1};
    assert_string_equal(looks_of(2, quiet, 12), "............");
    assert_string_equal(looks_of(2, shared, 8), ".....LLL");
    assert_string_equal(looks_of(2, settling, 10), "..........");
    assert_string_equal(looks_of(2, once, 9), "......L..");
    assert_string_equal(looks_of(2, bar, 9), "......L.L");
    /* each thread's small share of what a quiet system does counts for one thread more */
    assert_string_equal(looks_of(3, bar, 9), ".........");
    assert_string_equal(looks_of(8, shared, 8), ".....LLL");
    /* a look after a long time is judged by that time */
    wgi_cores c = {.looks = 5, .looked = 1000000000, .delay = 0};
    assert_false(wgi_cores_note(&c, 11000000000, 3000000000, 2));
    assert_true(wgi_cores_note(&c, 21000000000, 3000000000 + 3200000000, 2));
    assert_true(c.looked == 21000000000 && c.delay == 6200000000 && c.looks == 5);
}

/* A clock of the test's own, by which threads wait for their cores all the time or never. */
static int64_t waited;
static int looks;

static int64_t waited_so_far(void)
{
    looks++;
    return waited;
}

/* Milliseconds from the first run to the first that is told to wait briefly, where a run begins
 * every `step` milliseconds and cores are missing from `begin` on; -1: not within 10 seconds. */
static int first_brief_run(int step, int begin)
{
    const int64_t millisecond = 1000000, start = 7000 * millisecond;
    wgi_watch w = {.next = 0};
    waited = looks = 0;
    for (int ms = 0; ms <= 10000; ms += step) {
        if (wgi_watch_run(&w, start + ms * millisecond, waited_so_far, 2))
            return ms;
        waited += ms >= begin ? step * millisecond : 0;
    }
    return -1;
}

/* Half a second passes before a look counts, however often runs begin: six looks, a tenth of a
 * second apart.  After that a tenth of a second of missing cores is enough. */
static void test_half_a_second_to_settle(void **state)
{
    (void)state;
    assert_int_equal(first_brief_run(1, 0), 500);
    assert_int_equal(looks, 6);
    assert_int_equal(first_brief_run(20, 0), 500);
    assert_int_equal(looks, 6);
    assert_int_equal(first_brief_run(30, 0), 600); /* looks at each 120 ms */
    assert_int_equal(looks, 6);
    assert_int_equal(first_brief_run(700, 0), 3500); /* each run is a look */
    assert_int_equal(looks, 6);
    assert_int_equal(first_brief_run(1, 2000), 2100);
    assert_int_equal(first_brief_run(1, 20000), -1);
    assert_int_equal(looks, 101);
}

static atomic_bool over;

static void *spin(void *none)
{
    while (!atomic_load(&over))
        ;
    return none;
}

/* Twice as many threads as cores that only compute: they cannot all have one. */
enum { MOST_SPINNERS = 64, SHORT_SLEEP = 20000000 /* ns */ };
static pthread_t spinner[MOST_SPINNERS];

/* How many; 0 where there are too many cores, or where the system tells no delays. */
static int start_spinners(void)
{
    long n = 2 * sysconf(_SC_NPROCESSORS_ONLN);
    if (n > MOST_SPINNERS || access("/proc/self/schedstat", R_OK) != 0)
        return 0;
    atomic_store(&over, false);
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&spinner[i], NULL, spin, NULL), 0);
    return (int)n;
}

static void stop_spinners(int n)
{
    atomic_store(&over, true);
    for (int i = 0; i < n; i++)
        pthread_join(spinner[i], NULL);
}

static void short_sleep(void)
{
    nanosleep(&(struct timespec){.tv_nsec = SHORT_SLEEP}, NULL);
}

static void test_delay(void **state)
{
    (void)state;
    enum { PATIENCE = 1000 };
    int64_t before = wgi_run_delay(), after = before;
    int n = start_spinners();
    if (n == 0)
        skip();
    for (int i = 0; i < PATIENCE && after - before < SHORT_SLEEP; i++) {
        short_sleep();
        after = wgi_run_delay();
    }
    stop_spinners(n);
    assert_true(after - before >= SHORT_SLEEP);
}

/* ---- within a run ---------------------------------------------------------------------------- */

static const char *refuses_all_but_tanh(void *state, const wg_node *n)
{
    (void)state;
    return strcmp(n->op->name, "tanh") == 0 ? NULL : "has tanh alone";
}

static void tanh_slowly(wg_call *c)
{
    *(float *)c->out[0] = tanhf(*(const float *)c->in[0]);
    short_sleep();
}

static wg_status prepare_tanh(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state, (void)n;
    *k = (wg_kernel){.name = "slow", .run = tanh_slowly};
    return WG_OK;
}

/* A run of more than a second, as long as the looks need: its end would be too late to see that
 * cores are missing. */
static void test_looks_within_a_run(void **state)
{
    (void)state;
    enum { NODES = 128 };
    static const wg_backend slow = {.abi = WG_BACKEND_ABI,
                                    .name = "slow",
                                    .reproducible = WG_ANY_THREADS,
                                    .refuses = refuses_all_but_tanh,
                                    .prepare = prepare_tanh};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_parameter(g, "x", WG_F32, WG_SHAPE(1), wg_constant_init(1)), *y = x;
    for (int i = 0; i < NODES; i++)
        y = wg_tanh(y);
    wg_output(y, "y");
    wg_plan *p;
    unsetenv("OMP_WAIT_POLICY"); /* the tests' own, which would decide */
    const wg_backend *only = &slow;
    wg_plan_options two = {.threads = 2, .backends = &only, .n_backends = 1};
    assert_int_equal(wg_plan_create(&p, g, &two), WG_OK);
    int n = start_spinners();
    if (n > 0) {
        assert_int_equal(wg_plan_run(p, 1), WG_OK);
        assert_true(wgi_threads_watch(2));
        stop_spinners(n);
    }
    wg_plan_free(p);
    wg_graph_free(g);
    if (n == 0)
        skip();
}

/* Watching changes no number, whoever else runs. */
static void test_watched_runs(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_parameter(g, "x", WG_F32, WG_SHAPE(64, 64), wg_normal_init(1));
    wg_value *sum = wg_sum(wg_matmul(x, x), (wg_axes){0}, WG_DROP);
    wg_output(sum, "y");
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.threads = 2}), WG_OK);
    float first = 0;
    for (int i = 0; i < 200; i++) {
        assert_int_equal(wg_plan_run(p, 1), WG_OK);
        const float *y = wg_plan_f32(p, sum);
        assert_non_null(y);
        if (i == 0)
            first = *y;
        assert_memory_equal(y, &first, sizeof first);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quotas),
        cmocka_unit_test(test_default),
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_lost_cores),
        cmocka_unit_test(test_half_a_second_to_settle),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_looks_within_a_run), /* the first of the process */
        cmocka_unit_test(test_watched_runs),
        cmocka_unit_test(test_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
