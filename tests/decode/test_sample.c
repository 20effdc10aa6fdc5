/* Sampling of a token: the tokens kept and their probabilities, exactly; draws by them. */
#include "graph/random.h"
#include "tests/test.h"
#include "wengert/decode/sample.h"

#include <math.h>

static wg_error error;

/* ---- probabilities --------------------------------------------------------------------------- */

/* log p of 8 tokens, in no order; 1/4 is there twice. */
static const double p8[] = {0.0625, 0.25, 0.03125, 0.125, 0.25, 0.0625, 0.125, 0.09375};
enum { N = 8 };

/* A logit is below 10 and rounded, and 1/T at most 2: an error of 2e-15, twice, in exp's argument.
 * */
static void check_probabilities(wg_sampling s, const double *expected, const char *what)
{
    double logits[N], p[N], sum = 0;
    for (int i = 0; i < N; i++)
        logits[i] = log(p8[i]) + 5; /* a constant does not matter */
    check_that(wg_sampling_probabilities(p, &s, logits, N, &error) == WG_OK, "%s", error.text);
    for (int i = 0; i < N; i++) {
        double wrong = fabs(p[i] - expected[i]);
        check_that(wrong <= 4e-15 && (p[i] == 0) == (expected[i] == 0),
                   "%s: token %d has %.17g, expected %.17g", what, i, p[i], expected[i]);
        sum += p[i];
    }
    check_that(fabs(sum - 1) <= 1e-15, "%s: a sum of %.17g", what, sum);
}

/* p^(1/T) of the tokens in `kept`, a set of bits, divided by their sum. */
static void expect(double *p, double temperature, unsigned kept)
{
    double sum = 0;
    for (int i = 0; i < N; i++)
        sum += p[i] = kept >> i & 1 ? pow(p8[i], 1 / temperature) : 0;
    for (int i = 0; i < N; i++)
        p[i] /= sum;
}

static void kept_tokens_have_their_share(void **state)
{
    (void)state;
    static const struct {
        const char *what;
        wg_sampling s;
        double temperature;
        unsigned kept;
    } cases[] = {
        {"all", {1, 0, 1}, 1, 0xff},
        {"temperature 2", {2, 0, 1}, 2, 0xff},
        {"temperature 1/2", {0.5, 0, 1}, 0.5, 0xff},
        {"top 1: the first of the equal ones", {1, 1, 1}, 1, 0x02},
        {"top 2", {1, 2, 1}, 1, 0x12},
        {"top 3: the first of two", {1, 3, 1}, 1, 0x1a},
        {"top 5", {1, 5, 1}, 1, 0xda},
        {"top 8", {1, 8, 1}, 1, 0xff},
        {"more than there are", {1, 1000, 1}, 1, 0xff},
        {"nucleus 0.01", {1, 0, 0.01}, 1, 0x02},
        {"nucleus below 1/4", {1, 0, 0.2499}, 1, 0x02},
        {"nucleus above 1/4", {1, 0, 0.26}, 1, 0x12},
        {"nucleus below 3/4", {1, 0, 0.7499}, 1, 0x5a},
        {"nucleus 0.8", {1, 0, 0.8}, 1, 0xda},
        {"nucleus of almost all", {1, 0, 0.9999}, 1, 0xff},
        /* of the top 4, which have 3/4, two have 2/3 */
        {"nucleus of the top 4", {1, 4, 0.66}, 1, 0x12},
        {"nucleus of the top 4, larger", {1, 4, 0.67}, 1, 0x1a},
        /* at temperature 1/2 the two have 128/178 of the weight */
        {"nucleus at temperature 1/2", {0.5, 0, 0.71}, 0.5, 0x12},
        {"nucleus at temperature 1/2, larger", {0.5, 0, 0.72}, 0.5, 0x1a},
    };
    double p[N];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect(p, cases[i].temperature, cases[i].kept);
        check_probabilities(cases[i].s, p, cases[i].what);
    }
}

/* Two of four equal tokens have just the probability that is asked for. */
static void a_nucleus_is_no_larger_than_it_must_be(void **state)
{
    (void)state;
    const double logits[] = {1, 1, 1, 1};
    double p[4];
    assert_int_equal(wg_sampling_probabilities(p, &(wg_sampling){1, 0, 0.5}, logits, 4, &error),
                     WG_OK);
    assert_true(p[0] == 0.5 && p[1] == 0.5 && p[2] == 0 && p[3] == 0);
}

static void greedy_is_the_limit_of_low_temperatures(void **state)
{
    (void)state;
    const double logits[] = {1, 3, 2.999, -5, 3}, low[] = {1e-7, 1e-30, 1e-300, 5e-324};
    double p[5], greedy[5];
    wg_sampling s = {0, 0, 1};
    assert_int_equal(wg_sampling_probabilities(greedy, &s, logits, 5, &error), WG_OK);
    for (int i = 0; i < 5; i++)
        assert_true(greedy[i] == (i == 1)); /* the first of equal ones */
    for (int k = 0; k < 4; k++) {
        s.temperature = low[k];
        assert_int_equal(wg_sampling_probabilities(p, &s, logits, 5, &error), WG_OK);
        for (int i = 0; i < 5; i++)
            assert_true(p[i] == (i == 1 || i == 4 ? 0.5 : 0));
    }
    s.temperature = 1e300; /* and all are equal at high ones */
    assert_int_equal(wg_sampling_probabilities(p, &s, logits, 5, &error), WG_OK);
    for (int i = 0; i < 5; i++)
        assert_true(fabs(p[i] - 0.2) <= 1e-15);
}

static void tokens_of_no_probability_are_never_drawn(void **state)
{
    (void)state;
    const double inf = INFINITY, logits[] = {-inf, 700, -inf, 710, -1e308};
    double p[5];
    const wg_sampling s = WG_SAMPLING_PLAIN, top = {1, 4, 1};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wg_sampling_probabilities(p, i ? &top : &s, logits, 5, &error), WG_OK);
        assert_true(p[0] == 0 && p[2] == 0 && p[4] == 0);
        assert_true(fabs(p[1] / p[3] - exp(-10)) <= 1e-18);
    }
    assert_int_equal(wg_sampling_draw(p, 5, 0), 1);
    assert_int_equal(wg_sampling_draw(p, 5, nextafter(1, 0)), 3);
    const double some[] = {0, 0.25, 0, 0.5, 0.25, 0};
    assert_int_equal(wg_sampling_draw(some, 6, 0.25), 3);
    assert_int_equal(wg_sampling_draw(some, 6, nextafter(0.25, 0)), 1);
    assert_int_equal(wg_sampling_draw(some, 6, 0.75), 4);
    assert_int_equal(wg_sampling_draw(some, 6, nextafter(1, 0)), 4);
}

/* ---- draws ----------------------------------------------------------------------------------- */

/* Pearson's chi-square of 100,000 draws with fixed seeds, below the quantile of 0.999. */
static void draws_have_their_frequencies(void **state)
{
    (void)state;
    enum { DRAWS = 100000 };
    static const double quantile[] = {0, 10.83, 13.82, 16.27, 18.47, 20.52, 22.46, 24.32};
    static const wg_sampling how[] = {
        {1, 0, 1}, {0.7, 0, 1}, {2, 5, 1}, {1, 0, 0.8}, {1.3, 6, 0.9}};
    double logits[N], p[N];
    for (int i = 0; i < N; i++)
        logits[i] = log(p8[i]);
    for (int k = 0; k < 5; k++) {
        int count[N] = {0}, kept = 0;
        double chi = 0;
        assert_int_equal(wg_sampling_probabilities(p, &how[k], logits, N, &error), WG_OK);
        const wgi_random random = wgi_random_of(17, (uint64_t)k, 0);
        for (uint64_t i = 0; i < DRAWS; i++)
            count[wg_sampling_draw(p, N, wgi_uniform(&random, i))]++;
        for (int i = 0; i < N; i++) {
            double expected = DRAWS * p[i];
            kept += p[i] > 0;
            check_that(p[i] > 0 || count[i] == 0, "case %d: token %d was drawn", k, i);
            chi += p[i] > 0 ? (count[i] - expected) * (count[i] - expected) / expected : 0;
        }
        assert_true(kept > 1);
        check_that(chi <= quantile[kept - 1], "case %d: chi-square %g of %d tokens", k, chi, kept);
    }
}

/* ---- what cannot be -------------------------------------------------------------------------- */

static void bad_options_are_refused(void **state)
{
    (void)state;
    const double nan = NAN, inf = INFINITY;
    const struct {
        wg_sampling s;
        const char *message;
    } cases[] = {
        {{-0.1, 0, 1}, "temperature is -0.1, must be 0 or a positive number"},
        {{nan, 0, 1}, "temperature is"},
        {{inf, 0, 1}, "temperature is inf"},
        {{1, -1, 1}, "top_k is -1, must be positive, or 0 for all"},
        {{1, 0, 0}, "top_p is 0, must be in (0, 1]"},
        {{1, 0, 1.01}, "top_p is 1.01, must be in (0, 1]"},
        {{1, 0, -0.5}, "top_p is -0.5"},
        {{1, 0, nan}, "top_p is"},
    };
    const double logits[] = {1, 2}, bad[][2] = {{nan, 1}, {1, inf}, {-inf, -inf}, {-inf, nan}};
    double p[2];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(wg_sampling_probabilities(p, &cases[i].s, logits, 2, &error), WG_EINVAL);
        check_that(strstr(error.text, cases[i].message) != NULL, "%s", error.text);
        assert_int_equal(wg_sampling_check(&cases[i].s, NULL), WG_EINVAL);
    }
    const wg_sampling plain = WG_SAMPLING_PLAIN;
    for (int i = 0; i < 4; i++)
        assert_int_equal(wg_sampling_probabilities(p, &plain, bad[i], 2, &error), WG_ENONFINITE);
    assert_int_equal(wg_sampling_probabilities(p, &plain, logits, 0, &error), WG_EINVAL);
    assert_int_equal(wg_sampling_probabilities(p, NULL, logits, 2, &error), WG_EINVAL);
    assert_int_equal(wg_sampling_probabilities(NULL, &plain, logits, 2, NULL), WG_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_tokens_have_their_share),
        cmocka_unit_test(a_nucleus_is_no_larger_than_it_must_be),
        cmocka_unit_test(greedy_is_the_limit_of_low_temperatures),
        cmocka_unit_test(tokens_of_no_probability_are_never_drawn),
        cmocka_unit_test(draws_have_their_frequencies),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
