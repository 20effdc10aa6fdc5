#include "cli/stop.h"
#include "cli/cli.h"
#include "graph/flag.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static void stop_signals(sigset_t *set)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction now;
    sigemptyset(set);
    for (int i = 0; i < WG_COUNT(signals); i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(set, signals[i]);
}

static void *wait_for_signal(void *request)
{
    stop_request *r = request;
    sigset_t set;
    int got = 0;
    stop_signals(&set);
    bool heard = sigwait(&set, &got) == 0;
    if (heard && r->gently)
        wgi_flag_set(&r->signal_number, got);
    else if (heard)
        complain("stopped by %s before the first update", strsignal(got));
    pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* the next signal ends the program, in this thread */
    if (heard && !wgi_flag(&r->signal_number))
        raise(got);
    for (;;)
        pause();
    return NULL;
}

void stop_on_signals(stop_request *r)
{
    sigset_t set;
    pthread_t waiter;
    stop_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&waiter, NULL, wait_for_signal, r) == 0)
        pthread_detach(waiter);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void stop_gently(stop_request *r)
{
    r->gently = true;
}
