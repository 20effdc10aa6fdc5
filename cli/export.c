/* wengert export: a model in the format of others. */
#include "cli/source.h"
#ifdef WG_HAVE_TRAINING
#include "wengert/translate/foreign.h"
#endif

#include <string.h>

enum { TO = 6000, WEIGHTS };

typedef struct request {
    const char *model, *file, *to, *weights;
    source_options options;
} request;

static const struct argp_option table[] = {
    {"to", TO, "FORMAT", 0,
     "the format: onnx (default); or of a trained model, with FILE as a folder to write, torch, "
     "fairseq or marian (docs/weights.md)",
     0},
    {"weights", WEIGHTS, "FILE", 0,
     "take the parameters from this safetensors file (default: their initial values, of a trained "
     "model the best available)",
     0},
    {0},
};

static bool is_onnx(const request *r)
{
    return !r->to || strcmp(r->to, "onnx") == 0;
}

#ifdef WG_HAVE_TRAINING
static bool is_layout(const char *to)
{
    const char *name;
    for (size_t i = 0; (name = wg_foreign_layout_at(i)); i++)
        if (strcmp(name, to) == 0)
            return true;
    return strcmp(to, "pytorch") == 0;
}

/* A trained model in the form of another program. */
static int export_folder(const request *r)
{
    wg_error error;
    wg_foreign_report report;
    if (wg_foreign_export(r->to, r->model, r->weights, r->file, &report, &error) != WG_OK)
        return complain_error(&error);
    printf("%s: %zu tensors of %s\n%s%s", r->file, report.tensors, r->model, report.text,
           *report.text ? "\n" : "");
    return EXIT_OK;
}
#else
static bool is_layout(const char *to)
{
    (void)to;
    return false;
}

static int export_folder(const request *r)
{
    complain("%s: built without training", r->to);
    return EXIT_USAGE;
}
#endif

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
        if (!is_onnx(r) && !is_layout(r->to))
            argp_error(state, "--to: expected onnx, torch, fairseq or marian, got '%s'", r->to);
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
        complain(
            "%s: the model of a folder cannot be exported as ONNX, a built-in one, a FILE.wg, a "
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
        .args_doc = "MODEL|FILE.wg|FILE.onnx|MODEL.so FILE\n--to torch|fairseq|marian MODEL FOLDER",
        .doc =
            "Writes the outputs of a model, and what they need, as a file of ONNX (opset 17); or "
            "the weights, settings and vocabularies of a trained model in the form of another "
            "program, which wengert import reads.",
        .children = children,
    };
    source s;
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    if (!is_onnx(&r))
        return export_folder(&r);
    code = source_open(&s, r.model, &r.options);
    if (code == EXIT_OK)
        code = export_source(&s, &r);
    source_close(&s);
    return code;
}
