/* The threads of a run meet some hundred times in a step of training.  OpenMP's wait in a loop, for
 * milliseconds: the fastest way while each has a core of its own.  On a shared machine the system
 * takes a thread off its core for milliseconds; the others spin all that time, and use up the
 * processor time that the one they wait for needs.  So the process watches for how long its threads
 * could have run and had no core.  If that is much, they sleep soon after they begin to wait, for a
 * while; if cores are missing again soon after that, for twice as long.  (Seen of two threads: one
 * to seven percent of the time on a quiet machine, half of it beside one busy process.)
 *
 * Where others want each core, a team may get no more time than one thread, and less: Linux shares
 * out a core among groups of processes, and threads that wake each other end up on one core.  Then
 * each of some hundred meetings waits for the end of somebody else's time slice.  So where threads
 * that sleep get little more than half a core's time together, kernels whose bits allow it have one
 * thread.
 *
 * How this is told to the OpenMP runtime: LLVM's has a function for it.  GNU's waits briefly while
 * it manages more threads than there are processors; so a team of its own, asleep, is kept for it
 * to count.  Whoever sets OMP_WAIT_POLICY or GOMP_SPINCOUNT has decided, and nothing is done.
 *
 * Waiting is a matter of the process, as is OpenMP's pool of threads: hence the static state. */
#include "backends/waiting.h"
#include "backends/delay.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- telling OpenMP -------------------------------------------------------------------------- */

#ifdef KMP_VERSION_MAJOR
enum { BLOCKTIME = 200 /* LLVM's default, in milliseconds */ };

static bool wait_briefly(int threads, bool briefly)
{
    (void)threads;
    kmp_set_blocktime(briefly ? 0 : BLOCKTIME);
    return true;
}
#else
/* The team of a thread that sleeps until it is to end. */
typedef struct team {
    pthread_t owner;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool leave;
} team;

static team parked = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *park(void *size)
{
    atomic_int present = 0;
#pragma omp parallel num_threads((int)(intptr_t)size)
    atomic_fetch_add(&present, 1);
    pthread_mutex_lock(&parked.lock);
    while (!parked.leave)
        pthread_cond_wait(&parked.changed, &parked.lock);
    pthread_mutex_unlock(&parked.lock);
    return NULL;
}

/* Its own thread counts as none: two are needed for one more than there are processors. */
static bool start_team(int threads)
{
    int processors = omp_get_num_procs(), rest = processors > threads ? processors - threads : 0;
    pthread_attr_t small;
    parked.leave = false;
    if (pthread_attr_init(&small) != 0)
        return false;
    pthread_attr_setstacksize(&small, 1 << 18);
    bool started = pthread_create(&parked.owner, &small, park, (void *)(intptr_t)(rest + 2)) == 0;
    pthread_attr_destroy(&small);
    return started;
}

static bool end_team(void)
{
    pthread_mutex_lock(&parked.lock);
    parked.leave = true;
    pthread_cond_signal(&parked.changed);
    pthread_mutex_unlock(&parked.lock);
    return pthread_join(parked.owner, NULL) == 0;
}

static bool wait_briefly(int threads, bool briefly)
{
    return briefly ? start_team(threads) : end_team();
}
#endif

/* ---- watching -------------------------------------------------------------------------------- */

#define MILLISECOND INT64_C(1000000)
#define SECOND INT64_C(1000000000)
static const int64_t BETWEEN_LOOKS = 100 * MILLISECOND, SHORTEST = 2 * SECOND,
                     LONGEST = 60 * SECOND;

/* The system takes some tenths of a second to give new threads cores of their own. */
enum { LOOKS_UNTIL_SETTLED = 5 };

/* One busy process takes half a core or more; what a quiet system does beside is for each thread a
 * small share. */
bool wgi_cores_note(wgi_cores *c, int64_t time, int64_t delay, int threads)
{
    int64_t waited = delay - c->delay, since = time - c->looked;
    bool settled = c->looks >= LOOKS_UNTIL_SETTLED;
    c->looks += !settled;
    c->looked = time;
    c->delay = delay;
    return settled && waited > since / 4 + since / 32 * threads;
}

/* The next time of a kind that has turned out to be too short */
static int64_t twice(int64_t length)
{
    return 2 * length < LONGEST ? 2 * length : LONGEST;
}

bool wgi_waiting_next(wgi_waiting *w, int64_t time, bool lost)
{
    if (lost && !w->briefly) {
        bool soon = w->length > 0 && time - w->until < w->length;
        w->length = soon ? twice(w->length) : SHORTEST;
        w->briefly = true;
    }
    if (lost)
        w->until = time + w->length;
    else if (time > w->until)
        w->briefly = false;
    return w->briefly;
}

/* `had`: how many cores, since the last look */
static void begin_alone(wgi_watch *w, int64_t time, double had)
{
    w->team = had;
    w->lost = time;
    wgi_waiting_next(&w->alone, time, had < 0.625 && time >= w->not_before);
}

static void go_on_alone(wgi_watch *w, int64_t time, double had, bool lost)
{
    bool enough = had >= 0.875 * w->team;
    w->lost = lost ? time : w->lost;
    wgi_waiting_next(&w->alone, time, false);
    w->alone.briefly = w->alone.briefly && enough && time - w->lost < SHORTEST;
    if (enough) {
        w->pause = 0;
    } else {
        w->pause = w->pause ? twice(w->pause) : SHORTEST;
        w->not_before = time + w->pause;
    }
}

static bool is_early(wgi_watch *w, int64_t time)
{
    return time < atomic_load_explicit(&w->next, memory_order_relaxed);
}

bool wgi_watch_run(wgi_watch *w, int64_t time, wgi_times (*look)(void), int threads)
{
    if (is_early(w, time))
        return w->wanted.briefly;
    const wgi_times now = look();
    double had = (double)(now.used - w->used) / (double)(time - w->seen.looked);
    int at_work = w->alone.briefly ? 1 : threads;
    bool slept = w->wanted.briefly, lost = wgi_cores_note(&w->seen, time, now.delay, at_work);
    bool briefly = wgi_waiting_next(&w->wanted, time, lost);
    w->used = now.used;
    if (w->alone.briefly)
        go_on_alone(w, time, had, lost);
    else if (slept && briefly)
        begin_alone(w, time, had);
    atomic_store_explicit(&w->next, time + BETWEEN_LOOKS, memory_order_relaxed);
    return briefly;
}

/* ---- the process ----------------------------------------------------------------------------- */

typedef struct guard {
    pthread_mutex_t lock;
    wgi_watch watch;
    atomic_bool briefly; /* as OpenMP has been told */
    atomic_bool alone;
    pid_t process; /* a fork has none of the threads, so nothing has been told there */
} guard;

static guard cores = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * SECOND + t.tv_nsec;
}

static wgi_times times_so_far(void)
{
    return (wgi_times){wgi_run_delay(), nanoseconds(CLOCK_PROCESS_CPUTIME_ID)};
}

static bool decided_by_user(void)
{
    /* NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment */
    return getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME");
}

static void begin_again_after_fork(guard *c)
{
    if (c->process == getpid())
        return;
    c->process = getpid();
    c->watch.seen = (wgi_cores){0};
    c->watch.wanted = c->watch.alone = (wgi_waiting){0};
    c->watch.not_before = c->watch.pause = 0;
    c->briefly = c->alone = false;
}

static void look(guard *c, int64_t time, int threads)
{
    begin_again_after_fork(c);
    bool briefly = wgi_watch_run(&c->watch, time, times_so_far, threads);
    if (briefly != c->briefly && wait_briefly(threads, briefly))
        c->briefly = briefly;
    c->alone = c->watch.alone.briefly;
}

bool wgi_threads_watch(int threads)
{
    int64_t time = threads > 1 ? nanoseconds(CLOCK_MONOTONIC) : 0;
    if (threads == 1 || is_early(&cores.watch, time) || pthread_mutex_trylock(&cores.lock) != 0)
        return cores.briefly; /* too early, or another run looks */
    if (cores.watch.seen.looked == 0 && decided_by_user())
        atomic_store_explicit(&cores.watch.next, INT64_MAX, memory_order_relaxed);
    else
        look(&cores, time, threads);
    pthread_mutex_unlock(&cores.lock);
    return cores.briefly;
}

bool wgi_threads_alone(void)
{
    return cores.alone;
}

bool wgi_threads_lack_cores(void)
{
    return cores.briefly;
}
