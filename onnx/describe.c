/* What is in a file, for people. */
#include "graph/error.h"
#include "graph/text_buffer.h"
#include "onnx/model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *shown(const char *text, char *room, size_t size)
{
    snprintf(room, size, "%s", text);
    wgi_text_disarm(room, false);
    return room;
}

/* ---- inputs and outputs ---------------------------------------------------------------------- */

static void print_dim(const ox_dim_proto *d, FILE *f)
{
    char text[200];
    if (d->value_case == WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
        fprintf(f, "%" PRId64, d->dim_value);
    else if (d->value_case == WGI_ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
        fprintf(f, "%s", shown(ox_text(d->dim_param), text, sizeof text));
    else
        fprintf(f, "?");
}

static void print_value(const ox_value_proto *v, FILE *f)
{
    char text[200], type[32];
    fprintf(f, "  %-24s ", shown(ox_text(v->name), text, sizeof text));
    if (!v->type || v->type->value_case != WGI_ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        fprintf(f, "not a tensor: not supported\n");
        return;
    }
    const WgiOnnx__TypeProto__Tensor *t = v->type->tensor_type;
    const ox_type *known = wgi_ox_type(t->elem_type);
    fprintf(f, "%s ", known ? known->name : wgi_ox_type_text(t->elem_type, type));
    for (size_t k = 0; t->shape && k < t->shape->n_dim; k++) {
        fprintf(f, k ? "," : "[");
        print_dim(t->shape->dim[k], f);
    }
    fprintf(f, "%s%s\n",
            !t->shape         ? "of unknown shape"
            : t->shape->n_dim ? "]"
                              : "[]",
            known ? "" : ": not supported");
}

static bool is_initializer(const ox_graph_proto *g, const char *name)
{
    for (size_t i = 0; i < g->n_initializer; i++)
        if (strcmp(ox_text(g->initializer[i]->name), name) == 0)
            return true;
    return false;
}

static void print_values(const ox_graph_proto *g, FILE *f)
{
    fprintf(f, "inputs\n");
    for (size_t i = 0; i < g->n_input; i++)
        if (!is_initializer(g, ox_text(g->input[i]->name)))
            print_value(g->input[i], f);
    fprintf(f, "outputs\n");
    for (size_t i = 0; i < g->n_output; i++)
        print_value(g->output[i], f);
}

/* ---- sizes to give --------------------------------------------------------------------------- */

static bool print_symbols(const ox_graph_proto *g, FILE *f)
{
    wgi_text_buffer b;
    FILE *names = wgi_text_open(&b);
    if (names)
        wgi_ox_print_dims(g, "", names);
    char *text = wgi_text_close(&b);
    if (!text)
        return false;
    wgi_text_disarm(text, false);
    if (*text)
        fprintf(f, "sizes to give   %s\n", text);
    free(text);
    return true;
}

/* ---- parameters and ops ---------------------------------------------------------------------- */

static void print_parameters(const ox_graph_proto *g, FILE *f)
{
    size_t trained = 0, external = 0;
    double numbers = 0;
    for (size_t i = 0; i < g->n_initializer; i++) {
        const ox_tensor_proto *t = g->initializer[i];
        const ox_type *type = wgi_ox_type(t->data_type);
        double count = 1;
        for (size_t k = 0; k < t->n_dims; k++)
            count *= (double)t->dims[k];
        external += t->n_external_data > 0;
        if (type && wg_dtype_is_float(type->held) && t->n_dims) {
            trained++;
            numbers += count;
        }
    }
    fprintf(f, "initializers    %zu, of these %zu of floats with %.0f numbers", g->n_initializer,
            trained, numbers);
    fprintf(f, external ? "; %zu in other files\n" : "\n", external);
}

/* An input whose numbers must be known while the file is read; "" if there is none, or none is
 * found with the sizes that are tried for those that are free.  false without memory. */
static bool find_needed(const char *path, char needed[200])
{
    static const int64_t sizes[] = {2, 64};
    wg_status status = WG_EDATA;
    *needed = 0;
    for (int i = 0; i < WG_COUNT(sizes) && status != WG_OK && status != WG_ENOMEM && !*needed; i++)
        status = wgi_ox_try(path, sizes[i], needed);
    return status != WG_ENOMEM;
}

static bool print_verdict(size_t n, size_t missing, const char *path, FILE *f)
{
    char needed[200] = "", text[200];
    if (!missing && !find_needed(path, needed))
        return false;
    if (missing)
        fprintf(f,
                n == 1         ? "the only kind of op is not supported\n"
                : missing == 1 ? "%zu of %zu kinds of ops is not supported\n"
                               : "%zu of %zu kinds of ops are not supported\n",
                missing, n);
    else if (n == 1)
        fprintf(f, "the only kind of op is supported");
    else if (n)
        fprintf(f, "all %zu kinds of ops are supported", n);
    if (*needed)
        fprintf(f, ", where the numbers of '%s' are known (--known)",
                shown(needed, text, sizeof text));
    if (n && !missing)
        fprintf(f, "\n");
    return true;
}

static bool print_ops(const ox_model_proto *m, const char *path, FILE *f)
{
    ox_op_count count[OX_MAX_COUNTS];
    char name[200], room[200];
    size_t n = wgi_ox_count_ops(m, count), missing = 0;
    fprintf(f, "ops\n");
    for (size_t i = 0; i < n; i++) {
        wgi_ox_op_text(count[i].domain, count[i].name, name);
        const ox_op *op = wgi_ox_op_find(count[i].domain, count[i].name);
        fprintf(f, "  %-24s %5zu%s%s%s\n", shown(name, room, sizeof room), count[i].count,
                count[i].supported ? "" : "  not supported", op && op->limits ? "  limits: " : "",
                op && op->limits ? op->limits : "");
        missing += !count[i].supported;
    }
    return print_verdict(n, missing, path, f);
}

static void print_head(const ox_model_proto *m, FILE *f)
{
    char text[200], more[200];
    const ox_opsets o = wgi_ox_opsets_of(m);
    fprintf(f, "format          ONNX, IR version %" PRId64 "\n", m->ir_version);
    if (*ox_text(m->producer_name))
        fprintf(f, "made by         %s %s\n", shown(m->producer_name, text, sizeof text),
                shown(ox_text(m->producer_version), more, sizeof more));
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const char *domain = ox_text(m->opset_import[i]->domain);
        fprintf(f, "opset           %s %" PRId64 "\n",
                wgi_ox_is_main(domain) ? "ai.onnx" : shown(domain, text, sizeof text),
                m->opset_import[i]->version);
    }
    if (o.main > OX_LAST_OPSET)
        fprintf(f, "                not supported: the last known opset is %d\n", OX_LAST_OPSET);
    if (m->n_functions)
        fprintf(f, "functions       %zu\n", m->n_functions);
}

wg_status wg_onnx_describe(const char *path, FILE *out, wg_error *error)
{
    ox_file file;
    const ox_model_proto *m;
    wgi_error_clear(error);
    if (!path || !out)
        return wgi_error_set(error, WG_EINVAL, "no path of a model, or no place for the text");
    wg_status status = wgi_ox_model_open(&file, &m, path, error);
    if (status != WG_OK)
        return status;
    print_head(m, out);
    print_values(m->graph, out);
    bool done = print_symbols(m->graph, out);
    print_parameters(m->graph, out);
    done = print_ops(m, path, out) && done;
    wgi_ox_file_close(&file);
    if (!done)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    return ferror(out) ? wgi_error_set(error, WG_EIO, "the description cannot be written") : WG_OK;
}

wg_status wg_onnx_print_ops(FILE *out, wg_error *error)
{
    const ox_op *op;
    wgi_error_clear(error);
    if (!out)
        return wgi_error_set(error, WG_EINVAL, "no place for the table");
    fprintf(out, "| op | what is refused |\n|---|---|\n");
    for (size_t i = 0; (op = wgi_ox_op_at(i)); i++)
        fprintf(out, "| `%s%s` | %s%s |\n",
                op->flags & OX_TRAINING ? "ai.onnx.preview.training." : "", op->name,
                op->limits ? "all but: " : "", op->limits ? op->limits : "");
    return ferror(out) ? wgi_error_set(error, WG_EIO, "the table cannot be written") : WG_OK;
}
