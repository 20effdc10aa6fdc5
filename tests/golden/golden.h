/* Golden vectors: cases of (op, attributes, inputs) with the outputs and gradients that they must
 * have.
 *
 * A file is a safetensors file; CASE/in.NAME are inputs, CASE/out.y, CASE/out.1, ... outputs,
 * CASE/cot.y, ... random cotangents, CASE/grad.NAME the vector-Jacobian product with them.  The
 * metadata entry CASE is a JSON object: "op" and attributes in PyTorch's terms.  golden_table.c
 * maps these terms to builders. */
#ifndef WG_TESTS_GOLDEN_H
#define WG_TESTS_GOLDEN_H

#include "wengert.h"

#include <jansson.h>
#include <math.h>

enum { GOLDEN_TENSORS = 128 }; /* inputs, or outputs, of a case at most */

typedef struct golden_input {
    const char *name; /* "x"                       */
    const wg_file_tensor *tensor;
    wg_value *value;
    bool used;
} golden_input;

/* A case under construction.  The first thing that is wrong is kept as its reason. */
typedef struct golden {
    const char *name;
    wg_graph *graph;
    json_t *attrs; /* those that have not been asked for yet */
    golden_input in[GOLDEN_TENSORS];
    int n_in;
    wg_value *out[GOLDEN_TENSORS]; /* y, 1, 2, ... */
    int n_out;
    char reason[512];
} golden;

/* How a term of PyTorch's is built: fills c->out. */
typedef struct golden_op {
    const char *name;
    void (*build)(golden *c);
} golden_op;

/* The rows of the files of these names, ended by a NULL name; those of golden_table.c are its
 * own. */
extern const golden_op golden_nn_ops[], golden_layers[], golden_arrays[], golden_linalg[],
    golden_movement[];

/* Builds c by its op's row of the table.  Whatever is left over (an attribute or an input that no
 * builder asked for) is a failure: it would have meant something. */
void golden_build(golden *c, const char *op);

void golden_fail(golden *c, const char *format, ...) WG_PRINTF(2, 3);

/* What a case gives.  Several names for one thing are written "dim|axis"; the first that is there
 * is taken. */
wg_value *golden_in(golden *c, const char *names); /* NULL and a failure if it is not there */
int golden_all(golden *c, wg_value **x);           /* all inputs, in the order of their names */
wg_value *golden_in_maybe(golden *c, const char *names); /* NULL if it is not there */
bool golden_has(const golden *c, const char *names);     /* is there such an attribute? */
double golden_real(golden *c, const char *names, double otherwise);
int64_t golden_int(golden *c, const char *names, int64_t otherwise);
bool golden_bool(golden *c, const char *names, bool otherwise);
/* A text; valid as long as the case. */
const char *golden_text(golden *c, const char *names, const char *otherwise);
/* Up to `most` integers; a single number stands for `repeat` equal ones.  How many; -1 if it is not
 * there. */
int golden_ints(golden *c, const char *names, int64_t *out, int max, int repeat);
/* The same for real numbers, where a single one stands for all `most`; those not there are left as
 * they are. */
void golden_reals(golden *c, const char *names, double *out, int max);
bool golden_is_text(const golden *c, const char *name); /* is that attribute a text? */
int golden_axis(golden *c, const char *names, int otherwise);
/* A number or a list as axes; none given: all. */
wg_axes golden_axes(golden *c, const char *names);

/* Adds y, or y and the further results of its node, to the outputs. */
void golden_give(golden *c, wg_value *y);
void golden_give_results(golden *c, wg_value *y, int n);
bool golden_is(const char *a, const char *b); /* equal texts */
wg_value *golden_as_bool(wg_value *x);        /* cast, unless it is one; NULL for NULL */

#endif
