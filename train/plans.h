/* The plans of a training run: one for each shape of batch, all on one store. */
#ifndef WG_TRAIN_PLANS_H
#define WG_TRAIN_PLANS_H

#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "wengert/train/batches.h"
#include "backends/plan_cache.h"
#include "graph/error.h"
#include "train/step.h"

/* A plan and where its inputs and outputs are; NULL where the kind of step has none. */
typedef struct wgi_step_plan {
    wg_plan *plan;
    int32_t *source, *source_lengths, *target_in, *target_out;
    void *normaliser, *rate;
    const void *cost, *norm, *nll, *correct;
} wgi_step_plan;

typedef struct wgi_plans {
    const wg_settings *settings;
    const wg_backend_list *backends;
    wg_store *store;
    wg_workspace *workspace;
    wgi_plan_cache cache;
} wgi_plans;

wg_status wgi_plans_init(wgi_plans *p, const wg_settings *settings, const wg_backend_list *backends,
                         wg_store *store);
void wgi_plans_free(wgi_plans *p);
/* Each moving average becomes its parameter, from the tensor of that index on. */
void wgi_averages_start(const wg_store *store, size_t from);
/* The plan for that shape, created at first use; valid until the next call. */
wg_status wgi_plans_get(wgi_plans *p, const wgi_step_shape *shape, wgi_step_plan **out,
                        wg_error *error);
/* The plan for a batch, with the batch copied into its inputs. */
wg_status wgi_plans_fill(wgi_plans *p, const wg_batch *batch, int kind, double normaliser,
                         double rate, wgi_step_plan **out, wg_error *error);
/* A scalar of the model's dtype. */
double wgi_plans_scalar(const wgi_plans *p, const void *at);

#endif
