/* y[..., M, N] = a[..., M, K] b[..., K, N].  Transposes are strides.  A plain matrix b makes all
 * rows of a one long matrix, which is how oneDNN is fastest; otherwise batch axes stay, with size 1
 * where they broadcast.
 *
 * bf16 goes to oneDNN as it is where the CPU has AMX: sums are f32, the result is rounded once.
 * Elsewhere that is half as fast as f32, and the plan widens the operands.
 *
 * oneDNN multiplies matrices of f32 in three ways: with b as it lies there, with b packed first
 * into the layout that oneDNN likes best, or by its sgemm.  way_of chooses by shape, from what
 * docs/notes/performance.md lists.  Plans measure nothing themselves: that takes longer than all
 * else of planning, and two runs of a program would differ in their bits. */
#include "backends/amx.h"
#include "backends/fixed.h"
#include "backends/onednn/internal.h"
#include "wengert/ops/linalg.h"

/* Dimensions and strides of one operand seen as rank axes, the last two possibly exchanged. */
static od_md operand(const wg_value *v, bool transposed, int rank)
{
    int64_t dense[WG_MAX_RANK];
    dnnl_dims_t dims, strides;
    dnnl_data_type_t type;
    od_md md;
    if (!wgi_od_dtype(v->dtype, &type))
        return NULL;
    wg_shape_strides(&v->shape, dense);
    for (int i = 0; i < rank; i++) {
        int k = i - (rank - v->shape.rank);
        dims[i] = k < 0 ? 1 : v->shape.dim[k];
        strides[i] = k < 0 ? wg_shape_count(&v->shape) : dense[k];
    }
    if (transposed) {
        dnnl_dim_t t = dims[rank - 1];
        dims[rank - 1] = dims[rank - 2];
        dims[rank - 2] = t;
        t = strides[rank - 1];
        strides[rank - 1] = strides[rank - 2];
        strides[rank - 2] = t;
    }
    return wgi_od_md_strided(&md, rank, dims, type, strides) == dnnl_success ? md : NULL;
}

/* v with all axes but the last made one. */
static wg_value flattened(const wg_value *v)
{
    wg_value flat = *v;
    int64_t last = v->shape.dim[v->shape.rank - 1];
    flat.shape = wg_shape_make(2, (int64_t[]){wg_shape_count(&v->shape) / last, last});
    return flat;
}

/* y = x w (+ bias, then + c or the activation), with x and w possibly given transposed. */
typedef struct product {
    wg_value x, w, y;
    bool transpose_x, transpose_w;
    const wg_value *bias;       /* NULL: none; else the last operand */
    bool adds;                  /* c, operand 2              */
    dnnl_alg_kind_t activation; /* dnnl_alg_kind_undef: none */
    float alpha;                /* of the activation         */
} product;

/* ---- which way ------------------------------------------------------------------------------- */

typedef enum way { WAY_PLAIN, WAY_PACKED, WAY_SGEMM } way;

/* Packing w costs time in k n and saves some in m k n, less where w is given transposed.  A product
 * of x given transposed reduces over rows, often thousands (the gradient of weights): sgemm does
 * that best if the results are few. */
static way way_of(const product *p)
{
    enum { MIN = 64, FEW = 1024, ROWS = 1024, ROWS_IF_TRANSPOSED = 2048 };
    int64_t m = p->y.shape.dim[0], n = p->y.shape.dim[1],
            k = p->x.shape.dim[p->transpose_x ? 0 : 1];
    bool matrices = p->x.shape.rank == 2 && p->w.shape.rank == 2 && p->y.dtype == WG_F32;
    if (!matrices || m < MIN || n < MIN || k < MIN)
        return WAY_PLAIN;
    if (p->transpose_x)
        return p->transpose_w ? WAY_PLAIN : m <= FEW && !p->bias ? WAY_SGEMM : WAY_PACKED;
    return m >= (p->transpose_w ? ROWS_IF_TRANSPOSED : ROWS) ? WAY_PACKED : WAY_PLAIN;
}

/* Whether rows of n floats lie a multiple of 2 KiB apart: they fall into few sets of the nearest
 * cache. */
static bool rows_collide(int64_t n)
{
    return n % 512 == 0;
}

/* The project's own kernels are faster (docs/notes/performance.md) 1.2 times in a reduction of wide
 * rows to a narrow result, which several threads of oneDNN share badly; with AVX2 also 1.1 to 1.3
 * times in any reduction over rows whose result is not small, up to 1.3 times where there are many
 * rows, and 1.1 to 1.9 times where rows of w collide and oneDNN does not pack them; with AVX-512
 * 1.8 to 5 times where the result has one column; 2 to 4 times on batches of tiny matrices; 1.5 to
 * 2.5 times on one or two rows times a transposed w, up to 3 times on one row times w with AVX-512,
 * and 1.2 to 1.5 times where there is one term. */
static const char *better_by_own_kernels(const od_backend *b, const product *p, way how)
{
    enum {
        FEWEST = 2,
        FEW = 8,
        MANY = 512,
        SMALL = 1 << 14,
        ROWS = 1024,
        MIN = 64,
        WIDE = 128,
        NARROW = 256,
        TINY = 8
    };
    int rank = p->y.shape.rank;
    int64_t terms = p->x.shape.dim[p->x.shape.rank - (p->transpose_x ? 2 : 1)];
    if (b->own_amx && rank == 2 && p->y.dtype == WG_F32 &&
        wgi_amx_pays(p->y.shape.dim[0], p->y.shape.dim[1], terms))
        return "tiles of AMX";
    if (rank > 2 && p->y.shape.dim[rank - 2] <= TINY && p->y.shape.dim[rank - 1] <= TINY &&
        terms <= TINY)
        return "tiny matrices";
    if (rank > 2 && (terms == 1 || p->y.shape.dim[rank - 2] * p->y.shape.dim[rank - 1] == 1))
        return "products of vectors";
    if (p->w.shape.rank != 2 || rank != 2)
        return NULL;
    int64_t m = p->y.shape.dim[0], n = p->y.shape.dim[1],
            k = p->x.shape.dim[p->transpose_x ? 0 : 1];
    /* With AVX2, oneDNN adds up in another order than own kernels, so that rows must not go there
     * when there are many of them. */
    if (b->fixed_parameters && (m <= WGI_FEW_ROWS || b->avx2) && k <= WGI_FEW_TERMS &&
        p->transpose_w && p->y.dtype == WG_F32 && wgi_is_parameter(&p->w))
        return "few terms and a fixed matrix";
    if ((!b->fixed_parameters || k > WGI_FEW_TERMS) && p->y.dtype == WG_F32) {
        if (m <= FEWEST && p->transpose_w)
            return "one or two rows";
        if (m == 1 && !b->avx2)
            return "one row";
        if (k == 1)
            return "an outer product";
    }
    if (!b->avx2) {
        if (n == 1)
            return "one column";
        bool wide = m >= 4 * n || (b->mode.threads > 1 && m >= n && n <= NARROW && k >= ROWS);
        return how == WAY_SGEMM && n >= WIDE && wide ? "a reduction of wide rows" : NULL;
    }
    if (p->transpose_x)
        return how != WAY_PLAIN && m * n >= SMALL ? "a reduction over rows, with AVX2" : NULL;
    if (m >= ROWS && n >= MIN && k >= MIN)
        return "many rows, with AVX2";
    if (how == WAY_PLAIN && !p->transpose_w && rows_collide(n) && m >= FEW && m <= MANY)
        return "rows of w a multiple of 2 KiB apart, with AVX2";
    return NULL;
}

/* With AVX2, oneDNN's tanh takes 7 times as long as that of own kernels. */
static bool has_slow_activation(const od_backend *b, const product *p)
{
    return b->avx2 &&
           (p->activation == dnnl_eltwise_tanh || p->activation == dnnl_eltwise_gelu_tanh);
}

size_t wgi_od_packed_bytes(const od_backend *b, int64_t m, int64_t n, int64_t k)
{
    enum { LONG = 9984, SHORT = 384 }; /* sides of its largest blocks */
    int64_t longer = m > n ? m : n, shorter = m > n ? n : m;
    int64_t columns = (longer < LONG ? longer : LONG) + (shorter < SHORT ? shorter : SHORT);
    int64_t rows = k < SHORT ? k : SHORT;
    return (size_t)b->mode.threads * (size_t)(rows * columns) * sizeof(float);
}

static size_t packed_bytes(const od_backend *b, const product *p)
{
    const int64_t *x = &p->x.shape.dim[p->x.shape.rank - 2],
                  *y = &p->y.shape.dim[p->y.shape.rank - 2];
    return wgi_od_packed_bytes(b, y[0], y[1], x[p->transpose_x ? 0 : 1]);
}

/* y [m, n] = x' w (+ c) of the node's plain matrices x [k, m] and w [k, n] */
static void run_sgemm(wg_call *c)
{
    const int64_t *x = c->node->in[0]->shape.dim, *w = c->node->in[1]->shape.dim;
    bool adds = c->node->n_in > 2;
    if (adds)
        wgi_begin_with(c, 2);
    dnnl_status_t status = wgi_dnnl.sgemm('T', 'N', x[1], w[1], x[0], 1, c->in[0], x[1], c->in[1],
                                          w[1], adds ? 1 : 0, c->out[0], w[1]);
    wgi_od_check_call(c, status, "sgemm");
}

/* ---- primitives ------------------------------------------------------------------------------ */

/* With w in that layout, perhaps one of oneDNN's choice. */
static dnnl_status_t make_product(const od_backend *b, const product *p, od_const_md w, od_pd *pd)
{
    int rank = p->y.shape.rank;
    od_md x = operand(&p->x, p->transpose_x, rank), y = operand(&p->y, false, rank);
    od_md bias = p->bias ? operand(p->bias, false, rank) : NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t made = x && w && y && (bias || !p->bias) ? dnnl_success : dnnl_out_of_memory;
    if (made == dnnl_success)
        made = wgi_dnnl.primitive_attr_clone(&attr, b->attr);
    if (made == dnnl_success && (p->adds || p->activation != dnnl_alg_kind_undef))
        made = wgi_od_set_post_op(attr, p->adds ? dnnl_alg_kind_undef : p->activation, p->alpha);
    if (made == dnnl_success)
        made = wgi_od_matmul(pd, b->engine, x, w, bias, y, attr);
    if (attr)
        wgi_dnnl.primitive_attr_destroy(attr);
    wgi_od_md_free(x);
    wgi_od_md_free(y);
    wgi_od_md_free(bias);
    return made;
}

/* [k, n] in a layout of oneDNN's choice; NULL on failure. */
static od_md chosen_layout(const product *p)
{
    int64_t rows = p->w.shape.dim[0], columns = p->w.shape.dim[1];
    dnnl_dims_t dims = {p->transpose_w ? columns : rows, p->transpose_w ? rows : columns};
    od_md md;
    return wgi_od_md_any(&md, 2, dims, dnnl_f32) == dnnl_success ? md : NULL;
}

static const char *make(const od_backend *b, const wg_node *n, product *p, od_plan *plan)
{
    wg_dtype dtype = n->out[0]->dtype;
    if (dtype != WG_F32 && dtype != WG_BF16)
        return "neither f32 nor bf16";
    if (dtype == WG_BF16 && !b->amx)
        return "no AMX: native bf16 is slower than f32";
    if (dtype == WG_BF16 && p->adds)
        return "sums are rounded once more in bf16";
    if (!wg_value_count(n->in[0]) || !wg_value_count(n->in[1]))
        return "an empty operand";
    if (p->w.shape.rank == 2 && !p->transpose_x) {
        p->x = flattened(&p->x);
        p->y = flattened(&p->y);
    }
    way how = way_of(p);
    plan->yields = better_by_own_kernels(b, p, how);
    if (!plan->yields && has_slow_activation(b, p))
        plan->yields = "tanh, with AVX2";
    if (how == WAY_SGEMM) { /* a matmul: linear layers have no transposed x */
        plan->run = run_sgemm;
        plan->name = "sgemm";
        plan->packed = packed_bytes(b, p);
        return NULL;
    }
    od_md w = operand(&p->w, p->transpose_w, p->y.shape.rank);
    od_md chosen = how == WAY_PACKED ? chosen_layout(p) : NULL;
    dnnl_status_t made = make_product(b, p, chosen ? chosen : w, &plan->pd);
    wgi_od_md_free(chosen);
    wgi_od_bind(plan, DNNL_ARG_SRC, OD_IN, 0);
    wgi_od_bind_plain(plan, DNNL_ARG_WEIGHTS, OD_IN, 1, w);
    wgi_od_bind(plan, DNNL_ARG_DST, OD_OUT, 0);
    if (p->bias)
        wgi_od_bind(plan, DNNL_ARG_BIAS, OD_IN, n->n_in - 1);
    plan->adds_to = p->adds ? 2 : 0;
    if (made == dnnl_success && wgi_od_is_made_of(plan->pd, "gemm"))
        plan->packed = packed_bytes(b, p);
    return made == dnnl_success && w ? NULL : "oneDNN has no such matmul";
}

/* matmul, and matmul_add with its further operands c and bias */
const char *wgi_od_make_matmul(const od_backend *b, const wg_node *n, od_plan *plan)
{
    const wg_matmul_attrs *t = n->attrs;
    product p = {.x = *n->in[0],
                 .w = *n->in[1],
                 .y = *n->out[0],
                 .transpose_x = t->transpose_a,
                 .transpose_w = t->transpose_b,
                 .bias = n->n_in > 3 ? n->in[3] : NULL,
                 .adds = n->n_in > 2,
                 .activation = dnnl_alg_kind_undef};
    return make(b, n, &p, plan);
}

static const struct {
    dnnl_alg_kind_t alg;
    float alpha;
} activations[] = {
    [WG_ACTIVATION_NONE] = {dnnl_alg_kind_undef, 0},
    [WG_ACTIVATION_RELU] = {dnnl_alg_kind_undef, 0}, /* see od_plan */
    [WG_ACTIVATION_TANH] = {dnnl_eltwise_tanh, 0},
    [WG_ACTIVATION_SIGMOID] = {dnnl_eltwise_logistic, 0},
    [WG_ACTIVATION_GELU] = {dnnl_eltwise_gelu_erf, 0},
    [WG_ACTIVATION_GELU_TANH] = {dnnl_eltwise_gelu_tanh, 0},
    [WG_ACTIVATION_SILU] = {dnnl_eltwise_swish, 1},
};

const char *wgi_od_make_linear(const od_backend *b, const wg_node *n, od_plan *plan)
{
    const wg_linear_attrs *a = n->attrs;
    if (a->activation >= WG_COUNT(activations))
        return "an activation that oneDNN cannot append";
    if (a->activation == WG_ACTIVATION_GELU && !OD_GELU_ERF)
        return "its gelu of infinity is NaN";
    product p = {.x = *n->in[0],
                 .w = *n->in[1],
                 .y = *n->out[0],
                 .transpose_w = !a->in_first,
                 .bias = n->n_in > 2 ? n->in[2] : NULL,
                 .activation = activations[a->activation].alg,
                 .alpha = activations[a->activation].alpha};
    plan->relu = a->activation == WG_ACTIVATION_RELU;
    return make(b, n, &p, plan);
}
