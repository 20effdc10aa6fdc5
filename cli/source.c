#include "cli/source.h"
#include "cli/values.h"
#include "graph/element.h"
#include "graph/mix.h"
#ifdef WG_HAVE_TRAINING
#include "cli/model.h"
#include "wengert/translate/folder.h"
#endif

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- options --------------------------------------------------------------------------------- */

enum { RANGE = 4000, OPS, DIM, KNOWN };

static const struct argp_option table[] = {
    {"range", RANGE, "NAME=N", 0,
     "draw the integers of this input from [0,N) (may be repeated; default: as the model says, "
     "else 2)",
     0},
    {"ops", OPS, "MODEL.so", 0, "read files with the ops of this shared object, whose code runs",
     0},
    {"dim", DIM, "NAME=N", 0, "the size of a symbolic dimension of a FILE.onnx (may be repeated)",
     0},
    {"known", KNOWN, "NAME=N,...", 0,
     "the numbers of an input of a FILE.onnx that must be known while it is read (may be repeated)",
     0},
    {0},
};

/* "1,-2.5,3" into numbers, if not NULL; returns how many there are, or -1. */
static int64_t parse_numbers(const char *text, double *numbers)
{
    int64_t n = 0;
    char *end;
    for (; *text; n++) {
        double x = strtod(text, &end);
        if (end == text || (*end && (*end != ',' || !end[1])))
            return -1;
        if (numbers)
            numbers[n] = x;
        text = end + (*end == ',');
    }
    return n;
}

static void take_known(source_options *o, char *text, struct argp_state *state)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text || parse_numbers(equals + 1, NULL) < 0)
        argp_error(state, "--known: expected NAME=N,..., got '%s'", text);
    if (o->n_known == MAX_RANGES)
        argp_error(state, "--known given more than %d times", MAX_RANGES);
    *equals = 0; /* NOLINT(clang-analyzer-core.NullDereference): argp_error does not return */
    o->known[o->n_known].input = text;
    o->known[o->n_known++].numbers = equals + 1;
}

static void take_dim(source_options *o, char *text, struct argp_state *state)
{
    char *equals = strchr(text, '=');
    if (!equals || equals == text)
        argp_error(state, "--dim: expected NAME=N, got '%s'", text);
    number_argument(state, "--dim", equals + 1, 0, INT32_MAX);
    if (o->n_dims == MAX_RANGES)
        argp_error(state, "--dim given more than %d times", MAX_RANGES);
    *equals = 0; /* NOLINT(clang-analyzer-core.NullDereference): argp_error does not return */
    o->dim[o->n_dims++] = (wg_onnx_dim){text, strtoll(equals + 1, NULL, 10)};
}

static void take_range(source_options *o, const char *text, struct argp_state *state)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        argp_error(state, "--range: expected NAME=N, got '%s'", text);
    number_argument(state, "--range", equals + 1, 1, INT32_MAX);
    if (o->n_ranges == MAX_RANGES)
        argp_error(state, "--range given more than %d times", MAX_RANGES);
    o->range[o->n_ranges++] = text;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    source_options *o = state->input;
    switch (key) {
    case RANGE: take_range(o, arg, state); break;
    case OPS: o->ops = arg; break;
    case DIM: take_dim(o, arg, state); break;
    case KNOWN: take_known(o, arg, state); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp source_argp = {table, parse, NULL, NULL, NULL, NULL, NULL};

int64_t source_range(const source *s, const char *input)
{
    size_t n = strlen(input);
    for (size_t i = 0; i < s->options.n_ranges; i++)
        if (strncmp(s->options.range[i], input, n) == 0 && s->options.range[i][n] == '=')
            return strtoll(s->options.range[i] + n + 1, NULL, 10);
    return s->model ? wg_model_range(s->model, input) : 2;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

bool is_source(const char *name)
{
    return wg_model_find(name) || ends_with(name, ".wg") || ends_with(name, ".onnx") ||
           ends_with(name, ".so");
}

/* The dynamic linker would look for a bare name in its own folders. */
static int load(source *s, const char *name)
{
    char path[4096];
    wg_error error;
    snprintf(path, sizeof path, "%s%s", strchr(name, '/') ? "" : "./", name);
    wg_status status = wg_model_load(&s->loaded, path, &error);
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

/* A trained model is the built-in "transformer" in sizes of its own. */
int source_open_folder(source *s, const char *folder)
{
    *s = (source){.name = folder};
#ifdef WG_HAVE_TRAINING
    s->model = wg_model_find("transformer");
    return model_network(folder, &s->trained);
#else
    complain("%s: built without training", folder);
    return EXIT_USAGE;
#endif
}

/* A folder with a trained model, if there is one. */
static int open_other(source *s, const char *name)
{
    bool exists = false;
#ifdef WG_HAVE_TRAINING
    int code = model_exists(name, &exists);
    if (code != EXIT_OK)
        return code;
#endif
    if (exists)
        return source_open_folder(s, name);
    struct stat found;
    if (stat(name, &found) != 0)
        complain_unknown("model", name, model_name_at);
    else if (S_ISDIR(found.st_mode))
        complain("%s: not a folder of `wengert train`, so it does not say what its model is; a "
                 "program that trains a model of its own can write its graph to a .wg file "
                 "(wg_graph_print) or draw it (wg_trainer_draw)",
                 name);
    else
        complain("%s: not a model: expected a file whose name ends in .wg, .onnx or .so", name);
    return EXIT_USAGE;
}

int source_check_options(const source_options *o, const char *const *name, size_t n)
{
    bool file = false, onnx = false;
    for (size_t i = 0; i < n; i++) {
        file |= ends_with(name[i], ".wg");
        onnx |= ends_with(name[i], ".onnx");
    }
    if (o->ops && !file)
        complain("--ops: only a FILE.wg is read with the ops of a shared object");
    else if (o->n_dims > 0 && !onnx)
        complain("--dim: only a FILE.onnx has symbolic dimensions");
    else if (o->n_known > 0 && !onnx)
        complain("--known: only a FILE.onnx has inputs to be known");
    else
        return EXIT_OK;
    return EXIT_USAGE;
}

int source_open(source *s, const char *name, const source_options *options)
{
    int code = EXIT_OK;
    *s = (source){.name = name, .model = wg_model_find(name)};
    if (s->model)
        code = EXIT_OK;
    else if (ends_with(name, ".wg")) {
        s->is_file = true;
        code = options->ops ? load(s, options->ops) : EXIT_OK;
    } else if (ends_with(name, ".onnx")) {
        s->is_onnx = true;
    } else if (ends_with(name, ".so")) {
        code = load(s, name);
        s->model = s->loaded.model;
    } else
        code = open_other(s, name);
    s->options = *options;
    return code;
}

void source_close(source *s)
{
    wg_model_unload(&s->loaded);
}

/* ---- graphs ---------------------------------------------------------------------------------- */

/* The output called loss, else the first scalar of floats. */
static wg_value *find_loss(const wg_graph *g)
{
    wg_value *first = NULL;
    for (size_t i = 0; i < wg_graph_output_count(g); i++) {
        wg_value *v = wg_graph_output(g, i);
        if (strcmp(wg_graph_output_name(g, i), "loss") == 0)
            return v;
        if (!first && wg_value_count(v) == 1 && wg_dtype_is_float(v->dtype))
            first = v;
    }
    return first;
}

static wg_value *build_trained(wg_graph *g, const wg_transformer_config *c)
{
    wg_transformer t = wg_transformer_begin(g, c, WG_MODE_TRAINING);
    wg_transformer_inputs in = wg_transformer_inputs_new(g, 2, c->encoder_layers ? 7 : 0, 6);
    return wg_output(wg_transformer_loss(&t, &in, NULL), "loss");
}

static wg_graph *read_file(const source *s, wg_value **loss, int *code)
{
    wg_graph *g;
    wg_error error;
    const wg_op *const *ops = s->loaded.model ? s->loaded.model->ops : NULL;
    wg_parse_options o = {.ops = ops && ops[0] ? ops : NULL};
    while (o.ops && o.ops[o.n_ops])
        o.n_ops++;
    if (wg_graph_read(&g, s->name, &o, &error) != WG_OK)
        *code = complain_error(&error);
    *loss = find_loss(g);
    return g;
}

/* The known inputs; the numbers of those of --known are in one array, which the caller frees; NULL
 * without memory. */
static double *known_inputs(const source_options *o, wg_onnx_known *known)
{
    int64_t all = 0;
    for (size_t i = 0; i < o->n_numbers; i++)
        known[o->n_known + i] = o->numbers[i];
    for (size_t i = 0; i < o->n_known; i++) {
        int64_t n = parse_numbers(o->known[i].numbers, NULL);
        known[i] = (wg_onnx_known){.input = o->known[i].input, .shape = WG_SHAPE(n)};
        all += n;
    }
    double *numbers = calloc((size_t)all + 1, sizeof *numbers), *next = numbers;
    for (size_t i = 0; numbers && i < o->n_known; i++) {
        known[i].data = next;
        next += parse_numbers(o->known[i].numbers, next);
    }
    return numbers;
}

static wg_graph *import_file(const source *s, wg_value **loss, int *code)
{
    wg_graph *g;
    wg_error error;
    const size_t n = s->options.n_known + s->options.n_numbers;
    wg_onnx_known *known = calloc(n + 1, sizeof *known);
    double *numbers = known ? known_inputs(&s->options, known) : NULL;
    if (!numbers) {
        complain("%s: out of memory", s->name);
        *code = EXIT_RUN;
        free(known);
        return NULL;
    }
    wg_onnx_import_options o = {.dims = s->options.dim,
                                .n_dims = s->options.n_dims,
                                .shapes = s->options.shapes,
                                .n_shapes = s->options.n_shapes,
                                .known = known,
                                .n_known = n};
    if (wg_onnx_import(&g, s->name, &o, &error) != WG_OK)
        *code = complain_error(&error);
    else if (*error.warning)
        complain("%s", error.warning);
    free(numbers);
    free(known);
    *loss = g ? find_loss(g) : NULL;
    return g;
}

static wg_graph *build(const source *s, wg_value **loss, int *code)
{
    if (s->is_file)
        return read_file(s, loss, code);
    if (s->is_onnx)
        return import_file(s, loss, code);
    wg_graph *g = wg_graph_new();
    *loss = s->trained.d_model ? build_trained(g, &s->trained) : s->model->build(g);
    if (wg_graph_status(g) == WG_OK)
        return g;
    complain("%s: %s", s->name, wg_graph_message(g));
    *code = exit_code(wg_graph_status(g));
    wg_graph_free(g);
    return NULL;
}

/* Each --range names an input of integers. */
static bool check_ranges(const source *s, const wg_graph *g)
{
    for (size_t i = 0; i < s->options.n_ranges; i++) {
        const char *range = s->options.range[i];
        char name[256];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(range, "="), range);
        const wg_value *v = wg_graph_find(g, name);
        if (!v || !(v->node->op->flags & WG_OP_LEAF) || !wg_dtype_is_int(v->dtype)) {
            complain("--range: %s has no input '%s' of integers", s->name, name);
            return false;
        }
    }
    return true;
}

wg_graph *source_build(const source *s, wg_value **loss, int *code)
{
    *code = EXIT_OK;
    *loss = NULL;
    wg_graph *g = build(s, loss, code);
    if (g && !check_ranges(s, g)) {
        *code = EXIT_USAGE;
        wg_graph_free(g);
        return NULL;
    }
    return g;
}

static wg_status add_gradient(wg_graph *g, wg_value *loss)
{
    size_t n = wg_graph_parameters(g, NULL, 0);
    wg_value **w = calloc(2 * n + 1, sizeof *w);
    if (!w)
        return WG_ENOMEM;
    wg_value **dw = w + n;
    wg_graph_parameters(g, w, n);
    wg_status status = wg_grad(loss, w, n, dw);
    for (size_t i = 0; i < n && status == WG_OK; i++) {
        char name[600], of[500];
        snprintf(name, sizeof name, "d %s", wg_value_text(w[i], of, sizeof of));
        wg_output(dw[i], name);
    }
    free(w);
    return status == WG_OK ? wg_graph_status(g) : status;
}

int source_add_gradient(const source *s, wg_graph *g, wg_value *loss)
{
    if (!loss) {
        complain("%s: no scalar output to differentiate", s->name);
        return EXIT_USAGE;
    }
    wg_status status = add_gradient(g, loss);
    if (status != WG_OK)
        complain("%s: %s", s->name, *wg_graph_message(g) ? wg_graph_message(g) : "out of memory");
    return exit_code(status);
}

/* A parameter that the graph updates by itself; NULL if there is none. */
static const wg_value *updated_parameter(const wg_graph *g)
{
    for (size_t i = 0; i < wg_graph_assign_count(g); i++) {
        wg_value *leaf, *next;
        wg_graph_assign_at(g, i, &leaf, &next);
        if (leaf->node->op->flags & WG_OP_PARAMETER)
            return leaf;
    }
    return NULL;
}

int source_add_update(const source *s, wg_graph *g, wg_value *loss, wg_value *rate)
{
    const wg_value *updated = updated_parameter(g);
    if (updated) {
        complain("%s: the graph already updates %s: leave --step out", s->name, updated->name);
        return EXIT_USAGE;
    }
    size_t n = wg_graph_parameters(g, NULL, 0);
    wg_value **w = calloc(2 * n + 1, sizeof *w);
    if (!loss || !w) {
        complain("%s: %s", s->name, loss ? "out of memory" : "no scalar output to differentiate");
        free(w);
        return loss ? EXIT_RUN : EXIT_USAGE;
    }
    wg_graph_parameters(g, w, n);
    wg_status status = wg_grad(loss, w, n, w + n);
    if (status == WG_OK && n && !rate)
        rate = wg_fill(g, w[0]->dtype, WG_SCALAR, 1e-4);
    if (status == WG_OK && n)
        status = wg_adam_update(w, w + n, n, rate, NULL);
    if (status != WG_OK)
        complain("%s: %s", s->name, wg_graph_message(g));
    free(w);
    return exit_code(status);
}

/* ---- numbers --------------------------------------------------------------------------------- */

void source_fill(const source *s, const wg_value *v, void *data, uint64_t seed)
{
    uint64_t state = wgi_hash_u64(wgi_hash_text(v->name ? v->name : ""), seed);
    int64_t below = v->name && wg_dtype_is_int(v->dtype) ? source_range(s, v->name) : 2;
    int64_t count = wg_value_count(v);
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = wgi_splitmix64(&state);
        double real = 2 * (((double)(bits >> 41) + 0.5) * 0x1p-23) - 1; /* exact in f32 */
        bool whole = !wg_dtype_is_float(v->dtype);
        wgi_put_element(data, v->dtype, i, whole ? (double)(bits % (uint64_t)below) : real);
    }
}

void source_fill_inputs(const source *s, wg_plan *p, wg_graph *g, uint64_t seed)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        void *data = v->node->op->flags & WG_OP_INPUT ? wg_plan_data(p, v) : NULL;
        if (data)
            source_fill(s, v, data, seed);
    }
}
