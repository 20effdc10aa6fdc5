/* The graph that is run for one batch. */
#ifndef WG_TRAIN_STEP_H
#define WG_TRAIN_STEP_H

#include "wengert/train/settings.h"

/* An update may take several batches: all but the last leave the sum of gradients so far in
 * states. */
enum {
    WG_STEP_ADDS = 1,     /* adds what the states hold to its gradient           */
    WG_STEP_UPDATES = 2,  /* updates the parameters instead of keeping the sum */
    WG_STEP_EVALUATES = 4 /* neither: sums of costs and correct targets, without dropout    */
};

typedef struct wgi_step_shape {
    int64_t rows, source_length, target_length;
    int kind; /* of WG_STEP_... */
} wgi_step_shape;

/* The values are scalars of the model's dtype; those that a kind of step does not have are NULL. */
typedef struct wgi_step_graph {
    wg_graph *graph;
    wg_transformer_inputs in;
    wg_value *normaliser; /* target tokens of the whole update      */
    wg_value *rate;       /* learning rate                          */
    wg_value *cost;       /* label-smoothed; summed if evaluating   */
    wg_value *norm;       /* of the gradient, before clipping       */
    wg_value *nll;        /* sum of -log p of the targets */
    wg_value *correct;    /* targets that have the greatest logit   */
} wgi_step_graph;

/* Builds the graph, which the caller frees.  Errors are in its status. */
void wgi_step_build(wgi_step_graph *out, const wg_settings *settings, const wgi_step_shape *shape);

#define WG_STATES_OF_AVERAGE "average/"
#define WG_STATES_OF_OPTIMIZER "optimizer/"
#define WG_STATES_OF_GRADIENT "gradient/"

#endif
