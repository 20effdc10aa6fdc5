/* A plan for each shape of batch, all on one store; not installed. */
#ifndef WG_TRAIN_PLANS_H
#define WG_TRAIN_PLANS_H

#include "backends/load.h"
#include "backends/plan.h"
#include "train/batches.h"
#include "train/internal.h"
#include "train/step.h"

/* A plan with the places of what goes in and out. */
typedef struct wg_step_plan {
    wg_step_shape shape;
    wg_plan *plan;
    int32_t *source, *source_lengths, *target_in, *target_out;
    void *normaliser, *rate;
    const void *cost, *norm, *nll, *hits;
    size_t bytes;
    uint64_t used; /* when last asked for */
} wg_step_plan;

typedef struct wg_plans {
    const wg_settings *settings;
    const wg_backend_list *backends;
    wg_store *store;
    wg_workspace *workspace;
    wg_step_plan **plan; /* [count] */
    size_t count, room, bytes;
    uint64_t clock;
} wg_plans;

wg_status wg_plans_init(wg_plans *p, const wg_settings *settings, const wg_backend_list *backends, wg_store *store);
void wg_plans_free(wg_plans *p);
/* The plan for that shape, made at the first time; it lives until the next call. */
wg_status wg_plans_get(wg_plans *p, const wg_step_shape *shape, wg_step_plan **out, wg_message *m);
/* The same for a batch, which it fills in. */
wg_status wg_plans_fill(wg_plans *p, const wg_batch *batch, int kind, double normaliser, double rate,
                        wg_step_plan **out, wg_message *m);
/* A scalar of the model's dtype. */
double wg_plans_scalar(const wg_plans *p, const void *at);

#endif
