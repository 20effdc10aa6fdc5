/* How the threads of a run are set: their number, which is never to be less (oneDNN's kernels count
 * on as many as they were made for), and, on x86 and ARM, that subnormal numbers are zeros on each
 * of them, since one subnormal operand can make a product a hundred times slower.  After the run
 * everything is restored, so no other code sees a difference.  Several backends of one plan may
 * each enter; they leave in the reverse order. */
#ifndef WG_BACKENDS_RUN_MODE_H
#define WG_BACKENDS_RUN_MODE_H

#include <stdbool.h>

enum { WGI_RUN_MODE_THREADS = 1024 /* those beyond keep their mode */ };

typedef struct wgi_run_mode {
    int threads; /* of a run; set by the owner */
    /* of OpenMP before it: threads of a team, whether these may be fewer, and teams within teams */
    int former_threads, former_dynamic, former_levels;
    bool changed; /* the mode of some thread */
    unsigned former[WGI_RUN_MODE_THREADS];
} wgi_run_mode;

void wgi_run_mode_enter(wgi_run_mode *m);
void wgi_run_mode_leave(wgi_run_mode *m);

#endif
