/* y[..., M, N] = a[..., M, K] b[..., K, N].  Transposes are strides.  A plain matrix b makes all rows of a one
 * long matrix, which is how oneDNN is fastest; otherwise batch axes stay, with size 1 where they broadcast.
 *
 * bf16 goes to oneDNN as it is where the CPU has AMX: sums are f32, the result is rounded once.  Elsewhere that is half
 * as fast as f32, and the plan widens the operands. */
#include "backends/onednn/internal.h"
#include "ops/linalg.h"

/* Dimensions and strides of one operand seen as rank axes, the last two possibly exchanged. */
static od_md operand(const wg_value *v, bool transposed, int rank)
{
    int64_t dense[WG_MAX_RANK];
    dnnl_dims_t dims, strides;
    dnnl_data_type_t type;
    od_md md;
    if (!od_dtype(v->dtype, &type))
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
    return od_md_strided(&md, rank, dims, type, strides) == dnnl_success ? md : NULL;
}

/* v with all axes but the last made one. */
static wg_value flattened(const wg_value *v)
{
    wg_value flat = *v;
    int64_t last = v->shape.dim[v->shape.rank - 1];
    flat.shape = wg_shape_make(2, (int64_t[]){wg_shape_count(&v->shape) / last, last});
    return flat;
}

/* y = x w (+ bias, then the activation), with x and w possibly given transposed. */
typedef struct product {
    wg_value x, w, y;
    bool transpose_x, transpose_w;
    const wg_value *bias;
    dnnl_alg_kind_t activation; /* dnnl_alg_kind_undef: none */
    float alpha;                /* of the activation         */
} product;

static dnnl_status_t make_product(const od_backend *b, const product *p, od_pd *pd)
{
    int rank = p->y.shape.rank;
    od_md x = operand(&p->x, p->transpose_x, rank), w = operand(&p->w, p->transpose_w, rank);
    od_md y = operand(&p->y, false, rank), bias = p->bias ? operand(p->bias, false, rank) : NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t made = x && w && y && (bias || !p->bias) ? dnnl_success : dnnl_out_of_memory;
    if (made == dnnl_success)
        made = dnnl_primitive_attr_clone(&attr, b->attr);
    if (made == dnnl_success && p->activation != dnnl_alg_kind_undef) {
        dnnl_post_ops_t ops;
        made = dnnl_post_ops_create(&ops);
        if (made == dnnl_success) {
            made = od_append_eltwise(ops, p->activation, p->alpha, 0);
            if (made == dnnl_success)
                made = dnnl_primitive_attr_set_post_ops(attr, ops);
            dnnl_post_ops_destroy(ops);
        }
    }
    if (made == dnnl_success)
        made = od_matmul(pd, b->engine, x, w, bias, y, attr);
    if (attr)
        dnnl_primitive_attr_destroy(attr);
    od_md_free(x);
    od_md_free(w);
    od_md_free(y);
    od_md_free(bias);
    return made;
}

static const char *make(const od_backend *b, const wg_node *n, product *p, od_plan *plan)
{
    wg_dtype dtype = n->out[0]->dtype;
    if (dtype != WG_F32 && dtype != WG_BF16)
        return "neither f32 nor bf16";
    if (dtype == WG_BF16 && !b->amx)
        return "no AMX: native bf16 is slower than f32";
    if (!wg_value_count(n->in[0]) || !wg_value_count(n->in[1]))
        return "an empty operand";
    if (p->w.shape.rank == 2 && !p->transpose_x) {
        p->x = flattened(&p->x);
        p->y = flattened(&p->y);
    }
    if (make_product(b, p, &plan->pd) != dnnl_success)
        return "oneDNN has no such matmul";
    od_bind(plan, DNNL_ARG_SRC, OD_IN, 0);
    od_bind(plan, DNNL_ARG_WEIGHTS, OD_IN, 1);
    od_bind(plan, DNNL_ARG_DST, OD_OUT, 0);
    if (p->bias)
        od_bind(plan, DNNL_ARG_BIAS, OD_IN, 2);
    return NULL;
}

const char *od_make_matmul(const od_backend *b, const wg_node *n, od_plan *plan)
{
    const wg_matmul_attrs *t = n->attrs;
    product p = {*n->in[0],      *n->in[1], *n->out[0],          t->transpose_a,
                 t->transpose_b, NULL,      dnnl_alg_kind_undef, 0};
    return make(b, n, &p, plan);
}

static const struct {
    dnnl_alg_kind_t alg;
    float alpha;
} activations[] = {
    [WG_ACTIVATION_NONE] = {dnnl_alg_kind_undef, 0},
    [WG_ACTIVATION_RELU] = {dnnl_eltwise_relu, 0},
    [WG_ACTIVATION_TANH] = {dnnl_eltwise_tanh, 0},
    [WG_ACTIVATION_SIGMOID] = {dnnl_eltwise_logistic, 0},
    [WG_ACTIVATION_GELU] = {dnnl_eltwise_gelu_erf, 0},
    [WG_ACTIVATION_GELU_TANH] = {dnnl_eltwise_gelu_tanh, 0},
    [WG_ACTIVATION_SILU] = {dnnl_eltwise_swish, 1},
};

const char *od_make_linear(const od_backend *b, const wg_node *n, od_plan *plan)
{
    const wg_linear_attrs *a = n->attrs;
    if (b->show_nan && a->activation == WG_ACTIVATION_RELU)
        return "oneDNN's relu turns NaN into 0, which the check for non-finite values would miss";
    if (a->activation >= WG_COUNT(activations))
        return "an activation that oneDNN cannot append";
    product p = {*n->in[0],
                 *n->in[1],
                 *n->out[0],
                 false,
                 !a->in_first,
                 n->n_in > 2 ? n->in[2] : NULL,
                 activations[a->activation].alg,
                 activations[a->activation].alpha};
    return make(b, n, &p, plan);
}
