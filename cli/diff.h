/* wengert diff: what is asked, and the two ways to compare. */
#ifndef WG_CLI_DIFF_H
#define WG_CLI_DIFF_H

#include "cli/backends.h"
#include "cli/source.h"

/* In what two runs of one graph differ. */
typedef enum diff_kind { DIFF_NOTHING, DIFF_BACKENDS, DIFF_DTYPES, DIFF_WEIGHTS } diff_kind;

typedef struct diff_request {
    const char *name[2]; /* of the models */
    int n_names;
    diff_kind kind;
    const char *pair; /* "cpu,onednn": what follows the option of that kind */
    bool grad, bits, no_fuse, full;
    double digits, floor;
    int worst;
    uint64_t seed, step;
    const char *svg, *png;
    backend_choice backends;
    source_options options;
} diff_request;

/* One of two runs of a graph g. */
typedef struct side {
    char label[1024];     /* "onednn", "f64", "a.safetensors" */
    wg_backend_list list; /* of --backends; empty otherwise */
    wg_graph *g;          /* a copy, in another dtype if so asked */
    wg_value **map;       /* [values of the original] its value here, NULL if it is not needed */
    wg_store *numbers;    /* parameters and states as they are in g's dtypes */
    wg_plan *plan;
} side;

/* Makes both sides ready and runs them.  Complains and returns an exit code other than EXIT_OK if
 * that fails; sides_free is due in any case. */
int sides_run(side s[2], wg_graph *g, const source *from, const diff_request *r);
void sides_free(side s[2]);

/* Compares the values of both sides and reports; EXIT_RUN if they part. */
int diff_numbers(side s[2], wg_graph *g, const diff_request *r);

/* Compares two graphs node by node and reports; EXIT_RUN if they part. */
int diff_graphs(wg_graph *a, wg_graph *b, const diff_request *r);

#endif
