/* wengert paper: claims of the Transformer's paper as experiments. */
#include "paper/paper.h"
#include "cli/cli.h"
#include "cli/figure.h"
#include "cli/gnuplot.h"
#include "cli/threads.h"
#include "cli/values.h"
#include "wengert/files/picture.h"
#include "wengert/train/folder.h"

#include <stdlib.h>
#include <string.h>

enum { FOLDER = 6000, SMALL, PLOT, THREADS, QUIET };

static const struct argp_option table[] = {
    {"folder", FOLDER, "FOLDER", 0,
     "keep what is done there, and the report and the figure (default: paper-NAME)", 0},
    {"plot", PLOT, "FILE.svg|png", 0, "draw the figure there (default: figure.svg in the folder)",
     0},
    {"small", SMALL, 0, 0, "a version that takes seconds and shows only rankings and slopes", 0},
    {"threads", THREADS, "N", 0, "number of threads (default: all); training runs have one each",
     0},
    {"quiet", QUIET, 0, 0, "no lines of progress", 0},
    {0},
};

typedef struct request {
    const char *name, *folder, *plot;
    paper_options options;
} request;

static void tell(void *context, const char *line)
{
    (void)context;
    fprintf(stderr, "%s\n", line);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case FOLDER: r->folder = arg; break;
    case SMALL: r->options.small = true; break;
    case QUIET: r->options.tell = NULL; break;
    case THREADS:
        r->options.threads = (int)number_argument(state, "--threads", arg, 1, WG_MAX_THREADS);
        break;
    case PLOT:
        if (!picture_format(arg))
            argp_error(state, "--plot: expected a file named .svg or .png, got '%s'", arg);
        r->plot = arg;
        break;
    case ARGP_KEY_ARG: take_argument(state, &r->name, "experiment", arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const char *experiment_name_at(size_t i)
{
    const paper_experiment *e = paper_experiment_at(i);
    return e ? e->name : NULL;
}

static void list_experiments(void)
{
    const paper_experiment *e;
    for (size_t i = 0; (e = paper_experiment_at(i)); i++) {
        char before[40];
        snprintf(before, sizeof before, "%-12s", e->name);
        paper_print_wrapped(stdout, before, e->claim);
    }
}

static void put_json(FILE *f, const void *report)
{
    paper_print_json(report, f);
}

/* Draws the graphs into the folder. */
static int draw_graphs(const paper_report *report, const char *folder)
{
    wg_error error;
    int code = EXIT_OK;
    for (int i = 0; i < report->graphs && code == EXIT_OK; i++) {
        const paper_graph *g = &report->graph[i];
        const wg_picture_options o = {.title = g->title, .depth = g->depth, .no_legend = true};
        char *path = wg_folder_path(folder, "%s.svg", g->name);
        if (!path) {
            complain("out of memory");
            code = EXIT_RUN;
        } else if (wg_picture_save(g->graph, path, &o, &error) != WG_OK) {
            code = complain_error(&error);
        }
        free(path);
    }
    return code;
}

/* Prints the report, and writes it and the pictures. */
static int deliver(const request *r, const paper_report *report, const char *folder)
{
    char *json = wg_folder_path(folder, "report.json"),
         *figure = wg_folder_path(folder, "figure.svg");
    int code = EXIT_RUN;
    if (json && figure) {
        paper_print(report, stdout);
        code = flush_output();
    } else {
        complain("out of memory");
    }
    if (code == EXIT_OK)
        code = write_stream(json, put_json, report);
    if (code == EXIT_OK)
        code = figure_write(report, r->plot ? r->plot : figure);
    if (code == EXIT_OK)
        code = draw_graphs(report, folder);
    free(json);
    free(figure);
    return code;
}

static int run(request *r)
{
    char usual[80];
    wg_error error;
    paper_report report;
    const paper_experiment *e = paper_experiment_find(r->name);
    if (!e) {
        complain_unknown("experiment", r->name, experiment_name_at);
        return EXIT_USAGE;
    }
    int code = check_outputs(&(result_file){.path = r->plot}, 1, NULL, 0);
    if (code == EXIT_OK)
        code = check_threads(r->options.threads);
    if (code != EXIT_OK)
        return code;
    snprintf(usual, sizeof usual, "paper-%s%s", e->name, r->options.small ? "-small" : "");
    r->options.folder = r->folder ? r->folder : usual;
    wg_status status = paper_experiment_run(e, &r->options, &report, &error);
    code = status == WG_OK ? deliver(r, &report, r->options.folder) : complain_error(&error);
    paper_report_free(&report);
    return code;
}

int command_paper(int argc, char **argv)
{
    static const struct argp argp = {
        table,
        parse,
        "[NAME]",
        "Runs a claim of \"Attention Is All You Need\" as an experiment: prints tables and what "
        "was found, and draws a figure with gnuplot.  Without a name, lists the experiments.\v"
        "An experiment that was stopped goes on where it was when the same command is given "
        "again.",
        NULL,
        NULL,
        NULL};
    request r = {.options = {.tell = tell}};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    if (r.name)
        return run(&r);
    list_experiments();
    return EXIT_OK;
}
