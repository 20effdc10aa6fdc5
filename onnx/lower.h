/* The ops that have a form in ONNX. */
#ifndef WG_ONNX_LOWER_H
#define WG_ONNX_LOWER_H

#include "onnx/emit.h"

/* Writes node n, whose results then have names. */
typedef void ox_writer(ox_export *e, const wg_node *n);

/* How nodes of that op are written, or NULL where ONNX has no form of it. */
ox_writer *wgi_ox_writer_of(const wg_node *n);

/* Whether nodes of that op, if they cannot be written, can be made of simpler ones. */
bool wgi_ox_can_simplify(const wg_op *op);
/* Makes them: y[i] is what stands for result i.  false after an error of the graph. */
bool wgi_ox_simplify(wg_node *n, wg_value **y);

#endif
