/* Graphs without memory: each allocation of building, naming, differentiating, copying, checking
 * and drawing a graph fails, once and from then on, and so does each piece that a graph's arena is
 * asked for.  The answer is WG_ENOMEM, never a crash, a leak (the sanitizers' build sees to that)
 * or a wrong verdict. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "tests/arena_allocations.h"
#include "tests/sample.h"
#include "wengert/autograd/derivatives.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/evaluate.h"
#include "graph/text_buffer.h"
#include "wengert/graph/page.h"
#include "wengert/graph/picture.h"
#include "wengert/ops/parse.h"

#include <locale.h>
#include <sys/mman.h>

/* ---- what fails besides malloc --------------------------------------------------------------- */

FILE *__real_wgi_text_open(wgi_text_buffer *b);
FILE *__wrap_wgi_text_open(wgi_text_buffer *b);

FILE *__wrap_wgi_text_open(wgi_text_buffer *b)
{
    if (!refuse(0))
        return __real_wgi_text_open(b);
    *b = (wgi_text_buffer){.file = NULL};
    return NULL;
}

locale_t __real_newlocale(int mask, const char *name, locale_t base);
locale_t __wrap_newlocale(int mask, const char *name, locale_t base);
locale_t __wrap_newlocale(int mask, const char *name, locale_t base)
{
    return refuse(0) ? (locale_t)0 : __real_newlocale(mask, name, base);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

enum { MANY = 20 };

/* Of the ops, every eighth allocation of each sample fails, from one of the first eight on; with
 * sanitizers, which are slow, every 19th of one sample.  With the argument `all` each does. */
static size_t stride = SANITIZED ? 19 : 8;

/* Scopes in scopes, names, a recomputed scope with a node of many operands, labels that are taken,
 * an expansion, a gradient of a gradient, assigned states. */
static wg_graph *build(void)
{
    wg_graph *g = wg_graph_new();
    if (!g)
        return NULL;
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4, 3)), *many[MANY], *dw = NULL, *d2 = NULL;
    wg_scope_push(g, "model");
    wg_scope_push(g, "block%d", 0);
    wg_scope_recompute(g);
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(3, 3), wg_xavier(1));
    wg_value *h = wg_name(wg_tanh(wg_matmul(x, w)), "h");
    wg_name(h, "h");
    for (int i = 0; i < MANY; i++)
        many[i] = h;
    h = wg_concat(many, MANY, 0);
    h = wg_barrier(h, many, MANY);
    h = wg_sum(wg_reshape(h, WG_SHAPE(MANY, 4, 3)), WG_AXES(0), WG_DROP);
    wg_scope_pop(g);
    wg_scope_pop(g);
    h = wg_layernorm(h, NULL, NULL, WG_LAST_AXIS, 1e-5);
    wg_name(wg_exp(h), "h");
    wg_value *loss = wg_mean(wg_mul(h, h), WG_ALL_AXES, WG_DROP);
    wg_grad(loss, &w, 1, &dw);
    if (dw) {
        wg_value *square = wg_sum(wg_mul(dw, dw), WG_ALL_AXES, WG_DROP);
        wg_grad(square, &w, 1, &d2);
        wg_output(d2, "curvature");
    }
    wg_value *s = wg_state(g, "s", WG_F32, WG_SHAPE(3, 3), wg_zeros());
    if (dw)
        wg_assign(s, dw);
    wg_output(loss, "loss");
    wg_output(h, NULL);
    return g;
}

static wg_status build_and_verify(void *context)
{
    (void)context;
    wg_graph *g = build();
    wg_status status = wg_graph_verify(g);
    assert_true((status == WG_OK) == (*wg_graph_message(g) == '\0'));
    wg_graph_free(g);
    return status;
}

static void building(void **state)
{
    (void)state;
    assert_in_range(fail_each("build", build_and_verify, NULL, WG_OK), 500, 100000);
}

static wg_status clone(void *graph)
{
    wg_value **map = calloc(wg_graph_value_count(graph) + 1, sizeof *map);
    wg_graph *same = wg_graph_clone(graph, &(wg_clone_options){.keep_all = true}, NULL);
    wg_graph *wide =
        map ? wg_graph_clone(graph, &(wg_clone_options){WG_F64, .keep_all = true}, map) : NULL;
    wg_status status = wg_graph_status(same) == WG_OK ? wg_graph_status(wide) : WG_ENOMEM;
    assert_int_equal(wg_graph_status(graph), WG_OK);
    if (status == WG_OK) {
        assert_int_equal(wg_graph_node_count(wide), wg_graph_node_count(graph));
        assert_true(wg_graph_hash(same) == wg_graph_hash(graph));
    }
    free(map);
    wg_graph_free(same);
    wg_graph_free(wide);
    return status;
}

static void cloning(void **state)
{
    (void)state;
    wg_graph *g = build();
    const float numbers[] = {1, 2, 3};
    wg_output(wg_constant(g, WG_F32, WG_SHAPE(3), numbers), "numbers");
    wg_output(wg_constant(g, WG_F32, WG_SHAPE(0), NULL), "none");
    assert_int_equal(wg_graph_status(g), WG_OK);
    assert_in_range(fail_each("clone", clone, g, WG_OK), 500, 100000);
    wg_graph_free(g);
}

static wg_status open_all(void *graph)
{
    wg_graph *opened;
    wg_error error;
    wg_status status = wg_graph_open(&opened, graph, NULL, 0, &error);
    assert_int_equal(wg_graph_status(graph), WG_OK);
    assert_true((status == WG_OK) == (opened != NULL));
    wg_graph_free(opened);
    return status;
}

static void opening(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1, 1, 2, 2));
    wg_output(wg_attention(x, x, x, NULL, NULL), "y");
    assert_int_equal(wg_graph_status(g), WG_OK);
    assert_in_range(fail_each("open", open_all, g, WG_OK), 20, 100000);
    wg_graph_free(g);
}

/* ---- texts ----------------------------------------------------------------------------------- */

static wg_status read_and_print(void *text)
{
    wg_graph *g;
    wg_error error;
    wg_status status = wg_graph_parse(&g, text, strlen(text), NULL, &error);
    assert_int_equal(status, error.status);
    assert_true((status == WG_OK) == (*error.text == '\0'));
    FILE *file = status == WG_OK ? fopen("/dev/null", "w") : NULL;
    if (file) {
        status = wg_graph_print(g, file);
        fclose(file);
    }
    wg_graph_free(g);
    return status;
}

static void reading(void **state)
{
    (void)state;
    wg_graph *g = build();
    const float numbers[] = {1, 2, 3};
    const uint32_t not_a_number = 0x7fc01234; /* written as bytes */
    wg_constant(g, WG_F32, WG_SHAPE(3), numbers);
    wg_constant(g, WG_F32, WG_SCALAR, &not_a_number);
    wg_einsum("ij,kj->ik", (wg_value *[]){wg_graph_value(g, 0), wg_graph_value(g, 0)}, 2);
    assert_int_equal(wg_graph_status(g), WG_OK);
    wgi_text_buffer b;
    FILE *f = __real_wgi_text_open(&b);
    assert_non_null(f);
    assert_int_equal(wg_graph_print(g, f), WG_OK);
    char *text = wgi_text_close(&b);
    assert_non_null(text);
    assert_in_range(fail_each("text", read_and_print, text, WG_OK), 500, 100000);
    free(text);
    wg_graph_free(g);
}

/* ---- every op -------------------------------------------------------------------------------- */

typedef struct application {
    const wg_op *op;
    const wg_sample *sample;
} application;

static wg_status apply_and_differentiate(void *context)
{
    const application *a = context;
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS] = {NULL}, *dx[WG_MAX_SAMPLE_OPERANDS], *y[64];
    wg_value *wrt[WG_MAX_SAMPLE_OPERANDS], *expansion[64];
    size_t n_wrt = 0, n_y = 0;
    for (int i = 0; i < a->sample->n_in; i++) {
        const wg_sample_operand *x = &a->sample->in[i];
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        in[i] = wg_input(g, name, x->dtype ? x->dtype : WG_F32, x->shape);
        if (in[i] && in[i]->dtype == WG_F32)
            wrt[n_wrt++] = in[i];
    }
    wg_node *n = wg_apply(WG_HERE, g, a->op, a->sample->attrs, in, a->sample->n_in);
    for (int i = 0; n && i < n->n_out && n_y < 64; i++)
        if (n->out[i]->dtype == WG_F32)
            y[n_y++] = n->out[i];
    if (n && n_y && n_wrt)
        wg_vjp(y, NULL, n_y, wrt, n_wrt, NULL, dx);
    if (n && n->op->expand && n->n_out <= 64)
        wg_expand_node(n, expansion);
    wg_status status = wg_graph_status(g);
    wg_graph_free(g);
    return status;
}

static void every_op(void **state)
{
    (void)state;
    size_t ops = 0, samples = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        application a = {op, s};
        if (SANITIZED && stride > 1 && s != op->samples)
            continue;
        wg_status status = apply_and_differentiate(&a);
        if (status == WG_EUNSUPPORTED) /* no gradient: a user's own business */
            continue;
        char what[160];
        snprintf(what, sizeof what, "%s, %s", op->name, sample_name(s));
        fail_some(what, apply_and_differentiate, &a, WG_OK,
                  (failing_allocations){false, samples++, stride});
        ops += s == op->samples;
    }
    assert_in_range(ops, 100, 1000);
}

/* ---- gradient checks ------------------------------------------------------------------------- */

static void flip(void *context, wg_node *n, wg_value *const *dy, wg_value **dx)
{
    (void)dy;
    if (strcmp(n->op->name, context) == 0)
        dx[0] = wg_neg(dx[0]);
}

/* With a broken rule of `wrong`, the fault of tanh, unless that is NULL. */
static wg_status check_graph(void *wrong)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    wg_value *ids = wg_input(g, "ids", WG_I64, WG_SHAPE(2));
    wg_output(wg_mul(wg_tanh(x), wg_one_hot(ids, 2, WG_F32)), "y");
    const wg_gradcheck_leaf leaf = {.leaf = ids, .lo = 0, .hi = 2};
    const wg_grad_hook hook = {flip, wrong};
    wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(),
                              .order = wrong ? 1 : 2,
                              .hook = wrong ? &hook : NULL,
                              .leaves = &leaf,
                              .n_leaves = 1};
    wg_gradcheck_report r;
    wg_status status = wg_gradcheck(g, &o, &r);
    if (status == WG_EDATA)
        assert_non_null(strstr(r.guilty, "op tanh at test_out_of_memory.c:"));
    wg_graph_free(g);
    return status;
}

static wg_status check_op(void *name)
{
    const wg_op *op = wg_op_find(name);
    wg_gradcheck_report r;
    return wg_gradcheck_op(op, op->samples,
                           &(wg_gradcheck_options){.evaluator = wg_plan_evaluator()}, &r);
}

static void checking(void **state)
{
    (void)state;
    fail_each("check", check_graph, NULL, WG_OK);
    fail_each("check that fails", check_graph, (void *)"tanh", WG_EDATA);
    fail_each("check of an op", check_op, (void *)"sum", WG_OK);
    fail_each("check of a discrete op", check_op, (void *)"floor", WG_OK);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

/* By a rule, by an expansion and by copies. */
static wg_status matrices(void *context)
{
    (void)context;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2)), *y = wg_tanh(x), *J, *H, *d;
    wg_value *table =
        wg_scatter_add(wg_reshape(y, WG_SHAPE(1, 2)), wg_fill(g, WG_I64, WG_SHAPE(1, 1), 0),
                       wg_fill(g, WG_F32, WG_SHAPE(1, 1), 1), 0);
    wg_value *L = wg_mse(wg_embedding(table, wg_fill(g, WG_I64, WG_SHAPE(1), 0)),
                         wg_reshape(x, WG_SHAPE(1, 2)), WG_LOSS_SUM);
    const wg_jacobian_options chunk = {WG_JACOBIAN_REVERSE, 1};
    wg_jvp(&y, 1, &x, NULL, 1, &d);
    wg_jacobian(y, &x, 1, &chunk, &J);
    wg_hessian(L, &x, 1, NULL, &H);
    wg_laplacian(L, x);
    wg_status status = g ? wg_graph_status(g) : WG_ENOMEM;
    wg_graph_free(g);
    return status;
}

static void whole_derivatives(void **state)
{
    (void)state;
    fail_each("Jacobian and Hessian", matrices, NULL, WG_OK);
}

/* ---- pictures -------------------------------------------------------------------------------- */

typedef struct drawn {
    const wg_graph *g;
    const wg_picture_options *how;
} drawn;

static wg_status draw(void *context)
{
    const drawn *d = context;
    wg_picture *p = NULL;
    wg_error error;
    FILE *file = fopen("/dev/null", "w");
    assert_non_null(file);
    wg_status status = wg_picture_create(&p, d->g, d->how, &error);
#ifdef WG_HAVE_GRAPHVIZ
    if (status == WG_OK)
        status = wg_picture_write(p, WG_PICTURE_DOT, file, &error);
#endif
    if (status != WG_OK)
        assert_string_equal(error.text, "out of memory");
    wg_picture_free(p);
    fclose(file);
    return status;
}

static wg_status write_page(void *graph)
{
    wg_error error;
    FILE *file = fopen("/dev/null", "w");
    assert_non_null(file);
    wg_status status = wg_graph_write_page(graph, "page", file, &error);
    assert_string_equal(error.text, status == WG_OK ? "" : "out of memory");
    fclose(file);
    return status;
}

/* Graphviz runs in a child process, whose allocations count. */
static int share_calls(void **state)
{
    (void)state;
    void *page =
        mmap(NULL, sizeof(size_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    allocations.shared = page != MAP_FAILED ? page : NULL;
    return page == MAP_FAILED;
}

/* Two equal layers, a scalar told in words, a gradient, an assigned state. */
static wg_graph *two_layers(void)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 2)), *w, *dw;
    wg_scope_push(g, "model");
    for (int i = 0; i < 2; i++) {
        wg_scope_push(g, "layer%d", i);
        w = wg_parameter(g, "w", WG_F32, WG_SHAPE(2, 2), wg_ones());
        x = wg_matmul(wg_scale(x, 0.5), w);
        wg_scope_pop(g);
    }
    wg_scope_pop(g);
    wg_value *s = wg_state(g, "s", WG_F32, WG_SHAPE(2, 2), wg_zeros());
    wg_value *loss = wg_output(wg_sum(x, WG_ALL_AXES, WG_DROP), "loss");
    assert_int_equal(wg_grad(loss, &w, 1, &dw), WG_OK);
    wg_assign(s, dw);
    return g;
}

static void drawing(void **state)
{
    (void)state;
    wg_graph *g = two_layers();
    /* each time a process, which a sanitizer makes large */
    const failing_allocations some = {.stride = SANITIZED && stride > 1 ? 11 : 1};
    const char *const expand[] = {"model"};
    const wg_picture_options ways[] = {
        {.title = "small"}, {.full = true, .memory = true}, {.expanded = expand, .n_expanded = 1}};
    for (int i = 0; i < WG_COUNT(ways); i++)
        assert_in_range(fail_some("picture", draw, &(drawn){g, &ways[i]}, WG_OK, some), 30, 100000);
    assert_in_range(fail_each("page", write_page, g, WG_OK), 10, 100000);
    wg_graph_free(g);
}

/* libcgraph forgets 48 bytes of a graph for which it gets no id (agalloc in agopen). */
WG_API const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:agalloc\n";
}

/* test_out_of_memory [all | CASE] */
int main(int argc, char **argv)
{
    bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    if (all)
        stride = 1;
    else if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opening),           cmocka_unit_test(building), cmocka_unit_test(reading),
        cmocka_unit_test(cloning),           cmocka_unit_test(every_op), cmocka_unit_test(checking),
        cmocka_unit_test(whole_derivatives), cmocka_unit_test(drawing),
    };
    return cmocka_run_group_tests(tests, share_calls, NULL);
}
