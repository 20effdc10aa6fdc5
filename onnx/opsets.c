/* What a model needs: versions, and whether all its ops are in the table. */
#include "onnx/model.h"
#include "graph/error.h"

#include <string.h>

bool wgi_ox_is_main(const char *domain)
{
    return !*domain || strcmp(domain, "ai.onnx") == 0;
}

const ox_op *wgi_ox_op_find(const char *domain, const char *name)
{
    bool training = strcmp(domain, "ai.onnx.preview.training") == 0;
    const ox_op *op;
    for (size_t i = 0; (op = wgi_ox_op_at(i)); i++)
        if (strcmp(op->name, name) == 0 && !(op->flags & OX_TRAINING) == !training)
            return training || wgi_ox_is_main(domain) ? op : NULL;
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

ox_opsets wgi_ox_opsets_of(const ox_model_proto *m)
{
    ox_opsets o = {0, 0};
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const char *domain = ox_text(m->opset_import[i]->domain);
        if (wgi_ox_is_main(domain))
            o.main = m->opset_import[i]->version;
        else if (strcmp(domain, "ai.onnx.preview.training") == 0)
            o.training = m->opset_import[i]->version;
    }
    if (!m->n_opset_import)
        o.main = 1; /* files of the first version of the format do not say */
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

wg_status wgi_ox_check_opsets(const ox_opsets *o, wg_error *error)
{
    if (o->main && (o->main < OX_FIRST_OPSET || o->main > OX_LAST_OPSET))
        return wgi_error_item(error, WG_EUNSUPPORTED,
                              "opset %lld is not supported, those from %d to %d are",
                              (long long)o->main, OX_FIRST_OPSET, OX_LAST_OPSET);
    return WG_OK;
}

wg_status wgi_ox_check_ops(const ox_model_proto *m, wg_error *error)
{
    ox_op_count count[OX_MAX_COUNTS];
    char text[200];
    size_t n = wgi_ox_count_ops(m, count);
    wg_status status = WG_OK;
    for (size_t i = 0; i < n; i++)
        if (!count[i].supported)
            status = wgi_error_item(error, WG_EUNSUPPORTED, "%s%s (%zu)",
                                    status == WG_OK ? "ops that are not supported: " : "",
                                    wgi_ox_op_text(count[i].domain, count[i].name, text),
                                    count[i].count);
    return status;
}
