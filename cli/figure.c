#include "cli/figure.h"
#include "cli/cli.h"
#include "cli/gnuplot.h"

#include <math.h>

enum { PANEL_WIDTH = 460, PANEL_HEIGHT = 360, SMALL_PANEL = 300, IN_A_ROW = 3 };

static bool is_drawn(const paper_curve *c, int i)
{
    return isfinite(c->x[i]) && isfinite(c->y[i]);
}

static int drawn_points(const paper_curve *c)
{
    int n = 0;
    for (int i = 0; i < c->n; i++)
        n += is_drawn(c, i);
    return n;
}

static bool has_bars(const paper_curve *c)
{
    bool bars = false;
    for (int i = 0; i < c->n; i++)
        bars |= c->deviation[i] > 0;
    return bars;
}

static void write_points(FILE *f, const paper_panel *p)
{
    for (int k = 0; k < p->curves; k++) {
        const paper_curve *c = &p->curve[k];
        fprintf(f, "$curve%d << end_of_curve\n", k);
        for (int i = 0; i < c->n; i++)
            if (is_drawn(c, i))
                fprintf(f, "%.9g %.9g %.9g\n", c->x[i], c->y[i],
                        isfinite(c->deviation[i]) ? c->deviation[i] : 0);
        fputs("end_of_curve\n", f);
    }
}

typedef struct span {
    double min, max;
} span;

/* Of all that is drawn, x or y. */
static span span_of(const paper_panel *p, bool x)
{
    span s = {INFINITY, -INFINITY};
    for (int k = 0; k < p->curves; k++)
        for (int i = 0; i < p->curve[k].n; i++)
            if (is_drawn(&p->curve[k], i)) {
                double at = x ? p->curve[k].x[i] : p->curve[k].y[i];
                s = (span){fmin(s.min, at), fmax(s.max, at)};
            }
    return s;
}

/* With a margin along x, as bars on the border would be cut. */
static void write_ranges(FILE *f, const paper_panel *p)
{
    const double margin = 0.03;
    const span x = span_of(p, true), y = span_of(p, false);
    const double around =
        p->log_x ? pow(x.max / x.min, margin) : margin * (x.max - x.min); /* a factor, or a term */
    gnuplot_range(f, y.min, y.max);
    if (x.min == x.max)
        fputs("set xrange [*:*]\n", f);
    else if (p->log_x)
        fprintf(f, "set xrange [%.9g:%.9g]\n", x.min / around, x.max * around);
    else
        fprintf(f, "set xrange [%.9g:%.9g]\n", x.min - around, x.max + around);
}

static void write_curves(FILE *f, const paper_panel *p)
{
    enum { FEW = 40 }; /* up to so many values are drawn with points */
    static const char *const colours[PAPER_CURVES] = {"#1f78b4", "#d95f02", "#1b9e77", "#7570b3",
                                                      "#e7298a", "#66a61e", "#a6761d", "#666666"};
    const char *before = "plot";
    write_points(f, p);
    write_ranges(f, p);
    fputs(p->log_x ? "set logscale x 2\n" : "unset logscale x\n", f);
    fputs(p->log_y ? "set logscale y\n" : "unset logscale y\n", f);
    fputs("set grid lt 1 lw 0.5 lc rgb '#cccccc'\nunset colorbox\n", f);
    fputs("set xtics autofreq norotate\nset ytics autofreq norotate\n", f);
    for (int k = 0; k < p->curves; k++) {
        const paper_curve *c = &p->curve[k];
        int n = drawn_points(c);
        if (n == 0)
            continue;
        fprintf(f, "%s $curve%d using 1:2%s with %s lw 2 lc rgb '%s' title ", before, k,
                has_bars(c) ? ":3" : "",
                has_bars(c) ? "yerrorlines pt 7 ps 0.4"
                : n > FEW   ? "lines"
                            : "linespoints pt 7 ps 0.6",
                colours[k]);
        gnuplot_text(f, c->label);
        before = ",";
    }
    fputc('\n', f);
}

/* In place of numbers along an axis. */
static void write_ticks(FILE *f, const char *axis, const char *const *name, int n)
{
    if (!name[0]) {
        fprintf(f, "set %stics autofreq norotate\n", axis);
        return;
    }
    fprintf(f, "set %stics %s (", axis, axis[0] == 'x' ? "rotate by 90 right" : "norotate");
    for (int i = 0; i < n && i < PAPER_TICKS && name[i]; i++) {
        fputs(i ? "," : "", f);
        gnuplot_text(f, name[i]);
        fprintf(f, " %d", i);
    }
    fputs(")\n", f);
}

/* Rows from top to bottom; blue is negative and red positive, of what has both signs. */
static void write_picture(FILE *f, const paper_panel *p)
{
    double most = 1e-300, least = 0;
    for (int i = 0; i < p->rows * p->columns; i++) {
        most = fmax(most, fabs(p->picture[i]));
        least = fmin(least, p->picture[i]);
    }
    fputs("$picture << end_of_picture\n", f);
    for (int i = 0; i < p->rows; i++) {
        for (int k = 0; k < p->columns; k++)
            fprintf(f, "%.5f ", p->picture[i * p->columns + k]);
        fputc('\n', f);
    }
    fputs("end_of_picture\nunset logscale\nunset grid\nset colorbox\n", f);
    fputs(least < 0 ? "set palette defined (-1 '#2166ac', 0 'white', 1 '#b2182b')\n"
                    : "set palette defined (0 'white', 0.5 '#6baed6', 1 '#08306b')\n",
          f);
    write_ticks(f, "x", p->column_name, p->columns);
    write_ticks(f, "y", p->row_name, p->rows);
    fprintf(f, "set cbrange [%.9g:%.9g]\nset xrange [-0.5:%d.5]\nset yrange [%d.5:-0.5]\n",
            least < 0 ? -most : 0, most, p->columns - 1, p->rows - 1);
    fputs("plot $picture matrix with image notitle\n", f);
}

static void write_text(FILE *f, const char *what, const char *text)
{
    fprintf(f, "set %s ", what);
    gnuplot_text(f, text);
    fputc('\n', f);
}

static bool is_empty(const paper_panel *p)
{
    int n = 0;
    for (int k = 0; k < p->curves; k++)
        n += drawn_points(&p->curve[k]);
    return !p->picture && n == 0;
}

int figure_write(const paper_report *r, const char *path)
{
    int shown = 0;
    for (int i = 0; i < r->panels; i++)
        shown += !is_empty(&r->panel[i]);
    if (shown == 0)
        return EXIT_OK;
    int columns = r->in_a_row        ? r->in_a_row
                  : shown < IN_A_ROW ? shown
                  : shown == 4       ? 2
                                     : IN_A_ROW,
        rows = (shown + columns - 1) / columns;
    bool small = columns > IN_A_ROW;
    FILE *f = gnuplot_begin(picture_format(path), (small ? SMALL_PANEL : PANEL_WIDTH) * columns,
                            (small ? SMALL_PANEL : PANEL_HEIGHT) * rows);
    if (!f)
        return EXIT_RUN;
    fprintf(f, "set multiplot layout %d,%d\nset key below height 0.6\n", rows, columns);
    if (small)
        fputs("set title font ',10'\n", f);
    for (int i = 0; i < r->panels; i++) {
        const paper_panel *p = &r->panel[i];
        if (is_empty(p))
            continue;
        write_text(f, "title", p->title);
        write_text(f, "xlabel", p->x);
        fputs("set xlabel offset 0,0.6\n", f); /* off the key, which is as much lower */
        write_text(f, "ylabel", p->y);
        if (p->picture)
            write_picture(f, p);
        else
            write_curves(f, p);
    }
    fputs("unset multiplot\n", f);
    return gnuplot_end(f, path);
}
