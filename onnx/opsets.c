/* What a model needs: versions, and whether all its ops are in the table. */
#include "onnx/model.h"
#include "graph/error.h"

#include <string.h>

static const char training[] = "ai.onnx.preview.training";

bool wgi_ox_is_main(const char *domain)
{
    return !*domain || strcmp(domain, "ai.onnx") == 0;
}

const ox_op *wgi_ox_op_find(const char *domain, const char *name)
{
    bool is_training = strcmp(domain, training) == 0;
    const ox_op *op;
    for (size_t i = 0; (op = wgi_ox_op_at(i)); i++)
        if (strcmp(op->name, name) == 0 && !(op->flags & OX_TRAINING) == !is_training)
            return is_training || wgi_ox_is_main(domain) ? op : NULL;
    return NULL;
}

const ox_function_proto *wgi_ox_function_find(const ox_model_proto *m, const char *domain,
                                              const char *name)
{
    for (size_t i = 0; i < m->n_functions; i++)
        if (strcmp(ox_text(m->functions[i]->name), name) == 0 &&
            strcmp(ox_text(m->functions[i]->domain), domain) == 0)
            return m->functions[i];
    return NULL;
}

static void note_versions(ox_opsets *o, WgiOnnx__OperatorSetIdProto *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *domain = ox_text(list[i]->domain);
        if (wgi_ox_is_main(domain))
            o->main = list[i]->version;
        else if (strcmp(domain, training) == 0)
            o->training = list[i]->version;
    }
}

/* Files of the first version of the format do not say. */
static bool says_no_opset(const ox_model_proto *m)
{
    return !m->n_opset_import && m->ir_version < 3;
}

/* Those of functions count where the model does not say. */
ox_opsets wgi_ox_opsets_of(const ox_model_proto *m)
{
    ox_opsets o = {0, 0};
    for (size_t i = 0; i < m->n_functions; i++)
        note_versions(&o, m->functions[i]->opset_import, m->functions[i]->n_opset_import);
    note_versions(&o, m->opset_import, m->n_opset_import);
    if (says_no_opset(m))
        o.main = 1;
    return o;
}

wg_status wgi_ox_model_open(ox_file *out, const ox_model_proto **m, const char *path,
                            wg_error *error)
{
    wg_status status = wgi_ox_file_open(out, path, &wgi_onnx__model_proto__descriptor, error);
    *m = status == WG_OK ? (const ox_model_proto *)(const void *)out->message : NULL;
    if (status != WG_OK || (*m)->graph)
        return status;
    wgi_ox_file_close(out);
    *m = NULL;
    return wgi_error_file(error, WG_EDATA, path, "not an ONNX model: it has no graph");
}

/* Calls `visit` for each node until it returns false. */
typedef struct ox_node_visitor {
    bool (*visit)(void *context, const ox_node_proto *p);
    void *context;
} ox_node_visitor;

/* ---- nodes, those of subgraphs and functions included ---------------------------------------- */

static bool visit(ox_node_proto *const *nodes, size_t n, const ox_node_visitor *v);

static bool visit_subgraphs(const ox_node_proto *p, const ox_node_visitor *v)
{
    for (size_t i = 0; i < p->n_attribute; i++) {
        const ox_attribute_proto *a = p->attribute[i];
        if (a->g && !visit(a->g->node, a->g->n_node, v))
            return false;
        for (size_t k = 0; k < a->n_graphs; k++)
            if (!visit(a->graphs[k]->node, a->graphs[k]->n_node, v))
                return false;
    }
    return true;
}

static bool visit(ox_node_proto *const *nodes, size_t n, const ox_node_visitor *v)
{
    for (size_t i = 0; i < n; i++)
        if (!v->visit(v->context, nodes[i]) || !visit_subgraphs(nodes[i], v))
            return false;
    return true;
}

static bool visit_all(const ox_model_proto *m, const ox_node_visitor *v)
{
    bool on = visit(m->graph->node, m->graph->n_node, v);
    for (size_t i = 0; i < m->n_functions && on; i++)
        on = visit(m->functions[i]->node, m->functions[i]->n_node, v);
    return on;
}

/* ---- counting ops ---------------------------------------------------------------------------- */

typedef struct counting {
    const ox_model_proto *model;
    ox_op_count *count;
    size_t n;
} counting;

static bool add(void *context, const ox_node_proto *p)
{
    counting *c = context;
    const char *domain = ox_text(p->domain), *name = ox_text(p->op_type);
    size_t i = 0;
    for (; i < c->n; i++)
        if (strcmp(c->count[i].name, name) == 0 && strcmp(c->count[i].domain, domain) == 0)
            break;
    if (i == c->n && c->n == OX_MAX_COUNTS)
        return true;
    if (i == c->n)
        c->count[c->n++] = (ox_op_count){
            .domain = domain,
            .name = name,
            .supported =
                wgi_ox_op_find(domain, name) || wgi_ox_function_find(c->model, domain, name),
        };
    c->count[i].count++;
    return true;
}

size_t wgi_ox_count_ops(const ox_model_proto *m, ox_op_count count[OX_MAX_COUNTS])
{
    counting c = {m, count, 0};
    visit_all(m, &(ox_node_visitor){add, &c});
    return c.n;
}

const char *wgi_ox_op_text(const char *domain, const char *name, char text[200])
{
    snprintf(text, 200, "%s%s%s", domain, *domain ? "." : "", name);
    return text;
}

/* ---- what is not supported ------------------------------------------------------------------- */

static bool is_same(const char *a, const char *b)
{
    return wgi_ox_is_main(a) ? wgi_ox_is_main(b) : strcmp(a, b) == 0;
}

static const char *shown_domain(const char *domain)
{
    return wgi_ox_is_main(domain) ? "ai.onnx" : domain;
}

/* The i-th import: its version, and another one of the same domain. */
static void check_import(const ox_model_proto *m, size_t i, wg_error *error)
{
    const char *domain = ox_text(m->opset_import[i]->domain);
    long long version = m->opset_import[i]->version;
    if (wgi_ox_is_main(domain) && (version < OX_FIRST_OPSET || version > OX_LAST_OPSET))
        wgi_error_item(error, version < OX_FIRST_OPSET ? WG_EDATA : WG_EUNSUPPORTED,
                       "opset %lld is not supported, those from %d to %d are", version,
                       OX_FIRST_OPSET, OX_LAST_OPSET);
    for (size_t k = 0; k < i; k++)
        if (is_same(domain, ox_text(m->opset_import[k]->domain)) &&
            m->opset_import[k]->version != version)
            wgi_error_item(error, WG_EDATA, "opset_import: %s is there twice, with %lld and %lld",
                           shown_domain(domain), (long long)m->opset_import[k]->version, version);
}

void wgi_ox_check_opsets(const ox_model_proto *m, wg_error *error)
{
    if (!m->n_opset_import && !says_no_opset(m))
        wgi_error_item(error, WG_EDATA,
                       "opset_import: none, where files of IR version 3 and later have one; this "
                       "one is of version %lld",
                       (long long)m->ir_version);
    for (size_t i = 0; i < m->n_opset_import; i++)
        check_import(m, i, error);
}

/* Whether ops of that domain have a version. */
static bool has_opset(const ox_model_proto *m, const ox_opsets *o, const char *domain)
{
    for (size_t i = 0; i < m->n_opset_import; i++)
        if (is_same(domain, ox_text(m->opset_import[i]->domain)))
            return true;
    if (!m->n_opset_import) /* an error of its own, or a file of the first versions */
        return true;
    return wgi_ox_is_main(domain) ? o->main : strcmp(domain, training) == 0 ? o->training : true;
}

void wgi_ox_check_ops(const ox_model_proto *m, const ox_opsets *o, wg_error *error)
{
    ox_op_count count[OX_MAX_COUNTS];
    char text[200];
    size_t n = wgi_ox_count_ops(m, count), missing = 0, unversioned = n;
    for (size_t i = 0; i < n; i++) {
        if (!count[i].supported)
            wgi_error_item(error, WG_EUNSUPPORTED, "%s%s (%zu)",
                           missing++ ? "" : "ops that are not supported: ",
                           wgi_ox_op_text(count[i].domain, count[i].name, text), count[i].count);
        else if (!has_opset(m, o, count[i].domain) && unversioned == n)
            unversioned = i;
    }
    if (unversioned < n)
        wgi_error_item(error, WG_EDATA, "opset_import: no version of %s, whose op %s is used",
                       shown_domain(count[unversioned].domain), count[unversioned].name);
}
