/* --backend and --threads: the options of every command that runs graphs. */
#ifndef WG_CLI_BACKENDS_H
#define WG_CLI_BACKENDS_H

#include "cli/cli.h"

enum { MAX_BACKENDS = WG_MAX_BACKENDS };

/* One --backend: what commands that compare backends time as one. */
typedef struct backend_set {
    wg_backend_list list;
    char name[64]; /* "onednn,simd,cpu"; of a shared object its file without folders */
} backend_set;

/* What was asked for; without --backend, one set of all that are built in. */
typedef struct backend_choice {
    backend_set set[MAX_BACKENDS];
    size_t n_sets;
    const wg_backend *backend[MAX_BACKENDS]; /* of all sets, in their order */
    const char *name[MAX_BACKENDS];          /* of each: "onednn", "libmine.so" */
    size_t count;
    int threads; /* 0: as many as there are */
} backend_choice;

/* For argp_child; the parent hands its backend_choice on at ARGP_KEY_INIT, by
 * state->child_inputs. */
extern const struct argp backend_argp;

/* Unloads what was loaded, once no plan uses it. */
void close_backends(backend_choice *choice);

#endif
