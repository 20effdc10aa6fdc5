/* The engine on MPI: a shared object for each MPI, since Open MPI and MPICH are not compatible.
 * Only calls of MPI-3.0; those that fail end the job, as is MPI's default. */
#include "distributed/transport.h"

#include <mpi.h>

#include <stdio.h>
#include <string.h>

#define STRING_(x) #x
#define STRING(x) STRING_(x)

_Static_assert(sizeof(MPI_Request) <= sizeof(wgi_request), "a request of MPI has no room");

static void put(wgi_request *to, MPI_Request from)
{
    memcpy(to, &from, sizeof from);
}

static bool open_mpi(void *context, void **state, int *rank, int *size,
                     char message[WGI_TRANSPORT_MESSAGE])
{
    int provided = MPI_THREAD_SINGLE, begun = 0, over = 0;
    (void)context;
    *state = NULL;
    MPI_Initialized(&begun);
    MPI_Finalized(&over);
    if (begun || over) {
        snprintf(message, WGI_TRANSPORT_MESSAGE,
                 "the process has called MPI_Init before: this library does it, once");
        return false;
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    if (provided < MPI_THREAD_FUNNELED) {
        snprintf(message, WGI_TRANSPORT_MESSAGE,
                 "this MPI has no MPI_THREAD_FUNNELED: it allows no process with threads");
        MPI_Finalize();
        return false;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return true;
}

static void close_mpi(void *state)
{
    (void)state;
    MPI_Finalize();
}

static void send_mpi(void *state, const void *data, size_t bytes, int to, int tag, wgi_request *r)
{
    MPI_Request request;
    (void)state;
    MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    put(r, request); /* NOLINT(clang-analyzer-optin.mpi.MPI-Checker): its holder waits for it */
}

static void receive_mpi(void *state, void *data, size_t bytes, int from, int tag, wgi_request *r)
{
    MPI_Request request;
    (void)state;
    MPI_Irecv(data, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
    put(r, request); /* NOLINT(clang-analyzer-optin.mpi.MPI-Checker): its holder waits for it */
}

static bool test_mpi(void *state, wgi_request *r)
{
    MPI_Request request;
    int done = 0;
    (void)state;
    memcpy(&request, r, sizeof request);
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    put(r, request); /* NOLINT(clang-analyzer-optin.mpi.MPI-Checker): its holder waits for it */
    return done;
}

static void end_all_mpi(void *state)
{
    (void)state;
    MPI_Abort(MPI_COMM_WORLD, 1);
}

const wgi_transport *WGI_TRANSPORT_ENTRY(uint32_t abi);
__attribute__((visibility("default"))) const wgi_transport *WGI_TRANSPORT_ENTRY(uint32_t abi)
{
    static const wgi_transport mpi = {
        .abi = WGI_TRANSPORT_ABI,
        .name = STRING(WG_MPI),
        .open = open_mpi,
        .close = close_mpi,
        .send = send_mpi,
        .receive = receive_mpi,
        .test = test_mpi,
        .end_all = end_all_mpi,
    };
    return abi == WGI_TRANSPORT_ABI ? &mpi : NULL;
}
