/* Every op of the table keeps the contract of wengert/graph/op.h. */
#include "tests/sample.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/plan.h"

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

/* A gather from a large table does not read the table. */
static void bytes_are_those_that_are_moved(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *table = wg_input(g, "table", WG_F32, WG_SHAPE(1000, 4));
    wg_value *ids = wg_input(g, "ids", WG_I32, WG_SHAPE(3));
    const struct {
        wg_value *y;
        double bytes;
    } cases[] = {
        {wg_embedding(table, ids), 12 + 2 * 48},    {wg_take(table, ids, 0), 12 + 2 * 48},
        {wg_slice(table, 0, 100, 110, 1), 2 * 160}, {wg_neg(table), 2 * 16000},
        {wg_reshape(table, WG_SHAPE(4000)), 0},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        check_that(cases[i].y != NULL, "%s", wg_graph_message(g));
        double bytes = wg_node_bytes(cases[i].y->node);
        check_that(bytes == cases[i].bytes, "case %d: %.0f bytes", i, bytes);
    }
    wg_graph_free(g);
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
                double d = sample_distance(data, y[i]->dtype, data + bytes, y[i]->dtype,
                                           wg_value_count(y[i]));
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
        cmocka_unit_test(bytes_are_those_that_are_moved),
        cmocka_unit_test(gradient_rules_read_what_they_declare),
        cmocka_unit_test(gradients_consist_of_ops_with_gradients),
        cmocka_unit_test(expansions_equal_kernels),
        cmocka_unit_test(every_pass_of_the_planner_keeps_the_bits),
        cmocka_unit_test(gradients_verify_and_clones_are_equal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
