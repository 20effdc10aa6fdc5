/* progress.json. */
#ifndef WG_TRAIN_PROGRESS_H
#define WG_TRAIN_PROGRESS_H

#include "wengert/train/checkpoint.h"
#include "graph/error.h"

wg_status wgi_progress_write(const wg_progress *p, const wg_settings *s, const char *path,
                             wg_error *error);
/* WG_EDATA: malformed or damaged.  WG_EINVAL: settings differ that must not change; the error names
 * all.  WG_EUNSUPPORTED: of a later version.  The settings may be NULL, and are then not
 * compared. */
wg_status wgi_progress_read(wg_progress *p, const wg_settings *s, const char *path,
                            wg_error *error);

#endif
