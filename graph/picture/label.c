/* Labels of boxes, frames and edges. */
#include "graph/picture/internal.h"

#include <string.h>

/* ---- labels of boxes ------------------------------------------------------------------------- */

/* Whether it stands in the label.  Shapes and dtypes stand on the edges; zero is the default, but
 * for an axis; long texts are left to the tooltip. */
static bool is_shown(const wg_attr *a, const char *value)
{
    enum { LONG = 36 };
    switch (a->kind) {
    case WG_ATTR_INT:
    case WG_ATTR_REAL: return strcmp(value, "0") != 0;
    case WG_ATTR_BOOL: return strcmp(value, "true") == 0;
    case WG_ATTR_ENUM: return !a->names || strcmp(value, a->names[0]) != 0;
    case WG_ATTR_AXES: return strcmp(value, "()") != 0;
    case WG_ATTR_AXIS: return true;
    case WG_ATTR_TEXT: return strlen(value) <= LONG;
    default: return false;
    }
}

/* These attributes, in small letters below the op's name, some 30 characters a line. */
static void put_attrs(FILE *f, const wg_node *n)
{
    char text[64];
    size_t used = 0;
    bool any = false;
    for (int i = 0; n->attrs && i < n->op->n_attrs; i++) {
        const wg_attr *a = &n->op->attrs[i];
        wgi_attr_text(n->attrs, a, text, sizeof text);
        const char *value = strchr(text, '=') ? strchr(text, '=') + 1 : "";
        if (!is_shown(a, value))
            continue;
        bool breaks = used && used + strlen(text) > 30;
        fputs(!any ? "<BR/>" WGI_SMALL : breaks ? "<BR/>" : ", ", f);
        wgi_pic_put_escaped(f, a->kind == WG_ATTR_BOOL ? a->name : text);
        used = (breaks ? 0 : used) + strlen(text) + 2;
        any = true;
    }
    fputs(any ? WGI_END : "", f);
}

/* The outputs of the graph that come from b and have no box of their own. */
static void put_results(FILE *f, const wgi_pic_box *b)
{
    enum { SHOWN = 6, PER_LINE = 3 };
    int shown = 0;
    for (const wgi_pic_line *line = b->results; line; line = line->next, shown++) {
        if (shown >= SHOWN)
            continue;
        fputs(shown == 0 ? "<BR/>" WGI_NAME "&#8594; " : shown % PER_LINE ? ", " : ",<BR/>", f);
        wgi_pic_put_escaped(f, line->text);
    }
    if (shown > SHOWN)
        fprintf(f, ", %d more", shown - SHOWN);
    fputs(shown ? WGI_END : "", f);
}

static void put_share(FILE *f, double share)
{
    if (share > 0 && share < 1e-3)
        fputs("<BR/>" WGI_SMALL "&lt; 0.1 % of the time" WGI_END, f);
    else if (share > 0)
        fprintf(f, "<BR/><FONT POINT-SIZE=\"9\"><B>%.3g %% of the time</B></FONT>", 100 * share);
}

/* What the note says, below everything else. */
static void put_note(FILE *f, const wg_picture *p, const wgi_pic_box *b)
{
    const char *text = wgi_pic_box_heat(p, b).text;
    if (!text)
        return;
    fputs("<BR/><FONT POINT-SIZE=\"9\"><B>", f);
    wgi_pic_put_escaped(f, text);
    fputs("</B></FONT>", f);
}

/* A value's name within the frame that its box is drawn in. */
static const char *local_name(const wgi_pic_box *b, const wg_value *v)
{
    const char *path = b->where->scope->path;
    size_t n = strlen(path);
    return n && strncmp(v->name, path, n) == 0 && v->name[n] == '/' ? v->name + n + 1 : v->name;
}

static void put_op(FILE *f, const wg_picture *p, const wgi_pic_box *b)
{
    const wg_node *n = b->nodes[0];
    wg_picture_note note = wgi_pic_node_note(p, n);
    double value;
    fputs("<B>", f);
    wgi_pic_put_escaped(f, n->op->name);
    fputs("</B>", f);
    if (wgi_pic_fill_value(n, &value))
        fprintf(f, " %.6g", value);
    else
        put_attrs(f, n);
    for (const wgi_pic_line *line = b->lines; line; line = line->next) {
        fputs("<BR/>" WGI_SMALL, f);
        wgi_pic_put_escaped(f, line->text);
        fputs(WGI_END, f);
    }
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->name) {
            fputs("<BR/>" WGI_NAME, f);
            wgi_pic_put_escaped(f, local_name(b, n->out[i]));
            fputs(WGI_END, f);
        }
    put_results(f, b);
    if (p->options.memory) {
        fputs("<BR/>" WGI_SMALL, f);
        wgi_pic_put_bytes(f, wgi_pic_totals_of(p, &n, 1).bytes);
        fputs(WGI_END, f);
    }
    if (note.backend) {
        fputs("<BR/>" WGI_SMALL, f);
        wgi_pic_put_escaped(f, note.backend);
        fputs(WGI_END, f);
    }
    put_share(f, note.share);
}

typedef struct tally {
    const wg_op *op;
    size_t count;
} tally;

/* Counts the ops of the nodes, most frequent first; at most `most` kinds. */
static size_t count_ops(tally *t, size_t max, const wg_node *const *nodes, size_t n)
{
    size_t kinds = 0;
    double value;
    for (size_t i = 0; i < n; i++) {
        if ((nodes[i]->op->flags & WG_OP_LEAF) || wgi_pic_fill_value(nodes[i], &value))
            continue;
        size_t k = 0;
        while (k < kinds && t[k].op != nodes[i]->op)
            k++;
        if (k == max)
            continue;
        if (k == kinds)
            t[kinds++] = (tally){nodes[i]->op, 0};
        t[k].count++;
        for (tally x; k > 0 && t[k].count > t[k - 1].count; k--) {
            x = t[k];
            t[k] = t[k - 1];
            t[k - 1] = x;
        }
    }
    return kinds;
}

static void put_op_names(FILE *f, const wgi_pic_place *q)
{
    enum { SHOWN = 4 };
    tally t[64];
    size_t kinds = count_ops(t, 64, q->nodes, q->n_nodes);
    for (size_t i = 0; i < kinds && i < SHOWN; i++) {
        fputs(i ? " &#183; " : "<BR/>" WGI_SMALL, f);
        wgi_pic_put_escaped(f, t[i].op->name);
        if (t[i].count > 1)
            fprintf(f, "&#160;&#215;%zu", t[i].count);
    }
    fputs(kinds > SHOWN ? " &#183; ..." WGI_END : kinds ? WGI_END : "", f);
}

/* "layer0 ... layer5 x6" */
static void put_place_name(FILE *f, const wgi_pic_place *q)
{
    static const char *const suffix[] = {"", " (backward)", " (update)"};
    static const char *const top[] = {"forward", "backward", "update"};
    fputs("<B>", f);
    wgi_pic_put_escaped(f, q->parent ? q->scope->name : top[q->phase]);
    if (q->copies > 1) {
        fputs(q->copies > 2 ? " &#8230; " : ", ", f);
        wgi_pic_put_escaped(f, q->last->scope->name);
        fprintf(f, "&#160;&#160;&#215;%d", q->copies);
    }
    fputs("</B>", f);
    if (q->parent)
        fputs(suffix[q->phase], f);
}

static void put_totals(FILE *f, const wg_picture *p, const wgi_pic_place *q)
{
    wgi_pic_totals t = wgi_pic_totals_of(p, q->nodes, q->n_nodes);
    fprintf(f, WGI_SMALL "%s%zu op%s", q->copies > 1 ? "each " : "", t.ops, t.ops == 1 ? "" : "s");
    if (t.parameters > 0) {
        fputs(", ", f);
        wgi_pic_put_amount(f, t.parameters, " parameters");
    }
    if (t.flops > 0) {
        fputs(", ", f);
        wgi_pic_put_amount(f, t.flops, "FLOP");
    }
    if (p->options.memory) {
        fputs(", ", f);
        wgi_pic_put_bytes(f, t.bytes);
    }
    fputs(WGI_END, f);
}

static void put_scope(FILE *f, const wg_picture *p, const wgi_pic_box *b)
{
    put_place_name(f, b->inside);
    if (b->kind == WGI_BOX_GHOST) {
        fputs(b->inside->parent && b->inside->phase == WG_FORWARD ? " (forward)" : "", f);
        return;
    }
    put_op_names(f, b->inside);
    fputs("<BR/>", f);
    put_totals(f, p, b->inside);
    put_results(f, b);
    put_share(f, wgi_pic_box_share(p, b));
}

static void put_leaves(FILE *f, const wg_picture *p, const wgi_pic_box *b)
{
    enum { SHOWN = 6 };
    wgi_pic_totals t = wgi_pic_totals_of(p, b->nodes, b->n_nodes);
    if (!(b->nodes[0]->op->flags & WG_OP_INPUT))
        fputs("<FONT POINT-SIZE=\"4\">&#160;<BR/></FONT>", f); /* below the rim of a cylinder */
    for (size_t i = 0; i < b->n_nodes && i < SHOWN; i++) {
        fputs(i ? "<BR/><B>" : "<B>", f);
        wgi_pic_put_escaped(f, local_name(b, b->nodes[i]->out[0]));
        fputs("</B> " WGI_SMALL, f);
        wgi_pic_put_type(f, p, b->nodes[i]->out[0]);
        fputs(WGI_END, f);
    }
    if (b->n_nodes > SHOWN)
        fprintf(f, "<BR/>" WGI_SMALL "and %zu more" WGI_END, b->n_nodes - SHOWN);
    if (t.parameters > 0 || p->options.memory)
        fputs("<BR/>" WGI_SMALL, f);
    if (t.parameters > 0)
        wgi_pic_put_amount(f, t.parameters, t.parameters == 1 ? " parameter" : " parameters");
    if (p->options.memory) {
        fputs(t.parameters > 0 ? ", " : "", f);
        wgi_pic_put_bytes(f, t.bytes);
    }
    if (t.parameters > 0 || p->options.memory)
        fputs(WGI_END, f);
}

static void put_outputs(FILE *f, const wg_picture *p, const wgi_pic_box *b)
{
    enum { SHOWN = 6 };
    for (size_t i = 0; i < b->n_outputs && i < SHOWN; i++) {
        fputs(i ? "<BR/><B>" : "<B>", f);
        wgi_pic_put_escaped(f, p->g->outputs[b->outputs[i]].name);
        fputs("</B> <FONT POINT-SIZE=\"9\">", f);
        wgi_pic_put_type(f, p, p->g->outputs[b->outputs[i]].value);
        fputs(WGI_END, f);
    }
    if (b->n_outputs > SHOWN)
        fprintf(f, "<BR/>and %zu more", b->n_outputs - SHOWN);
}

char *wgi_pic_box_label(const wg_picture *p, const wgi_pic_box *b)
{
    static void (*const put[])(FILE *, const wg_picture *, const wgi_pic_box *) = {
        [WGI_BOX_OP] = put_op,         [WGI_BOX_SCOPE] = put_scope,     [WGI_BOX_GHOST] = put_scope,
        [WGI_BOX_LEAVES] = put_leaves, [WGI_BOX_OUTPUTS] = put_outputs,
    };
    wgi_text_buffer text;
    FILE *f = wgi_text_open(&text);
    if (!f)
        return NULL;
    put[b->kind](f, p, b);
    put_note(f, p, b);
    return wgi_text_close(&text);
}

char *wgi_pic_place_label(const wg_picture *p, const wgi_pic_place *q)
{
    wgi_text_buffer text;
    FILE *f = wgi_text_open(&text);
    if (!f)
        return NULL;
    put_place_name(f, q);
    fputs("<BR ALIGN=\"LEFT\"/>", f);
    if (q->parent && p->options.memory) {
        put_totals(f, p, q);
        fputs("<BR ALIGN=\"LEFT\"/>", f);
    }
    return wgi_text_close(&text);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static bool same_type(const wg_value *a, const wg_value *b)
{
    return a->dtype == b->dtype && wg_shape_equal(&a->shape, &b->shape);
}

/* Each type once; leaves and outputs say it themselves. */
static void put_types(FILE *f, const wg_picture *p, const wgi_pic_edge *e)
{
    enum { SHOWN = 2 };
    size_t shown = 0;
    for (size_t i = 0; i < e->n_values; i++) {
        size_t k = 0;
        while (k < i && !same_type(e->values[k], e->values[i]))
            k++;
        if (k < i)
            continue;
        if (shown++ == SHOWN) {
            fputs("<BR/>...", f);
            return;
        }
        fputs(shown > 1 ? "<BR/>&#160;" : "&#160;", f);
        wgi_pic_put_type(f, p, e->values[i]);
    }
}

char *wgi_pic_edge_label(const wg_picture *p, const wgi_pic_edge *e)
{
    wgi_text_buffer text;
    FILE *f = wgi_text_open(&text);
    if (!f)
        return NULL;
    bool told = e->kind >= WGI_EDGE_SAVED && e->kind != WGI_EDGE_GRADIENT;
    told |= e->from->kind == WGI_BOX_LEAVES || e->to->kind == WGI_BOX_OUTPUTS;
    if (!told)
        put_types(f, p, e);
    if (p->options.memory) {
        double bytes = 0;
        for (size_t i = 0; i < e->n_values; i++)
            bytes += (double)wg_value_bytes(e->values[i]);
        fputs(told ? "&#160;" : "<BR/>&#160;", f);
        wgi_pic_put_bytes(f, bytes);
    }
    return wgi_text_close(&text);
}
