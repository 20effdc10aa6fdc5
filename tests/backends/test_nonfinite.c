/* NaN and infinities in operands: every backend has NaN in its results exactly where the reference
 * has it, and infinities of the same sign, so that none disappears and a check for them sees the
 * same on all.  All ops of the table, on their samples and on samples of other sizes. */
#include "tests/bounds.h"
#include "wengert/backends/lapack.h"
#include "wengert/backends/load.h"
#include "wengert/backends/onednn.h"

enum { TURNS = 6, SHOWN = 3 };

/* What is compared of a number. */
typedef enum class { FINITE, NOT_A_NUMBER, PLUS, MINUS } class;

static class class_of(double x)
{
    return isnan(x) ? NOT_A_NUMBER : isfinite(x) ? FINITE : x > 0 ? PLUS : MINUS;
}

static const double bad[] = {NAN, INFINITY, -INFINITY};

/* Where a library outside multiplies NaN with zeros that the definition does not know, of a padded
 * picture or in the other half of a triangle: NaN may be in more results, in none the less. */
static bool may_spread(const wg_backend *b, const wg_op *op)
{
    return b == wg_lapack_backend() ||
           (b == wg_onednn_backend() &&
            (strncmp(op->name, "conv", 4) == 0 || op == &wg_op_blocked_conv2d));
}

/* Attention: products with the zeros of keys that are hidden from some queries are not made by a
 * kernel that skips them, but make NaN of NaN in the reference (what is hidden must be finite, says
 * wengert/ops/attention.h); where weights are dropped, either may make them. */
static bool may_skip(const conf_case *c, double is, double must)
{
    const wg_attention_attrs *a = c->sample.attrs;
    bool attends = c->op == &wg_op_attention || c->op == &wg_op_attention_grad ||
                   c->op == &wg_op_attention_by_token || c->op == &wg_op_attention_by_token_grad ||
                   c->op == &wg_op_packed_attention || c->op == &wg_op_packed_attention_grad;
    return attends && a &&
           ((a->causal && isnan(must)) || (a->window && isnan(must)) ||
            (a->dropout > 0 && (isnan(is) || isnan(must))));
}

/* Infinity times a difference, or a product of many, that single precision rounds to 0, and the
 * double precision of the reference does not. */
static bool may_round(const conf_case *c, double is, double must)
{
    return (c->op == &wg_op_linear_cross_entropy_step || c->op == &wg_op_prod) && isnan(is) &&
           isinf(must);
}

/* A case in which both are right. */
static bool is_allowed(const wg_backend *b, const conf_case *c, double is, double must)
{
    return class_of(is) == class_of(must) || (isnan(is) && may_spread(b, c->op)) ||
           may_skip(c, is, must) || may_round(c, is, must);
}

typedef struct tally {
    const wg_backend *backend;
    int64_t compared, nan; /* elements; of them NaN in the reference */
    int failures, shown;   /* shown: of one op */
} tally;

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void compare(tally *t, const conf_case *c, const char *what, const char *kernel,
                    const conf_results *truth, const conf_results *y)
{
    for (int i = 0; i < truth->n; i++)
        for (int64_t k = 0; wg_dtype_is_float(truth->dtype[i]) && k < truth->count[i]; k++) {
            double must = wgi_get_element(truth->data[i], truth->dtype[i], k),
                   is = wgi_get_element(y->data[i], y->dtype[i], k);
            t->compared++;
            t->nan += isnan(must);
            if (is_allowed(t->backend, c, is, must))
                continue;
            t->failures++;
            if (t->shown++ < SHOWN)
                print_error("%s by %s %s, %s, %s: result %d is %g at %lld, must be %g\n",
                            c->op->name, t->backend->name, kernel,
                            c->sample.name ? c->sample.name : "sample", what, i, is, (long long)k,
                            must);
            return;
        }
}

/* The case with one number replaced, on the reference and on each backend that takes a part. */
static void run_case(const conf_case *c, const char *what, tally *tallies, bool *takes, size_t n)
{
    conf_results truth, y;
    bool ran = conf_run_plan(c, WG_F32, NULL, &truth, NULL, NULL);
    for (size_t i = 0; i < n; i++) {
        char kernel[64] = "";
        int used = 0;
        if (!takes[i])
            continue;
        bool runs = conf_run_plan(c, WG_F32, tallies[i].backend, &y, &used, kernel);
        takes[i] = used > 0;
        tallies[i].failures += used && runs != ran;
        if (used && runs != ran && tallies[i].shown++ < SHOWN)
            print_error("%s by %s, %s: %s refused, unlike by the reference\n", c->op->name,
                        tallies[i].backend->name, what, runs ? "not" : "is");
        if (used && runs && ran)
            compare(&tallies[i], c, what, kernel, &truth, &y);
        conf_results_free(&y);
    }
    conf_results_free(&truth);
}

/* Each float operand in turn, some element of it, with each kind of number. */
static void spoil_operands(conf_case *c, tally *tallies, size_t n, uint64_t *seed)
{
    bool takes[WG_MAX_BACKENDS];
    memset(takes, true, sizeof takes);
    for (int i = 0; i < c->sample.n_in; i++) {
        const wg_sample_operand *o = &c->sample.in[i];
        wg_dtype dtype = o->dtype ? o->dtype : WG_F32;
        int64_t count = wg_shape_count(&o->shape);
        for (int k = 0; wg_dtype_is_float(dtype) && count && k < WG_COUNT(bad); k++) {
            char what[64];
            int64_t at = (int64_t)(next(seed) % (uint64_t)count);
            double was = wgi_get_element(c->data[i], dtype, at);
            wgi_put_element(c->data[i], dtype, at, bad[k]);
            snprintf(what, sizeof what, "%g at %lld of operand %d", bad[k], (long long)at, i);
            run_case(c, what, tallies, takes, n);
            wgi_put_element(c->data[i], dtype, at, was);
        }
    }
}

static bool builds(const conf_case *c)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    bool ok = conf_is_small(c) && conf_build(g, c, WG_F32, in);
    wg_graph_free(g);
    return ok;
}

static void nonfinite_numbers_end_where_the_reference_has_them(void **state)
{
    (void)state;
    const wg_backend_list built = wg_backend_list_built_in();
    tally tallies[WG_MAX_BACKENDS] = {{0}};
    size_t n = built.count - 1; /* the last is the reference */
    uint64_t seed = 5;
    const wg_op *op;
    for (size_t i = 0; i < n; i++)
        tallies[i].backend = built.backend[i];
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        const wg_op *from = conf_source_of(op);
        const op_bound usual = bound_of(op); /* whose numbers do not overflow in 33 steps of rnn */
        for (size_t b = 0; b < n; b++)
            tallies[b].shown = 0;
        for (int turn = 0; turn < TURNS; turn++)
            for (int k = 0; k < from->n_samples; k++) {
                conf_case c;
                if (!conf_case_of(op, &from->samples[k], turn, &seed, &c))
                    continue;
                if (builds(&c)) {
                    conf_fill(&c, usual.lo, usual.hi, &seed);
                    spoil_operands(&c, tallies, n, &seed);
                }
                conf_free(&c);
            }
    }
    for (size_t i = 0; i < n; i++) {
        const tally *t = &tallies[i];
        print_message("%s: %lld compared, %lld NaN, %d failures\n", t->backend->name,
                      (long long)t->compared, (long long)t->nan, t->failures);
        check_that(!t->failures, "%s: %d cases differ", t->backend->name, t->failures);
        check_that(t->compared > 0, "%s: nothing was compared", t->backend->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonfinite_numbers_end_where_the_reference_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
