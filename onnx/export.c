/* From a graph to a file: composites are expanded until every node that the outputs need has a form
 * in ONNX; then each is written. */
#include "files/replace.h"
#include "graph/error.h"
#include "graph/marks.h"
#include "graph/threads.h"
#include "onnx/limits.h"
#include "onnx/lower.h"
#include "ops/initial.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

/* ---- lowering -------------------------------------------------------------------------------- */

/* By id of node: whether an output needs it.  NULL without memory. */
static bool *needed_by_outputs(const wg_graph *g)
{
    size_t n = wg_graph_node_count(g);
    bool *needed = calloc(n + 1, sizeof *needed);
    for (size_t i = 0; needed && i < wg_graph_output_count(g); i++)
        needed[wg_graph_output(g, i)->node->id] = true;
    for (size_t i = n; needed && i-- > 0;) {
        const wg_node *p = wg_graph_node(g, i);
        for (int k = 0; needed[i] && k < p->n_in; k++)
            needed[p->in[k]->node->id] = true;
    }
    return needed;
}

/* How a graph is lowered. */
typedef struct lowering {
    bool step;            /* assignments are written as well */
    bool without_dropout; /* dropout is left out */
    bool *needed;         /* of the graph that is expanded */
} lowering;

/* A pure function draws nothing.  Outside of training dropout does nothing, but in a step it
 * must. */
static bool is_written(const lowering *l, const wg_node *n)
{
    return n->op->flags & WG_OP_LEAF ||
           (wgi_ox_writer_of(n) && !(l->step && n->op == &wg_op_dropout));
}

static bool is_left_out(const lowering *l, const wg_node *n)
{
    return l->without_dropout && n->op == &wg_op_dropout;
}

/* The expansion of a copy of n, which nothing then needs. */
static bool expand(void *context, wg_graph *to, const wg_node *n, wg_value *const *in, wg_value **y)
{
    const lowering *l = context;
    if (is_left_out(l, n)) {
        y[0] = in[0];
        return true;
    }
    if (!l->needed[n->id] || is_written(l, n))
        return false;
    wg_node *copy = wg_node_copy(to, n, in, WG_DTYPE_DEFAULT);
    return copy && wgi_ox_simplify(copy, y);
}

typedef struct missing {
    const char *name;
    size_t count;
} missing;

static wg_status report_missing(const lowering *l, const missing *list, size_t count,
                                wg_error *error)
{
    bool drops = false;
    for (size_t k = 0; k < count; k++) {
        drops |= l->step && strcmp(list[k].name, wg_op_dropout.name) == 0;
        wgi_error_item(error, WG_EUNSUPPORTED, "%s%s (%zu)",
                       k ? "" : "ops without a form in ONNX: ", list[k].name, list[k].count);
    }
    if (drops)
        wgi_error_add(error, "; a pure function draws no random numbers: build the model without "
                             "dropout, or ask for an export without it");
    return count ? WG_EUNSUPPORTED : WG_OK;
}

/* WG_EUNSUPPORTED with all ops that can be neither written nor expanded; *more says whether some
 * have to be expanded. */
static wg_status check(const wg_graph *g, const lowering *l, bool *more, wg_error *error)
{
    enum { MOST = 64 };
    missing list[MOST];
    size_t count = 0;
    *more = false;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        bool done = is_written(l, n) && !is_left_out(l, n);
        if (!l->needed[i] || done)
            continue;
        size_t k = 0;
        *more = true;
        if (is_left_out(l, n) || wgi_ox_can_simplify(n->op))
            continue;
        while (k < count && strcmp(list[k].name, n->op->name) != 0)
            k++;
        if (k == count && count < MOST)
            list[count++] = (missing){n->op->name, 0};
        if (k < MOST)
            list[k].count++;
    }
    return report_missing(l, list, count, error);
}

/* The values that leaves take become outputs "LEAF.next". */
static void show_assignments(wg_graph *g)
{
    char name[1600];
    for (size_t i = 0; i < wg_graph_assign_count(g); i++) {
        wg_value *leaf, *v;
        wg_graph_assign_at(g, i, &leaf, &v);
        snprintf(name, sizeof name, "%.1500s" WG_ONNX_NEXT, leaf->name);
        wg_output(v, name);
    }
}

/* One level of expansions, in the place of *g, which is NULL after an error. */
static wg_status lower_once(wg_graph **g, lowering *l, wg_error *error)
{
    const wg_clone_options o = {.replace = expand, .context = l};
    wg_graph *next = wg_graph_clone(*g, &o, NULL);
    wg_graph_free(*g);
    *g = next;
    wg_status status = next ? wg_graph_status(next) : WG_ENOMEM;
    if (status != WG_OK)
        wgi_error_set(error, status, "%s", next ? wg_graph_message(next) : "out of memory");
    return status;
}

/* Until all nodes can be written: each level is made of simpler ops. */
static wg_status lower(wg_graph **out, const wg_graph *from, lowering *l, wg_error *error)
{
    bool more = true;
    wg_status status = WG_OK;
    wg_graph *g = wg_graph_clone(from, NULL, NULL);
    if (g && l->step)
        show_assignments(g);
    if (!g || wg_graph_status(g) != WG_OK)
        status = wgi_error_set(error, g ? wg_graph_status(g) : WG_ENOMEM, "%s",
                               g ? wg_graph_message(g) : "out of memory");
    while (more && status == WG_OK) {
        l->needed = needed_by_outputs(g);
        status = l->needed ? check(g, l, &more, error)
                           : wgi_error_set(error, WG_ENOMEM, "out of memory");
        if (status == WG_OK && more)
            status = lower_once(&g, l, error);
        free(l->needed);
    }
    *out = g;
    return status;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* Whether the store has the numbers of v; if not, a line of the error says what it has. */
static wg_status check_numbers(const wg_tensor *t, const wg_value *v, wg_error *error)
{
    char want[160], have[160];
    if (t && t->dtype == v->dtype && wg_shape_equal(&t->shape, &v->shape))
        return WG_OK;
    return wgi_error_line(error, WG_EDATA, "tensor %s: expected %s %s, got %s%s%s", v->name,
                          wg_dtype_name(v->dtype), wg_shape_text(&v->shape, want, sizeof want),
                          t ? wg_dtype_name(t->dtype) : "none", t ? " " : "",
                          t ? wg_shape_text(&t->shape, have, sizeof have) : "");
}

/* The numbers of a parameter or a state: of the store, or without one those it begins with. */
static wg_status write_numbers(ox_export *e, const wg_store *store, const wg_value *v,
                               wg_error *error)
{
    const wg_tensor *t = store ? wg_store_find(store, v->name) : NULL;
    const void *data = t ? t->data : NULL;
    wg_status status = store ? check_numbers(t, v, error) : WG_OK;
    if (status != WG_OK)
        return status;
    if (!t) {
        void *room = wgi_ox_room(e, wg_value_bytes(v) + 1);
        if (!room || wgi_initial_values(room, 0, v->name, v, wgi_threads(0)) != WG_OK)
            e->failed = true;
        data = room;
    }
    wgi_ox_tensor(e, wgi_ox_name(e, v), v->dtype, &v->shape, data);
    return WG_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct file_parts {
    ox_list inputs, outputs;
    const wg_onnx_export_options *options;
    wg_error *error;
} file_parts;

/* A step is a function of what it changes. */
static bool is_input(const file_parts *f, const wg_node *n)
{
    return n->op->flags & WG_OP_INPUT || (f->options->step && n->op->flags & WG_OP_LEAF &&
                                          wgi_graph_assignment(n->graph, n->out[0]));
}

static wg_status write_nodes(ox_export *e, file_parts *f, const bool *needed)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < wg_graph_node_count(e->graph) && !e->failed; i++) {
        const wg_node *n = wg_graph_node(e->graph, i);
        if (!needed[i])
            continue;
        if (is_input(f, n))
            wgi_ox_push(
                e, &f->inputs,
                wgi_ox_port(e, wgi_ox_name(e, n->out[0]), n->out[0]->dtype, &n->out[0]->shape));
        else if (!(n->op->flags & (WG_OP_PARAMETER | WG_OP_STATE)))
            wgi_ox_writer_of(n)(e, n);
        else if (write_numbers(e, f->options->store, n->out[0], f->error) != WG_OK)
            status = WG_EDATA;
    }
    return status;
}

/* Where the value of an output has another name in the file, it is copied to that of the output. */
static void write_outputs(ox_export *e, file_parts *f)
{
    for (size_t i = 0; i < wg_graph_output_count(e->graph); i++) {
        const wg_value *v = wg_graph_output(e->graph, i);
        const char *name = wg_graph_output_name(e->graph, i), *has = wgi_ox_name(e, v);
        if (strcmp(has, name) != 0)
            wgi_ox_node(e, "Identity", &has, 1, name);
        wgi_ox_push(e, &f->outputs, wgi_ox_port(e, name, v->dtype, &v->shape));
    }
}

static wg_status put_file(const ox_model_proto *m, const char *path, wg_error *error)
{
    size_t size = wgi_onnx__model_proto__get_packed_size(m);
    if (size > WGI_OX_FILE_BYTES)
        return wgi_error_file(error, WG_EUNSUPPORTED, path,
                              "%zu bytes: an ONNX file has at most 2^31 - 1", size);
    uint8_t *bytes = malloc(size + 1);
    if (!bytes)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory for %zu bytes", size);
    wgi_onnx__model_proto__pack(m, bytes);
    wg_status status = wgi_file_replace_bytes(path, bytes, size, error);
    free(bytes);
    return status;
}

static wg_status put_model(ox_export *e, file_parts *f, const char *name, const char *path)
{
    ox_model_proto m = WGI_ONNX__MODEL_PROTO__INIT;
    ox_graph_proto g = WGI_ONNX__GRAPH_PROTO__INIT;
    WgiOnnx__OperatorSetIdProto opset = WGI_ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets[] = {&opset};
    g.name = (char *)(name ? name : "wengert");
    g.node = (ox_node_proto **)(void *)e->nodes.item;
    g.n_node = e->nodes.n;
    g.initializer = (ox_tensor_proto **)(void *)e->initializers.item;
    g.n_initializer = e->initializers.n;
    g.input = (ox_value_proto **)(void *)f->inputs.item;
    g.n_input = f->inputs.n;
    g.output = (ox_value_proto **)(void *)f->outputs.item;
    g.n_output = f->outputs.n;
    opset.domain = (char *)"";
    opset.has_version = m.has_ir_version = true;
    opset.version = WG_ONNX_OPSET;
    m.ir_version = WG_ONNX_IR;
    m.producer_name = (char *)"wengert";
    m.producer_version = (char *)WG_VERSION;
    m.opset_import = opsets;
    m.n_opset_import = 1;
    m.graph = &g;
    return put_file(&m, path, f->error);
}

/* Outputs have their names in the file, and so have the values that they are, unless these are
 * leaves or were outputs already. */
static wg_status reserve_output(ox_export *e, const wg_value *v, const char *name, wg_error *error)
{
    const char *has = e->name[v->id];
    if (has && strcmp(has, name) == 0)
        return WG_OK;
    if (wgi_ox_names_get(&e->names, name))
        return wgi_error_set(error, WG_EINVAL,
                             "the output '%s' has the name of an input, a parameter or a state",
                             name);
    name = wgi_ox_new_name(e, name);
    if (!has && !(v->node->op->flags & WG_OP_LEAF))
        e->name[v->id] = name;
    return WG_OK;
}

/* Names first: those of inputs, parameters and outputs are fixed. */
static wg_status reserve_names(ox_export *e, wg_error *error)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < wg_graph_node_count(e->graph); i++) {
        const wg_node *n = wg_graph_node(e->graph, i);
        if (n->op->flags & WG_OP_LEAF && n->out[0]->name)
            wgi_ox_name(e, n->out[0]);
    }
    for (size_t i = 0; i < wg_graph_output_count(e->graph) && status == WG_OK; i++)
        status = reserve_output(e, wg_graph_output(e->graph, i), wg_graph_output_name(e->graph, i),
                                error);
    return status;
}

static wg_status write_graph(wg_graph *g, const char *path, const wg_onnx_export_options *o,
                             wg_error *error)
{
    ox_export e = {.graph = g};
    file_parts f = {.options = o, .error = error};
    bool *needed = needed_by_outputs(g);
    e.name = calloc(wg_graph_value_count(g) + 1, sizeof *e.name);
    e.failed = !needed || !e.name;
    wg_status status = WG_OK;
    if (!e.failed)
        status = reserve_names(&e, error);
    if (!e.failed && status == WG_OK) {
        status = write_nodes(&e, &f, needed);
        write_outputs(&e, &f);
    }
    if (status == WG_OK && e.failed)
        status = wgi_error_set(error, WG_ENOMEM, "out of memory");
    if (status == WG_OK)
        status = put_model(&e, &f, o->name, path);
    free(needed);
    free(e.name);
    free(e.names.slot);
    free(e.nodes.item);
    free(e.initializers.item);
    free(f.inputs.item);
    free(f.outputs.item);
    return status;
}

static wg_status check_outputs(const wg_graph *g, const wg_onnx_export_options *o, wg_error *error)
{
    if (o->step && !wg_graph_assign_count(g))
        return wgi_error_set(error, WG_EINVAL,
                             "the graph assigns nothing, so it is not a training step: an "
                             "optimizer (wg_adam_update) is missing");
    if (!wg_graph_output_count(g) && !o->step)
        return wgi_error_set(error, WG_EINVAL, "the graph has no outputs to export");
    for (size_t i = 0; i < wg_graph_output_count(g); i++)
        if (!*wg_graph_output_name(g, i))
            return wgi_error_set(error, WG_EINVAL, "output %zu has no name, which ONNX needs", i);
    return WG_OK;
}

wg_status wg_onnx_export(const wg_graph *g, const char *path, const wg_onnx_export_options *options,
                         wg_error *error)
{
    const wg_onnx_export_options o = options ? *options : (wg_onnx_export_options){0};
    wg_graph *lowered = NULL;
    wgi_error_clear(error);
    if (!g || !path)
        return wgi_error_set(error, WG_EINVAL, "no graph to export, or no path");
    if (wg_graph_status(g) != WG_OK)
        return wgi_error_set(error, wg_graph_status(g), "%s", wg_graph_message(g));
    wg_status status = check_outputs(g, &o, error);
    lowering l = {.step = o.step, .without_dropout = o.without_dropout};
    if (status == WG_OK)
        status = lower(&lowered, g, &l, error);
    if (status == WG_OK)
        status = write_graph(lowered, path, &o, error);
    wg_graph_free(lowered);
    return status;
}
