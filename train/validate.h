/* Validation: loss and metrics on data that the model is not trained on. */
#ifndef WG_TRAIN_VALIDATE_H
#define WG_TRAIN_VALIDATE_H

#include "train/plans.h"

/* Means of metrics over batches, the loss first. */
typedef struct wgi_means {
    wg_metric metric[WG_MAX_METRICS];
    size_t n;
    int64_t weight, examples;
} wgi_means;

/* Adds a batch of that size: its loss, called `loss`, and its metrics.  What is a mean over the
 * batch counts by the weight of the batch; what adds up over an update, or all of the validation,
 * was divided by `total`.  Until wgi_means_finish, values are sums. */
void wgi_means_add(wgi_means *m, const char *loss, const wgi_step_plan *p, double total,
                   const wg_batch_size *size);
/* Adds sums to sums. */
void wgi_means_merge(wgi_means *to, const wgi_means *from);
/* Divides the sums by `weight`. */
void wgi_means_finish(wgi_means *m, double weight);
/* Adds a metric that was measured in another way; ignored if there is no room. */
void wgi_means_put(wgi_means *m, const char *name, double value, wg_better better, int decimals);
/* The metric of that name, or NULL. */
wg_metric *wgi_means_find(wgi_means *m, const char *name);

/* All batches of epoch 0 of the source, with the parameters in the plans' store; shared out among
 * the ranks of the plans' options.  error->warning names the first batch whose loss is not finite.
 * WG_ESTOPPED if *stop, which may be NULL, is nonzero before a batch; several ranks do not
 * stop. */
wg_status wgi_validate(wgi_means *out, wgi_plans *plans, const wg_source *source, const char *loss,
                       const volatile int *stop, wg_error *error);

#endif
