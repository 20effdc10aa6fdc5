/* The Transformer's numbers: those that the paper states and those that other implementations
 * compute. */
#include "tests/transformers.h"

#include <math.h>

/* ---- positions ------------------------------------------------------------------------------- */

static void sinusoids_of_the_paper_and_of_tensor2tensor(void **state)
{
    (void)state;
    static const struct {
        wg_positions kind;
        int64_t position, i;
        double value;
    } known[] = {
        {WG_POSITIONS_INTERLEAVED, 1, 0, .841470985},
        {WG_POSITIONS_INTERLEAVED, 1, 1, .540302306},
        {WG_POSITIONS_INTERLEAVED, 1, 2, .821856190},
        {WG_POSITIONS_INTERLEAVED, 10, 4, .118776483},
        {WG_POSITIONS_INTERLEAVED, 49, 511, .999987099},
        {WG_POSITIONS_HALVES, 1, 1, .821778650},
        {WG_POSITIONS_HALVES, 100, 256, .862318872},
        {WG_POSITIONS_PAPER_HALVES, 1, 1, .821856190},
        {WG_POSITIONS_PAPER_HALVES, 1, 256, .540302306},
        {WG_POSITIONS_PAPER_HALVES, 10, 2, .118776483},
        {WG_POSITIONS_PAPER_HALVES, 49, 511, .999987099},
    };
    enum { D = 512, ROWS = 128, FIRST = 3 };
    for (size_t i = 0; i < WG_COUNT(known); i++) {
        double x = wg_sinusoid(known[i].kind, known[i].position, known[i].i, D);
        check_that(fabs(x - known[i].value) <= 5e-10, "PE(%lld, %lld) is %.9f, expected %.9f",
                   (long long)known[i].position, (long long)known[i].i, x, known[i].value);
    }
    size_t kinds = 0;
    for (int kind = WG_POSITIONS_INTERLEAVED; kind <= WG_POSITIONS_PAPER_HALVES; kind++) {
        if (!wg_positions_are_sinusoids((wg_positions)kind))
            continue;
        kinds++;
        wg_graph *g = wg_graph_new();
        wg_value *pe = wg_sinusoids(g, (wg_positions)kind, WG_F64, ROWS, D, FIRST);
        wg_plan *p = plan_of(g, &(wg_plan_options){.threads = 1, .outputs = &pe, .n_outputs = 1});
        run(p, 0);
        const double *x = wg_plan_data(p, pe);
        for (int64_t t = 0; t < ROWS; t++)
            for (int64_t i = 0; i < D; i++)
                assert_true(x[t * D + i] == wg_sinusoid((wg_positions)kind, FIRST + t, i, D));
        wg_plan_free(p);
        wg_graph_free(g);
    }
    assert_int_equal(kinds, 3);
}

/* PE(pos + k) = M_k PE(pos), where M_k turns each pair (sin, cos) by an angle that depends on k
 * alone (section 3.5). */
static void a_shifted_position_is_a_linear_function(void **state)
{
    (void)state;
    enum { D = 64 };
    for (int64_t k = 1; k <= 100; k += 11)
        for (int64_t pair = 0; pair < D; pair += 2) {
            /* M_k from the two positions 0 (0, 1) and k */
            double sine = wg_sinusoid(WG_POSITIONS_INTERLEAVED, k, pair, D);
            double cosine = wg_sinusoid(WG_POSITIONS_INTERLEAVED, k, pair + 1, D);
            for (int64_t t = 0; t < 200; t++) {
                double s = wg_sinusoid(WG_POSITIONS_INTERLEAVED, t, pair, D);
                double c = wg_sinusoid(WG_POSITIONS_INTERLEAVED, t, pair + 1, D);
                double shifted[] = {cosine * s + sine * c, cosine * c - sine * s};
                for (int i = 0; i < 2; i++)
                    assert_true(fabs(shifted[i] - wg_sinusoid(WG_POSITIONS_INTERLEAVED, t + k,
                                                              pair + i, D)) <= 1e-12);
            }
        }
}

/* ---- parameters ------------------------------------------------------------------------------ */

static int64_t count_parameters(const wg_graph *g)
{
    wg_value *w[TRANSFORMER_MAX_PARAMETERS];
    size_t n = wg_graph_parameters(g, w, TRANSFORMER_MAX_PARAMETERS);
    int64_t total = 0;
    assert_in_range(n, 1, TRANSFORMER_MAX_PARAMETERS);
    for (size_t i = 0; i < n; i++)
        total += wg_value_count(w[i]);
    return total;
}

static void counts_of_parameters(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int64_t vocabulary, parameters, without_embedding;
    } known[] = {
        {"tiny", 9712, 2568192, 2568192 - 9712 * 128},
        {"base", 37000, 63082496, 44138496},
        {"big", 37000, 214245376, 176357376},
    };
    for (size_t i = 0; i < WG_COUNT(known); i++) {
        wg_transformer_config c = transformer_sized(known[i].name, known[i].vocabulary);
        transformer t = transformer_of(&c, 2, 5, 7, true);
        int64_t total = count_parameters(t.g);
        assert_int_equal(total, known[i].parameters);
        total -= wg_value_count(wg_graph_find(t.g, "embedding/weight"));
        assert_int_equal(total, known[i].without_embedding);
        wg_graph_free(t.g);
    }
}

/* Table 3, rows A and B: other numbers of heads cost no parameters if d_k = d_v = d / h; smaller
 * keys save those of the projections q and k of 18 layers of attention. */
static void heads_and_key_sizes_of_table_3(void **state)
{
    (void)state;
    static const struct {
        int64_t heads, d_k, parameters;
    } known[] = {{8, 0, 63082496},
                 {1, 0, 63082496},
                 {4, 0, 63082496},
                 {32, 0, 63082496},
                 {8, 64, 63082496},
                 {8, 16, 63082496 - 18 * 2 * 8 * 48 * (512 + 1)},
                 {8, 32, 63082496 - 18 * 2 * 8 * 32 * (512 + 1)}};
    for (size_t i = 0; i < WG_COUNT(known); i++) {
        wg_transformer_config c = transformer_sized("base", 37000);
        c.heads = known[i].heads;
        c.d_k = known[i].d_k;
        transformer t = transformer_of(&c, 1, 2, 3, true);
        assert_int_equal(count_parameters(t.g), known[i].parameters);
        wg_graph_free(t.g);
    }
}

/* The largest of |x|, and the root of the mean of x^2. */
static void sizes_of(const wg_tensor *t, double *largest, double *rms)
{
    const float *x = t->data;
    int64_t n = wg_shape_count(&t->shape);
    double squares = *largest = 0;
    for (int64_t i = 0; i < n; i++) {
        *largest = fmax(*largest, fabs((double)x[i]));
        squares += (double)x[i] * (double)x[i];
    }
    *rms = sqrt(squares / (double)n);
}

/* Matrices uniform within Xavier's bound, embeddings normal with deviation 1 / sqrt(d). */
static void check_first_values(bool fused, const char *name, double bound)
{
    double largest, rms;
    wg_transformer_config c = transformer_sized("base", 1000);
    c.encoder_layers = c.decoder_layers = 1;
    c.fused_projections = fused;
    transformer t = transformer_of(&c, 1, 1, 1, false);
    wg_store *store = wg_store_new(3);
    wg_plan *p = plan_of(t.g, &(wg_plan_options){.threads = 1, .store = store});
    sizes_of(wg_store_find(store, name), &largest, &rms);
    check_that(largest <= bound + 5e-7 && largest >= bound * .999 &&
                   fabs(rms * sqrt(3) / bound - 1) <= .01,
               "%s is within %g, root mean square %g, expected a bound of %g", name, largest, rms,
               bound);
    sizes_of(wg_store_find(store, "embedding/weight"), &largest, &rms);
    check_that(fabs(rms * sqrt(512) - 1) <= .01 && largest > 3.5 * rms, "embedding: %g, %g", rms,
               largest);
    wg_plan_free(p);
    wg_store_free(store);
    wg_graph_free(t.g);
}

static void first_values_of_parameters(void **state)
{
    (void)state;
    check_first_values(false, "encoder/layer0/self_attn/k/weight", .076547);
    check_first_values(false, "decoder/layer0/cross_attn/q/weight", .076547);
    check_first_values(true, "decoder/layer0/cross_attn/out/weight", .076547);
    check_first_values(true, "encoder/layer0/ff/inner/weight", .048412);
    check_first_values(true, "encoder/layer0/ff/outer/weight", .048412);
    check_first_values(true, "encoder/layer0/self_attn/qkv/weight", .054127);
    check_first_values(true, "decoder/layer0/cross_attn/q/weight", .054127);
}

/* Equal logits lose exactly ln V.  Untied, the first logits are nearly equal; tied, they are
 * products of states of length sqrt(d) with rows of length about 1, so their variance is about 1,
 * which costs its half. */
static void first_losses(void **state)
{
    (void)state;
    const double uniform = 9.1811; /* ln 9712 */
    static const struct {
        wg_tying tying;
        bool zeros;
        double above, tolerance;
    } cases[] = {
        {WG_TIED_ALL, true, 0, 5e-5}, {WG_UNTIED, false, 0, .05}, {WG_TIED_ALL, false, .5, .2}};
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_transformer_config c = transformer_sized("tiny", 9712);
        c.tying = cases[i].tying;
        transformer t = transformer_of(&c, 8, 6, 7, false);
        wg_plan *p =
            plan_of(t.g, &(wg_plan_options){.threads = 1, .outputs = &t.loss, .n_outputs = 1});
        transformer_fill(p, &t, 5);
        wg_value *rows = wg_graph_find(t.g, "embedding/weight");
        if (cases[i].zeros)
            memset(wg_plan_data(p, rows), 0, wg_value_bytes(rows));
        run(p, 0);
        double loss = floats(p, t.loss)[0];
        check_that(fabs(loss - uniform - cases[i].above) <= cases[i].tolerance,
                   "case %zu: the first loss is %g", i, loss);
        wg_plan_free(p);
        wg_graph_free(t.g);
    }
}

/* ---- layers ---------------------------------------------------------------------------------- */

static void layer_norm_takes_the_variance_of_the_population(void **state)
{
    (void)state;
    static const double row[] = {1, 0, 0, 0}, expected[] = {1.732046, -.577349, -.577349, -.577349};
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(1, 4), row);
    wg_value *y = wg_norm_layer("norm", x, WG_LAYERNORM, 1e-6);
    wg_plan *p = plan_of(g, &(wg_plan_options){.threads = 1, .outputs = &y, .n_outputs = 1});
    run(p, 0);
    const double *got = wg_plan_data(p, y);
    for (int i = 0; i < 4; i++)
        check_that(fabs(got[i] - expected[i]) <= 5e-7, "%d: %.9f", i, got[i]);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* q . k has mean 0 and variance d_k if the components of q and k have mean 0 and variance 1
 * (section 3.2.1, note 4). */
static void products_of_unit_queries_and_keys_have_variance_d_k(void **state)
{
    (void)state;
    enum { N = 40000 };
    for (int d = 16; d <= 256; d *= 4) {
        wg_graph *g = wg_graph_new();
        wg_value *q = wg_normal(g, WG_F32, WG_SHAPE(N, d), 0, 1);
        wg_value *k = wg_normal(g, WG_F32, WG_SHAPE(N, d), 0, 1);
        wg_value *y = wg_sum(wg_mul(q, k), WG_AXES(1), WG_DROP);
        wg_plan *p =
            plan_of(g, &(wg_plan_options){.threads = 1, .outputs = &y, .n_outputs = 1, .seed = 1});
        run(p, 0);
        double mean = 0, square = 0;
        for (int i = 0; i < N; i++) {
            mean += (double)floats(p, y)[i] / N;
            square += (double)floats(p, y)[i] * (double)floats(p, y)[i] / N;
        }
        double variance = square - mean * mean;
        /* four standard errors: of the mean sqrt(d / N), of the variance about d sqrt(2 / N) */
        check_that(fabs(mean) <= 4 * sqrt((double)d / N) && fabs(variance / d - 1) <= .03,
                   "d_k = %d: mean %g, variance %g", d, mean, variance);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* [B, T, d] <-> [B, d, T] */
static wg_value *turned(wg_value *x)
{
    return wg_permute(x, WG_AXES(0, 2, 1));
}

/* The feed-forward layer is two convolutions of kernel size 1 (section 3.3). */
static void feed_forward_is_two_convolutions(void **state)
{
    (void)state;
    enum { ROWS = 3, T = 5, D = 8, FF = 20 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_normal(g, WG_F64, WG_SHAPE(ROWS, T, D), 0, 1);
    wg_value *y = wg_feed_forward("ff", x, FF, NULL);
    wg_value *inner = wg_reshape(wg_graph_find(g, "ff/inner/weight"), WG_SHAPE(FF, D, 1));
    wg_value *outer = wg_reshape(wg_graph_find(g, "ff/outer/weight"), WG_SHAPE(D, FF, 1));
    wg_value *h = wg_conv1d(turned(x), inner, wg_graph_find(g, "ff/inner/bias"), NULL);
    wg_value *z = turned(wg_conv1d(wg_relu(h), outer, wg_graph_find(g, "ff/outer/bias"), NULL));
    wg_value *both[] = {y, z};
    wg_plan *p = plan_of(g, &(wg_plan_options){.threads = 1, .outputs = both, .n_outputs = 2});
    for (int i = 0; i < FF; i++)
        ((double *)wg_plan_data(p, wg_graph_find(g, "ff/inner/bias")))[i] = .1 * i - 1;
    run(p, 0);
    const double *a = wg_plan_data(p, y), *b = wg_plan_data(p, z);
    double largest = 0;
    for (int i = 0; i < ROWS * T * D; i++) {
        check_that(fabs(a[i] - b[i]) <= 1e-13, "element %d: %.17g and %.17g", i, a[i], b[i]);
        largest = fmax(largest, fabs(a[i]));
    }
    assert_true(largest > .1);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sinusoids_of_the_paper_and_of_tensor2tensor),
        cmocka_unit_test(a_shifted_position_is_a_linear_function),
        cmocka_unit_test(counts_of_parameters),
        cmocka_unit_test(heads_and_key_sizes_of_table_3),
        cmocka_unit_test(first_values_of_parameters),
        cmocka_unit_test(first_losses),
        cmocka_unit_test(layer_norm_takes_the_variance_of_the_population),
        cmocka_unit_test(products_of_unit_queries_and_keys_have_variance_d_k),
        cmocka_unit_test(feed_forward_is_two_convolutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
