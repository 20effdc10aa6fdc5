#include "backends/plan/occupancy.h"
#include "backends/plan/facts.h"

#include <stdlib.h>

typedef struct list {
    const wgi_layout *layout;
    wgi_occupant *item;
    size_t n;
    int64_t *present; /* [storages] the last occupant of each, WGI_NONE */
} list;

static void move_in(list *l, int64_t s, const wg_node *node, const wg_value *value, int64_t step)
{
    const wgi_storage *at = s == WGI_NONE ? NULL : &l->layout->storage[s];
    if (!at || at->kind != WGI_STORAGE_BUFFER)
        return;
    if (l->present[s] != WGI_NONE)
        l->item[l->present[s]].last = step - 1;
    l->present[s] = (int64_t)l->n;
    l->item[l->n++] = (wgi_occupant){node, value, at->bytes, step, at->last};
}

wgi_occupant *wgi_occupants(const wgi_program *r, const wgi_layout *layout, size_t *n)
{
    size_t results = 0;
    for (size_t i = 0; i < r->n_work; i++)
        results += (size_t)r->work[i].node->n_out + 1; /* scratch */
    list l = {.layout = layout,
              .item = calloc(results + 1, sizeof *l.item),
              .present = malloc((layout->n_storages + 1) * sizeof *l.present)};
    if (!l.item || !l.present) {
        free(l.item);
        free(l.present);
        return NULL;
    }
    for (size_t i = 0; i < layout->n_storages; i++)
        l.present[i] = WGI_NONE;
    for (size_t i = 0; i < r->n_work; i++) {
        const wgi_work *w = &r->work[i];
        for (int k = 0; k < w->node->n_out; k++)
            move_in(&l, layout->storage_of[w->node->out[k]->id], w->node, w->node->out[k],
                    (int64_t)i);
        move_in(&l, w->scratch, w->node, NULL, (int64_t)i);
    }
    free(l.present);
    *n = l.n;
    return l.item;
}

static int larger_first(const void *a, const void *b)
{
    const wgi_occupant *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->first < y->first ? -1 : x->first > y->first;
}

wgi_occupant *wgi_occupants_at_peak(const wgi_program *r, const wgi_layout *l, size_t *n)
{
    size_t all, kept = 0;
    wgi_occupant *o = wgi_occupants(r, l, &all);
    for (size_t i = 0; o && i < all; i++)
        if (o[i].first <= l->peak_step && l->peak_step <= o[i].last && o[i].bytes)
            o[kept++] = o[i];
    if (o)
        qsort(o, kept, sizeof *o, larger_first);
    *n = o ? kept : 0;
    return o;
}
