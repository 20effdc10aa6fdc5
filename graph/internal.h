/* The inside of a graph: for the files of graph/ alone. */
#ifndef WG_GRAPH_INTERNAL_H
#define WG_GRAPH_INTERNAL_H

#include "graph/arena.h"
#include "graph/marks.h"
#include "graph/mix.h"
#include "wengert/graph/op.h"

#include <stdarg.h>

/* An open-addressing table from texts of the arena to pointers. */
typedef struct wgi_names {
    struct wgi_names_slot {
        const char *key;
        void *item;
    } * slot;
    size_t used, size; /* size is 0 or a power of two */
} wgi_names;

void *wgi_names_get(const wgi_names *t, const char *key);
bool wgi_names_put(wgi_names *t, const char *key, void *item); /* false without memory */

struct wg_graph {
    wgi_arena arena;
    wg_node **nodes;
    wg_value **values;
    wgi_named_value *outputs;
    wgi_assignment *assigns;
    size_t n_nodes, cap_nodes, n_values, cap_values;
    size_t n_outputs, cap_outputs, n_assigns, cap_assigns;
    wgi_names scopes;       /* path -> wg_scope           */
    wgi_names names;        /* full name -> wg_value      */
    wgi_names lines;        /* "file:line" -> itself      */
    wgi_names output_names; /* -> the first wg_value with it */
    size_t *assignment;     /* [cap_assignment] by id of the leaf: the assignment's number + 1 */
    size_t cap_assignment;
    wg_origin origin;
    const char *caller; /* graph/call.h; NULL: none */
    const char *leaf;   /* the name of the leaf that is being built; NULL: none */
    uint64_t next_key;
    wg_status status;
    wg_status refused; /* graph/refusal.h; WG_OK if status is not */
    char *message;     /* of either; NULL, or text on the heap */
};

/* wgi_reserve for one more item; false (and the graph in error) without memory. */
bool wgi_graph_reserve(wg_graph *g, void *array, size_t *capacity, size_t used, size_t item_size);

/* Sticks WG_ENOMEM; returns NULL. */
void *wgi_graph_no_memory(wg_graph *g);
/* Sticks the first error, text already complete. */
void wgi_graph_stick(wg_graph *g, wg_status status, const char *format, ...) WG_PRINTF(3, 4);

const wg_scope *wgi_scope_intern(wg_graph *g, const char *path);

/* The graph's own copy of a "file:line", one for equal texts: the caller's may be in an object that
 * is unloaded, or in a graph that is freed.  NULL for NULL or without memory. */
const char *wgi_graph_own_line(wg_graph *g, const char *at);

/* Gives v that full name; error if another value has it. */
bool wgi_graph_set_name(wg_graph *g, wg_value *v, const char *full);
/* Shows that name, by which wg_graph_find does not find v; false without memory. */
bool wgi_graph_set_label(wg_graph *g, wg_value *v, const char *full);

/* wg_output of a value that is not NULL, whatever other outputs are called. */
wg_value *wgi_graph_add_output(wg_value *v, const char *name);

/* the file name without its folders: "model.c:41" */
const char *wgi_short_at(const char *at);
/* The same in a sentence; "an unknown line" for NULL. */
const char *wgi_line_of(const char *at);

/* Field f of an attribute struct, whose type is known: *WGI_FIELD(bool, n->attrs, f). */
#define WGI_FIELD(type, attrs, f)                                                                  \
    ((type const *)(const void *)((const char *)(attrs) + (f)->offset))

/* One attribute as "axis=1" into text; returns text. */
const char *wgi_attr_text(const void *attrs, const wg_attr *f, char *text, size_t size);
uint64_t wgi_hash_attr(uint64_t h, const void *attrs, const wg_attr *f);

uint64_t wgi_hash_shape(uint64_t h, const wg_shape *s);

#endif
