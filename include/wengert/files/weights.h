/* Saving and loading a store, that is all parameters and states of a model, as a safetensors
 * file. */
#ifndef WG_FILES_WEIGHTS_H
#define WG_FILES_WEIGHTS_H

#include "wengert/files/safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Writes every tensor of the store.  Fails as wg_safetensors_write does. */
WG_API WG_MUST_USE wg_status wg_store_save(const wg_store *store, const char *path,
                                           wg_error *error);
/** Fills the store's tensors from the file, which must have the same names, dtypes and shapes:
 * otherwise (WG_EDATA) nothing changes and the error lists all differences for which it has room.
 * Fails as wg_safetensors_open does, too. */
WG_API WG_MUST_USE wg_status wg_store_load(wg_store *store, const char *path, wg_error *error);

#ifdef __cplusplus
}
#endif
#endif
