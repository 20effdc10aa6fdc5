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

/* Updates since the end of the warm-up, before this one. */
static double since(double t, double warmup)
{
    return t - 1 > warmup ? t - 1 - warmup : 0;
}

/* From rate to floor as x goes from 0 to 1. */
static double half_cosine(const wg_schedule *s, double x)
{
    return s->floor + (s->rate - s->floor) * (1 + cos(PI * x)) / 2;
}

double wg_schedule_rate(const wg_schedule *s, int64_t update)
{
    double t = update > 1 ? (double)update : 1, warmup = s->warmup > 0 ? (double)s->warmup : 0;
    const double every = s->every > 0 ? (double)s->every : 1;
    if (s->rate_at)
        return s->rate_at(s->context, update > 1 ? update : 1);
    if (s->kind == WG_SCHEDULE_NOAM) {
        double d = s->d_model > 1 ? (double)s->d_model : 1;
        return s->rate * pow(d, -0.5) * (t < warmup ? t * pow(warmup, -1.5) : pow(t, -0.5));
    }
    if (t < warmup)
        return s->start + (s->rate - s->start) * t / warmup;
    switch (s->kind) {
    case WG_SCHEDULE_INVERSE_SQRT: return s->rate * sqrt((warmup > 1 ? warmup : 1) / t);
    case WG_SCHEDULE_COSINE: return half_cosine(s, way(s, t, warmup));
    case WG_SCHEDULE_LINEAR: return s->rate + (s->floor - s->rate) * way(s, t, warmup);
    case WG_SCHEDULE_CONSTANT: return s->rate;
    case WG_SCHEDULE_STEP:
        return fmax(s->rate * pow(s->factor, floor(since(t, warmup) / every)), s->floor);
    case WG_SCHEDULE_RESTARTS: return half_cosine(s, fmod(since(t, warmup), every) / every);
    default: return NAN;
    }
}
