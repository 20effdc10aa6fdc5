/* progress.json. */
#ifndef WG_TRAIN_PROGRESS_H
#define WG_TRAIN_PROGRESS_H

#include "wengert/train/checkpoint.h"

wg_status wgi_progress_write(const wg_progress *p, const wg_checkpoint_options *o, const char *path,
                             wg_error *error);
/* WG_EDATA: malformed or damaged.  WG_EINVAL: settings differ that must not change; the error names
 * all.  WG_EUNSUPPORTED: of a later version.  The options may be NULL: settings are then not
 * compared. */
wg_status wgi_progress_read(wg_progress *p, const wg_checkpoint_options *o, const char *path,
                            wg_error *error);

#endif
