/* The text of a graph: one line per node, the same bytes for the same graph.
 *
 *   %4 = matmul(%2, %3) {transpose_b=true} : f32[8,64] 'encoder/ff1/y' in encoder/ff1 at model.c:41
 *
 * What stands here is what parse.c reads: both change together. */
#include "graph/file/internal.h"

#include <stdlib.h>

const char *const wgi_phase_words[3] = {
    [WG_FORWARD] = "forward", [WG_BACKWARD] = "backward", [WG_UPDATE] = "update"};

static const wg_attr scope_marks[] = {
    WG_ATTR(BOOL, wg_scope, recompute),
    WG_ATTR(BOOL, wg_scope, reuse),
    WG_ATTR(BOOL, wg_scope, average),
    WG_ATTR(DTYPE, wg_scope, parameter_dtype),
};
const wg_op wgi_scope_marks = {.name = "scope", WG_ATTRS(wg_scope, scope_marks)};

/* ---- words and texts ------------------------------------------------------------------------- */

/* A line stays a line whatever the text: control characters as \x0a. */
static void print_quoted(FILE *f, const char *text, char quote)
{
    fputc(quote, f);
    for (; *text; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            fprintf(f, "\\x%02x", (unsigned char)*text);
        else
            fprintf(f, *text == quote || *text == '\\' ? "\\%c" : "%c", *text);
    fputc(quote, f);
}

static bool is_word(const char *text)
{
    size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (!wgi_is_word_character(text[i]) && !(text[i] == ':' && i > 0 && i + 1 < n))
            return false;
    return n > 0 && strcmp(text, "none") != 0;
}

/* In quotes only where it must. */
static void print_word(FILE *f, const char *text)
{
    if (is_word(text))
        fputs(text, f);
    else
        print_quoted(f, text, '\'');
}

/* ---- attributes ------------------------------------------------------------------------------ */

/* The dtype of the numbers in data: that of the op's own dtype attribute, else i64. */
static wg_dtype dtype_of_data(const wg_node *n, const wg_data *d)
{
    wg_dtype dtype = WG_I64;
    for (int i = 0; i < n->op->n_attrs; i++)
        if (n->op->attrs[i].kind == WG_ATTR_DTYPE)
            dtype = *WGI_FIELD(wg_dtype, n->attrs, &n->op->attrs[i]);
    size_t size = wg_dtype_size(dtype);
    return size && d->size % size == 0 ? dtype : WG_DTYPE_DEFAULT;
}

static bool all_are_numbers(const wg_data *d, wg_dtype dtype)
{
    size_t size = wg_dtype_size(dtype);
    for (size_t at = 0; size && at < d->size; at += size)
        if (!wgi_number_has_text(dtype, (const char *)d->bytes + at))
            return false;
    return size;
}

/* f32[1, -2.5], or the bytes: hex "00c0" */
static void print_data(FILE *f, const wg_node *n, const wg_data *d)
{
    char text[WGI_NUMBER_TEXT];
    wg_dtype dtype = dtype_of_data(n, d);
    size_t size = wg_dtype_size(dtype);
    if (!all_are_numbers(d, dtype)) {
        fputs("hex \"", f);
        for (size_t i = 0; i < d->size; i++)
            fprintf(f, "%02x", ((const unsigned char *)d->bytes)[i]);
        fputc('"', f);
        return;
    }
    fprintf(f, "%s[", wg_dtype_name(dtype));
    for (size_t at = 0; at < d->size; at += size) {
        wgi_number_write(text, dtype, (const char *)d->bytes + at);
        fprintf(f, "%s%s", at ? ", " : "", text);
    }
    fputc(']', f);
}

static void print_real(FILE *f, double x)
{
    char text[WGI_NUMBER_TEXT];
    wgi_number_write(text, WG_F64, &x);
    fputs(text, f);
}

/* Whether the name tells the value: no earlier one has it, and it does not look like a number. */
static bool is_told_by_name(const wg_attr *a, int value)
{
    for (int i = 0; i < value; i++)
        if (strcmp(a->names[i], a->names[value]) == 0)
            return false;
    return is_word(a->names[value]) && !strchr("0123456789+-", a->names[value][0]);
}

static void print_enum(FILE *f, const wg_attr *a, int value)
{
    if (is_told_by_name(a, value))
        fputs(a->names[value], f);
    else
        fprintf(f, "%d", value);
}

static void print_dtype(FILE *f, wg_dtype dtype)
{
    if ((int)dtype > WG_DTYPE_DEFAULT && dtype < WG_DTYPE_COUNT)
        fputs(wg_dtype_name(dtype), f);
    else
        fprintf(f, "%d", (int)dtype);
}

static void print_axes(FILE *f, const wg_axes *a)
{
    fputc('(', f);
    for (int i = 0; i < a->count; i++)
        fprintf(f, i ? ",%d" : "%d", a->axis[i]);
    fputc(')', f);
}

static void print_attribute(FILE *f, const wg_node *n, const wg_attr *a)
{
    char text[200];
    print_word(f, a->name);
    fputc('=', f);
    switch (a->kind) {
    case WG_ATTR_INT:
    case WG_ATTR_AXIS:
    case WG_ATTR_KEY: fprintf(f, "%lld", (long long)*WGI_FIELD(int64_t, n->attrs, a)); break;
    case WG_ATTR_REAL: print_real(f, *WGI_FIELD(double, n->attrs, a)); break;
    case WG_ATTR_BOOL: fputs(*WGI_FIELD(bool, n->attrs, a) ? "true" : "false", f); break;
    case WG_ATTR_ENUM: print_enum(f, a, *WGI_FIELD(int, n->attrs, a)); break;
    case WG_ATTR_DTYPE: print_dtype(f, *WGI_FIELD(wg_dtype, n->attrs, a)); break;
    case WG_ATTR_AXES: print_axes(f, WGI_FIELD(wg_axes, n->attrs, a)); break;
    case WG_ATTR_SHAPE:
        fputs(wg_shape_text(WGI_FIELD(wg_shape, n->attrs, a), text, sizeof text), f);
        break;
    case WG_ATTR_TEXT: print_quoted(f, *WGI_FIELD(const char *, n->attrs, a), '"'); break;
    case WG_ATTR_DATA: print_data(f, n, WGI_FIELD(wg_data, n->attrs, a)); break;
    }
}

/* A text that is NULL and data of no bytes are left out, as they are when the node is built without
 * them. */
static bool is_absent(const wg_node *n, const wg_attr *a)
{
    return a->kind == WG_ATTR_TEXT   ? !*WGI_FIELD(const char *, n->attrs, a)
           : a->kind == WG_ATTR_DATA ? !WGI_FIELD(wg_data, n->attrs, a)->size
                                     : false;
}

static void print_attributes(FILE *f, const wg_node *n)
{
    bool any = false;
    for (int i = 0; n->attrs && i < n->op->n_attrs; i++) {
        if (is_absent(n, &n->op->attrs[i]))
            continue;
        fputs(any ? ", " : " {", f);
        print_attribute(f, n, &n->op->attrs[i]);
        any = true;
    }
    fputs(any ? "}" : "", f);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void print_values(FILE *f, wg_value *const *v, int n)
{
    for (int i = 0; i < n; i++)
        fprintf(f, "%s%%%u", i ? ", " : "", v[i]->id);
}

/* A name is what wg_graph_find finds; a label is a name that another value has taken. */
static void print_result(FILE *f, const wg_graph *g, const wg_value *v)
{
    char text[200];
    fprintf(f, "%s%s", wg_dtype_name(v->dtype), wg_shape_text(&v->shape, text, sizeof text));
    if (!v->name)
        return;
    fputs(wgi_names_get(&g->names, v->name) == v ? " " : " label ", f);
    print_quoted(f, v->name, '\'');
}

static void print_origin(FILE *f, const wg_node *n)
{
    if (*n->scope->path) {
        fputs(" in ", f);
        print_word(f, n->scope->path);
    }
    fputs(" at ", f);
    if (n->at)
        print_word(f, wgi_short_at(n->at));
    else
        fputs("none", f);
    if (n->phase != WG_FORWARD)
        fprintf(f, " %s", wgi_phase_words[n->phase]);
}

static void print_node(FILE *f, const wg_node *n)
{
    print_values(f, n->out, n->n_out);
    fputs(n->n_out ? " = " : "= ", f);
    print_word(f, n->op->name);
    fputc('(', f);
    print_values(f, n->in, n->n_in);
    fputc(')', f);
    print_attributes(f, n);
    for (int i = 0; i < n->n_out; i++) {
        fputs(i ? ", " : " : ", f);
        print_result(f, n->graph, n->out[i]);
    }
    print_origin(f, n);
    fputc('\n', f);
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* scope encoder/layer0 {recompute=true}: nothing where there is no mark. */
static void print_scope(FILE *f, const wg_scope *s)
{
    const wg_node as = {.op = &wgi_scope_marks, .attrs = s};
    bool any = false;
    for (int i = 0; i < as.op->n_attrs; i++) {
        const wg_attr *a = &as.op->attrs[i];
        if (a->kind == WG_ATTR_BOOL ? !*WGI_FIELD(bool, s, a) : !*WGI_FIELD(wg_dtype, s, a))
            continue;
        if (!any) {
            fputs("scope ", f);
            print_word(f, s->path);
        }
        fputs(any ? ", " : " {", f);
        print_attribute(f, &as, a);
        any = true;
    }
    fputs(any ? "}\n" : "", f);
}

/* Each scope that has marks: the top, then in the order of the first nodes in them.  false without
 * memory. */
static bool print_scopes(FILE *f, const wg_graph *g, wgi_names *told)
{
    const wg_scope *top = wgi_names_get(&g->scopes, "");
    print_scope(f, top);
    for (size_t i = 0; i < g->n_nodes; i++)
        for (const wg_scope *s = g->nodes[i]->scope; s != top; s = s->parent) {
            if (wgi_names_get(told, s->path))
                continue;
            print_scope(f, s);
            if (!wgi_names_put(told, s->path, (void *)(uintptr_t)s))
                return false;
        }
    return true;
}

static void print_marks(FILE *f, const wg_graph *g)
{
    for (size_t i = 0; i < g->n_outputs; i++) {
        fputs("output ", f);
        print_quoted(f, g->outputs[i].name, '\'');
        fprintf(f, " = %%%u\n", g->outputs[i].value->id);
    }
    for (size_t i = 0; i < g->n_assigns; i++)
        fprintf(f, "assign %%%u := %%%u\n", g->assigns[i].leaf->id, g->assigns[i].value->id);
}

wg_status wg_graph_print(const wg_graph *g, FILE *f)
{
    wgi_locale locale;
    wgi_names told = {0};
    if (!g || !f)
        return WG_EINVAL;
    if (!wgi_locale_enter(&locale))
        return WG_ENOMEM;
    fprintf(f, "%s %d {nodes=%zu, values=%zu, outputs=%zu, assigns=%zu, keys=%llu}\n",
            WGI_GRAPH_FILE_WORD, WGI_GRAPH_FILE_VERSION, g->n_nodes, g->n_values, g->n_outputs,
            g->n_assigns, (unsigned long long)g->next_key);
    bool complete = print_scopes(f, g, &told);
    for (size_t i = 0; i < g->n_nodes; i++)
        print_node(f, g->nodes[i]);
    print_marks(f, g);
    if (wg_graph_status(g) != WG_OK) {
        fputs("error ", f);
        print_quoted(f, wg_graph_message(g), '\'');
        fputc('\n', f);
    }
    free(told.slot);
    wgi_locale_restore(&locale);
    return ferror(f) ? WG_EIO : complete ? WG_OK : WG_ENOMEM;
}
