/* Facts about a run that its loop and its report share. */
#include "train/trainer.h"

#include <math.h>
#include <string.h>

int64_t wgi_done_in(const wg_progress *p, char unit)
{
    return unit == 'e' ? p->cursor.epoch : unit == 't' ? p->tokens : p->update;
}

double wgi_trainer_done(const wg_trainer *t)
{
    wg_amount after = t->settings.after;
    double done = (double)wgi_done_in(&t->progress, after.unit);
    if (after.n <= 0)
        return 0;
    if (after.unit == 'e')
        done += (double)t->progress.cursor.group / (double)wg_batches_groups(t->batches);
    return fmin(1, done / (double)after.n);
}

wg_best *wgi_best_of(wg_progress *p, const char *metric)
{
    for (size_t i = 0; i < p->n_best; i++)
        if (strcmp(p->best[i].metric, metric) == 0)
            return &p->best[i];
    return NULL;
}
