#include "tests/random_graph.h"

size_t rg_draw(random_graph *r, size_t n)
{
    r->bits ^= r->bits << 13;
    r->bits ^= r->bits >> 7;
    r->bits ^= r->bits << 17;
    return (size_t)(r->bits >> 11) % n;
}

static void rg_add(random_graph *r, wg_value *v)
{
    if (!v)
        return;
    if (r->count == r->capacity) {
        size_t capacity = 2 * r->capacity + 64;
        wg_value **bigger = realloc(r->value, capacity * sizeof(wg_value *));
        if (!bigger)
            return;
        r->value = bigger;
        r->capacity = capacity;
    }
    r->value[r->count++] = v;
}

/* A recent value more likely than an old one. */
static wg_value *rg_any(random_graph *r)
{
    size_t back = rg_draw(r, 4) ? rg_draw(r, r->count < 12 ? r->count : 12) : rg_draw(r, r->count);
    return r->value[r->count - 1 - back];
}

static bool rg_broadcast(const wg_value *a, const wg_value *b)
{
    for (int i = 1; i <= a->shape.rank && i <= b->shape.rank; i++) {
        int64_t x = a->shape.dim[a->shape.rank - i], y = b->shape.dim[b->shape.rank - i];
        if (x != y && x != 1 && y != 1)
            return false;
    }
    return true;
}

static wg_value *rg_node(random_graph *r)
{
    wg_value *a = rg_any(r), *b = rg_any(r);
    switch (rg_draw(r, 10)) {
    case 0:
    case 1: return wg_tanh(a);
    case 2: return wg_relu(a);
    case 3:
        return wg_shape_count(&a->shape) == 24
                   ? wg_reshape(a, rg_draw(r, 2) ? WG_SHAPE(24) : WG_SHAPE(4, 6))
                   : wg_neg(a);
    case 4:
        return a->shape.rank == 2 ? wg_matmul_t(wg_matmul_t(a, a, WG_NT), a, WG_NN) : wg_tanh(a);
    case 5: return a->shape.rank == 2 ? wg_tanh(wg_sum(a, WG_AXES(0), WG_DROP)) : wg_neg(a);
    case 6: return a->shape.rank == 2 ? wg_tanh(wg_transpose(wg_transpose(a))) : wg_relu(a);
    case 7: return rg_broadcast(a, b) ? wg_tanh(wg_mul(a, b)) : wg_scale(a, 0.5);
    default: return rg_broadcast(a, b) ? wg_tanh(wg_add(a, b)) : wg_shift(a, 0.25);
    }
}

random_graph rg_new(size_t n, uint64_t seed)
{
    random_graph r = {.g = wg_graph_new(), .bits = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    wg_value *(*leaf[])(const char *, wg_graph *, const char *, wg_dtype, wg_shape) = {(wg_input)};
    for (int i = 0; i < 3; i++) {
        char name[8] = {'x', (char)('0' + i), 0};
        r.input[i] = leaf[0](WG_HERE, r.g, name, WG_F32, i == 1 ? WG_SHAPE(6) : WG_SHAPE(4, 6));
        rg_add(&r, r.input[i]);
    }
    for (int i = 0; i < 4; i++) {
        char name[8] = {'s', (char)('0' + i), 0};
        r.state[i] = wg_state(r.g, name, WG_F32, WG_SHAPE(4, 6), wg_normal_init(1));
        rg_add(&r, r.state[i]);
    }
    while (wg_graph_node_count(r.g) < n && wg_graph_status(r.g) == WG_OK)
        rg_add(&r, rg_node(&r));
    for (size_t i = 0; i < 4 && r.count; i++)
        wg_output(rg_any(&r), NULL);
    for (int i = 0; i < 4; i++)
        for (int tries = 0; tries < 50; tries++) {
            wg_value *v = r.count ? rg_any(&r) : NULL;
            if (v && r.state[i] && wg_shape_equal(&v->shape, &r.state[i]->shape)) {
                wg_assign(r.state[i], v);
                break;
            }
        }
    return r;
}

void rg_free(random_graph *r)
{
    free(r->value);
    wg_graph_free(r->g);
}
