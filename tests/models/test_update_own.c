/* Update rules of one's own, and what is wrong with some. */
#include "tests/models/steps.h"

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
        check_that(strstr(text, cases[i].words) && strstr(text, "test_update_own.c"), "case %d: %s",
                   i, text);
        end(&n);
    }
    net n = begin(WG_F32);
    assert_int_equal(wg_update_by_rule(&n.p, &n.gradient, 1, n.rate, NULL, NULL), WG_EINVAL);
    assert_non_null(strstr(wg_graph_message(n.g), "the rule is NULL"));
    end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rule_is_an_optimizer),
        cmocka_unit_test(a_rule_may_count_and_leave_states_alone),
        cmocka_unit_test(an_unbounded_rule_is_checked_afterwards),
        cmocka_unit_test(mistakes_in_rules_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
