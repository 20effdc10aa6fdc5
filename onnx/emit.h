/* Messages of ONNX in the making: what the functions of an export use.
 *
 * Texts, nodes and tensors live in the memory of a graph of work.  After an error (no memory) they
 * are NULL, which all functions accept. */
#ifndef WG_ONNX_EMIT_H
#define WG_ONNX_EMIT_H

#include "onnx/names.h"
#include "onnx/tensor.h"
#include "wengert/graph/op.h"

/* A list of pointers that grows. */
typedef struct ox_list {
    void **item;
    size_t n, capacity;
} ox_list;

typedef struct ox_export {
    wg_graph *graph;   /* what is written, lowered to ops that ONNX has forms for; and memory */
    const char **name; /* [values] in the file, by id of value; NULL: none yet */
    ox_names names;    /* all that are taken */
    ox_list nodes, initializers;
    size_t next; /* number of the next made-up name */
    bool failed; /* no memory */
} ox_export;

/* Memory of the export, zeroed; NULL without. */
void *wgi_ox_room(ox_export *e, size_t size);
/* A text that no value has yet: `wanted`, or one made of it. */
const char *wgi_ox_new_name(ox_export *e, const char *wanted);
/* The name of a value of the graph. */
const char *wgi_ox_name(ox_export *e, const wg_value *v);
/* Whether a node or an output of the graph reads v. */
bool wgi_ox_is_read(const wg_value *v);

/* A node with `n_in` operands ("" or NULL: absent) and one result, whose name is `out`, or new for
 * NULL. */
ox_node_proto *wgi_ox_node(ox_export *e, const char *op, const char *const *in, size_t n_in,
                           const char *out);
/* The name of its first result. */
const char *wgi_ox_result(const ox_node_proto *p);
/* Adds a further result. */
void wgi_ox_add_result(ox_export *e, ox_node_proto *p, const char *name);

void wgi_ox_set_int(ox_export *e, ox_node_proto *p, const char *name, int64_t value);
void wgi_ox_set_ints(ox_export *e, ox_node_proto *p, const char *name, const int64_t *at, size_t n);
void wgi_ox_set_real(ox_export *e, ox_node_proto *p, const char *name, double value);
void wgi_ox_set_word(ox_export *e, ox_node_proto *p, const char *name, const char *value);

/* A tensor that the file has the numbers of; returns its name.  `data` is not copied. */
const char *wgi_ox_tensor(ox_export *e, const char *name, wg_dtype dtype, const wg_shape *shape,
                          const void *data);
/* The same of numbers that nobody trains.  Floats with axes become a node Constant: readers take
 * such initializers for parameters, as wg_onnx_import does. */
const char *wgi_ox_fixed(ox_export *e, const char *name, wg_dtype dtype, const wg_shape *shape,
                         const void *data);
/* A list of integers, and one number of that dtype, as such tensors. */
const char *wgi_ox_list_of(ox_export *e, const int64_t *at, size_t n);
const char *wgi_ox_number(ox_export *e, wg_dtype dtype, double x);

/* An input or output of the graph. */
ox_value_proto *wgi_ox_port(ox_export *e, const char *name, wg_dtype dtype, const wg_shape *shape);

bool wgi_ox_push(ox_export *e, ox_list *list, void *item);

#endif
