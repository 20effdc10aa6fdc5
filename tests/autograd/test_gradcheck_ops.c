/* Every op of the table on every sample: first and second derivatives against differences. */
#include "graph/mix.h"
#include "tests/test.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/evaluate.h"
#include "wengert/ops/table.h"

static void check_all(int order, size_t *compared, size_t *samples)
{
    int failures = 0;
    const wg_op *op;
    for (size_t i = 0; (op = wg_op_at(i)); i++)
        for (int k = 0; k < op->n_samples; k += SANITIZED ? order : 1, ++*samples) {
            const wg_sample *s = &op->samples[k];
            wg_gradcheck_options options = {
                .evaluator = wg_plan_evaluator(),
                .order = order,
                .seed = wgi_hash_text(op->name), /* the same numbers wherever it is in the table */
                .step = 3};
            wg_gradcheck_report r;
            if (wg_gradcheck_op(op, s, &options, &r) != WG_OK) {
                print_error("%s, %s: %s\n", op->name, s->name ? s->name : "sample", r.message);
                failures++;
            }
            *compared += r.compared;
        }
    check_that(failures == 0, "%d samples failed", failures);
}

static void first_derivatives_of_every_op(void **state)
{
    (void)state;
    size_t compared = 0, samples = 0;
    check_all(1, &compared, &samples);
    print_message("order 1: %zu elements in %zu samples\n", compared, samples);
    assert_true(compared > 300);
}

static void second_derivatives_of_every_op(void **state)
{
    (void)state;
    size_t compared = 0, samples = 0;
    check_all(2, &compared, &samples);
    print_message("order 2: %zu elements in %zu samples\n", compared, samples);
    assert_true(compared > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_derivatives_of_every_op),
        cmocka_unit_test(second_derivatives_of_every_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
