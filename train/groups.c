#include "train/groups.h"

#include <fnmatch.h>

static const char who[] = "wg_trainer";

wgi_group_set wgi_resting(const wg_trainer_options *o, int64_t update)
{
    wgi_group_set set = 0;
    for (size_t k = 0; k < o->n_groups && k < WGI_MOST_RESTING; k++)
        if (o->groups[k].every > 1 && update % o->groups[k].every != 0)
            set |= (wgi_group_set)1 << k;
    return set;
}

const wg_parameter_group *wgi_group_of_parameter(const wg_trainer_options *o, const wg_value *p)
{
    for (size_t k = 0; k < o->n_groups; k++)
        if (fnmatch(o->groups[k].names, p->name, 0) == 0)
            return &o->groups[k];
    return NULL;
}

static void check_groups(wg_graph *g, const wg_trainer_options *o, const wg_gradients *d)
{
    for (size_t k = 0; k < o->n_groups; k++) {
        bool used = false;
        bool matched = false;
        for (size_t i = 0; i < d->n && !used; i++) {
            matched |= fnmatch(o->groups[k].names, d->params[i]->name, 0) == 0;
            used = wgi_group_of_parameter(o, d->params[i]) == &o->groups[k];
        }
        if (!used)
            wg_graph_fail(g, WG_EINVAL, NULL, who,
                          matched ? "group %zu: all parameters called '%s' are in earlier groups"
                                  : "group %zu: no parameter is called '%s'",
                          k, o->groups[k].names);
    }
}

static int64_t interval_of(const wg_parameter_group *group)
{
    return group && group->every > 1 ? group->every : 1;
}

/* The next longer interval of a group; 0: none. */
static int64_t next_interval(const wg_trainer_options *o, int64_t every)
{
    int64_t next = 0;
    for (size_t k = 0; k < o->n_groups; k++) {
        int64_t own = interval_of(&o->groups[k]);
        next = own > every && (!next || own < next) ? own : next;
    }
    return next;
}

bool wgi_group_rests(const wg_trainer_options *o, const wg_parameter_group *group,
                     wgi_group_set resting)
{
    return interval_of(group) > 1 && (resting >> (group - o->groups) & 1);
}

double wgi_group_rate(const wg_parameter_group *group)
{
    return group && group->rate != 0 ? group->rate : 1;
}

wgi_group_settings wgi_apply_groups(wg_graph *g, const wg_trainer_options *o, wgi_group_set resting,
                                    wg_gradients *d)
{
    wgi_group_settings f = {.n_resting = 0};
    if (!o->n_groups)
        return f;
    check_groups(g, o, d);
    f.rates = wg_graph_alloc(g, (d->n + 1) * sizeof *f.rates);
    f.decays = wg_graph_alloc(g, (d->n + 1) * sizeof *f.decays);
    f.every = wg_graph_alloc(g, (d->n + 1) * sizeof *f.every);
    f.resting = wg_graph_alloc(g, (d->n + 1) * sizeof(wg_value *));
    wg_gradients to = {wg_graph_alloc(g, (d->n + 1) * sizeof(wg_value *)),
                       wg_graph_alloc(g, (d->n + 1) * sizeof(wg_value *)), 0};
    if (!f.rates || !f.decays || !f.every || !f.resting || !to.params || !to.grads)
        return f;
    for (int64_t every = 1; every; every = next_interval(o, every))
        for (size_t i = 0; i < d->n; i++) {
            const wg_parameter_group *own = wgi_group_of_parameter(o, d->params[i]);
            if (interval_of(own) != every || (own && own->frozen))
                continue;
            if (wgi_group_rests(o, own, resting)) {
                f.resting[f.n_resting++] = d->params[i];
                continue;
            }
            f.rates[to.n] = wgi_group_rate(own);
            f.decays[to.n] = own ? own->weight_decay : o->optimizer.weight_decay;
            f.every[to.n] = every;
            to.params[to.n] = d->params[i];
            to.grads[to.n++] = d->grads[i];
        }
    *d = to;
    return f;
}
