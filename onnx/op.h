/* What a function that imports one op sees: a node of the file, with its operands and attributes.
 *
 * Such a function builds plain ops in the graph of the import and returns result 0, or NULL after
 * an error, which the import keeps: of the graph (a builder's), or by wgi_ox_fail.  Operands may be
 * NULL after an error; builders accept that. */
#ifndef WG_ONNX_OP_H
#define WG_ONNX_OP_H

#include "onnx/limits.h"
#include "onnx/tensor.h"
#include "wengert/ops/ops.h"

typedef struct ox_import ox_import;
typedef struct ox_node ox_node;

/* How a node of the file is built. */
typedef wg_value *ox_build(ox_node *n);
typedef wg_value *ox_unary(const char *at, wg_value *x);
typedef wg_value *ox_binary(const char *at, wg_value *a, wg_value *b);
typedef wg_value *ox_reduction(const char *at, wg_value *x, wg_axes axes, wg_keep keep);

enum {
    OX_WRAP = 1,     /* integers of fewer bits wrap around: arithmetic */
    OX_TRAINING = 2, /* of the domain ai.onnx.preview.training */
    OX_IN_FLOATS = 4 /* of a reduction: integers are reduced in f64 */
};

/* A row of the table of ops: the first of unary, binary, reduce and build that is not NULL builds
 * it. */
typedef struct ox_op {
    const char *name;
    int since;    /* the first opset that has it */
    int min, max; /* operands that must be there, that may be there */
    ox_build *build;
    ox_unary *unary;
    ox_binary *binary;
    ox_reduction *reduce; /* by wgi_ox_reduce */
    int flags;
    const char *attributes; /* names, of all opsets, with spaces between */
    const char *limits;     /* what is refused; NULL: nothing */
} ox_op;

/* What a name stands for. */
typedef struct ox_item {
    const char *name;
    wg_value *value;              /* NULL: a tensor that no node has read yet, or a failure */
    const ox_type *type;          /* of the elements */
    wg_onnx_tensor *tensor;       /* of an initializer: see wgi_ox_load; or NULL */
    const ox_tensor_proto *proto; /* the same in the file */
    bool is_initializer;          /* of the main graph: it may become a parameter */
    const char *missing; /* of a result that is not supported: the message, if somebody reads it */
} ox_item;

struct ox_node {
    ox_import *import;
    const ox_node_proto *proto;
    const ox_op *op;
    wg_graph *graph;
    int64_t opset;
    size_t number;     /* among the nodes of its graph */
    ox_item **operand; /* n_operands; NULL: absent */
    size_t n_operands;
    wg_value *result[OX_MAX_RESULTS];
    const ox_type *type[OX_MAX_RESULTS]; /* NULL: as wgi_ox_settle says */
};

/* Lists in the memory of the import. */
typedef struct ox_ints {
    size_t n;
    const int64_t *at;
} ox_ints;
typedef struct ox_reals {
    size_t n;
    const double *at;
} ox_reals;

/* ---- failing --------------------------------------------------------------------------------- */

/* The first error of the import, with the name of the file and the node before it; returns NULL. */
wg_value *wgi_ox_fail(ox_node *n, wg_status status, const char *format, ...) WG_PRINTF(3, 4);
/* "not supported: ..." */
wg_value *wgi_ox_refuse(ox_node *n, const char *format, ...) WG_PRINTF(2, 3);
bool wgi_ox_failed(const ox_node *n);
/* The message that result i, of that name, is not supported; NULL without memory. */
const char *wgi_ox_missing(ox_node *n, size_t i, const char *name);

/* ---- operands -------------------------------------------------------------------------------- */

/* Operand i, or NULL if it is absent. */
wg_value *wgi_ox_in(ox_node *n, int i);
/* Operand 1 of an op with two.  Before opset 7 it was aligned with the axis `axis` of operand 0,
 * and broadcast only if the attribute `broadcast` said so. */
wg_value *wgi_ox_second(ox_node *n);
/* Whether operand i is there. */
bool wgi_ox_has(const ox_node *n, int i);
/* Its element type; NULL if it is absent. */
const ox_type *wgi_ox_type_in(const ox_node *n, int i);
/* Running statistics: an initializer that no node has read yet becomes a state. */
wg_value *wgi_ox_state(ox_node *n, int i);
/* Whether the numbers of operand i are known while the file is read. */
bool wgi_ox_known(ox_node *n, int i);
/* The numbers of operand i, of integers.  false, after an error, if they depend on an input. */
bool wgi_ox_ints_in(ox_node *n, int i, ox_ints *out);
/* The same of any numbers, as doubles. */
bool wgi_ox_reals_in(ox_node *n, int i, ox_reals *out);
/* The one number of operand i, or `otherwise` if it is absent. */
double wgi_ox_real_in(ox_node *n, int i, double otherwise);
/* The same, truncated to an integer; an error beyond 2^53. */
int64_t wgi_ox_int_in(ox_node *n, int i, int64_t otherwise);

/* Whether result i has a name, so that it is wanted. */
bool wgi_ox_wants(const ox_node *n, int i);
/* Sets result i > 0. */
void wgi_ox_set(ox_node *n, int i, wg_value *v);

/* ---- attributes ------------------------------------------------------------------------------ */

const ox_attribute_proto *wgi_ox_attribute(ox_node *n, const char *name); /* or NULL */
int64_t wgi_ox_int(ox_node *n, const char *name, int64_t otherwise);
double wgi_ox_real(ox_node *n, const char *name, double otherwise);
const char *wgi_ox_word(ox_node *n, const char *name, const char *otherwise);
/* Says that an attribute is none of the words, which have spaces between; returns false. */
bool wgi_ox_fail_word(ox_node *n, const char *attribute, const char *words, const char *got);
/* false if the attribute is absent. */
bool wgi_ox_ints(ox_node *n, const char *name, ox_ints *out);
bool wgi_ox_reals(ox_node *n, const char *name, ox_reals *out);
/* The i-th of the texts of that name; NULL if there are fewer. */
const char *wgi_ox_word_at(ox_node *n, const char *name, size_t i);
/* The numbers of operand i if it is there, else of the attribute; false if neither is, or after an
 * error. */
bool wgi_ox_ints_of(ox_node *n, int i, const char *name, ox_ints *out);

/* ---- building -------------------------------------------------------------------------------- */

/* Operand 0 reduced along the axes that operand 1 or an attribute names. */
wg_value *wgi_ox_reduce(ox_node *n, ox_reduction *f);
/* An axis from 0 on, of a tensor of that rank; -1 after an error. */
int wgi_ox_axis(ox_node *n, int64_t axis, int rank);
/* x in another dtype; x itself if it has it. */
wg_value *wgi_ox_cast(wg_value *x, wg_dtype dtype);
/* Integers wrapped to the bits of the type. */
wg_value *wgi_ox_wrap(wg_value *x, const ox_type *type);
/* a / b rounded toward 0, of integers. */
wg_value *wgi_ox_divide(wg_value *a, wg_value *b);
/* The numbers of a constant, in the dtype. */
wg_value *wgi_ox_constant(wg_graph *g, wg_dtype dtype, wg_shape shape, const double *numbers);
wg_value *wgi_ox_indices(wg_graph *g, const int64_t *numbers, int64_t n);
/* x as a matrix: the axes before `axis`, and those from it on. */
wg_value *wgi_ox_matrix(wg_value *x, int axis);
/* x with `before` and `after` elements of value around it; either may be negative. */
wg_value *wgi_ox_pad(ox_node *n, wg_value *x, const int64_t *before, const int64_t *after,
                     double value);
/* ids with those below 0 counted from the end of an axis of `size`. */
wg_value *wgi_ox_from_end(wg_value *ids, int64_t size);
/* Zeroed memory of the import, at most WGI_OX_TABLE_BYTES; NULL after an error. */
void *wgi_ox_alloc(ox_node *n, size_t size);

#endif
