/* Tests of the tests: rules are broken inside whole models.  The gradient check must notice each
 * that changes the gradient, and name the op.
 *
 *     test_model_mutation [all]      all mutants; without, each tenth */
#include "tests/autograd/mutations.h"
#include "tests/autograd/zoo.h"
#include "tests/test.h"
#include "wengert/backends/evaluate.h"
#include "wengert/ops/ops.h"
#include "wengert/backends/plan.h"

#include <math.h>

static int stride = 10;

typedef struct tally {
    int tried, mutants, caught, named, equal;
} tally;

/* Whether n is the first node of its op in the graph. */
static bool is_first_of_op(const wg_graph *g, const wg_node *n)
{
    for (size_t i = 0; i < n->id; i++)
        if (wg_graph_node(g, i)->op == n->op)
            return false;
    return true;
}

static int operands_of(const wg_graph *g, const wg_op *op)
{
    int max = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        max = n->op == op && n->n_in > max ? n->n_in : max;
    }
    return max;
}

/* ---- mutants that are none ------------------------------------------------------------------- */

static void fill_inputs(wg_plan *p, const zoo *z, wg_value **map)
{
    uint64_t random = 12345;
    for (size_t i = 0; i < wg_graph_value_count(z->g); i++) {
        const wg_value *v = wg_graph_value(z->g, i);
        int64_t below = 2;
        if (!(v->node->op->flags & WG_OP_INPUT))
            continue;
        for (size_t k = 0; k < z->n_leaves; k++)
            below = z->leaf[k].leaf == v ? (int64_t)z->leaf[k].hi : below;
        void *to = wg_plan_data(p, map[i]);
        for (int64_t k = 0; k < wg_value_count(v); k++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            double u = (double)(random >> 33) * 0x1p-31;
            if (map[i]->dtype == WG_F64)
                ((double *)to)[k] = 2 * u - 1;
            else if (map[i]->dtype == WG_I64)
                ((int64_t *)to)[k] = (int64_t)(u * (double)below);
            else
                ((int32_t *)to)[k] = (int32_t)(u * (double)below);
        }
    }
}

/* The gradient in all float leaves, with and without the hook, to 1e-9: what does not change it is
 * no mutant. */
static bool changes_gradient(const zoo *z, const wg_grad_hook *hook)
{
    size_t values = wg_graph_value_count(z->g), n = 0;
    wg_value **map = calloc(values + 1, sizeof *map), **x = calloc(values + 1, sizeof *x),
             **d = calloc(2 * values + 2, sizeof *d);
    assert_true(map && x && d);
    wg_graph *g =
        wg_graph_clone(z->g, &(wg_clone_options){.floats_as = WG_F64, .keep_all = true}, map);
    for (size_t i = 0; i < values; i++)
        if (map[i]->node->op->flags & (WG_OP_PARAMETER | WG_OP_INPUT) && map[i]->dtype == WG_F64)
            x[n++] = map[i];
    wg_value *y = wg_graph_output(g, 0);
    assert_int_equal(wg_vjp(&y, NULL, 1, x, n, NULL, d), WG_OK);
    assert_int_equal(wg_vjp(&y, NULL, 1, x, n, &(wg_vjp_options){hook}, d + n), WG_OK);
    wg_plan *p;
    assert_int_equal(
        wg_plan_create(&p, g, &(wg_plan_options){.outputs = d, .n_outputs = 2 * n, .threads = 1}),
        WG_OK);
    fill_inputs(p, z, map);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    bool changes = false;
    for (size_t i = 0; i < n; i++) {
        const double *a = wg_plan_data(p, d[i]), *b = wg_plan_data(p, d[n + i]);
        for (int64_t k = 0; k < wg_value_count(d[i]) && !changes; k++)
            changes = !(fabs(a[k] - b[k]) <= 1e-9 * fabs(a[k]) + 1e-13);
    }
    wg_plan_free(p);
    wg_graph_free(g);
    free(map);
    free(x);
    free(d);
    return changes;
}

/* ---- mutants --------------------------------------------------------------------------------- */

static bool is_caught(const zoo *z, const char *model, const wg_grad_hook *hook, uint64_t seed,
                      wg_gradcheck_report *r)
{
    wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(),
                              .seed = seed,
                              .max = 4,
                              .leaves = z->leaf,
                              .n_leaves = z->n_leaves,
                              .hook = hook};
    wg_status status = wg_gradcheck(z->g, &o, r);
    check_that(status == WG_OK || status == WG_EDATA, "%s: %s", model, r->message);
    return r->verdict == WG_GRADCHECK_WRONG;
}

static void try_mutant(const zoo *z, const char *model, target *t, tally *sum)
{
    const wg_grad_hook hook = {break_rule, t};
    wg_gradcheck_report r;
    char expected[80];
    t->hit = false;
    if (sum->tried++ % stride)
        return;
    bool caught = is_caught(z, model, &hook, 3, &r);
    if (!t->hit || (!caught && !changes_gradient(z, &hook))) {
        sum->equal += t->hit;
        return;
    }
    /* A mutant may need the other sign of the loss's cotangent: |dy| is dy where it is plus. */
    for (uint64_t seed = 4; seed < 20 && !caught; seed++)
        caught = is_caught(z, model, &hook, seed, &r);
    snprintf(expected, sizeof expected, "op %s ", t->op->name);
    bool named = strncmp(r.guilty, expected, strlen(expected)) == 0;
    sum->mutants++;
    sum->caught += caught;
    sum->named += caught && named;
    if (!caught || !named)
        print_message("%s: %s of operand %d of %s: %s\n", model, t->mutation->name, t->operand,
                      t->op->name, r.message);
}

static void try_model(const zoo *z, const char *model, tally *sum)
{
    for (size_t i = 0; i < wg_graph_node_count(z->g); i++) {
        const wg_node *n = wg_graph_node(z->g, i);
        if (n->op->flags & (WG_OP_LEAF | WG_OP_DISCRETE) || !is_first_of_op(z->g, n))
            continue;
        for (int operand = 0; operand < operands_of(z->g, n->op); operand++)
            for (int m = 0; m < MUTATIONS; m++) {
                target t = {n->op, operand, &mutations[m], false};
                try_mutant(z, model, &t, sum);
            }
    }
}

/* The largest would move the elements of 50,000 by a matrix. */
static bool is_large(const wg_graph *g)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++)
        if (wg_value_count(wg_graph_value(g, i)) > 2000)
            return true;
    return false;
}

static void broken_rules_in_models_are_caught_and_named(void **state)
{
    (void)state;
    zoo z;
    const char *name;
    tally sum = {0};
    for (size_t i = 0; zoo_build(&z, i, &name); i++) {
        if (!is_large(z.g))
            try_model(&z, name, &sum);
        wg_graph_free(z.g);
    }
    print_message("mutants: %d, caught: %d, named: %d; without effect: %d\n", sum.mutants,
                  sum.caught, sum.named, sum.equal);
    assert_true(sum.mutants > 1000 / stride);
    assert_int_equal(sum.caught, sum.mutants);
    assert_true(sum.named * 100 >= sum.mutants * 95);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broken_rules_in_models_are_caught_and_named),
    };
    if (argc > 1 && strcmp(argv[1], "all") == 0)
        stride = 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
