/* Operands that are parts of inputs, or inputs in another order: what a backend that knows of views
 * must not confuse. */
#ifndef WG_TESTS_VIEWS_H
#define WG_TESTS_VIEWS_H

#include "wengert/graph/op.h"

/* How an operand is made of an input of the graph. */
typedef enum operand_view { AS_IT_IS, FLAT, INNER_ROWS, REVERSED_AXES, OPERAND_VIEWS } operand_view;

/* That of operand i of shape *s, as the bits `views` choose; 0: all are as they are. */
operand_view view_of(const wg_shape *s, uint64_t views, int i);

/* The operand of shape *s that is this view of a new input, *leaf. */
wg_value *view_make(wg_graph *g, const char *name, wg_dtype dtype, const wg_shape *s,
                    operand_view view, wg_value **leaf);

/* Writes the numbers of the operand, `from` of dtype `drawn`, into the data of the input.  Elements
 * that the view leaves out are NaN, or the largest integers: none may matter. */
void view_fill(void *data, const wg_value *leaf, const wg_shape *s, operand_view view,
               const void *from, wg_dtype drawn);

#endif
