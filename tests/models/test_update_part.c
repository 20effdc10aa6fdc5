/* A part of an update: the rows that a process updates have the bits of an update of everything,
 * the others keep theirs, and moments are as large as the part. */
#include "tests/plans.h"
#include "wengert/models/optimizer.h"

enum { ROWS = 7, WIDTH = 5, PARAMETERS = 3, STEPS = 3 };

typedef struct net {
    wg_graph *g;
    wg_value *p[PARAMETERS], *gradient[PARAMETERS], *rate;
    wg_plan *plan;
} net;

/* A rule without a bound: what it makes is checked. */
static wg_value *halve(const wg_update *u, wg_value **state)
{
    state[0] = wg_add(state[0], u->g);
    return wg_sub(wg_scale(u->p, 0.5), wg_mul(u->lr, state[0]));
}

static const wg_update_rule halving = {.name = "halving", .states = {"sum"}, .step = halve};

typedef struct optimizer {
    wg_optimizer_kind kind;
    const wg_update_rule *rule; /* in place of the kind */
    double momentum, decay;
    const char *state; /* of parameter a */
} optimizer;

static const optimizer optimizers[] = {
    {.kind = WG_OPTIMIZER_ADAM, .decay = 0.1, .state = "adam/m/a"},
    {.kind = WG_OPTIMIZER_ADAMW, .decay = 0.1, .state = "adam/v/a"},
    {.kind = WG_OPTIMIZER_SGD, .momentum = 0.9, .state = "sgd/velocity/a"},
    {.kind = WG_OPTIMIZER_RMSPROP, .state = "rmsprop/square/a"},
    {.kind = WG_OPTIMIZER_RMSPROP, .momentum = 0.9, .state = "rmsprop/velocity/a"},
    {.kind = WG_OPTIMIZER_ADAGRAD, .state = "adagrad/square/a"},
    {.kind = WG_OPTIMIZER_ADADELTA, .decay = 0.1, .state = "adadelta/change/a"},
    {.kind = WG_OPTIMIZER_ADAMAX, .state = "adamax/max/a"},
    {.kind = WG_OPTIMIZER_LION, .decay = 0.1, .state = "lion/m/a"},
    {.kind = WG_OPTIMIZER_NADAM, .decay = 0.1, .state = "nadam/m/a"},
    {.kind = WG_OPTIMIZER_RADAM, .decay = 0.1, .state = "radam/v/a"},
    {.kind = WG_OPTIMIZER_RPROP, .state = "rprop/size/a"},
    {.rule = &halving, .state = "halving/sum/a"},
};

static net build(const optimizer *o, const wg_update_part *part)
{
    static const char *const names[] = {"a", "b", "c"};
    const wg_shape shapes[] = {WG_SHAPE(ROWS, WIDTH), WG_SHAPE(ROWS), WG_SCALAR};
    net n = {.g = wg_graph_new()};
    char name[20];
    n.rate = wg_input(n.g, "rate", WG_F32, WG_SCALAR);
    for (int i = 0; i < PARAMETERS; i++) {
        n.p[i] = wg_parameter(n.g, names[i], WG_F32, shapes[i], wg_normal_init(1));
        snprintf(name, sizeof name, "gradient %s", names[i]);
        n.gradient[i] = wg_input(n.g, name, WG_F32, shapes[i]);
    }
    wg_value *norm = wg_output(wg_global_norm(n.gradient, PARAMETERS), "norm");
    wg_output(wg_global_norm(n.p, PARAMETERS), NULL); /* parameters that nobody updates */
    const wg_update_options options = {.weight_decay = o->decay, .norm = norm, .part = part};
    if (o->rule)
        wg_update_by_rule(n.p, n.gradient, PARAMETERS, n.rate, o->rule, &options);
    else
        wg_optimizer_update(n.p, n.gradient, PARAMETERS, n.rate, o->kind,
                            &(wg_optimizer_numbers){.momentum = o->momentum}, &options);
    n.plan = plan_of(n.g, &(wg_plan_options){.seed = 5, .threads = 1});
    return n;
}

static void update(net *n)
{
    *(float *)wg_plan_data(n->plan, n->rate) = 0.1F;
    for (int i = 0; i < PARAMETERS; i++)
        for (int64_t k = 0; k < wg_value_count(n->p[i]); k++)
            ((float *)wg_plan_data(n->plan, n->gradient[i]))[k] = (float)(k % 11) - 4.7F;
    for (int step = 0; step < STEPS; step++)
        check_that(wg_plan_run(n->plan, (uint64_t)step) == WG_OK, "%s", wg_plan_message(n->plan));
}

static void end(net *n)
{
    wg_plan_free(n->plan);
    wg_graph_free(n->g);
}

/* Elements of parameter i before a row. */
static int64_t elements(const net *n, int i, int64_t rows)
{
    const wg_value *p = n->p[i];
    return p->shape.rank ? rows * wg_value_count(p) / p->shape.dim[0] : rows;
}

static int compare(const net *whole, const net *before, const net *part, const wg_rows *rows)
{
    int moved = 0;
    for (int i = 0; i < PARAMETERS; i++) {
        const float *all = wg_plan_data(whole->plan, whole->p[i]),
                    *old = wg_plan_data(before->plan, before->p[i]),
                    *got = wg_plan_data(part->plan, part->p[i]);
        const int64_t first = elements(part, i, rows[i].first),
                      last = elements(part, i, rows[i].first + rows[i].count);
        for (int64_t k = 0; k < wg_value_count(part->p[i]); k++) {
            const bool own = k >= first && k < last;
            check_that(got[k] == (own ? all[k] : old[k]), "parameter %d, element %d", i, (int)k);
            moved += own && all[k] != old[k];
        }
    }
    return moved;
}

static void a_part_has_the_bits_of_the_whole(void **state)
{
    static const wg_rows parts[][PARAMETERS] = {
        {{0, 7}, {0, 7}, {0, 1}}, {{0, 3}, {0, 0}, {0, 0}}, {{3, 4}, {0, 2}, {0, 0}},
        {{7, 0}, {2, 5}, {0, 1}}, {{7, 0}, {7, 0}, {1, 0}},
    };
    (void)state;
    for (int i = 0; i < WG_COUNT(optimizers); i++) {
        const optimizer *o = &optimizers[i];
        net whole = build(o, NULL), before = build(o, NULL);
        int moved[5];
        update(&whole);
        for (int k = 0; k < 5; k++) {
            net part = build(o, &(wg_update_part){parts[k], 7});
            const wg_value *m = wg_graph_find(part.g, o->state);
            update(&part);
            moved[k] = compare(&whole, &before, &part, parts[k]);
            assert_int_equal(m ? m->shape.dim[0] : 0, parts[k][0].count);
            end(&part);
        }
        assert_int_equal(moved[0], 43); /* all numbers, and in three parts as many */
        assert_int_equal(moved[1] + moved[2] + moved[3], 43);
        assert_int_equal(moved[4], 0);
        end(&whole);
        end(&before);
    }
}

static void rows_that_are_not_there_are_refused(void **state)
{
    static const wg_rows wrong[] = {{-1, 2}, {5, 3}, {0, -1}, {8, 0}};
    (void)state;
    for (int i = 0; i < 4; i++) {
        wg_graph *g = wg_graph_new();
        wg_value *p = wg_parameter(g, "p", WG_F32, WG_SHAPE(ROWS), wg_zeros());
        wg_value *rate = wg_input(g, "rate", WG_F32, WG_SCALAR);
        const wg_update_part part = {&wrong[i], 1};
        assert_int_equal(wg_adam_update(&p, &p, 1, rate, &(wg_adam_options){.part = &part}),
                         WG_EINVAL);
        check_that(strstr(wg_graph_message(g), "the parameter has 7"), "%s", wg_graph_message(g));
        wg_graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_has_the_bits_of_the_whole),
        cmocka_unit_test(rows_that_are_not_there_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
