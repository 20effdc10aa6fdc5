/* What a run needs, and what a plan says of itself: the result of planning (planner.h).
 *
 * A storage is a place in memory: that of one root (facts.h), or of several in turn, where results
 * overwrite operands.
 *
 * All memory is the host's.  A backend with memory of its own would give each storage the space it
 * lies in, one buffer and one run of offsets.c for each space, and a pass between order and
 * values that adds nodes that copy between spaces. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_PLAN_H
#define WG_PRIVATE_BACKENDS_PLAN_PLAN_H

#include "backends/plan/backends.h"
#include "wengert/backends/plan.h"

#include <stdatomic.h>

typedef enum wgi_storage_kind {
    WGI_STORAGE_BUFFER,   /* used by other storages before and after, in a run */
    WGI_STORAGE_CONSTANT, /* computed when the plan was made                   */
    WGI_STORAGE_INPUT,    /* filled by the caller                              */
    WGI_STORAGE_TENSOR,   /* a parameter or a state, in the store              */
} wgi_storage_kind;

typedef struct wgi_storage {
    wgi_storage_kind kind;
    size_t bytes;            /* rounded up to WGI_ALIGN                                       */
    int64_t first, last;     /* BUFFER: the steps from and to which it is in use             */
    size_t offset;           /* in the buffer, the constants or the inputs                   */
    bool exclusive;          /* an output, if the workspace is shared: lies outside of it    */
    unsigned char nonfinite; /* in a checked run: which kinds of non-finite numbers it has   */
    int64_t nan_at;          /* in a checked run: where a leaf held NaN before it, or WGI_NONE */
    bool given;              /* INPUT: the caller has asked for its memory, or bound its own  */
    uint32_t first_slot;     /* INPUT: the first slot + 1 with its address, 0: none           */
    char *memory;
} wgi_storage;

/* Where all values lie. */
typedef struct wgi_layout {
    wgi_storage *storage;
    size_t n_storages;
    int64_t *storage_of; /* [values] storage of each, WGI_NONE if it needs none            */
    int64_t *dying;      /* storages of the buffer by the step after which they are dead  */
    size_t buffer_bytes; /* of which the first shared_bytes lie in the workspace          */
    size_t shared_bytes, value_bytes, live_bytes, leaf_bytes, input_bytes;
    int64_t peak_step;
} wgi_layout;

/* The blocks of memory behind it; `shared` is the workspace's, as it was when last wired. */
typedef struct wgi_memory {
    char *shared, *outputs, *constants, *inputs;
} wgi_memory;

/* A node that runs. */
typedef struct wgi_work {
    const wg_node *node;
    const wgi_open_backend *by;
    wg_kernel kernel;
    const char *refused; /* why earlier backends did not take it, NULL if none refused   */
    wg_call call;        /* ready except for the step                                    */
    int64_t scratch;     /* storage of its scratch, or WGI_NONE                           */
    bool inplace;
    bool again;            /* a value that was dropped is computed once more */
    size_t dies, dies_end; /* layout.dying[dies..dies_end): storages not needed after it */
    double seconds;
    uint64_t runs;
} wgi_work;

/* The nodes that run, in order, and the addresses that they are called with. */
typedef struct wgi_program {
    wgi_work *work;
    size_t n_work;
    size_t library_bytes; /* of all backends' libraries                                   */
    bool alone;           /* calls whose bits allow it have one thread                     */
    void **slots;         /* operands and results of all work, one after the other         */
    uint32_t *next_slot;  /* [slots] the next slot + 1 with the same input, 0: none        */
} wgi_program;

/* Frees the program: its kernels first, which the backends made. */
void wgi_program_free(wgi_program *r);

/* What the caller may ask for: the value of the private graph that stands for value i of the
 * user's graph, NULL where wg_plan_data gives nothing. */
typedef struct wgi_readable {
    const wg_graph *source; /* its address only: it may be gone */
    wg_value **of;
    size_t count;
} wgi_readable;

struct wg_plan {
    wg_plan_options options;
    wgi_readable readable;
    wg_graph *g; /* the private graph, its nodes in order of execution, with outputs and
                    assignments */
    wgi_backends backends;
    wg_store *store; /* the plan's own if the options have none */
    wg_workspace *workspace;
    wgi_program program;
    wgi_layout layout;
    wgi_memory memory;
    bool has_run;           /* to its end, once at least */
    atomic_bool running;    /* in some thread */
    atomic_bool refused;    /* a run in another thread meanwhile */
    const wg_value *source; /* in a checked run: the leaf whose NaN ended it, or NULL */
    const wg_value *bad;    /* that has the number which ended the last run, or NULL */
    int64_t bad_at;         /* its element */
    wg_graph *blamed;       /* of the step that a checked run has blamed last (blame.h) */
    char call_message[WG_CALL_MESSAGE];
    char message[1024];
};

static inline char *wgi_memory_of(const wg_plan *p, const wg_value *v)
{
    int64_t s = p->layout.storage_of[v->id];
    return s < 0 ? NULL : p->layout.storage[s].memory;
}

/* Writes the addresses of all storages into the calls; again whenever the workspace has moved. */
void wgi_plan_wire(wg_plan *p);

/* Of a run with so many threads, those for a call of n's kernel (threads.c). */
int wgi_threads_of_call(const wg_node *n, int threads);

#endif
