/* Dynamic scaling of the loss (wg_loss_scaling). */
#ifndef WG_TRAIN_SCALING_H
#define WG_TRAIN_SCALING_H

#include "wengert/train/trainer.h"

static inline bool wgi_is_scaled(const wg_trainer_options *o)
{
    return o->loss_scaling.initial > 0;
}

/* False, and says in `text` what is wrong, unless the loss can be scaled so. */
bool wgi_check_scaling(const wg_loss_scaling *given, char *text, size_t size);
void wgi_describe_scaling(const wg_trainer_options *o, char *text, size_t size);

/* The run begins, or goes on from *p: WG_EDATA if the scale there is none that can be. */
wg_status wgi_scaling_begin(const wg_trainer_options *o, wg_progress *p, wg_error *error);
/* An update was applied: grows the scale where it is due. */
void wgi_scaling_applied(const wg_trainer_options *o, wg_progress *p);
/* The gradient of an update was not finite: lowers the scale and counts the update as skipped;
 * false if the scale is as low as it can be, and then nothing has changed. */
bool wgi_scaling_skips(const wg_trainer_options *o, wg_progress *p);

#endif
