/* Facts about a run that its loop and its report share. */
#include "train/trainer.h"
#include "graph/flag.h"
#include "train/stop.h"

#include <math.h>
#include <string.h>

int64_t wgi_trainer_groups(const wg_trainer *t)
{
    int64_t group = t->options.accumulate;
    return (t->train.s.batches + group - 1) / group;
}

int64_t wgi_done_in(const wg_progress *p, char unit)
{
    return unit == 'e' ? p->cursor.epoch : unit == 't' ? p->weight : p->update;
}

bool wgi_is_amount(wg_amount a)
{
    return a.n >= 0 && (!a.unit || strchr("uet", a.unit));
}

double wgi_trainer_done(const wg_trainer *t)
{
    wg_amount after = t->options.after;
    double done = (double)wgi_done_in(&t->progress, after.unit);
    if (after.n <= 0)
        return 0;
    if (after.unit == 'e')
        done += (double)t->progress.cursor.group / (double)wgi_trainer_groups(t);
    return fmin(1, done / (double)after.n);
}

wg_best *wgi_best_of(wg_progress *p, const char *metric)
{
    for (size_t i = 0; i < p->n_best; i++)
        if (strcmp(p->best[i].metric, metric) == 0)
            return &p->best[i];
    return NULL;
}

bool wgi_trainer_metric(const wg_trainer *t, size_t i, char name[WG_METRIC_NAME])
{
    static const char blanks[] = " ,\t";
    const char *words = t->options.metrics ? t->options.metrics : t->task.words.loss;
    for (words += strspn(words, blanks); *words && i; i--) {
        words += strcspn(words, blanks);
        words += strspn(words, blanks);
    }
    size_t n = strcspn(words, blanks);
    if (n >= WG_METRIC_NAME)
        n = WG_METRIC_NAME - 1;
    memcpy(name, words, n);
    name[n] = '\0';
    return n > 0;
}

bool wgi_trainer_is_asked(const wg_trainer *t)
{
    return wgi_flag(t->stop) || (t->options.folder && wgi_stop_is_asked(t->options.folder));
}
