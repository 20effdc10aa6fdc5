/* Loaded before the program: a thread that takes signals, as a library may start one before main;
 * with LATE set, the program also waits at its exit, as a library's destructor may. */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void *idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, idle, NULL) == 0)
        pthread_detach(thread);
}

__attribute__((destructor)) static void end(void)
{
    if (getenv("LATE"))
        sleep(60);
}
