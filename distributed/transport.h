/* What an engine is: messages between numbered processes.  All functions are called by one thread,
 * the one that called `open`.  Messages from one process to another with the same tag arrive in the
 * order in which they were sent. */
#ifndef WG_PRIVATE_DISTRIBUTED_TRANSPORT_H
#define WG_PRIVATE_DISTRIBUTED_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WGI_TRANSPORT_ABI = 1, WGI_TRANSPORT_MESSAGE = 256, WGI_LARGEST_MESSAGE = 1 << 28 };

/* A message that is under way: the engine's. */
typedef struct wgi_request {
    uint64_t word[2];
} wgi_request;

typedef struct wgi_transport {
    uint32_t abi;     /* WGI_TRANSPORT_ABI */
    const char *name; /* "openmpi" */
    /* Joins the others: false, with a message, if that fails.  *state is handed to all others. */
    bool (*open)(void *context, void **state, int *rank, int *size,
                 char message[WGI_TRANSPORT_MESSAGE]);
    /* No message is under way. */
    void (*close)(void *state);
    /* Begin to send and to receive at most WGI_LARGEST_MESSAGE bytes, with a tag of 0 to 32767. */
    void (*send)(void *state, const void *data, size_t bytes, int to, int tag, wgi_request *r);
    void (*receive)(void *state, void *data, size_t bytes, int from, int tag, wgi_request *r);
    /* Whether it has arrived or gone; the request is then done with. */
    bool (*test)(void *state, wgi_request *r);
    /* Ends all processes. */
    void (*end_all)(void *state);
} wgi_transport;

/* The function of an engine's shared object: NULL if it has another ABI. */
typedef const wgi_transport *wgi_transport_entry(uint32_t abi);
#define WGI_TRANSPORT_ENTRY wengert_transport

#endif
