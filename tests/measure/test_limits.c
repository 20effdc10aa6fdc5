/* Timing in turn, and the limits of the machine: what does not depend on how fast it is. */
#include "tests/test.h"
#include "measure/limits.h"

#include <time.h>

typedef struct worker {
    int *log, *n_log; /* shared: who ran, in order */
    int id, calls, fail_at;
    long nanoseconds;
} worker;

static wg_status work(void *context)
{
    worker *w = context;
    if (*w->n_log < 1000)
        w->log[(*w->n_log)++] = w->id;
    nanosleep(&(struct timespec){.tv_nsec = w->nanoseconds}, NULL);
    return ++w->calls == w->fail_at ? WG_EDATA : WG_OK;
}

static void subjects_take_turns(void **state)
{
    (void)state;
    int log[1000], n_log = 0;
    worker w[2] = {{log, &n_log, 0, 0, 0, 3000000}, {log, &n_log, 1, 0, 0, 6000000}};
    const bench_subject subject[] = {{work, &w[0]}, {work, &w[1]}};
    bench_times t[2];
    assert_int_equal(bench_interleaved(subject, 2, &(bench_schedule){.runs = 5}, t), WG_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(t[i].runs, 5);
        assert_int_equal(w[i].calls, 2 + 5);
        assert_true(t[i].min >= 1e-9 * (double)w[i].nanoseconds);
        assert_true(t[i].min <= t[i].median && t[i].median <= t[i].max);
    }
    for (int i = 4; i < n_log; i++) /* after two calls of each to warm up */
        assert_int_equal(log[i], i % 2);
    assert_int_equal(n_log, 14);
}

/* A sample of a quarter of an hour: the 50th call of the first one fails. */
static void short_calls_are_repeated(void **state)
{
    (void)state;
    int log[1000], n_log = 0;
    worker w = {log, &n_log, 0, 0, 50, 1};
    bench_times t;
    const bench_schedule schedule = {.runs = 1, .sample = 1000};
    assert_int_equal(bench_interleaved(&(bench_subject){work, &w}, 1, &schedule, &t), WG_EDATA);
    assert_int_equal(w.calls, 50);
}

static void a_time_limit_leaves_three_rounds(void **state)
{
    (void)state;
    int log[1000], n_log = 0;
    worker w = {log, &n_log, 0, 0, 0, 5000000};
    bench_times t;
    const bench_schedule schedule = {.runs = 100, .seconds = 1e-6};
    assert_int_equal(bench_interleaved(&(bench_subject){work, &w}, 1, &schedule, &t), WG_OK);
    assert_int_equal(t.runs, 3);
    assert_int_equal(w.calls, 5);
}

static void failures_end_it(void **state)
{
    (void)state;
    for (int at = 1; at <= 5; at++) {
        int log[1000], n_log = 0;
        worker w[2] = {{log, &n_log, 0, 0, 0, 3000000}, {log, &n_log, 1, 0, at, 3000000}};
        const bench_subject subject[] = {{work, &w[0]}, {work, &w[1]}};
        bench_times t[2] = {{0}};
        assert_int_equal(bench_interleaved(subject, 2, &(bench_schedule){.runs = 5}, t), WG_EDATA);
        assert_int_equal(w[1].calls, at);
        assert_int_equal(t[0].runs, 0);
    }
}

static void limits_are_rates(void **state)
{
    (void)state;
    const bench_limits_options small = {.threads = 2, .matmul_size = 96, .triad_bytes = 1 << 20};
    bench_limits l;
    assert_int_equal(bench_limits_measure(&l, &small), WG_OK);
    assert_int_equal(l.threads, 2);
    assert_int_equal(l.matmul_size, 96);
    assert_true(l.matmul_flops == 2.0 * 96 * 96 * 96);
    assert_true(l.triad_traffic == 3.0 * (1 << 20));
    assert_true(strlen(l.matmul_kernel) > 0);
    assert_true(l.matmul.runs >= 3 && l.triad.runs >= 3 && l.triad_one.runs >= 3);
    assert_true(bench_matmul_rate(&l) >= l.matmul_flops / l.matmul.median);
    assert_true(bench_memory_rate(&l) >= l.triad_traffic / l.triad.median);
    assert_true(bench_memory_rate(&l) >= l.triad_traffic / l.triad_one.median);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subjects_take_turns),
        cmocka_unit_test(short_calls_are_repeated),
        cmocka_unit_test(a_time_limit_leaves_three_rounds),
        cmocka_unit_test(failures_end_it),
        cmocka_unit_test(limits_are_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
