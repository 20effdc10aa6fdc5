#include "tests/distributed/local.h"
#include "tests/test.h"

#include <stdatomic.h>
#include <time.h>

/* A message that waits for its receiver, or a receiver that waits for its message. */
typedef struct item {
    int from, to, tag;
    void *data; /* of a message its own copy; of a receiver where it goes */
    size_t bytes;
    bool done;
    int looks; /* after which it is seen to be done */
    struct item *next;
} item;

struct local_world {
    int size;
    pthread_mutex_t lock;
    item *messages, *receivers; /* oldest first */
    uint32_t random;
    atomic_int silent; /* a rank, or -1 */
};

/* One rank's view. */
typedef struct place {
    local_world *w;
    int rank;
} place;

local_world *local_world_new(int size)
{
    local_world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->size = size;
    w->random = 12345;
    atomic_store(&w->silent, -1);
    pthread_mutex_init(&w->lock, NULL);
    return w;
}

static void free_items(item *i)
{
    for (item *next; i; i = next) {
        next = i->next;
        free(i->data);
        free(i);
    }
}

void local_world_free(local_world *w)
{
    free_items(w->messages);
    assert_null(w->receivers);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void local_world_silence(local_world *w, int rank)
{
    atomic_store(&w->silent, rank);
}

/* ---- the transport --------------------------------------------------------------------------- */

static bool open_local(void *context, void **state, int *rank, int *size,
                       char message[WGI_TRANSPORT_MESSAGE])
{
    place *p = context;
    (void)message;
    *state = p;
    *rank = p->rank;
    *size = p->w->size;
    return true;
}

static void close_local(void *state)
{
    (void)state;
}

static void append(item **list, item *i)
{
    while (*list)
        list = &(*list)->next;
    *list = i;
}

/* Takes the oldest item that matches from the list. */
static item *take(item **list, const item *like)
{
    for (; *list; list = &(*list)->next)
        if ((*list)->from == like->from && (*list)->to == like->to && (*list)->tag == like->tag) {
            item *i = *list;
            *list = i->next;
            i->next = NULL;
            return i;
        }
    return NULL;
}

static void deliver(item *receiver, const item *message)
{
    insist(message->bytes <= receiver->bytes, "%zu bytes for %zu", message->bytes, receiver->bytes);
    if (message->bytes)
        memcpy(receiver->data, message->data, message->bytes);
    receiver->done = true;
}

static void send_local(void *state, const void *data, size_t bytes, int to, int tag, wgi_request *r)
{
    place *p = state;
    item *message = calloc(1, sizeof *message);
    *message = (item){.from = p->rank, .to = to, .tag = tag, .data = malloc(bytes + 1)};
    message->bytes = bytes;
    if (bytes)
        memcpy(message->data, data, bytes);
    r->word[0] = 0;
    pthread_mutex_lock(&p->w->lock);
    item *receiver = take(&p->w->receivers, message);
    if (receiver)
        deliver(receiver, message);
    else
        append(&p->w->messages, message);
    pthread_mutex_unlock(&p->w->lock);
    if (receiver) {
        free(message->data);
        free(message);
    }
}

static void receive_local(void *state, void *data, size_t bytes, int from, int tag, wgi_request *r)
{
    place *p = state;
    item *receiver = calloc(1, sizeof *receiver);
    *receiver = (item){.from = from, .to = p->rank, .tag = tag, .data = data, .bytes = bytes};
    r->word[0] = (uintptr_t)receiver;
    pthread_mutex_lock(&p->w->lock);
    p->w->random = p->w->random * 1664525 + 1013904223;
    receiver->looks = (int)(p->w->random >> 30);
    item *message = take(&p->w->messages, receiver);
    if (message)
        deliver(receiver, message);
    else
        append(&p->w->receivers, receiver);
    pthread_mutex_unlock(&p->w->lock);
    if (message) {
        free(message->data);
        free(message);
    }
}

void local_sleep(int milliseconds)
{
    nanosleep(&(struct timespec){0, milliseconds * 1000000L}, NULL);
}

static bool test_local(void *state, wgi_request *r)
{
    place *p = state;
    item *receiver = (item *)(uintptr_t)r->word[0];
    while (atomic_load(&p->w->silent) == p->rank)
        local_sleep(1);
    if (!receiver)
        return true;
    pthread_mutex_lock(&p->w->lock);
    bool done = receiver->done && receiver->looks-- <= 0;
    pthread_mutex_unlock(&p->w->lock);
    if (done)
        free(receiver);
    return done;
}

static void end_local(void *state)
{
    (void)state;
    _exit(LOCAL_ENDED);
}

static const wgi_transport local = {
    .abi = WGI_TRANSPORT_ABI,
    .name = "local",
    .open = open_local,
    .close = close_local,
    .send = send_local,
    .receive = receive_local,
    .test = test_local,
    .end_all = end_local,
};

/* ---- running --------------------------------------------------------------------------------- */

typedef struct runner {
    place place;
    double silence;
    void (*body)(wg_ranks *r, void *context); /* NULL: joins, and may fail */
    void *context;
    pthread_t thread;
    wg_status status;
    wg_error error;
} runner;

static void *run_rank(void *own)
{
    runner *u = own;
    wg_ranks *r;
    u->status = wgi_ranks_open_on(&r, &local, &u->place, NULL, u->silence, &u->error);
    insist(u->status == WG_OK || !u->body, "%s", u->error.text);
    if (u->body)
        u->body(r, u->context);
    wg_ranks_close(r);
    return NULL;
}

static void run_all(runner of[LOCAL_MOST], local_world *w, double silence,
                    void (*body)(wg_ranks *r, void *context), void *context)
{
    for (int i = 0; i < w->size; i++) {
        of[i] = (runner){{w, i}, silence, body, context, .status = WG_OK};
        assert_int_equal(pthread_create(&of[i].thread, NULL, run_rank, &of[i]), 0);
    }
    for (int i = 0; i < w->size; i++)
        assert_int_equal(pthread_join(of[i].thread, NULL), 0);
}

void local_run(local_world *w, double silence, void (*body)(wg_ranks *r, void *context),
               void *context)
{
    runner of[LOCAL_MOST];
    run_all(of, w, silence, body, context);
}

void local_join(local_world *w, double silence, wg_status status[LOCAL_MOST],
                wg_error error[LOCAL_MOST])
{
    runner of[LOCAL_MOST];
    run_all(of, w, silence, NULL, NULL);
    for (int i = 0; i < w->size; i++) {
        status[i] = of[i].status;
        error[i] = of[i].error;
    }
}
