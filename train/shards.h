/* The optimizer's state shared out over ranks (ZeRO-1, Rajbhandari et al. 2020).
 *
 * The trained parameters, one after another, are one vector, which is cut into as many even parts
 * as there are ranks, at borders of rows.  A rank updates the rows of its part and has moments of
 * them alone, in tensors of fewer rows or none; after an update the ranks send each other their
 * rows.  Averages are complete on each rank, but only the own rows are current until they are
 * fetched.  Without wg_trainer_options.shard_optimizer all of this does nothing. */
#ifndef WG_TRAIN_SHARDS_H
#define WG_TRAIN_SHARDS_H

#include "wengert/distributed/ranks.h"
#include "wengert/models/optimizer.h"
#include "wengert/train/trainer.h"

typedef struct wgi_shards {
    size_t n;                    /* trained parameters; 0: nothing is shared out */
    const wg_tensor **parameter; /* [n] of the store, in the order of the vector */
    void **data, **averages;     /* [n] theirs, and of their averages, if there are any */
    size_t *bytes;               /* [n] of each */
    int64_t *before, total;      /* [n] elements of those before each; of all */
    size_t *cut;                 /* [ranks + 1] the parts, in bytes */
    wg_store *whole; /* on rank 0, while a checkpoint is read or written: the optimizer's states */
} wgi_shards;

/* The plan of an update is made.  WG_ENOMEM, or the error of the model, in t->error. */
wg_status wgi_shards_open(wg_trainer *t);
void wgi_shards_close(wgi_shards *s);

/* All of these are called on all ranks, and give the same status on all of them. */

/* After an update: all rows of all parameters. */
wg_status wgi_shards_share(wg_trainer *t);
/* All rows of all averages. */
wg_status wgi_shards_share_averages(wg_trainer *t);
/* Makes t->shards.whole on rank 0 with all moments, before a checkpoint is written. */
wg_status wgi_shards_gather(wg_trainer *t);
/* Every rank takes its rows of rank 0's t->shards.whole, which a checkpoint has filled, and rank 0
 * what is beside the moments. */
wg_status wgi_shards_scatter(wg_trainer *t);
/* t->shards.whole with zeros, on rank 0; elsewhere nothing. */
wg_status wgi_shards_make_whole(wg_trainer *t);
void wgi_shards_free_whole(wgi_shards *s);

#endif
