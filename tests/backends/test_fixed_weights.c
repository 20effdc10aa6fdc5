/* Weights that are promised to stay: kernels keep them packed from some run on.  The results are
 * those of the first run, and right. */
#include "tests/plans.h"
#include "wengert/ops/ops.h"

#include <math.h>

/* More than the runs after which what is kept is made */
enum { RUNS = 40 };

typedef struct layer {
    int64_t rows, in, out;
} layer;

/* On both sides of the numbers of rows and terms from which weights are kept, and of what AMX
 * takes */
static const layer layers[] = {{1, 64, 48},   {5, 70, 33},   {7, 33, 300},   {8, 128, 64},
                               {64, 64, 256}, {70, 48, 400}, {200, 256, 96}, {300, 64, 64}};

/* Some weights are tiny: a kernel may multiply panels with such numbers in another way. */
static void draw(wg_plan *p, wg_value *x, wg_value *w, wg_value *bias, int64_t tiny)
{
    float *in = wg_plan_data(p, x), *weights = wg_plan_data(p, w), *b = wg_plan_data(p, bias);
    for (int64_t i = 0; i < wg_value_count(x); i++)
        in[i] = (float)(i * 104729 % 89) / 40 - 1;
    for (int64_t i = 0; i < wg_value_count(w); i++)
        weights[i] = i == tiny ? 1e-36f : (float)(i * 7919 % 101) / 50 - 1;
    for (int64_t i = 0; i < wg_value_count(bias); i++)
        b[i] = (float)i;
}

static void check(const layer *l, wg_activation activation, int threads)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(l->rows, l->in)),
             *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(l->out, l->in), wg_zeros()),
             *bias = wg_parameter(g, "bias", WG_F32, WG_SHAPE(l->out), wg_zeros()),
             *y = wg_linear(x, w, bias, activation);
    int64_t count = wg_value_count(wg_output(y, "y")), tiny = (l->out - 1) * l->in + 3;
    wg_plan *p = plan_of(g, &(wg_plan_options){.threads = threads, .fixed_parameters = true}),
            *reference = plan_of(g, &(wg_plan_options){.reference = true});
    draw(p, x, w, bias, tiny);
    draw(reference, x, w, bias, tiny);
    run(reference, 0);
    run(p, 0);
    float *first = malloc((size_t)count * sizeof *first);
    assert_non_null(first);
    memcpy(first, floats(p, y), (size_t)count * sizeof *first);
    const float *right = floats(reference, y);
    for (int64_t i = 0; i < count; i++) {
        double error = fabs((double)first[i] - (double)right[i]),
               bound = 0x1p-24 * (double)l->in * (fabs((double)right[i]) + (double)l->in);
        check_that(error <= bound, "%lld x %lld, %lld: element %lld is %.9g, not %.9g",
                   (long long)l->rows, (long long)l->in, (long long)l->out, (long long)i,
                   (double)first[i], (double)right[i]);
    }
    for (int k = 1; k < RUNS; k++) {
        run(p, 0);
        check_that(memcmp(floats(p, y), first, (size_t)count * sizeof *first) == 0,
                   "%lld x %lld, %lld, %s: run %d", (long long)l->rows, (long long)l->in,
                   (long long)l->out, wg_plan_step_at(p, 0).kernel, k + 1);
    }
    free(first);
    wg_plan_free(reference);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void layers_have_the_bits_of_their_first_run(void **state)
{
    (void)state;
    for (int i = 0; i < WG_COUNT(layers); i++)
        for (int threads = 1; threads <= 2; threads++) {
            check(&layers[i], WG_ACTIVATION_NONE, threads);
            check(&layers[i], WG_ACTIVATION_RELU, threads);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_have_the_bits_of_their_first_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
