/* Where two graphs differ: the first node that differs, with the lines around it. */
#include "cli/diff.h"
#include "graph/error.h"
#include "graph/text_buffer.h"
#include "wengert/graph/op.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- one node -------------------------------------------------------------------------------- */

enum { WHY = 400 };

static bool say(char why[WHY], const char *format, ...) WG_PRINTF(2, 3);
static bool say(char why[WHY], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, WHY, format, args);
    va_end(args);
    wgi_text_disarm(why, false);
    return true;
}

/* The first attribute that differs. */
static bool attributes_differ(const wg_node *a, const wg_node *b, char why[WHY])
{
    if (a->op->n_attrs != b->op->n_attrs || a->op->attrs_size != b->op->attrs_size)
        return say(why, "the op %s has other attributes", a->op->name);
    for (int i = 0; a->attrs && b->attrs && i < a->op->n_attrs; i++) {
        char x[120], y[120];
        wg_op one = *a->op; /* with this attribute alone */
        one.attrs = &a->op->attrs[i];
        one.n_attrs = 1;
        if (wg_node_attrs_equal(&one, a->attrs, b->attrs))
            continue;
        wg_node of_a = *a, of_b = *b;
        of_a.op = of_b.op = &one;
        return say(why, "attribute %s against %s", wg_node_attrs_text(&of_a, x, sizeof x),
                   wg_node_attrs_text(&of_b, y, sizeof y));
    }
    return false;
}

static bool operands_differ(const wg_node *a, const wg_node *b, char why[WHY])
{
    if (a->n_in != b->n_in)
        return say(why, "%d against %d operands", a->n_in, b->n_in);
    for (int i = 0; i < a->n_in; i++) {
        char name[80];
        if (a->in[i]->id != b->in[i]->id)
            return say(why, "operand %s: %%%u against %%%u",
                       wg_op_operand_name(a->op, i, name, sizeof name), a->in[i]->id, b->in[i]->id);
    }
    return false;
}

static bool results_differ(const wg_node *a, const wg_node *b, char why[WHY])
{
    if (a->n_out != b->n_out)
        return say(why, "%d against %d results", a->n_out, b->n_out);
    for (int i = 0; i < a->n_out; i++) {
        char s[160], t[160];
        const wg_value *x = a->out[i], *y = b->out[i];
        if (x->dtype != y->dtype || !wg_shape_equal(&x->shape, &y->shape))
            return say(why, "result %d: %s%s against %s%s", i, wg_dtype_name(x->dtype),
                       wg_shape_text(&x->shape, s, sizeof s), wg_dtype_name(y->dtype),
                       wg_shape_text(&y->shape, t, sizeof t));
    }
    return false;
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

/* A leaf's name is where its numbers come from; other names are for the reader. */
static bool leaves_differ(const wg_node *a, const wg_node *b, char why[WHY])
{
    if (!(a->op->flags & WG_OP_LEAF) || !a->n_out || same_text(a->out[0]->name, b->out[0]->name))
        return false;
    return say(why, "the name '%s' against '%s'", a->out[0]->name ? a->out[0]->name : "",
               b->out[0]->name ? b->out[0]->name : "");
}

static bool nodes_differ(const wg_node *a, const wg_node *b, char why[WHY])
{
    if (strcmp(a->op->name, b->op->name) != 0)
        return say(why, "the op %s against %s", a->op->name, b->op->name);
    return operands_differ(a, b, why) || attributes_differ(a, b, why) ||
           results_differ(a, b, why) || leaves_differ(a, b, why);
}

static const char *file_of(const char *at)
{
    const char *slash = at ? strrchr(at, '/') : NULL;
    return slash ? slash + 1 : at;
}

/* Names, scopes, lines, phases: nothing that changes what is computed. */
static bool looks_differ(const wg_node *a, const wg_node *b)
{
    for (int i = 0; i < a->n_out; i++)
        if (!same_text(a->out[i]->name, b->out[i]->name))
            return true;
    return !same_text(a->scope->path, b->scope->path) ||
           !same_text(file_of(a->at), file_of(b->at)) || a->phase != b->phase;
}

/* ---- outputs and assignments ----------------------------------------------------------------- */

static bool marks_differ(const wg_graph *a, const wg_graph *b, char why[WHY])
{
    size_t n = wg_graph_output_count(a), m = wg_graph_assign_count(a);
    if (n != wg_graph_output_count(b))
        return say(why, "%zu against %zu outputs", n, wg_graph_output_count(b));
    if (m != wg_graph_assign_count(b))
        return say(why, "%zu against %zu assignments", m, wg_graph_assign_count(b));
    for (size_t i = 0; i < n; i++)
        if (wg_graph_output(a, i)->id != wg_graph_output(b, i)->id ||
            strcmp(wg_graph_output_name(a, i), wg_graph_output_name(b, i)) != 0)
            return say(why, "another output %zu: '%s' = %%%u against '%s' = %%%u", i,
                       wg_graph_output_name(a, i), wg_graph_output(a, i)->id,
                       wg_graph_output_name(b, i), wg_graph_output(b, i)->id);
    for (size_t i = 0; i < m; i++) {
        wg_value *leaf[2], *v[2];
        wg_graph_assign_at(a, i, &leaf[0], &v[0]);
        wg_graph_assign_at(b, i, &leaf[1], &v[1]);
        if (leaf[0]->id != leaf[1]->id || v[0]->id != v[1]->id)
            return say(why, "another assignment %zu: %%%u := %%%u against %%%u := %%%u", i,
                       leaf[0]->id, v[0]->id, leaf[1]->id, v[1]->id);
    }
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The line of node i in the text of a graph, and its length; NULL if there are not so many. */
static const char *line_of(const char *text, size_t i, int *length)
{
    size_t node = 0;
    for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
        if ((*line == '%' || *line == '=') && node++ == i) {
            *length = (int)(end - line);
            return line;
        }
    return NULL;
}

/* Node i of both, which part at node `parting`: once where they agree or their lines are equal. */
static void print_node(const char *x, const char *y, size_t i, size_t parting)
{
    int a = 0, b = 0;
    const char *of_x = line_of(x, i, &a), *of_y = line_of(y, i, &b);
    bool equal = of_x && of_y && a == b && memcmp(of_x, of_y, (size_t)a) == 0;
    if (i < parting || (i > parting && equal)) {
        printf("  %.*s\n", a, of_x);
        return;
    }
    if (of_x || i == parting)
        printf("- %.*s\n", of_x ? a : INT_MAX, of_x ? of_x : "(no more nodes)");
    if (of_y || i == parting)
        printf("+ %.*s\n", of_y ? b : INT_MAX, of_y ? of_y : "(no more nodes)");
}

static char *text_of(const wg_graph *g)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    bool ok = f && wg_graph_print(g, f) == WG_OK;
    char *text = wgi_text_close(&b);
    if (ok)
        return text;
    free(text);
    return NULL;
}

static int print_parting(const wg_graph *a, const wg_graph *b, size_t i)
{
    enum { BEFORE = 3, AFTER = 2 };
    char *x = text_of(a), *y = text_of(b);
    for (size_t k = i < BEFORE ? 0 : i - BEFORE; x && y && k <= i + AFTER; k++)
        print_node(x, y, k, i);
    if (!x || !y)
        complain("out of memory");
    free(x);
    free(y);
    return EXIT_RUN;
}

static size_t count_op(const wg_graph *g, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++)
        count += strcmp(wg_graph_node(g, i)->op->name, name) == 0;
    return count;
}

/* Whether node i is the first of its op in g. */
static bool is_first(const wg_graph *g, size_t i)
{
    size_t k = 0;
    while (strcmp(wg_graph_node(g, k)->op->name, wg_graph_node(g, i)->op->name) != 0)
        k++;
    return k == i;
}

/* How often each op is in a and in b, where that differs. */
static void print_counts(const wg_graph *a, const wg_graph *b)
{
    const wg_graph *const graphs[] = {a, b};
    bool any = false;
    for (int k = 0; k < 2; k++)
        for (size_t i = 0; i < wg_graph_node_count(graphs[k]); i++) {
            const char *name = wg_graph_node(graphs[k], i)->op->name;
            if (!is_first(graphs[k], i) || (k == 1 && count_op(a, name)) ||
                count_op(a, name) == count_op(b, name))
                continue;
            printf("%s  %s: %zu against %zu\n", any ? "" : "ops in different numbers:\n", name,
                   count_op(a, name), count_op(b, name));
            any = true;
        }
}

int diff_graphs(wg_graph *a, wg_graph *b, const diff_request *r)
{
    char why[WHY];
    size_t n = wg_graph_node_count(a), m = wg_graph_node_count(b), i = 0, looks = 0;
    printf("- %s: %zu nodes\n+ %s: %zu nodes\n", r->name[0], n, r->name[1], m);
    while (i < n && i < m && !nodes_differ(wg_graph_node(a, i), wg_graph_node(b, i), why)) {
        looks += looks_differ(wg_graph_node(a, i), wg_graph_node(b, i));
        i++;
    }
    if (i == n && i == m && marks_differ(a, b, why)) {
        printf("the same nodes, but %s\n", why);
        return EXIT_RUN;
    }
    if (i < n || i < m) {
        if (i == n || i == m)
            say(why, "one graph ends");
        printf("the graphs differ at node %zu: %s\n", i, why);
        print_parting(a, b, i);
        print_counts(a, b);
        return EXIT_RUN;
    }
    printf("the same graph");
    if (looks)
        printf("; %zu nodes differ in name, scope, line or phase only", looks);
    printf("\n");
    return EXIT_OK;
}
