/* A line that tells how far something has come: drawn again and again on a terminal, and elsewhere,
 * if wished, written now and then. */
#ifndef WG_CLI_BAR_H
#define WG_CLI_BAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct bar {
    FILE *file;
    bool terminal; /* the line is drawn ... */
    bool drawn;    /* ... and stands there now */
    double lines;  /* seconds between lines where it is not drawn; 0: there are none */
    double next;   /* the earliest time to draw again, in seconds of a steady clock */
} bar;

enum { BAR_PIECE = 100 };

/* Draws nothing if `quiet` or if the file is no terminal whose cursor moves; without lines. */
bar bar_on(FILE *file, bool quiet);
/* Whether it is time to draw. */
bool bar_is_due(bar *b);
/* The pieces, most important first, as far as they fit, and before them what part is done, in
 * [0, 1], on the rest of the line; NaN: unknown. */
void bar_draw(bar *b, double done, const char (*pieces)[BAR_PIECE], size_t n);
/* Erases it. */
void bar_erase(bar *b);

#endif
