#include "tests/numbers.h"

wg_value *numbers(wg_graph *g, wg_dtype dtype, wg_shape shape, const double *x)
{
    int64_t count = wg_shape_count(&shape);
    void *data = calloc((size_t)count + 1, wg_dtype_size(dtype));
    assert_non_null(data);
    for (int64_t i = 0; i < count; i++)
        wgi_put_element(data, dtype, i, x[i]);
    wg_value *v = wg_constant(g, dtype, shape, data);
    check_that(v != NULL, "%s", wg_graph_message(g));
    free(data);
    return v;
}

wg_value *numbers_drawn(wg_graph *g, wg_dtype dtype, wg_shape shape, double lo, double hi,
                        uint64_t *seed)
{
    int64_t count = wg_shape_count(&shape);
    double *x = calloc((size_t)count + 1, sizeof *x);
    assert_non_null(x);
    for (int64_t i = 0; i < count; i++) {
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = lo + (hi - lo) * ((double)(*seed >> 33) + 0.5) * 0x1p-31;
        x[i] = wg_dtype_is_float(dtype) ? x[i] : floor(x[i]);
    }
    wg_value *v = numbers(g, dtype, shape, x);
    free(x);
    return v;
}

bool numbers_close(double a, double b, double tolerance)
{
    return a == b || fabs(a - b) <= tolerance * fmax(1, fabs(b));
}

void numbers_near(const char *what, wg_plan *p, const wg_value *v, const double *expected,
                  int64_t count, double tolerance)
{
    check_that(count > 0 && wg_value_count(v) == count, "%s: %lld elements, expected %lld", what,
               (long long)wg_value_count(v), (long long)count);
    for (int64_t i = 0; i < count; i++)
        check_that(numbers_close(small_at(p, v, i), expected[i], tolerance),
                   "%s: element %lld is %.17g, expected %.17g", what, (long long)i,
                   small_at(p, v, i), expected[i]);
}

void numbers_finite(const char *what, wg_plan *p, const wg_value *v)
{
    for (int64_t i = 0; i < wg_value_count(v); i++)
        check_that(isfinite(small_at(p, v, i)), "%s: element %lld is %g", what, (long long)i,
                   small_at(p, v, i));
}

void numbers_same_bits(const char *what, wg_plan *a, const wg_value *v, wg_plan *b,
                       const wg_value *w)
{
    check_that(wg_value_bytes(v) == wg_value_bytes(w) && wg_value_bytes(v) > 0, "%s: sizes", what);
    check_that(memcmp(wg_plan_data(a, v), wg_plan_data(b, w), wg_value_bytes(v)) == 0,
               "%s: bits differ", what);
}

/* One sample of an op: its kernel against its expansion, in f64 and f32. */
static int64_t numbers_sample_expansion(const wg_op *op, const wg_sample *s, wg_dtype dtype)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS], *y[16];
    uint64_t seed = 11;
    int64_t compared = 0;
    for (int i = 0; i < s->n_in; i++) {
        const wg_sample_operand *o = &s->in[i];
        bool preset = o->lo == 0 && o->hi == 0;
        in[i] = numbers_drawn(g, o->dtype ? o->dtype : dtype, o->shape, preset ? -2 : o->lo,
                              preset ? 2 : o->hi, &seed);
    }
    wg_node *n = wg_apply(WG_HERE, g, op, s->attrs, in, s->n_in);
    check_that(n && wg_expand_node(n, y), "%s", wg_graph_message(g));
    for (int i = 0; i < n->n_out; i++)
        y[n->n_out + i] = n->out[i];
    wg_plan *p = small_run(g, y, 2 * (size_t)n->n_out, 1);
    for (int i = 0; i < n->n_out; i++)
        for (int64_t k = 0; k < wg_value_count(y[i]); k++, compared++)
            check_that(
                numbers_close(small_at(p, n->out[i], k), small_at(p, y[i], k),
                              dtype == WG_F64 ? 1e-12 : 1e-5),
                "%s, %s: result %d, element %lld is %.9g by the kernel, %.9g by the expansion",
                op->name, s->name, i, (long long)k, small_at(p, n->out[i], k),
                small_at(p, y[i], k));
    wg_plan_free(p);
    wg_graph_free(g);
    return compared;
}

void numbers_expansion(const wg_op *op)
{
    int64_t compared = 0;
    for (int k = 0; k < op->n_samples; k++)
        compared += numbers_sample_expansion(op, &op->samples[k], WG_F64) +
                    numbers_sample_expansion(op, &op->samples[k], WG_F32);
    check_that(compared > 0, "%s: nothing compared", op->name);
}
