/* Built-in models: small, for pictures, checks and reading.  Each is a page of equations in
 * models/models.c. */
#ifndef WG_MODELS_MODELS_H
#define WG_MODELS_MODELS_H

#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The largest number of integer inputs of a built-in model. */
enum { WG_MODEL_INPUTS = 4 };

/** The numbers that may be fed to an integer input: [0, below). */
typedef struct wg_input_range {
    const char *input; /**< its name; NULL after the last */
    int64_t below;     /**< first number that is too large */
} wg_input_range;

/** A built-in model. */
typedef struct wg_model {
    const char *name; /**< as the command line knows it */
    const char *doc;  /**< one line */
    /** Builds the model in g, with its inputs and its parameters; returns the scalar loss, which it
     * makes an output, or NULL after an error. */
    wg_value *(*build)(wg_graph *g);
    /** For a model with options, else NULL: builds the i-th of its variants, small ones with the
     * same inputs, in g (NULL: nothing) and returns its name; NULL past the end. */
    const char *(*variant)(wg_graph *g, size_t i);
    wg_input_range ranges[WG_MODEL_INPUTS]; /**< of the integer inputs */
} wg_model;

/** The i-th model, NULL past the end. */
WG_API const wg_model *wg_model_at(size_t i);
/** The model of that name, or NULL. */
WG_API const wg_model *wg_model_find(const char *name);
/** `below` of the range of the integer input of that name; 2 if the model does not say. */
WG_API int64_t wg_model_range(const wg_model *model, const char *input);

#ifdef __cplusplus
}
#endif
#endif
