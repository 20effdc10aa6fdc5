/* The computation graph as its user sees it.
 *
 * A graph holds nodes, not data.  Builders (wengert/ops/ops.h) append nodes in topological order,
 * infer and check shapes at once, and never abort.  The first error sticks to the graph, with op,
 * operands, numbers, scope and file:line.  From then on every builder returns NULL, and every
 * builder accepts a NULL operand, so model code needs no checks of its own.  One check of
 * wg_graph_status (or of the status of wg_plan_create, which repeats it) is enough.
 *
 * Ownership: everything in a graph (nodes, values, names, attributes, constants) lives in its arena
 * and is freed by wg_graph_free.  A graph is not thread-safe; different graphs are independent. */
#ifndef WG_GRAPH_GRAPH_H
#define WG_GRAPH_GRAPH_H

#include "wengert/graph/shape.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A graph under construction or complete; opaque. */
typedef struct wg_graph wg_graph;
/** One application of an op: wengert/graph/node.h. */
typedef struct wg_node wg_node;

/** One tensor of the computation.  Read only: the graph writes its fields. */
typedef struct wg_value {
    wg_node *node;    /* the node that computes it */
    int index;        /* which of the node's results it is */
    wg_dtype dtype;   /* of its elements */
    wg_shape shape;   /* dense, row-major */
    const char *name; /* full name ("encoder/ff1/weight") or NULL */
    uint32_t id;      /* 0, 1, 2, ... in order of creation */
} wg_value;

/** The argument as a string literal, macros not expanded. */
#define WG_TEXT_OF(x) #x
/** The argument as a string literal, macros expanded. */
#define WG_TEXT(x) WG_TEXT_OF(x)
/** The caller's "file:line".  Each builder is a function whose first parameter is this text, hidden
 *  by a macro of the same name: wg_relu(x) stands for wg_relu(WG_HERE, x). */
#define WG_HERE __FILE__ ":" WG_TEXT(__LINE__)

/** The part of a training step that a node belongs to. */
typedef enum wg_phase {
    WG_FORWARD = 0, /* the model and its loss */
    WG_BACKWARD,    /* what wg_grad and wg_vjp build */
    WG_UPDATE       /* what optimizers build */
} wg_phase;

/** An empty graph, which the caller frees with wg_graph_free; NULL if out of memory. */
WG_API wg_graph *wg_graph_new(void);
/** Frees the graph with all its nodes and values; NULL is allowed. */
WG_API void wg_graph_free(wg_graph *g);

/** The status of the first error, or WG_OK; WG_ENOMEM for NULL. */
WG_API wg_status wg_graph_status(const wg_graph *g);
/** The first error as "scope: op(operands): what (file:line)", or "".  If there is none, why the
 *  last wg_plan_create failed, until the next node or plan; that leaves the status WG_OK.  Lives
 *  until then, or as long as the graph. */
WG_API const char *wg_graph_message(const wg_graph *g);

/** Appends a name (without '/') to the current scope, the path under which nodes are built:
 *  "encoder/layer3/self_attn".  Scopes prefix the names of parameters, appear in messages and are
 *  the boxes of a picture. */
WG_API void wg_scope_push(wg_graph *g, const char *format, ...) WG_PRINTF(2, 3);
/** Removes the last name of the current scope; an error at the top. */
WG_API void wg_scope_pop(wg_graph *g);
/** Marks the current scope for recomputation (activation checkpointing): the backward pass computes
 *  its activations again, and only the values that enter the scope are kept.  The results are the
 *  same bits, for less memory and one more forward pass of the scope.  Of nested marked scopes the
 *  outermost counts. */
WG_API void wg_scope_recompute(wg_graph *g);
/** Marks the current scope (at the top, the whole graph): from now on, creating a parameter or a
 *  state under a name that exists returns the existing one instead of failing.  Dtype, shape and
 *  initial values must match.  A layer that is called twice under one name thus has one set of
 *  weights, whose gradient is the sum over both uses. */
WG_API void wg_scope_reuse(wg_graph *g);
/** Marks the current scope: its parameters are moving averages of those outside, which must already
 *  exist.  In the scope "teacher", wg_parameter(g, "w", ...) of "teacher/encoder" is the state
 *  "teacher/encoder/w" next to the parameter "encoder/w", of the same dtype and shape.  It has no
 *  gradient; wg_average_update updates it, and until the first such update it has the parameter's
 *  value.  An error at the top. */
WG_API void wg_scope_average(wg_graph *g);
/** Marks the current scope, or at the top the whole graph: layers keep their parameters in `dtype`
 *  and cast them to the dtype of their activations, so that a model in bf16 is trained with
 *  parameters, gradients and moments in f32.  WG_DTYPE_DEFAULT, the initial setting: parameters
 *  have the dtype of the activations.  The mark does not affect parameters that a program creates
 *  with wg_parameter. */
WG_API void wg_scope_parameter_dtype(wg_graph *g, wg_dtype dtype);
/** The current path, "" at the top. */
WG_API const char *wg_scope_path(const wg_graph *g);

/** The graph to which a value belongs; NULL for NULL. */
WG_API wg_graph *wg_graph_of(const wg_value *v);
/** The i-th result of the node that computes v (the indices of top-k, the mean of layernorm); NULL
 *  passes through. */
WG_API wg_value *wg_result_of(wg_value *v, int i);
/** Names v within its scope, for messages, prints and pictures; returns v.  A parameter, a state or
 *  an input keeps the name that it was made with, under which the store has its tensor. */
WG_API wg_value *wg_name(wg_value *v, const char *format, ...) WG_PRINTF(2, 3);

/** Marks v as an output: a plan computes the outputs, the assignments, and what they need.  `name`
 *  is copied and may be NULL; it is an error if the output of another value already has that name.
 *  An output that is a leaf, or a view of one such as a reshape, shows what the leaf holds: after a
 *  run that assigns to it, the new numbers.  Returns v, or NULL if the graph is in error. */
WG_API wg_value *wg_output(wg_value *v, const char *name);
/** At the end of a run, `leaf` (a parameter or a state, assigned only once) takes the value of `v`
 *  (same shape and dtype).  Within the run all readers of the leaf see the old value, in any
 *  order. */
WG_API void(wg_assign)(const char *at, wg_value *leaf, wg_value *v);
#define wg_assign(...) wg_assign(WG_HERE, __VA_ARGS__)

/** Number of nodes; 0 for NULL, like the other counts. */
WG_API size_t wg_graph_node_count(const wg_graph *g);
/** The node with id i; NULL past the end. */
WG_API wg_node *wg_graph_node(const wg_graph *g, size_t i);
/** Number of values. */
WG_API size_t wg_graph_value_count(const wg_graph *g);
/** The value with id i; NULL past the end. */
WG_API wg_value *wg_graph_value(const wg_graph *g, size_t i);
/** Number of outputs. */
WG_API size_t wg_graph_output_count(const wg_graph *g);
/** The i-th output in the order of wg_output; NULL past the end. */
WG_API wg_value *wg_graph_output(const wg_graph *g, size_t i);
/** The name of the i-th output, "" if it has none; NULL past the end. */
WG_API const char *wg_graph_output_name(const wg_graph *g, size_t i);
/** The output of that name, such as the logits of a model that was imported; NULL if there is
 *  none. */
WG_API wg_value *wg_graph_find_output(const wg_graph *g, const char *name);
/** Number of assignments. */
WG_API size_t wg_graph_assign_count(const wg_graph *g);
/** The i-th assignment in the order of wg_assign: *leaf takes the value of *v.  Both NULL past the
 *  end. */
WG_API void wg_graph_assign_at(const wg_graph *g, size_t i, wg_value **leaf, wg_value **v);

/** Writes up to `max` parameters, in order of creation, into `out` (may be NULL if max is 0);
 *  returns the number of all parameters, which may be more than `max`.  (wg_grad_all needs no
 *  array.) */
WG_API size_t wg_graph_parameters(const wg_graph *g, wg_value **out, size_t max);
/** The leaf or named value with that full name, or NULL.  Names of outputs (wg_output) are
 *  separate: wg_graph_find_output looks them up. */
WG_API wg_value *wg_graph_find(const wg_graph *g, const char *name);

/** Infers every shape and dtype again, and checks operand order, arity and attributes, and that no
 *  scope is open.  The first mismatch becomes the graph's error.  Returns the graph's status. */
WG_API wg_status wg_graph_verify(wg_graph *g);

/** Writes one line per node; equal graphs give equal bytes.  WG_EIO if writing fails. */
WG_API WG_MUST_USE wg_status wg_graph_print(const wg_graph *g, FILE *file);

/** A hash of the structure (ops, attributes, shapes, wiring; not names, scopes or source lines):
 *  equal graphs have equal hashes on every machine. */
WG_API uint64_t wg_graph_hash(const wg_graph *g);

/** How wg_graph_clone copies.  Zero means the default in every field. */
typedef struct wg_clone_options {
    wg_dtype floats_as; /* all floats become this dtype, in values and attributes; 0: keep */
    bool keep_all;      /* also nodes that no output or assignment needs */
    /** Called for each node n of g that is needed, with the copies `in` of its operands, in n's
     *  scope, line and phase.  Returns true if it has replaced n: y[0 .. n->n_out) are then the
     *  values of `to` that stand for n's results (NULL: for a result that nothing reads).  Returns
     *  false to have n copied. */
    bool (*replace)(void *context, wg_graph *to, const struct wg_node *n, wg_value *const *in,
                    wg_value **y);
    void *context; /* first argument of `replace` */
} wg_clone_options;

/** Copies g to a new graph.  `options` may be NULL.  `map`, if not NULL, has
 *  wg_graph_value_count(g) entries and receives the copy of each value, NULL for values that were
 *  not needed.  Returns NULL if g is in error or memory runs out; an error while building the copy
 *  is the status of the copy.  The caller frees the copy. */
WG_API wg_graph *wg_graph_clone(const wg_graph *g, const wg_clone_options *options, wg_value **map);

#ifdef __cplusplus
}
#endif
#endif
