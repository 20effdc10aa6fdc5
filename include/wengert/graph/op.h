/* The definition of an operation, for authors of ops, who need to include nothing else.  Model code
 * needs wengert/ops/ops.h only.
 *
 * An op is one const struct that says everything about it: name, formula, operands, attributes,
 * shape rule, gradient rule, cost, samples.  Lists, documentation, generic tests, text print,
 * hashing, cloning and common-subexpression elimination are all driven by this struct, so an op
 * that a program defines outside the library is the equal of a built-in one. */
#ifndef WG_GRAPH_OP_H
#define WG_GRAPH_OP_H

#include "wengert/graph/node.h"
#include "wengert/graph/rule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- attributes ------------------------------------------------------------------------------ */

/** The type of a field of an attribute struct. */
typedef enum wg_attr_kind {
    WG_ATTR_INT,   /* int64_t */
    WG_ATTR_REAL,  /* double */
    WG_ATTR_BOOL,  /* bool */
    WG_ATTR_ENUM,  /* int, one of `names` (NULL-terminated) */
    WG_ATTR_DTYPE, /* wg_dtype */
    WG_ATTR_AXES,  /* wg_axes */
    WG_ATTR_SHAPE, /* wg_shape */
    WG_ATTR_TEXT,  /* const char *, copied into the graph */
    WG_ATTR_DATA,  /* wg_data, bytes copied into the graph */
    WG_ATTR_KEY,   /* int64_t: the key of a random op, which gives it a random stream of its own */
    WG_ATTR_AXIS,  /* int64_t: one axis, which a picture shows even if it is 0 */
} wg_attr_kind;

/** Bytes as an attribute: the numbers of a constant. */
typedef struct wg_data {
    const void *bytes; /* NULL if size is 0 */
    size_t size;       /* in bytes */
} wg_data;

/** One field of an op's attribute struct. */
typedef struct wg_attr {
    const char *name;         /* as in the text print */
    wg_attr_kind kind;        /* its type */
    size_t offset;            /* in the struct */
    const char *const *names; /* of an enum, NULL-terminated; else NULL */
} wg_attr;

/* clang-format off */
/** WG_ATTR(AXIS, wg_softmax_attrs, axis): the field `axis` of that struct. */
#define WG_ATTR(kind, type, field) {#field, WG_ATTR_##kind, offsetof(type, field), 0}
/** The same for an enum whose values have these names. */
#define WG_ATTR_NAMED(type, field, names) {#field, WG_ATTR_ENUM, offsetof(type, field), names}
/* clang-format on */

/* ---- running --------------------------------------------------------------------------------- */

/** Maximum number of threads of a run, of a search, or of reading a corpus. */
enum { WG_MAX_THREADS = 1024 };

/** Bytes of wg_call.message. */
enum { WG_CALL_MESSAGE = 256 };

/** One call of a kernel, including the reference kernel of a user-defined op.  Buffers are dense,
 *  row-major and 64-byte aligned; in[i] and out[j] have the shapes of node->in[i] and node->out[j].
 *  An out may be the same buffer as an in only where the op's `inplace` allows it. */
typedef struct wg_call {
    const wg_node *node;   /* the node to compute */
    const void *const *in; /* node->n_in buffers */
    void *const *out;      /* node->n_out buffers */
    void *state;           /* of the kernel, as its backend prepared it */
    void *scratch;         /* as many bytes as the kernel asked for when prepared */
    int threads;           /* maximum number of threads; see wg_backend.reproducible */
    uint64_t seed;         /* with `step` and the node's key, the counter of random ops */
    uint64_t step;         /* number of the run */
    wg_status status;      /* set through wg_call_fail */
    char *message;         /* WG_CALL_MESSAGE bytes, owned by the caller of the kernel, or NULL */
    const wg_value *bad;   /* the operand that has the bad number, set through wg_call_fail_at */
    int64_t bad_at;        /* its element */
} wg_call;

/** Reports bad data ("id 12 is outside [0,9)"): the run ends with WG_EDATA and the name of the
 *  node.  Not thread-safe for one call: threads that may report at once need copies of the call. */
WG_API void wg_call_fail(wg_call *call, const char *format, ...) WG_PRINTF(2, 3);
/** The same where the bad number is that element of operand k, in row-major order: a trainer then
 *  tells in which example of its data it is. */
WG_API void wg_call_fail_at(wg_call *call, int k, int64_t element, const char *format, ...)
    WG_PRINTF(4, 5);

/* ---- samples: inputs of the generic tests of an op ------------------------------------------- */

/** Maximum number of operands of a sample. */
enum { WG_MAX_SAMPLE_OPERANDS = 12 };

/** What the last two axes of a float operand are, if they are matrices that an op factorises:
 *  random numbers alone may make them singular.  n is the larger of their two sizes. */
typedef enum wg_matrices {
    WG_MATRICES_ANY = 0,  /* numbers of the range, and nothing else */
    WG_MATRICES_DOMINANT, /* 2 n max(|lo|, |hi|) is added to the diagonal: it dominates its row, and
                             the symmetric part of a square matrix is positive definite */
    WG_MATRICES_ROTATED,  /* the same, then row i + 1 becomes row i, and row 0 the last: elimination
                             has to exchange rows */
    WG_MATRICES_SPREAD,   /* i + 1 times as much is added to element i of the diagonal: eigenvalues
                             and singular values are far apart, and no component of a vector is
                             nearly as large as its largest */
} wg_matrices;

/** One operand.  Floats are drawn from (lo, hi), pairwise distinct over all operands of the sample
 *  and away from the op's kinks; integers are drawn from [lo, hi); bools are random. */
typedef struct wg_sample_operand {
    wg_dtype dtype;       /* WG_DTYPE_DEFAULT: the float dtype under test */
    wg_shape shape;       /* its shape */
    double lo;            /* lo and hi both 0: (-2, 2) for floats, [0, 2) for integers */
    double hi;            /* see lo */
    wg_matrices matrices; /* of floats; see there */
} wg_sample_operand;

/** Operands and attributes with which the op is tested. */
typedef struct wg_sample {
    const char *name;  /* what it covers: "broadcast", "axis 0"; NULL if it is the only one */
    const void *attrs; /* the op's struct, or NULL */
    int n_in;          /* number of operands */
    wg_sample_operand in[WG_MAX_SAMPLE_OPERANDS]; /* n_in operands */
} wg_sample;

/* clang-format off */
/** Operand of a static table: floats in (lo, hi), then rank and dimensions. */
#define WG_FLOATS(lo, hi, ...)                                                                     \
    {WG_DTYPE_DEFAULT, WG_STATIC_SHAPE(__VA_ARGS__), (lo), (hi), WG_MATRICES_ANY}
/** The same with dominant diagonals: WG_MATRICES_DOMINANT. */
#define WG_DOMINANT(lo, hi, ...)                                                                   \
    {WG_DTYPE_DEFAULT, WG_STATIC_SHAPE(__VA_ARGS__), (lo), (hi), WG_MATRICES_DOMINANT}
/** The same with rows out of order: WG_MATRICES_ROTATED. */
#define WG_ROTATED(lo, hi, ...)                                                                    \
    {WG_DTYPE_DEFAULT, WG_STATIC_SHAPE(__VA_ARGS__), (lo), (hi), WG_MATRICES_ROTATED}
/** The same with diagonals that grow: WG_MATRICES_SPREAD. */
#define WG_SPREAD(lo, hi, ...)                                                                     \
    {WG_DTYPE_DEFAULT, WG_STATIC_SHAPE(__VA_ARGS__), (lo), (hi), WG_MATRICES_SPREAD}
/** Operand of a static table: i64 in [lo, hi), then rank and dimensions. */
#define WG_INTS(lo, hi, ...)                                                                       \
    {WG_I64, WG_STATIC_SHAPE(__VA_ARGS__), (lo), (hi), WG_MATRICES_ANY}
/** Operand of a static table: bools, rank and dimensions. */
#define WG_BOOLS(...) {WG_BOOL, WG_STATIC_SHAPE(__VA_ARGS__), 0, 0, WG_MATRICES_ANY}
/** Shape of a static table: WG_STATIC_SHAPE(2, 3, 4) is [3,4]; rank 0 takes a dummy 0. */
#define WG_STATIC_SHAPE(rank, ...) {(rank), {__VA_ARGS__}}
/* clang-format on */

/* ---- the op ---------------------------------------------------------------------------------- */

/** Properties of an op: bits of wg_op.flags. */
typedef enum wg_op_flag {
    WG_OP_LEAF = 1 << 0,   /* no operands; its data come from outside: parameter, input, state */
    WG_OP_RANDOM = 1 << 1, /* depends on (seed, step): never folded */
    WG_OP_VIEW = 1 << 2,   /* result 0 shares the memory of operand 0: nothing is copied */
    WG_OP_OPAQUE = 1 << 3, /* never merged with an equal node */
    WG_OP_ELEMENTWISE = 1 << 4, /* result element i depends on operand element i, broadcast */
    WG_OP_DISCRETE = 1 << 5,    /* the derivative is zero wherever it exists: floor, argmax */
    /** `inplace` holds for every result, not only result 0: kernels read element i of all operands
     *  before they write any. */
    WG_OP_UPDATE = 1 << 6,
    WG_OP_PARAMETER = 1 << 7, /* a leaf that is trained: see wg_graph_parameters */
    WG_OP_STATE = 1 << 8,     /* a leaf that runs update by assignment, not by gradients */
    WG_OP_INPUT = 1 << 9,     /* a leaf that the caller fills */
    WG_OP_FILL = 1 << 10,    /* every element of the result is the attribute of kind WG_ATTR_REAL */
    WG_OP_SELECTS = 1 << 11, /* result 0 is made of elements of operand 0; it reads no others */
    WG_OP_UNFOLDED = 1 << 12, /* not folded: the reference is much slower than other backends */
} wg_op_flag;

/** How smooth a function is: sets step, formula and tolerance of the gradient check. */
typedef enum wg_smoothness {
    WG_SMOOTH = 0,      /* four-point differences, tolerance 1e-9 */
    WG_KINKED,          /* smooth between kinks: two-point differences, tolerance 1e-8 */
    WG_PIECEWISE_LINEAR /* exact on dyadic points and steps: tolerance 1e-15 */
} wg_smoothness;

/** What a gradient rule reads besides the cotangents, as a set. */
typedef enum wg_reads {
    WG_READS_NOTHING = 0, /* the cotangents alone */
    WG_READS_X = 1,       /* operands */
    WG_READS_Y = 2        /* results */
} wg_reads;

/** What an op is about: a heading of the op reference, a colour in pictures of graphs. */
typedef enum wg_family {
    WG_FAMILY_OTHER = 0,      /* none of these */
    WG_FAMILY_LINEAR_ALGEBRA, /* matmul, einsum */
    WG_FAMILY_ATTENTION,      /* attention, rotary positions */
    WG_FAMILY_CONVOLUTION,    /* convolutions and their gradients */
    WG_FAMILY_UPSAMPLING,     /* upsample2d */
    WG_FAMILY_POOLING,        /* max_pool2d, avg_pool2d */
    WG_FAMILY_RECURRENT,      /* rnn, lstm, gru */
    WG_FAMILY_NORMALISATION,  /* softmax, layernorm, batchnorm */
    WG_FAMILY_ACTIVATION,     /* relu, gelu */
    WG_FAMILY_ELEMENTWISE,    /* arithmetic of elements */
    WG_FAMILY_COMPARISON,     /* equal, less */
    WG_FAMILY_LOGIC,          /* logical_and, logical_not */
    WG_FAMILY_SELECTION,      /* argmax, topk */
    WG_FAMILY_REDUCTION,      /* sum, max, cumsum */
    WG_FAMILY_LOSS,           /* cross_entropy, mse */
    WG_FAMILY_RANDOM,         /* uniform, dropout */
    WG_FAMILY_OPTIMIZER,      /* updates of parameters */
    WG_FAMILY_INDEXING,       /* take, gather, scatter */
    WG_FAMILY_MOVEMENT,       /* reshape, slice, concat */
    WG_FAMILY_LEAF,           /* parameters, inputs, constants */
    WG_FAMILY_FUSED,          /* what a plan puts in the place of several ops */
    WG_FAMILY_QUANTISATION,   /* integer arithmetic in the place of real */
    WG_FAMILY_ORDER,          /* what must run before what: barrier */
} wg_family;

/** An operation.  Fields that are zero take the default that their comment states. */
struct wg_op {
    const char *name;         /* as in text, DOT and messages: "matmul" */
    const char *formula;      /* one line of mathematics */
    wg_family family;         /* its heading in the op reference, its colour in a picture */
    const char *operands;     /* "x weight bias?": '?' optional, '*' any number; "" for none */
    const char *results;      /* "y mean rstd"; "y*" if the shape rule says how many; NULL: "y" */
    unsigned flags;           /* set of wg_op_flag */
    wg_smoothness smoothness; /* of the function, for the gradient check */
    int reads;                /* set of wg_reads: what `grad` reads */
    int inplace;              /* bit i: result 0 may overwrite operand i, given equal sizes */
    /** Instead of `inplace` where operands and results are lists: true if the result may overwrite
     *  the operand, given equal sizes. */
    bool (*overwrites)(int result, int operand);

    size_t attrs_size;    /* of the op's attribute struct; 0 if it has none */
    const wg_attr *attrs; /* n_attrs fields */
    int n_attrs;          /* number of attributes */

    /** Shape rule: checks operands and attributes (wengert/graph/rule.h), sets dtype and shape of
     *  each result by wg_set_result.  false after wg_fail. */
    bool (*infer)(wg_node *n);

    /** Vector-Jacobian product: from the cotangents dy of the results (NULL means zero) builds the
     *  cotangents dx of the operands (dx[i] left NULL means zero).  Where operand i was broadcast,
     *  dx[i] may have the result's shape: wg_grad sums it down.  NULL: the op is differentiated
     *  through `expand`; without that either, it has no derivative rule. */
    void (*grad)(wg_node *n, wg_value *const *dy, wg_value **dx);

    /** The op in terms of more primitive ops: the definition that every fused kernel is tested
     *  against, and what a plan runs where no backend takes the op whole.  y has n->n_out entries.
     *  NULL for a primitive. */
    void (*expand)(wg_node *n, wg_value **y);

    /** Floating-point operations; NULL: one per element of the results. */
    double (*flops)(const wg_node *n);

    /** Reference kernel of a user-defined op, run by the cpu backend. */
    void (*reference)(wg_call *call);

    const wg_sample *samples; /* n_samples inputs of the generic tests */
    int n_samples;            /* number of samples */
    const double *kinks;      /* n_kinks points that sample floats keep away from */
    int n_kinks;              /* number of kinks */
};

/** "linear algebra" for WG_FAMILY_LINEAR_ALGEBRA; "other" for none of the family's values. */
WG_API const char *wg_family_name(wg_family family);
/** Minimum and maximum number of operands, from op->operands; *max is INT32_MAX for '*'. */
WG_API void wg_op_arity(const wg_op *op, int *min, int *max);
/** Writes the name of operand i ("weight") into text; returns text. */
WG_API const char *wg_op_operand_name(const wg_op *op, int i, char *text, size_t size);
/** A hash of the attributes, field by field, the same on every machine; attrs may be NULL. */
WG_API uint64_t wg_node_attrs_hash(const wg_op *op, const void *attrs);
/** True if all attributes are equal, reals bit for bit. */
WG_API bool wg_node_attrs_equal(const wg_op *op, const void *a, const void *b);

/* clang-format off */
/** Initialises the fields of wg_op for attributes: the size of the struct `type`, and the array
 * `fields` with its length.
 *
 *     static const wg_attr clamp_attrs[] = {WG_ATTR(REAL, wg_clamp_attrs, min), ...};
 *     const wg_op clamp = {..., WG_ATTRS(wg_clamp_attrs, clamp_attrs), WG_SAMPLES(clamp_samples)};
 */
#define WG_ATTRS(type, fields)                                                                     \
    .attrs_size = sizeof(type), .attrs = (fields), .n_attrs = WG_COUNT(fields)
/** Initialises `samples` and `n_samples` of wg_op from an array of wg_sample. */
#define WG_SAMPLES(array) .samples = (array), .n_samples = WG_COUNT(array)
/** Initialises `kinks` and `n_kinks` of wg_op from an array of double. */
#define WG_KINKS(array) .kinks = (array), .n_kinks = WG_COUNT(array)
/* clang-format on */

/* ---- building -------------------------------------------------------------------------------- */

/** Appends a node.  `g` may be NULL if there are operands.  `attrs` is copied.  Trailing NULL
 *  operands count as absent where the op has optional ones.  Returns NULL after an error. */
WG_API wg_node *wg_apply(const char *at, wg_graph *g, const wg_op *op, const void *attrs,
                         wg_value *const *in, int n_in);
/** wg_apply without operands; returns result 0. */
WG_API wg_value *wg_apply0(const char *at, wg_graph *g, const wg_op *op, const void *attrs);
/** wg_apply with one operand; returns result 0. */
WG_API wg_value *wg_apply1(const char *at, const wg_op *op, const void *attrs, wg_value *a);
/** wg_apply with two operands; returns result 0. */
WG_API wg_value *wg_apply2(const char *at, const wg_op *op, const void *attrs, wg_value *a,
                           wg_value *b);
/** wg_apply with three operands; returns result 0. */
WG_API wg_value *wg_apply3(const char *at, const wg_op *op, const void *attrs, wg_value *a,
                           wg_value *b, wg_value *c);

/** Sets the graph's error for a builder that is not an op: "scope: builder: text (at)".  Returns
 *  NULL, so that a builder can return it. */
WG_API wg_value *wg_graph_fail(wg_graph *g, wg_status status, const char *at, const char *builder,
                               const char *format, ...) WG_PRINTF(5, 6);

/** Gives a leaf its full name (scope path and `name`), which must be unique in the graph;
 *  returns v, or NULL after an error. */
WG_API wg_value *wg_name_leaf(wg_value *v, const char *name);

/** Where new nodes belong.  wg_grad and expansions set it, so that the nodes they build carry the
 *  scope, file:line and phase of the node that they come from. */
typedef struct wg_origin {
    const wg_scope *scope; /* of the same graph */
    const char *at;        /* not NULL: replaces the builder's own file:line */
    wg_phase phase;        /* of new nodes */
} wg_origin;
/** Where new nodes of g belong now. */
WG_API wg_origin wg_graph_origin(const wg_graph *g);
/** Sets where new nodes of g belong; no effect for an origin without a scope. */
WG_API void wg_graph_set_origin(wg_graph *g, wg_origin origin);

/** The scope of the same path in g, where `s` may belong to another graph; NULL if out of
 * memory. */
WG_API const wg_scope *wg_scope_intern(wg_graph *g, const wg_scope *s);

/** A new key for a random node: the same build order gives the same keys. */
WG_API uint64_t wg_graph_new_key(wg_graph *g);

/** Zeroed memory that lives as long as the graph; NULL if out of memory, which is then the graph's
 *  error. */
WG_API void *wg_graph_alloc(wg_graph *g, size_t size);

/** Appends to `to` a copy of n with operands `in`: same op, attributes, scope, line and phase; no
 *  name.  `floats_as`, if not WG_DTYPE_DEFAULT, replaces every float dtype in attributes
 *  (constant data are converted). */
WG_API wg_node *wg_node_copy(wg_graph *to, const wg_node *n, wg_value *const *in,
                             wg_dtype floats_as);
/** The same, with any float dtype `from` of the attributes replaced by `as`. */
WG_API wg_node *wg_node_retype(wg_graph *to, const wg_node *n, wg_value *const *in, wg_dtype from,
                               wg_dtype as);

/** Gives v the name of `from`, a value of another graph.  If another value has that name already, v
 *  shows it but wg_graph_find does not find v by it.  false if out of memory. */
WG_API bool wg_name_copy(wg_value *v, const wg_value *from);

/** Builds the expansion of n (same operands) at the end of the graph, under n's origin; y has
 *  n->n_out entries.  false if it has none or the graph is in error. */
WG_API bool wg_expand_node(wg_node *n, wg_value **y);

#ifdef __cplusplus
}
#endif
#endif
