/* How a primitive becomes a kernel: the primitive itself, before it a reorder of each operand that
 * it wants in another layout than the plain one of our buffers, after it a reorder of each such
 * result.  What lies between them, and the scratchpads, are places in the kernel's scratch.  An
 * operand that never changes is reordered in the first run alone, into memory of the kernel. */
#include "backends/onednn/internal.h"
#include "backends/call.h"
#include "backends/fixed.h"
#include "backends/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what makers are written with ------------------------------------------------------------ */

void wgi_od_bind(od_plan *plan, int arg, od_where where, int index)
{
    wgi_od_bind_plain(plan, arg, where, index, NULL);
}

void wgi_od_bind_plain(od_plan *plan, int arg, od_where where, int index, od_md plain)
{
    plan->binding[plan->n_bindings++] = (od_binding){arg, where, index, 0, plain};
}

void wgi_od_plan_clear(od_plan *plan)
{
    for (int i = 0; i < plan->n_bindings; i++)
        wgi_od_md_free(plan->binding[i].plain);
    if (plan->pd)
        wgi_dnnl.primitive_desc_destroy(plan->pd);
    *plan = (od_plan){0};
}

bool wgi_od_dtype(wg_dtype dtype, dnnl_data_type_t *out)
{
    *out = dtype == WG_BF16 ? dnnl_bf16 : dnnl_f32;
    return dtype == WG_F32 || dtype == WG_BF16;
}

const char *wgi_od_implementation(const_dnnl_primitive_desc_t pd)
{
    const char *text = NULL;
    wgi_dnnl.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&text);
    return text ? text : "oneDNN";
}

/* A name is made of parts: 3.7 has "jit_uni_ncsp_convolution:conv+ref:any", 600 times as slow as
 * its neighbour. */
bool wgi_od_is_made_of(const_dnnl_primitive_desc_t pd, const char *start)
{
    const char *part = wgi_od_implementation(pd);
    while (part) {
        if (strncmp(part, start, strlen(start)) == 0)
            return true;
        part = strpbrk(part, ":+");
        part = part ? part + 1 : NULL;
    }
    return false;
}

bool wgi_od_is_reference(const_dnnl_primitive_desc_t pd)
{
    return wgi_od_is_made_of(pd, "ref") || wgi_od_is_made_of(pd, "simple");
}

/* ---- kernels --------------------------------------------------------------------------------- */

enum { MAX_STEPS = 6, MAX_ARGS = OD_MAX_ARGS + 1 };

typedef struct step {
    dnnl_primitive_t primitive;
    int n_args;
    dnnl_exec_arg_t arg[MAX_ARGS];
    od_binding binding[MAX_ARGS];
} step;

struct od_kernel {
    dnnl_stream_t stream; /* the backend's */
    int n_steps;
    int n_once; /* the first of them, which fill `kept` in the first run */
    bool has_kept;
    char *kept;
    int adds_to; /* as in od_plan, and: */
    void (*after)(wg_call *c);
    bool relu;
    step steps[MAX_STEPS];
    char name[OD_NAME];
};

const char *wgi_od_kernel_name(const od_kernel *k)
{
    return k->name;
}

void wgi_od_kernel_free(od_kernel *k)
{
    for (int i = 0; k && i < k->n_steps; i++) {
        step *s = &k->steps[i];
        for (int a = 0; a < s->n_args; a++)
            wgi_dnnl.memory_destroy(s->arg[a].memory);
        if (s->primitive)
            wgi_dnnl.primitive_destroy(s->primitive);
    }
    if (k)
        free(k->kept);
    free(k);
}

static void *buffer_of(const wg_call *c, const od_binding *b)
{
    switch (b->where) {
    case OD_IN: return (void *)(uintptr_t)c->in[b->index]; /* oneDNN's handles know no const */
    case OD_OUT: return c->out[b->index];
    case OD_KEPT: return ((const od_kernel *)c->state)->kept + b->offset;
    default: return (char *)c->scratch + b->offset;
    }
}

void wgi_od_check_call(wg_call *c, dnnl_status_t status, const char *name)
{
    if (status == dnnl_out_of_memory)
        wgi_call_lacks_memory(c, name);
    else if (status != dnnl_success)
        wg_call_fail(c, "oneDNN's %s failed with status %d", name, (int)status);
}

/* y = max(y, 0), where NaN stays */
static void relu_f32(float *y, int64_t count, int threads)
{
#pragma omp parallel for simd schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; i++)
        y[i] = y[i] <= 0 ? 0 : y[i];
}

/* The same on the bits of bf16, where 0x8000 is -0, 0xff80 is -infinity, and NaN is beyond. */
static void relu_bf16(uint16_t *y, int64_t count, int threads)
{
#pragma omp parallel for simd schedule(static) num_threads(threads)
    for (int64_t i = 0; i < count; i++)
        y[i] = y[i] >= 0x8000 && y[i] <= 0xff80 ? 0 : y[i];
}

static void run_relu(wg_call *c)
{
    const wg_value *y = c->node->out[0];
    int64_t count = wg_value_count(y);
    int threads = count < 1 << 14 ? 1 : c->threads;
    if (y->dtype == WG_F32)
        relu_f32(c->out[0], count, threads);
    else
        relu_bf16(c->out[0], count, threads);
}

void wgi_od_kernel_run(wg_call *c)
{
    od_kernel *k = c->state;
    dnnl_status_t status = dnnl_success;
    if (k->adds_to)
        wgi_begin_with(c, k->adds_to);
    for (int i = k->has_kept ? k->n_once : 0; i < k->n_steps && status == dnnl_success; i++) {
        step *s = &k->steps[i];
        for (int a = 0; a < s->n_args && status == dnnl_success; a++)
            status =
                wgi_dnnl.memory_set_data_handle(s->arg[a].memory, buffer_of(c, &s->binding[a]));
        if (status == dnnl_success)
            status = wgi_dnnl.primitive_execute(s->primitive, k->stream, s->n_args, s->arg);
    }
    k->has_kept = status == dnnl_success;
    if (k->after && status == dnnl_success)
        k->after(c);
    if (k->relu)
        run_relu(c);
    wgi_od_check_call(c, status, k->name);
}

/* ---- making them ----------------------------------------------------------------------------- */

typedef struct maker {
    const od_backend *b;
    od_kernel *k;
    size_t scratch, kept; /* bytes taken so far */
} maker;

/* A place in the scratch, or in what is kept, for a tensor of that layout. */
static od_binding take(maker *m, od_where where, int arg, od_const_md md)
{
    size_t *end = where == OD_KEPT ? &m->kept : &m->scratch;
    od_binding place = {arg, where, 0, *end, NULL};
    *end += (wgi_od_md_bytes(md) + 63) / 64 * 64;
    return place;
}

static bool add_arg(const maker *m, step *s, od_const_md md, const od_binding *binding)
{
    dnnl_exec_arg_t *arg = &s->arg[s->n_args];
    arg->arg = binding->arg;
    if (wgi_dnnl.memory_create(&arg->memory, md, m->b->engine, DNNL_MEMORY_NONE) != dnnl_success)
        return false;
    s->binding[s->n_args++] = *binding;
    return true;
}

/* The cache of oneDNN 2.6.3 keeps the entry of a primitive that it had no memory for, and throws
 * whenever it is asked for that one again. */
static void empty_cache(void)
{
    int capacity;
    if (wgi_dnnl.get_primitive_cache_capacity(&capacity) == dnnl_success &&
        wgi_dnnl.set_primitive_cache_capacity(0) == dnnl_success)
        wgi_dnnl.set_primitive_cache_capacity(capacity);
}

/* Such an entry points into pd, and the cache compares its entries while it is emptied: that must
 * happen before pd is destroyed. */
static bool make_primitive(dnnl_primitive_t *out, const_dnnl_primitive_desc_t pd)
{
    if (wgi_dnnl.primitive_create(out, pd) == dnnl_success)
        return true;
    int why = errno;
    if (why == ENOMEM)
        empty_cache();
    errno = why;
    return false;
}

/* The step of a primitive, with its scratchpad; NULL on failure.  The cache may give a primitive
 * that was made of another descriptor, which is equal but for strides of axes of size 1: these can
 * decide whether a matrix is copied to the scratchpad, so the primitive itself is asked for it. */
static step *add_step(maker *m, const_dnnl_primitive_desc_t pd)
{
    step *s = &m->k->steps[m->k->n_steps++];
    const_dnnl_primitive_desc_t own;
    if (!make_primitive(&s->primitive, pd) ||
        wgi_dnnl.primitive_get_primitive_desc(s->primitive, &own) != dnnl_success)
        return NULL;
    od_const_md pad = wgi_dnnl.primitive_desc_query_md(own, dnnl_query_scratchpad_md, 0);
    if (pad && wgi_od_md_bytes(pad)) {
        od_binding place = take(m, OD_SCRATCH, DNNL_ARG_SCRATCHPAD, pad);
        if (!add_arg(m, s, pad, &place))
            return NULL;
    }
    return s;
}

static bool add_reorder(maker *m, od_const_md from, od_binding source, od_const_md to,
                        od_binding target)
{
    od_pd pd;
    if (wgi_od_reorder(&pd, m->b->engine, from, to, m->b->attr) != dnnl_success)
        return false;
    step *s = add_step(m, pd);
    wgi_dnnl.primitive_desc_destroy(pd);
    source.arg = DNNL_ARG_FROM;
    target.arg = DNNL_ARG_TO;
    return s && add_arg(m, s, from, &source) && add_arg(m, s, to, &target);
}

/* Where the primitive finds what is bound: there, or in another place if the layout differs. */
static od_binding place_of(maker *m, const wg_node *n, const od_binding *b, od_const_md md)
{
    if (b->where == OD_SCRATCH)
        return take(m, OD_SCRATCH, b->arg, md);
    if (!b->plain || wgi_od_md_equal(md, b->plain))
        return *b;
    bool keeps = b->where == OD_IN && m->b->fixed_parameters && wgi_is_parameter(n->in[b->index]);
    return take(m, keeps ? OD_KEPT : OD_SCRATCH, b->arg, md);
}

/* Reorders from what is bound to those of its places. */
static bool add_reorders_to(maker *m, od_where where, const od_plan *plan, const od_const_md *md,
                            const od_binding *place)
{
    bool ok = true;
    for (int i = 0; ok && i < plan->n_bindings; i++) {
        const od_binding *b = &plan->binding[i];
        if (b->where == OD_IN && place[i].where == where)
            ok = add_reorder(m, b->plain, *b, md[i], place[i]);
    }
    return ok;
}

static bool add_steps(maker *m, const wg_node *n, const od_plan *plan)
{
    od_const_md md[OD_MAX_ARGS];
    od_binding place[OD_MAX_ARGS];
    for (int i = 0; i < plan->n_bindings; i++) {
        const od_binding *b = &plan->binding[i];
        md[i] = wgi_dnnl.primitive_desc_query_md(plan->pd, dnnl_query_exec_arg_md, b->arg);
        place[i] = place_of(m, n, b, md[i]);
    }
    bool ok = add_reorders_to(m, OD_KEPT, plan, md, place);
    m->k->n_once = m->k->n_steps;
    ok = ok && add_reorders_to(m, OD_SCRATCH, plan, md, place);
    step *s = ok ? add_step(m, plan->pd) : NULL;
    ok = s != NULL;
    for (int i = 0; ok && i < plan->n_bindings; i++)
        ok = add_arg(m, s, md[i], &place[i]);
    for (int i = 0; ok && i < plan->n_bindings; i++) {
        const od_binding *b = &plan->binding[i];
        if (b->where == OD_OUT && place[i].where == OD_SCRATCH)
            ok = add_reorder(m, md[i], place[i], b->plain, *b);
    }
    return ok;
}

static bool allocate_kept(maker *m)
{
    m->k->kept = m->kept ? wgi_aligned_alloc(m->kept) : NULL;
    if (m->kept && !m->k->kept)
        errno = ENOMEM;
    return m->k->kept || !m->kept;
}

wg_status wgi_od_kernel_create(od_kernel **out, const od_backend *b, const wg_node *n,
                               const od_plan *plan, const char *name, size_t *scratch)
{
    maker m = {b, calloc(1, sizeof *m.k), 0, 0};
    if (!m.k)
        return WG_ENOMEM;
    m.k->stream = b->stream;
    m.k->adds_to = plan->adds_to;
    m.k->after = plan->after;
    m.k->relu = plan->relu;
    errno = 0;
    if (!add_steps(&m, n, plan) || !allocate_kept(&m)) {
        wg_status status = errno == ENOMEM ? WG_ENOMEM : WG_EUNSUPPORTED;
        wgi_od_kernel_free(m.k);
        return status;
    }
    snprintf(m.k->name, sizeof m.k->name, "%s%s%s", name,
             m.k->n_steps > m.k->n_once + 1 ? " reordered" : "", m.k->n_once ? " packed" : "");
    *out = m.k;
    *scratch = m.scratch;
    return WG_OK;
}
