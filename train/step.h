/* The graph that is run for one batch. */
#ifndef WG_TRAIN_STEP_H
#define WG_TRAIN_STEP_H

#include "train/groups.h"
#include "wengert/train/checkpoint.h"

/* What a graph does with its batch.  An update may take several batches, whose gradients are added
 * as a binary tree:
 *
 *     tree(a..b) = tree(a..m) + tree(m+1..b), split at the largest power of two below the length
 *
 * so that ranks that compute a part of the batches each have whole branches of the same tree.  As
 * in a binary counter, sums of 1, 2, 4, ... batches wait in states, those of 2^l in level l, until
 * a second one is added to them.  A kind is a set of these bits, and bit WGI_FIRST_LEVEL + l says
 * that the sum of level l is added to the gradient. */
enum {
    WGI_STEP_UPDATES = 1,   /* updates the parameters instead of keeping the sum              */
    WGI_STEP_EVALUATES = 2, /* neither: the loss and the metrics of validation data           */
    WGI_STEP_EMPTY = 4,     /* of a rank without a batch: its gradient is that of no batch    */
    WGI_FIRST_LEVEL = 3,
    WGI_MOST_LEVELS = 24
};

/* The kind of batch i of n, counted from 0. */
int wgi_step_kind(int64_t i, int64_t n);

enum { WGI_MAX_STEP_METRICS = WG_MAX_METRICS - 1 /* the loss is one more */ };

typedef struct wgi_step_metric {
    char name[WG_METRIC_NAME];
    wg_better better;
    wg_value *value;
    bool adds_up; /* a sum divided by the weight of the update, not a mean over the batch */
} wgi_step_metric;

/* The values are scalars; those that a kind of step does not have are NULL. */
typedef struct wgi_step_graph {
    wg_graph *graph;
    wg_value **inputs;  /* [fields] of the batch, in memory of the graph */
    wg_value *total;    /* weight of the whole update             */
    wg_value *share;    /* of this batch in it; only where the loss is a mean over the batch  */
    wg_value *scale;    /* of the loss, for its gradient          */
    wg_value *rate;     /* learning rate                          */
    wg_value *loss;     /* as the model returned it               */
    bool adds_up;       /* the loss, as wgi_step_metric.adds_up   */
    wg_value *others;   /* the sum of the losses of groups that do not rest; NULL: there are none */
    wg_value *counted;  /* all losses, or -0 of no batch          */
    wg_value *norm;     /* of the gradient, before clipping       */
    wg_value *vote;     /* of this rank: not 0 to stop after the update, NaN against it       */
    wg_value *votes;    /* the sum over all ranks                 */
    wg_value *losses;   /* the sum of the losses over all ranks   */
    wg_value **trained; /* [n_trained] the parameters that are updated, in memory of the graph */
    size_t n_trained;
    wgi_step_metric metric[WGI_MAX_STEP_METRICS];
    size_t n_metrics;
} wgi_step_graph;

/* Builds the graph, which the caller frees, for a batch of these shapes, one for each field, of an
 * update in which those groups rest.  Errors are in its status. */
void wgi_step_build(wgi_step_graph *out, const wg_trainer_options *o, const wg_field *fields,
                    size_t n_fields, const wg_shape *shapes, int kind, wgi_group_set resting);

#endif
