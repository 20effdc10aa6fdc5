/* CTC: the number of alignments in closed form, on sequences long enough to underflow; the kernels
 * against their expansions; infinite losses, empty sequences, what is not read, bad data, threads.
 * Values and gradients in PyTorch's terms are among the golden vectors (tests/golden/cases.py). */
#include "tests/small.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/table.h"

#include <math.h>

enum { NODES = 3 };

/* A graph with the loss, the gradient for log_probs, and its sum over the classes. */
typedef struct problem {
    wg_graph *g;
    wg_value *log_probs, *targets, *input_lengths, *target_lengths;
    wg_value *y[NODES]; /* loss, dlog_probs [N, T, C], sums [N, T] */
} problem;

static problem problem_of(wg_value *log_probs, wg_dtype ids, int64_t labels, const void *targets,
                          const void *input_lengths, const void *target_lengths,
                          const wg_ctc_attrs *options)
{
    problem q = {.g = wg_graph_of(log_probs), .log_probs = log_probs};
    int64_t examples = log_probs->shape.dim[0];
    q.targets = wg_constant(q.g, ids, WG_SHAPE(examples, labels), targets);
    q.input_lengths = wg_constant(q.g, ids, WG_SHAPE(examples), input_lengths);
    q.target_lengths = wg_constant(q.g, ids, WG_SHAPE(examples), target_lengths);
    q.y[0] = wg_ctc_loss(log_probs, q.targets, q.input_lengths, q.target_lengths, options);
    check_that(q.y[0], "%s", wg_graph_message(q.g));
    wg_value *dy = wg_fill(q.g, log_probs->dtype, q.y[0]->shape, 1);
    assert_int_equal(wg_vjp(q.y, &dy, 1, &log_probs, 1, NULL, q.y + 1), WG_OK);
    q.y[2] = wg_sum(q.y[1], WG_AXES(2), WG_DROP);
    return q;
}

static void near_to(const char *what, double y, double expected, double tolerance)
{
    if (!(fabs(y - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%s is %.17g, expected %.17g", what, y, expected);
}

static double log_binomial(int64_t n, int64_t k)
{
    return lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1);
}

/* S labels, R of them equal to the one before, have binomial(T + S - R, 2 S) alignments to T frames
 * (choose where each label begins and ends).  With all log-probabilities -2 each has exp(-2 T). */
static void long_sequences_have_the_known_number_of_alignments(void **state)
{
    (void)state;
    static const struct {
        int64_t frames, labels, repeats;
    } cases[] = {{1, 0, 0}, {5, 0, 0},     {1, 1, 0},    {9, 4, 0},     {9, 4, 2},
                 {9, 5, 4}, {1000, 40, 0}, {900, 70, 9}, {2000, 100, 0}};
    for (int i = 0; i < WG_COUNT(cases); i++)
        for (wg_dtype dtype = WG_F32; dtype <= WG_F64; dtype++) {
            int64_t frames = cases[i].frames, labels = cases[i].labels, r = cases[i].repeats;
            int64_t targets[128];
            for (int64_t k = 0; k < labels; k++)
                targets[k] = k <= r ? 1 : 1 + (k - r) % 3;
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_fill(g, dtype, WG_SHAPE(1, frames, 4), -2);
            problem q = problem_of(x, WG_I64, labels, targets, &frames, &labels,
                                   &(wg_ctc_attrs){.reduction = WG_LOSS_SUM});
            wg_plan *p = small_run(g, q.y, NODES, 1);
            near_to("loss", small_at(p, q.y[0], 0),
                    2 * (double)frames - log_binomial(frames + labels - r, 2 * labels),
                    dtype == WG_F32 ? 1e-7 : 1e-12);
            for (int64_t t = 0; t < frames; t++) /* a path is at some class */
                near_to("sum of occupations", -small_at(p, q.y[2], t), 1,
                        dtype == WG_F32 ? 1e-6 : 1e-11);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

/* ---- kernels and expansions ------------------------------------------------------------------ */

static wg_value *expansion_of(wg_value *y)
{
    wg_value *expanded[1] = {NULL};
    check_that(wg_expand_node(y->node, expanded) && expanded[0], "%s",
               wg_graph_message(wg_graph_of(y)));
    return expanded[0];
}

/* Log-probabilities of which some are -inf, any lengths: some examples have no path. */
static int64_t agree(uint64_t seed, wg_reduction reduction, bool zero_infinity)
{
    enum { N = 5, T = 6, C = 4, S = 3 };
    static double numbers[N * T * C];
    int64_t targets[N * S], lengths[2][N];
    wg_graph *g = wg_graph_new();
    small_constant(g, WG_F64, WG_SHAPE(N, T, C), &seed, numbers);
    for (int i = 0; i < N * T * C; i++)
        numbers[i] = numbers[i] < -3.5 ? (double)-INFINITY : numbers[i] / 3 - 2;
    for (int i = 0; i < N * S; i++)
        targets[i] = 1 + (int64_t)((seed = seed * 6364136223846793005u + 1) >> 40) % (C - 1);
    for (int i = 0; i < 2 * N; i++)
        lengths[i / N][i % N] =
            (int64_t)((seed = seed * 6364136223846793005u + 1) >> 40) % (i < N ? T + 1 : S + 1);
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(N, T, C), numbers);
    problem q = problem_of(x, WG_I64, S, targets, lengths[0], lengths[1],
                           &(wg_ctc_attrs){0, reduction, zero_infinity});
    assert_ptr_equal(q.y[1]->node->op, &wg_op_ctc_loss_grad);
    wg_value *y[] = {q.y[0], q.y[1], expansion_of(q.y[0]), expansion_of(q.y[1])};
    wg_plan *p = small_run(g, y, 4, 2);
    int64_t finite = 0;
    for (int k = 0; k < 2; k++)
        for (int64_t i = 0; i < wg_value_count(y[k]); i++) {
            double a = small_at(p, y[k], i), b = small_at(p, y[k + 2], i);
            finite += isfinite(a) && a != 0;
            if (!(a == b || (isnan(a) && isnan(b))))
                near_to(k ? "gradient" : "loss", a, b, 1e-12);
        }
    wg_plan_free(p);
    wg_graph_free(g);
    return finite;
}

static void kernels_are_their_expansions(void **state)
{
    (void)state;
    int64_t finite = 0;
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (int reduction = WG_LOSS_MEAN; reduction <= WG_LOSS_NONE; reduction++)
            for (int zero = 0; zero < 2; zero++)
                finite += agree(seed, (wg_reduction)reduction, zero);
    assert_true(finite > 500);
}

/* Derivatives of second order are made by the expansion, in bf16 and f16 too.  The numbers are
 * exact in all dtypes, so the results differ by their own rounding and that of the gradient. */
static void second_derivatives_of_16_bits(void **state)
{
    (void)state;
    enum { N = 2, T = 5, C = 3, S = 2, COUNT = N * T * C };
    static const wg_dtype dtypes[] = {WG_F64, WG_BF16, WG_F16};
    static const double unit[] = {0, 0x1p-8, 0x1p-11};
    const int64_t targets[N * S] = {1, 2, 2, 2}, frames[N] = {T, T - 1}, labels[N] = {S, 1};
    double numbers[COUNT], expected[COUNT], largest = 0;
    for (int i = 0; i < COUNT; i++)
        numbers[i] = -0.25 * (1 + i * 5 % 7);
    for (int k = 0; k < WG_COUNT(dtypes); k++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_cast(wg_constant(g, WG_F64, WG_SHAPE(N, T, C), numbers), dtypes[k]), *d2;
        problem q = problem_of(x, WG_I64, S, targets, frames, labels, NULL);
        wg_value *squares = wg_sum(wg_square(q.y[1]), WG_ALL_AXES, WG_DROP);
        check_that(wg_grad(squares, &x, 1, &d2) == WG_OK, "%s", wg_graph_message(g));
        wg_value *wide = wg_cast(d2, WG_F64);
        wg_plan *p = small_run(g, &wide, 1, 1);
        for (int i = 0; i < COUNT; i++) {
            double y = small_at(p, wide, i);
            if (k == 0)
                largest = fmax(largest, fabs(expected[i] = y));
            else if (!(fabs(y - expected[i]) <= 8 * unit[k] * largest))
                fail_msg("element %d in %s is %g, expected %g", i, wg_dtype_name(dtypes[k]), y,
                         expected[i]);
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_true(largest > 0.01);
}

/* ---- infinite losses, empty sequences -------------------------------------------------------- */

/* Five examples over 2 frames, of which 1, 2 and 3 have no path: two equal labels need 3 frames, a
 * label needs one, and class 2 has probability 0. */
static void infinite(bool zero_infinity)
{
    static const int32_t targets[] = {1, 3, 1, 1, 1, 3, 2, 3, 3, 3}, frames[] = {2, 2, 0, 2, 0},
                         labels[] = {2, 2, 1, 1, 0};
    double numbers[5 * 2 * 4];
    for (int i = 0; i < WG_COUNT(numbers); i++)
        numbers[i] = i % 4 == 2 ? (double)-INFINITY : -1;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(5, 2, 4), numbers);
    problem q = problem_of(x, WG_I32, 2, targets, frames, labels,
                           &(wg_ctc_attrs){0, WG_LOSS_NONE, zero_infinity});
    wg_plan *p = small_run(g, q.y, NODES, 2);
    const double none = zero_infinity ? 0 : (double)INFINITY;
    small_equal("losses", p, q.y[0], (double[]){2, none, none, none, 0}, 5);
    for (int64_t i = 0; i < WG_COUNT(numbers); i++) {
        int64_t n = i / 8, t = i / 4 % 2, c = i % 4;
        double d = small_at(p, q.y[1], i);
        bool nan = !zero_infinity && (n == 1 || n == 3);
        double expected = n == 0 && c == (t == 0 ? 1 : 3) ? -1 : 0;
        check_that(nan ? isnan(d) : d == expected, "gradient %lld is %g", (long long)i, d);
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void without_a_path_the_loss_is_infinite_or_0(void **state)
{
    (void)state;
    infinite(false);
    infinite(true);
}

static void what_is_beyond_the_lengths_is_not_read(void **state)
{
    (void)state;
    double numbers[2 * 3 * 3];
    const int64_t targets[] = {1, -77, 2, 999}, frames[] = {2, 1}, labels[] = {1, 1};
    for (int i = 0; i < WG_COUNT(numbers); i++)
        numbers[i] = i / 3 % 3 < frames[i / 9] ? -1 : (double)NAN;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(2, 3, 3), numbers);
    problem q = problem_of(x, WG_I64, 2, targets, frames, labels,
                           &(wg_ctc_attrs){.reduction = WG_LOSS_NONE});
    wg_plan *p = small_run(g, q.y, NODES, 1);
    near_to("loss 0", small_at(p, q.y[0], 0), 2 - log(3), 1e-15); /* -a, a-, aa */
    near_to("loss 1", small_at(p, q.y[0], 1), 1, 1e-15);
    for (int64_t i = 0; i < WG_COUNT(numbers); i++)
        check_that(i / 3 % 3 < frames[i / 9] || small_at(p, q.y[1], i) == 0, "gradient %lld is %g",
                   (long long)i, small_at(p, q.y[1], i));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- bad data, bad arguments ----------------------------------------------------------------- */

static void bad_data_is_named(void **state)
{
    (void)state;
    static const struct {
        int64_t targets[4], frames[2], labels[2];
        const char *words;
    } cases[] = {
        {{1, 1, 1, 1}, {3, 4}, {1, 1}, "the input length of example 1 is 4, must be 0 to 3"},
        {{1, 1, 1, 1}, {-1, 3}, {1, 1}, "the input length of example 0 is -1, must be 0 to 3"},
        {{1, 1, 1, 1}, {3, 3}, {1, 3}, "the target length of example 1 is 3, must be 0 to 2"},
        {{1, 1, 1, 5}, {3, 3}, {1, 2}, "label 1 of example 1 is 5, must be in [0, 5)"},
        {{1, 0, 1, 1}, {3, 3}, {2, 1}, "label 1 of example 0 is 0, must be in [0, 5) and not 0"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++)
        for (int k = 0; k < 2; k++) { /* the loss, then its gradient by itself */
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(2, 3, 5), -1);
            problem q =
                problem_of(x, WG_I64, 2, cases[i].targets, cases[i].frames, cases[i].labels, NULL);
            wg_plan_options options = {.outputs = &q.y[k], .n_outputs = 1, .no_fold = true};
            wg_plan *p;
            assert_int_equal(wg_plan_create(&p, g, &options), WG_OK);
            assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
            check_that(strstr(wg_plan_message(p), cases[i].words), "\"%s\" does not say \"%s\"",
                       wg_plan_message(p), cases[i].words);
            wg_plan_free(p);
            wg_graph_free(g);
        }
}

static void bad_arguments_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 7, 5));
        wg_value *targets = wg_input(g, "t", WG_I64, WG_SHAPE(i == 0 ? 3 : 2, 3));
        wg_value *frames = wg_input(g, "f", WG_I64, WG_SHAPE(2));
        wg_value *labels = wg_input(g, "l", i == 1 ? WG_F32 : WG_I64, WG_SHAPE(2));
        wg_ctc_attrs a = {.blank = i == 2 ? 5 : 0};
        assert_null(wg_ctc_loss(x, targets, frames, labels, &a));
        static const char *const words[] = {"targets", "target_lengths",
                                            "blank is 5, must be one of the 5 classes"};
        small_refused(g, words[i]);
    }
}

/* ---- threads --------------------------------------------------------------------------------- */

static void results_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { N = 7, T = 60, C = 6, S = 11 };
    uint64_t seed = 3;
    int64_t targets[N * S], frames[N], labels[N];
    for (int i = 0; i < N * S; i++)
        targets[i] = 1 + i * i % (C - 1);
    for (int i = 0; i < N; i++)
        frames[i] = T - 5 * i, labels[i] = S - i % 4;
    wg_graph *g = wg_graph_new();
    wg_value *x = small_constant(g, WG_F32, WG_SHAPE(N, T, C), &seed, NULL);
    problem q = problem_of(wg_log_softmax(x, -1), WG_I64, S, targets, frames, labels, NULL);
    small_same_at_any_threads(g, q.y, NODES);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_sequences_have_the_known_number_of_alignments),
        cmocka_unit_test(kernels_are_their_expansions),
        cmocka_unit_test(second_derivatives_of_16_bits),
        cmocka_unit_test(without_a_path_the_loss_is_infinite_or_0),
        cmocka_unit_test(what_is_beyond_the_lengths_is_not_read),
        cmocka_unit_test(bad_data_is_named),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(results_do_not_depend_on_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
