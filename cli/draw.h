/* Texts and pictures of graphs, to files or standard output. */
#ifndef WG_CLI_DRAW_H
#define WG_CLI_DRAW_H

#include "cli/cli.h"

/* To `path`, or to standard output if it is NULL; an exit code. */
int deliver(const char *path, const char *bytes, size_t size);

/* The picture in that format, likewise.  Complains. */
int write_picture(wg_picture *p, wg_picture_format format, const char *path);

/* A line for each op: how often, FLOP and bytes; then the sums. */
wg_status print_costs(const wg_graph *g, FILE *f);

#endif
