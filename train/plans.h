/* A plan for each shape of batch, all on one store; not installed. */
#ifndef WG_TRAIN_PLANS_H
#define WG_TRAIN_PLANS_H

#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "wengert/train/batches.h"
#include "files/internal.h"
#include "train/step.h"

/* A plan with the places of what goes in and out. */
typedef struct wgi_step_plan {
    wgi_step_shape shape;
    wg_plan *plan;
    int32_t *source, *source_lengths, *target_in, *target_out;
    void *normaliser, *rate;
    const void *cost, *norm, *nll, *hits;
    size_t bytes;
    uint64_t used; /* when last asked for */
} wgi_step_plan;

typedef struct wgi_plans {
    const wg_settings *settings;
    const wg_backend_list *backends;
    wg_store *store;
    wg_workspace *workspace;
    wgi_step_plan **plan; /* [count] */
    size_t count, room, bytes;
    uint64_t clock;
} wgi_plans;

wg_status wgi_plans_init(wgi_plans *p, const wg_settings *settings, const wg_backend_list *backends,
                         wg_store *store);
void wgi_plans_free(wgi_plans *p);
/* The plan for that shape, made at the first time; it lives until the next call. */
wg_status wgi_plans_get(wgi_plans *p, const wgi_step_shape *shape, wgi_step_plan **out,
                        wgi_message *m);
/* The same for a batch, which it fills in. */
wg_status wgi_plans_fill(wgi_plans *p, const wg_batch *batch, int kind, double normaliser,
                         double rate, wgi_step_plan **out, wgi_message *m);
/* A scalar of the model's dtype. */
double wgi_plans_scalar(const wgi_plans *p, const void *at);

#endif
