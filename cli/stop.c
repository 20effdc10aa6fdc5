#include "cli/stop.h"
#include "cli/cli.h"
#include "graph/flag.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static pthread_t waiter; /* of the process; see forward */
static pthread_t thread; /* the same, as whoever has started it knows it */
static bool waits;       /* it has been started */

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

static void stop_signals(sigset_t *set)
{
    struct sigaction now;
    sigemptyset(set);
    for (int i = 0; i < WG_COUNT(signals); i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(set, signals[i]);
}

/* In a thread that a library has started before the signals were blocked. */
static void forward(int number)
{
    int before = errno;
    pthread_kill(waiter, number);
    errno = before;
}

static void handle(const sigset_t *set, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    for (int i = 0; i < WG_COUNT(signals); i++)
        if (sigismember(set, signals[i]) == 1)
            sigaction(signals[i], &action, NULL);
}

static void *wait_for_signal(void *request)
{
    stop_request *r = request;
    sigset_t set;
    int got = 0;
    stop_signals(&set);
    waiter = pthread_self();
    handle(&set, forward);
    bool heard = sigwait(&set, &got) == 0;
    if (heard && r->gently)
        wgi_flag_set(&r->signal_number, got);
    else if (heard)
        complain("stopped by %s before the first update", strsignal(got));
    handle(&set, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL); /* the next signal ends the program */
    if (heard && !wgi_flag(&r->signal_number))
        raise(got);
    for (;;)
        pause();
    return NULL;
}

void stop_on_signals(stop_request *r)
{
    sigset_t set;
    stop_signals(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    waits = pthread_create(&thread, NULL, wait_for_signal, r) == 0;
    if (!waits)
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void stop_gently(stop_request *r)
{
    r->gently = true;
}

void stop_at_once(void)
{
    sigset_t set;
    stop_signals(&set);
    handle(&set, SIG_DFL); /* before its thread goes, and after, should that have just begun */
    if (waits) {
        pthread_cancel(thread); /* it waits, in sigwait or in pause */
        pthread_join(thread, NULL);
        waits = false;
    }
    handle(&set, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
