/* Models in 8 bits: the parameters' integers lie in a store over the caller's, and each graph is
 * rewritten to read them. */
#ifndef WG_PRIVATE_DECODE_INT8_H
#define WG_PRIVATE_DECODE_INT8_H

#include "wengert/decode/search.h"

/* *out is a graph that quantises every parameter of a product, whichever of the model's graphs the
 * product is in: its assignments fill the integers.  The caller frees it. */
wg_status wgi_int8_quantizer(const wg_search_model *model, wg_graph **out, wg_error *error);

/* Replaces *g by its copy in integers, and each *values[i] that is not NULL by the copy's.  A graph
 * that has an error stays as it is. */
wg_status wgi_int8_rewrite(const wg_search_model *model, wg_graph **g, wg_value **const *values,
                           size_t n, wg_error *error);

#endif
