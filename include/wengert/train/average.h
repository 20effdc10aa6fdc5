/* The mean of several models.  The mean of the last checkpoints of a run is often better than each
 * of them (Vaswani et al. 2017, section 6.1). */
#ifndef WG_TRAIN_AVERAGE_H
#define WG_TRAIN_AVERAGE_H

#include "wengert/files/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Writes to `out` the mean of n files of tensors, computed in f64 and rounded to each tensor's
 * dtype, with the metadata that all of them share, and WG_NOTE_MADE_BY "average"; `out` may be one
 * of them.  WG_EDATA: names, dtypes or shapes differ, or tensors of integers are not equal; the
 * error lists all differences from the first file. */
WG_API WG_MUST_USE wg_status wg_average_files(const char *const *paths, size_t n, const char *out,
                                              wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
