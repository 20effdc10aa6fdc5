/* progress.json; not installed. */
#ifndef WG_TRAIN_PROGRESS_H
#define WG_TRAIN_PROGRESS_H

#include "train/checkpoint.h"
#include "train/internal.h"

wg_status wg_progress_write(const wg_progress *p, const wg_settings *s, const char *path, wg_message *m);
/* WG_EDATA: it is malformed; WG_EINVAL: settings differ that may not change, all of them named. */
wg_status wg_progress_read(wg_progress *p, const wg_settings *s, const char *path, wg_message *m);

#endif
