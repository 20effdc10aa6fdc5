/* The gradient check calls no right model wrong, and decides all of them.
 *
 *     test_false_alarms [SEEDS [NAME]]      prints a table; one seed, all models if not given */
#include "tests/autograd/zoo.h"
#include "tests/test.h"
#include "wengert/backends/evaluate.h"

static uint64_t seeds = 1;
static const char *only = ""; /* models whose names have this */

/* What all seeds together have found. */
typedef struct tally {
    size_t checks, right, compared, kinks, undecided;
    double worst;
} tally;

static void check_once(size_t i, int order, uint64_t seed, tally *sum, const char **name)
{
    zoo z;
    assert_true(zoo_build(&z, i, name));
    wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(),
                              .order = order,
                              .seed = seed,
                              .step = seed,
                              .leaves = z.leaf,
                              .n_leaves = z.n_leaves,
                              .max = wg_graph_node_count(z.g) > 200 ? 3 : 16};
    wg_gradcheck_report r;
    wg_status status = wg_gradcheck(z.g, &o, &r);
    sum->checks++;
    sum->right += status == WG_OK && r.verdict == WG_GRADCHECK_RIGHT;
    sum->compared += r.compared;
    sum->kinks += r.skipped;
    sum->undecided += r.undecided;
    sum->worst = r.worst > sum->worst ? r.worst : sum->worst;
    if (status != WG_OK)
        print_error("%s, order %d, seed %llu: %s\n", *name, order, (unsigned long long)seed,
                    r.message);
    wg_graph_free(z.g);
}

static void no_right_model_is_called_wrong(void **state)
{
    (void)state;
    zoo z;
    const char *name;
    size_t models = 0, alarms = 0;
    for (size_t i = 0; zoo_build(&z, i, &name); i++, models++) {
        wg_graph_free(z.g);
        for (int order = 1; order <= 2 && strstr(name, only); order++) {
            tally sum = {0};
            for (uint64_t seed = 0; seed < seeds; seed++)
                check_once(i, order, seed, &sum, &name);
            print_message("%-30s order %d: %3zu of %3zu right, %7zu compared, %5zu at a kink, %4zu "
                          "undecided, worst %.1e\n",
                          name, order, sum.right, sum.checks, sum.compared, sum.kinks,
                          sum.undecided, sum.worst);
            assert_true(sum.compared > 0);
            alarms += sum.checks - sum.right;
        }
    }
    assert_true(models > 20);
    assert_int_equal(alarms, 0);
}

/* Parameters of (-1, 1) make the exponentials of an autoencoder of 784 inputs explode. */
static void absurd_ranges_are_no_wrong_gradients(void **state)
{
    (void)state;
    zoo z = {.g = wg_graph_new()};
    zoo_vae(&z);
    wg_value *p[16];
    size_t n = wg_graph_parameters(z.g, p, 16);
    for (size_t i = 0; i < n && i < 16; i++)
        z.leaf[z.n_leaves++] = (wg_gradcheck_leaf){.leaf = p[i], .lo = -1, .hi = 1};
    wg_gradcheck_options o = {
        .evaluator = wg_plan_evaluator(), .leaves = z.leaf, .n_leaves = z.n_leaves, .max = 4};
    wg_gradcheck_report r;
    assert_int_equal(wg_gradcheck(z.g, &o, &r), WG_ENONFINITE);
    print_message("%s\n", r.message);
    assert_int_equal(r.verdict, WG_GRADCHECK_UNDECIDED);
    assert_non_null(strstr(r.message, "numbers of up to"));
    assert_non_null(strstr(r.absurd, "op exp at zoo.c"));
    wg_graph_free(z.g);
}

static void stop_gradient_is_told(void **state)
{
    (void)state;
    zoo z = {.g = wg_graph_new()};
    zoo_stopped(&z);
    wg_gradcheck_report r;
    wg_gradcheck_options o = {.evaluator = wg_plan_evaluator()};
    check_that(wg_gradcheck(z.g, &o, &r) == WG_OK, "%s", r.message);
    assert_int_equal(r.stopped, 1);
    assert_non_null(strstr(r.message, "1 stop_gradient between, held constant"));
    wg_graph_free(z.g);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_right_model_is_called_wrong),
        cmocka_unit_test(absurd_ranges_are_no_wrong_gradients),
        cmocka_unit_test(stop_gradient_is_told),
    };
    if (argc > 1)
        seeds = strtoull(argv[1], NULL, 10);
    if (argc > 2)
        only = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
