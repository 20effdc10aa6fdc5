/* The thread through which all messages go.  MPI calls it the main thread: it alone calls MPI, so
 * any MPI will do, and messages move while the other threads compute, which MPI alone does not
 * provide.  Where nothing moves it sleeps: spinning would take a core from them.
 *
 * Signs of life, one a second: every rank sends rank 0 what it is doing, and rank 0 all others.  If
 * nothing is heard for r->silence seconds, the job ends with the name of that rank; its death in
 * between would leave all others waiting.  Time in which this process itself stood still does not
 * count. */
#include "distributed/ranks.h"
#include "graph/clock.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { IDLE_MS = 5, BUSY_US = 30, BEATS_PER_SILENCE = 20 };

typedef struct beat {
    int32_t leaves; /* the last one: this rank closes */
    char doing[WGI_DOING];
} beat;

struct wgi_peer {
    int rank;
    beat in, out;
    wgi_request receiving, sending;
    bool is_receiving, is_sending, has_left, was_told; /* was_told: that this rank leaves */
    double heard, sent;
};

/* ---- signs of life --------------------------------------------------------------------------- */

static int count_peers(const wg_ranks *r)
{
    return r->exchange.rank == 0 ? r->exchange.size - 1 : 1;
}

static bool make_peers(wg_ranks *r)
{
    int n = r->exchange.size > 1 ? count_peers(r) : 0;
    r->peers = calloc((size_t)n + 1, sizeof *r->peers);
    for (int i = 0; r->peers && i < n; i++) {
        r->peers[i].rank = r->exchange.rank == 0 ? i + 1 : 0;
        r->peers[i].heard = wgi_seconds();
    }
    return r->peers != NULL;
}

static void send_beat(wg_ranks *r, wgi_peer *p, bool leaves)
{
    const wgi_exchange *x = &r->exchange;
    p->sent = wgi_seconds();
    p->out.leaves = leaves;
    pthread_mutex_lock(&r->lock);
    memcpy(p->out.doing, r->doing, sizeof p->out.doing);
    pthread_mutex_unlock(&r->lock);
    x->transport->send(x->state, &p->out, sizeof p->out, p->rank, WGI_TAG_BEAT, &p->sending);
    p->is_sending = true;
    p->was_told = leaves;
}

static void listen(wg_ranks *r, wgi_peer *p)
{
    const wgi_exchange *x = &r->exchange;
    if (p->is_receiving && x->transport->test(x->state, &p->receiving)) {
        p->is_receiving = false;
        p->heard = wgi_seconds();
        p->has_left = p->in.leaves;
    }
    if (!p->is_receiving && !p->has_left) {
        x->transport->receive(x->state, &p->in, sizeof p->in, p->rank, WGI_TAG_BEAT, &p->receiving);
        p->is_receiving = true;
    }
}

const char *wgi_rank_name(const wg_ranks *r, int rank, char room[WGI_RANK_NAME])
{
    snprintf(room, WGI_RANK_NAME, "rank %d", rank);
    return r->name ? r->name[rank] : room;
}

static void give_up(wg_ranks *r, const wgi_peer *p)
{
    char what[400];
    const char *doing = p->in.doing[0] ? p->in.doing : "nothing that it has told";
    char name[WGI_RANK_NAME];
    snprintf(what, sizeof what, "nothing was heard of %s for %.0f s; the last that it did: %s",
             wgi_rank_name(r, p->rank, name), r->silence, doing);
    fprintf(stderr, "wengert: rank %d: %s; the job ends\n", r->exchange.rank, what);
    fflush(stderr);
    r->exchange.transport->end_all(r->exchange.state);
}

/* Sends what is due, takes what has come, and gives up who is silent.  `stood`: how long this
 * thread has not run.  Whether all that leave have said so, if this rank does. */
static bool beat_peers(wg_ranks *r, double stood, bool leaves)
{
    const wgi_exchange *x = &r->exchange;
    const double every = r->silence / BEATS_PER_SILENCE;
    bool over = true;
    for (int i = 0; x->size > 1 && i < count_peers(r); i++) {
        wgi_peer *p = &r->peers[i];
        p->heard += stood > every ? stood : 0;
        if (p->is_sending && x->transport->test(x->state, &p->sending))
            p->is_sending = false;
        if (!p->is_sending && !p->was_told && (leaves || wgi_seconds() - p->sent > every))
            send_beat(r, p, leaves);
        listen(r, p);
        if (!p->has_left && wgi_seconds() - p->heard > r->silence)
            give_up(r, p);
        over = over && p->was_told && !p->is_sending && p->has_left;
    }
    return over;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void nap(long nanoseconds)
{
    nanosleep(&(struct timespec){0, nanoseconds}, NULL);
}

/* Waits for a new job, not for long. */
static void wait_posted(wg_ranks *r)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += IDLE_MS * 1000000L;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_nsec -= 1000000000L;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&r->posted, &r->lock, &until);
}

/* Adds the jobs that were posted to the list; with none at all, waits. */
static void take_jobs(wg_ranks *r, wgi_job **active)
{
    pthread_mutex_lock(&r->lock);
    if (!*active && !r->queue && r->state == WGI_OPEN && !r->aborting)
        wait_posted(r);
    while (r->queue) {
        wgi_job *j = r->queue;
        r->queue = j->next;
        j->next = *active;
        *active = j;
    }
    bool aborts = r->aborting;
    pthread_mutex_unlock(&r->lock);
    if (aborts)
        r->exchange.transport->end_all(r->exchange.state);
}

/* Whether something moved. */
static bool drive(wg_ranks *r, wgi_job **active)
{
    bool moved = false;
    for (wgi_job **at = active; *at;) {
        wgi_job *j = *at;
        if (!wgi_job_advance(&r->exchange, j, &moved)) {
            at = &j->next;
            continue;
        }
        *at = j->next;
        pthread_mutex_lock(&r->lock);
        j->done = true;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
    }
    return moved;
}

static void set_state(wg_ranks *r, int state)
{
    pthread_mutex_lock(&r->lock);
    r->state = state;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static void serve(wg_ranks *r)
{
    wgi_job *active = NULL;
    double before = wgi_seconds();
    for (bool over = false; !over;) {
        take_jobs(r, &active);
        bool moved = drive(r, &active);
        double now = wgi_seconds();
        pthread_mutex_lock(&r->lock);
        bool leaves = r->state == WGI_CLOSING;
        pthread_mutex_unlock(&r->lock);
        over = beat_peers(r, now - before, leaves) && leaves && !active;
        before = now;
        if (!moved && (active || leaves))
            nap(BUSY_US * 1000L);
    }
}

static void *messenger(void *ranks)
{
    wg_ranks *r = ranks;
    wgi_exchange *x = &r->exchange;
    bool ok = x->transport->open(r->context, &x->state, &x->rank, &x->size, r->message);
    if (ok && !make_peers(r)) {
        snprintf(r->message, sizeof r->message, "out of memory");
        x->transport->end_all(x->state);
        ok = false;
    }
    set_state(r, ok ? WGI_OPEN : WGI_FAILED);
    if (!ok)
        return NULL;
    serve(r);
    x->transport->close(x->state);
    return NULL;
}

/* ---- for the others -------------------------------------------------------------------------- */

bool wgi_messenger_start(wg_ranks *r)
{
    sigset_t all, before;
    pthread_condattr_t steady; /* its waits end by a clock that nobody sets */
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->posted, &steady);
    pthread_condattr_destroy(&steady);
    pthread_cond_init(&r->changed, NULL);
    sigfillset(&all); /* signals are for the threads of the program */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    r->has_thread = pthread_create(&r->thread, NULL, messenger, r) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!r->has_thread) {
        snprintf(r->message, sizeof r->message, "no thread can be made for its messages");
        return false;
    }
    pthread_mutex_lock(&r->lock);
    while (r->state == WGI_OPENING)
        pthread_cond_wait(&r->changed, &r->lock);
    bool ok = r->state == WGI_OPEN;
    pthread_mutex_unlock(&r->lock);
    return ok;
}

void wgi_messenger_end(wg_ranks *r)
{
    if (r->has_thread) {
        pthread_mutex_lock(&r->lock);
        if (r->state == WGI_OPEN)
            r->state = WGI_CLOSING;
        pthread_cond_signal(&r->posted);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
    }
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->posted);
    pthread_cond_destroy(&r->changed);
    free(r->peers);
}

void wgi_messenger_post(wg_ranks *r, wgi_job *j)
{
    pthread_mutex_lock(&r->lock);
    j->phase = 0;
    j->n_requests = 0;
    j->done = false;
    j->next = r->queue;
    r->queue = j;
    pthread_cond_signal(&r->posted);
    pthread_mutex_unlock(&r->lock);
}

void wgi_messenger_wait(wg_ranks *r, wgi_job *j)
{
    double start = wgi_seconds();
    pthread_mutex_lock(&r->lock);
    while (!j->done)
        pthread_cond_wait(&r->changed, &r->lock);
    r->waited += wgi_seconds() - start;
    pthread_mutex_unlock(&r->lock);
}

void wg_ranks_doing(wg_ranks *r, const char *format, ...)
{
    char text[WGI_DOING] = "";
    va_list list;
    if (!r)
        return;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    pthread_mutex_lock(&r->lock);
    memcpy(r->doing, text, sizeof r->doing);
    pthread_mutex_unlock(&r->lock);
}

void wg_ranks_abort(wg_ranks *r, const char *what)
{
    char name[WGI_RANK_NAME];
    fprintf(stderr, "wengert: %s: %s; the job ends\n", wgi_rank_name(r, r->exchange.rank, name),
            what);
    fflush(stderr);
    pthread_mutex_lock(&r->lock);
    r->aborting = true;
    pthread_cond_signal(&r->posted);
    pthread_mutex_unlock(&r->lock);
    for (;;) /* until the messenger has ended this process too */
        pause();
}
