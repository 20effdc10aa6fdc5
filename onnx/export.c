/* From a graph to a file: composites are expanded until every node that the outputs need has a form
 * in ONNX; then each is written. */
#include "files/replace.h"
#include "graph/error.h"
#include "onnx/limits.h"
#include "onnx/lower.h"
#include "ops/initial.h"
#include "wengert/ops/ops.h"

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

static bool is_written(const wg_node *n)
{
    return n->op->flags & WG_OP_LEAF || wgi_ox_writer_of(n);
}

/* The expansion of a copy of n, which nothing then needs. */
static bool expand(void *context, wg_graph *to, const wg_node *n, wg_value *const *in, wg_value **y)
{
    const bool *needed = context;
    if (!needed[n->id] || is_written(n))
        return false;
    wg_node *copy = wg_node_copy(to, n, in, WG_DTYPE_DEFAULT);
    return copy && wg_expand_node(copy, y);
}

typedef struct missing {
    const char *name;
    size_t count;
} missing;

/* WG_EUNSUPPORTED with all ops that can be neither written nor expanded; *more says whether some
 * have to be expanded. */
static wg_status check(const wg_graph *g, const bool *needed, bool *more, wg_error *error)
{
    enum { MOST = 64 };
    missing list[MOST];
    size_t count = 0;
    *more = false;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (!needed[i] || is_written(n))
            continue;
        size_t k = 0;
        *more = true;
        while (k < count && strcmp(list[k].name, n->op->name) != 0)
            k++;
        if (!n->op->expand && k == count && count < MOST)
            list[count++] = (missing){n->op->name, 0};
        if (!n->op->expand && k < MOST)
            list[k].count++;
    }
    for (size_t k = 0; k < count; k++)
        wgi_error_item(error, WG_EUNSUPPORTED, "%s%s (%zu)",
                       k ? "" : "ops without a form in ONNX: ", list[k].name, list[k].count);
    return count ? WG_EUNSUPPORTED : WG_OK;
}

/* One level of expansions at a time; each is made of simpler ops. */
static wg_status lower(wg_graph **out, const wg_graph *g, wg_error *error)
{
    bool more = true;
    wg_status status = WG_OK;
    *out = wg_graph_clone(g, NULL, NULL);
    while (more && status == WG_OK) {
        bool *needed = *out ? needed_by_outputs(*out) : NULL;
        if (!needed)
            status = wgi_error_set(error, WG_ENOMEM, "out of memory");
        else
            status = check(*out, needed, &more, error);
        wg_graph *next = NULL;
        if (status == WG_OK && more) {
            next = wg_graph_clone(*out, &(wg_clone_options){.replace = expand, .context = needed},
                                  NULL);
            wg_graph_free(*out);
            *out = next;
            if (!next || wg_graph_status(next) != WG_OK)
                status = wgi_error_set(error, next ? wg_graph_status(next) : WG_ENOMEM, "%s",
                                       next ? wg_graph_message(next) : "out of memory");
        }
        free(needed);
    }
    return status;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

/* The numbers of a parameter or a state: of the store, or without one those it begins with. */
static bool write_numbers(ox_export *e, const wg_store *store, const wg_value *v)
{
    const wg_tensor *t = store ? wg_store_find(store, v->name) : NULL;
    const void *data = t ? t->data : NULL;
    if (store && (!t || t->dtype != v->dtype || !wg_shape_equal(&t->shape, &v->shape)))
        return false;
    if (!t) {
        void *room = wgi_ox_room(e, wg_value_bytes(v) + 1);
        if (!room || wgi_initial_values(room, 0, v->name, v) != WG_OK)
            e->failed = true;
        data = room;
    }
    wgi_ox_tensor(e, wgi_ox_name(e, v), v->dtype, &v->shape, data);
    return true;
}

/* Outputs have their names in the file; where that of the value is another, or it has several, by
 * an Identity. */
static void name_output(ox_export *e, wg_value *v, const char *name)
{
    bool is_leaf = v->node->op->flags & WG_OP_LEAF;
    if (!is_leaf && !e->name[v->id] && !wgi_ox_names_get(&e->names, name))
        e->name[v->id] = wgi_ox_new_name(e, name);
}

/* ---- the model ------------------------------------------------------------------------------- */

typedef struct file_parts {
    ox_list inputs, outputs;
    const wg_store *store;
    wg_error *error;
} file_parts;

static wg_status write_nodes(ox_export *e, file_parts *f, const bool *needed)
{
    for (size_t i = 0; i < wg_graph_node_count(e->graph) && !e->failed; i++) {
        const wg_node *n = wg_graph_node(e->graph, i);
        if (!needed[i])
            continue;
        if (n->op->flags & WG_OP_INPUT)
            wgi_ox_push(
                e, &f->inputs,
                wgi_ox_port(e, wgi_ox_name(e, n->out[0]), n->out[0]->dtype, &n->out[0]->shape));
        else if (!(n->op->flags & (WG_OP_PARAMETER | WG_OP_STATE)))
            wgi_ox_writer_of(n)(e, n);
        else if (!write_numbers(e, f->store, n->out[0]))
            return wgi_error_set(f->error, WG_EINVAL,
                                 "the store has no tensor '%s' of that dtype and shape",
                                 n->out[0]->name);
    }
    return WG_OK;
}

static void write_outputs(ox_export *e, file_parts *f)
{
    for (size_t i = 0; i < wg_graph_output_count(e->graph); i++) {
        const wg_value *v = wg_graph_output(e->graph, i);
        const char *name = wg_graph_output_name(e->graph, i), *has = wgi_ox_name(e, v);
        if (strcmp(has, name) != 0) {
            name = wgi_ox_new_name(e, name);
            wgi_ox_node(e, "Identity", &has, 1, name);
        }
        wgi_ox_push(e, &f->outputs, wgi_ox_port(e, name, v->dtype, &v->shape));
    }
}

static wg_status put_file(const ox_model_proto *m, const char *path, wg_error *error)
{
    size_t size = wgi_onnx__model_proto__get_packed_size(m);
    if (size > WGI_OX_FILE_BYTES)
        return wgi_error_file(error, WG_EUNSUPPORTED, path,
                              "%zu bytes: a file of ONNX has at most 2^31 - 1", size);
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
    m.opset_import = opsets;
    m.n_opset_import = 1;
    m.graph = &g;
    return put_file(&m, path, f->error);
}

/* Names first: those of inputs, parameters and outputs are fixed. */
static void reserve_names(ox_export *e)
{
    for (size_t i = 0; i < wg_graph_node_count(e->graph); i++) {
        const wg_node *n = wg_graph_node(e->graph, i);
        if (n->op->flags & WG_OP_LEAF && n->out[0]->name)
            wgi_ox_name(e, n->out[0]);
    }
    for (size_t i = 0; i < wg_graph_output_count(e->graph); i++)
        name_output(e, wg_graph_output(e->graph, i), wg_graph_output_name(e->graph, i));
}

static wg_status write_graph(wg_graph *g, const char *path, const wg_onnx_export_options *o,
                             wg_error *error)
{
    ox_export e = {.graph = g};
    file_parts f = {.store = o->store, .error = error};
    bool *needed = needed_by_outputs(g);
    e.name = calloc(wg_graph_value_count(g) + 1, sizeof *e.name);
    e.failed = !needed || !e.name;
    wg_status status = WG_OK;
    if (!e.failed) {
        reserve_names(&e);
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

static wg_status check_outputs(const wg_graph *g, wg_error *error)
{
    if (!wg_graph_output_count(g))
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
    wg_status status = check_outputs(g, error);
    if (status == WG_OK)
        status = lower(&lowered, g, error);
    if (status == WG_OK)
        status = write_graph(lowered, path, &o, error);
    wg_graph_free(lowered);
    return status;
}
