/* What is done while memory fails: small but whole pieces of work, each repeatable. */
#ifndef WG_TESTS_FAILING_WORKLOADS_H
#define WG_TESTS_FAILING_WORKLOADS_H

#include "wengert/graph/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct workload {
    const char *name;
    bool plans; /* it depends on backends: done on the reference and on the default ones */
    /* What it starts from, made with all the memory in the world. */
    void *(*prepare)(bool reference);
    /* The work; *digest is a hash of what it made, if it succeeds.  After a failure it can be done
     * again. */
    wg_status (*work)(void *state, uint64_t *digest);
    /* A hash of what a failure must leave as it is; NULL: nothing is changed in place. */
    uint64_t (*kept)(void *state);
    void (*finish)(void *state);
} workload;

/* The end has a name of NULL. */
extern const workload workloads[];

/* Makes the folders and files that they use, below the current folder. */
void make_workloads(void);
void remove_workloads(void);

#endif
