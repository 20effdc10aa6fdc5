/* A report as text and as JSON. */
#include "graph/json.h"
#include "paper/report.h"

#include <math.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

/* Characters of the widest text of a column. */
static int width_of(const paper_table *t, int column)
{
    size_t width = strlen(t->column[column]);
    for (int i = 0; i < t->rows; i++) {
        size_t n = strlen(t->cell[i][column].text);
        width = n > width ? n : width;
    }
    return (int)width;
}

/* The first column is left-aligned, the others are right-aligned. */
static void print_text(FILE *f, const char *text, int width, bool first)
{
    if (first)
        fprintf(f, "  %-*s", width, text);
    else
        fprintf(f, "  %*s", width, text);
}

static void print_table(const paper_table *t, FILE *f)
{
    fprintf(f, "\n%s\n", t->title);
    for (int k = 0; k < t->columns; k++)
        print_text(f, t->column[k], width_of(t, k), k == 0);
    fputc('\n', f);
    for (int i = 0; i < t->rows; i++) {
        for (int k = 0; k < t->columns; k++)
            print_text(f, t->cell[i][k].text, width_of(t, k), k == 0);
        fputc('\n', f);
    }
}

void paper_print_wrapped(FILE *f, const char *before, const char *text)
{
    enum { WIDTH = 96 };
    size_t indent = strlen(before), column = indent;
    fputs(before, f);
    while (*text) {
        size_t n = strcspn(text, " ");
        if (column > indent && column + n > WIDTH) {
            fprintf(f, "\n%*s", (int)indent, "");
            column = indent;
        }
        fprintf(f, "%s%.*s", column > indent ? " " : "", (int)n, text);
        column += n + (column > indent);
        text += n + (text[n] == ' ');
    }
    fputc('\n', f);
}

void paper_print(const paper_report *r, FILE *f)
{
    paper_print_wrapped(f, "claim: ", r->claim);
    if (r->small)
        fputs("This is the small form: it shows the order, not the numbers.\n", f);
    for (int i = 0; i < r->tables; i++)
        print_table(&r->table[i], f);
    fputc('\n', f);
    for (int i = 0; i < r->findings; i++)
        paper_print_wrapped(
            f, r->finding[i].holds ? "agrees:      " : "contradicts: ", r->finding[i].text);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_table(wgi_json *j, const paper_table *t)
{
    wgi_json_begin(j, NULL, '{');
    wgi_json_text(j, "title", t->title);
    wgi_json_begin(j, "columns", '[');
    for (int k = 0; k < t->columns; k++)
        wgi_json_text(j, NULL, t->column[k]);
    wgi_json_end(j, ']');
    wgi_json_begin(j, "rows", '[');
    for (int i = 0; i < t->rows; i++) {
        wgi_json_begin(j, NULL, '[');
        for (int k = 0; k < t->columns; k++) {
            const paper_cell *c = &t->cell[i][k];
            if (isnan(c->deviation) && isnan(c->value)) {
                wgi_json_text(j, NULL, c->text);
                continue;
            }
            wgi_json_begin(j, NULL, '{');
            wgi_json_real(j, "value", c->value);
            if (!isnan(c->deviation))
                wgi_json_real(j, "deviation", c->deviation);
            wgi_json_end(j, '}');
        }
        wgi_json_end(j, ']');
    }
    wgi_json_end(j, ']');
    wgi_json_end(j, '}');
}

static void put_numbers(wgi_json *j, const char *key, const double *x, int n)
{
    wgi_json_begin(j, key, '[');
    for (int i = 0; i < n; i++)
        wgi_json_real(j, NULL, x[i]);
    wgi_json_end(j, ']');
}

static void put_panel(wgi_json *j, const paper_panel *p)
{
    wgi_json_begin(j, NULL, '{');
    wgi_json_text(j, "title", p->title);
    wgi_json_text(j, "x", p->x);
    wgi_json_text(j, "y", p->y);
    wgi_json_begin(j, "curves", '[');
    for (int i = 0; i < p->curves; i++) {
        wgi_json_begin(j, NULL, '{');
        wgi_json_text(j, "label", p->curve[i].label);
        put_numbers(j, "x", p->curve[i].x, p->curve[i].n);
        put_numbers(j, "y", p->curve[i].y, p->curve[i].n);
        put_numbers(j, "deviation", p->curve[i].deviation, p->curve[i].n);
        wgi_json_end(j, '}');
    }
    wgi_json_end(j, ']');
    wgi_json_end(j, '}');
}

void paper_print_json(const paper_report *r, FILE *f)
{
    wgi_json j = {.file = f};
    wgi_json_begin(&j, NULL, '{');
    wgi_json_text(&j, "experiment", r->name);
    wgi_json_text(&j, "claim", r->claim);
    wgi_json_text(&j, "form", r->small ? "small" : "full");
    wgi_json_begin(&j, "tables", '[');
    for (int i = 0; i < r->tables; i++)
        put_table(&j, &r->table[i]);
    wgi_json_end(&j, ']');
    wgi_json_begin(&j, "panels", '[');
    for (int i = 0; i < r->panels; i++)
        put_panel(&j, &r->panel[i]);
    wgi_json_end(&j, ']');
    wgi_json_begin(&j, "findings", '[');
    for (int i = 0; i < r->findings; i++) {
        wgi_json_begin(&j, NULL, '{');
        wgi_json_text(&j, "verdict", r->finding[i].holds ? "agrees" : "contradicts");
        wgi_json_text(&j, "text", r->finding[i].text);
        wgi_json_end(&j, '}');
    }
    wgi_json_end(&j, ']');
    wgi_json_end(&j, '}');
}
