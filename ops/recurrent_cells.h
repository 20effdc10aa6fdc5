/* One step of each recurrent cell, in plain ops. */
#ifndef WG_OPS_RECURRENT_CELLS_H
#define WG_OPS_RECURRENT_CELLS_H

#include "wengert/ops/recurrent.h"

enum { WGI_MAX_STATES = 2, WGI_MAX_GATES = 4 };

/* Turns the states (h, and c of lstm) into the next ones; p = wi x + bi, [B, G H].  gates, if not
 * NULL, becomes what the derivative of the step reads: i, f, g, o of lstm; r, z, n of gru, and
 * m, the third part of wh h + bh; nothing of rnn. */
typedef void wgi_step_fn(const wg_recurrent_attrs *a, wg_value *p, wg_value *wh, wg_value *bh,
                         wg_value **state, wg_value **gates);

typedef struct wgi_cell {
    int gates, states;
    bool one_bias; /* bi and bh only ever occur as bi + bh */
    wgi_step_fn *step;
} wgi_cell;

extern const wgi_cell wgi_rnn, wgi_lstm, wgi_gru;

/* Result t of a split along time, [B, 1, X], as [B, X]. */
wg_value *wgi_step_of(wg_value *split, int t);

/* A state after step t: as it was before where t >= lengths[b]; lengths NULL: everywhere new. */
wg_value *wgi_hold(wg_value *lengths, int t, wg_value *after, wg_value *before);

#endif
