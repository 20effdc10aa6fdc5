/* matmul, linear and matmul_add by kernels/float/product.c: y = x w (+ c) (+ bias, activation), for
 * each of the batches of x and w. */
#include "backends/amx.h"
#include "backends/begin_with.h"
#include "backends/fixed.h"
#include "backends/simd/internal.h"
#include "graph/element.h"
#include "wengert/backends/isa.h"
#include "wengert/ops/linalg.h"

#include <omp.h>

/* Of the product of each batch; its addresses are those of the first. */
typedef struct products {
    simd_product one;
    int64_t batches;
} products;

static int64_t last_dim(const wg_value *v, int from_end)
{
    int i = v->shape.rank - 1 - from_end;
    return i < 0 ? 1 : v->shape.dim[i];
}

/* A plain matrix w makes all rows of x one long matrix, unless x is transposed. */
static products products_of(const wg_node *n, bool tx, bool tw)
{
    const wg_value *x = n->in[0], *w = n->in[1], *y = n->out[0];
    int64_t columns = last_dim(y, 0), count = wg_value_count(y);
    bool one = w->shape.rank == 2 && !tx;
    int64_t rows = one ? count / columns : last_dim(y, 1);
    return (products){
        .one = {.m = rows,
                .n = columns,
                .k = last_dim(x, tx),
                .alpha = 1,
                .lda = last_dim(x, 0),
                .ta = tx,
                .ldb = last_dim(w, 0),
                .tb = tw,
                .ldc = columns},
        .batches = one ? 1 : count / (rows * columns),
    };
}

static products products_of_node(const wg_node *n)
{
    if (n->op == &wg_op_linear)
        return products_of(n, false, !((const wg_linear_attrs *)n->attrs)->in_first);
    const wg_matmul_attrs *t = n->attrs;
    return products_of(n, t->transpose_a, t->transpose_b);
}

/* A product with one column is computed as its transpose, of one row: tiles would compute columns
 * that are not there. */
static bool is_one_column(const simd_product *p)
{
    return p->n == 1;
}

static void transpose(simd_product *p)
{
    const simd_product old = *p;
    p->m = 1;
    p->n = old.m;
    p->a = old.b;
    p->lda = old.k;
    p->ta = false;
    p->b = old.a;
    p->ldb = old.lda;
    p->tb = !old.ta;
    p->ldc = old.m;
}

/* What is applied to y as a whole; relu is the product's. */
static const struct {
    bool applies;
    simd_function f;
} activations[] = {
    [WG_ACTIVATION_NONE] = {false, 0},
    [WG_ACTIVATION_RELU] = {false, 0},
    [WG_ACTIVATION_TANH] = {true, SIMD_TANH},
    [WG_ACTIVATION_SIGMOID] = {true, SIMD_SIGMOID},
    [WG_ACTIVATION_GELU] = {true, SIMD_GELU_ERF},
    [WG_ACTIVATION_GELU_TANH] = {true, SIMD_GELU_TANH},
    [WG_ACTIVATION_SILU] = {true, SIMD_SILU},
};

static int activation_of(const wg_node *n)
{
    return n->op == &wg_op_linear ? ((const wg_linear_attrs *)n->attrs)->activation
                                  : WG_ACTIVATION_NONE;
}

static const char *refuses(const wg_node *n)
{
    if (activation_of(n) >= WG_COUNT(activations))
        return "an activation without a kernel";
    return wgi_simd_refuses_empty_floats(n);
}

/* Numbers of one thread's product. */
static int64_t room_of_thread(const simd_product *p)
{
    return simd_product_scratch(p->m, p->n, p->k, 1);
}

static size_t scratch(const wg_node *n, int threads)
{
    products a = products_of_node(n);
    int64_t together = simd_product_scratch(a.one.m, a.one.n, a.one.k, threads);
    int64_t apart = a.batches > 1 ? threads * room_of_thread(&a.one) : 0;
    return (size_t)(together > apart ? together : apart) * wg_dtype_size(n->in[0]->dtype);
}

/* Where the matrix of v begins that takes part in that batch of y; axes of size 1 are repeated. */
static int64_t matrix_of(const wg_value *v, const wg_value *y, int64_t batch)
{
    int64_t at = 0, stride = last_dim(v, 0) * last_dim(v, 1);
    for (int from_end = 2; from_end < y->shape.rank; from_end++) {
        int64_t size = last_dim(v, from_end);
        at += size > 1 ? batch % last_dim(y, from_end) * stride : 0;
        stride *= size;
        batch /= last_dim(y, from_end);
    }
    return at;
}

/* The one bias of a single column: c begins with it. */
static void begin_with_bias(const wg_call *c, simd_product *p)
{
    const wg_value *y = c->node->out[0];
    size_t size = wg_dtype_size(y->dtype), all = wg_value_bytes(y);
    double bias = wgi_get_element(p->bias, y->dtype, 0);
    if (p->beta != 0) {
        for (int64_t i = 0; i < wg_value_count(y); i++)
            wgi_put_element(p->c, y->dtype, i, bias + wgi_get_element(p->c, y->dtype, i));
    } else {
        wgi_put_element(p->c, y->dtype, 0, bias);
        for (size_t done = size; done < all; done *= 2)
            memcpy((char *)p->c + done, p->c, all - done < done ? all - done : done);
    }
    p->beta = 1;
    p->bias = NULL;
}

static simd_product batch_of(const wg_node *n, const simd_product *first, int64_t batch)
{
    simd_product p = *first;
    int64_t bytes = (int64_t)wg_dtype_size(n->out[0]->dtype);
    p.a = (const char *)p.a + matrix_of(n->in[0], n->out[0], batch) * bytes;
    p.b = (const char *)p.b + matrix_of(n->in[1], n->out[0], batch) * bytes;
    p.c = (char *)p.c + batch * p.m * p.n * bytes;
    if (is_one_column(&p))
        transpose(&p);
    return p;
}

typedef void product_kernel(const simd_product *p);

/* Many products are shared out, few divided. */
static void run_products(const wg_call *c, const products *a, product_kernel *product)
{
    int64_t bytes = (int64_t)wg_dtype_size(c->node->out[0]->dtype);
    if (a->one.threads == 1 || a->batches < 2 * c->threads) {
        for (int64_t i = 0; i < a->batches; i++) {
            simd_product p = batch_of(c->node, &a->one, i);
            product(&p);
        }
        return;
    }
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t i = 0; i < a->batches; i++) {
        simd_product p = batch_of(c->node, &a->one, i);
        p.threads = 1;
        p.scratch = (char *)p.scratch + omp_get_thread_num() * room_of_thread(&a->one) * bytes;
        product(&p);
    }
}

/* A small product is done before another thread has woken. */
static int threads_for(const wg_call *c, const products *a)
{
    enum { SMALL = 1 << 17 }; /* multiplications */
    return a->batches * a->one.m * a->one.n * a->one.k < SMALL ? 1 : c->threads;
}

/* Where B is packed in each run anyway it is soon kept, but not at once: memory that is touched for
 * the first time costs as much as a few runs. */
static void use_kept(const wg_call *c, simd_product *p)
{
    enum { RUNS_OF_MANY = 8, RUNS_OF_FEW = 32 }; /* two or three sentences, of a search */
    simd_kept *kept = simd_kept_of(c);
    p->in_order = kept != NULL;
    if (!kept || !simd_kept_pays(kept, p->m > WGI_FEW_ROWS ? RUNS_OF_MANY : RUNS_OF_FEW))
        return;
    p->packed = kept->data;
    if (!kept->made)
        simd_floats(c)->pack_product(p);
    kept->made = true;
}

static void run_by(wg_call *c, product_kernel *product)
{
    const wg_node *n = c->node;
    products a = products_of_node(n);
    bool adds = n->op == &wg_op_matmul_add;
    int bias = adds ? 3 : 2;
    a.one.a = c->in[0];
    a.one.b = c->in[1];
    a.one.c = c->out[0];
    a.one.bias = n->n_in > bias ? c->in[bias] : NULL;
    a.one.relu = activation_of(n) == WG_ACTIVATION_RELU;
    a.one.threads = threads_for(c, &a);
    a.one.scratch = c->scratch;
    a.one.beta = adds;
    use_kept(c, &a.one);
    if (adds)
        wgi_begin_with(c, 2);
    if (is_one_column(&a.one) && a.one.bias)
        begin_with_bias(c, &a.one);
    run_products(c, &a, product);
    if (activations[activation_of(n)].applies)
        simd_floats(c)->elementwise(&(simd_elementwise){.x = c->out[0],
                                                        .y = c->out[0],
                                                        .count = wg_value_count(n->out[0]),
                                                        .f = activations[activation_of(n)].f,
                                                        .threads = c->threads});
}

static void run(wg_call *c)
{
    run_by(c, simd_floats(c)->product);
}

/* ---- on AMX ---------------------------------------------------------------------------------- */

/* The table of kernels is another one if the cap has changed since the backend was opened: then
 * what needs less room runs. */
static const char *refuses_amx(const wg_node *n)
{
    const char *why = refuses(n);
    if (why || n->in[0]->dtype != WG_F32 || wg_isa_best() != WG_ISA_AVX512_CORE_AMX)
        return why ? why : "not asked for";
    const products a = products_of_node(n);
    return a.batches == 1 && wgi_amx_pays(a.one.m, a.one.n, a.one.k) ? NULL : "a small product";
}

static size_t scratch_amx(const wg_node *n, int threads)
{
    const simd_product p = products_of_node(n).one;
    size_t plain = scratch(n, threads),
           here = (size_t)simd_amx_scratch(p.m, p.n, p.k, threads) * sizeof(float);
    return here > plain ? here : plain;
}

static void run_amx(wg_call *c)
{
    const simd_table *kernels = simd_kernels(c);
    run_by(c, kernels->amx_product ? kernels->amx_product : kernels->f32->product);
}

/* ---- what is kept of fixed weights ----------------------------------------------------------- */

/* Of a linear layer, the panels of its weights: of few rows, or of few terms and so many rows that
 * packing in each run would take a few percent of it.  (A search has plans for some numbers of
 * rows, and each keeps its own: what is large is rather packed again.) */
size_t wgi_simd_product_keeps(const wg_node *n)
{
    enum { ROWS = 256 };
    if (n->op != &wg_op_linear || !wgi_is_parameter(n->in[1]) || !refuses_amx(n))
        return 0; /* AMX has panels of parts, not of numbers */
    simd_product p = products_of_node(n).one;
    bool pays = p.m <= WGI_FEW_ROWS || (p.m <= ROWS && p.k <= WGI_FEW_TERMS);
    return pays && p.tb && !is_one_column(&p)
               ? (size_t)simd_product_packed(p.n, p.k) * wg_dtype_size(n->in[1]->dtype)
               : 0;
}

/* ---- many tiny matrices ---------------------------------------------------------------------- */

/* `runs` of them, each with one step from matrix to matrix of each operand; the addresses are those
 * of the first.  runs 0: the matrices are not tiny, or few. */
typedef struct tiny_products {
    simd_tiny one;
    int64_t runs;
} tiny_products;

/* Whether v has some of its matrices more than once in y, but not one throughout. */
static bool repeats(const wg_value *v, int64_t batches)
{
    int64_t size = last_dim(v, 0) * last_dim(v, 1), count = wg_value_count(v);
    return count != size && count != batches * size;
}

/* From one matrix of v to the next of a run: of all of them, or of those of the last batch axis */
static int64_t next_matrix(const wg_value *v, bool all)
{
    int64_t size = last_dim(v, 0) * last_dim(v, 1);
    return (all ? wg_value_count(v) > size : last_dim(v, 2) > 1) ? size : 0;
}

enum { MANY = 8 };

/* The matrices of a matmul, tiny or not.  The rows of one long matrix count as matrices of ROWS
 * rows; but a column times one number is a row of the packed product. */
static tiny_products matrices_of(const wg_node *n)
{
    enum { ROWS = 8 };
    const wg_matmul_attrs *attrs = n->attrs;
    const wg_value *x = n->in[0], *w = n->in[1];
    products a = products_of(n, attrs->transpose_a, attrs->transpose_b);
    const simd_product *p = &a.one;
    bool rows = a.batches == 1 && p->m > SIMD_TINY,
         all = rows || !(repeats(x, a.batches) || repeats(w, a.batches));
    int64_t run = all ? a.batches : last_dim(n->out[0], 2);
    simd_tiny t = {.count = rows ? p->m / ROWS : run,
                   .m = rows ? ROWS : p->m,
                   .n = p->n,
                   .k = p->k,
                   .a_row = p->ta ? 1 : p->lda,
                   .a_step = p->ta ? p->lda : 1,
                   .b_next = rows ? 0 : next_matrix(w, all),
                   .b_step = p->tb ? 1 : p->ldb,
                   .b_column = p->tb ? p->ldb : 1};
    t.a_next = rows ? ROWS * t.a_row : next_matrix(x, all);
    bool many = (rows ? t.count : a.batches) >= MANY && !(rows && p->n == 1 && p->k == 1);
    return (tiny_products){.one = t, .runs = many ? a.batches / run : 0};
}

static tiny_products tiny_of(const wg_node *n)
{
    enum { MOST = 1 << 9 /* multiplications */ };
    tiny_products p = matrices_of(n);
    const simd_tiny *t = &p.one;
    if (t->m > SIMD_TINY || t->n > SIMD_TINY || t->k > SIMD_TINY || t->m * t->n * t->k > MOST)
        p.runs = 0;
    return p;
}

/* Batches of products of two vectors, a row and a column, or a column and a row */
static tiny_products vectors_of(const wg_node *n)
{
    enum { MOST = 1 << 13 /* multiplications */ };
    tiny_products p = matrices_of(n);
    const simd_tiny *t = &p.one;
    bool batches = n->out[0]->shape.rank > 2, vectors = t->k == 1 || (t->m == 1 && t->n == 1);
    if (!batches || !vectors || t->m * t->n * t->k > MOST)
        p.runs = 0;
    return p;
}

static const char *refuses_tiny(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty_floats(n);
    return why ? why : tiny_of(n).runs ? NULL : "not many tiny matrices";
}

static const char *refuses_vectors(const wg_node *n)
{
    const char *why = wgi_simd_refuses_empty_floats(n);
    return why ? why : vectors_of(n).runs ? NULL : "not many products of vectors";
}

/* The last rows of a long matrix, fewer than those of t, behind what it has done */
static simd_tiny rest_of(const wg_value *y, const simd_tiny *t)
{
    int64_t bytes = (int64_t)wg_dtype_size(y->dtype), done = t->count * t->m * t->n;
    simd_tiny rest = *t;
    rest.a = (const char *)t->a + t->count * t->a_next * bytes;
    rest.c = (char *)t->c + done * bytes;
    rest.m = (wg_value_count(y) - done) / t->n;
    rest.count = rest.m > 0;
    return rest;
}

static void run_matrices(wg_call *c, const tiny_products *all, void (*tiny)(const simd_tiny *))
{
    enum { SMALL = 1 << 15 }; /* multiplications */
    const wg_value *x = c->node->in[0], *w = c->node->in[1], *y = c->node->out[0];
    simd_tiny t = all->one;
    int64_t bytes = (int64_t)wg_dtype_size(y->dtype);
    t.threads = t.count * t.m * t.n * t.k < SMALL ? 1 : c->threads;
    for (int64_t run = 0; run < all->runs; run++) {
        t.a = (const char *)c->in[0] + matrix_of(x, y, run * t.count) * bytes;
        t.b = (const char *)c->in[1] + matrix_of(w, y, run * t.count) * bytes;
        t.c = (char *)c->out[0] + run * t.count * t.m * t.n * bytes;
        tiny(&t);
    }
    if (all->runs == 1) {
        simd_tiny rest = rest_of(y, &t);
        tiny(&rest);
    }
}

static void run_tiny(wg_call *c)
{
    const tiny_products all = tiny_of(c->node);
    run_matrices(c, &all, simd_floats(c)->tiny);
}

static void run_vectors(wg_call *c)
{
    const tiny_products all = vectors_of(c->node);
    run_matrices(c, &all, simd_floats(c)->vectors);
}

const simd_kernel wgi_simd_product[] = {
    {&wg_op_matmul, "tiny products", refuses_tiny, NULL, run_tiny},
    {&wg_op_matmul, "products of vectors", refuses_vectors, NULL, run_vectors},
    {&wg_op_matmul, "product on AMX", refuses_amx, scratch_amx, run_amx},
    {&wg_op_matmul_add, "product on AMX", refuses_amx, scratch_amx, run_amx},
    {&wg_op_linear, "product on AMX", refuses_amx, scratch_amx, run_amx},
    {&wg_op_matmul, "packed product", refuses, scratch, run},
    {&wg_op_matmul_add, "packed product", refuses, scratch, run},
    {&wg_op_linear, "packed product", refuses, scratch, run},
    {.op = NULL},
};
