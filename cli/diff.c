/* wengert diff: two graphs, or one graph run in two ways. */
#include "cli/diff.h"
#include "cli/values.h"

#include <stdlib.h>
#include <string.h>

enum {
    BACKENDS = 1000,
    DTYPES,
    WEIGHTS,
    GRAD,
    DIGITS,
    BITS,
    FLOOR,
    WORST,
    NO_FUSE,
    FULL,
    SEED,
    AT_STEP,
    SVG,
    PNG
};

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "One model, run in two ways:", 1},
    {"backends", BACKENDS, "A,B", 0, "on each of two backends (names or shared objects)", 1},
    {"dtypes", DTYPES, "A,B", 0, "with its f32 in each of two dtypes: f64, f32, bf16, f16", 1},
    {"weights", WEIGHTS, "A,B", 0, "with the parameters of each of two safetensors files", 1},
    {"no-fuse", NO_FUSE, 0, 0, "run every node by itself, so that all can be compared", 1},
    {"seed", SEED, "N", 0, "seed of inputs, parameters and random ops (default: 0)", 1},
    {"step", AT_STEP, "N", 0, "number of the run, for random ops (default: 0)", 1},
    {0, 0, 0, 0, "Graph:", 2},
    {"grad", GRAD, 0, 0, "with the gradient of the loss with respect to all parameters", 2},
    {0, 0, 0, 0, "What counts as different:", 3},
    {"digits", DIGITS, "D", 0, "more than D decimal digits lost (default: 2)", 3},
    {"bits", BITS, 0, 0, "any different bit", 3},
    {"floor", FLOOR, "X", 0,
     "no difference up to X: for values that are zero but for rounding (default: 0)", 3},
    {0, 0, 0, 0, "Report:", 4},
    {"worst", WORST, "N", 0, "list the N values that lost most digits (default: 10)", 4},
    {"svg", SVG, "FILE", 0, "draw the graph, coloured by digits lost", 4},
    {"png", PNG, "FILE", 0, "the same as PNG", 4},
    {"full", FULL, 0, 0, "draw every node: nothing collapsed, folded or left out", 4},
    {0},
};
/* clang-format on */

/* ---- options --------------------------------------------------------------------------------- */

static void take_pair(diff_request *r, diff_kind kind, const char *pair, struct argp_state *state)
{
    const char *comma = strchr(pair, ',');
    if (r->kind != DIFF_NOTHING)
        argp_error(state, "use one of --backends, --dtypes and --weights, once");
    if (!comma || comma == pair || !comma[1] || strchr(comma + 1, ','))
        argp_error(state, "expected two, A,B, got '%s'", pair);
    r->kind = kind;
    r->pair = pair;
}

static void take_name(diff_request *r, const char *name, struct argp_state *state)
{
    if (r->n_names == 2)
        argp_error(state, "expected one or two models, got '%s' as well", name);
    r->name[r->n_names++] = name;
}

static void check_request(const diff_request *r, struct argp_state *state)
{
    if (!r->n_names)
        argp_error(state, "no model given");
    if (r->n_names == 1 && r->kind == DIFF_NOTHING)
        argp_error(state, "one model: use --backends A,B, --dtypes A,B or --weights A,B; or give "
                          "another model");
    if (r->n_names == 2 && (r->kind != DIFF_NOTHING || r->svg || r->png))
        argp_error(state, "two models are compared as graphs: without --backends, --dtypes, "
                          "--weights and pictures");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    diff_request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: hand_on(state, &r->backends, &r->options); break;
    case BACKENDS: take_pair(r, DIFF_BACKENDS, arg, state); break;
    case DTYPES: take_pair(r, DIFF_DTYPES, arg, state); break;
    case WEIGHTS: take_pair(r, DIFF_WEIGHTS, arg, state); break;
    case GRAD: r->grad = true; break;
    case DIGITS: r->digits = real_argument(state, "--digits", arg, 0, 1e300, "from 0"); break;
    case BITS: r->bits = true; break;
    case FLOOR: r->floor = real_argument(state, "--floor", arg, 0, 1e300, "from 0"); break;
    case WORST: r->worst = (int)number_argument(state, "--worst", arg, 0, 1000000); break;
    case NO_FUSE: r->no_fuse = true; break;
    case FULL: r->full = true; break;
    case SEED: r->seed = (uint64_t)number_argument(state, "--seed", arg, 0, INT32_MAX); break;
    case AT_STEP: r->step = (uint64_t)number_argument(state, "--step", arg, 0, INT32_MAX); break;
    case SVG: r->svg = arg; break;
    case PNG: r->png = arg; break;
    case ARGP_KEY_ARG: take_name(r, arg, state); break;
    case ARGP_KEY_END: check_request(r, state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int compare(source from[2], const diff_request *r)
{
    wg_graph *g[2] = {NULL};
    int code = EXIT_OK;
    side sides[2] = {{.label = ""}};
    for (int i = 0; i < r->n_names && code == EXIT_OK; i++) {
        wg_value *loss;
        g[i] = source_build(&from[i], &loss, &code);
        if (g[i] && r->grad)
            code = source_add_gradient(&from[i], g[i], loss);
    }
    if (code == EXIT_OK && r->n_names == 2)
        code = diff_graphs(g[0], g[1], r);
    else if (code == EXIT_OK) {
        code = sides_run(sides, g[0], &from[0], r);
        if (code == EXIT_OK)
            code = diff_numbers(sides, g[0], r);
        sides_free(sides);
    }
    wg_graph_free(g[0]);
    wg_graph_free(g[1]);
    return code;
}

int command_diff(int argc, char **argv)
{
    static const struct argp_child children[] =
        BACKENDS_AND_MODEL("Backends of --dtypes and --weights, in order of preference:", 5);
    static const struct argp argp = {
        table,
        parse,
        "A B\nMODEL --backends A,B\nMODEL --dtypes A,B\nMODEL --weights A,B",
        "Compares two graphs and names the first node at which they differ; or runs one graph in "
        "two ways on the same data and names the first node at which the results diverge.  Each "
        "model is a built-in one, FILE.wg, MODEL.so (whose code runs) or a FOLDER.  The exit code "
        "is 1 if something differs.",
        children,
        NULL,
        NULL};
    diff_request r = {.digits = 2, .worst = 10};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    source from[2] = {{.name = NULL}};
    const result_file pictures[] = {{.path = r.svg, .ending = ".svg"},
                                    {.path = r.png, .ending = ".png"}};
    code = check_outputs(pictures, WG_COUNT(pictures), r.name, (size_t)r.n_names);
    if (code == EXIT_OK)
        code = source_check_options(&r.options, r.name, (size_t)r.n_names);
    for (int i = 0; i < r.n_names && code == EXIT_OK; i++)
        code = source_open(&from[i], r.name[i], &r.options);
    if (code == EXIT_OK)
        code = compare(from, &r);
    source_close(&from[0]);
    source_close(&from[1]);
    close_backends(&r.backends);
    return code;
}
