/* Every op of the table keeps the contract of wengert/graph/op.h. */
#include "tests/sample.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/plan.h"

#include <math.h>

/* ---- what the table says --------------------------------------------------------------------- */

static bool has_float_operand(const wg_op *op)
{
    for (int k = 0; k < op->n_samples; k++)
        for (int i = 0; i < op->samples[k].n_in; i++)
            if (op->samples[k].in[i].dtype == 0 || wg_dtype_is_float(op->samples[k].in[i].dtype))
                return true;
    return false;
}

static void check_attributes(const wg_op *op)
{
    static const size_t sizes[] = {
        [WG_ATTR_INT] = sizeof(int64_t),    [WG_ATTR_REAL] = sizeof(double),
        [WG_ATTR_BOOL] = sizeof(bool),      [WG_ATTR_ENUM] = sizeof(int),
        [WG_ATTR_DTYPE] = sizeof(wg_dtype), [WG_ATTR_AXES] = sizeof(wg_axes),
        [WG_ATTR_SHAPE] = sizeof(wg_shape), [WG_ATTR_TEXT] = sizeof(char *),
        [WG_ATTR_DATA] = sizeof(wg_data),   [WG_ATTR_KEY] = sizeof(int64_t),
        [WG_ATTR_AXIS] = sizeof(int64_t)};
    size_t end = 0;
    for (int i = 0; i < op->n_attrs; i++) {
        const wg_attr *f = &op->attrs[i];
        check_that(f->offset >= end && f->offset + sizes[f->kind] <= op->attrs_size,
                   "%s: attribute %s overlaps another or is out of order", op->name, f->name);
        end = f->offset + sizes[f->kind];
        if (f->kind == WG_ATTR_ENUM)
            check_that(f->names != NULL, "%s: %s has no names", op->name, f->name);
        for (int k = 0; k < i; k++)
            check_that(strcmp(op->attrs[k].name, f->name) != 0, "%s: two attributes %s", op->name,
                       f->name);
    }
}

static void the_table_is_complete(void **state)
{
    (void)state;
    const wg_op *op;
    size_t count = 0;
    for (size_t i = 0; (op = wg_op_at(i)); i++, count++) {
        assert_true(op->name && *op->name);
        assert_ptr_equal(wg_op_find(op->name), op); /* unique */
        check_that(op->formula && *op->formula, "%s has no formula", op->name);
        check_that(op->family != WG_FAMILY_OTHER, "%s has no family", op->name);
        check_that(op->operands != NULL, "%s does not name its operands", op->name);
        check_that(op->infer != NULL, "%s has no shape rule", op->name);
        check_that(op->n_samples > 0 && op->samples, "%s has no samples", op->name);
        check_that(op->n_attrs == 0 || op->attrs_size > 0, "%s: described attributes without room",
                   op->name);
        check_that((op->n_kinks > 0) == (op->kinks != NULL), "%s: kinks", op->name);
        check_that(!(op->flags & WG_OP_DISCRETE) || !op->grad,
                   "%s is discrete and has a gradient rule", op->name);
        check_that(op->grad || op->reads == 0, "%s: reads without a rule", op->name);
        check_that(op->grad || op->expand || op->flags & WG_OP_DISCRETE || !has_float_operand(op),
                   "%s has float operands, but no rule, no expansion, and is not discrete",
                   op->name);
        check_attributes(op);
    }
    assert_null(wg_op_find("no such op"));
    assert_null(wg_op_find(NULL));
    print_message("%zu ops\n", count);
    assert_true(count >= 20);
}

static void samples_are_graphs_that_verify(void **state)
{
    (void)state;
    int count = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        sample_graph b = sample_build(op, s, WG_F64, 1);
        check_that(b.node != NULL, "%s, %s: %s", op->name, sample_name(s), wg_graph_message(b.g));
        check_that(wg_graph_verify(b.g) == WG_OK, "%s", wg_graph_message(b.g));
        const wg_node *n = b.node;
        if (op->flags & WG_OP_VIEW)
            assert_int_equal(wg_value_bytes(n->out[0]), wg_value_bytes(n->in[0]));
        if (op->flags & WG_OP_LEAF)
            assert_int_equal(n->n_in, 0);
        for (int i = 0; i < 32; i++)
            check_that(!(op->inplace >> i & 1) || i < 12, "%s: in place of operand %d", op->name,
                       i);
        assert_true(wg_node_flops(n) >= 0 && wg_node_bytes(n) >= 0);
        sample_free(&b);
        count++;
    }
    print_message("%d samples\n", count);
}

/* ---- rules read what they say ---------------------------------------------------------------- */

static int reads_of(const wg_node *n, const wg_value *v)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] == v)
            return WG_READS_X;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] == v)
            return WG_READS_Y;
    return 0;
}

static int what_the_rule_reads(sample_graph *b)
{
    wg_node *n = b->node;
    wg_value *dy[16] = {NULL}, *dx[16] = {NULL};
    int found = 0;
    assert_true(n->n_out <= 16 && n->n_in <= 16);
    for (int i = 0; i < n->n_out; i++) {
        char name[32];
        snprintf(name, sizeof name, "dy%d", i);
        if (wg_dtype_is_float(n->out[i]->dtype))
            dy[i] = wg_input(b->g, name, n->out[i]->dtype, n->out[i]->shape);
    }
    size_t first = wg_graph_node_count(b->g);
    n->op->grad(n, dy, dx);
    check_that(wg_graph_status(b->g) == WG_OK, "%s", wg_graph_message(b->g));
    for (size_t i = first; i < wg_graph_node_count(b->g); i++) {
        const wg_node *made = wg_graph_node(b->g, i);
        for (int k = 0; k < made->n_in; k++)
            found |= reads_of(n, made->in[k]);
    }
    for (int i = 0; i < n->n_in; i++)
        found |= dx[i] ? reads_of(n, dx[i]) : 0;
    return found;
}

static void gradient_rules_read_what_they_declare(void **state)
{
    (void)state;
    static const char *const words[] = {"nothing", "x", "y", "x and y"};
    const wg_op *op;
    int rules = 0, wrong = 0;
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        int found = 0;
        for (int k = 0; k < op->n_samples && op->grad; k++) {
            sample_graph b = sample_build(op, &op->samples[k], WG_F64, 1);
            bool any = false;
            for (int r = 0; b.node && r < b.node->n_out; r++)
                any |= wg_dtype_is_float(b.node->out[r]->dtype);
            if (any)
                found |= what_the_rule_reads(&b);
            sample_free(&b);
        }
        rules += op->grad != NULL;
        wrong += found != op->reads;
        if (found != op->reads)
            print_error("%s: its rule reads %s, it declares %s\n", op->name, words[found],
                        words[op->reads & 3]);
    }
    print_message("%d rules\n", rules);
    assert_int_equal(wrong, 0);
}

/* ---- derivatives of derivatives -------------------------------------------------------------- */

static bool has_gradient(const wg_op *op)
{
    return op->grad || op->expand || op->flags & (WG_OP_DISCRETE | WG_OP_LEAF) || !*op->operands;
}

/* Ops without a gradient among the nodes that the gradient of b's node appends; `nodes` counts. */
static int ends_of_differentiation(const sample_graph *b, int *nodes)
{
    wg_value *wrt[WG_MAX_SAMPLE_OPERANDS], *dx[WG_MAX_SAMPLE_OPERANDS];
    size_t n = 0, before = wg_graph_node_count(b->g);
    int ends = 0;
    for (int i = 0; i < b->n_in; i++)
        if (wg_dtype_is_float(b->in[i]->dtype))
            wrt[n++] = b->in[i];
    wg_value *y = b->node->out[0];
    if (n && wg_dtype_is_float(y->dtype))
        assert_int_equal(wg_grad(wg_sum(y, WG_ALL_AXES, WG_DROP), wrt, n, dx), WG_OK);
    for (size_t i = before; i < wg_graph_node_count(b->g); i++, ++*nodes)
        if (!has_gradient(wg_graph_node(b->g, i)->op)) {
            print_error("%s: its gradient has %s\n", b->node->op->name,
                        wg_graph_node(b->g, i)->op->name);
            ends++;
        }
    return ends;
}

/* So every op that has a gradient has one of any order, as docs/ops.md says. */
static void gradients_consist_of_ops_with_gradients(void **state)
{
    (void)state;
    int nodes = 0, ends = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        sample_graph b = sample_shapes(op, s, WG_F64, 1);
        if (b.node && has_gradient(op))
            ends += ends_of_differentiation(&b, &nodes);
        sample_free(&b);
    }
    print_message("%d nodes of gradients\n", nodes);
    assert_int_equal(ends, 0);
    assert_true(nodes > 1000);
}

/* ---- kernels, called without a plan ---------------------------------------------------------- */

enum { GUARD = 64 };

typedef struct kernel_run {
    unsigned char *out[16]; /* GUARD bytes, the result, GUARD bytes */
    bool ran;
} kernel_run;

static void *aligned(size_t bytes)
{
    return aligned_alloc(64, (bytes + 127) / 64 * 64);
}

/* Runs the reference kernel of b's node; `in_place` is the operand that result 0 overwrites, or -1.
 */
static kernel_run run_kernel(const sample_graph *b, int threads, int in_place)
{
    kernel_run r = {{NULL}, false};
    const wg_backend *cpu = wg_cpu_backend();
    const wg_node *n = b->node;
    const void *in[WG_MAX_SAMPLE_OPERANDS];
    void *own[WG_MAX_SAMPLE_OPERANDS], *out[16], *backend = NULL;
    char message[WG_CALL_MESSAGE] = "";
    assert_int_equal(cpu->open(&backend, &(wg_backend_config){.threads = threads}), WG_OK);
    if (cpu->refuses(backend, n)) {
        cpu->close(backend);
        return r;
    }
    for (int i = 0; i < n->n_in; i++) {
        in[i] = own[i] = aligned(wg_value_bytes(n->in[i]));
        memcpy(own[i], b->data[i], wg_value_bytes(n->in[i]));
    }
    for (int i = 0; i < n->n_out; i++) {
        size_t bytes = wg_value_bytes(n->out[i]);
        r.out[i] = aligned(bytes + 2 * GUARD);
        memset(r.out[i], 0xa5, bytes + 2 * GUARD);
        out[i] = r.out[i] + GUARD;
    }
    if (in_place >= 0)
        out[0] = own[in_place];
    wg_kernel k = {0};
    assert_int_equal(cpu->prepare(backend, n, &k), WG_OK);
    void *scratch = aligned(k.scratch);
    wg_call call = {.node = n,
                    .in = in,
                    .out = out,
                    .state = k.state,
                    .scratch = scratch,
                    .threads = threads,
                    .seed = 9,
                    .step = 4,
                    .message = message};
    k.run(&call);
    check_that(call.status == WG_OK, "%s: %s", n->op->name, message);
    r.ran = true;
    if (in_place >= 0)
        memcpy(r.out[0] + GUARD, own[in_place], wg_value_bytes(n->out[0]));
    for (int i = 0; i < n->n_out; i++)
        for (int g = 0; g < GUARD; g++)
            check_that(r.out[i][g] == 0xa5 &&
                           r.out[i][GUARD + wg_value_bytes(n->out[i]) + (size_t)g] == 0xa5,
                       "%s writes outside result %d", n->op->name, i);
    for (int i = 0; i < n->n_in; i++) {
        if (i != in_place)
            check_that(memcmp(own[i], b->data[i], wg_value_bytes(n->in[i])) == 0,
                       "%s changes operand %d", n->op->name, i);
        free(own[i]);
    }
    free(scratch);
    if (cpu->finish)
        cpu->finish(backend, &k);
    cpu->close(backend);
    return r;
}

static void free_run(kernel_run *r)
{
    for (int i = 0; i < 16; i++)
        free(r->out[i]);
}

static void check_same_bits(const sample_graph *b, const kernel_run *a, const kernel_run *c,
                            const char *what)
{
    for (int i = 0; i < b->node->n_out; i++)
        check_that(memcmp(a->out[i] + GUARD, c->out[i] + GUARD, wg_value_bytes(b->node->out[i])) ==
                       0,
                   "%s: result %d differs %s", b->node->op->name, i, what);
}

static double element(const void *data, wg_dtype dtype, int64_t i)
{
    switch (dtype) {
    case WG_F32: return (double)((const float *)data)[i];
    case WG_F64: return ((const double *)data)[i];
    case WG_I32: return ((const int32_t *)data)[i];
    case WG_I64: return (double)((const int64_t *)data)[i];
    case WG_BOOL: return ((const bool *)data)[i];
    default: return NAN;
    }
}

/* Largest difference of two results, relative to the largest magnitude (at least 1). */
static double distance(const void *a, wg_dtype da, const void *b, wg_dtype db, int64_t count)
{
    double scale = 1, worst = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(element(b, db, i)))
            scale = fmax(scale, fabs(element(b, db, i)));
    for (int64_t i = 0; i < count; i++) {
        double x = element(a, da, i), y = element(b, db, i);
        double d = x == y || (isnan(x) && isnan(y)) ? 0 : fabs(x - y) / scale;
        if (!(d <= worst))
            worst = d;
    }
    return worst;
}

static void kernels_of_f32_and_f64_agree(void **state)
{
    (void)state;
    int compared = 0;
    int64_t elements = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        sample_graph wide = sample_build(op, s, WG_F64, 1), narrow = sample_build(op, s, WG_F32, 1);
        if (wide.node && narrow.node) {
            kernel_run a = run_kernel(&narrow, 1, -1), b = run_kernel(&wide, 1, -1);
            check_that(a.ran == b.ran, "%s has a kernel for one float only", op->name);
            for (int i = 0; a.ran && i < wide.node->n_out; i++) {
                const wg_value *x = narrow.node->out[i], *y = wide.node->out[i];
                double d = distance(a.out[i] + GUARD, x->dtype, b.out[i] + GUARD, y->dtype,
                                    wg_value_count(y));
                check_that(d <= 1e-5, "%s, %s: result %d of f32 and f64 differ by %g", op->name,
                           sample_name(s), i, d);
                elements += wg_value_count(y);
            }
            compared += a.ran;
            free_run(&a);
            free_run(&b);
        }
        sample_free(&wide);
        sample_free(&narrow);
    }
    print_message("%lld elements of %d samples\n", (long long)elements, compared);
    assert_true(compared > 40 && elements > 400);
}

static void in_place_gives_the_same_bits(void **state)
{
    (void)state;
    int compared = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        for (wg_dtype real = WG_F32; real <= WG_F64; real++) {
            sample_graph b = sample_build(op, s, real, 1);
            kernel_run apart = b.node ? run_kernel(&b, 1, -1) : (kernel_run){{NULL}, false};
            for (int i = 0; apart.ran && i < b.n_in; i++)
                if (op->inplace >> i & 1 &&
                    wg_value_bytes(b.node->in[i]) == wg_value_bytes(b.node->out[0])) {
                    kernel_run over = run_kernel(&b, 1, i);
                    check_same_bits(&b, &apart, &over, "in place");
                    free_run(&over);
                    compared++;
                }
            free_run(&apart);
            sample_free(&b);
        }
    }
    print_message("%d in-place runs\n", compared);
    assert_true(compared > 20);
}

static double bytes_of(const wg_node *n) /* views count here, unlike in wg_node_bytes */
{
    double bytes = 0;
    for (int i = 0; i < n->n_in; i++)
        bytes += (double)wg_value_bytes(n->in[i]);
    for (int i = 0; i < n->n_out; i++)
        bytes += (double)wg_value_bytes(n->out[i]);
    return bytes;
}

/* Samples are too small for several threads, so all sizes are multiplied, as far as the shape rule
 * allows. */
static int64_t enlargement(const wg_op *op, const wg_sample *s)
{
    int64_t times = 1;
    for (int64_t next = 2; next <= 4096; next *= 2) {
        sample_graph t = sample_shapes(op, s, WG_F32, next);
        bool fits = t.node && bytes_of(t.node) < 1e6 && wg_node_flops(t.node) < 1e7;
        sample_free(&t);
        if (!fits)
            break;
        times = next;
    }
    return times;
}

static uint64_t bits_of(const sample_graph *b, const kernel_run *r)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (int i = 0; i < b->node->n_out; i++)
        for (size_t k = 0, bytes = wg_value_bytes(b->node->out[i]); k < bytes; k++)
            h = (h ^ r->out[i][GUARD + k]) * UINT64_C(0x100000001b3);
    return h;
}

/* All samples at one number of threads before the next: OpenMP starts new threads when the number
 * changes. */
static void results_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    enum { MAX = 4096 };
    uint64_t *bits = calloc(MAX, sizeof *bits);
    int compared = 0, large = 0;
    for (int threads = 1; threads <= 4; threads *= 2) {
        int place = 0;
        FOR_EACH_SAMPLE(op, s)
        {
            sample_graph b =
                sample_build(op, s, WG_F32, enlargement(op, s)); /* f64 is the same source */
            kernel_run r = b.node ? run_kernel(&b, threads, -1) : (kernel_run){{NULL}, false};
            assert_true(place < MAX);
            if (r.ran && threads == 1) {
                bits[place] = bits_of(&b, &r);
            } else if (r.ran) {
                check_that(bits[place] == bits_of(&b, &r), "%s, %s: other bits with %d threads",
                           op->name, sample_name(s), threads);
                compared++;
                large += bytes_of(b.node) > 1 << 17;
            }
            place++;
            free_run(&r);
            sample_free(&b);
        }
    }
    free(bits);
    print_message("%d comparisons, %d of them of large samples\n", compared, large);
    assert_true(compared > 80 && large > 40);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Runs a plan and copies out the outputs, one after the other; the caller frees. */
static char *run_plan(const sample_graph *b, wg_value *const *outputs, size_t n,
                      wg_plan_options options)
{
    wg_plan *p = NULL;
    options.outputs = outputs;
    options.n_outputs = n;
    options.seed = 9;
    check_that(wg_plan_create(&p, b->g, &options) == WG_OK, "%s: %s", b->node->op->name,
               wg_graph_message(b->g));
    for (int i = 0; i < b->n_in; i++)
        memcpy(wg_plan_data(p, b->in[i]), b->data[i], wg_value_bytes(b->in[i]));
    check_that(wg_plan_run(p, 4) == WG_OK, "%s: %s", b->node->op->name, wg_plan_message(p));
    size_t bytes = 0, used = 0;
    for (size_t i = 0; i < n; i++)
        bytes += wg_value_bytes(outputs[i]);
    char *copy = malloc(bytes + 1);
    for (size_t i = 0; i < n; used += wg_value_bytes(outputs[i++]))
        memcpy(copy + used, wg_plan_data(p, outputs[i]), wg_value_bytes(outputs[i]));
    wg_plan_free(p);
    return copy;
}

static void expansions_equal_kernels(void **state)
{
    (void)state;
    int compared = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        sample_graph b = sample_build(op, s, WG_F64, 1);
        wg_value *y[16];
        if (b.node && op->expand) {
            wg_node *n = b.node;
            check_that(wg_expand_node(n, y), "%s: %s", op->name, wg_graph_message(b.g));
            for (int i = 0; i < n->n_out; i++) {
                wg_value *both[] = {n->out[i], y[i]};
                size_t bytes = wg_value_bytes(y[i]);
                char *data = run_plan(&b, both, 2, (wg_plan_options){0});
                double d =
                    distance(data, y[i]->dtype, data + bytes, y[i]->dtype, wg_value_count(y[i]));
                check_that(d <= 1e-12, "%s, %s: kernel and expansion differ by %g in result %d",
                           op->name, sample_name(s), d, i);
                free(data);
                compared++;
            }
        }
        sample_free(&b);
    }
    print_message("%d results\n", compared);
    assert_true(compared > 0);
}

/* The op and its gradient with respect to all float operands. */
static size_t with_gradient(sample_graph *b, wg_value **outputs)
{
    wg_value *y[16], *x[WG_MAX_SAMPLE_OPERANDS], *dx[WG_MAX_SAMPLE_OPERANDS];
    size_t n_y = 0, n_x = 0, n = 0;
    for (int i = 0; i < b->node->n_out; i++) {
        outputs[n++] = b->node->out[i];
        if (wg_dtype_is_float(b->node->out[i]->dtype))
            y[n_y++] = b->node->out[i];
    }
    for (int i = 0; i < b->n_in; i++)
        if (wg_dtype_is_float(b->in[i]->dtype))
            x[n_x++] = b->in[i];
    if (n_y && n_x) {
        wg_value *ramp[16];
        for (size_t i = 0; i < n_y; i++) { /* a cotangent that is not the same everywhere */
            wg_shape flat = wg_shape_make(1, (int64_t[]){wg_value_count(y[i])});
            ramp[i] = wg_reshape(wg_iota(b->g, y[i]->dtype, flat, 0, 0.5, 0.25), y[i]->shape);
        }
        check_that(wg_vjp(y, ramp, n_y, x, n_x, NULL, dx) == WG_OK, "%s", wg_graph_message(b->g));
        for (size_t i = 0; i < n_x; i++)
            outputs[n++] = dx[i];
    }
    return n;
}

static void every_pass_of_the_planner_keeps_the_bits(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wg_plan_options options;
    } ways[] = {
        {"poison", {.poison = true}},
        {"without in-place", {.no_inplace = true}},
        {"without elimination of common subexpressions", {.no_cse = true}},
        {"without folding", {.no_fold = true}},
        {"keeping all", {.keep_all = true, .poison = true}},
        {"with nothing", {.no_inplace = true, .no_cse = true, .no_fold = true}},
        {"with one thread", {.threads = 1}},
    };
    int compared = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        sample_graph b = sample_build(op, s, WG_F64, 1);
        wg_value *outputs[16 + WG_MAX_SAMPLE_OPERANDS];
        if (!(op->flags & WG_OP_LEAF)) {
            size_t n = with_gradient(&b, outputs), bytes = 0;
            char *plain = run_plan(&b, outputs, n, (wg_plan_options){0});
            for (size_t i = 0; i < n; i++)
                bytes += wg_value_bytes(outputs[i]);
            for (int w = 0; w < WG_COUNT(ways); w++) {
                char *other = run_plan(&b, outputs, n, ways[w].options);
                check_that(memcmp(plain, other, bytes) == 0, "%s, %s: other bits %s", op->name,
                           sample_name(s), ways[w].name);
                free(other);
                compared++;
            }
            free(plain);
        }
        sample_free(&b);
    }
    print_message("%d comparisons\n", compared);
    assert_true(compared > 300);
}

static void gradients_verify_and_clones_are_equal(void **state)
{
    (void)state;
    FOR_EACH_SAMPLE(op, s)
    {
        sample_graph b = sample_build(op, s, WG_F32, 1);
        wg_value *outputs[16 + WG_MAX_SAMPLE_OPERANDS];
        if (b.node) {
            with_gradient(&b, outputs);
            check_that(wg_graph_verify(b.g) == WG_OK, "%s", wg_graph_message(b.g));
            wg_graph *copy = wg_graph_clone(b.g, &(wg_clone_options){.keep_all = true}, NULL);
            assert_int_equal(wg_graph_status(copy), WG_OK);
            assert_true(wg_graph_hash(copy) == wg_graph_hash(b.g));
            wg_graph *wide = wg_graph_clone(
                b.g, &(wg_clone_options){.floats_as = WG_F64, .keep_all = true}, NULL);
            check_that(wg_graph_verify(wide) == WG_OK, "%s in f64: %s", op->name,
                       wg_graph_message(wide));
            wg_graph_free(wide);
            wg_graph_free(copy);
        }
        sample_free(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_complete),
        cmocka_unit_test(samples_are_graphs_that_verify),
        cmocka_unit_test(gradient_rules_read_what_they_declare),
        cmocka_unit_test(gradients_consist_of_ops_with_gradients),
        cmocka_unit_test(kernels_of_f32_and_f64_agree),
        cmocka_unit_test(in_place_gives_the_same_bits),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(expansions_equal_kernels),
        cmocka_unit_test(every_pass_of_the_planner_keeps_the_bits),
        cmocka_unit_test(gradients_verify_and_clones_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
