/* What an operation is: for authors of ops, passes and backends.  Model code needs wengert/ops/ops.h only.
 *
 * An op is one const struct that says everything about it: name, formula, operands, attributes,
 * shape rule, gradient rule, cost, samples.  Lists, documentation, generic tests, text print,
 * hashing, cloning and common-subexpression elimination are all driven by this struct, so an op
 * defined in a program outside the library has the same rights as a built-in one. */
#ifndef WG_GRAPH_OP_H
#define WG_GRAPH_OP_H

#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wg_op wg_op;

/* ---- nodes ----------------------------------------------------------------------------------- */

/** A scope is interned: equal paths are equal pointers. */
typedef struct wg_scope {
    const struct wg_scope *parent; /* NULL at the top          */
    const char *name;              /* last component, "" at the top */
    const char *path;              /* "encoder/layer3", "" at the top */
    int depth;                     /* 0 at the top             */
    bool recompute;                /* its activations are recomputed: see wg_scope_recompute */
} wg_scope;

/** One application of an op.  Read only, except for a shape rule, which fills the results. */
struct wg_node {
    wg_graph *graph;
    const wg_op *op;
    const void *attrs; /* the op's own struct, copied into the arena; NULL if it has none */
    wg_value **in;     /* n_in operands, none NULL */
    wg_value **out;    /* n_out results            */
    int n_in, n_out;
    const wg_scope *scope;
    const char *at; /* "file:line" of the user's call, or NULL */
    wg_phase phase;
    uint32_t id; /* 0, 1, 2, ... in order of creation */
};

/* ---- attributes ------------------------------------------------------------------------------ */

typedef enum wg_attr_kind {
    WG_ATTR_INT,   /* int64_t                                    */
    WG_ATTR_REAL,  /* double                                     */
    WG_ATTR_BOOL,  /* bool                                       */
    WG_ATTR_ENUM,  /* int, one of `names` (NULL-terminated)      */
    WG_ATTR_DTYPE, /* wg_dtype                                   */
    WG_ATTR_AXES,  /* wg_axes                                    */
    WG_ATTR_SHAPE, /* wg_shape                                   */
    WG_ATTR_TEXT,  /* const char *, copied into the arena        */
    WG_ATTR_DATA,  /* wg_data, bytes copied into the arena       */
    WG_ATTR_KEY,   /* int64_t: the key of a random op, by which alone two draws differ */
} wg_attr_kind;

typedef struct wg_data {
    const void *bytes;
    size_t size;
} wg_data;

/** One field of an op's attribute struct. */
typedef struct wg_attr {
    const char *name;
    wg_attr_kind kind;
    size_t offset;
    const char *const *names; /* of an enum */
} wg_attr;

/* WG_ATTR(INT, attrs, axis): the field `axis` of `struct attrs`. */
/* clang-format off */
#define WG_ATTR(kind, type, field) {#field, WG_ATTR_##kind, offsetof(type, field), 0}
#define WG_ATTR_NAMED(type, field, names) {#field, WG_ATTR_ENUM, offsetof(type, field), names}
/* clang-format on */

/* ---- running --------------------------------------------------------------------------------- */

/** Bytes of wg_call.message. */
enum { WG_CALL_MESSAGE = 256 };

/** One call of a kernel: what backends hand to kernels, the reference of a user-defined op included.
 *  Buffers are dense, row-major and 64-byte aligned; in[i] and out[j] have the shapes of
 *  node->in[i] and node->out[j].  An out may be the same buffer as an in only where the op's
 *  `inplace` allows it. */
typedef struct wg_call {
    const wg_node *node;
    const void *const *in;
    void *const *out;
    void *state;   /* of the kernel, as its backend prepared it */
    void *scratch; /* as many bytes as the kernel asked for when prepared */
    int threads;   /* at most so many threads; results must not depend on it */
    uint64_t seed; /* with `step` and the node's key, the counter of random ops */
    uint64_t step;
    wg_status status; /* set through wg_call_fail */
    char *message;    /* WG_CALL_MESSAGE bytes, owned by the caller of the kernel, or NULL */
} wg_call;

/** Reports that the numbers are wrong ("id 12 is outside [0,9)"); the run ends with WG_EDATA and the
 *  node's name.  Safe from several threads only if each passes its own call. */
WG_API void wg_call_fail(wg_call *call, const char *format, ...) WG_PRINTF(2, 3);

/* ---- samples: what generic tests feed an op -------------------------------------------------- */

enum { WG_MAX_SAMPLE_OPERANDS = 12 };

/** One operand.  Floats are drawn from (lo, hi), pairwise distinct over all operands of the sample
 * and
 *  away from the op's kinks; integers are drawn from [lo, hi); bools are random. */
typedef struct wg_sample_operand {
    wg_dtype dtype; /* 0: the float dtype under test */
    wg_shape shape;
    double lo, hi; /* both 0: (-2, 2) for floats, [0, 2) for integers */
} wg_sample_operand;

typedef struct wg_sample {
    const char *name; /* what it covers: "broadcast", "axis 0"; NULL when it is the only one */
    const void *attrs;
    int n_in;
    wg_sample_operand in[WG_MAX_SAMPLE_OPERANDS];
} wg_sample;

/* Operands for static tables: WG_FLOATS(lo, hi, rank, dims...), WG_INTS(lo, hi, rank, dims...). */
/* clang-format off */
#define WG_FLOATS(lo, hi, ...) {WG_DTYPE_DEFAULT, WG_STATIC_SHAPE(__VA_ARGS__), (lo), (hi)}
#define WG_INTS(lo, hi, ...) {WG_I64, WG_STATIC_SHAPE(__VA_ARGS__), (lo), (hi)}
#define WG_BOOLS(...) {WG_BOOL, WG_STATIC_SHAPE(__VA_ARGS__), 0, 0}
/* WG_STATIC_SHAPE(rank, dims...): {2, {3, 4}} for a static initialiser; rank 0 takes a dummy 0. */
#define WG_STATIC_SHAPE(rank, ...) {(rank), {__VA_ARGS__}}
/* clang-format on */

/* ---- the op ---------------------------------------------------------------------------------- */

enum {
    WG_OP_LEAF = 1 << 0,   /* no operands; its data come from outside: parameter, input, state */
    WG_OP_RANDOM = 1 << 1, /* depends on (seed, step): never folded */
    WG_OP_VIEW = 1 << 2,   /* result 0 has the very bytes of operand 0: nothing is copied */
    WG_OP_OPAQUE = 1 << 3, /* never merged with an equal node */
    WG_OP_ELEMENTWISE = 1 << 4, /* result element i depends on operand element i, broadcast */
    WG_OP_DISCRETE = 1 << 5,    /* the derivative is zero wherever it exists: floor, argmax */
    WG_OP_UPDATE = 1 << 6,      /* `inplace` holds for every result, not only result 0: kernels read
                                   element i of all operands before they write any */
    WG_OP_PARAMETER = 1 << 7,   /* a leaf that is trained: see wg_graph_parameters */
    WG_OP_STATE = 1 << 8,       /* a leaf that a step updates but no gradient trains */
    WG_OP_INPUT = 1 << 9,       /* a leaf that the caller fills */
    WG_OP_FILL = 1 << 10,       /* every element of the result is the one WG_ATTR_REAL attribute */
};

/** How a numeric derivative may be taken: decides step, formula and bar of the gradient check. */
typedef enum wg_smoothness {
    WG_SMOOTH = 0,      /* four-point differences, 1e-9                       */
    WG_KINKED,          /* smooth between kinks: two-point differences, 1e-8  */
    WG_PIECEWISE_LINEAR /* exact on dyadic points and steps: 1e-15            */
} wg_smoothness;

/** What a gradient rule reads besides the cotangents. */
enum { WG_READS_NOTHING = 0, WG_READS_X = 1, WG_READS_Y = 2 };

struct wg_op {
    const char *name;     /* as in text, DOT and messages: "matmul"         */
    const char *formula;  /* one line of mathematics                        */
    const char *family;   /* a heading of the op reference: "reduction"     */
    const char *operands; /* "x weight bias?": names; '?' optional, '*' any number; "" for none */
    const char *results;  /* "y mean rstd"; "y*" when the shape rule decides how many */
    unsigned flags;
    wg_smoothness smoothness;
    int reads;   /* WG_READS_* of `grad`                           */
    int inplace; /* bit i: result 0 may take the buffer of operand i, if of equal size */
    /** Instead of `inplace` where operands and results are lists: whether that result may take the
     * buffer of that
     *  operand, if of equal size. */
    bool (*overwrites)(int result, int operand);

    size_t attrs_size;
    const wg_attr *attrs; /* n_attrs fields                                 */
    int n_attrs;

    /** Shape rule: checks operands and attributes, sets dtype and shape of each result by
     * wg_set_result.
     *  false after wg_fail. */
    bool (*infer)(wg_node *n);

    /** Vector-Jacobian product: from the cotangents dy of the results (NULL: none, that is zero)
     * builds the
     *  cotangents dx of the operands; dx[i] left NULL means zero.  Where operand i was broadcast,
     *  dx[i] may have the result's shape: the walker sums it down.  NULL rule: through `expand`,
     *  else missing. */
    void (*grad)(wg_node *n, wg_value *const *dy, wg_value **dx);

    /** The op in terms of more primitive ops: the definition that every fused kernel is tested
     * against, and
     *  what a plan runs where no backend takes the op whole.  NULL for a primitive. */
    void (*expand)(wg_node *n, wg_value **y);

    /** Floating-point operations; NULL: one per element of the results. */
    double (*flops)(const wg_node *n);

    /** Kernel of the cpu backend for ops that it does not know, that is user-defined ones. */
    void (*reference)(wg_call *call);

    const wg_sample *samples;
    int n_samples;
    const double *kinks; /* sample floats keep away from these */
    int n_kinks;
};

/* WG_COUNT(array): for the n_ fields. */
#define WG_COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* ---- building -------------------------------------------------------------------------------- */

/** Appends a node.  `g` may be NULL if there are operands.  `attrs` is copied.  Trailing NULL
 * operands are
 *  taken as absent where the op has optional ones.  Returns NULL if the graph is or comes into
 *  error. */
WG_API wg_node *wg_apply(const char *at, wg_graph *g, const wg_op *op, const void *attrs,
                         wg_value *const *in, int n_in);
/* The same for fixed numbers of operands; these return result 0. */
WG_API wg_value *wg_apply0(const char *at, wg_graph *g, const wg_op *op, const void *attrs);
WG_API wg_value *wg_apply1(const char *at, const wg_op *op, const void *attrs, wg_value *a);
WG_API wg_value *wg_apply2(const char *at, const wg_op *op, const void *attrs, wg_value *a,
                           wg_value *b);
WG_API wg_value *wg_apply3(const char *at, const wg_op *op, const void *attrs, wg_value *a,
                           wg_value *b, wg_value *c);

/** Sticks an error to the graph, in the name of a builder that is no op: "scope: builder: text
 * (at)".
 *  Returns NULL, so that a builder can return it. */
WG_API wg_value *wg_graph_fail(wg_graph *g, wg_status status, const char *at, const char *builder,
                               const char *format, ...) WG_PRINTF(5, 6);

/** Gives a leaf its full name (scope path and `name`), which must be unique in the graph; returns v,
 * or NULL
 *  after an error. */
WG_API wg_value *wg_name_leaf(wg_value *v, const char *name);

/** Where new nodes belong.  The gradient walker and expansions set it, so that what they build
 * carries
 *  the scope, file:line and phase of the node it comes from. */
typedef struct wg_origin {
    const wg_scope *scope;
    const char *at; /* not NULL: replaces the builder's own file:line */
    wg_phase phase;
} wg_origin;
WG_API wg_origin wg_graph_origin(const wg_graph *g);
WG_API void wg_graph_set_origin(wg_graph *g, wg_origin origin);

/** The scope of the same path in g, where `s` may belong to another graph; NULL without memory. */
WG_API const wg_scope *wg_scope_of(wg_graph *g, const wg_scope *s);

/** A fresh key for a random node: same build order, same keys. */
WG_API uint64_t wg_graph_new_key(wg_graph *g);

/** Copies into the graph's arena; NULL without memory (then the graph is in error). */
WG_API void *wg_graph_alloc(wg_graph *g, size_t size);

/** Appends to `to` a copy of n with operands `in`: same op, attributes, scope, line and phase; no
 * name.
 *  `f32_as`, if not 0, replaces f32 in attributes (constant data are converted). */
WG_API wg_node *wg_node_copy(wg_graph *to, const wg_node *n, wg_value *const *in, wg_dtype f32_as);
/** The same, with any float dtype `from` of the attributes replaced by `as`. */
WG_API wg_node *wg_node_retype(wg_graph *to, const wg_node *n, wg_value *const *in, wg_dtype from,
                               wg_dtype as);

/** Gives v the name of `from`, a value of another graph; where another value has it, as a label
 * only.  false
 *  without memory. */
WG_API bool wg_name_copy(wg_value *v, const wg_value *from);

/** Builds the expansion of n (same operands) at the present end of the graph, under n's origin; y
 * has
 *  n->n_out places.  false if it has none or the graph is in error. */
WG_API bool wg_expand_node(wg_node *n, wg_value **y);

/* ---- the vocabulary of shape rules (graph/infer.c) ------------------------------------------- */

/** Error in the node under construction: "scope: op(operands): text (file:line)".  Returns
 * false. */
WG_API bool wg_fail(wg_node *n, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

WG_API bool wg_set_result(wg_node *n, int i, wg_dtype dtype, wg_shape shape);
/** For ops with results "y*": how many there are; call before wg_set_result. */
WG_API bool wg_set_result_count(wg_node *n, int count);

WG_API bool wg_need_float(wg_node *n, int i);  /* operand i is f32, f64 or bf16   */
WG_API bool wg_need_int(wg_node *n, int i);    /* i32 or i64                      */
WG_API bool wg_need_number(wg_node *n, int i); /* float or int                    */
WG_API bool wg_need_dtype(wg_node *n, int i, wg_dtype dtype);
WG_API bool wg_need_same_dtype(wg_node *n, int i, int j);
WG_API bool wg_need_same_shape(wg_node *n, int i, int j);
WG_API bool wg_need_rank(wg_node *n, int i, int min, int max);
/** dimension `axis` of operand i must be `size` (wg_shape axes of the operand, may be negative) */
WG_API bool wg_need_dim(wg_node *n, int i, int axis, int64_t size);
/** Normalises an axis of operand i's shape into 0..rank-1. */
WG_API bool wg_need_axis(wg_node *n, int i, int64_t axis, int *out);
/** Normalises a set of axes: in range, no repeats, ascending; none given means all. */
WG_API bool wg_need_axes(wg_node *n, int i, const wg_axes *axes, wg_axes *out);
/** NumPy's broadcasting of *a with *b into *out. */
WG_API bool wg_need_broadcast(wg_node *n, const wg_shape *a, const wg_shape *b, wg_shape *out);

/** The same two rules for code that has a valid node: normalised axis, axes (all if none). */
WG_API int wg_axis_of(int64_t axis, int rank);
WG_API wg_axes wg_axes_of(const wg_axes *axes, int rank);
/** Shape without (keep: with size 1 at) the given normalised axes. */
WG_API wg_shape wg_shape_reduced(const wg_shape *shape, const wg_axes *axes, bool keep);

/* ---- reading nodes --------------------------------------------------------------------------- */

WG_API double wg_node_flops(const wg_node *n);
WG_API double wg_node_bytes(const wg_node *n); /* of all operands and results */
WG_API int64_t wg_value_count(const wg_value *v);
WG_API size_t wg_value_bytes(const wg_value *v);
/** Least and most operands by op->operands; most is INT32_MAX for '*'. */
WG_API void wg_op_arity(const wg_op *op, int *min, int *max);
/** The name of operand i ("weight"), into text; returns text. */
WG_API const char *wg_op_operand_name(const wg_op *op, int i, char *text, size_t size);
/** Attributes as "axis=1, keep=true" into text; returns text.  Long data is abbreviated. */
WG_API const char *wg_node_attrs_text(const wg_node *n, char *text, size_t size);
WG_API uint64_t wg_node_attrs_hash(const wg_op *op, const void *attrs);
WG_API bool wg_node_attrs_equal(const wg_op *op, const void *a, const void *b);
/** Writes "scope: op(operands): what (file:line)", as messages of the graph are, into text; returns
 * text. */
WG_API const char *wg_node_message(const wg_node *n, const char *what, char *text, size_t size);
/** Writes "%12" or the value's name into text; returns text. */
WG_API const char *wg_value_text(const wg_value *v, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
