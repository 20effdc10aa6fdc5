/* The inside of the oneDNN backend.
 *
 * Each op that oneDNN does well has one `make` function: from a node it makes a primitive
 * descriptor and says which buffer of the call each argument of the primitive is.  What it says is
 * kept as an offer (offers.c), through which both refusing and preparing go: so what is promised at
 * plan time is what runs, and oneDNN is asked once. */
#ifndef WG_BACKENDS_ONEDNN_INTERNAL_H
#define WG_BACKENDS_ONEDNN_INTERNAL_H

#include "backends/begin_with.h"
#include "backends/run_mode.h"
#include "wengert/backends/backend.h"
#include "backends/onednn/compat.h"
#include "wengert/ops/table.h"

typedef struct od_offer od_offer;

typedef struct od_backend {
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_primitive_attr_t attr; /* user scratchpad */
    wgi_run_mode mode;
    bool fixed_parameters; /* of wg_backend_config */
    bool amx;              /* the CPU multiplies matrices of bf16 faster than of f32 */
    bool avx2;             /* vectors of 256 bits at best */
    bool own_amx;          /* the project's own kernels multiply f32 on AMX */
    od_offer *offers;      /* of a plan that is being made; none when it runs */
} od_backend;

enum { OD_MAX_ARGS = 12, OD_NAME = 64, OD_MAX_TYPES = 5 };

/* Where the primitive finds a tensor: in a buffer of the call, or in memory of the kernel. */
typedef enum od_where { OD_IN, OD_OUT, OD_SCRATCH, OD_KEPT } od_where;

/* An argument of the primitive and the buffer of the call that it takes. */
typedef struct od_binding {
    int arg; /* DNNL_ARG_SRC, ... */
    od_where where;
    int index;     /* of the operand or result         */
    size_t offset; /* into the scratch, or what is kept */
    od_md plain;   /* layout of the buffer; NULL: the one that the primitive has */
} od_binding;

/* A primitive and its arguments, or a function; cleared by wgi_od_plan_clear. */
typedef struct od_plan {
    void (*run)(wg_call *c); /* instead of a primitive */
    const char *name;        /* of run; static         */
    const char *yields;      /* why own kernels do better, static; NULL: they do not */
    od_pd pd;
    od_binding binding[OD_MAX_ARGS];
    int n_bindings;
    int adds_to; /* the operand that the result is added to; 0 (never such an operand): none */
    void (*after)(wg_call *c); /* what is left to us; a result in the scratch is at its start */
    bool relu;                 /* of the result, by us: oneDNN's makes 0 of NaN */
    size_t packed; /* bytes of the blocks into which it packs its matrices, outside the scratch */
} od_plan;

/* NULL and a filled plan, or why not (static text). */
typedef const char *od_make(const od_backend *b, const wg_node *n, od_plan *plan);

/* What oneDNN's gemm allocates in a call for [m, k] times [k, n]: each thread packs blocks of both
 * matrices. */
size_t wgi_od_packed_bytes(const od_backend *b, int64_t m, int64_t n, int64_t k);

od_make wgi_od_make_matmul, wgi_od_make_linear, wgi_od_make_conv, wgi_od_make_pool,
    wgi_od_make_blocks;

/* What oneDNN has for all nodes of one op with equal attributes, operands and results. */
struct od_offer {
    od_offer *next;
    uint64_t hash;
    const wg_op *op;
    void *attrs;
    wg_value type[OD_MAX_TYPES]; /* operands, then result 0: dtypes and shapes are of interest */
    int n_types;
    bool no_memory;  /* to ask; the rest is not known */
    const char *why; /* it has nothing; NULL: it has `plan` */
    od_plan plan;
    char name[OD_NAME]; /* oneDNN's, of plan.pd */
};

/* The offer for n, which the backend owns until wgi_od_offers_clear; NULL: no memory.  Ops without
 * a maker have none. */
const od_offer *wgi_od_offer_for(od_backend *b, const wg_node *n);
bool wgi_od_has_maker(const wg_op *op);
void wgi_od_offers_clear(od_backend *b);

/* oneDNN 2.6.3 races when reorders are created by several threads.  It also takes the number of
 * threads that OpenMP gives the calling thread, both here and when a primitive runs.  Returns how
 * many threads there were before. */
int wgi_od_start_creating(const od_backend *b);
void wgi_od_end_creating(int former);

void wgi_od_bind(od_plan *plan, int arg, od_where where, int index);
/* The same for an argument in a layout of oneDNN's choice: where it is not `plain`, which the plan
 * frees, it is reordered. */
void wgi_od_bind_plain(od_plan *plan, int arg, od_where where, int index, od_md plain);
void wgi_od_plan_clear(od_plan *plan);

/* oneDNN's name of what it would run, and whether that is, or rests on, its plain loops. */
const char *wgi_od_implementation(const_dnnl_primitive_desc_t pd);
bool wgi_od_is_reference(const_dnnl_primitive_desc_t pd);
/* Whether a part of that name begins so. */
bool wgi_od_is_made_of(const_dnnl_primitive_desc_t pd, const char *start);

typedef struct od_kernel od_kernel; /* see kernel.c */
wg_status wgi_od_kernel_create(od_kernel **out, const od_backend *b, const wg_node *n,
                               const od_plan *plan, const char *name, size_t *scratch);
void wgi_od_kernel_run(wg_call *c);
/* Reports what oneDNN's `name` returned, unless it is success. */
void wgi_od_check_call(wg_call *c, dnnl_status_t status, const char *name);
void wgi_od_kernel_free(od_kernel *k); /* NULL is allowed */
const char *wgi_od_kernel_name(const od_kernel *k);

/* oneDNN's name for a dtype; false if it has none that the backend uses.  bf16 is for matrix
 * products only. */
bool wgi_od_dtype(wg_dtype dtype, dnnl_data_type_t *out);

#endif
