/* Models in 8-bit integers: the rounded parameters are in a store layered over the caller's, and
 * each graph is rewritten to read them. */
#ifndef WG_PRIVATE_DECODE_INT8_H
#define WG_PRIVATE_DECODE_INT8_H

#include "wengert/decode/search.h"

/* *out is a graph whose assignments quantise every parameter that is a factor of a product in any
 * of the model's graphs.  The caller frees it. */
wg_status wgi_int8_quantizer(const wg_search_model *model, wg_graph **out, wg_error *error);

/* Replaces *g by its copy in integers, and each *values[i] that is not NULL by the value of the
 * copy.  A graph with an error stays as it is. */
wg_status wgi_int8_rewrite(const wg_search_model *model, wg_graph **g, wg_value **const *values,
                           size_t n, wg_error *error);

#endif
