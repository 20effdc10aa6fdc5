/* The optimizers that are rules, against PyTorch and plain loops; rules of one's own, and what is
 * wrong with some. */
#include "tests/plans.h"
#include "wengert/models/optimizer.h"

#include <math.h>

enum { N = 5, STEPS = 4 };

static const double start[N] = {0.5, -1.25, 2, 0, -0.125};

static double gradient_at(int i, int t)
{
    const double g[N] = {0.3 * t - 0.7, 1.5, -0.02 * t, 0, 40.0 / t};
    return g[i];
}

typedef struct net {
    wg_graph *g;
    wg_plan *plan;
    wg_value *p, *gradient, *rate;
} net;

static net begin(wg_dtype dtype)
{
    net n = {.g = wg_graph_new()};
    n.p = wg_parameter(n.g, "p", dtype, WG_SHAPE(N), wg_zeros());
    n.gradient = wg_input(n.g, "gradient", dtype, WG_SHAPE(N));
    n.rate = wg_input(n.g, "rate", dtype, WG_SCALAR);
    return n;
}

static void put(const net *n, const wg_value *v, int i, double x)
{
    void *data = wg_plan_data(n->plan, v);
    if (v->dtype == WG_F64)
        ((double *)data)[i] = x;
    else
        ((float *)data)[i] = (float)x;
}

static double get(const net *n, const wg_value *v, int i)
{
    const void *data = wg_plan_data(n->plan, v);
    return v->dtype == WG_F64 ? ((const double *)data)[i] : (double)((const float *)data)[i];
}

static void take_steps(net *n, double rate)
{
    check_that(wg_graph_status(n->g) == WG_OK, "%s", wg_graph_message(n->g));
    n->plan = plan_of(n->g, &(wg_plan_options){.threads = 1});
    for (int i = 0; i < N; i++)
        put(n, n->p, i, start[i]);
    put(n, n->rate, 0, rate);
    for (int t = 1; t <= STEPS; t++) {
        for (int i = 0; i < N; i++)
            put(n, n->gradient, i, gradient_at(i, t));
        check_that(wg_plan_run(n->plan, (uint64_t)t) == WG_OK, "%s", wg_plan_message(n->plan));
    }
}

static void end(net *n)
{
    wg_plan_free(n->plan);
    wg_graph_free(n->g);
}

/* ---- the optimizers -------------------------------------------------------------------------- */

typedef struct golden {
    const char *name;
    wg_optimizer_kind kind;
    wg_optimizer_numbers numbers;
    double rate, decay;
    double p[N];
} golden;

/* PyTorch 1.13 in float64, four steps from `start` with those gradients. */
static const golden goldens[] = {
    {.name = "adam",
     .kind = WG_OPTIMIZER_ADAM,
     .numbers = {.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-2},
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.65591699354179422, -1.64731077600545, 2.179062727410495, 0, -0.48524777676317699}},
    {.name = "adamw",
     .kind = WG_OPTIMIZER_ADAMW,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.68406800631134135, -1.6444078922385796, 2.3797827838300356, 0, -0.48658509315521425}},
    {.name = "nesterov",
     .kind = WG_OPTIMIZER_SGD,
     .numbers = {.momentum = 0.9, .nesterov = true},
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.54209306209308195, -3.0513351144211001, 2.0290829777179997, 0, -28.788292136084696}},
    {.name = "rmsprop",
     .kind = WG_OPTIMIZER_RMSPROP,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.48521018378625114, -4.033858943653259, 4.5916344369494189, 0, -2.0735237069050649}},
    {.name = "rmsprop with momentum",
     .kind = WG_OPTIMIZER_RMSPROP,
     .numbers = {.beta2 = 0.95, .eps = 1e-3, .momentum = 0.9},
     .rate = 0.1,
     .decay = 0,
     .p = {1.599659542390417, -4.3834833382309357, 5.2151337047416257, 0, -2.5690589265311408}},
    {.name = "adagrad",
     .kind = WG_OPTIMIZER_ADAGRAD,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.50355092080761055, -1.5283558027456958, 2.2688188419637814, 0, -0.31923395689119105}},
    {.name = "adadelta",
     .kind = WG_OPTIMIZER_ADADELTA,
     .rate = 0.5,
     .decay = 0.01,
     .p = {0.49911116626725938, -1.2565259618021147, 2.0059791746485822, 0, -0.12896466987311422}},
    {.name = "adamax",
     .kind = WG_OPTIMIZER_ADAMAX,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.65962661353647867, -1.6501867140933788, 2.1609575679654021, 0, -0.40677434703454202}},
};

static void near(const net *n, const char *name, const double *p)
{
    const double tolerance = n->p->dtype == WG_F64 ? 1e-14 : 4e-6;
    for (int i = 0; i < N; i++) {
        double got = get(n, n->p, i), error = fabs(got - p[i]);
        check_that(error <= tolerance * (1 + fabs(p[i])), "%s, element %d: %.17g, expected %.17g",
                   name, i, got, p[i]);
    }
}

static void optimizers_agree_with_pytorch(void **state)
{
    (void)state;
    for (int k = 0; k < WG_COUNT(goldens); k++)
        for (int choice = 0; choice < 4; choice++) {
            const golden *o = &goldens[k];
            net n = begin(choice & 1 ? WG_F32 : WG_F64);
            wg_value *norm = choice & 2 ? wg_global_norm(&n.gradient, 1) : NULL;
            wg_optimizer_update(&n.p, &n.gradient, 1, n.rate, o->kind, &o->numbers,
                                &(wg_update_options){.weight_decay = o->decay, .norm = norm});
            take_steps(&n, o->rate);
            near(&n, o->name, o->p);
            end(&n);
        }
}

static double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

static void plain_lion(double rate, double decay, double *p)
{
    double m[N] = {0};
    memcpy(p, start, sizeof start);
    for (int t = 1; t <= STEPS; t++)
        for (int i = 0; i < N; i++) {
            double g = gradient_at(i, t);
            p[i] -= rate * (sign(0.9 * m[i] + 0.1 * g) + decay * p[i]);
            m[i] = 0.99 * m[i] + 0.01 * g;
        }
}

static void plain_lamb(double rate, double decay, double *p)
{
    double m[N] = {0}, v[N] = {0}, d[N];
    memcpy(p, start, sizeof start);
    for (int t = 1; t <= STEPS; t++) {
        double pp = 0, dd = 0;
        for (int i = 0; i < N; i++) {
            double g = gradient_at(i, t);
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            d[i] =
                m[i] / (1 - pow(0.9, t)) / (sqrt(v[i] / (1 - pow(0.999, t))) + 1e-6) + decay * p[i];
            pp += p[i] * p[i];
            dd += d[i] * d[i];
        }
        for (int i = 0; i < N; i++)
            p[i] -= rate * sqrt(pp / dd) * d[i];
    }
}

static void lion_and_lamb_agree_with_plain_loops(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wg_optimizer_kind kind;
        void (*plain)(double rate, double decay, double *p);
    } cases[] = {{"lion", WG_OPTIMIZER_LION, plain_lion}, {"lamb", WG_OPTIMIZER_LAMB, plain_lamb}};
    for (int k = 0; k < WG_COUNT(cases); k++)
        for (int choice = 0; choice < 4; choice++) {
            double p[N], decay = choice & 2 ? 0.3 : 0;
            net n = begin(choice & 1 ? WG_F32 : WG_F64);
            wg_value *norm = choice & 2 ? wg_global_norm(&n.gradient, 1) : NULL;
            wg_optimizer_update(&n.p, &n.gradient, 1, n.rate, cases[k].kind, NULL,
                                &(wg_update_options){.weight_decay = decay, .norm = norm});
            take_steps(&n, 0.1);
            cases[k].plain(0.1, decay, p);
            near(&n, cases[k].name, p);
            end(&n);
        }
}

/* LAMB's quotient of norms is 1 for a parameter of zeros, and for a step of zeros. */
static void lamb_takes_a_step_from_zero(void **state)
{
    (void)state;
    for (int still = 0; still < 2; still++) {
        wg_graph *g = wg_graph_new();
        wg_value *p = wg_parameter(g, "p", WG_F32, WG_SHAPE(2), still ? wg_ones() : wg_zeros());
        wg_value *d = wg_fill(g, WG_F32, WG_SHAPE(2), still ? 0 : 3);
        wg_optimizer_update(&p, &d, 1, wg_fill(g, WG_F32, WG_SCALAR, 0.5), WG_OPTIMIZER_LAMB, NULL,
                            &(wg_update_options){.norm = wg_global_norm(&d, 1)});
        wg_plan *plan = plan_of(g, NULL);
        check_that(wg_plan_run(plan, 0) == WG_OK, "%s", wg_plan_message(plan));
        double now = (double)wg_plan_f32(plan, p)[1];
        check_that(fabs(now - (still ? 1 : -0.5)) <= 1e-6, "%g", now);
        wg_plan_free(plan);
        wg_graph_free(g);
    }
}

/* ---- rules of one's own ---------------------------------------------------------------------- */

typedef struct lion_numbers {
    double beta1, beta2;
} lion_numbers;

static wg_value *lion(const wg_update *u, wg_value **state)
{
    const lion_numbers *k = u->context;
    wg_value *m = state[0];
    wg_value *move = wg_sign(wg_add(wg_scale(m, k->beta1), wg_scale(u->g, 1 - k->beta1)));
    state[0] = wg_add(wg_scale(m, k->beta2), wg_scale(u->g, 1 - k->beta2));
    return wg_sub(u->p, wg_mul(u->lr, wg_add(move, wg_scale(u->p, u->weight_decay))));
}

static const wg_update_rule my_lion = {.name = "my/lion", .states = {"m"}, .step = lion};

static void a_rule_is_an_optimizer(void **state)
{
    (void)state;
    const lion_numbers numbers = {0.9, 0.99};
    for (int checked = 0; checked < 2; checked++) {
        net own = begin(WG_F32), ours = begin(WG_F32);
        wg_update_options o = {.weight_decay = 0.3, .context = &numbers};
        o.norm = checked ? wg_global_norm(&own.gradient, 1) : NULL;
        wg_update_by_rule(&own.p, &own.gradient, 1, own.rate, &my_lion, &o);
        o.norm = checked ? wg_global_norm(&ours.gradient, 1) : NULL;
        wg_optimizer_update(&ours.p, &ours.gradient, 1, ours.rate, WG_OPTIMIZER_LION, NULL, &o);
        take_steps(&own, 0.1);
        take_steps(&ours, 0.1);
        wg_value *m = wg_graph_find(own.g, "my/lion/m/p");
        assert_true(m && m->node->phase == WG_UPDATE);
        for (int i = 0; i < N; i++) {
            assert_true(get(&own, own.p, i) == get(&ours, ours.p, i));
            assert_true(get(&own, m, i) == get(&ours, wg_graph_find(ours.g, "lion/m/p"), i));
        }
        end(&own);
        end(&ours);
    }
}

/* Counts its steps, reads them, keeps one state as it is. */
static wg_value *falling(const wg_update *u, wg_value **state)
{
    (void)state;
    return wg_sub(u->p, wg_mul(wg_div(u->lr, wg_cast(u->count, u->p->dtype)), u->g));
}

static void a_rule_may_count_and_leave_states_alone(void **state)
{
    (void)state;
    static const wg_update_rule rule = {
        .name = "falling", .states = {"kept"}, .counts = true, .step = falling};
    net n = begin(WG_F64);
    wg_update_by_rule(&n.p, &n.gradient, 1, n.rate, &rule, NULL);
    take_steps(&n, 0.1);
    double p[N];
    for (int i = 0; i < N; i++) {
        p[i] = start[i];
        for (int t = 1; t <= STEPS; t++)
            p[i] -= 0.1 / t * gradient_at(i, t);
        assert_true(get(&n, wg_graph_find(n.g, "falling/kept/p"), i) == 0);
    }
    near(&n, "falling", p);
    const int64_t *count = wg_plan_data(n.plan, wg_graph_find(n.g, "falling/step"));
    assert_int_equal(*count, STEPS);
    end(&n);
}

/* With `norm` an update whose results would overflow changes nothing, though nothing bounds it. */
static wg_value *explosive(const wg_update *u, wg_value **state)
{
    state[0] = wg_add(state[0], u->g);
    return wg_add(u->p, wg_exp(wg_scale(u->g, 60)));
}

static void an_unbounded_rule_is_checked_afterwards(void **state)
{
    (void)state;
    static const wg_update_rule rule = {.name = "boom", .states = {"sum"}, .step = explosive};
    wg_graph *g = wg_graph_new();
    wg_value *p[2] = {wg_parameter(g, "a", WG_F32, WG_SHAPE(3), wg_zeros()),
                      wg_parameter(g, "b", WG_F32, WG_SHAPE(300, 300), wg_zeros())};
    wg_value *d[2] = {wg_input(g, "da", WG_F32, WG_SHAPE(3)),
                      wg_input(g, "db", WG_F32, WG_SHAPE(300, 300))};
    wg_update_by_rule(p, d, 2, wg_fill(g, WG_F32, WG_SCALAR, 1), &rule,
                      &(wg_update_options){.norm = wg_global_norm(d, 2)});
    wg_plan *plan = plan_of(g, NULL);
    float *last = (float *)wg_plan_data(plan, d[1]) + 300 * 300 - 1;
    const wg_value *sum = wg_graph_find(g, "boom/sum/b");
    for (int t = 0; t < 4; t++) {
        const bool good = t % 2 == 0;
        *last = good ? 0 : 2; /* exp(120) */
        check_that(wg_plan_run(plan, 0) == (good ? WG_OK : WG_ENONFINITE), "%d: %s", t,
                   wg_plan_message(plan));
        if (!good)
            assert_non_null(strstr(wg_plan_message(plan), "norm of what is new"));
        assert_true(wg_plan_f32(plan, p[0])[0] == (float)(t / 2 + 1));
        assert_true(wg_plan_f32(plan, p[1])[300 * 300 - 1] == (float)(t / 2 + 1));
        assert_true(wg_plan_f32(plan, sum)[300 * 300 - 1] == 0);
    }
    wg_plan_free(plan);
    wg_graph_free(g);
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static wg_value *none(const wg_update *u, wg_value **state)
{
    (void)u, (void)state;
    return NULL;
}

static wg_value *sum(const wg_update *u, wg_value **state)
{
    (void)state;
    return wg_sum(u->p, WG_ALL_AXES, WG_DROP);
}

static wg_value *another_dtype(const wg_update *u, wg_value **state)
{
    (void)state;
    return wg_cast(u->p, WG_F16);
}

static wg_value *no_state(const wg_update *u, wg_value **state)
{
    state[0] = NULL;
    return u->p;
}

static wg_value *wrong_op(const wg_update *u, wg_value **state)
{
    return wg_add(u->p, wg_fill(wg_graph_of(state[0]), WG_F32, WG_SHAPE(7), 0));
}

static void mistakes_in_rules_are_named(void **state)
{
    (void)state;
    static const wg_rows rows = {0, 1};
    static const wg_update_part part = {&rows, 1};
    static const struct {
        wg_update_rule rule;
        const char *words;
        bool in_part;
    } cases[] = {
        {.rule = {.name = "none", .step = none},
         .words = "none: the rule made no new value for 'p'"},
        {.rule = {.name = "sum", .step = sum},
         .words = "the rule's new value is f32 [], but 'p' is f32 [5]"},
        {.rule = {.name = "cast", .step = another_dtype},
         .words = "the rule's new value is f16 [5], but 'p' is f32"},
        {.rule = {.name = "left", .states = {"m"}, .step = no_state},
         .words = "the rule made no new m for 'p'"},
        {.rule = {.name = "op", .states = {"m"}, .step = wrong_op}, .words = "[7]"},
        {.rule = {.name = "nothing"}, .words = "nothing: the rule has no `step`"},
        {.rule = {.step = none}, .words = "the rule has no name"},
        {.rule = {.name = "whole", .step = lion, .mixes = true},
         .words = "needs whole parameters",
         .in_part = true},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        net n = begin(WG_F32);
        assert_true(wg_update_by_rule(
                        &n.p, &n.gradient, 1, n.rate, &cases[i].rule,
                        &(wg_update_options){.part = cases[i].in_part ? &part : NULL}) != WG_OK);
        const char *text = wg_graph_message(n.g);
        check_that(strstr(text, cases[i].words) && strstr(text, "test_update_rules.c"),
                   "case %d: %s", i, text);
        end(&n);
    }
    net n = begin(WG_F32);
    assert_int_equal(wg_update_by_rule(&n.p, &n.gradient, 1, n.rate, NULL, NULL), WG_EINVAL);
    assert_non_null(strstr(wg_graph_message(n.g), "the rule is NULL"));
    end(&n);
}

static void numbers_that_cannot_be_are_named(void **state)
{
    (void)state;
    static const struct {
        int kind;
        wg_optimizer_numbers numbers;
        const char *words;
    } cases[] = {
        {WG_OPTIMIZER_LION, {.beta1 = 1}, "lion: beta1: expected a number in [0, 1), got 1"},
        {WG_OPTIMIZER_LION, {.eps = 1e-8}, "eps: Lion does not use it: expected 0, got 1e-08"},
        {WG_OPTIMIZER_ADAGRAD, {.beta2 = 0.9}, "beta2: Adagrad does not use it"},
        {WG_OPTIMIZER_ADAM, {.nesterov = true}, "nesterov: Adam does not use it"},
        {WG_OPTIMIZER_RMSPROP, {.momentum = 1.5}, "momentum: expected a number in [0, 1)"},
        {WG_OPTIMIZER_LAMB, {.eps = -1}, "eps: expected 0 or more, got -1"},
        {WG_OPTIMIZER_LAMB, {.eps = NAN}, "eps: expected 0 or more, got nan"},
        {WG_OPTIMIZER_LAMB + 1, {.eps = 0}, "kind: expected one of wg_optimizer_kind, got 9"},
        {-1, {.eps = 0}, "kind: expected one of wg_optimizer_kind, got -1"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        net n = begin(WG_F32);
        assert_int_equal(wg_optimizer_update(&n.p, &n.gradient, 1, n.rate,
                                             (wg_optimizer_kind)cases[i].kind, &cases[i].numbers,
                                             NULL),
                         WG_EINVAL);
        check_that(strstr(wg_graph_message(n.g), cases[i].words), "case %d: %s", i,
                   wg_graph_message(n.g));
        end(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers_agree_with_pytorch),
        cmocka_unit_test(lion_and_lamb_agree_with_plain_loops),
        cmocka_unit_test(lamb_takes_a_step_from_zero),
        cmocka_unit_test(a_rule_is_an_optimizer),
        cmocka_unit_test(a_rule_may_count_and_leave_states_alone),
        cmocka_unit_test(an_unbounded_rule_is_checked_afterwards),
        cmocka_unit_test(mistakes_in_rules_are_named),
        cmocka_unit_test(numbers_that_cannot_be_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
