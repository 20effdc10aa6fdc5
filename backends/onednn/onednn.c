/* The oneDNN backend: its table, and how a primitive becomes a kernel. */
#include "backends/onednn/onednn.h"
#include "backends/onednn/internal.h"
#include "ops/table.h"

#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const wg_op *op;
    od_make *make;
} makers[] = {
    {&wg_op_matmul, od_make_matmul},   {&wg_op_linear, od_make_linear},
    {&wg_op_exp, od_make_eltwise},     {&wg_op_tanh, od_make_eltwise},
    {&wg_op_sigmoid, od_make_eltwise}, {&wg_op_silu, od_make_eltwise},
    {&wg_op_gelu, od_make_eltwise},
};

static od_make *maker_of(const wg_op *op)
{
    for (int i = 0; i < WG_COUNT(makers); i++)
        if (makers[i].op == op)
            return makers[i].make;
    return NULL;
}

static const od_own *const own_tables[] = {od_own_rows, od_own_attention, od_own_loss};

static const od_own *own_of(const wg_op *op)
{
    for (int i = 0; i < WG_COUNT(own_tables); i++)
        for (const od_own *own = own_tables[i]; own->op; own++)
            if (own->op == op)
                return own;
    return NULL;
}

/* ---- what makers are written with ---------------------------------------------------------------- */

void od_bind(od_plan *plan, int arg, int where, int index)
{
    plan->binding[plan->n_bindings++] = (od_binding){arg, where, index};
}

bool od_dtype(wg_dtype dtype, dnnl_data_type_t *out)
{
    *out = dnnl_f32;
    return dtype == WG_F32;
}

od_md od_md_flat(const wg_value *v)
{
    od_md md;
    dnnl_data_type_t type;
    dnnl_dims_t dims = {wg_value_count(v)};
    return od_dtype(v->dtype, &type) && od_md_strided(&md, 1, dims, type, NULL) == dnnl_success
               ? md
               : NULL;
}

/* ---- kernels -------------------------------------------------------------------------------------- */

typedef struct kernel {
    dnnl_primitive_t primitive;
    dnnl_stream_t stream; /* the backend's */
    int n_args;
    dnnl_exec_arg_t arg[OD_MAX_ARGS];
    od_binding binding[OD_MAX_ARGS];
    char name[64];
} kernel;

static void free_kernel(kernel *k)
{
    if (!k)
        return;
    for (int i = 0; i < k->n_args; i++)
        dnnl_memory_destroy(k->arg[i].memory);
    if (k->primitive)
        dnnl_primitive_destroy(k->primitive);
    free(k);
}

static void *buffer_of(const wg_call *c, const od_binding *b)
{
    switch (b->where) {
    case OD_IN: return (void *)(uintptr_t)c->in[b->index]; /* oneDNN's handles know no const */
    case OD_OUT: return c->out[b->index];
    default: return c->scratch;
    }
}

static void run(wg_call *c)
{
    kernel *k = c->state;
    for (int i = 0; i < k->n_args; i++)
        dnnl_memory_set_data_handle(k->arg[i].memory, buffer_of(c, &k->binding[i]));
    dnnl_status_t status = dnnl_primitive_execute(k->primitive, k->stream, k->n_args, k->arg);
    if (status != dnnl_success)
        wg_call_fail(c, "oneDNN's %s failed with status %d", k->name, (int)status);
}

static bool is_reference(const_dnnl_primitive_desc_t pd, char *name, size_t size)
{
    const char *text = NULL;
    dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&text);
    snprintf(name, size, "%s", text ? text : "oneDNN");
    return strncmp(name, "ref", 3) == 0;
}

static const char *make(const od_backend *b, const wg_node *n, od_plan *plan, char *name,
                        size_t size)
{
    *plan = (od_plan){0};
    od_make *m = maker_of(n->op);
    const char *why = m ? m(b, n, plan) : "oneDNN has no such op";
    if (!why && is_reference(plan->pd, name, size))
        why = "oneDNN has only its slow reference for this case";
    if (why && plan->pd) {
        dnnl_primitive_desc_destroy(plan->pd);
        plan->pd = NULL;
    }
    return why;
}

/* oneDNN 2.6.3 races when reorders are created by several threads.  It also takes the number of threads that OpenMP
 * gives the calling thread, both here and when a primitive runs (see enter). */
static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

/* Returns how many threads there were before. */
static int start_creating(const od_backend *b)
{
    pthread_mutex_lock(&creating);
    int former = omp_get_max_threads();
    omp_set_num_threads(b->threads);
    return former;
}

static void end_creating(int former)
{
    omp_set_num_threads(former);
    pthread_mutex_unlock(&creating);
}

static const char *refuses(void *state, const wg_node *n)
{
    od_plan plan;
    char name[64];
    const od_own *own = own_of(n->op);
    if (own)
        return own->refuses(n);
    if (!maker_of(n->op))
        return "oneDNN has no such op";
    int former = start_creating(state);
    const char *why = make(state, n, &plan, name, sizeof name);
    if (!why)
        dnnl_primitive_desc_destroy(plan.pd);
    end_creating(former);
    return why;
}

static wg_status build(const od_backend *b, od_plan *plan, kernel *k, size_t *scratch)
{
    od_const_md pad = dnnl_primitive_desc_query_md(plan->pd, dnnl_query_scratchpad_md, 0);
    *scratch = pad ? od_md_bytes(pad) : 0;
    if (*scratch)
        od_bind(plan, DNNL_ARG_SCRATCHPAD, OD_SCRATCH, 0);
    if (dnnl_primitive_create(&k->primitive, plan->pd) != dnnl_success)
        return WG_EUNSUPPORTED;
    k->stream = b->stream;
    for (int i = 0; i < plan->n_bindings; i++) {
        od_const_md md =
            dnnl_primitive_desc_query_md(plan->pd, dnnl_query_exec_arg_md, plan->binding[i].arg);
        dnnl_exec_arg_t *arg = &k->arg[i];
        arg->arg = plan->binding[i].arg;
        if (dnnl_memory_create(&arg->memory, md, b->engine, DNNL_MEMORY_NONE) != dnnl_success)
            return WG_ENOMEM;
        k->binding[i] = plan->binding[i];
        k->n_args = i + 1;
    }
    return WG_OK;
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *out)
{
    od_plan plan;
    const od_own *own = own_of(n->op);
    if (own) {
        size_t bytes = own->scratch ? own->scratch(state, n) : 0;
        *out = (wg_kernel){.name = own->name, .run = own->run, .scratch = bytes};
        return WG_OK;
    }
    kernel *k = calloc(1, sizeof *k);
    if (!k)
        return WG_ENOMEM;
    int former = start_creating(state);
    wg_status status = WG_EUNSUPPORTED;
    size_t scratch = 0;
    if (!make(state, n, &plan, k->name, sizeof k->name)) {
        status = build(state, &plan, k, &scratch);
        dnnl_primitive_desc_destroy(plan.pd);
    }
    end_creating(former);
    if (status != WG_OK) {
        free_kernel(k);
        return status;
    }
    *out = (wg_kernel){.name = k->name, .run = run, .state = k, .scratch = scratch};
    return WG_OK;
}

static void finish(void *state, wg_kernel *k)
{
    (void)state;
    free_kernel(k->state);
}

/* ---- the backend ---------------------------------------------------------------------------------- */

static void close_backend(void *state)
{
    od_backend *b = state;
    if (!b)
        return;
    if (b->attr)
        dnnl_primitive_attr_destroy(b->attr);
    if (b->stream)
        dnnl_stream_destroy(b->stream);
    if (b->engine)
        dnnl_engine_destroy(b->engine);
    free(b);
}

static wg_status open_backend(void **state, const wg_backend_config *config)
{
    od_backend *b = calloc(1, sizeof *b);
    if (!b)
        return WG_ENOMEM;
    b->threads = config->threads;
    b->show_nan = config->show_nan;
    bool ok =
        dnnl_engine_create(&b->engine, dnnl_cpu, 0) == dnnl_success &&
        dnnl_stream_create(&b->stream, b->engine, dnnl_stream_default_flags) == dnnl_success &&
        dnnl_primitive_attr_create(&b->attr) == dnnl_success &&
        dnnl_primitive_attr_set_scratchpad_mode(b->attr, dnnl_scratchpad_mode_user) == dnnl_success;
    if (!ok) {
        close_backend(b);
        return WG_EUNSUPPORTED;
    }
    *state = b;
    return WG_OK;
}

/* Flush-to-zero and denormals-are-zero on every thread of the run: one subnormal operand can make a product a hundred
 * times slower.  The modes that were there before come back after the run, so no other code sees a difference. */
#if defined(__x86_64__)
#include <xmmintrin.h>
enum { FTZ_AND_DAZ = 0x8040, MOST_THREADS = 1024 }; /* as many as od_backend.modes */

static void flush_subnormals(od_backend *b)
{
#pragma omp parallel num_threads(b->threads)
    {
        int me = omp_get_thread_num();
        if (me < MOST_THREADS)
            b->modes[me] = _mm_getcsr();
        _mm_setcsr(_mm_getcsr() | FTZ_AND_DAZ);
    }
}

static void restore_modes(const od_backend *b)
{
#pragma omp parallel num_threads(b->threads)
    {
        int me = omp_get_thread_num();
        if (me < MOST_THREADS)
            _mm_setcsr(b->modes[me]);
    }
}
#else
static void flush_subnormals(od_backend *b)
{
    (void)b;
}

static void restore_modes(const od_backend *b)
{
    (void)b;
}
#endif

static void enter(void *state)
{
    od_backend *b = state;
    b->former_threads = omp_get_max_threads();
    omp_set_num_threads(b->threads);
    flush_subnormals(b);
}

static void leave(void *state)
{
    od_backend *b = state;
    restore_modes(b);
    omp_set_num_threads(b->former_threads);
}

const wg_backend *wg_onednn_backend(void)
{
    static const wg_backend onednn = {
        .abi = WG_BACKEND_ABI,
        .name = "onednn",
        .doc = "oneDNN's primitives, f32",
        .open = open_backend,
        .close = close_backend,
        .refuses = refuses,
        .prepare = prepare,
        .finish = finish,
        .enter = enter,
        .leave = leave,
    };
    return &onednn;
}

bool wg_onednn_version(int version[3])
{
    const dnnl_version_t *v = dnnl_version();
    version[0] = v->major;
    version[1] = v->minor;
    version[2] = v->patch;
    return true;
}
