/* The time for which threads were kept from running. */
#ifndef WG_BACKENDS_DELAY_H
#define WG_BACKENDS_DELAY_H

#include <stdint.h>

/* Nanoseconds that the live threads of the process have spent ready to run but waiting for a core;
 * 0 where the system does not report it. */
int64_t wgi_run_delay(void);

#endif
