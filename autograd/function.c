/* The function whose differences are taken. */
#include "autograd/check.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t count_results(const wgi_trial *t)
{
    size_t count = 0;
    for (size_t j = 0; j < t->n_y; j++)
        count += (size_t)wg_value_count(t->y[j]);
    return count;
}

static void evaluate(wgi_function *f)
{
    if (f->status == WG_OK)
        f->status = wgi_evaluation_run(&f->e);
}

/* Runs once at the points and keeps the results. */
static void keep_base(wgi_function *f)
{
    evaluate(f);
    double *to = f->base;
    for (size_t j = 0; f->status == WG_OK && j < f->t->n_y; j++) {
        size_t count = (size_t)wg_value_count(f->t->y[j]);
        memcpy(to, f->y[j], count * sizeof *to);
        to += count;
    }
}

/* Also of results that do not change: a change may be too small to show in them. */
static double rounding_of(const wgi_function *f)
{
    long double squares = 0;
    const double *base = f->base;
    for (size_t j = 0; j < f->t->n_y; j++) {
        int64_t count = wg_value_count(f->t->y[j]);
        for (int64_t i = 0; i < count; i++, base++)
            squares += (long double)(f->c[j][i] * *base) * (f->c[j][i] * *base);
    }
    return DBL_EPSILON * (double)sqrtl(squares);
}

wg_status wgi_function_open(wgi_function *f, const wgi_trial *t, wg_value *const *dy)
{
    *f = (wgi_function){.t = t};
    f->y = calloc(t->n_y + 1, sizeof *f->y);
    f->c = calloc(t->n_y + 1, sizeof *f->c);
    f->base = malloc(sizeof *f->base * (count_results(t) + 1));
    if (!f->y || !f->c || !f->base)
        return f->status = WG_ENOMEM;
    f->status = wgi_evaluation_open(&f->e, t, t->y, t->n_y, true);
    for (size_t j = 0; f->status == WG_OK && j < t->n_y; j++) {
        f->y[j] = wgi_evaluation_data(&f->e, t->y[j]);
        f->c[j] = wgi_trial_point(t, dy[j])->data;
    }
    keep_base(f);
    if (f->status == WG_OK && !t->dyadic)
        f->rounding = rounding_of(f);
    return f->status;
}

void wgi_function_close(wgi_function *f)
{
    wgi_evaluation_close(&f->e);
    free(f->y);
    free(f->c);
    free(f->base);
}

double wgi_function_change(wgi_function *f)
{
    long double sum = 0;
    const double *base = f->base;
    evaluate(f);
    for (size_t j = 0; j < f->t->n_y; j++) {
        int64_t count = wg_value_count(f->t->y[j]);
        for (int64_t i = 0; i < count; i++, base++)
            if (f->y[j][i] != *base) /* infinities stay what they are */
                sum += (long double)f->c[j][i] * ((long double)f->y[j][i] - *base);
    }
    return (double)sum;
}

double wgi_function_size(const wgi_function *f)
{
    double size = 0;
    size_t count = count_results(f->t);
    for (size_t i = 0; i < count; i++) {
        if (isnan(f->base[i]))
            return NAN;
        size = fmax(size, fabs(f->base[i]));
    }
    return size;
}
