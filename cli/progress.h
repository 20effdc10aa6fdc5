/* The progress of a training run: lines, and on a terminal a bar below them. */
#ifndef WG_CLI_PROGRESS_H
#define WG_CLI_PROGRESS_H

#include "cli/bar.h"
#include "wengert/train/trainer.h"

typedef struct progress {
    bar bar;
    bool quiet; /* no lines */
} progress;

progress progress_on(FILE *file, bool quiet);
/* The listener of a trainer; context is a progress. */
void progress_tell(void *context, const wg_event *event);
/* Erases the bar. */
void progress_end(progress *p);

#endif
