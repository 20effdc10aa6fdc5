/* A tensor seen from one of its axes. */
#ifndef WG_BACKENDS_AXIS_H
#define WG_BACKENDS_AXIS_H

#include "wengert/graph/rule.h"

/* [outer, size, inner]: the axis itself, and the axes before and after it, merged. */
typedef struct wgi_axis {
    int64_t outer, size, inner;
} wgi_axis;

/* A negative axis counts from the end. */
static inline wgi_axis wgi_axis_of(const wg_shape *s, int64_t axis)
{
    int at = wg_normalize_axis(axis, s->rank);
    wgi_axis a = {1, s->dim[at], 1};
    for (int i = 0; i < at; i++)
        a.outer *= s->dim[i];
    for (int i = at + 1; i < s->rank; i++)
        a.inner *= s->dim[i];
    return a;
}

#endif
