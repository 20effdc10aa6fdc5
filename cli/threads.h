/* The option --threads. */
#ifndef WG_CLI_THREADS_H
#define WG_CLI_THREADS_H

/* Checks that so many threads can be started where they are more than processors: OpenMP ends the
 * program if they cannot.  Complains and returns an exit code. */
int check_threads(long threads);

#endif
