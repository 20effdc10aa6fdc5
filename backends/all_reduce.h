/* What a plan makes of an all_reduce: a start and a wait, between which other nodes run.
 *
 * Until the wait has run, messages arrive in the memory of the start's results, so nothing but the
 * wait may read them.  That is why neither op is in the table: no builder and no file of a graph
 * has one, only the planner makes them, and always both. */
#ifndef WG_PRIVATE_BACKENDS_ALL_REDUCE_H
#define WG_PRIVATE_BACKENDS_ALL_REDUCE_H

#include "wengert/ops/all_reduce.h"

/* y = x, whose sum over all ranks is under way; y = the sum that the start of the same bucket has
 * begun.  Any number of operands, with a result like each. */
extern const wg_op wgi_op_all_reduce_start, wgi_op_all_reduce_wait;

/* Builds start and wait of n, an all_reduce of f32 or f64, at the end of its graph, under its
 * origin; y has n->n_out entries.  false if the graph is in error. */
bool wgi_all_reduce_divide(wg_node *n, wg_value **y);

/* The sum over one rank: copies each operand to its result, unless it is there already. */
void wgi_all_reduce_alone(wg_call *c);

#endif
