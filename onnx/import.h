/* The inside of an import. */
#ifndef WG_ONNX_IMPORT_H
#define WG_ONNX_IMPORT_H

#include "onnx/names.h"
#include "onnx/op.h"

/* Names of a graph; those of a subgraph hide those around it. */
typedef struct ox_scope {
    const struct ox_scope *parent; /* NULL: none */
    ox_names names;
    const ox_node *call; /* of a function of the file, whose attributes its nodes may name */
    const struct ox_scope *caller;     /* where the call is */
    const ox_function_proto *function; /* what is called */
    const char *inside;                /* "" or "subgraph of node 3: ", for messages */
} ox_scope;

/* Domains and their versions. */
typedef struct ox_opsets {
    int64_t main, training; /* 0: not imported */
} ox_opsets;

struct ox_import {
    ox_file file;
    const ox_model_proto *model; /* its message */
    wg_onnx_import_options options;
    ox_opsets opsets;
    wg_graph *graph; /* of work: values that are computed while the file is read are in it too */
    ox_scope *scope;
    const wg_onnx_tensor **numbers; /* [cap_numbers] by id of value: known ones; or NULL */
    size_t cap_numbers;
    unsigned char *fixed; /* [cap_fixed] by id of node: numbers.c */
    size_t cap_fixed, n_fixed;
    struct ox_owned {
        wg_onnx_tensor tensor;
        struct ox_owned *next;
    } * owned; /* tensors to free */
    wg_error *error;
    wg_status status; /* of the first error */
    int depth;        /* of subgraphs and functions within each other */
    size_t steps;     /* nodes built, those of unrolled loops included */
    char needed[200]; /* an input whose numbers must be known, and are not; "" if none is */
    bool trial;       /* the graph is not for a caller */
    bool sized;       /* the caller has given a size, or numbers of an input */
    /* Builds the nodes of a subgraph whose inputs are `in`; false after an error.  Set by import.c,
     * which the ops must not call. */
    bool (*subgraph)(ox_node *n, const ox_graph_proto *g, ox_item *const *in, size_t n_in,
                     ox_item **out, size_t n_out);
};

/* The table. */
const ox_op *wgi_ox_op_at(size_t i); /* NULL past the end */
const ox_op *wgi_ox_op_find(const char *domain, const char *name);
/* Whether the domain is ai.onnx, which may also be called "". */
bool wgi_ox_is_main(const char *domain);

/* Whether the attributes of a node are those that its op has, and fit the standard; else an
 * error. */
bool wgi_ox_check_attributes(ox_node *n);

/* Adds the inputs of the main graph that have no initializer; false after an error. */
bool wgi_ox_add_inputs(ox_import *m, const ox_graph_proto *g);
/* The input of the main graph that has that name; NULL, with an error, if none has. */
const ox_value_proto *wgi_ox_find_input(ox_import *m, const char *name);
/* What the caller knows of an input; NULL: nothing. */
const wg_onnx_known *wgi_ox_find_known(const ox_import *m, const char *name);
/* Whether the file says the size of an axis. */
bool wgi_ox_is_fixed_dim(const ox_dim_proto *d);
/* The tensor type of an input or output; NULL: the file says none. */
const WgiOnnx__TypeProto__Tensor *wgi_ox_tensor_type(const ox_value_proto *v);
/* The shape of an input of which the file does not say how many axes it has: what the caller gave;
 * false after an error. */
bool wgi_ox_take_dims(ox_import *m, const char *input, wg_shape *shape);
/* The names of the sizes that inputs leave free, between these quotes and with commas. */
void wgi_ox_print_dims(const ox_graph_proto *g, const char *quote, FILE *f);
/* The size of an axis of an input: that of the file, or what the caller gave; false after an
 * error. */
bool wgi_ox_take_dim(ox_import *m, const char *input, int axis, const ox_dim_proto *d,
                     int64_t *size);
/* Whether each dimension that has been given a size is a free one of an input, and each shape that
 * has been given one that an input can have; else an error. */
bool wgi_ox_check_dims(ox_import *m);
/* Compares values with what the file declares of them.  An output of another dtype is an error, and
 * so is one of another size if the file has all sizes; else the first size that differs is a
 * warning. */
bool wgi_ox_check_declared(ox_import *m);

/* Whether v is computed from constants alone. */
bool wgi_ox_is_fixed(ox_import *m, const wg_value *v);
/* The input or other leaf that v depends on; NULL if it is fixed. */
const wg_value *wgi_ox_blame(ox_import *m, const wg_value *v);
/* Its numbers, computed if they are not known yet; NULL after an error, which is in m->error. */
const wg_onnx_tensor *wgi_ox_compute(ox_import *m, const wg_value *v);
/* The same of any value; NULL without an error if its numbers are not fixed, or too many. */
const wg_onnx_tensor *wgi_ox_numbers(ox_import *m, const wg_value *v);
/* A tensor that lives as long as the import; NULL without memory. */
wg_onnx_tensor *wgi_ox_own(ox_import *m);
/* An initializer with its numbers, which stay in the file until somebody asks for them; NULL after
 * an error.  wgi_ox_unload frees them, until somebody asks again. */
const wg_onnx_tensor *wgi_ox_load(ox_import *m, ox_item *item);
void wgi_ox_unload(ox_item *item);
/* Says what is wrong with an initializer, which m->error does already; false. */
bool wgi_ox_bad_initializer(ox_import *m, const ox_item *item, wg_status status);

/* The status of an error that lies in the file: what a builder refuses there is bad data. */
wg_status wgi_ox_status(wg_status of_builder);
/* Sets the first error: "FILE: text"; returns false. */
bool wgi_ox_stop(ox_import *m, wg_status status, const char *format, ...) WG_PRINTF(3, 4);
/* The item of that name, or NULL; a result that could not be made is an error. */
ox_item *wgi_ox_lookup(ox_import *m, const char *name);
/* A new item under that name in m->scope; NULL after an error. */
ox_item *wgi_ox_declare(ox_import *m, const char *name);
/* The value of an item: a tensor becomes a parameter or a constant at its first use. */
wg_value *wgi_ox_value(ox_import *m, ox_item *item);
/* Whether a leaf may have that name. */
bool wgi_ox_is_leaf_name(const char *name);
/* What lies behind the last slash becomes the label of a computed value that has none, if it can be
 * one; v may be NULL. */
void wgi_ox_label(wg_value *v, const char *name);

#endif
