/* The inside of a page: what a plan adds to a graph, and the browser's part. */
#ifndef WG_PRIVATE_GRAPH_PAGE_PAGE_H
#define WG_PRIVATE_GRAPH_PAGE_PAGE_H

#include "wengert/graph/page.h"

#include <stddef.h>
#include <stdint.h>

/* One node of a run. */
typedef struct wgi_page_step {
    const wg_node *node;
    const char *backend, *kernel; /* that run it */
    const char *refused;          /* why earlier backends refused it, "" if none did */
    double seconds;               /* of one run; 0: not measured */
    bool inplace;                 /* result 0 is written over an operand */
    bool again;                   /* computes a value that was dropped to save memory */
    int64_t scratch;              /* the block of the kernel's scratch, or -1 */
} wgi_page_step;

/* A place in memory, in use from step `first` to step `last`, both included.  The number of steps
 * as `last` means: to the end. */
typedef struct wgi_page_block {
    size_t bytes, offset;
    int64_t first, last;
} wgi_page_block;

/* How a graph is run. */
typedef struct wgi_page_run {
    const wgi_page_step *steps; /* in the order of execution */
    size_t n_steps;
    const wgi_page_block *blocks;
    size_t n_blocks;
    const int64_t *block_of; /* [values] of the graph: a block, or -1 */
    size_t buffer_bytes;     /* of the buffer that holds the blocks */
} wgi_page_run;

/* wg_graph_write_page of a graph that runs so; `run` may be NULL. */
wg_status wgi_page_write(const wg_graph *g, const char *title, const wgi_page_run *run, FILE *file,
                         wg_error *error);

/* The page before and after its data, made of the files in browser/ (cmake/WengertPage.cmake). */
extern const unsigned char wgi_page_head[], wgi_page_tail[];
extern const size_t wgi_page_head_size, wgi_page_tail_size;

#endif
