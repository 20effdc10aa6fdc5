/* Clipping, and updates by the optimizers of this library. */
#include "wengert/models/optimizer.h"
#include "models/internal.h"
#include "models/update.h"

wg_value *(wg_clip_by_global_norm)(const char *at, wg_value *const *grads, size_t n,
                                   double max_norm, wg_value **clipped)
{
    wg_graph *g = grads && n ? wg_graph_of(grads[0]) : NULL;
    if (!g)
        return NULL;
    if (!clipped)
        return wg_graph_fail(g, WG_EINVAL, at, "clip_by_global_norm",
                             "the array for the results is NULL");
    if (!(max_norm >= 0))
        return wg_graph_fail(g, WG_EINVAL, at, "clip_by_global_norm",
                             "max_norm is %g, must be 0 or more", max_norm);
    wg_origin before = wgi_update_enter(g, "clip");
    wg_value *norm = (wg_global_norm)(at, grads, n);
    wg_value *factor =
        (wg_div)(at, (wg_scalar_like)(at, norm, max_norm), (wg_shift)(at, norm, 1e-6));
    factor = (wg_minimum)(at, factor, (wg_scalar_like)(at, norm, 1));
    for (size_t i = 0; i < n; i++)
        clipped[i] = (wg_mul)(at, grads[i], factor);
    wg_graph_set_origin(g, before);
    return norm;
}

static wg_status update_by(const char *at, wg_value *const *params, wg_value *const *grads,
                           size_t n, wg_value *lr, int kind, const wg_optimizer_numbers *given,
                           wg_update_options o)
{
    const wg_optimizer_numbers none = {0}, *numbers = given ? given : &none;
    char text[160];
    if (!wgi_optimizer_check(kind, numbers, text, sizeof text)) {
        const wg_update_rule *rule = wgi_optimizer_rule(kind, numbers);
        wg_graph *g = wg_graph_of(lr);
        wg_graph_fail(g, WG_EINVAL, at,
                      o.name ? o.name
                      : rule ? rule->name
                             : "optimizer",
                      "%s", text);
        return g ? wg_graph_status(g) : WG_EINVAL;
    }
    const wg_optimizer_numbers all = wgi_optimizer_numbers(kind, numbers);
    o.context = &all;
    return wgi_update(at, params, grads, n, lr, wgi_optimizer_rule(kind, &all), &o, true);
}

wg_status(wg_optimizer_update)(const char *at, wg_value *const *params, wg_value *const *grads,
                               size_t n, wg_value *lr, wg_optimizer_kind kind,
                               const wg_optimizer_numbers *numbers,
                               const wg_update_options *options)
{
    return update_by(at, params, grads, n, lr, kind, numbers,
                     options ? *options : (wg_update_options){0});
}

wg_status(wg_sgd_update)(const char *at, wg_value *const *params, wg_value *const *grads, size_t n,
                         wg_value *lr, const wg_sgd_options *options)
{
    const wg_sgd_options o = options ? *options : (wg_sgd_options){0};
    return update_by(at, params, grads, n, lr, WG_OPTIMIZER_SGD,
                     &(wg_optimizer_numbers){.momentum = o.momentum, .nesterov = o.nesterov},
                     (wg_update_options){.weight_decay = o.weight_decay,
                                         .norm = o.norm,
                                         .name = o.name,
                                         .rates = o.rates,
                                         .decays = o.decays,
                                         .part = o.part});
}

wg_status(wg_adam_update)(const char *at, wg_value *const *params, wg_value *const *grads, size_t n,
                          wg_value *lr, const wg_adam_options *options)
{
    const wg_adam_options o = options ? *options : (wg_adam_options){0};
    return update_by(at, params, grads, n, lr, o.decoupled ? WG_OPTIMIZER_ADAMW : WG_OPTIMIZER_ADAM,
                     &(wg_optimizer_numbers){.beta1 = o.beta1, .beta2 = o.beta2, .eps = o.eps},
                     (wg_update_options){.weight_decay = o.weight_decay,
                                         .norm = o.norm,
                                         .name = o.name,
                                         .rates = o.rates,
                                         .decays = o.decays,
                                         .part = o.part});
}
