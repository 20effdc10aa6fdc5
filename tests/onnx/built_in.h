/* Built-in models for exports: their inputs, and copies without dropout. */
#ifndef WG_TESTS_ONNX_BUILT_IN_H
#define WG_TESTS_ONNX_BUILT_IN_H

#include "wengert.h"

/* Fills floats with numbers in (-1, 1), integers with some in the range of the model's input (m may
 * be NULL); of equal names the same. */
void built_in_fill(const wg_model *m, const wg_value *v, void *data);
/* The same for all inputs of the graph. */
void built_in_fill_inputs(const wg_model *m, wg_plan *p, const wg_graph *g);
/* Adds numbers in (-scale, scale) to all floats of a store: biases begin with zeros, behind which
 * an error could hide. */
void built_in_vary(wg_store *s, double scale);
/* A copy in which nothing is dropped; the caller frees both. */
wg_graph *built_in_without_dropout(const wg_graph *g);
/* Every computed value of floats becomes an output besides. */
void built_in_show_all(wg_graph *g);

#endif
