/* The simd backend: its tables of kernels, and which instruction set they are for. */
#include "wengert/backends/simd.h"
#include "backends/simd/internal.h"
#include "wengert/backends/isa.h"
#include "wengert/backends/onednn.h"

#include <stdlib.h>

static const simd_kernel *const tables[] = {
    wgi_simd_attention, wgi_simd_axis,    wgi_simd_cast,      wgi_simd_channel_norm,
    wgi_simd_choose,    wgi_simd_conv,    wgi_simd_divide,    wgi_simd_elementwise,
    wgi_simd_embedding, wgi_simd_fft,     wgi_simd_index,     wgi_simd_int8,
    wgi_simd_loss,      wgi_simd_norm,    wgi_simd_optimizer, wgi_simd_permute,
    wgi_simd_pool,      wgi_simd_product, wgi_simd_random,    wgi_simd_recurrent,
    wgi_simd_reduce,    wgi_simd_softmax, wgi_simd_steps,     wgi_simd_topk,
    wgi_simd_upsample,
};

/* The kernel for n; NULL, and in *why the reason. */
static const simd_kernel *kernel_of(const wg_node *n, const char **why)
{
    *why = "no kernel for this op";
    for (int i = 0; i < WG_COUNT(tables); i++)
        for (const simd_kernel *k = tables[i]; k->op; k++)
            if (k->op == n->op && !(*why = k->refuses(n)))
                return k;
    return NULL;
}

static const char *refuses(void *state, const wg_node *n)
{
    (void)state;
    const char *why;
    kernel_of(n, &why);
    return why;
}

/* As much as caches hold: larger weights are waited for anyway. */
static size_t kept_bytes(const wg_node *n)
{
    enum { MOST = 1 << 24 };
    bool best = n->op == &wg_op_linear_log_softmax_topk || n->op == &wg_op_linear_topk;
    size_t bytes = best                     ? wgi_simd_topk_keeps(n)
                   : n->op == &wg_op_linear ? wgi_simd_product_keeps(n)
                                            : wgi_simd_conv_keeps(n);
    return bytes <= MOST ? bytes : 0;
}

/* A copy of the backend, with room for what the kernel keeps. */
typedef struct kept_state {
    simd_backend backend;
    simd_kept kept;
} kept_state;

static simd_backend *kept_state_new(const simd_backend *b, size_t bytes)
{
    enum { LINE = 64, HEAD = (sizeof(kept_state) + LINE - 1) / LINE * LINE };
    kept_state *s = aligned_alloc(LINE, HEAD + (bytes + LINE - 1) / LINE * LINE);
    if (!s)
        return NULL;
    *s = (kept_state){*b, {.data = (char *)s + HEAD}};
    s->backend.kept = &s->kept;
    return &s->backend;
}

static void finish(void *state, wg_kernel *k)
{
    if (k->state != state)
        free(k->state);
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *out)
{
    const simd_backend *b = state;
    const char *why;
    const simd_kernel *k = kernel_of(n, &why);
    if (!k)
        return WG_EUNSUPPORTED;
    *out = (wg_kernel){.name = k->name,
                       .run = k->run,
                       .state = state,
                       .scratch = k->scratch ? k->scratch(n, b->mode.threads) : 0};
    size_t kept = b->fixed_parameters ? kept_bytes(n) : 0;
    if (kept)
        out->state = kept_state_new(b, kept);
    if (k->op == &wg_op_fused_elementwise || k->op == &wg_op_maximum_grad)
        out->state = wgi_simd_steps_state(b, n);
    if (k->run == wgi_simd_fft->run)
        out->state = wgi_simd_fft_state(b, n);
    return out->state ? WG_OK : WG_ENOMEM;
}

/* ---- the backend ----------------------------------------------------------------------------- */

static const simd_table *best_kernels(void)
{
    static const simd_table *const variants[] = {
        [WG_ISA_SSE41] = &wgi_simd_table_base,
#if defined(__x86_64__)
        [WG_ISA_AVX2] = &wgi_simd_table_avx2,
        [WG_ISA_AVX2_VNNI] = &wgi_simd_table_avx2vnni,
        [WG_ISA_AVX512_CORE] = &wgi_simd_table_avx512,
        [WG_ISA_AVX512_CORE_VNNI] = &wgi_simd_table_avx512vnni,
        [WG_ISA_AVX512_CORE_AMX] = &wgi_simd_table_amx,
#endif
    };
    return variants[wg_isa_best()];
}

static wg_status open_backend(void **state, const wg_backend_config *config)
{
    simd_backend *b = calloc(1, sizeof *b);
    if (!b)
        return WG_ENOMEM;
    wg_onednn_backend(); /* kernels call its sgemm, which must keep to the cap */
    b->kernels = best_kernels();
    b->mode.threads = config->threads;
    b->fixed_parameters = config->fixed_parameters;
    *state = b;
    return WG_OK;
}

static void enter(void *state)
{
    wgi_run_mode_enter(&((simd_backend *)state)->mode);
}

static void leave(void *state)
{
    wgi_run_mode_leave(&((simd_backend *)state)->mode);
}

const wg_backend *wg_simd_backend(void)
{
    static const wg_backend simd = {
        .abi = WG_BACKEND_ABI,
        .name = "simd",
        .doc = "own vectorised and fused kernels, f32, f64 and 8 bits",
        .reproducible = WG_ANY_THREADS,
        .open = open_backend,
        .close = free,
        .refuses = refuses,
        .prepare = prepare,
        .finish = finish,
        .enter = enter,
        .leave = leave,
    };
    return &simd;
}
