/* Random points and cotangents for the gradient check. */
#include "autograd/check.h"
#include "graph/element.h"
#include "graph/matrices.h"
#include "graph/mix.h"
#include "ops/initial.h"
#include "wengert/ops/leaf.h"

#include <math.h>
#include <stdlib.h>

static double uniform(uint64_t *random, double lo, double hi) /* [lo, hi) */
{
    return lo + (hi - lo) * ((double)(wgi_splitmix64(random) >> 11) * 0x1p-53);
}

static void draw_discrete(wgi_point *p, uint64_t *random)
{
    int64_t count = wg_value_count(p->leaf);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = (int64_t)floor(uniform(random, p->lo, p->hi));
        if (p->leaf->dtype == WG_BOOL)
            k = (int64_t)(wgi_splitmix64(random) >> 63);
        wgi_put_element(p->data, p->leaf->dtype, i, (double)k);
    }
}

/* Element i of a point once its number x is drawn. */
static void set_float(wgi_point *p, int64_t i, double x)
{
    x += wgi_matrix_offset(p->matrices, &p->leaf->shape, i, p->lo, p->hi);
    ((double *)p->data)[i] = x;
}

void wgi_draw_point(wgi_point *p, uint64_t *random)
{
    if (p->leaf->dtype != WG_F64) {
        draw_discrete(p, random);
        return;
    }
    int64_t count = wg_value_count(p->leaf);
    for (int64_t i = 0; i < count; i++)
        set_float(p, i, uniform(random, p->lo, p->hi));
}

wg_status wgi_draw_initial(wgi_point *p, uint64_t *random)
{
    const wg_leaf_attrs *a = p->leaf->node->attrs;
    const char *name = p->leaf->name ? p->leaf->name : "";
    double *x = p->data, spread = (a->scale != 0 ? fabs(a->scale) : 1) / 8;
    int64_t count = p->leaf->dtype == WG_F64 ? wg_value_count(p->leaf) : 0;
    wg_status status = wgi_initial_values(x, wgi_splitmix64(random), name, p->leaf, 1);
    for (int64_t i = 0; a->init == WG_INIT_CONSTANT && i < count; i++)
        x[i] += uniform(random, -spread, spread);
    return status;
}

/* Of magnitude 0.5 to 1.5 and either sign. */
static double draw_weight(uint64_t *random, bool dyadic)
{
    double size = uniform(random, 0.5, 1.5);
    if (dyadic)
        size = floor(size * 16) / 16;
    return wgi_splitmix64(random) >> 63 ? size : -size;
}

void wgi_draw_weights(double *weight, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++)
        weight[i] = draw_weight(&seed, false);
}

wg_status wgi_draw_cotangents(wgi_trial *t, int order, wg_value **dy)
{
    for (size_t j = 0; j < t->n_y; j++) {
        char name[64];
        snprintf(name, sizeof name, "cotangent %zu of order %d", j, order);
        dy[j] = wg_input(t->g, name, WG_F64, t->y[j]->shape);
        wgi_point *p = wgi_trial_add_point(t, dy[j], 0, 0);
        if (!p)
            return wg_graph_status(t->g) == WG_OK ? WG_ENOMEM : wg_graph_status(t->g);
        int64_t count = wg_value_count(dy[j]);
        for (int64_t i = 0; i < count; i++)
            ((double *)p->data)[i] = draw_weight(&t->random, t->dyadic);
    }
    return WG_OK;
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* Floats lie at (k + 1/2) q, each k used once, q a power of two; if they need not be dyadic, moved
 * from there by up to q/8. */
typedef struct grid {
    double q, margin;
    const double *kinks;
    int n_kinks;
    int64_t *used;
    size_t n_used;
} grid;

static bool is_free(const grid *s, int64_t k)
{
    for (size_t i = 0; i < s->n_used; i++)
        if (s->used[i] == k)
            return false;
    for (int i = 0; i < s->n_kinks; i++)
        if (fabs(((double)k + 0.5) * s->q - s->kinks[i]) < s->margin)
            return false;
    return true;
}

/* A free place in (lo, hi), found from a random one onwards; false if there is none. */
static bool place(grid *s, uint64_t *random, double lo, double hi, int64_t *k)
{
    int64_t min = (int64_t)ceil(lo / s->q), count = (int64_t)floor(hi / s->q) - min;
    if (count <= 0)
        return false;
    int64_t start = (int64_t)(wgi_splitmix64(random) % (uint64_t)count);
    for (int64_t i = 0; i < count; i++) {
        *k = min + (start + i) % count;
        if (is_free(s, *k)) {
            s->used[s->n_used++] = *k;
            return true;
        }
    }
    return false;
}

wg_status wgi_draw_grid(wgi_trial *t, const double *kinks, int n_kinks)
{
    size_t floats = 0;
    double narrowest = INFINITY;
    for (size_t i = 0; i < t->n_points; i++) {
        wgi_point *p = &t->points[i];
        if (p->leaf->dtype != WG_F64) {
            wgi_draw_point(p, &t->random);
        } else if (wg_value_count(p->leaf)) {
            floats += (size_t)wg_value_count(p->leaf);
            narrowest = fmin(narrowest, p->hi - p->lo);
        }
    }
    if (!floats)
        return WG_OK;
    grid s = {.kinks = kinks, .n_kinks = n_kinks};
    s.q = exp2(floor(log2(narrowest / (4.0 * (double)floats + 8))));
    if (t->dyadic)
        t->h = s.q / 32;
    s.margin = t->dyadic ? 10 * t->h : 10 * t->h + s.q / 8;
    s.used = malloc(floats * sizeof *s.used);
    if (!s.used)
        return WG_ENOMEM;
    bool ok = narrowest > 0;
    for (size_t i = 0; ok && i < t->n_points; i++) {
        wgi_point *p = &t->points[i];
        double edge = fmin(4 * t->h, (p->hi - p->lo) / 8); /* differences stay inside (lo, hi) */
        int64_t count = p->leaf->dtype == WG_F64 ? wg_value_count(p->leaf) : 0, k;
        for (int64_t j = 0; ok && j < count; j++) {
            ok = place(&s, &t->random, p->lo + edge, p->hi - edge, &k);
            double off = t->dyadic ? 0.5 : uniform(&t->random, 0.375, 0.625);
            set_float(p, j, ok ? ((double)k + off) * s.q : 0);
        }
    }
    free(s.used);
    return ok ? WG_OK
              : wgi_trial_error(t, WG_EINVAL,
                                "the ranges of the sample are too narrow for that many distinct "
                                "numbers");
}
