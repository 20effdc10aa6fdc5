/* Which rows of the trained parameters belong to which rank (train/shards.h). */
#ifndef WG_TRAIN_ROWS_H
#define WG_TRAIN_ROWS_H

#include "wengert/distributed/ranks.h"
#include "wengert/models/optimizer.h"

/* Rows of a tensor; a scalar has one. */
int64_t wgi_rows_in(const wg_shape *s);
/* The first row of a parameter that belongs to rank r of `size` or a later one, where `before`
 * elements of `total` precede the parameter: a row belongs to the part in which it begins. */
int64_t wgi_first_row(const wg_shape *s, int64_t before, int64_t total, int64_t r, int64_t size);
/* The rows of each of n parameters that belong to this rank, in memory of their graph; NULL without
 * memory. */
const wg_rows *wgi_shard_rows(const wg_ranks *ranks, wg_value *const *params, size_t n);

#endif
