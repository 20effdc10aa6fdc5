/* Ranks that are threads of one process: a transport in memory, with messages that arrive after a
 * random number of looks, so that no order of events can be relied on. */
#ifndef WG_TESTS_LOCAL_H
#define WG_TESTS_LOCAL_H

#include "distributed/ranks.h"

#include <stdio.h>
#include <unistd.h>

/* A check on the thread of a rank, where cmocka's would jump into another thread's stack. */
#define insist(condition, ...)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                        \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fprintf(stderr, "\n");                                                                 \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

enum { LOCAL_MOST = 8, LOCAL_ENDED = 7 };

/* Where the ranks of a test meet. */
typedef struct local_world local_world;

local_world *local_world_new(int size);
void local_world_free(local_world *w);
/* From now on the messenger of that rank does nothing any more. */
void local_world_silence(local_world *w, int rank);

void local_sleep(int milliseconds); /* less than a second */

/* Runs body on a thread for each rank and waits for all. */
void local_run(local_world *w, double silence, void (*body)(wg_ranks *r, void *context),
               void *context);
/* The same without a body, for ranks that need not succeed in joining: what becomes of each. */
void local_join(local_world *w, double silence, wg_status status[LOCAL_MOST],
                wg_error error[LOCAL_MOST]);

#endif
