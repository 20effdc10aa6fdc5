/* The plans of a training run: one for each set of shapes of a batch, all on one store. */
#ifndef WG_TRAIN_PLANS_H
#define WG_TRAIN_PLANS_H

#include "wengert/backends/plan.h"
#include "backends/plan_cache.h"
#include "train/step.h"

/* A scalar in the memory of a plan; NULL where the kind of step has none. */
typedef struct wgi_place {
    void *at;
    wg_dtype dtype;
} wgi_place;

typedef struct wgi_placed_metric {
    wgi_step_metric metric; /* without its value */
    wgi_place place;
} wgi_placed_metric;

/* A plan and where its inputs and outputs are. */
typedef struct wgi_step_plan {
    wg_plan *plan;
    wgi_place total, share, scale, rate, loss, norm, vote, votes, losses;
    bool adds_up; /* the loss */
    wgi_placed_metric metric[WGI_MAX_STEP_METRICS];
    size_t n_metrics;
    void *inputs[]; /* [fields] */
} wgi_step_plan;

typedef struct wgi_plans {
    const wg_trainer_options *options;
    const wg_field *fields; /* [n_fields] of all batches */
    size_t n_fields;
    wg_store *store;
    wg_workspace *workspace;
    const wg_backend **backends; /* [n_backends] of the plans, that of the ranks first */
    size_t n_backends;
    wgi_plan_cache cache;
    size_t reserve; /* of options->memory: plans are made to leave it to others, if they can */
    wg_shape
        *shapes; /* [n_sets][n_fields] that there are plans for, then one set more as scratch */
    size_t n_sets, capacity;
    wg_graph *last; /* that the model was last called for (wgi_plans_keep) */
} wgi_plans;

/* Frees g as soon as the model has been called for another graph: a value that it has kept from one
 * call to the next is then an operand of another graph, which is an error, and not freed memory. */
void wgi_plans_keep(wgi_plans *p, wg_graph *g);

/* What a batch is and what it is run for. */
typedef struct wgi_step_batch {
    const wg_source *source;
    int64_t epoch, i; /* which of its batches */
    int kind;         /* of WG_STEP_... */
    double total;     /* weight of the update; 1 for validation */
    double scale;     /* of the loss; 0: none */
    double rate;      /* learning rate */
    double vote;      /* of this rank, for an update of several */
    wgi_group_set resting;
} wgi_step_batch;

/* WG_ENOMEM, and then there is nothing to free.  The options and the fields must outlive the
 * plans. */
wg_status wgi_plans_init(wgi_plans *p, const wg_trainer_options *options, const wg_field *fields,
                         size_t n_fields, wg_store *store);
void wgi_plans_free(wgi_plans *p);
/* Each moving average becomes its parameter, from the tensor of that index on. */
void wgi_averages_start(const wg_store *store, size_t from);
/* The plan for a batch, created at first use and valid until the next call, with the batch written
 * into its inputs; and the size of the batch.  */
wg_status wgi_plans_fill(wgi_plans *p, const wgi_step_batch *batch, wgi_step_plan **out,
                         wg_batch_size *size, wg_error *error);
/* Describes a batch: its shapes are scratch of the plans.  What cannot be is WG_EINVAL. */
wg_status wgi_plans_describe(wgi_plans *p, const wg_source *source, int64_t epoch, int64_t i,
                             wg_shape **shapes, wg_batch_size *size, wg_error *error);
/* Whether the graph of that kind has no parameters but those of the first plan, and these, and its
 * states, as they were there, and for validation assigns to none of them; otherwise it is in
 * error. */
bool wgi_plans_accept(const wgi_plans *p, wg_graph *g, int kind);
double wgi_place_get(const wgi_place *place);

#endif
