/* A trial: its points, its error. */
#include "autograd/trial.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

wg_status wgi_trial_error(wgi_trial *t, wg_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(t->report->message, sizeof t->report->message, format, args);
    va_end(args);
    return status;
}

const char *wgi_place_text(const wg_node *n, char *text, size_t size)
{
    static const char *const phases[] = {"forward", "backward", "update"};
    const char *path = n->scope->path, *slash = n->at ? strrchr(n->at, '/') : NULL;
    snprintf(text, size, "op %s%s%.100s at %.80s (%s)", n->op->name, *path ? " in " : "", path,
             n->at ? (slash ? slash + 1 : n->at) : "no line", phases[n->phase]);
    return text;
}

wgi_point *wgi_trial_add_point(wgi_trial *t, wg_value *leaf, double lo, double hi)
{
    if (!leaf)
        return NULL;
    size_t bytes = wg_value_bytes(leaf);
    wgi_point *more = realloc(t->points, sizeof *more * (t->n_points + 1));
    if (!more)
        return NULL;
    t->points = more;
    more[t->n_points] = (wgi_point){leaf, calloc(1, bytes ? bytes : 1), lo, hi, WG_MATRICES_ANY};
    return more[t->n_points].data ? &more[t->n_points++] : NULL;
}

wgi_point *wgi_trial_point(const wgi_trial *t, const wg_value *leaf)
{
    for (size_t i = 0; i < t->n_points; i++)
        if (t->points[i].leaf == leaf)
            return &t->points[i];
    return NULL;
}

void wgi_trial_close(wgi_trial *t)
{
    for (size_t i = 0; i < t->n_points; i++)
        free(t->points[i].data);
    free(t->points);
    free(t->y);
    free(t->wrt);
    t->points = NULL;
    t->y = t->wrt = NULL;
}
