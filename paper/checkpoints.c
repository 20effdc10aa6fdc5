#include "paper/checkpoints.h"
#include "train/owner.h"

#include <stdlib.h>
#include <string.h>

/* The elements of tensor i if it is a parameter, 0 if it is a state of the optimizer. */
static size_t size_at(const wg_store *store, size_t i)
{
    const wg_tensor *t = wg_store_at(store, i);
    return wgi_owner_of(t->name) == WGI_OWNER_OPTIMIZER ? 0 : (size_t)wg_shape_count(&t->shape);
}

static size_t parameters_of(const wg_store *store)
{
    size_t size = 0;
    for (size_t i = 0; i < wg_store_count(store); i++)
        size += size_at(store, i);
    return size;
}

wg_status paper_checkpoints_keep(paper_checkpoints *c, const wg_store *store)
{
    const size_t size = parameters_of(store);
    float *number = realloc(c->number, (((size_t)c->n + 1) * size + 1) * sizeof *number);
    if (!number)
        return WG_ENOMEM;
    float *to = number + (size_t)c->n * size;
    for (size_t i = 0; i < wg_store_count(store); to += size_at(store, i++))
        memcpy(to, wg_store_at(store, i)->data, size_at(store, i) * sizeof *to);
    *c = (paper_checkpoints){c->n + 1, size, number};
    return WG_OK;
}

/* The mean of parameter k over the last checkpoints. */
static float mean(const paper_checkpoints *c, int last, size_t k)
{
    double sum = 0;
    for (int i = c->n - last; i < c->n; i++)
        sum += c->number[(size_t)i * c->size + k];
    return (float)(sum / last);
}

void paper_checkpoints_average(const paper_checkpoints *c, int last, wg_store *store)
{
    size_t k = 0;
    if (last > c->n)
        return;
    for (size_t i = 0; i < wg_store_count(store); i++) {
        float *to = wg_store_at(store, i)->data;
        for (size_t j = 0; j < size_at(store, i); j++)
            to[j] = mean(c, last, k++);
    }
}

void paper_checkpoints_free(paper_checkpoints *c)
{
    free(c->number);
    *c = (paper_checkpoints){0};
}
