/* The memory of a plan over a run as a picture. */
#ifndef WG_CLI_TIMELINE_H
#define WG_CLI_TIMELINE_H

#include "wengert/backends/timeline.h"

/* Draws it with gnuplot, stacked by scope, to a file named .svg or .png; an exit code.
 * Complains. */
int timeline_draw(const wg_plan *p, const char *title, const char *path);

#endif
