/* wengert graph MODEL: the text, DOT, SVG or PNG of a model, its gradient, its plan. */
#include "cli/backends.h"
#include "wengert/models/models.h"
#include "wengert/models/transformer.h"
#ifdef WG_HAVE_TRAINING
#include "cli/model.h"
#include "wengert/train/folder.h"
#endif

#include <stdlib.h>
#include <string.h>

enum {
    DOT = 1000,
    SVG,
    PNG,
    PRINT,
    GRAD,
    EXPAND,
    DEPTH,
    PHASE,
    FULL,
    MEMORY,
    PROFILE,
    PLAN,
    SECONDS,
    NO_LEGEND
};

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "Output:", 1},
    {"print", PRINT, 0, 0, "one line of text per node, or per step of the plan (the default)", 1},
    {"dot", DOT, 0, 0, "draw the graph as Graphviz source", 1},
    {"svg", SVG, "FILE", 0, "draw the graph as SVG", 1},
    {"png", PNG, "FILE", 0, "draw the graph as PNG", 1},
    {"output", 'o', "FILE", 0,
     "write the output of --print and --dot to FILE instead of standard output", 1},
    {0, 0, 0, 0, "Graph:", 2},
    {"model", 'm', "FOLDER", 0, "the model trained in FOLDER", 2},
    {"grad", GRAD, 0, 0, "add the gradient of the loss with respect to all parameters", 2},
    {"plan", PLAN, 0, 0, "show the planned graph: simplified, with the backend of each node", 2},
    {"profile", PROFILE, 0, 0,
     "run the plan ten times and colour each node by its share of the time; implies --plan", 2},
    {0, 0, 0, 0, "Level of detail:", 3},
    {"expand", EXPAND, "SCOPE", 0, "expand this scope (may be repeated)", 3},
    {"depth", DEPTH, "N", 0,
     "collapse scopes below this depth (default: the deepest that stays readable)", 3},
    {"phase", PHASE, "fwd|bwd|update|both", 0,
     "draw only this phase; bwd and both imply --grad", 3},
    {"full", FULL, 0, 0, "draw every node: nothing collapsed, folded or left out", 3},
    {"memory", MEMORY, 0, 0, "show bytes on boxes and edges", 3},
    {"no-legend", NO_LEGEND, 0, 0, "draw the title without the legend", 3},
    {"seconds", SECONDS, "N", 0, "time limit for the layout (default: 30)", 3},
    {0},
};
/* clang-format on */

enum { MAX_EXPAND = 64 };

typedef struct request {
    const char *model, *output, *svg, *png;
    bool folder; /* the model is in a folder: --model */
    bool print, dot, grad, plan, profile;
    const char *expand[MAX_EXPAND];
    wg_picture_options picture;
    backend_choice backends;
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

static void parse_expand(request *r, const char *scope, struct argp_state *state)
{
    if (r->picture.n_expanded == MAX_EXPAND)
        argp_error(state, "--expand given more than %d times", MAX_EXPAND);
    r->expand[r->picture.n_expanded++] = scope;
}

static double parse_seconds(const char *text, struct argp_state *state)
{
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds > 0 && seconds <= 86400))
        argp_error(state, "--seconds: expected a number above 0, up to 86400, got '%s'", text);
    return seconds;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->backends; break;
    case PRINT: r->print = true; break;
    case DOT: r->dot = true; break;
    case SVG: r->svg = arg; break;
    case PNG: r->png = arg; break;
    case 'o': r->output = arg; break;
    case GRAD: r->grad = true; break;
    case PLAN: r->plan = true; break;
    case PROFILE: r->profile = r->plan = true; break;
    case EXPAND: parse_expand(r, arg, state); break;
    case DEPTH: r->picture.depth = (int)number_argument(state, "--depth", arg, 1, 1000); break;
    case PHASE: parse_phase(r, arg, state); break;
    case FULL: r->picture.full = true; break;
    case MEMORY: r->picture.memory = true; break;
    case NO_LEGEND: r->picture.no_legend = true; break;
    case SECONDS: r->picture.seconds = parse_seconds(arg, state); break;
    case 'm':
    case ARGP_KEY_ARG:
        take_argument(state, &r->model, "model", arg);
        r->folder = key == 'm';
        break;
    case ARGP_KEY_END:
        if (!r->model)
            argp_error(state, "no model given");
        if (r->print && r->dot)
            argp_error(state, "use --print or --dot, not both");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* Every parameter's derivative becomes an output "d NAME". */
static wg_status add_gradient(wg_graph *g, wg_value *loss)
{
    size_t n = wg_graph_parameters(g, NULL, 0);
    wg_value **w = calloc(2 * n + 1, sizeof *w), **dw = w + n;
    if (!w)
        return WG_ENOMEM;
    wg_graph_parameters(g, w, n);
    wg_status status = wg_grad(loss, w, n, dw);
    for (size_t i = 0; i < n && status == WG_OK; i++) {
        char name[600];
        snprintf(name, sizeof name, "d %s", w[i]->name);
        wg_output(dw[i], name);
    }
    free(w);
    return wg_graph_status(g);
}

/* Fills integer inputs with values in range and leaves floats as they are. */
static void fill_inputs(wg_plan *p, wg_graph *g, const wg_model *m)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        wg_value *v = wg_graph_value(g, i);
        void *data = v->name && wg_dtype_is_int(v->dtype) ? wg_plan_data(p, v) : NULL;
        if (!data || !(v->node->op->flags & WG_OP_INPUT))
            continue;
        int64_t below = wg_model_range(m, v->name), count = wg_value_count(v);
        for (int64_t k = 0; k < count; k++)
            if (v->dtype == WG_I64)
                ((int64_t *)data)[k] = k % below;
            else
                ((int32_t *)data)[k] = (int32_t)(k % below);
    }
}

static wg_status make_plan(wg_plan **p, wg_graph *g, const wg_model *m, const request *r)
{
    enum { RUNS = 10 };
    wg_status status = wg_plan_create(p, g,
                                      &(wg_plan_options){.backends = r->backends.backend,
                                                         .n_backends = r->backends.count,
                                                         .threads = r->backends.threads,
                                                         .profile = r->profile});
    if (status != WG_OK) {
        complain("%s", wg_graph_message(g));
        return status;
    }
    fill_inputs(*p, g, m);
    for (uint64_t step = 0; r->profile && step < RUNS && status == WG_OK; step++)
        status = wg_plan_run(*p, step);
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

/* To `path`, or to standard output. */
static int deliver(const char *path, const char *bytes, size_t size)
{
    if (path)
        return write_file(path, bytes, size);
    fwrite(bytes, 1, size, stdout);
    return EXIT_OK; /* main checks standard output */
}

static int write_picture(wg_picture *p, wg_picture_format format, const char *path)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&bytes, &size);
    wg_error error = {.status = WG_ENOMEM, .text = "out of memory"};
    wg_status status = f ? wg_picture_write(p, format, f, &error) : WG_ENOMEM;
    if (f && fclose(f) != 0 && status == WG_OK)
        error = (wg_error){.status = WG_ENOMEM, .text = "out of memory"};
    if (error.status == WG_OK && *error.warning)
        complain("%s", error.warning);
    int code = error.status == WG_OK ? deliver(path, bytes, size) : complain_error(&error);
    free(bytes);
    return code;
}

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
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    wg_status status = !f ? WG_ENOMEM : p ? wg_plan_print(p, f) : wg_graph_print(g, f);
    if (f && fclose(f) != 0)
        status = WG_ENOMEM;
    if (status != WG_OK)
        complain("%s", wg_status_text(status));
    int code = status == WG_OK ? deliver(r->output, text, size) : exit_code(status);
    free(text);
    return code;
}

static int show(wg_graph *g, const wg_model *m, request *r)
{
    wg_plan *plan = NULL;
    wg_picture_note *notes = NULL;
    int code = EXIT_OK;
    if (r->plan && (code = exit_code(make_plan(&plan, g, m, r))) == EXIT_OK) {
        notes = collect_notes(plan);
        r->picture.note = notes ? note_of : NULL;
        r->picture.context = notes;
    }
    const wg_graph *shown = plan ? wg_plan_graph(plan) : g;
    bool pictures = r->dot || r->svg || r->png;
    if (code == EXIT_OK && (r->print || !pictures))
        code = print(g, plan, r);
    if (code == EXIT_OK && pictures)
        code = draw(shown, r);
    free(notes);
    wg_plan_free(plan);
    return code;
}

/* ---- which graph ----------------------------------------------------------------------------- */

/* A trained model is the built-in "transformer" in sizes of its own. */
static int find_model(const request *r, const wg_model **out, wg_transformer_config *trained)
{
    const char *name = r->model;
    *out = r->folder ? NULL : wg_model_find(name);
#ifdef WG_HAVE_TRAINING
    if (r->folder || (!*out && wg_folder_has(name, WG_FILE_CONFIG))) {
        *out = wg_model_find("transformer");
        return model_network(name, trained);
    }
#else
    (void)trained;
#endif
    if (*out)
        return EXIT_OK;
    complain_unknown("model", name, model_name_at);
    return EXIT_USAGE;
}

static wg_value *build(wg_graph *g, const wg_model *m, const wg_transformer_config *trained)
{
    if (!trained->d_model)
        return m->build(g);
    wg_transformer t = wg_transformer_begin(g, trained, WG_MODE_TRAINING);
    wg_transformer_inputs in = wg_transformer_inputs_new(g, 2, 7, 6);
    return wg_output(wg_transformer_loss(&t, &in, NULL), "loss");
}

int command_graph(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&backend_argp, 0, "Backends of the plan, in order of preference (cpu comes last):", 4},
        {0}};
    static const struct argp argp = {table,
                                     parse,
                                     "MODEL|FOLDER",
                                     "Prints or draws a built-in model or the model in FOLDER, "
                                     "its gradient or its plan.",
                                     children,
                                     NULL,
                                     NULL};
    request r = {0};
    if (argp_parse(&argp, argc, argv, 0, NULL, &r) != 0)
        return EXIT_USAGE;
    const wg_model *m;
    wg_transformer_config trained = {0};
    int code = find_model(&r, &m, &trained);
    const char *const outputs[] = {r.output, r.svg, r.png};
    for (size_t i = 0; i < WG_COUNT(outputs) && code == EXIT_OK; i++)
        code = check_output(outputs[i]);
    if (code != EXIT_OK) {
        close_backends(&r.backends);
        return code;
    }
    r.picture.title = trained.d_model ? r.model : m->name;
    r.picture.expanded = r.expand;
    wg_graph *g = wg_graph_new();
    wg_value *loss = build(g, m, &trained);
    wg_status status = wg_graph_status(g);
    if (status == WG_OK && r.grad)
        status = add_gradient(g, loss);
    code = status == WG_OK ? show(g, m, &r) : exit_code(status);
    if (status != WG_OK)
        complain("%s", wg_graph_message(g));
    wg_graph_free(g);
    close_backends(&r.backends);
    return code;
}
