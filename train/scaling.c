#include "train/scaling.h"
#include "graph/error.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Between them f32 has the scale and its inverse in full precision.  What is not finite at the
 * lowest scale, far below 1, is so for another reason than the scale. */
static const double lowest = 0x1p-16, highest = 0x1p120;

/* With defaults in the place of zeros; all are 0 without scaling. */
static wg_loss_scaling scaling_of(const wg_trainer_options *o)
{
    wg_loss_scaling s = o->loss_scaling;
    if (!wgi_is_scaled(o))
        return s;
    s.growth = s.growth == 0 ? 2 : s.growth;
    s.backoff = s.backoff == 0 ? 0.5 : s.backoff;
    s.interval = s.interval == 0 ? 2000 : s.interval;
    return s;
}

static bool can_be(double scale)
{
    return scale >= lowest && scale <= highest;
}

bool wgi_check_scaling(const wg_loss_scaling *s, char *text, size_t size)
{
    const bool is_on = s->initial != 0;
    if (is_on && !can_be(s->initial))
        snprintf(text, size, "initial: expected 0, or a number from 2^-16 to 2^120, got %.10g",
                 s->initial);
    else if (s->growth != 0 && !(s->growth > 1 && s->growth <= highest))
        snprintf(text, size, "growth: expected 0 or a number above 1, got %.10g", s->growth);
    else if (!(s->backoff >= 0 && s->backoff < 1))
        snprintf(text, size, "backoff: expected a number in [0, 1), got %.10g", s->backoff);
    else if (s->interval < 0)
        snprintf(text, size, "interval: expected 0 or more, got %" PRId64, s->interval);
    else if (!is_on && (s->growth != 0 || s->backoff != 0 || s->interval != 0))
        snprintf(text, size,
                 "growth, backoff and interval have no effect without an initial "
                 "scale, such as 65536");
    else
        return true;
    return false;
}

void wgi_describe_scaling(const wg_trainer_options *o, char *text, size_t size)
{
    const wg_loss_scaling s = scaling_of(o);
    if (wgi_is_scaled(o))
        snprintf(text, size, "from %.9g, growth %.9g after %" PRId64 " updates, backoff %.9g",
                 s.initial, s.growth, s.interval, s.backoff);
    else
        snprintf(text, size, "none");
}

wg_status wgi_scaling_begin(const wg_trainer_options *o, wg_progress *p, wg_error *error)
{
    if (!wgi_is_scaled(o))
        return WG_OK;
    if (p->loss_scale == 0) /* a new run */
        p->loss_scale = o->loss_scaling.initial;
    return can_be(p->loss_scale)
               ? WG_OK
               : wgi_error_file(error, WG_EDATA, o->folder ? o->folder : "training",
                                "expected a loss scale from 2^-16 to 2^120, got %g", p->loss_scale);
}

void wgi_scaling_applied(const wg_trainer_options *o, wg_progress *p)
{
    const wg_loss_scaling s = scaling_of(o);
    if (!wgi_is_scaled(o) || ++p->scale_updates < s.interval)
        return;
    p->scale_updates = 0;
    if (p->loss_scale * s.growth <= highest)
        p->loss_scale *= s.growth;
}

bool wgi_scaling_skips(const wg_trainer_options *o, wg_progress *p)
{
    const double next = p->loss_scale * scaling_of(o).backoff;
    if (!wgi_is_scaled(o) || next < lowest)
        return false;
    p->loss_scale = next;
    p->scale_updates = 0;
    p->skipped++;
    return true;
}
