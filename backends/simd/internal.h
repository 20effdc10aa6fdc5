/* The inside of the simd backend: which nodes its kernels (kernels/) take, and how a call becomes
 * their arguments. */
#ifndef WG_BACKENDS_SIMD_INTERNAL_H
#define WG_BACKENDS_SIMD_INTERNAL_H

#include "backends/axis.h"
#include "backends/run_mode.h"
#include "backends/simd/kernels/kernels.h"
#include "wengert/backends/backend.h"
#include "wengert/ops/sliding.h"
#include "wengert/ops/table.h"

/* The kernel of an op; of several, a node gets the first that takes it. */
typedef struct simd_kernel {
    const wg_op *op;
    const char *name;
    const char *(*refuses)(const wg_node *n);         /* NULL: takes it; else why not, static */
    size_t (*scratch)(const wg_node *n, int threads); /* bytes; NULL: none */
    void (*run)(wg_call *c);
} simd_kernel;

/* Each file has a table that ends with a row of NULLs. */
extern const simd_kernel wgi_simd_attention[], wgi_simd_axis[], wgi_simd_cast[],
    wgi_simd_channel_norm[], wgi_simd_choose[], wgi_simd_conv[], wgi_simd_divide[],
    wgi_simd_elementwise[], wgi_simd_embedding[], wgi_simd_fft[], wgi_simd_index[], wgi_simd_int8[],
    wgi_simd_loss[], wgi_simd_norm[], wgi_simd_optimizer[], wgi_simd_permute[], wgi_simd_pool[],
    wgi_simd_product[], wgi_simd_random[], wgi_simd_recurrent[], wgi_simd_reduce[],
    wgi_simd_softmax[], wgi_simd_steps[], wgi_simd_topk[], wgi_simd_upsample[];

/* What a kernel derives from fixed parameters, once it has run so often that this pays, or in its
 * first run, which needs it anyway */
typedef struct simd_kept {
    int64_t runs; /* before that */
    bool made;
    void *data; /* aligned as cache lines */
} simd_kept;

/* So many bytes, for the kernel of n: packed weights, or their points; 0: none. */
size_t wgi_simd_product_keeps(const wg_node *n);
size_t wgi_simd_topk_keeps(const wg_node *n);
size_t wgi_simd_conv_keeps(const wg_node *n);

typedef struct simd_backend {
    const simd_table *kernels; /* of the instruction set in use */
    wgi_run_mode mode;
    bool fixed_parameters; /* of wg_backend_config */
    simd_kept *kept;       /* in the state of a kernel that keeps something, else NULL */
} simd_backend;

/* The state of a kernel "steps"; those of others are the backend's. */
typedef struct simd_steps_state {
    simd_backend backend; /* a copy, so that each state begins with one */
    simd_program program;
} simd_steps_state;
/* Of that backend, for n; NULL without memory. */
simd_steps_state *wgi_simd_steps_state(const simd_backend *b, const wg_node *n);

/* The state of a kernel "fft", with its tables; the same. */
void *wgi_simd_fft_state(const simd_backend *b, const wg_node *n);

/* What the kernel of a call keeps; NULL: nothing. */
static inline simd_kept *simd_kept_of(const wg_call *c)
{
    return ((const simd_backend *)c->state)->kept;
}

/* Counts a run: whether what it keeps is to be used, or made if it is not, after so many. */
static inline bool simd_kept_pays(simd_kept *k, int64_t runs)
{
    return k->made || ++k->runs > runs;
}

/* The kernels that a call is to use. */
static inline const simd_table *simd_kernels(const wg_call *c)
{
    return ((const simd_backend *)c->state)->kernels;
}

/* The same of ops in f32 or f64, whose operand 0 decides. */
static inline const simd_float_table *simd_floats(const wg_call *c)
{
    const simd_table *kernels = simd_kernels(c);
    return c->node->in[0]->dtype == WG_F64 ? kernels->f64 : kernels->f32;
}

/* The same of ops that move elements of that dtype, of 4 or 8 bytes whatever they mean. */
static inline const simd_float_table *simd_of_size(const wg_call *c, wg_dtype dtype)
{
    const simd_table *kernels = simd_kernels(c);
    return wg_dtype_size(dtype) == 8 ? kernels->f64 : kernels->f32;
}

static inline simd_window simd_window_of(const wg_sliding *w)
{
    return (simd_window){w->size, w->kernel, w->stride, w->padding, w->dilation, w->count};
}

/* x from one of its axes; along one of size 1 all numbers lie side by side, as [1, 1, inner]. */
static inline wgi_axis simd_axis_of(const wg_shape *x, int64_t axis)
{
    wgi_axis of = wgi_axis_of(x, axis);
    return of.size == 1 ? (wgi_axis){1, 1, of.outer * of.inner} : of;
}

/* The function of n's op, with its parameters; false if it has none. */
bool wgi_simd_function(const wg_node *n, simd_elementwise *out);

/* Of ops whose operand 0 decides. */
const char *wgi_simd_refuses_other_than_f32(const wg_node *n);
/* The same where no operand may be empty. */
const char *wgi_simd_refuses_empty(const wg_node *n);
/* The same two for f32 and f64. */
const char *wgi_simd_refuses_other_floats(const wg_node *n);
const char *wgi_simd_refuses_empty_floats(const wg_node *n);

#endif
