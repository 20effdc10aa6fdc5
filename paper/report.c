#include "paper/report.h"
#include "graph/error.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

paper_spread paper_spread_of(const double *x, int n)
{
    paper_spread s = {.n = n};
    double squares = 0;
    for (int i = 0; i < n; i++)
        s.mean += x[i] / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - s.mean) * (x[i] - s.mean);
    s.deviation = n > 1 ? sqrt(squares / (n - 1)) : 0;
    return s;
}

wg_status paper_report_begin(paper_report *r, const char *name, const char *claim, bool small,
                             wg_error *error)
{
    *r = (paper_report){.name = name, .claim = claim, .small = small};
    r->table = calloc(PAPER_TABLES, sizeof *r->table);
    r->panel = calloc(PAPER_PANELS, sizeof *r->panel);
    if (r->table && r->panel)
        return WG_OK;
    paper_report_free(r);
    return wgi_error_set(error, WG_ENOMEM, "out of memory for a report");
}

void paper_report_free(paper_report *r)
{
    for (int i = 0; r->panel && i < r->panels; i++)
        free(r->panel[i].picture);
    for (int i = 0; i < r->graphs; i++)
        wg_graph_free(r->graph[i].graph);
    free(r->table);
    free(r->panel);
    *r = (paper_report){0};
}

/* ---- tables ---------------------------------------------------------------------------------- */

paper_table *paper_add_table(paper_report *r, const char *title, const char *const *columns, int n)
{
    if (r->tables == PAPER_TABLES || n > PAPER_COLUMNS) {
        r->overflow = true;
        return NULL;
    }
    paper_table *t = &r->table[r->tables++];
    snprintf(t->title, sizeof t->title, "%s", title);
    for (int i = 0; i < n; i++)
        t->column[i] = columns[i];
    t->columns = n;
    t->overflow = &r->overflow;
    return t;
}

void paper_row(paper_table *t)
{
    if (!t)
        return;
    if (t->rows == PAPER_ROWS) {
        *t->overflow = true;
        return;
    }
    t->rows++;
    t->at = 0;
}

/* The next cell of the last row; NULL if there is none. */
static paper_cell *next_cell(paper_table *t)
{
    if (!t || t->rows == 0)
        return NULL;
    if (t->at == t->columns) {
        *t->overflow = true;
        return NULL;
    }
    paper_cell *c = &t->cell[t->rows - 1][t->at++];
    c->value = c->deviation = NAN;
    return c;
}

void paper_words(paper_table *t, const char *format, ...)
{
    paper_cell *c = next_cell(t);
    va_list args;
    if (!c)
        return;
    va_start(args, format);
    vsnprintf(c->text, sizeof c->text, format, args);
    va_end(args);
}

void paper_number(paper_table *t, double value, int decimals)
{
    paper_cell *c = next_cell(t);
    if (!c)
        return;
    c->value = value;
    snprintf(c->text, sizeof c->text, "%.*f", decimals, value);
}

void paper_mean(paper_table *t, paper_spread s, int decimals)
{
    paper_cell *c = next_cell(t);
    if (!c)
        return;
    c->value = s.mean;
    c->deviation = s.deviation;
    snprintf(c->text, sizeof c->text, "%.*f +- %.*f", decimals, s.mean, decimals, s.deviation);
}

/* ---- figures --------------------------------------------------------------------------------- */

paper_panel *paper_add_panel(paper_report *r, const char *title, const char *x, const char *y)
{
    if (r->panels == PAPER_PANELS) {
        r->overflow = true;
        return NULL;
    }
    paper_panel *p = &r->panel[r->panels++];
    snprintf(p->title, sizeof p->title, "%s", title);
    snprintf(p->x, sizeof p->x, "%s", x);
    snprintf(p->y, sizeof p->y, "%s", y);
    p->overflow = &r->overflow;
    return p;
}

void paper_log_axes(paper_panel *p, bool x, bool y)
{
    if (!p)
        return;
    p->log_x = x;
    p->log_y = y;
}

paper_curve *paper_add_curve(paper_panel *p, const char *format, ...)
{
    va_list args;
    if (!p)
        return NULL;
    if (p->curves == PAPER_CURVES) {
        *p->overflow = true;
        return NULL;
    }
    paper_curve *c = &p->curve[p->curves++];
    va_start(args, format);
    vsnprintf(c->label, sizeof c->label, format, args);
    va_end(args);
    return c;
}

void paper_point(paper_panel *p, paper_curve *c, double x, double y, double deviation)
{
    if (!p || !c)
        return;
    if (c->n == PAPER_POINTS) {
        *p->overflow = true;
        return;
    }
    c->x[c->n] = x;
    c->y[c->n] = y;
    c->deviation[c->n++] = deviation;
}

double *paper_add_picture(paper_panel *p, int rows, int columns)
{
    if (!p || p->picture)
        return NULL;
    p->picture = calloc((size_t)rows * (size_t)columns, sizeof *p->picture);
    p->rows = rows;
    p->columns = columns;
    *p->overflow |= !p->picture;
    return p->picture;
}

void paper_add_graph(paper_report *r, const char *name, const char *title, wg_graph *g, int depth)
{
    if (r->graphs == PAPER_GRAPHS) {
        r->overflow = true;
        wg_graph_free(g);
        return;
    }
    r->graph[r->graphs++] = (paper_graph){name, title, g, depth};
}

/* ---- findings -------------------------------------------------------------------------------- */

void paper_found(paper_report *r, bool holds, const char *format, ...)
{
    va_list args;
    if (r->findings == PAPER_FINDINGS) {
        r->overflow = true;
        return;
    }
    paper_finding *f = &r->finding[r->findings++];
    f->holds = holds;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}
