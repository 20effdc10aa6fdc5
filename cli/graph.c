/* wengert graph MODEL: the text, costs, DOT, SVG, PNG or page of a model, its gradient or plan. */
#include "cli/backends.h"
#include "cli/draw.h"
#include "cli/gnuplot.h"
#include "cli/source.h"
#include "cli/timeline.h"
#include "cli/values.h"
#include "graph/text_buffer.h"

#include <stdlib.h>
#include <string.h>

enum {
    DOT = 1000,
    SVG,
    PNG,
    HTML,
    PRINT,
    COSTS,
    GRAD,
    STEP,
    EXPAND,
    OPEN,
    DEPTH,
    PHASE,
    FULL,
    MEMORY,
    PROFILE,
    PLAN,
    SECONDS,
    NO_LEGEND,
    BUDGET,
    TIMELINE,
    TIMELINE_PLOT
};

enum { DETAIL = 3 }; /* the group of options that only pictures heed */

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "Output:", 1},
    {"print", PRINT, 0, 0,
     "one line of text per node, which is a file of the graph; of a plan one line per step (the "
     "default)", 1},
    {"costs", COSTS, 0, 0, "FLOP and bytes of each op", 1},
    {"dot", DOT, 0, 0, "draw the graph as Graphviz source", 1},
    {"svg", SVG, "FILE", 0, "draw the graph as SVG", 1},
    {"png", PNG, "FILE", 0, "draw the graph as PNG", 1},
    {"html", HTML, "FILE", 0,
     "write a page for a browser: one file, in which scopes open on a click and nodes are found by "
     "op, name, scope and shape; of a plan also memory and times over the run", 1},
    {"memory-timeline", TIMELINE, 0, 0,
     "table of the memory of a run: its course, and what holds it at the peak by scope and by line "
     "of the program; implies --plan", 1},
    {"memory-plot", TIMELINE_PLOT, "FILE.svg|png", 0,
     "plot the memory of a run over its steps, stacked by scope, with gnuplot; implies --plan", 1},
    {"output", 'o', "FILE", 0,
     "write the output of --print, --costs, --dot and --memory-timeline to FILE instead of "
     "standard output", 1},
    {0, 0, 0, 0, "Graph:", 2},
    {"model", 'm', "FOLDER", 0, "the model trained in FOLDER", 2},
    {"grad", GRAD, 0, 0, "add the gradient of the loss with respect to all parameters", 2},
    {"step", STEP, 0, 0,
     "add the gradient and an update by Adam: a training step", 2},
    {"open", OPEN, "OP", 0,
     "show this composite op as the ops that it is made of, in a scope of its name (may be "
     "repeated); all: every composite op", 2},
    {"plan", PLAN, 0, 0, "show the planned graph: simplified, with the backend of each node", 2},
    {"memory-limit", BUDGET, "BYTES", 0,
     "let the plan take no more than this, 512M or 2G: it drops values and recomputes them, "
     "0: no limit; implies --plan", 2},
    {"profile", PROFILE, 0, 0,
     "run the plan ten times and colour each node by its share of the time; implies --plan", 2},
    {0, 0, 0, 0, "Level of detail of pictures:", DETAIL},
    {"expand", EXPAND, "SCOPE", 0, "expand this scope (may be repeated)", DETAIL},
    {"depth", DEPTH, "N", 0,
     "collapse scopes below this depth (default: the deepest that stays readable)", DETAIL},
    {"phase", PHASE, "fwd|bwd|update|both", 0,
     "draw only this phase; bwd and both imply --grad", DETAIL},
    {"full", FULL, 0, 0, "draw every node: nothing collapsed, folded or left out", DETAIL},
    {"memory", MEMORY, 0, 0, "show bytes on boxes and edges", DETAIL},
    {"no-legend", NO_LEGEND, 0, 0, "draw the title without the legend", DETAIL},
    {"seconds", SECONDS, "N", 0, "time limit for the layout (default: 30)", DETAIL},
    {0},
};
/* clang-format on */

enum { MAX_NAMES = 64 };

/* Arguments of an option that may be repeated. */
typedef struct names {
    const char *name[MAX_NAMES];
    size_t n;
} names;

typedef struct request {
    const char *model, *output, *svg, *png, *html, *plot;
    size_t limit; /* bytes of the plan */
    bool folder;  /* the model is in a folder: --model */
    bool print, costs, dot, timeline, grad, step, plan, profile;
    const char *detail; /* NULL, or the name of an option that only pictures heed */
    names expand, open;
    wg_picture_options picture;
    backend_choice backends;
    source_options options;
} request;

/* ---- options --------------------------------------------------------------------------------- */

static void parse_phase(request *r, const char *text, struct argp_state *state)
{
    static const struct {
        const char *name;
        unsigned phases;
        bool grad;
    } choices[] = {
        {"fwd", 1u << WG_FORWARD, false},
        {"bwd", 1u << WG_BACKWARD, true},
        {"update", 1u << WG_UPDATE, false},
        {"both", 0, true},
    };
    for (size_t i = 0; i < WG_COUNT(choices); i++)
        if (strcmp(text, choices[i].name) == 0) {
            r->picture.phases = choices[i].phases;
            r->grad |= choices[i].grad;
            return;
        }
    argp_error(state, "--phase: expected fwd, bwd, update or both, got '%s'", text);
}

static void add_name(names *to, const char *option, const char *name, struct argp_state *state)
{
    if (to->n == MAX_NAMES)
        argp_error(state, "%s given more than %d times", option, MAX_NAMES);
    to->name[to->n++] = name;
}

static const char *detail_of(int key)
{
    for (size_t i = 0; i < WG_COUNT(table); i++)
        if (table[i].name && table[i].key == key && table[i].group == DETAIL)
            return table[i].name;
    return NULL;
}

static void check_options(const request *r, struct argp_state *state)
{
    if (!r->model)
        argp_error(state, "no model given");
    if (r->print + r->costs + r->dot + r->timeline > 1)
        argp_error(state, "use one of --print, --costs, --dot and --memory-timeline");
    if (r->detail && !r->dot && !r->svg && !r->png)
        argp_error(state, "--%s has no effect without --dot, --svg or --png", r->detail);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    const char *detail = detail_of(key);
    r->detail = detail ? detail : r->detail;
    switch (key) {
    case ARGP_KEY_INIT: hand_on(state, &r->backends, &r->options); break;
    case PRINT: r->print = true; break;
    case COSTS: r->costs = true; break;
    case DOT: r->dot = true; break;
    case SVG: r->svg = arg; break;
    case PNG: r->png = arg; break;
    case HTML: r->html = arg; break;
    case 'o': r->output = arg; break;
    case GRAD: r->grad = true; break;
    case STEP: r->step = true; break;
    case PLAN: r->plan = true; break;
    case BUDGET:
        r->limit = bytes_argument(state, "--memory-limit", arg);
        r->plan = true;
        break;
    case TIMELINE: r->timeline = r->plan = true; break;
    case TIMELINE_PLOT:
        if (!picture_format(arg))
            argp_error(state, "--memory-plot: expected a file named .svg or .png, got '%s'", arg);
        r->plot = arg;
        r->plan = true;
        break;
    case PROFILE: r->profile = r->plan = true; break;
    case EXPAND: add_name(&r->expand, "--expand", arg, state); break;
    case OPEN: add_name(&r->open, "--open", arg, state); break;
    case DEPTH: r->picture.depth = (int)number_argument(state, "--depth", arg, 1, 1000); break;
    case PHASE: parse_phase(r, arg, state); break;
    case FULL: r->picture.full = true; break;
    case MEMORY: r->picture.memory = true; break;
    case NO_LEGEND: r->picture.no_legend = true; break;
    case SECONDS:
        r->picture.seconds =
            real_argument(state, "--seconds", arg, ABOVE_0, 86400, "above 0, up to 86400");
        break;
    case 'm':
    case ARGP_KEY_ARG:
        take_argument(state, &r->model, "model", arg);
        r->folder = key == 'm';
        break;
    case ARGP_KEY_END: check_options(r, state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- the plan -------------------------------------------------------------------------------- */

static wg_status make_plan(wg_plan **p, wg_graph *g, const source *s, const request *r)
{
    enum { RUNS = 10 };
    wg_status status = wg_plan_create(p, g,
                                      &(wg_plan_options){.backends = r->backends.backend,
                                                         .n_backends = r->backends.count,
                                                         .threads = r->backends.threads,
                                                         .memory = r->limit,
                                                         .profile = r->profile});
    if (status != WG_OK) {
        complain("%s", wg_graph_message(g));
        return status;
    }
    source_fill_inputs(s, *p, g, 0);
    for (uint64_t step = 0; r->profile && step <= RUNS && status == WG_OK; step++) {
        status = wg_plan_run(*p, step);
        if (step == 0) /* it has warmed up */
            wg_plan_reset_profile(*p);
    }
    if (status != WG_OK)
        complain("%s", wg_plan_message(*p));
    return status;
}

/* ---- what the plan knows of each node -------------------------------------------------------- */

static wg_picture_note *collect_notes(const wg_plan *p)
{
    wg_picture_note *notes = calloc(wg_graph_node_count(wg_plan_graph(p)) + 1, sizeof *notes);
    double all = 0;
    size_t n = wg_plan_step_count(p);
    for (size_t i = 0; i < n; i++)
        all += wg_plan_step_at(p, i).seconds;
    for (size_t i = 0; notes && i < n; i++) {
        wg_plan_step s = wg_plan_step_at(p, i);
        notes[s.node->id] = (wg_picture_note){
            .backend = s.backend,
            .kernel = s.kernel,
            .seconds = s.runs ? s.seconds / (double)s.runs : 0,
            .share = all > 0 ? s.seconds / all : 0,
        };
    }
    return notes;
}

static void note_of(void *context, const wg_node *n, wg_picture_note *note)
{
    *note = ((const wg_picture_note *)context)[n->id];
}

/* ---- writing --------------------------------------------------------------------------------- */

static int draw(const wg_graph *g, const request *r)
{
    wg_picture *p;
    wg_error error;
    int code = EXIT_OK;
    if (wg_picture_create(&p, g, &r->picture, &error) != WG_OK)
        return complain_error(&error);
    if (r->dot)
        code = write_picture(p, WG_PICTURE_DOT, r->output);
    if (code == EXIT_OK && r->svg)
        code = write_picture(p, WG_PICTURE_SVG, r->svg);
    if (code == EXIT_OK && r->png)
        code = write_picture(p, WG_PICTURE_PNG, r->png);
    wg_picture_free(p);
    return code;
}

static int print(const wg_graph *g, const wg_plan *p, const request *r)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    wg_status status = !f            ? WG_ENOMEM
                       : r->timeline ? wg_plan_write_timeline(p, f, NULL)
                       : r->costs    ? print_costs(g, f)
                       : p           ? wg_plan_print(p, f)
                                     : wg_graph_print(g, f);
    char *text = wgi_text_close(&b);
    if (!text)
        status = WG_ENOMEM;
    if (status != WG_OK)
        complain("%s", wg_status_text(status));
    int code = status == WG_OK ? deliver(r->output, text, b.size) : exit_code(status);
    free(text);
    return code;
}

static int write_page(const wg_graph *g, const wg_plan *p, const request *r)
{
    wgi_text_buffer b;
    wg_error error = {0};
    FILE *f = wgi_text_open(&b);
    wg_status status = !f  ? WG_ENOMEM
                       : p ? wg_plan_write_page(p, r->picture.title, f, &error)
                           : wg_graph_write_page(g, r->picture.title, f, &error);
    char *page = wgi_text_close(&b);
    if (!page || status == WG_ENOMEM)
        error = (wg_error){.status = WG_ENOMEM, .text = "out of memory"};
    int code = error.status == WG_OK ? deliver(r->html, page, b.size) : complain_error(&error);
    free(page);
    return code;
}

static int show(wg_graph *g, const source *s, request *r)
{
    wg_plan *plan = NULL;
    wg_picture_note *notes = NULL;
    int code = EXIT_OK;
    if (r->plan && (code = exit_code(make_plan(&plan, g, s, r))) == EXIT_OK) {
        r->picture.context = notes = collect_notes(plan);
        r->picture.note = note_of;
        if (!notes) {
            complain("out of memory");
            code = EXIT_RUN;
        }
    }
    const wg_graph *shown = plan ? wg_plan_graph(plan) : g;
    bool pictures = r->dot || r->svg || r->png;
    bool text = r->print || r->costs || r->timeline;
    if (code == EXIT_OK && (text || !(pictures || r->html || r->plot)))
        code = print(shown, plan, r);
    if (code == EXIT_OK && r->html)
        code = write_page(shown, plan, r);
    if (code == EXIT_OK && pictures)
        code = draw(shown, r);
    if (code == EXIT_OK && r->plot)
        code = timeline_draw(plan, r->picture.title, r->plot);
    free(notes);
    wg_plan_free(plan);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int check_files(const request *r)
{
    const result_file outputs[] = {{.path = r->output},
                                   {.path = r->svg, .ending = ".svg"},
                                   {.path = r->png, .ending = ".png"},
                                   {.path = r->html},
                                   {.path = r->plot}};
    return check_outputs(outputs, WG_COUNT(outputs), &r->model, 1);
}

/* Opens the composite ops that are asked for: *g is replaced. */
static int open_ops(wg_graph **g, const names *ops)
{
    wg_error error;
    wg_graph *opened;
    bool all = false;
    if (ops->n == 0)
        return EXIT_OK;
    for (size_t i = 0; i < ops->n; i++)
        all |= strcmp(ops->name[i], "all") == 0;
    if (wg_graph_open(&opened, *g, ops->name, all ? 0 : ops->n, &error) != WG_OK)
        return complain_error(&error);
    wg_graph_free(*g);
    *g = opened;
    return EXIT_OK;
}

static int open_and_show(request *r)
{
    source s = {.name = r->model};
    wg_value *loss;
    int code = source_check_options(&r->options, &r->model, 1);
    if (code == EXIT_OK)
        code =
            r->folder ? source_open_folder(&s, r->model) : source_open(&s, r->model, &r->options);
    s.options = r->options;
    if (code == EXIT_OK)
        code = check_files(r);
    wg_graph *g = code == EXIT_OK ? source_build(&s, &loss, &code) : NULL;
    r->picture.title = s.trained.d_model || !s.model ? r->model : s.model->name;
    r->picture.expanded = r->expand.name;
    r->picture.n_expanded = r->expand.n;
    if (g && r->step)
        code = source_add_update(&s, g, loss, NULL);
    else if (g && r->grad)
        code = source_add_gradient(&s, g, loss);
    if (g && code == EXIT_OK)
        code = open_ops(&g, &r->open);
    if (g && code == EXIT_OK)
        code = show(g, &s, r);
    wg_graph_free(g);
    source_close(&s);
    return code;
}

int command_graph(int argc, char **argv)
{
    static const struct argp_child children[] =
        BACKENDS_AND_MODEL("Backends of the plan, in order of preference (cpu comes last):", 4);
    static const struct argp argp = {table,
                                     parse,
                                     "MODEL|FILE.wg|FILE.onnx|MODEL.so|FOLDER",
                                     "Prints or draws a built-in model, the graph in a file, the "
                                     "model in a shared object (whose code runs) or the model "
                                     "trained in FOLDER, its gradient or its plan.",
                                     children,
                                     NULL,
                                     NULL};
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    code = open_and_show(&r);
    close_backends(&r.backends);
    return code;
}
