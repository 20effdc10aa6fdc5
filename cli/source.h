/* A graph by what the command line calls it, the same for every command:
 *
 *     mlp           a built-in model
 *     FILE.wg       a graph as text (docs/graph-file.md)
 *     FILE.onnx     an ONNX model (docs/onnx.md)
 *     model.so      a model in a shared object, whose code runs
 *     FOLDER        a model that was trained there */
#ifndef WG_CLI_SOURCE_H
#define WG_CLI_SOURCE_H

#include "cli/backends.h"

enum { MAX_RANGES = 32 };

/* What a command line says about sources. */
typedef struct source_options {
    const char *range[MAX_RANGES]; /* --range NAME=N: integers of that input are in [0, N) */
    size_t n_ranges;
    wg_onnx_dim dim[MAX_RANGES]; /* --dim NAME=N: sizes of symbolic dimensions of a FILE.onnx */
    size_t n_dims;
    const wg_onnx_shape *shapes; /* of inputs of a FILE.onnx, where numbers are given for them */
    size_t n_shapes;
    struct {
        const char *input, *numbers;
    } known[MAX_RANGES]; /* --known NAME=N,...: what is known of inputs of a FILE.onnx */
    size_t n_known;
    const wg_onnx_known *numbers; /* of inputs of a FILE.onnx, for when it needs them */
    size_t n_numbers;
    const char *ops; /* --ops MODEL.so: files may have its ops; NULL: none */
} source_options;

/* For argp_child; the parent hands its source_options on at ARGP_KEY_INIT, by
 * state->child_inputs. */
extern const struct argp source_argp;

/* The argp_child of a command that runs the graph of a source: its group of backends has that title
 * and number; that of the model follows. */
/* clang-format off */
#define BACKENDS_AND_MODEL(title, group)                                                           \
    {{&backend_argp, 0, title, group}, {&source_argp, 0, "Model:", (group) + 1}, {0}}
/* clang-format on */
/* What its parser does at ARGP_KEY_INIT. */
static inline void hand_on(struct argp_state *state, backend_choice *backends,
                           source_options *options)
{
    state->child_inputs[0] = backends;
    state->child_inputs[1] = options;
}

/* Where a graph comes from. */
typedef struct source {
    const char *name;       /* as given */
    const wg_model *model;  /* built in or loaded; NULL for a file */
    wg_loaded_model loaded; /* of a shared object: the model, or the ops of a file */
    bool is_file;           /* of a graph */
    bool is_onnx;
    wg_transformer_config trained; /* of a folder; d_model is 0 otherwise */
    source_options options;
} source;

/* Whether bench and its like should take a word for a source. */
bool is_source(const char *name);

/* Complains and returns EXIT_USAGE if there is an option that none of these sources can use. */
int source_check_options(const source_options *o, const char *const *name, size_t n);

/* Finds what the name means.  Complains and returns an exit code other than EXIT_OK if that fails;
 * source_close is due in any case. */
int source_open(source *s, const char *name, const source_options *options);
/* The same where the name is a folder's. */
int source_open_folder(source *s, const char *folder);
void source_close(source *s); /* after the graphs: their ops may be in the shared object */

/* The graph, which the caller frees, and the value to differentiate (may be NULL): that which the
 * model returns; of a file the output called loss, else the first scalar output.  Complains and
 * returns NULL after a failure; *code is then the exit code. */
wg_graph *source_build(const source *s, wg_value **loss, int *code);

/* The end of the range of an integer input: as asked, as the model says, or 2. */
int64_t source_range(const source *s, const char *input);

/* The numbers of a leaf: floats in (-1, 1), integers in the range, bools; of equal names and seeds
 * the same, rounded to the dtype of v. */
void source_fill(const source *s, const wg_value *v, void *data, uint64_t seed);
/* Those of all inputs of a plan of g. */
void source_fill_inputs(const source *s, wg_plan *p, wg_graph *g, uint64_t seed);

/* Adds the gradient of the loss: each parameter's derivative becomes an output "d NAME".  Complains
 * and returns an exit code other than EXIT_OK if that fails. */
int source_add_gradient(const source *s, wg_graph *g, wg_value *loss);
/* Adds the gradient, not as outputs, and a step of Adam for every parameter, at that rate (a
 * scalar; NULL: 1e-4).  Likewise. */
int source_add_update(const source *s, wg_graph *g, wg_value *loss, wg_value *rate);

#endif
