/* The graph that is run for one batch. */
#ifndef WG_TRAIN_STEP_H
#define WG_TRAIN_STEP_H

#include "wengert/train/checkpoint.h"
#include "wengert/train/trainer.h"

/* An update may take several batches: all but the last leave the sum of gradients so far in
 * states. */
enum {
    WG_STEP_ADDS = 1,     /* adds what the states hold to its gradient           */
    WG_STEP_UPDATES = 2,  /* updates the parameters instead of keeping the sum */
    WG_STEP_EVALUATES = 4 /* neither: the loss and the metrics of validation data */
};

enum { WGI_MAX_STEP_METRICS = WG_MAX_METRICS - 1 /* the loss is one more */ };

typedef struct wgi_step_metric {
    char name[WG_METRIC_NAME];
    wg_better better;
    wg_value *value;
} wgi_step_metric;

/* The values are scalars; those that a kind of step does not have are NULL. */
typedef struct wgi_step_graph {
    wg_graph *graph;
    wg_value **inputs; /* [fields] of the batch, in memory of the graph */
    wg_value *total;   /* weight of the whole update             */
    wg_value *share;   /* of this batch in it; only where the loss is a mean over the batch  */
    wg_value *rate;    /* learning rate                          */
    wg_value *loss;    /* as the model returned it               */
    wg_value *norm;    /* of the gradient, before clipping       */
    wgi_step_metric metric[WGI_MAX_STEP_METRICS];
    size_t n_metrics;
} wgi_step_graph;

/* Builds the graph, which the caller frees, for a batch of these shapes, one for each field.
 * Errors are in its status. */
void wgi_step_build(wgi_step_graph *out, const wg_trainer_options *o, const wg_field *fields,
                    size_t n_fields, const wg_shape *shapes, int kind);

#define WG_STATES_OF_AVERAGE "average/"
#define WG_STATES_OF_OPTIMIZER "optimizer/"
#define WG_STATES_OF_GRADIENT "gradient/"

#endif
