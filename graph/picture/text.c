/* What a picture says: the pieces of labels and tooltips, and the names of boxes.  Labels are
 * Graphviz's HTML-like labels: the one thing to escape is what XML reserves, and a label that is
 * not valid UTF-8 would be refused, so other bytes become U+FFFD. */
#include "graph/picture/internal.h"
#include "graph/amount.h"
#include "graph/utf8.h"

#include <string.h>

/* ---- pieces ---------------------------------------------------------------------------------- */

void wgi_pic_put_escaped(FILE *f, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = wgi_utf8_length(s);
        if (n == 0)
            fputs(WGI_UTF8_REPLACEMENT, f);
        else if (*s == '&' || *s == '<' || *s == '>' || *s == '"')
            fputs(*s == '&' ? "&amp;" : *s == '<' ? "&lt;" : *s == '>' ? "&gt;" : "&quot;", f);
        else if (*s < 0x20 || *s == 0x7f)
            fputc(' ', f);
        else
            fwrite(s, 1, (size_t)n, f);
        s += n ? n : 1;
    }
}

/* Tooltips are plain strings, in which Graphviz knows \-escapes and entities. */
void wgi_pic_put_plain(FILE *f, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = wgi_utf8_length(s);
        if (n == 0)
            fputs(WGI_UTF8_REPLACEMENT, f);
        else if (*s == '&' || *s == '\\')
            fputs(*s == '&' ? "&amp;" : "\\\\", f);
        else if (*s < 0x20 || *s == 0x7f)
            fputc(' ', f);
        else
            fwrite(s, 1, (size_t)n, f);
        s += n ? n : 1;
    }
}

/* Names of nodes and clusters: anything unusual as ~XX, so that different paths stay different. */
static void put_id(FILE *f, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++)
        if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
            (*s < 0x80 && strchr("_-./", *s)))
            fputc(*s, f);
        else
            fprintf(f, "~%02x", *s); /* not %, which libcgraph keeps for itself */
}

/* In one line: a number and its unit stay together. */
static void put_together(FILE *f, const char *text)
{
    for (; *text; text++)
        if (*text == ' ')
            fputs("&#160;", f);
        else
            fputc(*text, f);
}

void wgi_pic_put_amount(FILE *f, double x, const char *unit)
{
    char text[WGI_AMOUNT_TEXT];
    put_together(f, wgi_amount_text(x, unit, text));
}

void wgi_pic_put_bytes(FILE *f, double x)
{
    char text[WGI_AMOUNT_TEXT];
    put_together(f, wgi_bytes_text(x, text));
}

wg_dtype wgi_pic_default_dtype(const wg_picture *p)
{
    size_t count[WG_DTYPE_COUNT] = {0};
    for (size_t i = 0; i < p->g->n_values; i++)
        count[p->g->values[i]->dtype]++;
    return count[WG_F64] > count[WG_F32] ? WG_F64 : WG_F32;
}

/* The dtype is written where it is not the graph's default float. */
void wgi_pic_put_type(FILE *f, const wg_picture *p, const wg_value *v)
{
    char text[160];
    if (v->dtype != wgi_pic_default_dtype(p))
        fprintf(f, "%s ", wg_dtype_name(v->dtype));
    fputs(v->shape.rank ? wg_shape_text(&v->shape, text, sizeof text) : "scalar", f);
}

wgi_pic_totals wgi_pic_totals_of(const wg_picture *p, const wg_node *const *nodes, size_t n)
{
    wgi_pic_totals t = {0};
    for (size_t i = 0; i < n; i++) {
        bool leaf = nodes[i]->op->flags & WG_OP_LEAF;
        t.ops += !leaf;
        if (nodes[i]->op->flags & WG_OP_PARAMETER)
            t.parameters += (double)wg_value_count(nodes[i]->out[0]);
        t.flops += wg_node_flops(nodes[i]);
        for (int k = 0; k < nodes[i]->n_out; k++)
            t.bytes += (double)wg_value_bytes(nodes[i]->out[k]);
        t.share += wgi_pic_node_note(p, nodes[i]).share;
    }
    return t;
}

wg_picture_note wgi_pic_node_note(const wg_picture *p, const wg_node *n)
{
    wg_picture_note note = {0};
    if (p->options.note)
        p->options.note(p->options.context, n, &note);
    return note;
}

double wgi_pic_box_share(const wg_picture *p, const wgi_pic_box *b)
{
    double share = b->n_nodes ? wgi_pic_totals_of(p, b->nodes, b->n_nodes).share : 0;
    for (const wgi_pic_place *q = b->inside; q; q = q == b->inside->last ? NULL : q->next)
        share += wgi_pic_totals_of(p, q->nodes, q->n_nodes).share; /* all the folded siblings */
    return share;
}

static void keep_hotter(const wg_picture *p, const wg_node *n, wg_picture_note *hottest)
{
    wg_picture_note note = wgi_pic_node_note(p, n);
    if (note.heat > hottest->heat)
        *hottest = note;
}

wg_picture_note wgi_pic_box_heat(const wg_picture *p, const wgi_pic_box *b)
{
    wg_picture_note hottest = {0};
    for (size_t i = 0; p->options.note && b->n_nodes && i < p->g->n_nodes; i++)
        for (size_t k = 0; k < b->n_nodes; k++)
            if (wgi_pic_drawn_node(p, p->g->nodes[i]) == b->nodes[k])
                keep_hotter(p, p->g->nodes[i], &hottest);
    for (const wgi_pic_place *q = b->inside; q; q = q == b->inside->last ? NULL : q->next)
        for (size_t i = 0; i < q->n_nodes; i++)
            keep_hotter(p, q->nodes[i], &hottest);
    return hottest;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const phase_suffix[] = {"", "@backward", "@update"};

char *wgi_pic_place_id(const wgi_pic_place *q)
{
    wgi_text_buffer text;
    FILE *f = wgi_text_open(&text);
    if (!f)
        return NULL;
    fputs("cluster_", f);
    put_id(f, q->scope->path);
    fputs(phase_suffix[q->phase], f);
    return wgi_text_close(&text);
}

/* How many like it come before n in its scope and phase: encoder/add, encoder/add.1, ... */
static size_t ordinal(const wg_picture *p, const wg_node *n)
{
    const wgi_pic_place *q = p->place_of[n->id];
    size_t count = 0;
    for (size_t i = 0; i < q->n_nodes && q->nodes[i] != n; i++)
        count += p->place_of[q->nodes[i]->id] == q && q->nodes[i]->op == n->op;
    return count;
}

/* Stable when other scopes change: path and op, not the number of the node in the graph. */
char *wgi_pic_box_id(const wg_picture *p, const wgi_pic_box *b)
{
    size_t n;
    wgi_text_buffer text;
    FILE *f = wgi_text_open(&text);
    if (!f)
        return NULL;
    if (b->kind == WGI_BOX_SCOPE || b->kind == WGI_BOX_GHOST) {
        put_id(f, b->inside->scope->path);
        fprintf(f, "/%s", phase_suffix[b->inside->phase]);
    } else if (b->kind == WGI_BOX_OUTPUTS) {
        fputs("output:", f);
        put_id(f, p->g->outputs[b->outputs[0]].name);
    } else if (b->kind == WGI_BOX_LEAVES) {
        fputs("leaf:", f);
        put_id(f, b->nodes[0]->out[0]->name);
    } else {
        put_id(f, b->where->scope->path);
        fputs(*b->where->scope->path ? "/" : "", f);
        put_id(f, b->nodes[0]->op->name);
        fputs(phase_suffix[b->nodes[0]->phase], f);
        if ((n = ordinal(p, b->nodes[0])))
            fprintf(f, ".%zu", n);
    }
    return wgi_text_close(&text);
}
