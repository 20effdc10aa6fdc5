/* The memory of a plan over a run. */
#include "wengert/backends/timeline.h"
#include "backends/plan/facts.h"
#include "backends/plan/occupancy.h"
#include "graph/error.h"
#include "graph/grow.h"

#include <stdlib.h>
#include <string.h>

typedef struct group {
    char *name;
    size_t at_peak, again;
} group;

struct wg_timeline {
    wgi_occupant *occupant;
    size_t n_occupants, steps, peak;
    uint32_t *group_of; /* [occupants] */
    group *group;
    size_t n_groups, room;
};

/* ---- names ----------------------------------------------------------------------------------- */

/* How much of a scope's path is its first `depth` levels; 0: all. */
static size_t prefix(const char *path, size_t depth)
{
    const char *at = path;
    for (size_t i = 0; depth && i < depth && *at; i++)
        at += (i > 0) + strcspn(at + (i > 0), "/");
    return depth ? (size_t)(at - path) : strlen(path);
}

static const char *name_of(const wg_node *n, wg_timeline_by by)
{
    const char *at = n->at ? n->at : "";
    const char *slash = strrchr(at, '/');
    return by == WG_TIMELINE_BY_SCOPE ? n->scope->path : slash ? slash + 1 : at;
}

/* The number of the group of that name, which is added if it is new; UINT32_MAX without memory. */
static uint32_t group_named(wg_timeline *t, const char *name, size_t length)
{
    for (size_t i = 0; i < t->n_groups; i++)
        if (strncmp(t->group[i].name, name, length) == 0 && !t->group[i].name[length])
            return (uint32_t)i;
    char *copy = malloc(length + 1);
    if (!copy || !WGI_RESERVE(t->group, t->room, t->n_groups + 1)) {
        free(copy);
        return UINT32_MAX;
    }
    memcpy(copy, name, length);
    copy[length] = '\0';
    t->group[t->n_groups] = (group){.name = copy};
    return (uint32_t)t->n_groups++;
}

static void forget_groups(wg_timeline *t)
{
    for (size_t i = 0; i < t->n_groups; i++)
        free(t->group[i].name);
    t->n_groups = 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool group_all(wg_timeline *t, const wg_plan *p, wg_timeline_by by, size_t depth)
{
    for (size_t i = 0; i < t->n_occupants; i++) {
        const wgi_occupant *o = &t->occupant[i];
        const char *name = name_of(o->node, by);
        uint32_t g =
            group_named(t, name, by == WG_TIMELINE_BY_SCOPE ? prefix(name, depth) : strlen(name));
        if (g == UINT32_MAX)
            return false;
        t->group_of[i] = g;
        bool at_peak = o->first <= p->layout.peak_step && p->layout.peak_step <= o->last;
        t->group[g].at_peak += at_peak ? o->bytes : 0;
        t->group[g].again +=
            o->value && p->program.work[o->first].again ? wg_value_bytes(o->value) : 0;
    }
    return true;
}

/* Scopes by as many of their first levels as give at most `most` groups, by one at least. */
static bool group_scopes(wg_timeline *t, const wg_plan *p, size_t most)
{
    enum { DEEPEST = 12 };
    bool ok = group_all(t, p, WG_TIMELINE_BY_SCOPE, 0);
    for (size_t depth = DEEPEST; ok && most && t->n_groups > most && depth > 0; depth--) {
        forget_groups(t);
        ok = group_all(t, p, WG_TIMELINE_BY_SCOPE, depth);
    }
    return ok;
}

typedef struct ranked {
    size_t bytes;
    uint32_t group;
} ranked;

static int larger_first(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->group < y->group ? -1 : x->group > y->group;
}

/* Sorts the groups by their bytes at the peak, and merges those beyond `most`. */
static bool sort_groups(wg_timeline *t, size_t most)
{
    size_t n = t->n_groups, kept = most && n > most ? most : n;
    ranked *rank = calloc(n + 1, sizeof *rank);
    group *sorted = calloc(n + 1, sizeof *sorted);
    uint32_t *now = calloc(n + 1, sizeof *now);
    char *other = malloc(sizeof "other");
    bool ok = rank && sorted && now && other;
    for (uint32_t i = 0; ok && i < n; i++)
        rank[i] = (ranked){t->group[i].at_peak, i};
    if (ok)
        qsort(rank, n, sizeof *rank, larger_first);
    for (size_t i = 0; ok && i < n; i++) {
        size_t to = i < kept ? i : kept - 1;
        group *from = &t->group[rank[i].group];
        now[rank[i].group] = (uint32_t)to;
        sorted[to].at_peak += from->at_peak;
        sorted[to].again += from->again;
        free(sorted[to].name ? from->name : NULL);
        sorted[to].name = sorted[to].name ? sorted[to].name : from->name;
    }
    for (size_t i = 0; ok && i < t->n_occupants; i++)
        t->group_of[i] = now[t->group_of[i]];
    if (ok && kept < n) {
        free(sorted[kept - 1].name);
        sorted[kept - 1].name = memcpy(other, "other", sizeof "other");
        other = NULL;
    }
    if (ok) {
        memcpy(t->group, sorted, kept * sizeof *sorted);
        t->n_groups = kept;
    }
    free(rank);
    free(sorted);
    free(now);
    free(other);
    return ok;
}

/* ---- the whole ------------------------------------------------------------------------------- */

wg_status wg_timeline_create(wg_timeline **out, const wg_plan *p, wg_timeline_by by, size_t most,
                             wg_error *error)
{
    wgi_error_clear(error);
    if (!out || !p || (by != WG_TIMELINE_BY_SCOPE && by != WG_TIMELINE_BY_LINE))
        return wgi_error_set(error, WG_EINVAL, "wg_timeline_create: an argument is NULL or wrong");
    wg_timeline *t = *out = calloc(1, sizeof *t);
    bool ok = t && (t->occupant = wgi_occupants(&p->program, &p->layout, &t->n_occupants));
    ok = ok && (t->group_of = calloc(t->n_occupants + 1, sizeof *t->group_of));
    if (ok) {
        t->steps = p->program.n_work + 1;
        t->peak = (size_t)p->layout.peak_step;
        ok = by == WG_TIMELINE_BY_SCOPE ? group_scopes(t, p, most) : group_all(t, p, by, 0);
    }
    if (ok && (!t->n_groups || sort_groups(t, most)))
        return WG_OK;
    wg_timeline_free(t);
    *out = NULL;
    return wgi_error_set(error, WG_ENOMEM, "out of memory");
}

void wg_timeline_free(wg_timeline *t)
{
    if (!t)
        return;
    forget_groups(t);
    free(t->group);
    free(t->group_of);
    free(t->occupant);
    free(t);
}

size_t wg_timeline_step_count(const wg_timeline *t)
{
    return t ? t->steps : 0;
}

size_t wg_timeline_peak(const wg_timeline *t)
{
    return t ? t->peak : 0;
}

size_t wg_timeline_group_count(const wg_timeline *t)
{
    return t ? t->n_groups : 0;
}

wg_timeline_group wg_timeline_group_at(const wg_timeline *t, size_t i)
{
    if (!t || i >= t->n_groups)
        return (wg_timeline_group){NULL, 0, 0};
    return (wg_timeline_group){t->group[i].name, t->group[i].at_peak, t->group[i].again};
}

void wg_timeline_row(const wg_timeline *t, size_t i, size_t *bytes)
{
    if (!t || !bytes)
        return;
    memset(bytes, 0, t->steps * sizeof *bytes);
    for (size_t k = 0; k < t->n_occupants; k++) { /* differences, which wrap around */
        const wgi_occupant *o = &t->occupant[k];
        if (t->group_of[k] != i || o->last < o->first)
            continue;
        bytes[o->first] += o->bytes;
        if ((size_t)o->last + 1 < t->steps)
            bytes[o->last + 1] -= o->bytes;
    }
    for (size_t k = 1; k < t->steps; k++)
        bytes[k] += bytes[k - 1];
}
