/* Composites that a file spells out in simple ops. */
#ifndef WG_ONNX_COMPOSITES_H
#define WG_ONNX_COMPOSITES_H

#include "onnx/import.h"

/* The graph of work, in which they are looked for, and the copy that the caller gets. */
typedef struct ox_finder {
    ox_import *import;
    uint32_t *readers; /* [values] operands of needed nodes, outputs and assignments */
    wg_value **map;    /* [values] in the copy */
} ox_finder;

/* Readers and an empty map; false without memory.  wgi_ox_finder_free in either case. */
bool wgi_ox_finder_make(ox_finder *f, ox_import *m);
void wgi_ox_finder_free(ox_finder *f);

/* The composite whose last op n is, built in the copy; NULL if n ends none. */
wg_value *wgi_ox_composite(ox_finder *f, const wg_node *n);
/* The same of attention alone. */
wg_value *wgi_ox_spelled_attention(ox_finder *f, const wg_node *n);

/* Whether v is one float that is known; writes it. */
bool wgi_ox_number_of(ox_finder *f, const wg_value *v, double *x);
/* v with factors that are such numbers taken from it, whose product *factor is multiplied by. */
const wg_value *wgi_ox_unscaled(ox_finder *f, const wg_value *v, double *factor);
/* The node that made v, if it is of that op; else NULL. */
const wg_node *wgi_ox_made_by(const wg_value *v, const wg_op *op);
/* The copy of v. */
wg_value *wgi_ox_copy_of(const ox_finder *f, const wg_value *v);

#endif
