#include "tests/sample.h"
#include "graph/element.h"
#include "graph/matrices.h"

#include <math.h>

/* Numbers that f32 holds exactly, so that both precisions see the same ones; not within 1e-3 of a
 * kink. */
static double sample_real(const wg_op *op, uint64_t *state, double lo, double hi)
{
    double x = 0;
    for (int tries = 0; tries < 100; tries++) {
        bool near = false;
        x = lo + (hi - lo) * (0.01 + 0.98 * ((double)(wgi_splitmix64(state) >> 40) * 0x1p-24));
        x = (double)(float)x;
        for (int i = 0; i < op->n_kinks; i++)
            near |= x - op->kinks[i] < 1e-3 && op->kinks[i] - x < 1e-3;
        if (!near)
            break;
    }
    return x;
}

void sample_fill(const wg_op *op, const wg_sample_operand *x, const wg_value *v, void *data,
                 uint64_t *state)
{
    bool none = x->lo == 0 && x->hi == 0;
    double lo = none ? (wg_dtype_is_float(v->dtype) ? -2 : 0) : x->lo, hi = none ? 2 : x->hi;
    int64_t count = wg_value_count(v);
    for (int64_t i = 0; i < count; i++) {
        double real =
            sample_real(op, state, lo, hi) + wgi_matrix_offset(x->matrices, &v->shape, i, lo, hi);
        int64_t whole =
            (int64_t)lo + (int64_t)(wgi_splitmix64(state) % (uint64_t)(hi - lo < 1 ? 1 : hi - lo));
        if (v->dtype == WG_BOOL)
            whole = (int64_t)(wgi_splitmix64(state) >> 63);
        wgi_put_element(data, v->dtype, i, wg_dtype_is_float(v->dtype) ? real : (double)whole);
    }
}

sample_graph sample_shapes(const wg_op *op, const wg_sample *s, wg_dtype real, int64_t times)
{
    sample_graph b = {.g = wg_graph_new(), .n_in = s->n_in};
    for (int i = 0; i < s->n_in; i++) {
        char name[32];
        wg_shape shape = s->in[i].shape;
        for (int k = 0; k < shape.rank; k++)
            shape.dim[k] *= shape.dim[k] > 1 ? times : 1;
        snprintf(name, sizeof name, "x%d", i);
        b.in[i] = wg_input(b.g, name, s->in[i].dtype ? s->in[i].dtype : real, shape);
        assert_non_null(b.in[i]);
    }
    b.node = wg_apply(WG_HERE, b.g, op, s->attrs, b.in, s->n_in);
    return b;
}

sample_graph sample_build(const wg_op *op, const wg_sample *s, wg_dtype real, int64_t times)
{
    sample_graph b = sample_shapes(op, s, real, times);
    uint64_t state = 42;
    for (int i = 0; i < s->n_in; i++) {
        b.data[i] = calloc(1, wg_value_bytes(b.in[i]) + 1);
        sample_fill(op, &s->in[i], b.in[i], b.data[i], &state);
    }
    return b;
}

void sample_free(sample_graph *b)
{
    for (int i = 0; i < b->n_in; i++)
        free(b->data[i]);
    wg_graph_free(b->g);
}

const char *sample_name(const wg_sample *s)
{
    return s->name ? s->name : "sample";
}

static double extent(const wg_value *v)
{
    double product = 1;
    for (int i = 0; i < v->shape.rank; i++)
        product *= fmax(1, (double)v->shape.dim[i]);
    return product;
}

double sample_work(const wg_node *n)
{
    double work = wg_node_flops(n);
    for (int i = 0; i < n->n_in; i++)
        work = fmax(work, extent(n->in[i]));
    for (int i = 0; i < n->n_out; i++)
        work = fmax(work, extent(n->out[i]));
    return work;
}

double sample_distance(const void *a, wg_dtype da, const void *b, wg_dtype db, int64_t count)
{
    double scale = 1, worst = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(wgi_get_element(b, db, i)))
            scale = fmax(scale, fabs(wgi_get_element(b, db, i)));
    for (int64_t i = 0; i < count; i++) {
        double x = wgi_get_element(a, da, i), y = wgi_get_element(b, db, i);
        double d = x == y || (isnan(x) && isnan(y)) ? 0 : fabs(x - y) / scale;
        worst = isnan(worst) || d <= worst ? worst : d;
    }
    return worst;
}
