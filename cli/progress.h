/* What a training says while it runs: lines, and on a terminal a bar below them. */
#ifndef WG_CLI_PROGRESS_H
#define WG_CLI_PROGRESS_H

#include "wengert/train/trainer.h"

#include <stdio.h>

typedef struct progress {
    FILE *file;
    bool quiet;    /* no lines         */
    bool terminal; /* a bar is welcome */
    bool drawn;    /* a bar stands there */
    double next;   /* seconds of a steady clock: not to be drawn before */
} progress;

progress progress_on(FILE *file, bool quiet);
/* The listener of a trainer; context is a progress. */
void progress_tell(void *context, const wg_event *event);
/* Takes the bar away. */
void progress_end(progress *p);

#endif
