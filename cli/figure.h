/* The figure of an experiment. */
#ifndef WG_CLI_FIGURE_H
#define WG_CLI_FIGURE_H

#include "paper/report.h"

/* Draws all panels with gnuplot; nothing without panels.  An exit code; complains. */
int figure_write(const paper_report *r, const char *path);

#endif
