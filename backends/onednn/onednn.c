/* The oneDNN backend: its table, what it takes and refuses, and what surrounds a run. */
#include "wengert/backends/onednn.h"
#include "wengert/backends/isa.h"
#include "backends/onednn/internal.h"
#include "wengert/ops/linalg.h"
#include "wengert/ops/table.h"

#include <pthread.h>
#include <stdlib.h>

static const char *refuses(void *state, const wg_node *n)
{
    if (!wgi_od_has_maker(n->op))
        return "oneDNN has no such op";
    const od_offer *offer = wgi_od_offer_for(state, n);
    return offer && !offer->no_memory ? offer->why : NULL; /* without memory, `prepare` fails */
}

/* Calling a primitive takes up to half a microsecond, and some where it wakes a team; meanwhile own
 * kernels have done a small product. */
static const char *yields(void *state, const wg_node *n)
{
    static const double SMALL = 1 << 19; /* operations */
    bool product = n->op == &wg_op_matmul || n->op == &wg_op_matmul_add || n->op == &wg_op_linear;
    if (product && n->op->flops(n) <= SMALL)
        return "a small product";
    const od_offer *offer = wgi_od_has_maker(n->op) ? wgi_od_offer_for(state, n) : NULL;
    return offer ? offer->plan.yields : NULL;
}

/* Code, that of the library and what it generates; blocks of a call; and blocks of earlier calls
 * that malloc keeps, which are small. */
static size_t library_bytes(const od_backend *b, const od_plan *plan)
{
    static const size_t LIBRARY = 14 << 20, PRIMITIVE = 128 << 10, KEPT = 8 << 20;
    size_t primitives = 0;
    for (const od_offer *o = b->offers; o; o = o->next)
        primitives += o->plan.pd != NULL;
    return LIBRARY + primitives * PRIMITIVE + plan->packed +
           (plan->packed < KEPT ? plan->packed : KEPT);
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *out)
{
    if (!wgi_od_has_maker(n->op))
        return WG_EUNSUPPORTED;
    const od_offer *offer = wgi_od_offer_for(state, n);
    if (!offer || offer->no_memory)
        return WG_ENOMEM;
    if (offer->why)
        return WG_EUNSUPPORTED;
    const size_t library = library_bytes(state, &offer->plan);
    *out = (wg_kernel){.name = offer->plan.name, .run = offer->plan.run, .library = library};
    if (offer->plan.run)
        return WG_OK;
    od_kernel *k = NULL;
    size_t scratch = 0;
    int former = wgi_od_start_creating(state);
    wg_status status = wgi_od_kernel_create(&k, state, n, &offer->plan, offer->name, &scratch);
    wgi_od_end_creating(former);
    if (k)
        *out = (wg_kernel){.name = wgi_od_kernel_name(k),
                           .run = wgi_od_kernel_run,
                           .state = k,
                           .scratch = scratch,
                           .library = library};
    return status;
}

static void finish(void *state, wg_kernel *k)
{
    (void)state;
    wgi_od_kernel_free(k->state);
}

/* ---- the backend ----------------------------------------------------------------------------- */

static void close_backend(void *state)
{
    od_backend *b = state;
    if (!b)
        return;
    wgi_od_offers_clear(b);
    if (b->attr)
        wgi_dnnl.primitive_attr_destroy(b->attr);
    if (b->stream)
        wgi_dnnl.stream_destroy(b->stream);
    if (b->engine)
        wgi_dnnl.engine_destroy(b->engine);
    free(b);
}

/* The sets of instructions are sets of bits, each with those that it includes; on other processors
 * the bits mean something else. */
static bool has(dnnl_cpu_isa_t set)
{
#if defined(__x86_64__)
    return ((unsigned)wgi_dnnl.get_effective_cpu_isa() & (unsigned)set) == (unsigned)set;
#else
    (void)set;
    return false;
#endif
}

static wg_status open_backend(void **state, const wg_backend_config *config)
{
    od_backend *b = calloc(1, sizeof *b);
    if (!b)
        return WG_ENOMEM;
    b->mode.threads = config->threads;
    b->fixed_parameters = config->fixed_parameters;
    b->amx = has(dnnl_cpu_isa_avx512_core_amx);
    b->own_amx = wg_isa_best() == WG_ISA_AVX512_CORE_AMX;
    b->avx2 = has(dnnl_cpu_isa_avx2) && !has(dnnl_cpu_isa_avx512_core);
    dnnl_status_t made = wgi_dnnl.engine_create(&b->engine, dnnl_cpu, 0);
    if (made == dnnl_success)
        made = wgi_dnnl.stream_create(&b->stream, b->engine, dnnl_stream_default_flags);
    if (made == dnnl_success)
        made = wgi_dnnl.primitive_attr_create(&b->attr);
    if (made == dnnl_success)
        made = wgi_dnnl.primitive_attr_set_scratchpad_mode(b->attr, dnnl_scratchpad_mode_user);
    if (made != dnnl_success) {
        close_backend(b);
        return made == dnnl_out_of_memory ? WG_ENOMEM : WG_EUNSUPPORTED;
    }
    *state = b;
    return WG_OK;
}

static void enter(void *state)
{
    od_backend *b = state;
    wgi_od_offers_clear(b); /* the plan is made */
    wgi_run_mode_enter(&b->mode);
}

static void leave(void *state)
{
    wgi_run_mode_leave(&((od_backend *)state)->mode);
}

/* oneDNN takes a cap once, before it first looks at the processor; its own ONEDNN_MAX_CPU_ISA holds
 * where ours is unset. */
static void cap_instructions(void)
{
    static const dnnl_cpu_isa_t sets[] = {[WG_ISA_SSE41] = dnnl_cpu_isa_sse41,
                                          [WG_ISA_AVX2] = dnnl_cpu_isa_avx2,
                                          [WG_ISA_AVX2_VNNI] = dnnl_cpu_isa_avx2_vnni,
                                          [WG_ISA_AVX512_CORE] = dnnl_cpu_isa_avx512_core,
                                          [WG_ISA_AVX512_CORE_VNNI] = dnnl_cpu_isa_avx512_core_vnni,
                                          [WG_ISA_AVX512_CORE_AMX] = dnnl_cpu_isa_avx512_core_amx};
    wg_isa cap;
    if (wg_isa_cap(&cap, NULL) == WG_OK && cap != WG_ISA_ALL)
        wgi_dnnl.set_max_cpu_isa(sets[cap]);
}

const wg_backend *wg_onednn_backend(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, cap_instructions);
    static const wg_backend onednn = {
        .abi = WG_BACKEND_ABI,
        .name = "onednn",
        .doc = "oneDNN's primitives, f32; matrix products also bf16 where the CPU has AMX",
        .reproducible = WG_SAME_THREADS,
        .open = open_backend,
        .close = close_backend,
        .refuses = refuses,
        .yields = yields,
        .prepare = prepare,
        .finish = finish,
        .enter = enter,
        .leave = leave,
    };
    return &onednn;
}

bool wg_onednn_version(int version[3])
{
    const dnnl_version_t *v = wgi_dnnl.version();
    version[0] = v->major;
    version[1] = v->minor;
    version[2] = v->patch;
    return true;
}
