#include "cli/timeline.h"
#include "cli/cli.h"
#include "cli/gnuplot.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SCOPES = 12, COLUMNS = 800 };

/* Rows of the picture, the first group lowest: sums over the groups so far. */
typedef struct stack {
    size_t steps, groups, columns;
    size_t *row;   /* [steps] */
    double *upto;  /* [groups][columns] MiB: the most of a column's steps */
    size_t *total; /* [steps] */
} stack;

/* Of each column the step in which all groups together need most. */
static size_t peak_of_column(const stack *s, size_t column)
{
    size_t begin = column * s->steps / s->columns, end = (column + 1) * s->steps / s->columns,
           best = begin;
    for (size_t k = begin; k < end; k++)
        best = s->total[k] > s->total[best] ? k : best;
    return best;
}

static bool fill(stack *s, const wg_timeline *t)
{
    s->steps = wg_timeline_step_count(t);
    s->groups = wg_timeline_group_count(t);
    s->columns = s->steps < COLUMNS ? s->steps : COLUMNS;
    s->row = calloc(s->steps + 1, sizeof *s->row);
    s->total = calloc(s->steps + 1, sizeof *s->total);
    s->upto = calloc(s->groups * s->columns + 1, sizeof *s->upto);
    bool ok = s->row && s->total && s->upto;
    for (int pass = 0; pass < 2 && ok; pass++)
        for (size_t g = 0; g < s->groups; g++) {
            wg_timeline_row(t, g, s->row);
            for (size_t k = 0; k < s->steps && pass == 0; k++)
                s->total[k] += s->row[k];
            for (size_t c = 0; c < s->columns && pass == 1; c++)
                s->upto[g * s->columns + c] = (g ? s->upto[(g - 1) * s->columns + c] : 0) +
                                              (double)s->row[peak_of_column(s, c)] / 0x1p20;
        }
    return ok;
}

/* The name, or the end of a long one, which would leave no room for the picture. */
static const char *label_of(const char *name, char *room, size_t size)
{
    static const char dots[] = "...";
    size_t length = strlen(name), most = size - sizeof dots;
    if (length <= most)
        return *name ? name : "no scope";
    name += length - most;
    while (((unsigned char)*name & 0xc0) == 0x80) /* within a letter of UTF-8 */
        name++;
    snprintf(room, size, "%s%s", dots, name);
    return room;
}

static void write_script(const stack *s, const wg_timeline *t, const char *title, FILE *f)
{
    static const char *const colour[] = {"#1f78b4", "#33a02c", "#e31a1c", "#ff7f00",
                                         "#6a3d9a", "#b15928", "#a6cee3", "#b2df8a",
                                         "#fb9a99", "#fdbf6f", "#cab2d6", "#c9b458"};
    fputs("$memory << end_of_memory\n", f);
    for (size_t c = 0; c < s->columns; c++) {
        fprintf(f, "%zu", c * s->steps / s->columns);
        for (size_t g = 0; g < s->groups; g++)
            fprintf(f, " %.6g", s->upto[g * s->columns + c]);
        fputc('\n', f);
    }
    fputs("end_of_memory\nset title ", f);
    gnuplot_text(f, title);
    fprintf(f,
            "\nset xlabel 'steps of a run'\nset ylabel 'MiB in the buffer'\nset key outside right "
            "top reverse Left\nset grid lt 1 lw 0.5 lc rgb '#cccccc'\nset style fill solid 1 "
            "noborder\nset xrange [0:%zu]\nset yrange [0:*]\nset arrow from %zu, graph 0 to %zu, "
            "graph 1 nohead lc rgb '#444444' dt 2 front\nplot ",
            s->steps, wg_timeline_peak(t), wg_timeline_peak(t));
    for (size_t g = s->groups; g-- > 0;) {
        char room[44];
        fprintf(f, "$memory using 1:%zu with filledcurves x1 lc rgb '%s' title ", g + 2,
                colour[g % WG_COUNT(colour)]);
        gnuplot_text(f, label_of(wg_timeline_group_at(t, g).name, room, sizeof room));
        fputs(g ? ", " : "\n", f);
    }
}

int timeline_draw(const wg_plan *p, const char *title, const char *path)
{
    wg_timeline *t;
    wg_error error;
    stack s = {0};
    if (wg_timeline_create(&t, p, WG_TIMELINE_BY_SCOPE, MOST_SCOPES, &error) != WG_OK)
        return complain_error(&error);
    int code = EXIT_RUN;
    bool filled = fill(&s, t);
    if (!filled)
        complain("out of memory");
    FILE *script = filled ? gnuplot_begin(picture_format(path), 1000, 480) : NULL;
    if (script) {
        write_script(&s, t, title, script);
        code = gnuplot_end(script, path);
    }
    free(s.row);
    free(s.total);
    free(s.upto);
    wg_timeline_free(t);
    return code;
}
