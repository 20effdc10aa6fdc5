/* wengert run: the numbers of a model's inputs, and what becomes of its outputs. */
#ifndef WG_CLI_RUN_H
#define WG_CLI_RUN_H

#include "cli/source.h"

enum { MAX_ARRAYS = 64 };

/* --input and --output: "NAME=FILE.npy", each of which may be repeated. */
typedef struct array_list {
    const char *name[MAX_ARRAYS], *file[MAX_ARRAYS];
    size_t n;
} array_list;

/* Numbers that a file has for one input. */
typedef struct given_numbers {
    const char *name, *file;
    const char *dtype_name; /* as messages call it */
    wg_dtype dtype;         /* WG_DTYPE_DEFAULT: one that the library lacks */
    wg_shape shape;
    const void *data; /* may be unaligned */
} given_numbers;

/* Those of all inputs, with the files that hold them; zero at first. */
typedef struct given_inputs {
    given_numbers *item;
    wg_onnx_shape *shapes; /* [n] */
    wg_onnx_known *known;  /* [n] for a FILE.onnx that needs the numbers while it is read */
    bool *needed;          /* [n] whether it did */
    size_t n;
    wg_safetensors *file; /* NULL: none */
    struct wgi_npy *arrays;
    size_t n_arrays;
} given_inputs;

/* Reads --inputs (NULL: none) and --input.  Complains and returns an exit code other than EXIT_OK
 * if that fails; inputs_free is due in any case. */
int inputs_read(given_inputs *in, const char *file, const array_list *arrays);
void inputs_free(given_inputs *in);
/* After the source could not be built: complains of each input that would have had to be known
 * while the file was read, and whose numbers could not be. */
void inputs_explain(const given_inputs *in, const source *s);
/* Whether the inputs of the source's graph are given, each in its shape and a dtype that can be
 * converted, and nothing else is; an exit code. */
int inputs_check(const given_inputs *in, const source *s, const wg_graph *g);
/* Fills the inputs of a plan of g in the dtypes that they have there; an exit code. */
int inputs_fill(const given_inputs *in, wg_plan *p, const wg_graph *g);

/* Complains that the model has no `what` (input, output) of that name: suggests the nearest of the
 * names that it has, or lists them. */
void complain_no_such(const char *model, const char *what, const char *name,
                      const char *const *names, size_t n);

/* The i-th output's name, or "output2" if it has none. */
enum { OUTPUT_NAME = 512 };
const char *output_name(const wg_graph *g, size_t i, char text[OUTPUT_NAME]);
/* Whether g has the outputs that --output names; an exit code. */
int outputs_check(const array_list *arrays, const source *s, const wg_graph *g);
/* Writes all outputs to --outputs (NULL: nowhere), and those of --output; prints a table of all if
 * there is neither.  An exit code. */
int outputs_deliver(const char *file, const array_list *arrays, wg_plan *p, const wg_graph *g);

#endif
