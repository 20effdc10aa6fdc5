/* wengert export: a model in the format of others. */
#include "cli/source.h"

#include <string.h>

enum { TO = 6000, WEIGHTS };

typedef struct request {
    const char *model, *file, *to, *weights;
    source_options options;
} request;

static const struct argp_option table[] = {
    {"to", TO, "FORMAT", 0, "the format of the file: onnx (default)", 0},
    {"weights", WEIGHTS, "FILE", 0,
     "take the parameters from this safetensors file (default: their initial values)", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->options; break;
    case TO: r->to = arg; break;
    case WEIGHTS: r->weights = arg; break;
    case ARGP_KEY_ARG:
        if (r->model)
            take_argument(state, &r->file, "file", arg);
        else
            r->model = arg;
        break;
    case ARGP_KEY_END:
        if (!r->model || !r->file)
            argp_error(state, "a MODEL and a FILE are needed");
        if (r->to && strcmp(r->to, "onnx") != 0)
            argp_error(state, "--to: expected onnx, got '%s'", r->to);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int write_model(const wg_graph *g, const request *r)
{
    wg_error error = {.status = WG_ENOMEM, .text = "out of memory"};
    wg_store *store = r->weights ? wg_store_new(0) : NULL;
    wg_status status = r->weights && !store ? WG_ENOMEM : WG_OK;
    if (store)
        status = wg_store_load(store, r->weights, &error);
    if (status == WG_OK)
        status = wg_onnx_export(g, r->file, &(wg_onnx_export_options){.store = store}, &error);
    wg_store_free(store);
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

static int export_source(const source *s, const request *r)
{
    int code;
    wg_value *loss;
    if (s->trained.d_model) {
        complain("%s: the model of a folder cannot be exported, a built-in one, a FILE.wg, a "
                 "FILE.onnx or a MODEL.so can",
                 s->name);
        return EXIT_USAGE;
    }
    wg_graph *g = source_build(s, &loss, &code);
    if (g)
        code = write_model(g, r);
    wg_graph_free(g);
    return code;
}

int command_export(int argc, char **argv)
{
    static const struct argp_child children[] = {{&source_argp, 0, "Model:", 5}, {0}};
    static const struct argp argp = {
        .options = table,
        .parser = parse,
        .args_doc = "MODEL|FILE.wg|FILE.onnx|MODEL.so FILE",
        .doc = "Writes the outputs of a model, and what they need, as a file of ONNX (opset 17).",
        .children = children,
    };
    source s;
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    code = source_open(&s, r.model, &r.options);
    if (code == EXIT_OK)
        code = export_source(&s, &r);
    source_close(&s);
    return code;
}
