/* progress.json; not installed. */
#ifndef WG_TRAIN_PROGRESS_H
#define WG_TRAIN_PROGRESS_H

#include "wengert/train/checkpoint.h"
#include "files/internal.h"

wg_status wgi_progress_write(const wg_progress *p, const wg_settings *s, const char *path,
                             wgi_message *m);
/* WG_EDATA: it is malformed; WG_EINVAL: settings differ that may not change, all of them named. */
wg_status wgi_progress_read(wg_progress *p, const wg_settings *s, const char *path, wgi_message *m);

#endif
