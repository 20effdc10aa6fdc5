#include "cli/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static void stop_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
}

static void *wait_for_signal(void *number)
{
    sigset_t set;
    int got = 0;
    stop_signals(&set);
    if (sigwait(&set, &got) == 0)
        *(volatile int *)number = got;
    pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* the next signal ends the program, in this thread */
    for (;;)
        pause();
    return NULL;
}

void stop_on_signals(volatile int *signal_number)
{
    sigset_t set;
    pthread_t waiter;
    stop_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&waiter, NULL, wait_for_signal, (void *)signal_number) == 0)
        pthread_detach(waiter);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
