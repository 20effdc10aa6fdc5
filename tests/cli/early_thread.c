/* Loaded before the program: a thread that takes signals, as a library may start one before
 * main. */
#include <pthread.h>
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
