/* Learning rates: a linear warm-up, then a curve by kind. */
#include "wengert/train/schedule.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

/* The position of t between the end of the warm-up and the last update, 0 to 1. */
static double way(const wg_schedule *s, double t, double warmup)
{
    double updates = (double)s->updates;
    return t < updates ? (t - warmup) / (updates - warmup) : 1;
}

double wg_schedule_rate(const wg_schedule *s, int64_t update)
{
    double t = update > 1 ? (double)update : 1, warmup = s->warmup > 0 ? (double)s->warmup : 0;
    if (s->kind == WG_SCHEDULE_NOAM) {
        double d = s->d_model > 1 ? (double)s->d_model : 1;
        return s->rate * pow(d, -0.5) * (t < warmup ? t * pow(warmup, -1.5) : pow(t, -0.5));
    }
    if (t < warmup)
        return s->start + (s->rate - s->start) * t / warmup;
    switch (s->kind) {
    case WG_SCHEDULE_INVERSE_SQRT: return s->rate * sqrt((warmup > 1 ? warmup : 1) / t);
    case WG_SCHEDULE_COSINE:
        return s->floor + (s->rate - s->floor) * (1 + cos(PI * way(s, t, warmup))) / 2;
    case WG_SCHEDULE_LINEAR: return s->rate + (s->floor - s->rate) * way(s, t, warmup);
    case WG_SCHEDULE_CONSTANT: return s->rate;
    default: return NAN;
    }
}
