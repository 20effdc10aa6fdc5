/* The heading: title, totals and the legend. */
#include "graph/picture/internal.h"

#include <string.h>

static void put_title(FILE *f, const wg_picture *p)
{
    wgi_pic_totals t = {0};
    fputs("<TR><TD ALIGN=\"LEFT\"><FONT POINT-SIZE=\"15\"><B>", f);
    wgi_pic_put_escaped(f, p->options.title ? p->options.title : "graph");
    fputs("</B></FONT>&#160;&#160;&#160;" WGI_SMALL, f);
    for (int phase = 0; phase < WGI_PHASES; phase++)
        if (p->root[phase]) {
            wgi_pic_totals more =
                wgi_pic_totals_of(p, p->root[phase]->nodes, p->root[phase]->n_nodes);
            t.ops += more.ops;
            t.parameters += more.parameters;
            t.flops += more.flops;
        }
    fprintf(f, "%zu ops, ", t.ops);
    wgi_pic_put_amount(f, t.parameters, " parameters");
    fputs(", ", f);
    wgi_pic_put_amount(f, t.flops, "FLOP");
    fprintf(f, "; %s unless said otherwise", wg_dtype_name(wgi_pic_default_dtype(p)));
    fputs(WGI_END "</TD></TR>", f);
}

static bool is_drawn(const wg_picture *p, const wgi_pic_colours *c)
{
    for (const wgi_pic_box *b = p->boxes; b; b = b->next)
        if (!b->merged && wgi_pic_box_colours(b) == c)
            return true;
    return false;
}

static void put_legend(FILE *f, const wg_picture *p)
{
    enum { PER_ROW = 8 };
    size_t put = 0;
    const wgi_pic_colours *c;
    fputs("<TR><TD ALIGN=\"LEFT\">" WGI_SMALL, f);
    for (size_t i = 0; (c = wgi_pic_colours_at(i)); i++)
        if (is_drawn(p, c)) {
            fputs(put && put % PER_ROW == 0 ? "<BR ALIGN=\"LEFT\"/>" : "", f);
            fprintf(f, "<FONT POINT-SIZE=\"13\" COLOR=\"%s\">%s</FONT>&#160;%s&#160;&#160;&#160; ",
                    c->line, strcmp(c->fill, "#ffffff") == 0 ? "&#9633;" : "&#9632;", c->kind);
            put++;
        }
    fputs("<BR ALIGN=\"LEFT\"/>" WGI_END "</TD></TR>", f);
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
            fputs(any ? "&#160;&#160;&#160;" : "<TR><TD ALIGN=\"LEFT\">" WGI_SMALL, f);
            fputs(kind[k], f);
            any = true;
        }
    fputs(any ? WGI_END "</TD></TR>" : "", f);
}

/* Whether a box has the colour of its share of the time. */
static bool has_shares(const wg_picture *p)
{
    for (const wgi_pic_box *b = p->boxes; b; b = b->next)
        if (!b->merged && !(wgi_pic_box_heat(p, b).heat > 0) && wgi_pic_box_share(p, b) > 0)
            return true;
    return false;
}

/* A table of fixed size: another one would be drawn out to the width of the heading. */
static void put_share_legend(FILE *f, const wg_picture *p)
{
    static const int percent[] = {1, 5, 20, 50, 100};
    char colour[8];
    if (!has_shares(p))
        return;
    fputs("<TR><TD ALIGN=\"LEFT\"><TABLE ALIGN=\"LEFT\" FIXEDSIZE=\"TRUE\" WIDTH=\"290\" "
          "HEIGHT=\"16\" BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" COLOR=\"#b9c2cb\"><TR>"
          "<TD BORDER=\"0\" ALIGN=\"LEFT\" CELLPADDING=\"0\">" WGI_SMALL
          "share of the time&#160;&#160;" WGI_END "</TD>",
          f);
    for (int i = 0; i < WG_COUNT(percent); i++)
        fprintf(f, "<TD BGCOLOR=\"%s\"><FONT POINT-SIZE=\"9\" COLOR=\"#22313f\">%d %%</FONT></TD>",
                wgi_pic_heat_colour(percent[i] / 100.0, colour), percent[i]);
    fputs("</TR></TABLE></TD></TR>", f);
}

char *wgi_picture_heading(const wg_picture *p)
{
    wgi_text_buffer text;
    FILE *f = wgi_text_open(&text);
    if (!f)
        return NULL;
    fputs("<TABLE BORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"2\">", f);
    put_title(f, p);
    if (!p->options.no_legend) {
        put_legend(f, p);
        put_edge_legend(f, p);
        put_share_legend(f, p);
    }
    fputs("</TABLE>", f);
    return wgi_text_close(&text);
}
