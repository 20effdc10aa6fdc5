/* From the nodes of a file to a graph.
 *
 * A graph of work is built first.  In it is also what is computed while the file is read: shape
 * arithmetic, and constants that ops need as numbers.  The copy that the caller gets has only what
 * the outputs need, and constants in place of what has been computed. */
#include "graph/error.h"
#include "onnx/composites.h"
#include "onnx/model.h"

#include <stdlib.h>
#include <string.h>

/* "model.onnx:17", the place of a node for messages; NULL without memory. */
static const char *line_of(ox_import *m, size_t number)
{
    const char *path = m->file.source.path, *slash = strrchr(path, '/'),
               *file = slash ? slash + 1 : path;
    size_t size = strlen(file) + 24;
    char *line = wg_graph_alloc(m->graph, size);
    if (line)
        snprintf(line, size, "%s:%zu", file, number);
    return line;
}

/* ---- initializers ---------------------------------------------------------------------------- */

/* An initializer that is listed as an input too is its default value: files of the first versions
 * of the format list all. */
static bool add_initializer(ox_import *m, const ox_tensor_proto *t)
{
    const char *name = ox_text(t->name);
    if (wgi_ox_find_known(m, name))
        return true;
    ox_item unnamed = {.name = name}, *item = &unnamed;
    wg_onnx_tensor *tensor = wgi_ox_own(m);
    if (!tensor)
        return wgi_ox_stop(m, WG_ENOMEM, "out of memory");
    wg_status status = wgi_ox_tensor_describe(tensor, t, &m->file, m->error);
    if (status != WG_OK)
        return wgi_ox_bad_initializer(m, item, status);
    if (!(item = wgi_ox_declare(m, name)))
        return false;
    item->tensor = tensor;
    item->proto = t;
    item->type = wgi_ox_type(t->data_type);
    item->is_initializer = !m->scope->parent && wgi_ox_is_leaf_name(name);
    /* numbers as ops compute with them: bytes and the like are held in another dtype */
    if (item->type->computed != item->type->held)
        wgi_ox_value(m, item);
    return m->status == WG_OK;
}

static bool add_initializers(ox_import *m, const ox_graph_proto *g)
{
    if (g->n_sparse_initializer)
        return wgi_ox_stop(m, WG_EUNSUPPORTED, "sparse initializers are not supported");
    for (size_t i = 0; i < g->n_initializer; i++)
        if (!add_initializer(m, g->initializer[i]))
            return false;
    return true;
}

/* That a float initializer has each name that does not end in '*': a misspelt one would be trained,
 * or not, without a word. */
static bool check_names(ox_import *m, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const ox_item *item = wgi_ox_names_get(&m->scope->names, names[i]);
        if (!wgi_ox_is_open(names[i]) &&
            !(item && item->is_initializer && wg_dtype_is_float(item->tensor->dtype)))
            return wgi_ox_stop(m, WG_EINVAL, "no initializer of floats is called '%s'", names[i]);
    }
    return true;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* The element type of a result: that of the first operand, if it is computed in this dtype. */
static const ox_type *settle(const ox_node *n, int i)
{
    const ox_type *first = NULL;
    for (size_t k = 0; k < n->n_operands; k++) {
        const ox_type *t = n->operand[k] ? n->operand[k]->type : NULL;
        if (t && t->computed == n->result[i]->dtype && t->computed != WG_BOOL) {
            first = t;
            break;
        }
    }
    return n->type[i] ? n->type[i] : first ? first : wgi_ox_type_of(n->result[i]->dtype);
}

/* Says why nothing was built. */
static bool report(ox_node *n)
{
    const char *message = wg_graph_message(n->graph);
    wg_status status = wg_graph_status(n->graph);
    if (n->import->status == WG_OK)
        wgi_ox_fail(n, status == WG_OK ? WG_EDATA : status, "%s",
                    status == WG_OK ? "result 0 could not be made" : message);
    return false;
}

/* Result i under its name.  One that is not supported is an error only if it is read: exporters
 * name all that an op has. */
static bool keep_result(ox_node *n, size_t i, const char *name)
{
    ox_item *item = wgi_ox_declare(n->import, name);
    if (!item)
        return false;
    if (i >= OX_MAX_RESULTS || !n->result[i]) {
        item->missing = wgi_ox_missing(n, i, name);
        return item->missing || report(n);
    }
    item->type = settle(n, (int)i);
    item->value =
        n->op && n->op->flags & OX_WRAP ? wgi_ox_wrap(n->result[i], item->type) : n->result[i];
    wgi_ox_label(item->value, name);
    return true;
}

static bool keep_results(ox_node *n)
{
    for (size_t i = 0; i < n->proto->n_output; i++) {
        const char *name = ox_text(n->proto->output[i]);
        if (*name && !keep_result(n, i, name))
            return false;
    }
    return true;
}

/* An operand that a call of the function has left out. */
static bool is_absent(const ox_item *item)
{
    return item && !item->value && !item->tensor;
}

static bool take_operands(ox_node *n)
{
    ox_import *m = n->import;
    const ox_node_proto *p = n->proto;
    n->n_operands = p->n_input;
    n->operand = wgi_ox_alloc(n, (p->n_input + 1) * sizeof(ox_item *));
    for (size_t i = 0; n->operand && i < p->n_input; i++) {
        const char *name = ox_text(p->input[i]);
        n->operand[i] = *name ? wgi_ox_lookup(m, name) : NULL;
        if (*name && !n->operand[i]) {
            wgi_ox_fail(n, WG_EDATA,
                        "operand %zu: nothing before this node is called '%s'; nodes must be in "
                        "the order of their computation, without circles",
                        i, name);
            return false;
        }
        if (is_absent(n->operand[i]))
            n->operand[i] = NULL;
    }
    return n->operand || report(n);
}

/* The operands and attributes that the op has. */
static bool check_signature(ox_node *n)
{
    const ox_op *op = n->op;
    for (int i = 0; i < op->min; i++)
        if (!wgi_ox_has(n, i))
            return wgi_ox_fail(n, WG_EDATA, "operand %d is missing: at least %d are needed", i,
                               op->min) != NULL;
    for (size_t i = (size_t)op->max; i < n->n_operands; i++)
        if (wgi_ox_has(n, (int)i))
            return wgi_ox_fail(n, WG_EDATA, "operand %zu is one too many: at most %d are taken", i,
                               op->max) != NULL;
    return wgi_ox_check_attributes(n);
}

/* That the file's opset has the op; in a function of the file, that of the function counts too. */
static bool check_opset(ox_node *n)
{
    const ox_function_proto *f = n->import->scope->function;
    int64_t opset = n->opset;
    for (size_t i = 0; f && i < f->n_opset_import; i++) {
        const WgiOnnx__OperatorSetIdProto *of = f->opset_import[i];
        if (wgi_ox_is_main(ox_text(of->domain)) && of->version > opset)
            opset = of->version;
    }
    return opset >= n->op->since ||
           wgi_ox_fail(n, WG_EDATA, "the op exists from opset %d on", n->op->since) != NULL;
}

static wg_value *apply(ox_node *n)
{
    if (n->op->unary)
        return n->op->unary(NULL, wgi_ox_in(n, 0));
    if (n->op->binary)
        return n->op->binary(NULL, wgi_ox_in(n, 0), wgi_ox_second(n));
    if (n->op->reduce)
        return wgi_ox_reduce(n, n->op->reduce);
    return n->op->build(n);
}

/* "/encoder/layers.0/attn/MatMul" is built in the scope encoder/layers.0/attn. */
static void enter(ox_node *n, const char *name)
{
    size_t length = strlen(name);
    const char *slash = strrchr(name, '/');
    wg_origin at = wg_graph_origin(n->graph);
    for (const char *c = name; length < 200 && slash && c < slash;) {
        size_t part = strcspn(c, "/");
        if (part)
            wg_scope_push(n->graph, "%.*s", (int)part, c);
        c += part + 1;
    }
    at.scope = wg_graph_origin(n->graph).scope;
    at.at = line_of(n->import, n->number);
    wg_graph_set_origin(n->graph, at);
}

static bool call(ox_node *n, const ox_function_proto *f);

static bool build_node(ox_import *m, const ox_node_proto *p, size_t number)
{
    const char *domain = ox_text(p->domain), *type = ox_text(p->op_type);
    const ox_function_proto *f = wgi_ox_function_find(m->model, domain, type);
    ox_node n = {.import = m, .proto = p, .graph = m->graph, .number = number};
    n.op = f ? NULL : wgi_ox_op_find(domain, type);
    n.opset = wgi_ox_is_main(domain) ? m->opsets.main : m->opsets.training;
    char text[200];
    if (++m->steps > WGI_OX_STEPS)
        return wgi_ox_stop(m, WG_EUNSUPPORTED, "more than %d nodes, those of loops unrolled",
                           WGI_OX_STEPS);
    if (!n.op && !f)
        return wgi_ox_stop(m, WG_EUNSUPPORTED, "ops that are not supported: %s",
                           wgi_ox_op_text(domain, type, text));
    wg_origin before = wg_graph_origin(m->graph);
    bool done = take_operands(&n);
    enter(&n, ox_text(p->name));
    if (done && f)
        done = call(&n, f);
    else if (done && (!check_opset(&n) || !check_signature(&n)))
        done = false;
    else if (done && !(n.result[0] = apply(&n)))
        done = report(&n);
    done = done && (!wgi_ox_failed(&n) || report(&n)) && keep_results(&n);
    wg_graph_set_origin(m->graph, before);
    return done;
}

static bool build_nodes(ox_import *m, ox_node_proto *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!build_node(m, nodes[i], i))
            return false;
    return true;
}

/* ---- subgraphs and functions ----------------------------------------------------------------- */

/* A scope within that of node n; false if that is too deep. */
static bool open_scope(ox_node *n, ox_scope *s, const ox_scope *parent, const char *what)
{
    char text[300], *inside;
    snprintf(text, sizeof text, "%s%s of node %zu: ", n->import->scope->inside, what, n->number);
    const size_t size = strlen(text) + 1;
    inside = wgi_ox_alloc(n, size);
    *s = (ox_scope){.parent = parent, .inside = inside ? memcpy(inside, text, size) : ""};
    if (++n->import->depth > WGI_OX_NESTING)
        wgi_ox_refuse(n, "more than %d subgraphs and functions within each other", WGI_OX_NESTING);
    return n->import->depth <= WGI_OX_NESTING;
}

static bool bind(ox_import *m, const char *name, ox_item *item)
{
    ox_item *own = *name ? wgi_ox_declare(m, name) : NULL;
    if (!own)
        return !*name;
    if (item && !item->value)
        wgi_ox_value(m, item);
    if (item)
        *own = (ox_item){.name = name, .value = item->value, .type = item->type};
    return true;
}

static bool run_subgraph(ox_node *n, const ox_graph_proto *g, ox_item *const *in, size_t n_in,
                         ox_item **out, size_t n_out)
{
    ox_import *m = n->import;
    ox_scope s, *before = m->scope;
    bool done = open_scope(n, &s, before, "subgraph");
    if (done && (g->n_input != n_in || g->n_output < n_out)) {
        wgi_ox_fail(n, WG_EDATA, "its subgraph takes %zu and gives %zu values, not %zu and %zu",
                    g->n_input, g->n_output, n_in, n_out);
        done = false;
    }
    m->scope = &s;
    for (size_t i = 0; done && i < n_in; i++)
        done = bind(m, ox_text(g->input[i]->name), in[i]);
    done = done && add_initializers(m, g) && build_nodes(m, g->node, g->n_node);
    for (size_t i = 0; done && i < n_out; i++)
        if (!(out[i] = wgi_ox_lookup(m, ox_text(g->output[i]->name))))
            done = wgi_ox_stop(m, WG_EDATA, "%snothing is called '%s', an output", s.inside,
                               ox_text(g->output[i]->name));
    m->scope = before;
    m->depth--;
    free(s.names.slot);
    return done;
}

/* A function of the file sees its operands alone. */
static bool call(ox_node *n, const ox_function_proto *f)
{
    ox_import *m = n->import;
    ox_scope s, *before = m->scope;
    bool done = open_scope(n, &s, NULL, "function");
    s.call = n;
    s.caller = before;
    s.function = f;
    m->scope = &s;
    for (size_t i = 0; done && i < f->n_input; i++)
        done = bind(m, ox_text(f->input[i]), i < n->n_operands ? n->operand[i] : NULL);
    done = done && build_nodes(m, f->node, f->n_node);
    for (size_t i = 0; done && i < f->n_output && i < OX_MAX_RESULTS; i++) {
        ox_item *item = wgi_ox_lookup(m, ox_text(f->output[i]));
        n->result[i] = item ? wgi_ox_value(m, item) : NULL;
        n->type[i] = item ? item->type : NULL;
    }
    m->scope = before;
    m->depth--;
    free(s.names.slot);
    return done;
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool add_output(ox_import *m, const char *name)
{
    ox_item *item = wgi_ox_lookup(m, name);
    if (!item)
        return wgi_ox_stop(m, WG_EDATA, "nothing is called '%s', an output", name);
    wg_value *v = wgi_ox_value(m, item);
    if (!v || !wg_output(wgi_ox_cast(v, item->type ? item->type->held : v->dtype), name))
        return wgi_ox_stop(m, wg_graph_status(m->graph) == WG_ENOMEM ? WG_ENOMEM : WG_EDATA,
                           "output '%s': %s", name, wg_graph_message(m->graph));
    return true;
}

static bool add_outputs(ox_import *m, const ox_graph_proto *g)
{
    for (size_t i = 0; i < g->n_output; i++)
        if (!add_output(m, ox_text(g->output[i]->name)))
            return false;
    return g->n_output || wgi_ox_stop(m, WG_EDATA, "it has no outputs");
}

/* ---- the graph that the caller gets ---------------------------------------------------------- */

/* What has been computed becomes a constant, and what is spelled out a composite. */
static bool fold(void *context, wg_graph *to, const wg_node *n, wg_value *const *in, wg_value **y)
{
    ox_finder *f = context;
    const ox_import *m = f->import;
    const wg_onnx_tensor *t =
        n->n_out == 1 && n->out[0]->id < m->cap_numbers ? m->numbers[n->out[0]->id] : NULL;
    (void)in;
    if (n->op->flags & WG_OP_LEAF)
        return false;
    if (!t && m->options.spelled_out)
        return false;
    *y = t ? wg_constant(to, t->dtype, t->shape, t->data) : wgi_ox_composite(f, n);
    return t || *y;
}

/* Reads the numbers of an initializer to where they stay. */
static void store_numbers(ox_import *m, const ox_item *item)
{
    const wg_onnx_tensor *t = item->tensor;
    const wg_tensor *kept;
    if (wg_store_add(m->options.store, item->name, t->dtype, &t->shape, &kept) != WG_OK) {
        wgi_ox_stop(m, WG_EINVAL, "initializer '%s': the store has another tensor of that name",
                    item->name);
        return;
    }
    wg_status status = wgi_ox_tensor_read(kept->data, item->proto, &t->shape, &m->file, m->error);
    if (status != WG_OK)
        wgi_ox_bad_initializer(m, item, status);
}

static wg_value *new_leaf(ox_import *m, wg_graph *to, const wg_value *v, ox_item *item)
{
    const wg_onnx_tensor *t = item->tensor;
    wg_init init = wg_zeros();
    if (m->options.store)
        store_numbers(m, item);
    else if (wgi_ox_load(m, item))
        init = wg_values_init(t->data, wg_value_bytes(v));
    wg_value *leaf = v->node->op->flags & WG_OP_STATE
                         ? wg_state(to, v->name, t->dtype, t->shape, init)
                         : wg_parameter(to, v->name, t->dtype, t->shape, init);
    wgi_ox_unload(item);
    return leaf;
}

/* Leaves get their numbers. */
static bool fill(void *context, wg_graph *to, const wg_node *n, wg_value *const *in, wg_value **y)
{
    ox_import *m = context;
    (void)in;
    if (!(n->op->flags & (WG_OP_PARAMETER | WG_OP_STATE)))
        return false;
    ox_item *item = wgi_ox_names_get(&m->scope->names, n->out[0]->name);
    if (!item || !item->tensor)
        return false;
    *y = new_leaf(m, to, n->out[0], item);
    return true;
}

/* Two copies: the first still has the operands of what became constants and composites, and leaves
 * without numbers; the second has only what the outputs need. */
static wg_graph *trimmed(ox_import *m)
{
    ox_finder f;
    wg_clone_options folds = {.replace = fold, .context = &f},
                     fills = {.replace = fill, .context = m};
    wg_graph *g = wgi_ox_finder_make(&f, m) ? wg_graph_clone(m->graph, &folds, f.map) : NULL;
    wg_graph *last = g ? wg_graph_clone(g, &fills, NULL) : NULL;
    const wg_graph *bad = last ? last : g;
    wg_status status = bad ? wg_graph_status(bad) : WG_ENOMEM;
    if (!last || status != WG_OK)
        wgi_ox_stop(m, status == WG_OK ? WG_ENOMEM : wgi_ox_status(status), "%s",
                    bad ? wg_graph_message(bad) : "out of memory");
    wg_graph_free(g);
    wgi_ox_finder_free(&f);
    if (m->status == WG_OK)
        return last;
    wg_graph_free(last);
    return NULL;
}

/* ---- the import ------------------------------------------------------------------------------ */

static wg_status check(ox_import *m)
{
    wgi_ox_check_opsets(m->model, m->error);
    wgi_ox_check_ops(m->model, &m->opsets, m->error);
    if (m->error->status != WG_OK)
        wgi_error_prefix(m->error, m->error->status, "%s: ", m->file.source.path);
    return m->error->status;
}

static wg_graph *build(ox_import *m)
{
    const ox_graph_proto *g = m->model->graph;
    wg_origin origin = wg_graph_origin(m->graph);
    origin.at = line_of(m, 0); /* of inputs and initializers */
    wg_graph_set_origin(m->graph, origin);
    bool done = wgi_ox_check_dims(m) && add_initializers(m, g) &&
                check_names(m, m->options.frozen, m->options.n_frozen) &&
                check_names(m, m->options.scalars, m->options.n_scalars) &&
                wgi_ox_add_inputs(m, g) && build_nodes(m, g->node, g->n_node) && add_outputs(m, g);
    done = done && wgi_ox_check_declared(m);
    if (done && wg_graph_status(m->graph) != WG_OK)
        done = wgi_ox_stop(m, wgi_ox_status(wg_graph_status(m->graph)), "%s",
                           wg_graph_message(m->graph));
    return done && !m->trial ? trimmed(m) : NULL;
}

static void close_import(ox_import *m)
{
    for (struct ox_owned *o = m->owned, *next; o; o = next) {
        next = o->next;
        wg_onnx_tensor_free(&o->tensor);
        free(o);
    }
    free(m->numbers);
    free(m->fixed);
    free(m->scope->names.slot);
    wg_graph_free(m->graph);
    wgi_ox_file_close(&m->file);
}

/* Opens the file and builds its graph; what is left is for close_import. */
static wg_graph *import(ox_import *m, const char *path)
{
    m->status = wgi_ox_model_open(&m->file, &m->model, path, m->error);
    if (m->status != WG_OK)
        return NULL;
    wg_graph *g = NULL;
    m->opsets = wgi_ox_opsets_of(m->model);
    if (!(m->graph = wg_graph_new()))
        m->status = wgi_error_set(m->error, WG_ENOMEM, "out of memory");
    else if ((m->status = check(m)) == WG_OK)
        g = build(m);
    close_import(m);
    return g;
}

/* Marks the numbers as needed that the import lacked, if the caller has them for this case; false:
 * nothing can be given. */
static bool give_needed(const ox_import *m)
{
    for (size_t i = 0; i < m->options.n_known; i++) {
        const wg_onnx_known *k = &m->options.known[i];
        if (k->needed && !*k->needed && strcmp(k->input, m->needed) == 0) {
            *k->needed = true;
            return k->data != NULL;
        }
    }
    return false;
}

wg_status wg_onnx_import(wg_graph **out, const char *path, const wg_onnx_import_options *options,
                         wg_error *error)
{
    wg_error own;
    ox_import m = {0};
    if (out)
        *out = NULL;
    if (!out || !path)
        return wgi_error_set(error, WG_EINVAL, "no path of a model, or no place for its graph");
    for (size_t i = 0; options && i < options->n_known; i++)
        if (options->known[i].needed)
            *options->known[i].needed = false;
    do { /* once more for each input whose numbers turn out to be needed */
        ox_scope top = {.inside = ""};
        m = (ox_import){.error = error ? error : &own, .scope = &top, .subgraph = run_subgraph};
        wgi_error_clear(m.error);
        if (options)
            m.options = *options;
        *out = import(&m, path);
    } while (m.status == WG_EUNSUPPORTED && give_needed(&m));
    return m.status;
}

wg_status wgi_ox_try(const char *path, int64_t size, char needed[200])
{
    wg_error error;
    ox_scope top = {.inside = ""};
    ox_import m = {.error = &error, .scope = &top, .subgraph = run_subgraph, .trial = true};
    m.options.other_dims = size;
    wgi_error_clear(&error);
    import(&m, path);
    snprintf(needed, sizeof m.needed, "%s", m.needed);
    return m.status;
}
