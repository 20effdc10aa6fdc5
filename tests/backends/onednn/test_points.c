/* Convolutions of one tap whose rows are a multiple of 2 KiB apart, which oneDNN computes as
 * products: the numbers of the reference, forward and backward, in one to three dimensions. */
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/isa.h"
#include "wengert/backends/onednn.h"
#include "wengert/ops/ops.h"

#include <math.h>

enum { EXAMPLES = 3, IN = 17, OUT = 33, RESULTS = 4 };

/* y, dx, dw and db; NULL where there is no bias. */
typedef struct points {
    wg_graph *g;
    wg_value *result[RESULTS];
} points;

static wg_value *wave(wg_graph *g, const char *name, wg_shape shape)
{
    return wg_parameter(g, name, WG_F32, shape, wg_uniform_init(1));
}

static points points_of(int axes, bool bias)
{
    const wg_shape x_shape[] = {WG_SHAPE(EXAMPLES, IN, 512), WG_SHAPE(EXAMPLES, IN, 16, 64),
                                WG_SHAPE(EXAMPLES, IN, 4, 16, 8)};
    const wg_shape w_shape[] = {WG_SHAPE(OUT, IN, 1), WG_SHAPE(OUT, IN, 1, 1),
                                WG_SHAPE(OUT, IN, 1, 1, 1)};
    points p = {.g = wg_graph_new()};
    wg_value *x = wave(p.g, "x", x_shape[axes - 1]), *w = wave(p.g, "w", w_shape[axes - 1]);
    wg_value *b = bias ? wave(p.g, "b", WG_SHAPE(OUT)) : NULL;
    wg_value *y = axes == 1   ? wg_conv1d(x, w, b, NULL)
                  : axes == 2 ? wg_conv2d(x, w, b, NULL)
                              : wg_conv3d(x, w, b, NULL);
    wg_value *of[] = {x, w, b};
    p.result[0] = y;
    wg_grad(wg_sum(wg_square(y), WG_ALL_AXES, WG_DROP), of, bias ? 3 : 2, p.result + 1);
    for (int i = 0; i < RESULTS; i++)
        if (p.result[i])
            wg_output(p.result[i], (const char *[]){"y", "dx", "dw", "db"}[i]);
    return p;
}

static void compare(wg_plan *plain, wg_plan *fast, const wg_value *v)
{
    const float *a = floats(plain, v), *b = floats(fast, v);
    double most = 0, error = 0;
    int64_t n = wg_value_count(v);
    assert_true(n > 0);
    for (int64_t i = 0; i < n; i++) {
        most = fmax(most, fabs(a[i]));
        double e = fabs((double)a[i] - b[i]);
        error = e > error || isnan(e) ? e : error;
    }
    if (!(error <= 1e-5 * most))
        fail_msg("%s: error %g of %g", v->node->op->name, error, most);
}

static int products(const wg_plan *p)
{
    int n = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        wg_plan_step s = wg_plan_step_at(p, i);
        n += strncmp(s.node->op->name, "conv", 4) == 0 && strncmp(s.kernel, "brg", 3) == 0;
    }
    return n;
}

static void they_have_the_numbers_of_the_reference(void **state)
{
    (void)state;
    const wg_backend *onednn[] = {wg_onednn_backend()};
    for (int axes = 1; axes <= 3; axes++)
        for (int bias = 0; bias < 2; bias++)
            for (int threads = 1; threads <= 2; threads++) {
                points p = points_of(axes, bias);
                wg_store *store = wg_store_new(7);
                wg_plan *plain =
                    plan_of(p.g, &(wg_plan_options){.reference = true, .store = store});
                wg_plan *fast = plan_of(p.g, &(wg_plan_options){.backends = onednn,
                                                                .n_backends = 1,
                                                                .threads = threads,
                                                                .store = store});
                run(plain, 0);
                run(fast, 0);
                for (int i = 0; i < RESULTS; i++)
                    if (p.result[i])
                        compare(plain, fast, p.result[i]);
                /* other CPUs may have no product of a batch */
                if (wg_isa_best() >= WG_ISA_AVX512_CORE)
                    assert_int_equal(products(fast), 3);
                wg_plan_free(plain);
                wg_plan_free(fast);
                wg_store_free(store);
                wg_graph_free(p.g);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_have_the_numbers_of_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
