/* Groups of parameters that are trained in a way of their own (wg_parameter_group). */
#ifndef WG_TRAIN_GROUPS_H
#define WG_TRAIN_GROUPS_H

#include "wengert/autograd/grad.h"
#include "wengert/train/trainer.h"

/* A set of groups: bit k is group k. */
typedef uint64_t wgi_group_set;
enum { WGI_MOST_RESTING = 63 /* groups that may rest: those before that number */ };

/* The groups that rest in an update, counted from 1. */
wgi_group_set wgi_resting(const wg_trainer_options *o, int64_t update);
/* Whether the group, which may be NULL, is among them. */
bool wgi_group_rests(const wg_trainer_options *o, const wg_parameter_group *group,
                     wgi_group_set resting);

/* What the learning rate is multiplied with for parameters of the group, which may be NULL. */
double wgi_group_rate(const wg_parameter_group *group);

/* The group of a parameter, the first that has its name; NULL if none has. */
const wg_parameter_group *wgi_group_of_parameter(const wg_trainer_options *o, const wg_value *p);

/* What the groups say of each parameter that is trained; NULL without groups.  Those with the same
 * interval stand together. */
typedef struct wgi_group_settings {
    double *rates, *decays; /* [n] in memory of the graph */
    int64_t *every;         /* [n] likewise */
    wg_value **resting;     /* [n_resting] likewise: others, which are trained in other updates */
    size_t n_resting;
} wgi_group_settings;

/* Leaves in *d the parameters that are trained, by their intervals.  A group without parameters is
 * an error of the graph. */
wgi_group_settings wgi_apply_groups(wg_graph *g, const wg_trainer_options *o, wgi_group_set resting,
                                    wg_gradients *d);

#endif
