/* ONNX models, read and written: docs/onnx.md says which.
 *
 *     wg_graph *g;
 *     wg_error error;
 *     wg_onnx_dim batch = {"batch", 8};
 *     wg_onnx_import_options options = {.dims = &batch, .n_dims = 1};
 *     if (wg_onnx_import(&g, "model.onnx", &options, &error) != WG_OK)
 *         fprintf(stderr, "%s\n", error.text);
 *
 * The graph has the inputs and outputs of the file under their names (wg_graph_find,
 * wg_graph_output_name).  It is made of plain ops, so it can be differentiated, trained, drawn and
 * planned like any other.  What is only shape arithmetic is computed while the file is read: a
 * graph has fixed shapes, and a model is imported once for each set of them.
 *
 * Files are untrusted: every sequence of bytes gives a graph that the builders' checks have passed,
 * or an error that names the file, the node and what was wrong.  Memory is proportional to the file
 * and to the tensors that it describes.
 *
 * Needs the library to be built with protobuf-c; without it, every function fails with
 * WG_EUNSUPPORTED and says so. */
#ifndef WG_ONNX_ONNX_H
#define WG_ONNX_ONNX_H

#include "wengert/backends/store.h"
#include "wengert/graph/error.h"
#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The opset and the version of the format that wg_onnx_export writes. */
enum { WG_ONNX_OPSET = 17, WG_ONNX_IR = 8 };

/** The size of a symbolic dimension.  The name is that of the file ("batch"), or "INPUT:AXIS"
 *  ("x:0") for an axis that has none.  An input of which the file does not say how many axes it has
 *  needs a size for each, from "x:0" on, or a shape (wg_onnx_shape). */
typedef struct wg_onnx_dim {
    const char *name; /**< of the dimension */
    int64_t size;     /**< 0 or more */
} wg_onnx_dim;

/** The shape of the numbers that an input will get. */
typedef struct wg_onnx_shape {
    const char *input; /**< its name */
    wg_shape shape;    /**< of all its axes */
} wg_onnx_shape;

/** An input whose numbers are known when the file is read, such as the shape that a Reshape
 *  takes.  It becomes a constant. */
typedef struct wg_onnx_known {
    const char *input; /**< its name */
    /** As wg_onnx_tensor has it.  Or WG_DTYPE_DEFAULT: `data` is doubles, which get the dtype and
     *  the shape that the file has; `shape` gives their number. */
    wg_dtype dtype;
    wg_shape shape;   /**< of the numbers */
    const void *data; /**< dense, row-major */
    /** NULL: the input becomes a constant in any case.  Otherwise only if the file needs its
     *  numbers while it is read, which sets *needed; else it stays an input, and *needed becomes
     *  false.  Its shape is then that of `shapes` or `dims`; and `data` may be NULL, which only
     *  tells why an import has failed. */
    bool *needed;
} wg_onnx_known;

/** How a model is imported.  Zero means the default in every field. */
typedef struct wg_onnx_import_options {
    const wg_onnx_dim *dims; /**< sizes of symbolic dimensions; each must be in the file */
    size_t n_dims;           /**< length of `dims` */
    /** Shapes of inputs, from which symbolic dimensions that `dims` does not name take their sizes:
     * for all inputs that have a dimension of that name.  An input of which the file does not say
     * how many axes it has gets all of its shape.  One that contradicts the file, `dims` or another
     * shape is an error, and so is a name that no input has. */
    const wg_onnx_shape *shapes;
    size_t n_shapes;            /**< length of `shapes` */
    int64_t other_dims;         /**< of those that neither names; 0: they are an error */
    const wg_onnx_known *known; /**< inputs that are numbers now */
    size_t n_known;             /**< length of `known` */
    bool train; /**< dropout, and normalisation by the statistics of the batch, as in training */
    /** Names of float initializers that stay constants, which no gradient reaches; a '*' at the
     *  end stands for any rest, and only a name without one must be in the file. */
    const char *const *frozen;
    size_t n_frozen; /**< length of `frozen` */
    /** Names, in the same form, of float initializers without axes that become parameters too, such
     *  as a temperature or the gain of a branch.  A file does not say which of its scalars were
     *  trained and which are factors of a formula. */
    const char *const *scalars;
    size_t n_scalars; /**< length of `scalars` */
    /** Activations, norms and attention that the file spells out in simple ops stay as they are.
     *  Otherwise each becomes one op, with kernels and a gradient of its own. */
    bool spelled_out;
    /** Where parameters and states get their tensors, under the names of the file.  NULL: their
     *  numbers become initial values in the graph (wg_values_init). */
    wg_store *store;
} wg_onnx_import_options;

/** Makes a graph of a file. Initializers of floats with at least one axis, and options->scalars,
 *  become parameters under their names, one for all its readers; the running statistics of a
 *  BatchNormalization become states; all others, and what is used as a number while the file is
 *  read, constants. An input that no output needs is left out. `options` may be NULL. The caller
 *  frees *out; on failure it is NULL. error->warning: the first size that contradicts what the
 *  file declares; that of an output is an error where the file has the sizes of all inputs.
 *  WG_EUNSUPPORTED: the message lists all that the file needs and that is missing; or numbers are
 *  needed that depend on an input (options->known). WG_EINVAL: a dimension has no size, a size or a
 *  shape is given to what is none or is fixed, no input or float initializer has a given name,
 *  known numbers do not fit their input, or NULL; WG_EDATA: the file is malformed, or contradicts
 *  itself or the standard, such as by shapes that do not fit; WG_EIO; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_onnx_import(wg_graph **out, const char *path,
                                            const wg_onnx_import_options *options, wg_error *error);

/** Writes what is in a file: versions, inputs and outputs, sizes that are symbolic, parameters, ops
 *  with their counts, and all that is not supported.  The status is that of reading the file: WG_OK
 *  also if something is not supported.  WG_EIO: writing failed. */
WG_API WG_MUST_USE wg_status wg_onnx_describe(const char *path, FILE *out, wg_error *error);

/** The rows of the table of ops that can be imported, as Markdown.  WG_EIO: writing failed. */
WG_API WG_MUST_USE wg_status wg_onnx_print_ops(FILE *out, wg_error *error);

/** A tensor of ONNX in memory. */
typedef struct wg_onnx_tensor {
    wg_dtype dtype; /**< i16 and u16 are held as i32, u32 and u64 as i64 */
    wg_shape shape; /**< of the numbers */
    void *data;     /**< dense, row-major; freed by wg_onnx_tensor_free */
    char *name;     /**< as the file has it, or NULL; freed likewise */
} wg_onnx_tensor;

/** Reads a file that holds one tensor (TensorProto).  On failure *out is zero.  Errors are those of
 *  wg_onnx_import. */
WG_API WG_MUST_USE wg_status wg_onnx_tensor_read(wg_onnx_tensor *out, const char *path,
                                                 wg_error *error);
/** Frees what the tensor holds; NULL is allowed. */
WG_API void wg_onnx_tensor_free(wg_onnx_tensor *t);

/** How a graph is exported.  Zero means the default in every field. */
typedef struct wg_onnx_export_options {
    const char *name; /**< of the graph; NULL: "wengert" */
    /** Where the numbers of parameters and states are.  NULL: they are initial values (of the
     *  graph, or drawn with seed 0). */
    const wg_store *store;
    /** Writes what the graph assigns as well: a run, such as a training step, as a pure function.
     *  A parameter or state that is assigned becomes an input, and what it is assigned an output,
     *  under its name with WG_ONNX_NEXT after it.  Whoever runs the file keeps the numbers: the
     *  outputs of one run are inputs of the next. */
    bool step;
    /** Leaves dropout out.  A step needs that if it has dropout, since a pure function draws no
     *  random numbers. */
    bool without_dropout;
} wg_onnx_export_options;

/** Behind the name of a leaf: the output of a step that is its next value. */
#define WG_ONNX_NEXT ".next"

/** Writes the outputs of g, and what they need, as a model of opset WG_ONNX_OPSET.  Inputs and
 *  outputs keep their names, parameters and states become initializers; assignments are left out,
 *  unless `step` is set.  A composite is expanded where ONNX has no op for it; dropout becomes an
 *  op that drops nothing unless the file is imported for training, and a guard lets everything
 *  pass.  `options` may be NULL.  WG_EUNSUPPORTED: the message lists the ops that ONNX has no form
 *  for; WG_EINVAL: NULL, no outputs, one without a name or with that of a leaf, or a step that
 *  assigns nothing; WG_EIO; WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_onnx_export(const wg_graph *g, const char *path,
                                            const wg_onnx_export_options *options, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
