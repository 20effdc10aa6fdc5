/* Products of transposed matrices read them where they lie: no plan copies one that only products
 * read, bits on the reference are those of the copy, and gradients are the same. */
#include "tests/fusions.h"

enum { ROWS = 3, IN = 5, OUT = 4 };

/* A plan on the reference, or on all backends. */
static wg_plan *planned(model *m, bool reference, bool turn)
{
    wg_plan *p;
    const wg_plan_options o = {.reference = reference, .threads = 2, .no_fuse = !turn};
    check_that(wg_plan_create(&p, m->g, &o) == WG_OK, "%s", wg_graph_message(m->g));
    for (int i = 0; i < m->n_leaves; i++)
        for (int64_t k = 0; k < wg_value_count(m->leaf[i]); k++)
            wg_plan_f32(p, m->leaf[i])[k] = (float)sin(1.7 * (double)(k + 1) * (i + 1));
    check_that(wg_plan_run(p, 0) == WG_OK, "%s", wg_plan_message(p));
    return p;
}

/* `copies` permutations are left; the outputs have the bits of the plain plan on the reference, and
 * are near them on all backends. */
static void check_turned(model *m, int copies)
{
    int64_t compared = 0;
    wg_plan *plain = planned(m, true, false);
    for (int reference = 0; reference < 2; reference++) {
        wg_plan *p = planned(m, reference, true);
        assert_int_equal(steps_with(p, &wg_op_permute), copies);
        assert_int_equal(wg_plan_check(p), WG_OK);
        for (int i = 0; i < m->n_out; i++)
            for (int64_t k = 0; k < wg_value_count(m->out[i]); k++, compared++) {
                float a = wg_plan_f32(p, m->out[i])[k], b = wg_plan_f32(plain, m->out[i])[k];
                double error = fabs((double)a - (double)b);
                check_that(reference ? memcmp(&a, &b, sizeof a) == 0
                                     : error <= 1e-6 * fmax(1, fabs((double)b)),
                           "output %d, element %lld: %g, not %g", i, (long long)k, (double)a,
                           (double)b);
            }
        wg_plan_free(p);
    }
    assert_true(compared > 0);
    wg_plan_free(plain);
    wg_graph_free(m->g);
}

/* Each operand by itself and both, given either way round. */
static void products_turn_their_operands(void **state)
{
    (void)state;
    static const int ways[] = {WG_NN, WG_TN, WG_NT, WG_TN | WG_NT};
    for (int which = 1; which < 4; which++)
        for (int w = 0; w < WG_COUNT(ways); w++) {
            model m = new_model();
            bool ta = (ways[w] & WG_TN) != 0, tb = (ways[w] & WG_NT) != 0;
            bool turn_a = which & 1, turn_b = which & 2;
            wg_value *a = leaf(&m, ta != turn_a ? WG_SHAPE(IN, ROWS) : WG_SHAPE(ROWS, IN));
            wg_value *b = leaf(&m, tb != turn_b ? WG_SHAPE(OUT, IN) : WG_SHAPE(IN, OUT));
            output(&m, wg_matmul_t(turn_a ? wg_transpose(a) : a, turn_b ? wg_transpose(b) : b,
                                   ways[w]));
            check_turned(&m, 0);
        }
}

/* The head of a language model whose embedding is tied: x [B, T, d] times the embedding [V, d],
 * transposed; with a bias and an activation it is one linear layer. */
static void a_tied_head_is_not_copied(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *words = leaf(&m, WG_SHAPE(50, IN)), *x = leaf(&m, WG_SHAPE(2, ROWS, IN));
    output(&m, wg_matmul(x, wg_transpose(words)));
    check_turned(&m, 0);
    m = new_model();
    words = leaf(&m, WG_SHAPE(50, IN));
    x = leaf(&m, WG_SHAPE(2, ROWS, IN));
    output(&m, wg_relu(wg_add(wg_matmul(x, wg_transpose(words)), leaf(&m, WG_SHAPE(50)))));
    check_turned(&m, 0);
    m = new_model();
    words = leaf(&m, WG_SHAPE(IN, 50));
    x = leaf(&m, WG_SHAPE(2, ROWS, IN));
    output(&m, wg_linear(x, wg_transpose(words), leaf(&m, WG_SHAPE(50)), WG_ACTIVATION_TANH));
    check_turned(&m, 0);
}

/* Keys of attention, with axes of batch and heads; a negative axis of the order counts from the
 * end. */
static void matrices_of_a_batch(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *q = leaf(&m, WG_SHAPE(2, 3, ROWS, IN)), *k = leaf(&m, WG_SHAPE(2, 3, OUT, IN));
    output(&m, wg_matmul(q, wg_permute(k, WG_AXES(0, 1, -1, -2))));
    check_turned(&m, 0);
}

/* A transposed matrix that is an output, or that another op reads, is still made; so is any other
 * order of axes. */
static void what_others_read_is_made(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *w = wg_transpose(leaf(&m, WG_SHAPE(OUT, IN))), *x = leaf(&m, WG_SHAPE(ROWS, IN));
    output(&m, wg_matmul(x, w));
    output(&m, w);
    check_turned(&m, 1);
    m = new_model();
    w = wg_transpose(leaf(&m, WG_SHAPE(OUT, IN)));
    x = leaf(&m, WG_SHAPE(ROWS, IN));
    output(&m, wg_add(wg_matmul(x, w), wg_sum(w, WG_ALL_AXES, WG_DROP)));
    check_turned(&m, 1);
    m = new_model();
    w = wg_permute(leaf(&m, WG_SHAPE(OUT, 2, IN)), WG_AXES(1, 2, 0));
    output(&m, wg_matmul(leaf(&m, WG_SHAPE(2, ROWS, IN)), w));
    check_turned(&m, 1);
}

/* The gradient of the matrix is transposed back, which no product reads. */
static void gradients_are_the_same(void **state)
{
    (void)state;
    model m = new_model();
    wg_value *w = leaf(&m, WG_SHAPE(OUT, IN)), *x = leaf(&m, WG_SHAPE(ROWS, IN));
    add_gradients(&m, output(&m, wg_tanh(wg_matmul(x, wg_transpose(w)))));
    check_turned(&m, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_turn_their_operands), cmocka_unit_test(a_tied_head_is_not_copied),
        cmocka_unit_test(matrices_of_a_batch),          cmocka_unit_test(what_others_read_is_made),
        cmocka_unit_test(gradients_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
