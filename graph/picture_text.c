/* What a picture says.  Labels are Graphviz's HTML-like labels: the one thing to escape is what XML
 * reserves, and a label that is not valid UTF-8 would be refused, so other bytes become U+FFFD. */
#include "graph/picture_internal.h"

#include <stdlib.h>
#include <string.h>

#define SMALL "<FONT POINT-SIZE=\"9\" COLOR=\"#5a6672\">"
#define NAME "<FONT POINT-SIZE=\"10\" COLOR=\"#8a3b12\">"
#define END "</FONT>"

/* ---- pieces ------------------------------------------------------------------------------------
 */

/* Bytes of the well-formed UTF-8 character at s; 0 if there is none. */
static int utf8_length(const unsigned char *s)
{
    int n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool outside = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    bool noncharacter =
        s[0] == 0xef && s[1] == 0xbf && s[2] > 0xbd; /* U+FFFE, U+FFFF are not XML */
    return n > 1 && (overlong || outside || noncharacter) ? 0 : n;
}

static void put_escaped(FILE *f, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (n == 0)
            fputs("\xef\xbf\xbd", f);
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
static void put_plain(FILE *f, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = utf8_length(s);
        if (n == 0)
            fputs("\xef\xbf\xbd", f);
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

/* 12.3 k, 4.5 M */
static void put_amount(FILE *f, double x, const char *unit)
{
    static const char *const prefix[] = {"", "k", "M", "G", "T", "P"};
    int i = 0;
    while (x >= 999.5 && i < 5) {
        x /= 1000;
        i++;
    }
    fprintf(f, i ? "%.3g&#160;%s%s%s" : "%.0f%s%s%s", x, prefix[i],
            *unit == 'F' && !i ? "&#160;" : "", unit);
}

static void put_bytes(FILE *f, double x)
{
    static const char *const unit[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    int i = 0;
    while (x >= 1023.5 && i < 4) {
        x /= 1024;
        i++;
    }
    fprintf(f, i ? "%.3g&#160;%s" : "%.0f&#160;%s", x, unit[i]);
}

static wg_dtype usual_dtype(const wg_picture *p)
{
    size_t count[WG_DTYPE_COUNT] = {0};
    for (size_t i = 0; i < p->g->n_values; i++)
        count[p->g->values[i]->dtype]++;
    return count[WG_F64] > count[WG_F32] ? WG_F64 : WG_F32;
}

/* The dtype is said where it is not the graph's usual float. */
static void put_type(FILE *f, const wg_picture *p, const wg_value *v)
{
    char text[160];
    if (v->dtype != usual_dtype(p))
        fprintf(f, "%s ", wg_dtype_name(v->dtype));
    fputs(v->shape.rank ? wg_shape_text(&v->shape, text, sizeof text) : "scalar", f);
}

typedef struct totals {
    size_t ops;
    double parameters, flops, bytes, share;
} totals;

static totals totals_of(const wg_picture *p, const wg_node *const *nodes, size_t n)
{
    totals t = {0};
    for (size_t i = 0; i < n; i++) {
        bool leaf = nodes[i]->op->flags & WG_OP_LEAF;
        t.ops += !leaf;
        if (leaf && strcmp(nodes[i]->op->name, "parameter") == 0)
            t.parameters += (double)wg_value_count(nodes[i]->out[0]);
        t.flops += wg_node_flops(nodes[i]);
        for (int k = 0; k < nodes[i]->n_out; k++)
            t.bytes += (double)wg_value_bytes(nodes[i]->out[k]);
        t.share += wg_node_note(p, nodes[i]).share;
    }
    return t;
}

wg_picture_note wg_node_note(const wg_picture *p, const wg_node *n)
{
    wg_picture_note note = {0};
    if (p->options.note)
        p->options.note(p->options.context, n, &note);
    return note;
}

double wg_box_share(const wg_picture *p, const wg_box *b)
{
    double share = b->n_nodes ? totals_of(p, b->nodes, b->n_nodes).share : 0;
    for (const wg_place *q = b->inside; q; q = q == b->inside->last ? NULL : q->next)
        share += totals_of(p, q->nodes, q->n_nodes).share; /* all the folded siblings */
    return share;
}

static char *finish(FILE *f, char **text)
{
    bool failed = ferror(f);
    if (fclose(f) != 0 || failed) {
        free(*text);
        return NULL;
    }
    return *text;
}

/* ---- names -------------------------------------------------------------------------------------
 */

static const char *const phase_suffix[] = {"", "@backward", "@update"};

char *wg_place_id(const wg_place *q)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    fputs("cluster_", f);
    put_id(f, q->scope->path);
    fputs(phase_suffix[q->phase], f);
    return finish(f, &text);
}

/* How many like it come before n in its scope and phase: encoder/add, encoder/add.1, ... */
static size_t ordinal(const wg_picture *p, const wg_node *n)
{
    const wg_place *q = p->place_of[n->id];
    size_t count = 0;
    for (size_t i = 0; i < q->n_nodes && q->nodes[i] != n; i++)
        count += p->place_of[q->nodes[i]->id] == q && q->nodes[i]->op == n->op;
    return count;
}

/* Stable when other scopes change: path and op, not the number of the node in the graph. */
char *wg_box_id(const wg_picture *p, const wg_box *b)
{
    char *text = NULL;
    size_t size, n;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    if (b->kind == WG_BOX_SCOPE || b->kind == WG_BOX_GHOST) {
        put_id(f, b->inside->scope->path);
        fprintf(f, "/%s", phase_suffix[b->inside->phase]);
    } else if (b->kind == WG_BOX_OUTPUTS) {
        fputs("output:", f);
        put_id(f, p->g->outputs[b->outputs[0]].name);
    } else if (b->kind == WG_BOX_LEAVES) {
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
    return finish(f, &text);
}

/* ---- labels of boxes ---------------------------------------------------------------------------
 */

/* Is it worth saying?  Shapes and dtypes stand on the edges; zero is the default, but for an axis. */
static bool worth_saying(const wg_attr *a, const char *value)
{
    bool axis = strncmp(a->name, "axis", 4) == 0;
    switch (a->kind) {
    case WG_ATTR_INT: return (axis || strcmp(value, "0") != 0) && strcmp(a->name, "key") != 0;
    case WG_ATTR_REAL: return strcmp(value, "0") != 0;
    case WG_ATTR_BOOL: return strcmp(value, "true") == 0;
    case WG_ATTR_ENUM: return !a->names || strcmp(value, a->names[0]) != 0;
    case WG_ATTR_AXES: return strcmp(value, "()") != 0;
    default: return a->kind == WG_ATTR_TEXT;
    }
}

static void put_attrs(FILE *f, const wg_node *n)
{
    char text[64];
    size_t used = 0;
    for (int i = 0; n->attrs && i < n->op->n_attrs; i++) {
        const wg_attr *a = &n->op->attrs[i];
        wg_attr_text(n->attrs, a, text, sizeof text);
        const char *value = strchr(text, '=') ? strchr(text, '=') + 1 : "";
        if (!worth_saying(a, value))
            continue;
        if (used + strlen(text) > 30 && used) {
            fputs("<BR/>", f);
            used = 0;
        }
        fputs(used ? ", " : "", f);
        put_escaped(f, a->kind == WG_ATTR_BOOL ? a->name : text);
        used += strlen(text) + 2;
    }
}

static void put_small(FILE *f, void (*put)(FILE *f, const wg_node *n), const wg_node *n)
{
    char *text = NULL;
    size_t size;
    FILE *small = open_memstream(&text, &size);
    if (!small)
        return;
    put(small, n);
    if ((text = finish(small, &text)) && *text)
        fprintf(f, "<BR/>" SMALL "%s" END, text);
    free(text);
}

/* The outputs of the graph that come from b and have no box of their own. */
static void put_results(FILE *f, const wg_box *b)
{
    enum { SAID = 6, PER_LINE = 3 };
    int said = 0;
    for (const wg_line *line = b->results; line; line = line->next, said++) {
        if (said >= SAID)
            continue;
        fputs(said == 0 ? "<BR/>" NAME "&#8594; " : said % PER_LINE ? ", " : ",<BR/>", f);
        put_escaped(f, line->text);
    }
    if (said > SAID)
        fprintf(f, ", %d more", said - SAID);
    fputs(said ? END : "", f);
}

static void put_share(FILE *f, double share)
{
    if (share > 0 && share < 1e-3)
        fputs("<BR/>" SMALL "&lt; 0.1 % of the time" END, f);
    else if (share > 0)
        fprintf(f, "<BR/><FONT POINT-SIZE=\"9\"><B>%.3g %% of the time</B></FONT>", 100 * share);
}

/* A value's name within the frame that its box is drawn in. */
static const char *local_name(const wg_box *b, const wg_value *v)
{
    const char *path = b->where->scope->path;
    size_t n = strlen(path);
    return n && strncmp(v->name, path, n) == 0 && v->name[n] == '/' ? v->name + n + 1 : v->name;
}

static void put_op(FILE *f, const wg_picture *p, const wg_box *b)
{
    const wg_node *n = b->nodes[0];
    wg_picture_note note = wg_node_note(p, n);
    double value;
    fputs("<B>", f);
    put_escaped(f, n->op->name);
    fputs("</B>", f);
    if (wg_fill_value(n, &value))
        fprintf(f, " %.6g", value);
    else
        put_small(f, put_attrs, n);
    for (const wg_line *line = b->lines; line; line = line->next) {
        fputs("<BR/>" SMALL, f);
        put_escaped(f, line->text);
        fputs(END, f);
    }
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]->name) {
            fputs("<BR/>" NAME, f);
            put_escaped(f, local_name(b, n->out[i]));
            fputs(END, f);
        }
    put_results(f, b);
    if (p->options.memory) {
        fputs("<BR/>" SMALL, f);
        put_bytes(f, totals_of(p, &n, 1).bytes);
        fputs(END, f);
    }
    if (note.backend) {
        fputs("<BR/>" SMALL, f);
        put_escaped(f, note.backend);
        fputs(END, f);
    }
    put_share(f, note.share);
}

typedef struct tally {
    const wg_op *op;
    size_t count;
} tally;

/* Counts the ops of the nodes, most frequent first; at most `most` kinds. */
static size_t count_ops(tally *t, size_t most, const wg_node *const *nodes, size_t n)
{
    size_t kinds = 0;
    double value;
    for (size_t i = 0; i < n; i++) {
        if ((nodes[i]->op->flags & WG_OP_LEAF) || wg_fill_value(nodes[i], &value))
            continue;
        size_t k = 0;
        while (k < kinds && t[k].op != nodes[i]->op)
            k++;
        if (k == most)
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

static void put_op_names(FILE *f, const wg_place *q)
{
    enum { SAID = 4 };
    tally t[64];
    size_t kinds = count_ops(t, 64, q->nodes, q->n_nodes);
    for (size_t i = 0; i < kinds && i < SAID; i++) {
        fputs(i ? " &#183; " : "<BR/>" SMALL, f);
        put_escaped(f, t[i].op->name);
        if (t[i].count > 1)
            fprintf(f, "&#160;&#215;%zu", t[i].count);
    }
    fputs(kinds > SAID ? " &#183; ..." END : kinds ? END : "", f);
}

/* "layer0 ... layer5 x6" */
static void put_place_name(FILE *f, const wg_place *q)
{
    static const char *const suffix[] = {"", " (backward)", " (update)"};
    static const char *const top[] = {"forward", "backward", "update"};
    fputs("<B>", f);
    put_escaped(f, q->parent ? q->scope->name : top[q->phase]);
    if (q->copies > 1) {
        fputs(q->copies > 2 ? " &#8230; " : ", ", f);
        put_escaped(f, q->last->scope->name);
        fprintf(f, "&#160;&#160;&#215;%d", q->copies);
    }
    fputs("</B>", f);
    if (q->parent)
        fputs(suffix[q->phase], f);
}

static void put_totals(FILE *f, const wg_picture *p, const wg_place *q)
{
    totals t = totals_of(p, q->nodes, q->n_nodes);
    fprintf(f, SMALL "%s%zu op%s", q->copies > 1 ? "each " : "", t.ops, t.ops == 1 ? "" : "s");
    if (t.parameters > 0) {
        fputs(", ", f);
        put_amount(f, t.parameters, " parameters");
    }
    if (t.flops > 0) {
        fputs(", ", f);
        put_amount(f, t.flops, "FLOP");
    }
    if (p->options.memory) {
        fputs(", ", f);
        put_bytes(f, t.bytes);
    }
    fputs(END, f);
}

static void put_scope(FILE *f, const wg_picture *p, const wg_box *b)
{
    put_place_name(f, b->inside);
    if (b->kind == WG_BOX_GHOST) {
        fputs(b->inside->parent && b->inside->phase == WG_FORWARD ? " (forward)" : "", f);
        return;
    }
    put_op_names(f, b->inside);
    fputs("<BR/>", f);
    put_totals(f, p, b->inside);
    put_results(f, b);
    put_share(f, wg_box_share(p, b));
}

static void put_leaves(FILE *f, const wg_picture *p, const wg_box *b)
{
    enum { SAID = 6 };
    totals t = totals_of(p, b->nodes, b->n_nodes);
    if (strcmp(b->nodes[0]->op->name, "input") != 0)
        fputs("<FONT POINT-SIZE=\"4\">&#160;<BR/></FONT>", f); /* below the rim of a cylinder */
    for (size_t i = 0; i < b->n_nodes && i < SAID; i++) {
        fputs(i ? "<BR/><B>" : "<B>", f);
        put_escaped(f, local_name(b, b->nodes[i]->out[0]));
        fputs("</B> " SMALL, f);
        put_type(f, p, b->nodes[i]->out[0]);
        fputs(END, f);
    }
    if (b->n_nodes > SAID)
        fprintf(f, "<BR/>" SMALL "and %zu more" END, b->n_nodes - SAID);
    if (t.parameters > 0 || p->options.memory)
        fputs("<BR/>" SMALL, f);
    if (t.parameters > 0)
        put_amount(f, t.parameters, t.parameters == 1 ? " parameter" : " parameters");
    if (p->options.memory) {
        fputs(t.parameters > 0 ? ", " : "", f);
        put_bytes(f, t.bytes);
    }
    if (t.parameters > 0 || p->options.memory)
        fputs(END, f);
}

static void put_outputs(FILE *f, const wg_picture *p, const wg_box *b)
{
    enum { SAID = 6 };
    for (size_t i = 0; i < b->n_outputs && i < SAID; i++) {
        fputs(i ? "<BR/><B>" : "<B>", f);
        put_escaped(f, p->g->outputs[b->outputs[i]].name);
        fputs("</B> <FONT POINT-SIZE=\"9\">", f);
        put_type(f, p, p->g->outputs[b->outputs[i]].value);
        fputs(END, f);
    }
    if (b->n_outputs > SAID)
        fprintf(f, "<BR/>and %zu more", b->n_outputs - SAID);
}

char *wg_box_label(const wg_picture *p, const wg_box *b)
{
    static void (*const put[])(FILE *, const wg_picture *, const wg_box *) = {
        [WG_BOX_OP] = put_op,         [WG_BOX_SCOPE] = put_scope,     [WG_BOX_GHOST] = put_scope,
        [WG_BOX_LEAVES] = put_leaves, [WG_BOX_OUTPUTS] = put_outputs,
    };
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    put[b->kind](f, p, b);
    return finish(f, &text);
}

char *wg_place_label(const wg_picture *p, const wg_place *q)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    put_place_name(f, q);
    fputs("<BR ALIGN=\"LEFT\"/>", f);
    if (q->parent && p->options.memory) {
        put_totals(f, p, q);
        fputs("<BR ALIGN=\"LEFT\"/>", f);
    }
    return finish(f, &text);
}

/* ---- tooltips ----------------------------------------------------------------------------------
 */

static void put_node_tooltip(FILE *f, const wg_picture *p, const wg_node *n)
{
    char text[1200];
    wg_picture_note note = wg_node_note(p, n);
    fprintf(f, "%s", n->op->name);
    if (*wg_node_attrs_text(n, text, sizeof text)) {
        fputs(" {", f);
        put_plain(f, text);
        fputs("}", f);
    }
    for (int i = 0; i < n->n_out; i++) {
        fprintf(f, "\\n%s%s, %zu bytes", wg_dtype_name(n->out[i]->dtype),
                wg_shape_text(&n->out[i]->shape, text, sizeof text), wg_value_bytes(n->out[i]));
        if (n->out[i]->name) {
            fputs(" ", f);
            put_plain(f, n->out[i]->name);
        }
    }
    if (wg_node_flops(n) > 0)
        fprintf(f, "\\n%.0f FLOP", wg_node_flops(n));
    if (note.backend) {
        fputs("\\nbackend ", f);
        put_plain(f, note.backend);
        fputs(note.kernel ? " " : "", f);
        put_plain(f, note.kernel ? note.kernel : "");
    }
    if (note.seconds > 0)
        fprintf(f, "\\n%.3g ms", 1e3 * note.seconds);
    if (*n->scope->path) {
        fputs("\\nin ", f);
        put_plain(f, n->scope->path);
    }
    if (n->at) {
        fputs("\\n", f);
        put_plain(f, wg_short_at(n->at));
    }
}

char *wg_box_tooltip(const wg_picture *p, const wg_box *b)
{
    enum { SAID = 12 };
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    for (size_t i = 0; i < b->n_nodes && i < SAID; i++) {
        fputs(i ? "\\n\\n" : "", f);
        put_node_tooltip(f, p, b->nodes[i]);
    }
    if (b->inside) {
        totals t = totals_of(p, b->inside->nodes, b->inside->n_nodes);
        put_plain(f, b->inside->scope->path);
        fprintf(f, "\\n%zu ops, %.0f parameters, %.0f FLOP, %.0f bytes of results", t.ops,
                t.parameters, t.flops, t.bytes);
    }
    for (size_t i = 0; i < b->n_outputs && i < SAID; i++) {
        fputs(i ? "\\noutput " : "output ", f);
        put_plain(f, p->g->outputs[b->outputs[i]].name);
    }
    return finish(f, &text);
}

/* ---- edges -------------------------------------------------------------------------------------
 */

static bool same_type(const wg_value *a, const wg_value *b)
{
    return a->dtype == b->dtype && wg_shape_equal(&a->shape, &b->shape);
}

/* Each type once; leaves and outputs say it themselves. */
static void put_types(FILE *f, const wg_picture *p, const wg_edge *e)
{
    enum { SAID = 2 };
    size_t said = 0;
    for (size_t i = 0; i < e->n_values; i++) {
        size_t k = 0;
        while (k < i && !same_type(e->values[k], e->values[i]))
            k++;
        if (k < i)
            continue;
        if (said++ == SAID) {
            fputs("<BR/>...", f);
            return;
        }
        fputs(said > 1 ? "<BR/>&#160;" : "&#160;", f);
        put_type(f, p, e->values[i]);
    }
}

char *wg_edge_label(const wg_picture *p, const wg_edge *e)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    bool told = e->kind >= WG_EDGE_SAVED && e->kind != WG_EDGE_GRADIENT;
    told |= e->from->kind == WG_BOX_LEAVES || e->to->kind == WG_BOX_OUTPUTS;
    if (!told)
        put_types(f, p, e);
    if (p->options.memory) {
        double bytes = 0;
        for (size_t i = 0; i < e->n_values; i++)
            bytes += (double)wg_value_bytes(e->values[i]);
        fputs(told ? "&#160;" : "<BR/>&#160;", f);
        put_bytes(f, bytes);
    }
    return finish(f, &text);
}

char *wg_edge_tooltip(const wg_picture *p, const wg_edge *e)
{
    enum { SAID = 12 };
    char *text = NULL, shape[160], name[200];
    size_t size;
    FILE *f = open_memstream(&text, &size);
    (void)p;
    if (!f)
        return NULL;
    for (size_t i = 0; i < e->n_values && i < SAID; i++) {
        fputs(i ? "\\n" : "", f);
        put_plain(f, wg_value_text(e->values[i], name, sizeof name));
        fprintf(f, " %s%s, %zu bytes", wg_dtype_name(e->values[i]->dtype),
                wg_shape_text(&e->values[i]->shape, shape, sizeof shape),
                wg_value_bytes(e->values[i]));
    }
    return finish(f, &text);
}

/* ---- heading and legend ------------------------------------------------------------------------
 */

static void put_title(FILE *f, const wg_picture *p)
{
    totals t = {0};
    fputs("<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"15\"><B>", f);
    put_escaped(f, p->options.title ? p->options.title : "graph");
    fputs("</B></FONT>&#160;&#160;&#160;" SMALL, f);
    for (int phase = 0; phase < WG_PHASES; phase++)
        if (p->root[phase]) {
            totals more = totals_of(p, p->root[phase]->nodes, p->root[phase]->n_nodes);
            t.ops += more.ops;
            t.parameters += more.parameters;
            t.flops += more.flops;
        }
    fprintf(f, "%zu ops, ", t.ops);
    put_amount(f, t.parameters, " parameters, ");
    put_amount(f, t.flops, "FLOP");
    fprintf(f, "; %s unless said otherwise", wg_dtype_name(usual_dtype(p)));
    fputs(END "</TD></TR>", f);
}

static bool is_drawn(const wg_picture *p, const wg_colours *c)
{
    for (const wg_box *b = p->boxes; b; b = b->next)
        if (!b->merged && wg_box_colours(b) == c)
            return true;
    return false;
}

static const char *kind_name(const wg_colours *c)
{
    static const char *const full[][2] = {
        {"normali", "normalisation"}, {"optimi", "optimiser"}, {"leaf", "constant"}};
    for (size_t i = 0; i < sizeof full / sizeof full[0]; i++)
        if (strcmp(c->kind, full[i][0]) == 0)
            return full[i][1];
    return c->kind;
}

static void put_legend(FILE *f, const wg_picture *p)
{
    enum { PER_ROW = 8 };
    size_t put = 0;
    const wg_colours *c;
    fputs("<TR><TD ALIGN=\"LEFT\">" SMALL, f);
    for (size_t i = 0; (c = wg_colours_at(i)); i++)
        if (is_drawn(p, c)) {
            fputs(put && put % PER_ROW == 0 ? "<BR ALIGN=\"LEFT\"/>" : "", f);
            fprintf(f, "<FONT POINT-SIZE=\"13\" COLOR=\"%s\">%s</FONT>&#160;%s&#160;&#160;&#160; ",
                    c->line, strcmp(c->kind, "input") == 0 ? "&#9633;" : "&#9632;", kind_name(c));
            put++;
        }
    fputs("<BR ALIGN=\"LEFT\"/>" END "</TD></TR>", f);
}

static void put_edge_legend(FILE *f, const wg_picture *p)
{
    static const char *const kind[] = {
        NULL,
        "<FONT COLOR=\"#7d8893\">&#183;&#183;&#183;&#183;</FONT> kept for the backward pass",
        "<FONT COLOR=\"#c0532b\">- - -</FONT> gradient",
        "<FONT COLOR=\"#8b5e3c\">&#8212;&#8212;</FONT> new value of",
    };
    bool seen[4] = {false}, any = false;
    for (size_t i = 0; i < p->n_edges; i++)
        seen[p->edges[i].kind] = true;
    for (int k = 1; k < 4; k++)
        if (seen[k]) {
            fputs(any ? "&#160;&#160;&#160;" : "<TR><TD ALIGN=\"LEFT\">" SMALL, f);
            fputs(kind[k], f);
            any = true;
        }
    fputs(any ? END "</TD></TR>" : "", f);
}

char *wg_picture_heading(const wg_picture *p)
{
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f)
        return NULL;
    fputs("<TABLE BORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"2\">", f);
    put_title(f, p);
    if (!p->options.no_legend) {
        put_legend(f, p);
        put_edge_legend(f, p);
    }
    fputs("</TABLE>", f);
    return finish(f, &text);
}
