/* wengert plot: the metrics of a training run as a picture. */
#include "cli/cli.h"
#include "cli/gnuplot.h"
#include "cli/metrics.h"
#include "wengert/translate/folder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CURVES = 2, FEW = 40 }; /* up to FEW values are drawn with points */

/* The panels of the picture, top to bottom; one without a value is left out. */
static const struct panel {
    const char *title, *unit;
    struct {
        const char *kind, *key, *label; /* key in metrics.jsonl; label in the legend */
    } curve[MAX_CURVES];
} panels[] = {
    {"loss", "nats per token", {{"train", "cost", "training"}, {"valid", "cost", "validation"}}},
    {"loss", "", {{"train", "loss", "training"}, {"valid", "loss", "validation"}}},
    {"accuracy", "share", {{"train", "accuracy", "training"}, {"valid", "accuracy", "validation"}}},
    {"BLEU", "0 to 100", {{"valid", "bleu", "validation"}}},
    {"chrF", "0 to 100", {{"valid", "chrf", "validation"}}},
    {"learning rate", "", {{"train", "learn-rate", "training"}}},
};
enum { N_PANELS = WG_COUNT(panels) };

typedef struct request {
    const char *folder, *output;
    series curve[N_PANELS][MAX_CURVES];
} request;

static const struct argp_option table[] = {
    {"model", 'm', "FOLDER", 0, "the model folder, as for other commands", 0},
    {"output", 'o', "FILE.svg|png", 0,
     "write the plot to this file (default: curves.svg in the folder)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case 'o':
        if (!picture_format(arg))
            argp_error(state, "--output: expected a file named .svg or .png, got '%s'", arg);
        r->output = arg;
        break;
    case 'm':
    case ARGP_KEY_ARG: take_argument(state, &r->folder, "folder", arg); break;
    case ARGP_KEY_END:
        if (!r->folder)
            argp_error(state, "no folder given");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static bool is_empty(const series curve[MAX_CURVES])
{
    size_t n = 0;
    for (int i = 0; i < MAX_CURVES; i++)
        n += curve[i].n;
    return n == 0;
}

static void write_range(FILE *f, const series curve[MAX_CURVES])
{
    double min = INFINITY, max = -INFINITY;
    for (int i = 0; i < MAX_CURVES; i++)
        for (size_t k = 0; k < curve[i].n; k++) {
            min = fmin(min, curve[i].value[k]);
            max = fmax(max, curve[i].value[k]);
        }
    gnuplot_range(f, min, max);
}

static void write_panel(FILE *f, const struct panel *p, const series curve[MAX_CURVES], bool last)
{
    for (int i = 0; i < MAX_CURVES; i++) {
        fprintf(f, "$curve%d << end_of_curve\n", i);
        for (size_t k = 0; k < curve[i].n; k++)
            fprintf(f, "%.0f %.9g\n", curve[i].update[k], curve[i].value[k]);
        fputs("end_of_curve\n", f);
    }
    write_range(f, curve);
    fputs("set title ", f);
    gnuplot_text(f, p->title);
    fputs("\nset ylabel ", f);
    gnuplot_text(f, p->unit);
    fputs(last ? "\nset xlabel 'updates'\n" : "\nunset xlabel\n", f);
    const char *before = "plot";
    for (int i = 0; i < MAX_CURVES; i++) {
        if (!curve[i].n)
            continue;
        fprintf(f, "%s $curve%d using 1:2 with %s lw 2 lc rgb '%s' title ", before, i,
                curve[i].n == 1    ? "points pt 7 ps 1"
                : curve[i].n > FEW ? "lines"
                                   : "linespoints pt 7 ps 0.6",
                strcmp(p->curve[i].kind, "valid") == 0 ? "#d95f02" : "#1f78b4");
        gnuplot_text(f, p->curve[i].label);
        before = ",";
    }
    fputc('\n', f);
}

/* The last update of all curves: the end of every panel's axis. */
static double last_update(const request *r)
{
    double last = 1;
    for (int i = 0; i < N_PANELS; i++)
        for (int k = 0; k < MAX_CURVES; k++) {
            const series *s = &r->curve[i][k];
            last = s->n && s->update[s->n - 1] > last ? s->update[s->n - 1] : last;
        }
    return last;
}

static int draw(const request *r, const char *path)
{
    size_t shown = 0, done = 0;
    for (int i = 0; i < N_PANELS; i++)
        shown += !is_empty(r->curve[i]);
    if (!shown) {
        complain("%s: no metrics recorded yet", r->folder);
        return EXIT_DATA;
    }
    FILE *f = gnuplot_begin(picture_format(path), 900, 60 + 240 * (double)shown);
    if (!f)
        return EXIT_RUN;
    fprintf(f,
            "set multiplot layout %zu,1\nset grid lt 1 lw 0.5 lc rgb '#cccccc'\nset lmargin 12\n"
            "set key at graph 1,1.2 right horizontal\nset xrange [0:%.6g]\n",
            shown, 1.01 * last_update(r));
    for (int i = 0; i < N_PANELS; i++)
        if (!is_empty(r->curve[i]))
            write_panel(f, &panels[i], r->curve[i], ++done == shown);
    fputs("unset multiplot\n", f);
    return gnuplot_end(f, path);
}

int command_plot(int argc, char **argv)
{
    static const struct argp argp = {
        table,
        parse,
        "FOLDER",
        "Plots loss, metrics and learning rate of a training run over its updates, with gnuplot.",
        NULL,
        NULL,
        NULL};
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    for (int i = 0; i < N_PANELS; i++)
        for (int k = 0; k < MAX_CURVES && panels[i].curve[k].kind && code == EXIT_OK; k++)
            code = series_read(&r.curve[i][k], r.folder, panels[i].curve[k].kind,
                               panels[i].curve[k].key);
    char *in_folder = wg_folder_path(r.folder, "curves.svg");
    const char *path = r.output ? r.output : in_folder;
    if (code == EXIT_OK && !path) {
        complain("out of memory");
        code = EXIT_RUN;
    }
    if (code == EXIT_OK)
        code = check_outputs(&(result_file){.path = path}, 1, NULL, 0);
    if (code == EXIT_OK)
        code = draw(&r, path);
    free(in_folder);
    for (int i = 0; i < N_PANELS; i++)
        for (int k = 0; k < MAX_CURVES; k++)
            series_free(&r.curve[i][k]);
    return code;
}
