/* The parameters of a model as they were after several updates, and their means: what
 * `wengert average` makes of files, in memory. */
#ifndef WG_PAPER_CHECKPOINTS_H
#define WG_PAPER_CHECKPOINTS_H

#include "wengert/backends/store.h"

typedef struct paper_checkpoints {
    int n;
    size_t size;   /* parameters of a checkpoint */
    float *number; /* [n, size] */
} paper_checkpoints;

/* Adds a copy of the parameters in a trainer's store, which are f32.  WG_ENOMEM. */
wg_status paper_checkpoints_keep(paper_checkpoints *c, const wg_store *store);
/* Gives the parameters of the store the means of the last `last` checkpoints, 1 to n.  Does nothing
 * if there are fewer. */
void paper_checkpoints_average(const paper_checkpoints *c, int last, wg_store *store);
void paper_checkpoints_free(paper_checkpoints *c);

#endif
