/* bf16 as a dtype to store: rounding, and every op against f64. */
#include "tests/bf16.h"
#include "tests/conformance.h"
#include "tests/sample.h"

/* ---- rounding -------------------------------------------------------------------------------- */

/* Each positive number of bf16 with the next one above: they, their middle, and what is just beside
 * it, of both signs. The number after the largest would be 2^128. */
enum { ROUNDINGS = 5 };

static double magnitude(int bits)
{
    return bits == 0x7f80 ? 0x1p128 : (double)wg_bf16_to_f32((uint16_t)bits);
}

/* Writes ROUNDINGS numbers and what they round to. */
static void roundings(int bits, bool single, double x[ROUNDINGS], uint16_t y[ROUNDINGS])
{
    double a = magnitude(bits), b = magnitude(bits + 1), middle = (a + b) / 2;
    uint16_t below = (uint16_t)bits, above = (uint16_t)(bits + 1);
    x[0] = a, y[0] = below;
    x[1] = single ? (double)nextafterf((float)middle, 0) : nextafter(middle, 0), y[1] = below;
    x[2] = middle, y[2] = bits & 1 ? above : below;
    x[3] = single ? (double)nextafterf((float)middle, INFINITY) : nextafter(middle, INFINITY);
    y[3] = above;
    x[4] = single ? (double)nextafterf((float)b, 0) : nextafter(b, 0), y[4] = above;
    if (single && b == 0x1p128)
        x[4] = (double)nextafterf(INFINITY, 0);
}

static void rounding_is_to_nearest_ties_to_even(void **state)
{
    (void)state;
    int64_t compared = 0;
    for (int bits = 0; bits < 0x7f80; bits++)
        for (int single = 0; single < 2; single++) {
            double x[ROUNDINGS];
            uint16_t y[ROUNDINGS];
            roundings(bits, single != 0, x, y);
            for (int i = 0; i < ROUNDINGS; i++, compared++) {
                uint16_t plus = single ? wg_bf16_from_f32((float)x[i]) : wg_bf16_from_f64(x[i]);
                uint16_t minus = single ? wg_bf16_from_f32(-(float)x[i]) : wg_bf16_from_f64(-x[i]);
                check_that(plus == y[i] && minus == (y[i] | 0x8000),
                           "%a as f%d becomes %04x and %04x, not %04x", x[i], single ? 32 : 64,
                           plus, minus, y[i]);
            }
        }
    assert_int_equal(compared, 2 * ROUNDINGS * 0x7f80);
    assert_int_equal(wg_bf16_from_f32(INFINITY), 0x7f80);
    assert_int_equal(wg_bf16_from_f64(-INFINITY), 0xff80);
    assert_int_equal(wg_bf16_from_f64(1e300), 0x7f80);
    assert_int_equal(wg_bf16_from_f64(-1e-300), 0x8000);
    uint32_t nans[] = {0x7f800001, 0x7fffffff, 0xff800001, 0x7fc00000};
    for (int i = 0; i < WG_COUNT(nans); i++) {
        float nan;
        memcpy(&nan, &nans[i], sizeof nan);
        assert_true(isnan(wg_bf16_to_f32(wg_bf16_from_f32(nan))));
        assert_true(isnan(wg_bf16_to_f32(wg_bf16_from_f64((double)nan))));
    }
}

/* Casts in a plan are these roundings, of subnormal numbers too, whatever the floating-point modes
 * of the backend. */
static void casts_of_plans_round_the_same(void **state)
{
    (void)state;
    enum { COUNT = 0x7f80 * ROUNDINGS };
    for (int b = 0; b < n_backends(); b++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(COUNT)),
                 *z = wg_input(g, "z", WG_BF16, WG_SHAPE(0x10000));
        wg_value *y[] = {wg_cast(x, WG_BF16), wg_cast(z, WG_F32)};
        wg_plan *p = plan_on(backend_at(b), g, y, 2);
        uint16_t *expected = malloc(COUNT * sizeof *expected);
        assert_non_null(expected);
        for (int bits = 0; bits < 0x7f80; bits++) {
            double each[ROUNDINGS];
            roundings(bits, true, each, expected + bits * ROUNDINGS);
            for (int i = 0; i < ROUNDINGS; i++)
                ((float *)wg_plan_data(p, x))[bits * ROUNDINGS + i] = (float)each[i];
        }
        for (int i = 0; i < 0x10000; i++)
            ((uint16_t *)wg_plan_data(p, z))[i] = (uint16_t)i;
        run(p, 1);
        const uint16_t *rounded = wg_plan_data(p, y[0]);
        const uint32_t *wide = wg_plan_data(p, y[1]);
        for (int i = 0; i < COUNT; i++)
            check_that(rounded[i] == expected[i], "%d: %04x, not %04x", i, rounded[i], expected[i]);
        for (uint32_t i = 0; i < 0x10000; i++)
            check_that(wide[i] == i << 16, "%04x becomes %08x", i, wide[i]);
        free(expected);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* ---- every op -------------------------------------------------------------------------------- */

/* One rounding to bf16, at most 2^-8 |t|, of what f32 computes, which is within 1e-5 max(1, |t|) of
 * the truth t.  So every op, composites too, is rounded once, at its end. */
static double bound_at(double t)
{
    return 0x1p-8 * fabs(t) + 1e-5 * fmax(1, fabs(t));
}

/* The sample's node in another graph, with bf16 wherever it has f64. */
static wg_node *in_bf16(const sample_graph *b, wg_graph *g, wg_value **in)
{
    for (int i = 0; i < b->n_in; i++) {
        wg_dtype dtype = b->in[i]->dtype == WG_F64 ? WG_BF16 : b->in[i]->dtype;
        in[i] = wg_input(g, b->in[i]->name, dtype, b->in[i]->shape);
    }
    return wg_node_retype(g, b->node, in, WG_F64, WG_BF16);
}

static void compare_result(const wg_op *op, const wg_sample *s, const char *backend, wg_plan *p,
                           const wg_value *y, wg_plan *truth, const wg_value *t, int64_t *compared)
{
    const void *a = wg_plan_data(p, y), *b = wg_plan_data(truth, t);
    check_that(wg_shape_equal(&y->shape, &t->shape), "%s: shapes differ", op->name);
    check_that(y->dtype == (t->dtype == WG_F64 ? WG_BF16 : t->dtype), "%s: result of %s", op->name,
               wg_dtype_name(y->dtype));
    for (int64_t i = 0; i < wg_value_count(y); i++, ++*compared) {
        double got = wgi_get_element(a, y->dtype, i), want = wgi_get_element(b, t->dtype, i);
        double bound = wg_dtype_is_float(y->dtype) ? bound_at(want) : 0;
        check_that(got == want || fabs(got - want) <= bound,
                   "%s, %s, %s: result %d, element %lld is %.9g, the truth is %.9g", op->name,
                   sample_name(s), backend, y->index, (long long)i, got, want);
    }
}

/* Returns how many elements agree with the truth. */
static int64_t compare_sample(const wg_op *op, const wg_sample *s, const wg_backend *backend)
{
    int64_t compared = 0;
    sample_graph b = sample_build(op, s, WG_F64, 1);
    assert_non_null(b.node);
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    wg_node *n = in_bf16(&b, g, in);
    check_that(n != NULL, "%s, %s: %s", op->name, sample_name(s), wg_graph_message(g));
    wg_plan *truth = plan_on(NULL, b.g, b.node->out, (size_t)b.node->n_out);
    wg_plan *p = plan_on(backend, g, n->out, (size_t)n->n_out);
    for (int i = 0; i < b.n_in; i++)
        for (int64_t k = 0; k < wg_value_count(in[i]); k++) {
            wgi_put_element(wg_plan_data(p, in[i]), in[i]->dtype, k,
                            wgi_get_element(b.data[i], b.in[i]->dtype, k));
            wgi_put_element(wg_plan_data(truth, b.in[i]), b.in[i]->dtype, k,
                            wgi_get_element(wg_plan_data(p, in[i]), in[i]->dtype, k));
        }
    run(truth, 1);
    run(p, 1);
    for (int i = 0; i < n->n_out; i++)
        compare_result(op, s, backend ? backend->name : "cpu", p, n->out[i], truth, b.node->out[i],
                       &compared);
    wg_plan_free(truth);
    wg_plan_free(p);
    wg_graph_free(g);
    sample_free(&b);
    return compared;
}

static void every_op_is_rounded_once(void **state)
{
    (void)state;
    for (int b = 0; b < n_backends(); b++) {
        int64_t compared = 0;
        int ops = 0;
        const wg_op *last = NULL;
        FOR_EACH_SAMPLE(op, s)
        {
            if (op->flags & WG_OP_LEAF && op != &wg_op_constant)
                continue; /* nothing to compute */
            int64_t more = compare_sample(op, s, backend_at(b));
            compared += more;
            ops += more > 0 && op != last;
            last = op;
        }
        print_message("%s: %d ops, %lld elements\n", b ? backend_at(b)->name : "cpu", ops,
                      (long long)compared);
        check_that(ops >= 140 && compared >= 6000, "%d ops, %lld elements compared", ops,
                   (long long)compared);
    }
}

/* ---- every op on many shapes ----------------------------------------------------------------- */

enum { MIN_CASES = 50, MAX_TURNS = 5000 };

/* Worst error of a case as a share of its bound; what is beyond f32 is infinite.  A number halfway
 * between two of 8 bits may become either: 16 of 95,164, no more than one in a hundred of a
 * result. */
static double share_of_bound(const conf_results *y, const conf_results *truth)
{
    double worst = 0;
    for (int i = 0; i < truth->n; i++) {
        bool real = truth->dtype[i] == WG_F64, quantised = truth->dtype[i] == WG_I8;
        int64_t halfway = 0;
        for (int64_t k = 0; k < truth->count[i]; k++) {
            double a = wgi_get_element(y->data[i], y->dtype[i], k);
            double t = wgi_get_element(truth->data[i], truth->dtype[i], k);
            bool same = a == (real ? (double)(float)t : t) || (isnan(a) && isnan(t));
            double share = same        ? 0
                           : real      ? fabs(a - t) / bound_at(t)
                           : quantised ? fabs(a - t)
                                       : INFINITY;
            halfway += quantised && !same;
            worst = share <= worst ? worst : share; /* NaN stays */
        }
        if (halfway > 1 + truth->count[i] / 100)
            worst = INFINITY;
    }
    return worst;
}

/* The numbers that bf16 can hold. */
static void round_operands(conf_case *c)
{
    for (int i = 0; i < c->sample.n_in; i++)
        if (!c->sample.in[i].dtype)
            for (int64_t k = 0; k < wg_shape_count(&c->sample.in[i].shape); k++) {
                float *x = (float *)c->data[i] + k;
                *x = wg_bf16_to_f32(wg_bf16_from_f32(*x));
            }
}

/* Whether the case is legal and has results; *worst grows to its share of the bound. */
static bool run_case(conf_case *c, double *worst)
{
    conf_results truth, y;
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    bool legal =
        conf_build(g, c, WG_BF16, in) && conf_run_plan(c, WG_F64, NULL, &truth, NULL, NULL);
    int64_t count = 0;
    wg_graph_free(g);
    for (int i = 0; legal && i < truth.n; i++)
        count += truth.count[i];
    for (int b = 0; legal && b < n_backends(); b++) {
        char kernel[64];
        int used = 0;
        assert_true(conf_run_plan(c, WG_BF16, backend_at(b), &y, &used, kernel));
        double share = share_of_bound(&y, &truth);
        *worst = share <= *worst ? *worst : share;
        conf_results_free(&y);
    }
    if (legal)
        conf_results_free(&truth);
    return count > 0;
}

typedef struct tally {
    int cases;
    double worst; /* share of the bound */
} tally;

static tally cases_of(const wg_op *op)
{
    const wg_op *from = conf_source_of(op);
    tally t = {0, 0};
    uint64_t seed = 7;
    for (int turn = 0; turn < MAX_TURNS && t.cases < MIN_CASES; turn++)
        for (int k = 0; k < from->n_samples; k++) {
            conf_case c;
            if (!conf_case_of(op, &from->samples[k], turn, &seed, &c))
                continue;
            if (conf_is_small(&c)) {
                conf_fill(&c, 0, 0, &seed);
                round_operands(&c);
                t.cases += run_case(&c, &t.worst);
            }
            conf_free(&c);
        }
    return t;
}

static void every_op_on_many_shapes(void **state)
{
    (void)state;
    int ops = 0, failures = 0;
    double max = 0;
    const wg_op *op;
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        if (!op->n_samples || !op->samples[0].n_in)
            continue;
        tally t = cases_of(op);
        if (!(t.worst <= 1) || t.cases < MIN_CASES) {
            print_error("%s: %d cases, %.3g times its bound\n", op->name, t.cases, t.worst);
            failures++;
        }
        ops++;
        max = t.worst <= max ? max : t.worst;
    }
    print_message("%d ops, each on %d cases, errors up to %.3f of the bound\n", ops, MIN_CASES,
                  max);
    assert_int_equal(failures, 0);
    check_that(ops >= 134, "%d ops", ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_is_to_nearest_ties_to_even),
        cmocka_unit_test(casts_of_plans_round_the_same),
        cmocka_unit_test(every_op_is_rounded_once),
        cmocka_unit_test(every_op_on_many_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
