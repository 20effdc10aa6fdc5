/* A backend in a shared object: takes relu and add of f32, and leaves the rest to others.
 *
 *     wengert graph mlp --plan --backend ./libmine.so       # who runs each node, and why others
 *                                                           # refused it
 *     wengert bench op relu --backend cpu --backend ./libmine.so */
#include "wengert/backends/load.h"

#include <string.h>

/* ---- kernels: buffers are dense; out[0] may be in[0], as `inplace` of both ops allows -------- */

static void run_relu(wg_call *c)
{
    const float *x = c->in[0];
    float *y = c->out[0];
    int64_t n = wg_value_count(c->node->out[0]);
#pragma omp parallel for simd num_threads(c->threads) if (n > 65536)
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] < 0 ? 0 : x[i]; /* NaN stays NaN */
}

static void run_add(wg_call *c)
{
    const float *a = c->in[0], *b = c->in[1];
    float *y = c->out[0];
    int64_t n = wg_value_count(c->node->out[0]);
#pragma omp parallel for simd num_threads(c->threads) if (n > 65536)
    for (int64_t i = 0; i < n; i++)
        y[i] = a[i] + b[i];
}

/* ---- which nodes it takes -------------------------------------------------------------------- */

static const struct {
    const char *op; /* by name: addresses of ops differ between copies of the library */
    const char *name;
    void (*run)(wg_call *c);
} kernels[] = {
    {"relu", "mine:relu", run_relu},
    {"add", "mine:add", run_add},
};

static int find(const wg_node *n)
{
    for (int i = 0; i < WG_COUNT(kernels); i++)
        if (strcmp(n->op->name, kernels[i].op) == 0)
            return i;
    return -1;
}

/* NULL: takes the node.  The plan's report shows the reason otherwise. */
static const char *refuses(void *state, const wg_node *n)
{
    (void)state;
    if (find(n) < 0)
        return "mine has only relu and add";
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i]->dtype != WG_F32)
            return "mine computes in f32 only";
        if (!wg_shape_equal(&n->in[i]->shape, &n->out[0]->shape))
            return "mine does not broadcast";
    }
    return NULL;
}

static wg_status prepare(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state;
    int i = find(n);
    *k = (wg_kernel){.name = kernels[i].name, .run = kernels[i].run};
    return WG_OK;
}

static const wg_backend mine = {
    .abi = WG_BACKEND_ABI, /* of the header that this was compiled with */
    .name = "mine",
    .doc = "an example: relu and add in f32",
    .refuses = refuses,
    .prepare = prepare,
};

/* ---- the one function that is looked for ----------------------------------------------------- */

WG_API wg_backend_entry wengert_backend;

const wg_backend *wengert_backend(uint32_t abi)
{
    return abi == WG_BACKEND_ABI ? &mine : NULL;
}
