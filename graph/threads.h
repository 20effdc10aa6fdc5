/* How many threads a run, a search or a reader gets. */
#ifndef WG_GRAPH_THREADS_H
#define WG_GRAPH_THREADS_H

#include <stdbool.h>

/* Can that be asked for?  0 to WG_MAX_THREADS; if not, WGI_THREADS_WRONG says so: its numbers are
 * what was asked for and WG_MAX_THREADS. */
bool wgi_threads_valid(int wanted);

#define WGI_THREADS_WRONG "threads is %d, must be 1 to %d, or 0 for what the process may use"

/* `wanted`, or if that is 0 what the process may use: OpenMP's number, which heeds OMP_NUM_THREADS
 * and the processors that the process is bound to; without OMP_NUM_THREADS not more than the
 * processor time that its control groups grant, rounded up; in a parallel region of the program 1,
 * for it has shared out the cores already.  At least 1, and at most WG_MAX_THREADS: the stack of
 * the one that starts a team has place for some thousands.  Never more than OMP_THREAD_LIMIT. */
int wgi_threads(int wanted);

/* The processors that the process is bound to. */
int wgi_threads_processors(void);

/* wgi_threads(0) of a process for which OpenMP would start `openmp` threads and to which control
 * groups grant `quota` processors (0: no limit). */
int wgi_threads_default(int openmp, int quota);

#endif
