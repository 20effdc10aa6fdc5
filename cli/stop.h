/* SIGINT and SIGTERM as requests to stop soon. */
#ifndef WG_CLI_STOP_H
#define WG_CLI_STOP_H

/* From now on the first of these signals only sets *signal_number; the next one ends the program.
 * To be called before other threads exist.
 *
 * No handler runs anywhere: the signals are blocked in all threads and taken by a thread of their
 * own.  A handler would need a stack where it interrupts, and kernels made at run time may use the
 * stack pointer for other things. */
void stop_on_signals(volatile int *signal_number);

#endif
