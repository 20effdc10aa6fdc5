/* Without memory: each allocation of each workload fails, once and from then on, be it the
 * library's own or one of a library that it uses.  Then there is a status other than WG_OK, or the
 * same result as ever; nothing leaks, what a failure must not change is as before, and the same
 * work succeeds afterwards.  Each point has a process of its own, so that a crash is told like any
 * failure.
 *
 *     test_failing_memory          some points of each workload
 *     test_failing_memory all      every point; with a second argument, of that workload only
 *     test_failing_memory "run a step" default 17+     this one in this process, for a debugger */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/failing/memory.h"
#include "tests/failing/workloads.h"
#include "tests/test.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char __executable_start, etext;

/* Crashes of libraries that this project cannot prevent: docs/reliability.md. */
static const struct {
    const char *object;
    int signal;
    const char *why;
} known_crashes[] = {
    {"/libdnnl.so", SIGSEGV, "oneDNN uses what its constructors had no memory for"},
    {"/libdnnl.so", SIGABRT, "and ends in std::terminate where a function is noexcept"},
};
enum { KNOWN = sizeof known_crashes / sizeof *known_crashes };

/* ---- one point ------------------------------------------------------------------------------- */

typedef struct point {
    const workload *work;
    bool reference;
    size_t at;
    bool for_good;
} point;

enum { FAILED, SURVIVED, WRONG, CHANGED, LEAKED, UNUSABLE, CRASHED };

/* What became of it; the parent reads it. */
typedef struct outcome {
    int what;
    wg_status status;
    size_t calls;
    uint64_t digest;
    int signal;
    char text[300];
} outcome;

static outcome *shared;

static void tell(int signal, const char *object)
{
    shared->what = CRASHED;
    shared->signal = signal;
    snprintf(shared->text, sizeof shared->text, "signal %d in %s", signal, object);
    _Exit(0);
}

/* What leaks: on the reference every block counts, elsewhere those of the project's own code, since
 * libraries keep caches. */
static size_t blocks(const point *p)
{
    return p->reference ? live_blocks() : watched_blocks();
}

static int try(const point *p, uint64_t expected)
{
    const workload *w = p->work;
    size_t before = blocks(p);
    uint64_t digest = 0, again = 0;
    void *state = w->prepare(p->reference);
    uint64_t kept = w->kept ? w->kept(state) : 0;
    fail_from_now(p->at, p->for_good);
    shared->status = w->work(state, &digest);
    shared->calls = fail_no_more();
    shared->digest = digest;
    bool failed = shared->status != WG_OK;
    if (!failed && expected && digest != expected)
        return WRONG;
    if (failed && w->kept && w->kept(state) != kept)
        return CHANGED;
    if (failed && (w->work(state, &again) != WG_OK || again != expected))
        return UNUSABLE;
    w->finish(state);
    if (blocks(p) != before) {
        const char *by = a_watched_block();
        snprintf(shared->text, sizeof shared->text, "%zu blocks, of code at +0x%zx",
                 blocks(p) - before, by ? (size_t)(by - &__executable_start) : 0);
        return LEAKED;
    }
    return failed ? FAILED : SURVIVED;
}

/* In a process of its own. */
static void run(const point *p, uint64_t expected)
{
    *shared = (outcome){.what = CRASHED};
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        tell_crashes(tell);
        if (p->reference) /* what libraries make once and keep, as OpenMP its team */
            try(&(point){.work = p->work, .reference = true}, 0);
        shared->what = try(p, expected);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        shared->what = CRASHED;
        snprintf(shared->text, sizeof shared->text, "exit status %d", status);
    }
}

/* ---- all points ------------------------------------------------------------------------------ */

typedef struct counts {
    size_t points, failed, survived, known, wrong;
} counts;

static bool is_known(void)
{
    for (int i = 0; i < KNOWN; i++)
        if (shared->signal == known_crashes[i].signal &&
            strstr(shared->text, known_crashes[i].object))
            return true;
    return false;
}

static const char *const outcomes[] = {
    [FAILED] = "fails",
    [SURVIVED] = "as ever",
    [WRONG] = "WG_OK with another result",
    [CHANGED] = "a failure changed something",
    [LEAKED] = "leaks",
    [UNUSABLE] = "cannot be done again",
    [CRASHED] = "crashes",
};

static void note(const point *p, size_t total, counts *c)
{
    c->points++;
    if (shared->what == FAILED)
        c->failed++;
    else if (shared->what == SURVIVED)
        c->survived++;
    else if (shared->what == CRASHED && is_known())
        c->known++;
    else {
        c->wrong++;
        printf("%s, %s, allocation %zu of %zu fails%s: %s (%s) %s\n", p->work->name,
               p->reference ? "reference" : "default backends", p->at, total,
               p->for_good ? " and all after" : "", outcomes[shared->what],
               wg_status_text(shared->status), shared->text);
    }
}

/* At most `most` points of each way, equally far apart. */
static void fail_points(const workload *w, bool reference, size_t most, counts *sum)
{
    point p = {w, reference, 0, false};
    run(&p, 0);
    check_that(shared->what == SURVIVED, "%s: %s %s", w->name, wg_status_text(shared->status),
               shared->text);
    size_t total = shared->calls, step = total > most ? (total + most - 1) / most : 1;
    uint64_t expected = shared->digest;
    counts c = {0};
    for (size_t i = 1 + step / 2; i <= total; i += step)
        for (int way = 0; way < 2; way++) {
            p.at = i;
            p.for_good = way;
            run(&p, expected);
            note(&p, total, &c);
        }
    printf("%-28s %-17s %5zu allocations, %5zu points: %5zu failed, %5zu as ever, %3zu crashed in "
           "a library, %zu wrong\n",
           w->name, reference ? "reference" : "default backends", total, c.points, c.failed,
           c.survived, c.known, c.wrong);
    sum->points += c.points;
    sum->failed += c.failed;
    sum->wrong += c.wrong;
}

static size_t most_points = 24;
static const char *only; /* the name of a workload, or NULL */

static void work_without_memory(void **state)
{
    (void)state;
    counts sum = {0};
    for (const workload *w = workloads; w->name; w++)
        for (int reference = w->plans ? 0 : 1; reference < 2; reference++)
            if (!only || strcmp(only, w->name) == 0)
                fail_points(w, reference, most_points, &sum);
    check_that(sum.failed > (only ? 5 : 200), "only %zu of %zu points failed", sum.failed,
               sum.points);
    check_that(sum.wrong == 0, "%zu of %zu points", sum.wrong, sum.points);
}

static int begin(void **state)
{
    (void)state;
    make_workloads();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    watch_code(&__executable_start, &etext);
    return shared == MAP_FAILED;
}

static int end(void **state)
{
    (void)state;
    remove_workloads();
    return 0;
}

static void one_point(void **state)
{
    char *const *argument = *state, *end;
    for (const workload *w = workloads; w->name; w++)
        if (strcmp(w->name, argument[0]) == 0) {
            point p = {w, strcmp(argument[1], "reference") == 0, strtoul(argument[2], &end, 10),
                       false};
            const point none = {w, p.reference, 0, false};
            p.for_good = *end == '+';
            try(&none, 0);
            int what = try(&p, shared->digest);
            printf("%s, %s\n", outcomes[what], wg_status_text(shared->status));
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest one[] = {cmocka_unit_test_prestate(one_point, argv + 1)};
    setvbuf(stdout, NULL, _IONBF, 0); /* a buffer would be that of each child as well */
    if (argc == 4)
        return cmocka_run_group_tests(one, begin, end);
    const struct CMUnitTest tests[] = {cmocka_unit_test(work_without_memory)};
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        most_points = SIZE_MAX;
    only = argc == 3 ? argv[2] : NULL;
    return cmocka_run_group_tests(tests, begin, end);
}
