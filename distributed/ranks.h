/* What the files of this room share of a wg_ranks.
 *
 * One thread, the messenger (messenger.c), makes all calls of the transport.  Others hand it jobs
 * and wait for them. */
#ifndef WG_PRIVATE_DISTRIBUTED_RANKS_H
#define WG_PRIVATE_DISTRIBUTED_RANKS_H

#include "distributed/exchange.h"
#include "wengert/distributed/ranks.h"

#include <pthread.h>

enum { WGI_RANK_NAME = 96, WGI_DOING = 120 };

/* A sum of one bucket: its job, with room for it, which the plans of all shapes share. */
typedef struct wgi_bucket {
    int64_t number;
    wgi_job job;
    uint16_t *wire; /* for messages of bf16 */
    size_t n_capacity, request_capacity, room_capacity, wire_capacity;
    bool under_way;
    struct wg_ranks *ranks;
    struct wgi_bucket *next;
} wgi_bucket;

/* What is known of another rank (messenger.c). */
typedef struct wgi_peer wgi_peer;

struct wg_ranks {
    wg_backend backend; /* its kernels find the rest by wg_backend_config.self */
    wgi_exchange exchange;
    void *context; /* of transport->open */
    void *handle;  /* of the engine's shared object, or NULL */
    char (*name)[WGI_RANK_NAME];
    double silence; /* seconds without a sign of life after which a rank is given up */
    double waited;
    wgi_bucket *buckets;

    pthread_t thread;
    bool has_thread;
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t posted, changed;
    wgi_job *queue; /* posted, not yet taken: the last first */
    enum { WGI_OPENING, WGI_OPEN, WGI_FAILED, WGI_CLOSING } state;
    char message[WGI_TRANSPORT_MESSAGE]; /* WGI_FAILED: why */
    char doing[WGI_DOING];
    bool aborting;
    wgi_peer *peers; /* the messenger's */
};

/* wg_ranks_open on a given transport, whose shared object, if it has one, is then the ranks'.
 * silence: of the struct; 0: the usual one. */
wg_status wgi_ranks_open_on(wg_ranks **out, const wgi_transport *transport, void *context,
                            void *handle, double silence, wg_error *error);

/* "rank 1 (HOST)", or "rank 1", in `room`, before names have been exchanged. */
const char *wgi_rank_name(const wg_ranks *r, int rank, char room[WGI_RANK_NAME]);

/* Starts the messenger and waits until it has joined the others; false with r->message. */
bool wgi_messenger_start(wg_ranks *r);
/* Waits for all ranks and ends it. */
void wgi_messenger_end(wg_ranks *r);
/* Hands it a job, which it owns until wgi_messenger_wait. */
void wgi_messenger_post(wg_ranks *r, wgi_job *j);
void wgi_messenger_wait(wg_ranks *r, wgi_job *j);

/* The table of its backend. */
wg_backend wgi_ranks_backend_table(void);
void wgi_buckets_free(wg_ranks *r);

#endif
