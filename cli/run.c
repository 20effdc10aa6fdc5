/* wengert run MODEL: the outputs of a model for the numbers of files. */
#include "cli/run.h"
#include "cli/measure.h"
#include "cli/values.h"

#include <stdlib.h>
#include <string.h>

enum { INPUTS = 1000, INPUT, OUTPUTS, OUTPUT, WEIGHTS, SEED, PROFILE };

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "Inputs:", 1},
    {"inputs", INPUTS, "FILE", 0,
     "take the numbers of inputs from this safetensors file, by their names", 1},
    {"input", INPUT, "NAME=FILE.npy", 0,
     "take those of one input from an array of NumPy (may be repeated)", 1},
    {"weights", WEIGHTS, "FILE", 0,
     "take the parameters from this safetensors file (default: their initial values)", 1},
    {"seed", SEED, "N", 0, "seed of random ops and initial values (default: 0)", 1},
    {0, 0, 0, 0, "Outputs (default: a table):", 2},
    {"outputs", OUTPUTS, "FILE", 0,
     "write all outputs to this safetensors file, by their names", 2},
    {"output", OUTPUT, "NAME=FILE.npy", 0,
     "write one output as an array of NumPy (may be repeated)", 2},
    {"profile", PROFILE, 0, 0, "run once more, and print the time of that by op and kernel", 2},
    {0},
};
/* clang-format on */

typedef struct request {
    const char *model, *inputs, *outputs, *weights;
    array_list input, output;
    uint64_t seed;
    bool profile;
    backend_choice backends;
    source_options options;
} request;

/* ---- options --------------------------------------------------------------------------------- */

static void take_array(array_list *to, const char *option, char *text, struct argp_state *state)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        argp_error(state, "%s: expected NAME=FILE.npy, got '%s'", option, text);
    if (to->n == MAX_ARRAYS)
        argp_error(state, "%s given more than %d times", option, MAX_ARRAYS);
    *equals = 0; /* NOLINT(clang-analyzer-core.NullDereference): argp_error does not return */
    to->name[to->n] = text;
    to->file[to->n++] = equals + 1;
}

static void check_request(const request *r, struct argp_state *state)
{
    if (!r->model)
        argp_error(state, "no model given");
    if (r->options.n_ranges > 0)
        argp_error(state, "--range has no effect: no numbers are drawn for inputs");
    for (size_t i = 0; i < r->output.n; i++) {
        size_t n = strlen(r->output.file[i]);
        if (n < 5 || strcmp(r->output.file[i] + n - 4, ".npy") != 0)
            argp_error(state, "--output: expected a file named .npy, got '%s'", r->output.file[i]);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: hand_on(state, &r->backends, &r->options); break;
    case INPUTS: r->inputs = arg; break;
    case INPUT: take_array(&r->input, "--input", arg, state); break;
    case OUTPUTS: r->outputs = arg; break;
    case OUTPUT: take_array(&r->output, "--output", arg, state); break;
    case WEIGHTS: r->weights = arg; break;
    case SEED: r->seed = seed_argument(state, arg); break;
    case PROFILE: r->profile = true; break;
    case ARGP_KEY_ARG: take_argument(state, &r->model, "model", arg); break;
    case ARGP_KEY_END: check_request(r, state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Computes the outputs; what the graph assigns is left as it is. */
static int make_plan(wg_plan **p, wg_graph *g, wg_store *store, const request *r)
{
    size_t n = wg_graph_output_count(g);
    wg_value **outputs = calloc(n + 1, sizeof *outputs);
    for (size_t i = 0; outputs && i < n; i++)
        outputs[i] = wg_graph_output(g, i);
    wg_status status = outputs ? wg_plan_create(p, g,
                                                &(wg_plan_options){.outputs = outputs,
                                                                   .n_outputs = n,
                                                                   .backends = r->backends.backend,
                                                                   .n_backends = r->backends.count,
                                                                   .threads = r->backends.threads,
                                                                   .store = store,
                                                                   .seed = r->seed,
                                                                   .profile = r->profile})
                               : WG_ENOMEM;
    free(outputs);
    if (status != WG_OK)
        complain("%s: %s", r->model,
                 *wg_graph_message(g) ? wg_graph_message(g) : wg_status_text(status));
    return exit_code(status);
}

static int load_weights(wg_store *store, const char *file)
{
    wg_error error;
    wg_status status = wg_store_load_weights(store, file, NULL, NULL, &error);
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

/* With a profile twice, to the same outputs: the first run of a plan is slower than others. */
static int run_plan(wg_plan *p, const request *r)
{
    wg_status status = wg_plan_run(p, 0);
    if (status == WG_OK && r->profile) {
        wg_plan_reset_profile(p);
        status = wg_plan_run(p, 0);
    }
    if (status != WG_OK)
        complain("%s: %s", r->model, wg_plan_message(p));
    return exit_code(status);
}

static int run_graph(wg_graph *g, const given_inputs *in, const request *r)
{
    wg_plan *p = NULL;
    wg_store *store = wg_store_new(r->seed);
    int code = EXIT_RUN;
    if (!store)
        complain("out of memory");
    else
        code = make_plan(&p, g, store, r);
    if (code == EXIT_OK && r->weights)
        code = load_weights(store, r->weights);
    if (code == EXIT_OK)
        code = inputs_fill(in, p, g);
    if (code == EXIT_OK)
        code = run_plan(p, r);
    if (code == EXIT_OK)
        code = outputs_deliver(r->outputs, &r->output, p, g);
    if (code == EXIT_OK && r->profile)
        code = print_profile(p, r->model);
    wg_plan_free(p);
    wg_store_free(store);
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* No output may be a file that is read. */
static int check_files(const request *r)
{
    result_file outputs[MAX_ARRAYS + 1] = {{.path = r->outputs, .made_by = "run"}};
    const char *inputs[MAX_ARRAYS + 3] = {r->model, r->weights, r->inputs};
    for (size_t i = 0; i < r->output.n; i++)
        outputs[i + 1] = (result_file){.path = r->output.file[i], .npy = true};
    for (size_t i = 0; i < r->input.n; i++)
        inputs[i + 3] = r->input.file[i];
    return check_outputs(outputs, r->output.n + 1, inputs, r->input.n + 3);
}

static int check_source(const source *s)
{
    if (!s->trained.d_model)
        return EXIT_OK;
    complain("%s: expected a model of numbers, got a folder of `wengert train`, which translate, "
             "score, evaluate and generate take",
             s->name);
    return EXIT_USAGE;
}

static int run_source(source *s, given_inputs *in, const request *r)
{
    int code = inputs_read(in, r->inputs, &r->input);
    if (code != EXIT_OK)
        return code;
    wg_value *loss;
    s->options.shapes = in->shapes;
    s->options.n_shapes = in->n;
    s->options.numbers = in->known;
    s->options.n_numbers = in->n;
    wg_graph *g = source_build(s, &loss, &code);
    if (!g)
        inputs_explain(in, s);
    else
        code = outputs_check(&r->output, s, g);
    if (code == EXIT_OK)
        code = inputs_check(in, s, g);
    if (code == EXIT_OK)
        code = run_graph(g, in, r);
    wg_graph_free(g);
    return code;
}

int command_run(int argc, char **argv)
{
    static const struct argp_child children[] =
        BACKENDS_AND_MODEL("Backends, in order of preference (cpu comes last):", 4);
    static const struct argp argp = {
        table,
        parse,
        "MODEL|FILE.wg|FILE.onnx|MODEL.so",
        "Computes the outputs of a model for given inputs: of a built-in one, of the graph in a "
        "file, or of the model in a shared object (whose code runs).  Symbolic dimensions of a "
        "FILE.onnx take their sizes from the inputs, and so do numbers that must be known while it "
        "is read.\vInputs and outputs have the names that "
        "wengert onnx and wengert graph print.  Numbers in another float or integer dtype than an "
        "input has are converted if all of them stay the same.  What the graph assigns to "
        "parameters is not computed.",
        children,
        NULL,
        NULL};
    request r = {0};
    source s = {.name = NULL};
    given_inputs in = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    code = source_check_options(&r.options, &r.model, 1);
    if (code == EXIT_OK)
        code = source_open(&s, r.model, &r.options);
    if (code == EXIT_OK)
        code = check_source(&s);
    if (code == EXIT_OK)
        code = check_files(&r);
    if (code == EXIT_OK)
        code = run_source(&s, &in, &r);
    inputs_free(&in);
    source_close(&s);
    close_backends(&r.backends);
    return code;
}
