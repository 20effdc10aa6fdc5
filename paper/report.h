/* What an experiment has found: tables, a figure of panels, and sentences.  All of it is data; the
 * program prints and draws it.
 *
 * Sizes are fixed.  What does not fit is left out and noted in `overflow`, which ends the
 * experiment with an error. */
#ifndef WG_PAPER_REPORT_H
#define WG_PAPER_REPORT_H

#include "wengert/graph/picture.h"

#include <stdbool.h>
#include <stdio.h>

enum {
    PAPER_TEXT = 80,
    PAPER_SENTENCE = 480,
    PAPER_COLUMNS = 10,
    PAPER_ROWS = 40,
    PAPER_TABLES = 3,
    PAPER_POINTS = 300,
    PAPER_CURVES = 8,
    PAPER_PANELS = 32,
    PAPER_TICKS = 16,
    PAPER_GRAPHS = 3,
    PAPER_FINDINGS = 6
};

/* Mean and standard deviation (of a sample, n - 1) of what several seeds gave. */
typedef struct paper_spread {
    double mean, deviation;
    int n;
} paper_spread;
paper_spread paper_spread_of(const double *x, int n);

/* ---- tables ---------------------------------------------------------------------------------- */

typedef struct paper_cell {
    char text[PAPER_TEXT];   /* as it is printed */
    double value, deviation; /* NaN: none */
} paper_cell;

typedef struct paper_table {
    char title[PAPER_TEXT];
    const char *column[PAPER_COLUMNS];
    int columns, rows, at; /* at: the next cell of the last row */
    paper_cell cell[PAPER_ROWS][PAPER_COLUMNS];
    bool *overflow; /* of the report */
} paper_table;

/* ---- figures --------------------------------------------------------------------------------- */

typedef struct paper_curve {
    char label[PAPER_TEXT];
    int n;
    double x[PAPER_POINTS], y[PAPER_POINTS], deviation[PAPER_POINTS]; /* deviation 0: no bar */
} paper_curve;

/* Curves over x, or a picture of numbers [rows, columns] in their place, whose columns and rows may
 * have names in place of numbers. */
typedef struct paper_panel {
    char title[PAPER_TEXT], x[PAPER_TEXT], y[PAPER_TEXT];
    bool log_x, log_y;
    int curves;
    paper_curve curve[PAPER_CURVES];
    double *picture; /* owned; NULL: curves */
    int rows, columns;
    const char *column_name[PAPER_TICKS], *row_name[PAPER_TICKS]; /* [0] NULL: numbers */
    bool *overflow;
} paper_panel;

/* A graph, to be drawn in a file of its own. */
typedef struct paper_graph {
    const char *name, *title; /* of the file, without its extension; both outlive the report */
    wg_graph *graph;          /* owned */
    int depth;                /* wg_picture_options.depth */
} paper_graph;

/* ---- findings -------------------------------------------------------------------------------- */

typedef struct paper_finding {
    bool holds; /* what was seen here agrees with the paper */
    char text[PAPER_SENTENCE];
} paper_finding;

typedef struct paper_report {
    const char *name, *claim; /* of the experiment */
    bool small;
    int tables, panels, findings, graphs;
    int in_a_row;                          /* panels of the figure; 0: as many as fit the page */
    paper_table *table;                    /* [PAPER_TABLES] */
    paper_panel *panel;                    /* [PAPER_PANELS] */
    paper_finding finding[PAPER_FINDINGS]; /* [findings] */
    paper_graph graph[PAPER_GRAPHS];       /* [graphs] */
    bool overflow;
} paper_report;

/* WG_ENOMEM, and the report is empty; it may be freed all the same. */
wg_status paper_report_begin(paper_report *r, const char *name, const char *claim, bool small,
                             wg_error *error);
void paper_report_free(paper_report *r);

/* A new table with these columns, which must outlive the report. */
paper_table *paper_add_table(paper_report *r, const char *title, const char *const *columns, int n);
/* Begins a row; the cells follow in the order of the columns. */
void paper_row(paper_table *t);
void paper_words(paper_table *t, const char *format, ...) WG_PRINTF(2, 3);
void paper_number(paper_table *t, double value, int decimals);
/* "0.953 +- 0.012" */
void paper_mean(paper_table *t, paper_spread s, int decimals);

/* A new panel of the figure. */
paper_panel *paper_add_panel(paper_report *r, const char *title, const char *x, const char *y);
void paper_log_axes(paper_panel *p, bool x, bool y);
paper_curve *paper_add_curve(paper_panel *p, const char *format, ...) WG_PRINTF(2, 3);
void paper_point(paper_panel *p, paper_curve *c, double x, double y, double deviation);
/* Room for a picture, which the caller fills; NULL without memory. */
double *paper_add_picture(paper_panel *p, int rows, int columns);

/* Takes the graph over, also if there is no room. */
void paper_add_graph(paper_report *r, const char *name, const char *title, wg_graph *g, int depth);

/* A sentence, and whether it agrees with the paper. */
void paper_found(paper_report *r, bool holds, const char *format, ...) WG_PRINTF(3, 4);

/* ---- output ---------------------------------------------------------------------------------- */

/* The words of `text` in lines of at most 96 characters, behind `before`, by whose length further
 * lines are indented. */
void paper_print_wrapped(FILE *f, const char *before, const char *text);
/* Claim, tables and findings as text. */
void paper_print(const paper_report *r, FILE *f);
/* Everything but pictures as JSON; a wgi_json's writer. */
void paper_print_json(const paper_report *r, FILE *f);

#endif
