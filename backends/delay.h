/* The time for which threads were kept from running. */
#ifndef WG_BACKENDS_DELAY_H
#define WG_BACKENDS_DELAY_H

#include <stdint.h>

/* Nanoseconds for which the threads of the process that are alive have waited for a core while they
 * could have run; 0 where the system does not tell. */
int64_t wgi_run_delay(void);

#endif
