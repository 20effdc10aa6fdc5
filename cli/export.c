/* wengert export: a model in the format of others. */
#include "cli/export.h"
#include "cli/values.h"
#include "graph/error.h"
#ifdef WG_HAVE_TRAINING
#include "wengert/translate/foreign.h"
#endif

#include <string.h>

enum { TO = 6000, WEIGHTS, STEP, WITHOUT_DROPOUT, INITIAL, SENTENCES, LENGTH };

typedef struct request {
    const char *model, *file, *to, *weights, *initial;
    bool step, without_dropout;
    export_sizes sizes;
    source_options options;
} request;

/* clang-format off */
static const struct argp_option table[] = {
    {"to", TO, "FORMAT", 0,
     "the format: onnx (default); or of a trained model, with FILE as a folder to write, torch, "
     "fairseq or marian (docs/weights.md)",
     0},
    {"weights", WEIGHTS, "FILE", 0,
     "take the parameters from this safetensors file (default: their initial values; of a FOLDER, "
     "the best that it has)", 0},
    {0, 0, 0, 0, "A training step:", 1},
    {"training-step", STEP, 0, 0,
     "write loss, gradient and an update by Adam as a function of parameters, moments, batch and "
     "the scalar `rate`; outputs are the loss, and new numbers under NAME.next", 1},
    {"without-dropout", WITHOUT_DROPOUT, 0, 0,
     "leave dropout out: such a function draws no random numbers", 1},
    {"initial", INITIAL, "FILE", 0,
     "also write what parameters and moments begin with, as safetensors", 1},
    {0, 0, 0, 0, "A translator in a FOLDER:", 2},
    {"sentences", SENTENCES, "N", 0, "sentences of a batch (default: 1)", 2},
    {"length", LENGTH, "N", 0,
     "maximum number of tokens of a sentence, its end counted (default: 64)", 2},
    {0},
};
/* clang-format on */

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
static int export_layout(const request *r)
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

static int export_layout(const request *r)
{
    complain("%s: built without training", r->to);
    return EXIT_USAGE;
}
#endif

static void check_request(const request *r, const struct argp_state *state)
{
    if (!r->model || !r->file)
        argp_error(state, "a MODEL and a FILE are needed");
    if (!is_onnx(r) && !is_layout(r->to))
        argp_error(state, "--to: expected onnx, torch, fairseq or marian, got '%s'", r->to);
    if (r->initial && !r->step)
        argp_error(state, "--initial is for a --training-step");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->options; break;
    case TO: r->to = arg; break;
    case WEIGHTS: r->weights = arg; break;
    case STEP: r->step = true; break;
    case WITHOUT_DROPOUT: r->without_dropout = true; break;
    case INITIAL: r->initial = arg; break;
    case SENTENCES: r->sizes.sentences = number_argument(state, "--sentences", arg, 1, 4096); break;
    case LENGTH: r->sizes.length = number_argument(state, "--length", arg, 2, 65536); break;
    case ARGP_KEY_ARG:
        if (r->model)
            take_argument(state, &r->file, "file", arg);
        else
            r->model = arg;
        break;
    case ARGP_KEY_END: check_request(r, state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* What a plan of g begins with: the numbers of the store, and initial values of what it lacks. */
static wg_status write_initial(const wg_graph *g, wg_store *store, const char *path,
                               wg_error *error)
{
    wg_plan *p;
    const wg_plan_options o = {.store = store, .reference = true};
    wg_status status = wg_plan_create(&p, (wg_graph *)g, &o);
    if (status != WG_OK) {
        error->status = status;
        snprintf(error->text, sizeof error->text, "%s", wg_graph_message(g));
    }
    if (status == WG_OK && wg_store_set_note(store, WG_NOTE_MADE_BY, "export") != WG_OK)
        status = wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    if (status == WG_OK)
        status = wg_store_save(store, path, error);
    wg_plan_free(p);
    return status;
}

static int write_model(const wg_graph *g, const request *r)
{
    wg_error error = {.status = WG_ENOMEM, .text = "out of memory"};
    wg_store *store = wg_store_new(0);
    wg_onnx_export_options o = {
        .store = r->weights ? store : NULL, .step = r->step, .without_dropout = r->without_dropout};
    wg_status status = store ? WG_OK : WG_ENOMEM;
    if (status == WG_OK && r->weights)
        status = wg_store_load_weights(store, r->weights, NULL, NULL, &error);
    if (status == WG_OK)
        status = wg_onnx_export(g, r->file, &o, &error);
    if (status == WG_EDATA && r->weights)
        complain("%s: expected the weights of this model", r->weights);
    if (status == WG_OK && r->initial)
        status = write_initial(g, store, r->initial, &error);
    wg_store_free(store);
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

static int export_source(const source *s, const request *r)
{
    int code;
    wg_value *loss;
    wg_graph *g = source_build(s, &loss, &code);
    if (g && r->step) {
        wg_dtype dtype = loss ? loss->dtype : WG_F32;
        code = source_add_update(s, g, loss, wg_input(g, "rate", dtype, WG_SCALAR));
    }
    if (g && code == EXIT_OK)
        code = write_model(g, r);
    wg_graph_free(g);
    return code;
}

static int export_translator(const request *r)
{
    if (r->step) {
        complain("%s: a step of a model in a folder cannot be exported, that of a built-in one, a "
                 "FILE.wg, a FILE.onnx or a MODEL.so can",
                 r->model);
        return EXIT_USAGE;
    }
#ifdef WG_HAVE_TRAINING
    return export_folder(r->model, r->file, r->weights, &r->sizes);
#else
    complain("%s: built without training", r->model);
    return EXIT_USAGE;
#endif
}

/* Files that are written: a source of its own, or a model's file, is none of them. */
static int check_targets(const request *r)
{
    const result_file outputs[] = {{.path = r->file, .onnx = true},
                                   {.path = r->initial, .made_by = "export"}};
    const char *const inputs[] = {r->model, r->weights};
    return check_outputs(outputs, WG_COUNT(outputs), inputs, WG_COUNT(inputs));
}

int command_export(int argc, char **argv)
{
    static const struct argp_child children[] = {{&source_argp, 0, "Model:", 5}, {0}};
    static const struct argp argp = {
        .options = table,
        .parser = parse,
        .args_doc = "MODEL|FILE.wg|FILE.onnx|MODEL.so|FOLDER FILE|FOLDER",
        .doc = "Writes the outputs of a model, and what they need, as an ONNX file (opset 17); or "
               "the encoder, the decoder and the tokens of a translator as a folder; or, with "
               "--to torch|fairseq|marian, its weights, settings and vocabularies in the layout of "
               "another program, which wengert import can read back.",
        .children = children,
    };
    source s = {.name = NULL};
    request r = {.sizes = {1, 64}};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    if (!is_onnx(&r))
        return export_layout(&r);
    code = source_check_options(&r.options, &r.model, 1);
    if (code == EXIT_OK)
        code = source_open(&s, r.model, &r.options);
    if (code == EXIT_OK && !s.trained.d_model)
        code = check_targets(&r);
    if (code == EXIT_OK)
        code = s.trained.d_model ? export_translator(&r) : export_source(&s, &r);
    source_close(&s);
    return code;
}
