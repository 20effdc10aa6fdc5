/* Arguments of optimizers: what is missing, out of range or of another dtype is refused by a
 * message that says so, and an error of the graph stays the first one. */
#include "tests/allocations.h"
#include "wengert.h"

#include <math.h>

enum { SGD, ADAM, ADAMW, KINDS };

/* What a wrong call is about; zero is a call that is right. */
typedef struct call {
    wg_dtype dtype;     /* of parameters; 0: f32 */
    bool first_is_none; /* the first of two parameters is NULL */
    bool all_are_none;
    bool no_gradients, long_gradient, no_rate, nameless, with_norm, wide_norm, integer_norm,
        with_part, nothing;
    const double *rates, *decays;
    double momentum, weight_decay;
    int64_t first_row, rows; /* of a part */
} call;

enum { N = 2, ROWS = 4 };

static wg_value *parameter(wg_graph *g, const call *c, int i)
{
    const wg_dtype dtype = c->dtype ? c->dtype : WG_F32;
    static const char *const names[N] = {"p", "q"};
    if (c->nameless && i == 1)
        return wg_fill(g, dtype, WG_SHAPE(ROWS), 0);
    return wg_parameter(g, names[i], dtype, WG_SHAPE(ROWS), wg_ones());
}

static wg_status update(wg_graph *g, int kind, const call *c)
{
    wg_value *p[N], *d[N];
    for (int i = 0; i < N; i++) {
        p[i] = parameter(g, c, i);
        d[i] = wg_scale(p[i], 0.5);
    }
    if (c->long_gradient)
        d[1] = wg_fill(g, d[1]->dtype, WG_SHAPE(ROWS + 1), 0);
    wg_value *norm = c->with_norm      ? wg_global_norm(d, N)
                     : c->wide_norm    ? d[0]
                     : c->integer_norm ? wg_fill(g, WG_I64, WG_SCALAR, 1)
                                       : NULL;
    wg_value *rate = c->no_rate ? NULL : wg_fill(g, WG_F32, WG_SCALAR, 0.1);
    const wg_rows rows[N] = {{c->first_row, c->rows}, {0, 0}};
    const wg_update_part part = {rows, 3}, *of = c->with_part ? &part : NULL;
    for (int i = 0; i < (c->all_are_none ? N : c->first_is_none); i++)
        p[i] = NULL;
    const size_t n = c->nothing ? 0 : N;
    if (kind == SGD)
        return wg_sgd_update(p, c->no_gradients ? NULL : d, n, rate,
                             &(wg_sgd_options){.momentum = c->momentum,
                                               .weight_decay = c->weight_decay,
                                               .nesterov = c->momentum > 0,
                                               .norm = norm,
                                               .rates = c->rates,
                                               .decays = c->decays,
                                               .part = of});
    return wg_adam_update(p, c->no_gradients ? NULL : d, n, rate,
                          &(wg_adam_options){.weight_decay = c->weight_decay,
                                             .decoupled = kind == ADAMW,
                                             .norm = norm,
                                             .rates = c->rates,
                                             .decays = c->decays,
                                             .part = of});
}

static const double right[N] = {0, 2}, negative[N] = {1, -1}, infinite[N] = {INFINITY, 1},
                    not_a_number[N] = {1, NAN};

static void wrong_arguments_are_named(void **state)
{
    (void)state;
    static const struct {
        call c;
        wg_status status;
        const char *words;
    } cases[] = {
        {{.no_gradients = true}, WG_EINVAL, "the array of gradients is NULL"},
        {{.no_gradients = true, .first_is_none = true}, WG_EINVAL, "gradients is NULL"},
        {{.long_gradient = true}, WG_ESHAPE, "gradient 1 is [5], its parameter 'q' is [4]"},
        {{.nothing = true}, WG_EINVAL, "there is no parameter to update: n is 0"},
        {{.wide_norm = true}, WG_ESHAPE, "norm is [4], must be a scalar"},
        {{.integer_norm = true}, WG_EDTYPE, "norm is i64, must be a float"},
        {{.no_rate = true}, WG_EINVAL, "NULL"},
        {{.first_is_none = true, .momentum = 0.5}, WG_EINVAL, "parameter 0 is NULL"},
        {{.all_are_none = true}, WG_EINVAL, "parameter 0 is NULL"},
        {{.nameless = true, .momentum = 0.5}, WG_EINVAL, "parameter"},
        {{.rates = negative}, WG_EINVAL, "rates[1] is -1"},
        {{.rates = infinite}, WG_EINVAL, "rates[0] is inf"},
        {{.decays = negative}, WG_EINVAL, "decays[1] is -1"},
        {{.decays = not_a_number}, WG_EINVAL, "decays[1] is nan"},
        {{.with_part = true, .first_row = -1, .rows = 1}, WG_EINVAL, "rows[0]"},
        {{.with_part = true, .first_row = 2, .rows = 3}, WG_EINVAL, "the parameter has 4"},
        {{.with_part = true, .rows = -1}, WG_EINVAL, "rows[0] are -1"},
        {{.dtype = WG_F16, .with_norm = true}, WG_EDTYPE, "needs the range of f32"},
    };
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            wg_graph *g = wg_graph_new();
            wg_status status = update(g, kind, &cases[i].c);
            const char *text = wg_graph_message(g);
            check_that(status == cases[i].status && wg_graph_status(g) == status,
                       "kind %d, case %zu: %s", kind, i, wg_status_text(status));
            check_that(strstr(text, cases[i].words), "kind %d, case %zu: %s", kind, i, text);
            check_that(strstr(text, "test_update_arguments.c"), "no line: %s", text);
            wg_graph_free(g);
        }
}

/* Without a value there is no graph that could keep a message. */
static void an_update_of_no_graph_is_refused(void **state)
{
    (void)state;
    wg_value *none[N] = {NULL, NULL};
    assert_int_equal(wg_sgd_update(none, none, N, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_adam_update(NULL, none, N, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_adam_update(NULL, NULL, 0, NULL, NULL), WG_EINVAL);
}

/* Steps with each choice of what is allowed run, and assign finite parameters that moved. */
static void each_combination_of_options_makes_a_step(void **state)
{
    (void)state;
    size_t moved = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int choice = 0; choice < 64; choice++) {
            const call c = {.dtype = choice & 1 ? WG_BF16 : WG_F64,
                            .rates = choice & 2 ? right : NULL,
                            .decays = choice & 4 ? right : NULL,
                            .with_norm = choice & 8,
                            .with_part = choice & 16,
                            .momentum = choice & 32 ? 0.5 : 0,
                            .weight_decay = 0.1,
                            .first_row = 1,
                            .rows = 2};
            wg_graph *g = wg_graph_new();
            wg_plan *p;
            check_that(update(g, kind, &c) == WG_OK, "kind %d, choice %d: %s", kind, choice,
                       wg_graph_message(g));
            check_that(wg_plan_create(&p, g, &(wg_plan_options){.threads = 1}) == WG_OK, "%s",
                       wg_graph_message(g));
            check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
            const wg_tensor *q = wg_store_find(wg_plan_store(p), c.with_part ? "p" : "q");
            for (int64_t k = 0; k < ROWS; k++) {
                double x = choice & 1 ? (double)wg_bf16_to_f32(((const uint16_t *)q->data)[k])
                                      : ((const double *)q->data)[k];
                bool mine = (!c.with_part || (k >= 1 && k < 3)) && !(c.with_part && c.rates);
                /* the first one has a rate of 0 */
                check_that(isfinite(x) && (x != 1) == mine, "kind %d, choice %d, %lld: %g", kind,
                           choice, (long long)k, x);
                moved += x != 1;
            }
            wg_plan_free(p);
            wg_graph_free(g);
        }
    assert_in_range(moved, 400, 1000);
}

static void a_second_optimizer_needs_a_name(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        wg_graph *g = wg_graph_new();
        wg_value *p = wg_parameter(g, "p", WG_F32, WG_SHAPE(ROWS), wg_ones());
        wg_value *rate = wg_fill(g, WG_F32, WG_SCALAR, 0.1);
        wg_state(g, kind == SGD ? "sgd/velocity/p" : "adam/v/p", WG_F32, WG_SHAPE(ROWS),
                 wg_zeros());
        wg_status status = kind == SGD
                               ? wg_sgd_update(&p, &p, 1, rate, &(wg_sgd_options){.momentum = 0.5})
                               : wg_adam_update(&p, &p, 1, rate, NULL);
        assert_int_equal(status, WG_EINVAL);
        check_that(strstr(wg_graph_message(g), "is taken by a value built at"), "%s",
                   wg_graph_message(g));
        assert_int_equal(wg_average_update(g, "", 0.5), WG_EINVAL); /* the first error stays */
        check_that(strstr(wg_graph_message(g), "is taken by"), "%s", wg_graph_message(g));
        wg_graph_free(g);
    }
}

static void a_decay_of_averages_is_below_one(void **state)
{
    (void)state;
    static const double wrong[] = {-0.1, 1, NAN};
    for (int i = 0; i < 4; i++) {
        wg_graph *g = wg_graph_new();
        wg_scope_push(g, "net");
        wg_parameter(g, "p", WG_F32, WG_SHAPE(ROWS), wg_ones());
        wg_scope_pop(g);
        if (i < 3) {
            wg_scope_push(g, "mean");
            wg_scope_average(g);
            wg_scope_push(g, "net");
            wg_parameter(g, "p", WG_F32, WG_SHAPE(ROWS), wg_ones());
            wg_scope_pop(g);
            wg_scope_pop(g);
        }
        assert_int_equal(wg_average_update(g, "mean", i < 3 ? wrong[i] : 0.5), WG_EINVAL);
        const char *words = i < 3 ? "must be in [0, 1)" : "has no averages";
        check_that(strstr(wg_graph_message(g), words), "%s", wg_graph_message(g));
        wg_graph_free(g);
    }
}

/* ---- without memory -------------------------------------------------------------------------- */

static wg_status build(void *context)
{
    wg_graph *g = wg_graph_new();
    if (!g)
        return WG_ENOMEM;
    update(
        g, *(const int *)context,
        &(call){.with_norm = true, .with_part = true, .rows = 3, .momentum = 0.5, .rates = right});
    wg_status status = wg_graph_status(g);
    wg_graph_free(g);
    return status;
}

/* The moments after one step: (1 - beta) g and (1 - beta) g^2 of g = 3. */
static void a_beta_may_be_zero(void **state)
{
    (void)state;
    static const struct {
        double beta1, beta2, m, v;
    } cases[] = {{0, 0, 0.3, 0.009},
                 {WG_BETA_ZERO, 0, 3, 0.009},
                 {0.5, WG_BETA_ZERO, 1.5, 9},
                 {WG_BETA_ZERO, WG_BETA_ZERO, 3, 9}};
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_value *p = wg_parameter(g, "p", WG_F64, WG_SHAPE(1), wg_ones()), *d = wg_scale(p, 3);
        const wg_adam_options o = {.beta1 = cases[i].beta1, .beta2 = cases[i].beta2};
        assert_int_equal(wg_adam_update(&p, &d, 1, wg_fill(g, WG_F64, WG_SCALAR, 0.1), &o), WG_OK);
        wg_plan *plan;
        assert_int_equal(wg_plan_create(&plan, g, NULL), WG_OK);
        assert_int_equal(wg_plan_run(plan, 0), WG_OK);
        const double m = *wg_plan_f64(plan, wg_graph_find(g, "adam/m/p")),
                     v = *wg_plan_f64(plan, wg_graph_find(g, "adam/v/p")),
                     moved = *wg_plan_f64(plan, p);
        check_that(fabs(m - cases[i].m) <= 1e-15 && fabs(v - cases[i].v) <= 1e-14 &&
                       fabs(moved - 0.9) <= 1e-8,
                   "case %d: %g, %g, %g", i, m, v, moved);
        wg_plan_free(plan);
        wg_graph_free(g);
    }
}

static void an_update_without_memory_is_a_status(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        assert_in_range(fail_each("update", build, &kind, WG_OK), 5, 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments_are_named),
        cmocka_unit_test(each_combination_of_options_makes_a_step),
        cmocka_unit_test(an_update_of_no_graph_is_refused),
        cmocka_unit_test(a_second_optimizer_needs_a_name),
        cmocka_unit_test(a_decay_of_averages_is_below_one),
        cmocka_unit_test(a_beta_may_be_zero),
        cmocka_unit_test(an_update_without_memory_is_a_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
