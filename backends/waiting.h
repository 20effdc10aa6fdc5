/* How the threads of a run wait for each other, and whether there is more than one. */
#ifndef WG_BACKENDS_WAITING_H
#define WG_BACKENDS_WAITING_H

#include <stdbool.h>
#include <stdint.h>

/* To be called at the start of each run, and now and then within it: if other processes have pushed
 * threads off their cores, the threads stop spinning while they wait (see waiting.c).  Returns
 * whether they have stopped.  Costs some nanoseconds. */
bool wgi_threads_watch(int threads);

/* Whether, as of the last look, a team would get hardly more time than one thread alone. */
bool wgi_threads_alone(void);

/* The same as of the last look, for kernels that call threads of another library. */
bool wgi_threads_lack_cores(void);

/* Its parts, functions of their arguments alone, for tests.  First: have threads had to wait for
 * cores since the last look? */
typedef struct wgi_cores {
    int64_t looked, delay; /* when that was, and the delay then; ns */
    int looks;             /* so far; no more are counted once the threads are settled */
} wgi_cores;

/* Notes a look at a time in nanoseconds, when that many threads had waited for cores for `delay`
 * nanoseconds in all (delay.h); whether they have lost cores since the last one.  False for the
 * first looks of all: new threads begin on the core of the one that made them. */
bool wgi_cores_note(wgi_cores *c, int64_t time, int64_t delay, int threads);

/* Second: are the threads to wait briefly? */
typedef struct wgi_waiting {
    int64_t until,
        length; /* its end if no more cores are lost, and for how long it was begun; ns */
    bool briefly;
} wgi_waiting;

/* At a time in nanoseconds, `lost` if cores were lost since the last one. */
bool wgi_waiting_next(wgi_waiting *w, int64_t time, bool lost);

/* Third, both, from call to call: looks are a tenth of a second apart, so that half a second passes
 * before the first that can count.  And whether one thread is to work alone: begun when threads
 * that wait briefly have had less than five eighths of a core between two looks; for as long as
 * brief waiting is begun for, then the team is tried again; ended before when no cores have been
 * lost for two seconds, or when one thread gets less than seven eighths of what the team had, and
 * then not begun again for a while. */
typedef struct wgi_watch {
    wgi_cores seen;
    wgi_waiting wanted, alone;
    int64_t used;         /* processor time at the last look; ns */
    double team;          /* how many cores the team had before one thread was alone */
    int64_t lost;         /* when cores were last missing since then */
    int64_t not_before;   /* when one may be alone again, ... */
    int64_t pause;        /* ... and the time until then when it was set; ns */
    _Atomic int64_t next; /* when to look again; ns */
} wgi_watch;

/* Of all threads of the process so far, in nanoseconds: the time for which they waited for cores
 * (delay.h), and for which they had them */
typedef struct wgi_times {
    int64_t delay, used;
} wgi_times;

/* Whether that many threads, at work at a time in nanoseconds, should wait briefly.  Calls `look`
 * if it is time to. */
bool wgi_watch_run(wgi_watch *w, int64_t time, wgi_times (*look)(void), int threads);

#endif
