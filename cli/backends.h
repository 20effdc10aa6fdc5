/* --backend and --threads: the options of every command that runs graphs. */
#ifndef WG_CLI_BACKENDS_H
#define WG_CLI_BACKENDS_H

#include "cli/cli.h"

enum { MAX_BACKENDS = WG_MAX_BACKENDS };

/* What was asked for; without --backend, all that are built, the fastest first. */
typedef struct backend_choice {
    const wg_backend *backend[MAX_BACKENDS];
    const char *name[MAX_BACKENDS]; /* as given, without folders: "onednn", "libmine.so" */
    wg_loaded_backend loaded[MAX_BACKENDS];
    size_t count;
    bool given;  /* by --backend           */
    int threads; /* 0: as many as there are */
} backend_choice;

/* For argp_child; the parent hands its backend_choice on at ARGP_KEY_INIT, by
 * state->child_inputs. */
extern const struct argp backend_argp;

/* What is timed unless told otherwise: the fastest backend, on as many threads as there are. */
void settle_timed_backends(backend_choice *choice);
/* Unloads what was loaded, once no plan uses it. */
void close_backends(backend_choice *choice);

#endif
