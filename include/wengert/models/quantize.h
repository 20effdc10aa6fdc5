/* A trained model with its matrix products in 8-bit integers: a quarter of the memory for weights,
 * and products two to four times as fast where the CPU has instructions for them (VNNI, of AVX-512
 * or of AVX2), at the price of rounding.
 *
 *     wg_quantized q;
 *     wg_quantize_products(&q, g, NULL);   // g: the model for inference, without loss
 *
 * A plan of q.weights, run once, fills the states "NAME.int8" and "NAME.scale" of the store; plans
 * of q.graph on the same store then compute the model.
 *
 * Each product of rows with a parameter, x weight' (+ bias), becomes wg_quantized_linear: rows of x
 * are quantised in each run, by their largest magnitude (dynamic quantisation), rows of the weight
 * once.  Everything else stays as it is: embeddings, norms, softmax, attention, and products
 * without a parameter. */
#ifndef WG_MODELS_QUANTIZE_H
#define WG_MODELS_QUANTIZE_H

#include "wengert/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The two graphs that replace one. */
typedef struct wg_quantized {
    wg_graph *graph;   /**< computes what g does, up to rounding */
    wg_graph *weights; /**< quantises the parameters: run it first and whenever they change */
    size_t products;   /**< number of products in integers */
} wg_quantized;

/** Makes both graphs, which the caller frees by wg_quantized_free.  It replaces wg_linear, and
 * wg_matmul_t with WG_NT, if the weight [out, in] is a parameter of f32 or f64 with at most
 * WG_QUANTIZED_INPUTS (wengert/ops/quantize.h) inputs.  `map`, if not NULL, has
 * wg_graph_value_count(g) entries and receives the value of the new graph for each value of g; NULL
 * where there is none, as for a parameter that is now only read in integers.  On failure *out is
 * empty: WG_EINVAL for NULL, the status of g if g is in error, WG_ENOMEM. */
WG_API WG_MUST_USE wg_status wg_quantize_products(wg_quantized *out, const wg_graph *g,
                                                  wg_value **map);
/** Frees both graphs; NULL and an empty one are allowed. */
WG_API void wg_quantized_free(wg_quantized *q);

#ifdef __cplusplus
}
#endif
#endif
