/* Stacks of equal layers that map n positions of width d to n others: self-attention, recurrence,
 * convolution and restricted attention, as Table 1 compares them. */
#ifndef WG_PAPER_STACKS_H
#define WG_PAPER_STACKS_H

#include "paper/run.h"

/* KERNEL is the width of a convolution; restricted attention sees RADIUS positions on each side
 * unless it is told otherwise. */
enum { PAPER_KERNEL = 3, PAPER_RADIUS = 8 };

/* One entry of a stack: layer number l, of x in the form in which the op takes it. */
typedef wg_value *paper_layer_fn(wg_value *x, int64_t d, int l, int64_t radius);

typedef struct paper_layer {
    const char *name, *work, *sequential, *path; /* and the formulas */
    paper_layer_fn *build;
    const char *axes;                       /* of x, a letter each: b, n, d, or 1             */
    int n_power, d_power, sequential_power; /* of the formulas; the last one of n             */
    bool skips; /* counted where kernels skip what it does not see, not in its expansion      */
    int64_t batch, min_n, at_d, min_d, at_n; /* timed at least_n 2^i and at_d, at least_d 2^i and
                                                at_n */
} paper_layer;

enum { PAPER_LAYERS = 4, PAPER_RESTRICTED = 3 };
extern const paper_layer paper_layers[PAPER_LAYERS];

typedef struct paper_stack_size {
    int64_t batch, n, d;
    int depth;
    int64_t radius; /* of restricted attention */
} paper_stack_size;

typedef struct paper_stack {
    wg_graph *graph;
    wg_plan *plan;
    wg_value *x, *y;
} paper_stack;

/* Plans a stack, on the reference backend or on all; free it also after a failure. */
wg_status paper_stack_make(paper_stack *s, const paper_layer *t, const paper_stack_size *size,
                           bool reference, int threads, wg_error *error);
void paper_stack_free(paper_stack *s);
/* One run of it: a bench_subject's. */
wg_status paper_stack_run(void *stack);

/* Floating-point operations of one layer; NaN on failure. */
double paper_stack_operations(const paper_layer *t, int64_t n, int64_t d, int64_t radius,
                              wg_error *error);

typedef struct paper_path {
    int64_t sequential; /* operations of a layer that wait for each other                      */
    int64_t steps;      /* of the shallowest stack that connects the first and last position   */
    int layers;         /* of that stack; 0: none connects them                                */
} paper_path;
wg_status paper_stack_path(const paper_layer *t, int64_t n, paper_path *out, wg_error *error);
/* The layers of that stack by the formulas with their constants: L convolutions reach KERNEL^L
 * positions, and L restricted attentions L RADIUS more than one. */
int paper_path_layers(const paper_layer *t, int64_t n);

#endif
