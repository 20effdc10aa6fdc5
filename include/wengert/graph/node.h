/* The nodes of a graph, for reading: by passes, backends, rules and tools. */
#ifndef WG_GRAPH_NODE_H
#define WG_GRAPH_NODE_H

#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What an operation is: wengert/graph/op.h. */
typedef struct wg_op wg_op;

/** A scope.  Scopes are interned: equal paths in one graph are equal pointers. */
typedef struct wg_scope {
    const struct wg_scope *parent; /* NULL at the top */
    const char *name;              /* last component, "" at the top */
    const char *path;              /* "encoder/layer3", "" at the top */
    int depth;                     /* 0 at the top */
    /* Marks, which hold for the scopes inside as well: */
    bool recompute;           /* its activations are recomputed: wg_scope_recompute */
    bool reuse;               /* its parameters are found again: wg_scope_reuse */
    bool average;             /* its parameters are moving averages: wg_scope_average */
    wg_dtype parameter_dtype; /* of layers' parameters: wg_scope_parameter_dtype; or 0 */
} wg_scope;

/** One application of an op.  Read only, except for a shape rule, which fills the results. */
struct wg_node {
    wg_graph *graph;       /* the graph that owns it */
    const wg_op *op;       /* what it computes */
    const void *attrs;     /* the op's own struct, owned by the graph; NULL if it has none */
    wg_value **in;         /* n_in operands, none NULL */
    wg_value **out;        /* n_out results */
    int n_in;              /* number of operands */
    int n_out;             /* number of results */
    const wg_scope *scope; /* where it was built */
    const char *at;        /* "file:line" of the user's call, or NULL */
    wg_phase phase;        /* forward, backward or update */
    uint32_t id;           /* 0, 1, 2, ... in order of creation */
};

/** Number of elements; 0 for NULL. */
WG_API int64_t wg_value_count(const wg_value *v);
/** Size along `axis`, which counts from the end if it is negative (-1: the last); 0 for an axis
 * that v lacks, and for NULL, so a model may call it even after an error. */
WG_API int64_t wg_value_dim(const wg_value *v, int axis);
/** Size in bytes; 0 for NULL. */
WG_API size_t wg_value_bytes(const wg_value *v);
/** Writes "%12" or the value's name into text of `size` bytes; returns text. */
WG_API const char *wg_value_text(const wg_value *v, char *text, size_t size);

/** Floating-point operations of one run of the node. */
WG_API double wg_node_flops(const wg_node *n);
/** Bytes that one run of the node reads and writes: those of its operands and results, of an
 * operand that it selects from as many as it selects; 0 for leaves and views, which move none. */
WG_API double wg_node_bytes(const wg_node *n);
/** Writes the attributes as "axis=1, keep=true" into text; returns text.  Long data is
 *  abbreviated. */
WG_API const char *wg_node_attrs_text(const wg_node *n, char *text, size_t size);
/** Writes "scope: op(operands): what (file:line)", the form of a graph's messages, into text;
 *  returns text. */
WG_API const char *wg_node_message(const wg_node *n, const char *what, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
