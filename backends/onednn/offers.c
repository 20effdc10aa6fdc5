/* What oneDNN has for a node.  A plan asks up to four times: whether a fusion would be taken, twice
 * whether the node is, and for its kernel; and most models repeat their layers.  All get the one
 * primitive descriptor. */
#include "backends/onednn/internal.h"
#include "graph/mix.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const wg_op *op;
    od_make *make;
} makers[] = {
    {&wg_op_matmul, wgi_od_make_matmul},         {&wg_op_linear, wgi_od_make_linear},
    {&wg_op_conv2d, wgi_od_make_conv},           {&wg_op_conv2d_grad_x, wgi_od_make_conv},
    {&wg_op_conv2d_grad_w, wgi_od_make_conv},    {&wg_op_conv3d, wgi_od_make_conv},
    {&wg_op_conv3d_grad_x, wgi_od_make_conv},    {&wg_op_conv3d_grad_w, wgi_od_make_conv},
    {&wg_op_avg_pool2d, wgi_od_make_pool},       {&wg_op_avg_pool2d_grad, wgi_od_make_pool},
    {&wg_op_matmul_add, wgi_od_make_matmul},     {&wg_op_blocked_conv2d, wgi_od_make_conv},
    {&wg_op_block_channels, wgi_od_make_blocks}, {&wg_op_unblock_channels, wgi_od_make_blocks},
};

static od_make *maker_of(const wg_op *op)
{
    for (int i = 0; i < WG_COUNT(makers); i++)
        if (makers[i].op == op)
            return makers[i].make;
    return NULL;
}

bool wgi_od_has_maker(const wg_op *op)
{
    return maker_of(op) != NULL;
}

/* ---- creating -------------------------------------------------------------------------------- */

static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

int wgi_od_start_creating(const od_backend *b)
{
    pthread_mutex_lock(&creating);
    int former = omp_get_max_threads();
    omp_set_num_threads(b->mode.threads);
    return former;
}

void wgi_od_end_creating(int former)
{
    omp_set_num_threads(former);
    pthread_mutex_unlock(&creating);
}

static void ask(const od_backend *b, const wg_node *n, od_offer *offer)
{
    od_plan *plan = &offer->plan;
    offer->why = maker_of(n->op)(b, n, plan);
    if (!offer->why && !plan->run) {
        snprintf(offer->name, sizeof offer->name, "%s", wgi_od_implementation(plan->pd));
        if (wgi_od_is_reference(plan->pd))
            offer->why = "oneDNN has only its slow reference for this case";
    }
    if (offer->why)
        wgi_od_plan_clear(plan);
}

/* oneDNN tries its next implementation when one lacks memory, and may end with a slow one or none.
 * So an answer during which malloc failed is worth nothing, and is asked for once more: glibc sets
 * errno too where it finds the memory in another place. */
static void make(const od_backend *b, const wg_node *n, od_offer *offer)
{
    int former = wgi_od_start_creating(b);
    offer->no_memory = true;
    for (int i = 0; i < 2 && offer->no_memory; i++) {
        wgi_od_plan_clear(&offer->plan);
        errno = 0;
        ask(b, n, offer);
        offer->no_memory = errno == ENOMEM;
    }
    wgi_od_end_creating(former);
}

/* ---- finding one ----------------------------------------------------------------------------- */

/* The operands of n, then its result. */
static const wg_value *type_of(const wg_node *n, int i)
{
    return i < n->n_in ? n->in[i] : n->out[0];
}

static uint64_t hash_of(const wg_node *n)
{
    uint64_t h = wg_node_attrs_hash(n->op, n->attrs) ^ (uint64_t)(uintptr_t)n->op;
    for (int i = 0; i <= n->n_in; i++)
        for (int k = 0; k < type_of(n, i)->shape.rank; k++)
            h = wgi_hash_u64(h, (uint64_t)type_of(n, i)->shape.dim[k]);
    return h;
}

static bool is_for(const od_offer *offer, const wg_node *n, uint64_t hash)
{
    if (offer->hash != hash || offer->op != n->op || offer->n_types != n->n_in + 1 ||
        !wg_node_attrs_equal(n->op, offer->attrs, n->attrs))
        return false;
    for (int i = 0; i < offer->n_types; i++)
        if (offer->type[i].dtype != type_of(n, i)->dtype ||
            !wg_shape_equal(&offer->type[i].shape, &type_of(n, i)->shape))
            return false;
    return true;
}

static void free_offer(od_offer *offer)
{
    if (!offer)
        return;
    wgi_od_plan_clear(&offer->plan);
    free(offer->attrs);
    free(offer);
}

static od_offer *new_offer(const od_backend *b, const wg_node *n, uint64_t hash)
{
    od_offer *offer = n->n_in < OD_MAX_TYPES ? calloc(1, sizeof *offer) : NULL;
    if (!offer)
        return NULL;
    offer->hash = hash;
    offer->op = n->op;
    offer->n_types = n->n_in + 1;
    for (int i = 0; i < offer->n_types; i++)
        offer->type[i] = (wg_value){.dtype = type_of(n, i)->dtype, .shape = type_of(n, i)->shape};
    if (n->op->attrs_size) {
        offer->attrs = malloc(n->op->attrs_size);
        if (!offer->attrs) {
            free_offer(offer);
            return NULL;
        }
        memcpy(offer->attrs, n->attrs, n->op->attrs_size);
    }
    make(b, n, offer);
    return offer;
}

const od_offer *wgi_od_offer_for(od_backend *b, const wg_node *n)
{
    uint64_t hash = hash_of(n);
    od_offer *offer = b->offers;
    while (offer && !is_for(offer, n, hash))
        offer = offer->next;
    if (offer)
        return offer;
    offer = new_offer(b, n, hash);
    if (offer) {
        offer->next = b->offers;
        b->offers = offer;
    }
    return offer;
}

void wgi_od_offers_clear(od_backend *b)
{
    while (b->offers) {
        od_offer *first = b->offers;
        b->offers = first->next;
        free_offer(first);
    }
}
