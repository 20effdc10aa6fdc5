/* Names of backends in settings. */
#ifndef WG_PRIVATE_BACKENDS_LOAD_H
#define WG_PRIVATE_BACKENDS_LOAD_H

#include <stdbool.h>

/* Whether a comma-separated list as for wg_backend_list_open has a shared object, whose code would
 * run.  NULL is allowed. */
bool wgi_backends_have_object(const char *names);

#endif
