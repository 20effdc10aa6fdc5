#include "cli/threads.h"
#include "cli/cli.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Ends as soon as the gate is open. */
static void *pass(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

int check_threads(long threads)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *started =
        threads > sysconf(_SC_NPROCESSORS_ONLN) ? calloc((size_t)threads, sizeof *started) : NULL;
    long n = 1; /* with this one */
    int error = 0;
    if (!started)
        return EXIT_OK;
    pthread_mutex_lock(&gate);
    for (; n < threads && !error; n += !error)
        error = pthread_create(&started[n], NULL, pass, &gate);
    pthread_mutex_unlock(&gate);
    for (long i = 1; i < n; i++)
        pthread_join(started[i], NULL);
    free(started);
    if (!error)
        return EXIT_OK;
    complain("--threads: only %ld of %ld threads can be started: %s", n, threads, strerror(error));
    return EXIT_RUN;
}
