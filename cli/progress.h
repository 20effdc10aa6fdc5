/* The progress of a training run: lines, and on a terminal a bar below them. */
#ifndef WG_CLI_PROGRESS_H
#define WG_CLI_PROGRESS_H

#include "wengert/train/trainer.h"

#include <stdio.h>

typedef struct progress {
    FILE *file;
    bool quiet;    /* no lines         */
    bool terminal; /* a bar is drawn   */
    bool drawn;    /* a bar is visible */
    double next;   /* the earliest time to draw again, in seconds of a steady clock */
} progress;

progress progress_on(FILE *file, bool quiet);
/* The listener of a trainer; context is a progress. */
void progress_tell(void *context, const wg_event *event);
/* Erases the bar. */
void progress_end(progress *p);

#endif
