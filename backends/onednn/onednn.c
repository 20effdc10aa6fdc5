/* The oneDNN backend: its table, what it takes and refuses, and what surrounds a run. */
#include "wengert/backends/onednn.h"
#include "wengert/backends/isa.h"
#include "backends/onednn/internal.h"
#include "wengert/ops/table.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

static const od_own *const own_tables[] = {
    wgi_od_own_rows, wgi_od_own_reduce, wgi_od_own_map,  wgi_od_own_attention,
    wgi_od_own_loss, wgi_od_own_update, wgi_od_own_best, wgi_od_own_int8};

/* The own kernel for n; NULL, and in *why the reason if there are some for its op. */
static const od_own *own_of(const wg_node *n, const char **why)
{
    *why = NULL;
    for (int i = 0; i < WG_COUNT(own_tables); i++)
        for (const od_own *own = own_tables[i]; own->op; own++)
            if (own->op == n->op && !(*why = own->refuses(n)))
                return own;
    return NULL;
}

static const char *refuses(void *state, const wg_node *n)
{
    const char *why;
    if (own_of(n, &why) || why)
        return why;
    if (!wgi_od_has_maker(n->op))
        return "oneDNN has no such op";
    const od_offer *offer = wgi_od_offer_for(state, n);
    return offer ? offer->why : "no memory to ask oneDNN";
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *out)
{
    const char *why;
    const od_own *own = own_of(n, &why);
    if (own) {
        size_t bytes = own->scratch ? own->scratch(state, n) : 0;
        *out = (wg_kernel){.name = own->name, .run = own->run, .scratch = bytes};
        return WG_OK;
    }
    const od_offer *offer = wgi_od_has_maker(n->op) ? wgi_od_offer_for(state, n) : NULL;
    if (!offer || offer->why)
        return WG_EUNSUPPORTED;
    *out = (wg_kernel){.name = offer->plan.name, .run = offer->plan.run};
    if (offer->plan.run)
        return WG_OK;
    od_kernel *k = NULL;
    size_t scratch = 0;
    int former = wgi_od_start_creating(state);
    wg_status status = wgi_od_kernel_create(&k, state, &offer->plan, offer->name, &scratch);
    wgi_od_end_creating(former);
    if (k)
        *out = (wg_kernel){.name = wgi_od_kernel_name(k),
                           .run = wgi_od_kernel_run,
                           .state = k,
                           .scratch = scratch};
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
        dnnl_primitive_attr_destroy(b->attr);
    if (b->stream)
        dnnl_stream_destroy(b->stream);
    if (b->engine)
        dnnl_engine_destroy(b->engine);
    free(b);
}

/* The sets of instructions are sets of bits, each with those that it includes. */
static bool has_amx(void)
{
    unsigned amx = (unsigned)dnnl_cpu_isa_avx512_core_amx;
    return ((unsigned)dnnl_get_effective_cpu_isa() & amx) == amx;
}

static wg_status open_backend(void **state, const wg_backend_config *config)
{
    od_backend *b = calloc(1, sizeof *b);
    if (!b)
        return WG_ENOMEM;
    b->threads = config->threads;
    b->show_nan = config->show_nan;
    b->amx = has_amx();
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

/* Flush-to-zero and denormals-are-zero on every thread of the run: one subnormal operand can make a
 * product a hundred times slower.  The modes that were there before come back after the run, so no
 * other code sees a difference. */
#if defined(__x86_64__)
#include <xmmintrin.h>
enum { FTZ_AND_DAZ = 0x8040, MAX_THREADS = 1024 }; /* as many as od_backend.modes */

static void flush_subnormals(od_backend *b)
{
#pragma omp parallel num_threads(b->threads)
    {
        int me = omp_get_thread_num();
        if (me < MAX_THREADS)
            b->modes[me] = _mm_getcsr();
        _mm_setcsr(_mm_getcsr() | FTZ_AND_DAZ);
    }
}

static void restore_modes(const od_backend *b)
{
#pragma omp parallel num_threads(b->threads)
    {
        int me = omp_get_thread_num();
        if (me < MAX_THREADS)
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
    wgi_od_offers_clear(b); /* the plan is made */
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

/* oneDNN takes a cap once, before it first looks at the processor; its own ONEDNN_MAX_CPU_ISA holds
 * where ours is unset. */
static void cap_instructions(void)
{
    static const dnnl_cpu_isa_t sets[] = {[WG_ISA_SSE41] = dnnl_cpu_isa_sse41,
                                          [WG_ISA_AVX2] = dnnl_cpu_isa_avx2,
                                          [WG_ISA_AVX512_CORE] = dnnl_cpu_isa_avx512_core,
                                          [WG_ISA_AVX512_CORE_VNNI] =
                                              dnnl_cpu_isa_avx512_core_vnni};
    wg_isa cap;
    char unread[1];
    if (wg_isa_cap(&cap, unread, 0) == WG_OK && cap != WG_ISA_ALL)
        dnnl_set_max_cpu_isa(sets[cap]);
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
