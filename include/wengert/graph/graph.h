/* The computation graph as its user sees it.
 *
 * A graph holds nodes, not data.  Builders (wengert/ops/ops.h) append nodes in topological
 * order, infer and check shapes at once, and never abort: the first error sticks to the graph
 * with op, operands, numbers, scope and file:line; from then on every builder returns NULL, and
 * a NULL operand passes through, so that model code needs no ladders of ifs.  One check of
 * wg_graph_status (or of the status of wg_plan_create, which repeats it) is enough.
 *
 * Ownership: everything of a graph (nodes, values, names, attributes, constants) lives in its
 * arena and is freed by wg_graph_free.  A graph is not thread-safe; different graphs are
 * independent. */
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

/** One tensor of the computation.  Read its fields; the graph writes them. */
typedef struct wg_value {
    wg_node *node;    /* the node that computes it */
    int index;        /* which of the node's results it is */
    wg_dtype dtype;   /* of its elements */
    wg_shape shape;   /* dense, row-major */
    const char *name; /* full name ("encoder/ff1/weight") or NULL */
    uint32_t id;      /* 0, 1, 2, ... in order of creation */
} wg_value;

/** Its argument as a string literal, unexpanded. */
#define WG_TEXT_OF(x) #x
/** Its argument as a string literal, macros expanded. */
#define WG_TEXT(x) WG_TEXT_OF(x)
/** The caller's "file:line".  Each builder is a function whose first parameter is this text, hidden
 *  by a macro of the same name: wg_relu(x) stands for wg_relu(WG_HERE, x). */
#define WG_HERE __FILE__ ":" WG_TEXT(__LINE__)

/** What a node belongs to. */
typedef enum wg_phase {
    WG_FORWARD = 0, /* the model and its loss */
    WG_BACKWARD,    /* what wg_grad and wg_vjp build */
    WG_UPDATE       /* what optimizers build */
} wg_phase;

/** An empty graph, or NULL without memory.  The caller frees it. */
WG_API wg_graph *wg_graph_new(void);
/** Frees the graph with all its nodes and values; NULL is allowed. */
WG_API void wg_graph_free(wg_graph *g);

/** The first error, or WG_OK; WG_ENOMEM for NULL. */
WG_API wg_status wg_graph_status(const wg_graph *g);
/** The first error as "scope: op(operands): what (file:line)", or "".  Lives as long as the
 *  graph. */
WG_API const char *wg_graph_message(const wg_graph *g);

/** Adds a name without slash to the scope, the path under which nodes are built:
 *  "encoder/layer3/self_attn".  Scopes name parameters, appear in messages and are the boxes of the
 *  picture. */
WG_API void wg_scope_push(wg_graph *g, const char *format, ...) WG_PRINTF(2, 3);
/** Removes the last name of the scope; an error at the top. */
WG_API void wg_scope_pop(wg_graph *g);
/** Activations of the current scope are recomputed in the backward pass instead of stored
 *  (activation checkpointing): only the values that enter the scope are kept.  Same numbers, less
 *  memory, one more forward pass of the scope.  Of nested marked scopes the outermost counts. */
WG_API void wg_scope_recompute(wg_graph *g);
/** The current path, "" at the top. */
WG_API const char *wg_scope_path(const wg_graph *g);

/** The graph to which a value belongs; NULL for NULL. */
WG_API wg_graph *wg_graph_of(const wg_value *v);
/** The i-th result of the node that computes v (top-k's indices, layernorm's mean); NULL passes
 *  through. */
WG_API wg_value *wg_result_of(wg_value *v, int i);
/** Names v, below its scope, for messages, prints and pictures; returns v. */
WG_API wg_value *wg_name(wg_value *v, const char *format, ...) WG_PRINTF(2, 3);

/** Marks v as an output: a plan computes the outputs, the assignments and what these need.  `name`
 *  is copied and may be NULL.  Returns v, or NULL if the graph is in error. */
WG_API wg_value *wg_output(wg_value *v, const char *name);
/** At the end of a run, `leaf` (a parameter or a state) takes the value of `v` (same shape and
 *  dtype).  All readers of the leaf within the run see the old value, whatever their order. */
WG_API void(wg_assign)(const char *at, wg_value *leaf, wg_value *v);
#define wg_assign(...) wg_assign(WG_HERE, __VA_ARGS__)

/** Number of nodes; 0 for NULL, as the other counts. */
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
/** Its name, "" if it has none; NULL past the end. */
WG_API const char *wg_graph_output_name(const wg_graph *g, size_t i);
/** Number of assignments. */
WG_API size_t wg_graph_assign_count(const wg_graph *g);
/** The i-th assignment in the order of wg_assign: *leaf takes the value of *v.  Both NULL past the
 *  end. */
WG_API void wg_graph_assign_at(const wg_graph *g, size_t i, wg_value **leaf, wg_value **v);

/** Writes up to `max` parameters, in order of creation, into `out` (may be NULL when max is 0);
 *  returns how many there are. */
WG_API size_t wg_graph_parameters(const wg_graph *g, wg_value **out, size_t max);
/** The value with that full name (leaves and named values), or NULL. */
WG_API wg_value *wg_graph_find(const wg_graph *g, const char *name);

/** Derives every shape and dtype again, checks operand order, arity and attributes; the first
 *  disagreement becomes the graph's status, which is returned, and message. */
WG_API wg_status wg_graph_verify(wg_graph *g);

/** Writes one line per node, the same bytes for the same graph.  WG_EIO if writing fails. */
WG_API WG_MUST_USE wg_status wg_graph_print(const wg_graph *g, FILE *file);

/** A hash of structure (ops, attributes, shapes, wiring; not names, scopes or source lines): equal
 *  graphs have equal hashes on every machine. */
WG_API uint64_t wg_graph_hash(const wg_graph *g);

/** How wg_graph_clone copies.  Zero means the default in every field. */
typedef struct wg_clone_options {
    wg_dtype f32_as; /* f32 becomes this dtype, in values and attributes; 0: keep */
    bool keep_all;   /* also nodes that no output or assignment needs */
    /** Called for each node n of g that is copied, with its operands' copies `in`, in n's scope,
     *  line and phase.  true: it has written into y, n->n_out places, what stands for n's results
     *  in `to` (NULL: nothing, for results without readers).  false: n is copied. */
    bool (*replace)(void *context, wg_graph *to, const struct wg_node *n, wg_value *const *in,
                    wg_value **y);
    void *context; /* first argument of `replace` */
} wg_clone_options;

/** A copy in a graph of its own.  `options` may be NULL.  `map`, if not NULL, has
 *  wg_graph_value_count(g) places and receives the copy of each value, NULL for values that were
 *  not needed.  Returns NULL if g is in error or without memory; an error in building the copy
 *  is the copy's own status.  The caller frees the copy. */
WG_API wg_graph *wg_graph_clone(const wg_graph *g, const wg_clone_options *options, wg_value **map);

#ifdef __cplusplus
}
#endif
#endif
