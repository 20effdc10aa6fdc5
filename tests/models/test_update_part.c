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

static net build(wg_optimizer_kind kind, const wg_update_part *part)
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
    if (kind == WG_OPTIMIZER_SGD)
        wg_sgd_update(n.p, n.gradient, PARAMETERS, n.rate,
                      &(wg_sgd_options){.momentum = 0.9, .norm = norm, .part = part});
    else
        wg_adam_update(n.p, n.gradient, PARAMETERS, n.rate,
                       &(wg_adam_options){.weight_decay = 0.1,
                                          .decoupled = kind == WG_OPTIMIZER_ADAMW,
                                          .norm = norm,
                                          .part = part});
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
    for (int kind = WG_OPTIMIZER_ADAM; kind <= WG_OPTIMIZER_SGD; kind++) {
        net whole = build(kind, NULL), before = build(kind, NULL);
        int moved[5];
        update(&whole);
        for (int k = 0; k < 5; k++) {
            net part = build(kind, &(wg_update_part){parts[k], 7});
            const wg_value *m =
                wg_graph_find(part.g, kind == WG_OPTIMIZER_SGD ? "sgd/velocity/a" : "adam/m/a");
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
