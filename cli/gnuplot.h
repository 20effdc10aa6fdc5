/* Pictures by gnuplot, which runs as a child process. */
#ifndef WG_CLI_GNUPLOT_H
#define WG_CLI_GNUPLOT_H

#include <stdbool.h>
#include <stdio.h>

/* "svg" or "png", by the extension of the file's name; otherwise NULL. */
const char *picture_format(const char *path);

/* Begins a script for a picture of that format and size in pixels.  NULL if memory or disk is
 * full. */
FILE *gnuplot_begin(const char *format, double width, double height);
/* Writes a text as a gnuplot literal. */
void gnuplot_text(FILE *script, const char *text);
/* Runs the script, closes it, and writes the picture to `path`; an exit code.  Complains. */
int gnuplot_end(FILE *script, const char *path);

/* The vertical range for values from min to max: found by gnuplot, unless all are equal. */
void gnuplot_range(FILE *script, double min, double max);

#endif
