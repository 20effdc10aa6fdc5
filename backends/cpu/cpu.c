/* The cpu backend: a table from ops to reference kernels, made from wengert/ops/ops.def. */
#include "wengert/backends/backend.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/scratch.h"
#include "wengert/ops/table.h"

#include <stdlib.h>

typedef struct entry {
    const wg_op *op;
    cpu_kernel *any;
    cpu_kernel *of[WG_DTYPE_COUNT];
} entry;

#define ENTRY_LEAF(name)
#define ENTRY_COMPOSITE(name)
#define ENTRY_ANY(name) {&wg_op_##name, wgi_cpu_##name, {NULL}},
#define FLOATS(name) [WG_F32] = wgi_cpu_##name##_f32, [WG_F64] = wgi_cpu_##name##_f64
#define INTEGERS(name) [WG_I32] = wgi_cpu_##name##_i32, [WG_I64] = wgi_cpu_##name##_i64
#define ENTRY_FLOAT(name) {&wg_op_##name, NULL, {FLOATS(name)}},
#define ENTRY_NUMBER(name) {&wg_op_##name, NULL, {FLOATS(name), INTEGERS(name)}},
static const entry entries[] = {
#define WG_OP(kind, name) ENTRY_##kind(name)
#include "wengert/ops/ops.def"
#undef WG_OP
};

/* The backend's state: entries hashed by the op's address. */
enum { SLOTS = 1024 };
typedef struct index {
    const entry *slot[SLOTS];
} index;

static size_t place(const index *x, const wg_op *op)
{
    size_t i = (size_t)((uintptr_t)op >> 4) * 2654435761u % SLOTS;
    while (x->slot[i] && x->slot[i]->op != op)
        i = (i + 1) % SLOTS;
    return i;
}

static wg_status open_cpu(void **state, const wg_backend_config *config)
{
    (void)config;
    _Static_assert(WG_COUNT(entries) * 2 < SLOTS, "the index of the cpu backend is too small");
    index *x = calloc(1, sizeof *x);
    if (!x)
        return WG_ENOMEM;
    for (int i = 0; i < WG_COUNT(entries); i++)
        x->slot[place(x, entries[i].op)] = &entries[i];
    *state = x;
    return WG_OK;
}

static void close_cpu(void *state)
{
    free(state);
}

/* The dtype in which a node computes: the first float among results and operands, else the first
 * integer among operands and results. */
static wg_dtype working_dtype(const wg_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (wg_dtype_is_float(n->out[i]->dtype))
            return n->out[i]->dtype;
    for (int i = 0; i < n->n_in; i++)
        if (wg_dtype_is_float(n->in[i]->dtype))
            return n->in[i]->dtype;
    for (int i = 0; i < n->n_in; i++)
        if (wg_dtype_is_int(n->in[i]->dtype))
            return n->in[i]->dtype;
    return n->n_out ? n->out[0]->dtype : WG_DTYPE_DEFAULT;
}

static cpu_kernel *kernel_of(const index *x, const wg_node *n)
{
    if (n->op->reference)
        return n->op->reference;
    const entry *e = x->slot[place(x, n->op)];
    return !e ? NULL : e->any ? e->any : e->of[working_dtype(n)];
}

static const char *refuses(void *state, const wg_node *n)
{
    const index *x = state;
    if (kernel_of(x, n))
        return NULL;
    return x->slot[place(x, n->op)] ? "no reference kernel for this dtype" : "no reference kernel";
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *k)
{
    *k =
        (wg_kernel){.name = "reference", .run = kernel_of(state, n), .scratch = wgi_cpu_scratch(n)};
    return WG_OK;
}

const wg_backend *wg_cpu_backend(void)
{
    static const wg_backend cpu = {
        .abi = WG_BACKEND_ABI,
        .name = "cpu",
        .doc = "readable reference kernels in f32 and f64",
        .reproducible = WG_ANY_THREADS,
        .open = open_cpu,
        .close = close_cpu,
        .refuses = refuses,
        .prepare = prepare,
    };
    return &cpu;
}
