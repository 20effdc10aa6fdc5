/* When threads wait briefly for each other, and when one works alone. */
#include "tests/test.h"
#include "backends/delay.h"
#include "backends/waiting.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- from look to look ----------------------------------------------------------------------- */

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
static wgi_times so_far;
static int looks;

static wgi_times times_so_far(void)
{
    looks++;
    return so_far;
}

/* Milliseconds from the first run to the first that is told to wait briefly, where a run begins
 * every `step` milliseconds and cores are missing from `begin` on; -1: not within 10 seconds. */
static int first_brief_run(int step, int begin)
{
    const int64_t millisecond = 1000000, start = 7000 * millisecond;
    wgi_watch w = {.next = 0};
    so_far = (wgi_times){0};
    looks = 0;
    for (int ms = 0; ms <= 10000; ms += step) {
        if (wgi_watch_run(&w, start + ms * millisecond, times_so_far, 2))
            return ms;
        so_far.delay += ms >= begin ? step * millisecond : 0;
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

/* A run looked at for `seconds`, beside which other processes take cores from 1 s on, until `end`:
 * a team then has `team` cores and one thread `one`, with the delay of what they lack.  How many
 * looks find one thread alone; when that begins first, ends last, and how often it begins. */
typedef struct alone_run {
    int looks, begun;
    double first, last;
} alone_run;

static alone_run watch_alone(int threads, double team, double one, double seconds, double end)
{
    const int64_t second = 1000000000, start = 9 * second;
    alone_run r = {0};
    wgi_watch w = {.next = 0};
    so_far = (wgi_times){0};
    for (int tick = 0; tick < (int)(seconds * 10); tick++) {
        double at = tick / 10.0;
        bool was = w.alone.briefly, others = at > 1 && at <= end;
        double most = was ? 1 : threads, has = !others ? most : was ? one : team;
        so_far.delay += (int64_t)((most - has) * 0.1 * (double)second);
        so_far.used += (int64_t)(has * 0.1 * (double)second);
        bool briefly = wgi_watch_run(&w, start + tick * (second / 10), times_so_far, threads);
        assert_true(briefly || !w.alone.briefly);
        r.looks += w.alone.briefly;
        if (w.alone.briefly && !was && r.begun++ == 0)
            r.first = at;
        if (was && !w.alone.briefly)
            r.last = at;
    }
    return r;
}

static void test_one_thread_alone(void **state)
{
    (void)state;
    /* a busy process for each of two cores: alone from the second look on, until two seconds after
     * the last sign of it; the team is tried after two seconds, four, and so on, up to a minute */
    alone_run r = watch_alone(2, 0.55, 0.64, 20, 5);
    assert_int_equal(r.begun, 2);
    assert_true(r.first >= 1.15 && r.first <= 1.25);
    assert_true(r.last > 6.9 && r.last < 7.35);
    r = watch_alone(2, 0.55, 0.64, 600, 600);
    assert_in_range(r.begun, 5, 16);
    assert_true(r.looks > 5800);
    /* as much as alone, in a group of many */
    assert_true(watch_alone(16, 0.6, 0.64, 20, 6).looks > 45);
    /* where one thread gets less than the team, that is seen at once, and tried less and less */
    r = watch_alone(2, 0.6, 0.5, 600, 600);
    assert_in_range(r.looks, 5, 16);
    assert_int_equal(r.looks, r.begun);
    /* a team that gets more stays one, however many cores it lacks */
    assert_int_equal(watch_alone(2, 0.65, 1, 20, 20).looks, 0);
    assert_int_equal(watch_alone(16, 4, 0.5, 20, 20).looks, 0);
    assert_int_equal(watch_alone(2, 2, 1, 20, 20).looks, 0);
    /* one thread has a core for itself, and shows no sign that others are there: after two seconds
     * the team is tried again */
    r = watch_alone(2, 0.6, 1, 600, 600);
    assert_in_range(r.begun, 200, 300);
    assert_true(r.looks > 5400);
}

/* ---- what the system says -------------------------------------------------------------------- */

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

/* Takes 2 ms of processor time; the fewest threads of a call, and of what a library would start */
static int fewest, fewest_of_library;
static bool seen_alone;

static void compute_slowly(wg_call *c)
{
    struct timespec t;
    int64_t begin = -1, now;
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        now = t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
        begin = begin < 0 ? now : begin;
    } while (now - begin < 2000000);
    memset(c->out[0], 0, (size_t)wg_value_count(c->node->out[0]) * sizeof(float));
    int library = omp_get_max_threads();
    fewest = c->threads < fewest ? c->threads : fewest;
    fewest_of_library = library < fewest_of_library ? library : fewest_of_library;
    seen_alone = seen_alone || wgi_threads_alone();
}

static wg_status prepare_slow(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state, (void)n;
    *k = (wg_kernel){.name = "slow", .run = compute_slowly};
    return WG_OK;
}

/* Runs of a plan of two threads until it is told that one is enough; false if that never comes. */
static bool run_until_alone(wg_plan *p)
{
    enum { RUNS = 800 }; /* of 32 ms at least */
    fewest = fewest_of_library = 2;
    seen_alone = false;
    for (int i = 0; i < RUNS && !seen_alone; i++)
        assert_int_equal(wg_plan_run(p, 1), WG_OK);
    return seen_alone;
}

/* Beside twice as many busy processes as there are cores, calls of a backend whose bits allow it
 * have one thread, and others keep those of the plan. */
static void test_alone_beside_others(void **state)
{
    (void)state;
    enum { NODES = 16 };
    long others = 2 * sysconf(_SC_NPROCESSORS_ONLN);
    if (others > MOST_SPINNERS || access("/proc/self/schedstat", R_OK) != 0)
        skip();
    pid_t child[MOST_SPINNERS];
    for (long i = 0; i < others; i++)
        if ((child[i] = fork()) == 0) {
            alarm(120); /* if this test ends early */
            for (;;)
                ;
        }
    for (int any = 0; any < 2; any++) {
        const wg_backend slow = {.abi = WG_BACKEND_ABI,
                                 .name = "slow",
                                 .reproducible = any ? WG_ANY_THREADS : WG_SAME_THREADS,
                                 .refuses = refuses_all_but_tanh,
                                 .prepare = prepare_slow};
        const wg_backend *only = &slow;
        wg_graph *g = wg_graph_new();
        wg_value *y = wg_parameter(g, "x", WG_F32, WG_SHAPE(4096), wg_constant_init(1));
        for (int i = 0; i < NODES; i++)
            y = wg_tanh(y);
        wg_output(y, "y");
        wg_plan *p;
        wg_plan_options two = {.threads = 2, .backends = &only, .n_backends = 1};
        assert_int_equal(wg_plan_create(&p, g, &two), WG_OK);
        check_that(run_until_alone(p), "never alone beside %ld processes", others);
        assert_int_equal(fewest, any ? 1 : 2);
        assert_int_equal(fewest_of_library, any ? 1 : 2);
        wg_plan_free(p);
        wg_graph_free(g);
    }
    for (long i = 0; i < others; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
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
        cmocka_unit_test(test_waiting),
        cmocka_unit_test(test_lost_cores),
        cmocka_unit_test(test_half_a_second_to_settle),
        cmocka_unit_test(test_one_thread_alone),
        cmocka_unit_test(test_delay),
        cmocka_unit_test(test_looks_within_a_run), /* the first of the process */
        cmocka_unit_test(test_alone_beside_others),
        cmocka_unit_test(test_watched_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
