/* Built-in models: small ones, for pictures, for checks, and as examples (models/models.c). */
#ifndef WG_MODELS_MODELS_H
#define WG_MODELS_MODELS_H

#include "wengert/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Maximum number of integer inputs of a built-in model. */
enum { WG_MODEL_INPUTS = 4 };

/** The valid numbers of an integer input: [0, below). */
typedef struct wg_input_range {
    const char *input; /**< its name; NULL after the last */
    int64_t below;     /**< upper end of the range, exclusive */
} wg_input_range;

/** A built-in model. */
typedef struct wg_model {
    const char *name; /**< as on the command line */
    const char *doc;  /**< one line */
    /** Builds the model in g, with its inputs and its parameters; returns the scalar loss, which it
     * makes an output, or NULL after an error. */
    wg_value *(*build)(wg_graph *g);
    /** NULL for a model without options.  Otherwise builds the i-th variant in g, a small model
     * with the same inputs (if g is NULL, builds nothing), and returns its name; NULL past the
     * end. */
    const char *(*variant)(wg_graph *g, size_t i);
    wg_input_range ranges[WG_MODEL_INPUTS]; /**< of the integer inputs */
    /** Its own ops, with NULL at the end, by which its graph is read from a file
     * (wg_parse_options.ops); NULL: it has only built-in ones. */
    const wg_op *const *ops;
} wg_model;

/** The i-th model, NULL past the end. */
WG_API const wg_model *wg_model_at(size_t i);
/** The model of that name, or NULL. */
WG_API const wg_model *wg_model_find(const char *name);
/** The end of the range of that integer input; 2 if the model has no range for it. */
WG_API int64_t wg_model_range(const wg_model *model, const char *input);

#ifdef __cplusplus
}
#endif
#endif
