/* Tooltips: everything that is known of a box or an edge. */
#include "graph/picture/internal.h"
#include "graph/amount.h"

static void put_node_tooltip(FILE *f, const wg_picture *p, const wg_node *n)
{
    char text[1200];
    wg_picture_note note = wgi_pic_node_note(p, n);
    fprintf(f, "%s", n->op->name);
    if (*wg_node_attrs_text(n, text, sizeof text)) {
        fputs(" {", f);
        wgi_pic_put_plain(f, text);
        fputs("}", f);
    }
    for (int i = 0; i < n->n_out; i++) {
        fprintf(f, "\\n%s%s, %zu bytes", wg_dtype_name(n->out[i]->dtype),
                wg_shape_text(&n->out[i]->shape, text, sizeof text), wg_value_bytes(n->out[i]));
        if (n->out[i]->name) {
            fputs(" ", f);
            wgi_pic_put_plain(f, n->out[i]->name);
        }
    }
    if (wg_node_flops(n) > 0)
        fprintf(f, "\\n%.0f FLOP", wg_node_flops(n));
    if (note.backend) {
        fputs("\\nbackend ", f);
        wgi_pic_put_plain(f, note.backend);
        fputs(note.kernel ? " " : "", f);
        wgi_pic_put_plain(f, note.kernel ? note.kernel : "");
    }
    if (note.seconds > 0)
        fprintf(f, "\\n%s", wgi_seconds_text(note.seconds, text));
    if (note.text) {
        fputs("\\n", f);
        wgi_pic_put_plain(f, note.text);
    }
    if (*n->scope->path) {
        fputs("\\nin ", f);
        wgi_pic_put_plain(f, n->scope->path);
    }
    if (n->at) {
        fputs("\\n", f);
        wgi_pic_put_plain(f, wgi_short_at(n->at));
    }
}

char *wgi_pic_box_tooltip(const wg_picture *p, const wgi_pic_box *b)
{
    enum { SHOWN = 12 };
    wgi_text_buffer text;
    FILE *f = wgi_text_open(&text);
    if (!f)
        return NULL;
    for (size_t i = 0; i < b->n_nodes && i < SHOWN; i++) {
        fputs(i ? "\\n\\n" : "", f);
        put_node_tooltip(f, p, b->nodes[i]);
    }
    if (b->inside) {
        wgi_pic_totals t = wgi_pic_totals_of(p, b->inside->nodes, b->inside->n_nodes);
        wgi_pic_put_plain(f, b->inside->scope->path);
        fprintf(f, "\\n%zu ops, %.0f parameters, %.0f FLOP, %.0f bytes of results", t.ops,
                t.parameters, t.flops, t.bytes);
    }
    for (size_t i = 0; i < b->n_outputs && i < SHOWN; i++) {
        fputs(i ? "\\noutput " : "output ", f);
        wgi_pic_put_plain(f, p->g->outputs[b->outputs[i]].name);
    }
    return wgi_text_close(&text);
}

char *wgi_pic_edge_tooltip(const wg_picture *p, const wgi_pic_edge *e)
{
    enum { SHOWN = 12 };
    char shape[160], name[200];
    wgi_text_buffer text;
    FILE *f = wgi_text_open(&text);
    (void)p;
    if (!f)
        return NULL;
    for (size_t i = 0; i < e->n_values && i < SHOWN; i++) {
        fputs(i ? "\\n" : "", f);
        wgi_pic_put_plain(f, wg_value_text(e->values[i], name, sizeof name));
        fprintf(f, " %s%s, %zu bytes", wg_dtype_name(e->values[i]->dtype),
                wg_shape_text(&e->values[i]->shape, shape, sizeof shape),
                wg_value_bytes(e->values[i]));
    }
    return wgi_text_close(&text);
}
