/* bf16 and f16 as dtypes to store: rounding, and every op against f64. */
#include "tests/half.h"
#include "tests/bounds.h"
#include "tests/sample.h"

#include <float.h>

/* ---- rounding -------------------------------------------------------------------------------- */

static void expect_nan(const half_format *f, uint32_t bits)
{
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    assert_true(isnan(f->to_f32(f->from_f32(nan))));
    assert_true(isnan(f->to_f32(f->from_f64((double)nan))));
}

static void rounding_is_to_nearest_ties_to_even(void **state)
{
    (void)state;
    for (const half_format *f = halves; f < halves + HALVES; f++) {
        int64_t compared = 0;
        for (int bits = 0; bits < f->infinity; bits++)
            for (int single = 0; single < 2; single++) {
                double x[ROUNDINGS];
                uint16_t y[ROUNDINGS];
                half_roundings(f, bits, single != 0, x, y);
                for (int i = 0; i < ROUNDINGS; i++, compared++) {
                    uint16_t plus = single ? f->from_f32((float)x[i]) : f->from_f64(x[i]);
                    uint16_t minus = single ? f->from_f32(-(float)x[i]) : f->from_f64(-x[i]);
                    check_that(plus == y[i] && minus == (y[i] | 0x8000),
                               "%s: %a as f%d becomes %04x and %04x, not %04x",
                               wg_dtype_name(f->dtype), x[i], single ? 32 : 64, plus, minus, y[i]);
                }
            }
        assert_int_equal(compared, 2 * ROUNDINGS * f->infinity);
        assert_int_equal(f->from_f32(INFINITY), f->infinity);
        assert_int_equal(f->from_f64(-INFINITY), f->infinity | 0x8000);
        assert_int_equal(f->from_f64(1e300), f->infinity);
        assert_int_equal(f->from_f32(FLT_MAX), f->infinity);
        assert_int_equal(f->from_f64(-1e-300), 0x8000);
        assert_int_equal(f->from_f32(-1e-44f), 0x8000);
        expect_nan(f, 0x7f800001);
        expect_nan(f, 0x7fffffff);
        expect_nan(f, 0xff800001);
        expect_nan(f, 0x7fc00000);
    }
}

/* All 65,536 of each format: to f32 bit for bit, and back, where signalling NaNs become quiet. */
static void every_number_comes_back(void **state)
{
    (void)state;
    for (const half_format *f = halves; f < halves + HALVES; f++)
        for (int i = 0; i < 0x10000; i++) {
            float x = f->to_f32((uint16_t)i);
            uint32_t bits, want = half_widened_bits(f, (uint16_t)i);
            memcpy(&bits, &x, sizeof bits);
            check_that(bits == want, "%s %04x becomes %08x, not %08x", wg_dtype_name(f->dtype), i,
                       bits, want);
            int back = (i & 0x7fff) > f->infinity ? i | 1 << (f->fraction - 1) : i;
            check_that(f->from_f32(x) == back && f->from_f64((double)x) == back,
                       "%s %04x comes back as %04x and %04x", wg_dtype_name(f->dtype), i,
                       f->from_f32(x), f->from_f64((double)x));
        }
}

/* What NumPy makes of these numbers:
 *
 *     import numpy as np
 *     for x in [...]:
 *         single = np.float32(x).astype(np.float16).view(np.uint16)
 *         print(x.hex(), hex(single), hex(np.float64(x).astype(np.float16).view(np.uint16)))
 */
static void f16_is_that_of_numpy(void **state)
{
    (void)state;
    static const struct {
        double x;
        uint16_t from_f32, from_f64;
    } golden[] = {
        {0x0.0p+0, 0x0000, 0x0000},
        {-0x0.0p+0, 0x8000, 0x8000},
        {0x1p+0, 0x3c00, 0x3c00},
        {-0x1p+1, 0xc000, 0xc000},
        {0x1.999999999999ap-4, 0x2e66, 0x2e66},
        {0x1.5555555555555p-2, 0x3555, 0x3555},
        {0x1.921fb54442d18p+1, 0x4248, 0x4248},
        {-0x1.5bf0a8b145769p+1, 0xc170, 0xc170},
        {0x1.0624dd2f1a9fcp-10, 0x1419, 0x1419},
        {0x1.edd2f1a9fbe77p+6, 0x57b7, 0x57b7},
        {-0x1.f40cccccccccdp+9, 0xe3d0, 0xe3d0},
        {0x1p+11, 0x6800, 0x6800},
        {0x1.0020000000000p+11, 0x6800, 0x6800},
        {0x1.0040000000000p+11, 0x6801, 0x6801},
        {0x1.0060000000000p+11, 0x6802, 0x6802},
        {0x1.0020000000000p+12, 0x6c00, 0x6c00},
        {0x1.ffc0000000000p+15, 0x7bff, 0x7bff},
        {0x1.ffde000000000p+15, 0x7bff, 0x7bff},
        {0x1.ffdffdf3b645ap+15, 0x7bff, 0x7bff},
        {0x1.ffe0000000000p+15, 0x7c00, 0x7c00},
        {-0x1.ffe0000000000p+15, 0xfc00, 0xfc00},
        {0x1p+16, 0x7c00, 0x7c00},
        {0x1.86a0000000000p+16, 0x7c00, 0x7c00},
        {0x1.7e43c8800759cp+996, 0x7c00, 0x7c00},
        {INFINITY, 0x7c00, 0x7c00},
        {-INFINITY, 0xfc00, 0xfc00},
        {0x1p-14, 0x0400, 0x0400},
        {0x1.ffc0000000000p-15, 0x0400, 0x0400},
        {0x1p-15, 0x0200, 0x0200},
        {0x1.ffb480a5accd5p-15, 0x03ff, 0x03ff},
        {0x1.01b2b29a4692bp-24, 0x0001, 0x0001},
        {-0x1.01b2b29a4692bp-24, 0x8001, 0x8001},
        {0x1p-24, 0x0001, 0x0001},
        {0x1p-25, 0x0000, 0x0000},
        {0x1.0000020000000p-25, 0x0001, 0x0001},
        {0x1.0000000001000p-25, 0x0000, 0x0001},
        {0x1.8000000000000p-24, 0x0002, 0x0002},
        {0x1.4000000000000p-23, 0x0002, 0x0002},
        {0x1.ad7f29abcaf48p-24, 0x0002, 0x0002},
        {0x1.4f8b588e368f1p-19, 0x002a, 0x002a},
        {-0x1.baeb22f9294c3p-19, 0x8037, 0x8037},
        {0x1.b7cdfd9d7bdbbp-34, 0x0000, 0x0000},
        {0x1.6d601ad376ab9p-150, 0x0000, 0x0000},
        {0x1.0020000000000p+0, 0x3c00, 0x3c00},
        {0x1.0020000001000p+0, 0x3c00, 0x3c01},
        {0x1.0060000000000p+0, 0x3c02, 0x3c02},
        {0x1.005fffffff000p+0, 0x3c02, 0x3c01},
        {-0x1.0020010000000p+0, 0xbc00, 0xbc01},
        {0x1.ffe0000000000p-1, 0x3c00, 0x3c00},
        {0x1.ffdffffffff00p-1, 0x3c00, 0x3bff},
        {0x1.553fffca501adp-2, 0x3555, 0x3555},
        {0x1.fe00000000000p-1, 0x3bf8, 0x3bf8},
        {0x1.3880000000000p+13, 0x70e2, 0x70e2},
    };
    for (int i = 0; i < WG_COUNT(golden); i++) {
        uint16_t single = wg_f16_from_f32((float)golden[i].x), wide = wg_f16_from_f64(golden[i].x);
        check_that(single == golden[i].from_f32 && wide == golden[i].from_f64,
                   "%a: %04x and %04x, NumPy has %04x and %04x", golden[i].x, single, wide,
                   golden[i].from_f32, golden[i].from_f64);
    }
}

/* Casts in a plan are these roundings, of subnormal numbers too, whatever the floating-point modes
 * of the backend. */
static void check_casts(const half_format *f, const wg_backend *backend)
{
    int count = f->infinity * ROUNDINGS;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(count)),
             *z = wg_input(g, "z", f->dtype, WG_SHAPE(0x10000));
    wg_value *y[] = {wg_cast(x, f->dtype), wg_cast(z, WG_F32)};
    wg_plan *p = plan_on(backend, g, y, 2);
    uint16_t *expected = malloc(MAX_ROUNDINGS * sizeof *expected);
    assert_non_null(expected);
    assert_int_equal(half_all_roundings(f, wg_plan_data(p, x), expected), count);
    for (int i = 0; i < 0x10000; i++)
        ((uint16_t *)wg_plan_data(p, z))[i] = (uint16_t)i;
    run(p, 1);
    const uint16_t *rounded = wg_plan_data(p, y[0]);
    const uint32_t *wide = wg_plan_data(p, y[1]);
    for (int i = 0; i < count; i++)
        check_that(rounded[i] == expected[i], "%d: %04x, not %04x", i, rounded[i], expected[i]);
    for (uint32_t i = 0; i < 0x10000; i++)
        check_that(wide[i] == half_widened_bits(f, (uint16_t)i), "%04x becomes %08x", i, wide[i]);
    free(expected);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void casts_of_plans_round_the_same(void **state)
{
    (void)state;
    for (int b = 0; b < n_backends(); b++)
        for (int f = 0; f < HALVES; f++)
            check_casts(&halves[f], backend_at(b));
}

/* ---- every op -------------------------------------------------------------------------------- */

/* The sample's node in another graph, with the format wherever it has f64. */
static wg_node *in_format(const half_format *f, const sample_graph *b, wg_graph *g, wg_value **in)
{
    for (int i = 0; i < b->n_in; i++) {
        wg_dtype dtype = b->in[i]->dtype == WG_F64 ? f->dtype : b->in[i]->dtype;
        in[i] = wg_input(g, b->in[i]->name, dtype, b->in[i]->shape);
    }
    return wg_node_retype(g, b->node, in, WG_F64, f->dtype);
}

static void compare_result(const half_format *f, const wg_op *op, const wg_sample *s,
                           const char *backend, wg_plan *p, const wg_value *y, wg_plan *truth,
                           const wg_value *t, int64_t *compared)
{
    const void *a = wg_plan_data(p, y), *b = wg_plan_data(truth, t);
    check_that(wg_shape_equal(&y->shape, &t->shape), "%s: shapes differ", op->name);
    check_that(y->dtype == (t->dtype == WG_F64 ? f->dtype : t->dtype), "%s: result of %s", op->name,
               wg_dtype_name(y->dtype));
    for (int64_t i = 0; i < wg_value_count(y); i++, ++*compared) {
        double got = wgi_get_element(a, y->dtype, i), want = wgi_get_element(b, t->dtype, i);
        double bound = wg_dtype_is_float(y->dtype) ? bound_of_half(f, want) : 0;
        check_that(got == want || fabs(got - want) <= bound,
                   "%s, %s, %s: result %d, element %lld is %.9g, the truth is %.9g", op->name,
                   sample_name(s), backend, y->index, (long long)i, got, want);
    }
}

/* Returns how many elements agree with the truth. */
static int64_t compare_sample(const half_format *f, const wg_op *op, const wg_sample *s,
                              const wg_backend *backend)
{
    int64_t compared = 0;
    sample_graph b = sample_build(op, s, WG_F64, 1);
    assert_non_null(b.node);
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    wg_node *n = in_format(f, &b, g, in);
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
        compare_result(f, op, s, backend ? backend->name : "cpu", p, n->out[i], truth,
                       b.node->out[i], &compared);
    wg_plan_free(truth);
    wg_plan_free(p);
    wg_graph_free(g);
    sample_free(&b);
    return compared;
}

static void check_every_op(const half_format *f, const wg_backend *backend)
{
    int64_t compared = 0;
    int ops = 0;
    const wg_op *last = NULL;
    FOR_EACH_SAMPLE(op, s)
    {
        if (op->flags & WG_OP_LEAF && op != &wg_op_constant)
            continue; /* nothing to compute */
        int64_t more = compare_sample(f, op, s, backend);
        compared += more;
        ops += more > 0 && op != last;
        last = op;
    }
    print_message("%s, %s: %d ops, %lld elements\n", wg_dtype_name(f->dtype),
                  backend ? backend->name : "cpu", ops, (long long)compared);
    check_that(ops >= 140 && compared >= 6000, "%d ops, %lld elements compared", ops,
               (long long)compared);
}

static void every_op_is_rounded_once(void **state)
{
    (void)state;
    for (int b = 0; b < n_backends(); b++)
        for (int f = 0; f < HALVES; f++)
            check_every_op(&halves[f], backend_at(b));
}

/* ---- every op on many shapes ----------------------------------------------------------------- */

enum { MIN_CASES = SANITIZED ? 12 : 32, MAX_TURNS = 5000 };

/* Whether the case is legal and has results; *worst grows to its share of the bound. */
static bool run_case(const half_format *f, conf_case *c, double *worst)
{
    const op_bound bound = bound_of(c->op);
    conf_results truth, y;
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    bool legal =
        conf_build(g, c, f->dtype, in) && conf_run_plan(c, WG_F64, NULL, &truth, NULL, NULL);
    int64_t count = 0;
    wg_graph_free(g);
    for (int i = 0; legal && i < truth.n; i++)
        count += truth.count[i];
    for (int b = 0; legal && b < n_backends(); b++) {
        char kernel[64];
        int used = 0;
        assert_true(conf_run_plan(c, f->dtype, backend_at(b), &y, &used, kernel));
        double share[CONF_RESULTS];
        bound_shares_of_half(f, &bound, &y, &truth, share);
        for (int i = 0; i < truth.n; i++)
            *worst = share[i] <= *worst ? *worst : share[i];
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

static tally cases_of(const half_format *f, const wg_op *op)
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
                bound_round_operands(f, &c);
                t.cases += run_case(f, &c, &t.worst);
            }
            conf_free(&c);
        }
    return t;
}

static void check_many_shapes(const half_format *f)
{
    int ops = 0, failures = 0;
    double max = 0;
    const wg_op *op;
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        if (!op->n_samples || !op->samples[0].n_in)
            continue;
        tally t = cases_of(f, op);
        if (!(t.worst <= 1) || t.cases < MIN_CASES) {
            print_error("%s: %d cases, %.3g times its bound\n", op->name, t.cases, t.worst);
            failures++;
        }
        ops++;
        max = t.worst <= max ? max : t.worst;
    }
    print_message("%s: %d ops, each on %d cases, errors up to %.3f of the bound\n",
                  wg_dtype_name(f->dtype), ops, MIN_CASES, max);
    assert_int_equal(failures, 0);
    check_that(ops >= 134, "%d ops", ops);
}

static void every_op_on_many_shapes(void **state)
{
    (void)state;
    for (int f = 0; f < HALVES; f++)
        check_many_shapes(&halves[f]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounding_is_to_nearest_ties_to_even),
        cmocka_unit_test(every_number_comes_back),
        cmocka_unit_test(f16_is_that_of_numpy),
        cmocka_unit_test(casts_of_plans_round_the_same),
        cmocka_unit_test(every_op_is_rounded_once),
        cmocka_unit_test(every_op_on_many_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
