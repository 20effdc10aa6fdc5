/* SIGINT, SIGTERM and SIGHUP as requests to stop soon. */
#ifndef WG_CLI_STOP_H
#define WG_CLI_STOP_H

#include <stdatomic.h>

typedef struct stop_request {
    volatile int signal_number; /* of the first signal that came after stop_gently; 0: none */
    atomic_bool gently;
} stop_request;

/* From now on these signals are taken by a thread, which first lets them end the program as usual.
 * Those that the parent ignored, as nohup does, stay ignored.  `r` must outlive the program.
 *
 * In the calling thread and those that it starts the signals are blocked.  A handler would need a
 * stack where it interrupts, and kernels made at run time may use the stack pointer for other
 * things.  Only in threads that libraries have started before, such as OpenBLAS's, a handler runs:
 * it passes the signal on. */
void stop_on_signals(stop_request *r);
/* From now on the first signal only sets r->signal_number; the next one ends the program. */
void stop_gently(stop_request *r);
/* From now on a signal ends the program at once, wherever it waits at its exit. */
void stop_at_once(void);

#endif
