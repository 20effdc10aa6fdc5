/* Bytes that choose ops of the table, their operands and attributes: wrong ones are refused with a
 * message that names the op, right ones become a graph, which is then put through exercise.c. */
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/fuzz.h"
#include "tests/odd_values.h"
#include "tests/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 64, MAX_OPS = 16, MAX_IDS = 1024 };

typedef struct builder {
    const uint8_t *at;
    size_t left;
    wg_graph *g;
    wg_value *value[MAX_VALUES];
    size_t n;
    int leaves, depth;
    const wg_sample_operand *numbers[MAX_IDS]; /* of inputs, by the id of the value */
} builder;

/* ---- choices --------------------------------------------------------------------------------- */

static unsigned take(builder *b)
{
    if (!b->left)
        return 0;
    b->left--;
    return *b->at++;
}

static size_t choose(builder *b, size_t n)
{
    const unsigned low = take(b);
    return n > 256 ? (low * 256 + take(b)) % n : low % n;
}

static void add(builder *b, wg_value *v)
{
    if (v && b->n < MAX_VALUES)
        b->value[b->n++] = v;
}

/* ---- operands -------------------------------------------------------------------------------- */

static wg_shape odd_shape(builder *b, wg_shape s)
{
    static const int64_t sizes[] = {
        0, 1, 2, 3, 5, 7, 16, 33, 64, INT64_C(1) << 31, INT64_C(1) << 59};
    switch (choose(b, 4)) {
    case 0:
        if (s.rank)
            s.dim[choose(b, (size_t)s.rank)] = sizes[choose(b, WG_COUNT(sizes))];
        break;
    case 1:
        if (s.rank < WG_MAX_RANK)
            s.dim[s.rank++] = sizes[choose(b, WG_COUNT(sizes))];
        break;
    case 2: s.rank -= s.rank > 0; break;
    default: break;
    }
    return s;
}

/* A new leaf that the sample describes. */
static wg_value *leaf(builder *b, wg_graph *g, const wg_sample_operand *o, wg_dtype dtype,
                      wg_shape shape)
{
    char name[16];
    snprintf(name, sizeof name, "x%d", b->leaves++);
    const bool floats = wg_dtype_is_float(dtype), any = o->matrices == WG_MATRICES_ANY;
    wg_value *v = NULL;
    switch (choose(b, 8)) {
    case 0:
        v = floats && any ? wg_parameter(g, name, dtype, shape, wg_normal_init(1)) : NULL;
        break;
    case 1: v = floats && any ? wg_state(g, name, dtype, shape, wg_uniform_init(1)) : NULL; break;
    default: break;
    }
    if (!v)
        v = wg_input(g, name, dtype, shape);
    if (v && v->id < MAX_IDS)
        b->numbers[v->id] = o;
    return v;
}

/* A value that is there with the dtype and the shape that the sample wants, newest first. */
static wg_value *matching(const builder *b, wg_dtype dtype, const wg_shape *s)
{
    for (size_t i = b->n; i > 0; i--)
        if (b->value[i - 1]->dtype == dtype && wg_shape_equal(&b->value[i - 1]->shape, s))
            return b->value[i - 1];
    return NULL;
}

/* What an operand will be: a value that is there, or a leaf to make. */
typedef struct operand {
    wg_value *value;
    wg_dtype dtype;
    wg_shape shape;
    const wg_sample_operand *numbers;
} operand;

static operand choose_operand(builder *b, const wg_sample_operand *o, wg_dtype real)
{
    operand x = {NULL, o->dtype ? o->dtype : real, o->shape, o};
    switch (choose(b, 8)) {
    case 0: x.shape = odd_shape(b, x.shape); break;
    case 1: x.dtype = (wg_dtype)(1 + choose(b, WG_DTYPE_COUNT - 1)); break;
    case 2: x.value = b->n ? b->value[choose(b, b->n)] : NULL; break;
    case 3: break;
    default: x.value = o->matrices ? NULL : matching(b, x.dtype, &x.shape); break;
    }
    if (x.value) {
        x.dtype = x.value->dtype;
        x.shape = x.value->shape;
    }
    return x;
}

/* ---- attributes ------------------------------------------------------------------------------ */

static void change_attribute(builder *b, const wg_op *op, char *attrs)
{
    const wg_attr *a = &op->attrs[choose(b, (size_t)op->n_attrs)];
    const odd_value_list *odd = &odd_values[a->kind];
    char *field = attrs + a->offset;
    const bool whole = a->kind == WG_ATTR_INT || a->kind == WG_ATTR_AXIS || a->kind == WG_ATTR_KEY;
    if (whole && choose(b, 2))
        *(uint64_t *)(void *)field += choose(b, 5) - 2; /* an int64_t that may be a limit */
    else
        memcpy(field, (const char *)odd->first + choose(b, (size_t)odd->count) * odd->size,
               odd->size);
}

/* ---- ops ------------------------------------------------------------------------------------- */

/* The op in a graph of its own, where it may fail; whether it did not and is small enough. */
static bool is_possible(const wg_op *op, const void *attrs, const operand *x, int n)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    bool possible = true;
    for (int i = 0; i < n && possible; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        in[i] = wg_input(g, name, x[i].dtype, x[i].shape);
        possible = in[i] != NULL;
    }
    if (possible) {
        const wg_node *node = wg_apply(WG_HERE, g, op, attrs, in, n);
        NEED_OK(node ? wg_graph_verify(g) == WG_OK : strstr(wg_graph_message(g), op->name) != NULL,
                wg_graph_message(g));
        possible = node && exercise_is_small(g);
    }
    wg_graph_free(g);
    return possible;
}

static const wg_op *choose_op(builder *b)
{
    size_t n = 0;
    while (wg_op_at(n))
        n++;
    const wg_op *op = wg_op_at(choose(b, n));
    return op->n_samples && !(op->flags & WG_OP_LEAF) ? op : NULL;
}

static void build_op(builder *b)
{
    static const wg_dtype reals[] = {WG_F32, WG_F32,  WG_F32, WG_F32,
                                     WG_F64, WG_BF16, WG_F16, WG_I64};
    const wg_op *op = choose_op(b);
    if (!op)
        return;
    const wg_sample *s = &op->samples[choose(b, (size_t)op->n_samples)];
    const wg_dtype real = reals[choose(b, 4) ? 0 : choose(b, WG_COUNT(reals))];
    operand x[WG_MAX_SAMPLE_OPERANDS];
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    for (int i = 0; i < s->n_in; i++)
        x[i] = choose_operand(b, &s->in[i], real);
    char *attrs = s->attrs ? malloc(op->attrs_size) : NULL;
    if (attrs) {
        memcpy(attrs, s->attrs, op->attrs_size);
        if (choose(b, 4) == 1 && op->n_attrs)
            change_attribute(b, op, attrs);
    }
    if (is_possible(op, attrs, x, s->n_in)) {
        for (int i = 0; i < s->n_in; i++)
            in[i] = x[i].value ? x[i].value : leaf(b, b->g, x[i].numbers, x[i].dtype, x[i].shape);
        const wg_node *n = wg_apply(WG_HERE, b->g, op, attrs, in, s->n_in);
        NEED_OK(n != NULL, wg_graph_message(b->g));
        for (int i = 0; i < n->n_out; i++)
            add(b, n->out[i]);
    }
    free(attrs);
}

static void change_scope(builder *b)
{
    if (b->depth && choose(b, 2)) {
        wg_scope_pop(b->g);
        b->depth--;
    } else if (b->depth < 3) {
        wg_scope_push(b->g, "s%d", b->depth++);
        if (choose(b, 2))
            wg_scope_recompute(b->g);
    }
}

/* The newest value is an output, and some of the others. */
static void mark_outputs(builder *b)
{
    if (b->n)
        wg_output(b->value[b->n - 1], NULL);
    for (size_t i = 0; b->n && i < 3; i++)
        wg_output(b->value[choose(b, b->n)], NULL);
    for (size_t i = 0, last = wg_graph_node_count(b->g); i < last; i++) {
        const wg_node *n = wg_graph_node(b->g, i);
        wg_value *v =
            n->op->flags & WG_OP_STATE ? matching(b, n->out[0]->dtype, &n->out[0]->shape) : NULL;
        if (v)
            wg_assign(n->out[0], v);
    }
}

static const wg_sample_operand *numbers_of(const void *context, uint32_t id)
{
    const builder *b = context;
    return id < MAX_IDS ? b->numbers[id] : NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static builder b;
    b = (builder){.at = data, .left = size, .g = wg_graph_new()};
    for (int i = 0; i < MAX_OPS && b.left; i++) {
        if (choose(&b, 8) == 7)
            change_scope(&b);
        build_op(&b);
    }
    for (; b.depth > 0; b.depth--)
        wg_scope_pop(b.g);
    mark_outputs(&b);
    NEED_OK(wg_graph_status(b.g) == WG_OK, wg_graph_message(b.g));
    bool runs = wg_graph_output_count(b.g) > 0 && exercise_is_small(b.g);
    fuzz_accepted(runs);
    if (runs)
        exercise(b.g, numbers_of, &b);
    wg_graph_free(b.g);
    return 0;
}
