/* The inside of a plan: for the files of backends/ alone, and for the tests that break plans on
 * purpose.
 *
 * The way from the user's graph to a plan:
 *   plan_fuse.c      patterns of ops replaced by one op; fusions.c is their table
 *   plan_rewrite.c   a private graph: what is needed, equal nodes merged, composites expanded
 *   plan_order.c     an order of execution with a low peak; the final private graph has its nodes
 *                    in that order
 *   plan_fold.c      what depends on constants alone is computed
 *   plan_memory.c    who lives how long, in whose place; plan_offsets.c: where in the buffer
 *   plan_check.c     the proof that no two of them meet
 *   workspace.c      the memory of the buffer, which plans may share
 *   plan.c           the public face: create, free, data, bind
 *   run.c            a run
 *   report.c         what the plan says of itself
 *
 * A `content` is a value that a kernel computes together with all views of it; it is named by the
 * id of that value, the root.  A `storage` is the place of a content, or of several, one after the
 * other, where results overwrite operands. */
#ifndef WG_BACKENDS_PLAN_PLANNER_H
#define WG_BACKENDS_PLAN_PLANNER_H

#include "wengert/backends/plan.h"
#include "backends/store_internal.h"
#include "wengert/ops/leaf.h"
#include "wengert/ops/table.h"

enum { WG_NONE = -1 };

typedef enum wgi_home {
    WG_HOME_BUFFER,   /* shared, during a run             */
    WG_HOME_CONSTANT, /* computed when the plan was made  */
    WG_HOME_INPUT,    /* filled by the caller             */
    WG_HOME_STORE,    /* a parameter or a state           */
} wgi_home;

typedef struct wgi_storage {
    wgi_home home;
    size_t bytes;        /* rounded up to WG_ALIGN                                      */
    int64_t first, last; /* of the buffer: the steps from and to which it is occupied   */
    size_t offset;       /* in the buffer, the constants or the inputs                  */
    bool apart;          /* an output, which other plans of the workspace must not touch */
    char *memory;
} wgi_storage;

/* A backend with its state for this plan. */
typedef struct wgi_open_backend {
    const wg_backend *backend;
    void *state;
} wgi_open_backend;

/* A node that runs. */
typedef struct wgi_work {
    const wg_node *node;
    const wgi_open_backend *by;
    wg_kernel kernel;
    const char *refused; /* of earlier backends, "" if none did           */
    wg_call call;        /* ready but for the step                        */
    int64_t scratch;     /* storage of its scratch, or WG_NONE            */
    bool inplace;
    size_t dies, dies_end; /* p->dying[dies..dies_end): storages not needed after it */
    double seconds;
    uint64_t runs;
} wgi_work;

/* An assignment: from the storage of the value to that of the leaf, which may be the same. */
typedef struct wgi_assigning {
    wg_value *leaf, *value;
} wgi_assigning;

struct wg_plan {
    wg_plan_options options;
    const wg_graph *source; /* its address only: it may be gone                */
    size_t n_source;        /* values of the source                            */
    wg_value **of;          /* [n_source] private value, NULL where not needed */

    wg_graph *g; /* the private graph */
    wg_value **outputs;
    const char **output_names; /* the source's: of use while the plan is made */
    size_t n_outputs;
    wgi_assigning *assigns;
    size_t n_assigns;

    wgi_open_backend *backends; /* the cpu backend is the last */
    size_t n_backends;
    wg_store *store, *own_store;
    wg_workspace *workspace; /* held */

    wgi_work *work;
    size_t n_work;
    void **slots;        /* operands and results of all work, one after the other          */
    uint32_t *next_slot; /* [n_slots] the next slot + 1 of the same input, 0: none          */
    size_t n_slots;

    uint32_t *root;      /* [values] content of each value                                  */
    bool *folded;        /* [nodes] computed when the plan was made                         */
    bool *readable;      /* [values] is a leaf, an output or keep_all                       */
    int64_t *storage_of; /* [values] storage of each, WG_NONE if it needs none              */
    wgi_storage *storage;
    size_t n_storages;
    uint32_t *first_slot; /* [storages] first slot + 1 of an input                           */
    unsigned char *odd;   /* [storages] in a checked run: whether it has NaN or infinities    */
    int64_t *dying;       /* storages by the step at which they die                          */
    /* The buffer: its first shared_bytes lie in the workspace, at `shared` when last wired, the
     * rest apart. */
    char *shared, *apart, *constants, *inputs;
    size_t buffer_bytes, shared_bytes, value_bytes, live_bytes, leaf_bytes;
    int64_t peak_step;

    char call_message[256];
    char message[1024];
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static inline bool wgi_is_constant(const wg_node *n)
{
    return n->op == &wg_op_constant;
}

/* A parameter, state or input, or a user-defined leaf, which is an input as well. */
static inline bool wgi_is_outer(const wg_node *n)
{
    return (n->op->flags & WG_OP_LEAF) && !wgi_is_constant(n);
}

static inline bool wgi_is_stored(const wg_node *n)
{
    return n->op == &wg_op_parameter || n->op == &wg_op_state;
}

static inline bool wgi_is_view(const wg_node *n)
{
    return (n->op->flags & WG_OP_VIEW) && n->n_in > 0 && n->n_out == 1 &&
           wg_value_bytes(n->out[0]) == wg_value_bytes(n->in[0]);
}

static inline size_t wgi_round_up(size_t bytes)
{
    return (bytes + WG_ALIGN - 1) / WG_ALIGN * WG_ALIGN;
}

/* Whether an operand or a result of n is bf16. */
bool wgi_has_bf16(const wg_node *n);

/* The content of each value; NULL without memory. */
uint32_t *wgi_roots(const wg_graph *g);

/* Whether result j of n may be written over content c: wherever n reads c, its op allows it, and
 * the sizes agree. Two operands of one content need an elementwise op. */
bool wgi_may_overwrite(const wg_node *n, int j, uint32_t c, const uint32_t *root);
/* Whether n reads content c. */
bool wgi_reads(const wg_node *n, uint32_t c, const uint32_t *root);

/* needed[i]: node i of g, which the outputs and assignments of p are of, leads to one of them.
 * NULL without memory. */
bool *wgi_needed_nodes(const wg_plan *p, const wg_graph *g);

/* foldable[i]: node i of g depends on constants alone and is small. */
bool *wgi_foldable_nodes(const wg_plan *p, const wg_graph *g);

/* ---- the passes: false after sticking an error to `source` ----------------------------------- */

/* Sticks an error of plan creation; returns false. */
bool wgi_plan_refuse(wg_graph *source, wg_status status, const char *format, ...) WG_PRINTF(3, 4);
/* The error of the private graph, or else that memory is out. */
bool wgi_plan_refuse_private(const wg_plan *p, wg_graph *source);

/* Replaces patterns by ops that a backend has one kernel for (plan_fuse.c): *fused is the graph
 * that has them, with the outputs and assignments of p moved to it, and (*map)[i] its value for
 * value i of the source; both NULL if there is nothing to fuse. */
bool wgi_plan_fuse(wg_plan *p, wg_graph *source, wg_graph **fused, wg_value ***map);
/* From `from`, the source or its fused copy; errors go to `source`. */
bool wgi_plan_rewrite(wg_plan *p, wg_graph *from, wg_graph *source);
bool wgi_plan_order(wg_plan *p, wg_graph *source);
bool wgi_plan_fold(wg_plan *p, wg_graph *source);
/* A node whose results have no elements computes nothing: kernels may loop over its other sizes,
 * [2^40, 0]. */
void wgi_spare_if_empty(const wg_node *n, wg_kernel *k);
bool wgi_plan_list_work(wg_plan *p, wg_graph *source);
bool wgi_plan_place(wg_plan *p, wg_graph *source);

/* Offsets of the n storages of the buffer, but for those apart, such that those of overlapping
 * lifetimes do not overlap; returns the size of the buffer, SIZE_MAX without memory. */
size_t wgi_place_storages(wgi_storage *storage, size_t n);

/* ---- the workspace --------------------------------------------------------------------------- */

wg_workspace *wgi_workspace_hold(wg_workspace *w); /* returns w; wg_workspace_free lets go */
bool wgi_workspace_reserve(wg_workspace *w, size_t bytes);
/* Moves when the workspace grows. */
char *wgi_workspace_memory(const wg_workspace *w);

/* ---- run ------------------------------------------------------------------------------------- */

static inline char *wgi_memory_of(const wg_plan *p, const wg_value *v)
{
    int64_t s = p->storage_of[v->id];
    return s == WG_NONE ? NULL : p->storage[s].memory;
}

/* Writes the addresses of storages into the calls; once more when the workspace has moved. */
void wgi_plan_wire(wg_plan *p);

#endif
