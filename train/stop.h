/* Stopping a run from outside, wherever it runs: by a file in its folder. */
#ifndef WG_PRIVATE_TRAIN_STOP_H
#define WG_PRIVATE_TRAIN_STOP_H

#include <stdbool.h>

/* Whether somebody has asked the run in that folder to stop. */
bool wgi_stop_is_asked(const char *folder);
/* Removes the request, if there is one. */
void wgi_stop_forget(const char *folder);

#endif
