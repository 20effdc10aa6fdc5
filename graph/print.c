/* The text print: one line per node, the same bytes for the same graph.
 *
 *   %4 = matmul(%2, %3) {transpose_b=true} : f32[8,64] 'encoder/ff1/y'  # encoder/ff1 model.c:41 */
#include "graph/internal.h"

/* A line stays a line whatever the name: control characters as \x0a. */
static void print_name(FILE *f, const char *name)
{
    for (; *name; name++)
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            fprintf(f, "\\x%02x", (unsigned char)*name);
        else
            fputc(*name, f);
}

static void print_quoted(FILE *f, const char *name)
{
    fputc('\'', f);
    print_name(f, name);
    fputc('\'', f);
}

static void print_results(FILE *f, const wg_node *n)
{
    for (int i = 0; i < n->n_out; i++)
        fprintf(f, "%s%%%u", i ? ", " : "", n->out[i]->id);
}

static void print_operands(FILE *f, const wg_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        fprintf(f, "%s%%%u", i ? ", " : "", n->in[i]->id);
}

static void print_types(FILE *f, const wg_node *n)
{
    char text[160];
    for (int i = 0; i < n->n_out; i++)
        fprintf(f, "%s%s%s", i ? ", " : "", wg_dtype_name(n->out[i]->dtype),
                wg_shape_text(&n->out[i]->shape, text, sizeof text));
}

static void print_node(FILE *f, const wg_node *n)
{
    static const char *const phase[] = {"", " backward", " update"};
    char attrs[1024];
    print_results(f, n);
    fprintf(f, " = %s(", n->op->name);
    print_operands(f, n);
    fprintf(f, ")");
    if (*wg_node_attrs_text(n, attrs, sizeof attrs))
        fprintf(f, " {%s}", attrs);
    fprintf(f, " : ");
    print_types(f, n);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->name) {
            fputc(' ', f);
            print_quoted(f, n->out[i]->name);
        }
    if (*n->scope->path || n->at || n->phase != WG_FORWARD) {
        fprintf(f, "  #%s", *n->scope->path ? " " : "");
        print_name(f, n->scope->path);
        fprintf(f, "%s%s%s", n->at ? " " : "", n->at ? wgi_short_at(n->at) : "", phase[n->phase]);
    }
    fputc('\n', f);
}

wg_status wg_graph_print(const wg_graph *g, FILE *f)
{
    if (!g || !f)
        return WG_EINVAL;
    fprintf(f, "graph: %zu nodes, %zu values\n", g->n_nodes, g->n_values);
    for (size_t i = 0; i < g->n_nodes; i++)
        print_node(f, g->nodes[i]);
    for (size_t i = 0; i < g->n_outputs; i++) {
        fprintf(f, "output ");
        print_quoted(f, g->outputs[i].name);
        fprintf(f, " = %%%u\n", g->outputs[i].value->id);
    }
    for (size_t i = 0; i < g->n_assigns; i++)
        fprintf(f, "assign %%%u := %%%u\n", g->assigns[i].leaf->id, g->assigns[i].value->id);
    if (g->status != WG_OK)
        fprintf(f, "error: %s\n", wg_graph_message(g));
    return ferror(f) ? WG_EIO : WG_OK;
}
