/* --backend and --threads: the options of every command that runs graphs. */
#ifndef WG_CLI_BACKENDS_H
#define WG_CLI_BACKENDS_H

#include "cli/cli.h"

enum { MAX_BACKENDS = WG_MAX_BACKENDS };

/* The backends of one --backend, which commands that compare backends time together. */
typedef struct backend_set {
    wg_backend_list list;
    char name[64]; /* "onednn,simd,cpu"; for a shared object its file name */
} backend_set;

/* The requested backends; without --backend, one set of all built-in ones. */
typedef struct backend_choice {
    backend_set set[MAX_BACKENDS];
    size_t n_sets;
    const wg_backend *backend[MAX_BACKENDS]; /* of all sets, in their order */
    const char *name[MAX_BACKENDS];          /* of each: "onednn", "libmine.so" */
    size_t count;
    int threads; /* 0: all */
} backend_choice;

/* For argp_child; at ARGP_KEY_INIT the parent passes its backend_choice in state->child_inputs. */
extern const struct argp backend_argp;

/* Unloads what was loaded, once no plan uses it. */
void close_backends(backend_choice *choice);

#endif
