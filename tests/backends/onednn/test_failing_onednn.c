/* Each call of oneDNN fails while a plan is made and run, once and from then on, for lack of memory
 * and for another reason.  Then there is the same result up to rounding, by oneDNN or by another
 * backend, or a status with a message that says what failed; and nothing of oneDNN's is left. */
#include "tests/backends/onednn/failing_dnnl.h"
#include "tests/plans.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/ops.h"

#include <math.h>

enum { MAX_INPUTS = 4, MAX_RESULTS = MAX_INPUTS + 1 };

/* A graph whose inputs are x0, x1, ...: y, then its gradients. */
typedef struct problem {
    wg_graph *g;
    wg_value *x[MAX_INPUTS], *y[MAX_RESULTS];
    size_t n_x, n_y;
} problem;

static wg_value *input(problem *p, wg_shape shape)
{
    char name[16];
    snprintf(name, sizeof name, "x%zu", p->n_x);
    return p->x[p->n_x++] = wg_input(p->g, name, WG_F32, shape);
}

static wg_value *packed_product(problem *p)
{
    return wg_matmul(input(p, WG_SHAPE(1024, 64)), input(p, WG_SHAPE(64, 64)));
}

static wg_value *product_of_many(problem *p)
{
    wg_value *x = input(p, WG_SHAPE(2, 3, 5)), *w = input(p, WG_SHAPE(2, 5, 4));
    return wg_add(wg_matmul(x, w), input(p, WG_SHAPE(2, 3, 4)));
}

static wg_value *layer(problem *p)
{
    wg_value *x = input(p, WG_SHAPE(6, 8)), *w = input(p, WG_SHAPE(8, 8));
    wg_value *h = wg_linear(x, w, input(p, WG_SHAPE(8)), WG_ACTIVATION_RELU);
    return wg_linear(h, w, NULL, WG_ACTIVATION_TANH);
}

static wg_value *convolution(problem *p)
{
    wg_value *x = input(p, WG_SHAPE(2, 16, 6, 6)), *w = input(p, WG_SHAPE(16, 16, 3, 3));
    return wg_conv2d(x, w, input(p, WG_SHAPE(16)), &(wg_conv2d_options){.padding = {1, 1}});
}

static wg_value *groups(problem *p)
{
    wg_value *x = input(p, WG_SHAPE(1, 4, 5, 5)), *w = input(p, WG_SHAPE(4, 2, 3, 3));
    return wg_conv2d(x, w, NULL, &(wg_conv2d_options){.groups = 2});
}

static wg_value *means(problem *p)
{
    return wg_avg_pool2d(input(p, WG_SHAPE(1, 2, 6, 6)), &(wg_pool2d_options){.kernel = {2, 2}});
}

static wg_value *attention(problem *p)
{
    wg_shape shape = WG_SHAPE(1, 1, 160, 24);
    wg_value *q = input(p, shape), *k = input(p, shape);
    return wg_attention(q, k, input(p, shape), NULL, NULL);
}

typedef wg_value *building(problem *p);

static problem build(building *f)
{
    problem p = {.g = wg_graph_new()};
    assert_non_null(p.g);
    p.y[0] = f(&p);
    wg_value *loss = wg_sum(wg_mul(p.y[0], p.y[0]), WG_ALL_AXES, WG_DROP);
    check_that(wg_grad(loss, p.x, p.n_x, p.y + 1) == WG_OK, "%s", wg_graph_message(p.g));
    p.n_y = 1 + p.n_x;
    return p;
}

/* ---- one attempt ----------------------------------------------------------------------------- */

static void fill_inputs(const problem *p, wg_plan *plan)
{
    for (size_t i = 0; i < p->n_x; i++) {
        float *x = wg_plan_data(plan, p->x[i]);
        for (int64_t k = 0; k < wg_value_count(p->x[i]); k++)
            x[k] = (float)((k * 7 + (int64_t)i) % 11 - 5) / 8;
    }
}

typedef struct results {
    float *data[MAX_RESULTS];
    char message[512];
} results;

static void free_results(results *r)
{
    for (int i = 0; i < MAX_RESULTS; i++)
        free(r->data[i]);
    *r = (results){{NULL}, ""};
}

static wg_status run_plan(const problem *p, wg_plan *plan, results *r)
{
    fill_inputs(p, plan);
    wg_status status = wg_plan_run(plan, 0);
    snprintf(r->message, sizeof r->message, "%s", wg_plan_message(plan));
    for (size_t i = 0; status == WG_OK && i < p->n_y; i++) {
        size_t size = (size_t)wg_value_count(p->y[i]) * sizeof(float);
        r->data[i] = malloc(size);
        assert_non_null(r->data[i]);
        memcpy(r->data[i], wg_plan_data(plan, p->y[i]), size);
    }
    return status;
}

/* With the defaults: oneDNN, simd, the reference. */
static wg_status attempt(const problem *p, results *r)
{
    wg_plan *plan = NULL;
    wg_plan_options o = {.outputs = p->y, .n_outputs = p->n_y, .threads = 1};
    *r = (results){{NULL}, ""};
    wg_status status = wg_plan_create(&plan, p->g, &o);
    snprintf(r->message, sizeof r->message, "%s", wg_graph_message(p->g));
    if (status == WG_OK)
        status = run_plan(p, plan, r);
    wg_plan_free(plan);
    return status;
}

/* Whether a is b up to rounding, in all elements of at least one. */
static bool compare(const char *what, const problem *p, const results *a, const results *b)
{
    int64_t compared = 0;
    for (size_t i = 0; i < p->n_y; i++)
        for (int64_t k = 0; k < wg_value_count(p->y[i]); k++, compared++) {
            double x = (double)a->data[i][k], y = (double)b->data[i][k];
            if (!(fabs(x - y) <= 1e-5 * fmax(1, fabs(y)))) {
                printf("%s: result %zu, element %lld: %g, expected %g\n", what, i, (long long)k, x,
                       y);
                return false;
            }
        }
    return compared > 0;
}

/* A status, and a message with what it must tell. */
static bool is_told(wg_status status, dnnl_status_t why, const char *message)
{
    if (status == WG_ENOMEM)
        return strstr(message, "memory") != NULL;
    if (why == dnnl_out_of_memory)
        return false;
    return status == WG_EUNSUPPORTED ? strstr(message, ": backend onednn: ") != NULL
                                     : status == WG_EDATA && strstr(message, "failed with status");
}

static size_t told, served, wrong; /* failures with a status, with the same result, neither */

static void fail_one(const char *what, building *f, const results *expected, size_t at,
                     bool for_good, dnnl_status_t why)
{
    char text[160];
    results r;
    problem p = build(f);
    const long objects = live_dnnl_objects();
    fail_dnnl(at, for_good, why);
    wg_status status = attempt(&p, &r);
    fail_dnnl_no_more();
    snprintf(text, sizeof text, "%s: call %zu, %s, fails%s with %d", what, at, failed_dnnl_call(),
             for_good ? " and all after" : "", (int)why);
    if (status == WG_OK && compare(text, &p, &r, expected))
        served++;
    else if (status != WG_OK && is_told(status, why, r.message))
        told++;
    else {
        printf("%s: %s: %s\n", text, wg_status_text(status), r.message);
        wrong++;
    }
    if (live_dnnl_objects() != objects) {
        printf("%s: %ld objects are left\n", text, live_dnnl_objects() - objects);
        wrong++;
    }
    if (dangling_dnnl_entries()) {
        printf("%s: %ld entries of the cache dangle\n", text, dangling_dnnl_entries());
        wrong++;
    }
    free_results(&r);
    wg_graph_free(p.g);
}

static void fail_each(const char *what, building *f, size_t least)
{
    results expected;
    problem p = build(f);
    fail_dnnl(0, false, dnnl_success);
    wg_status status = attempt(&p, &expected);
    size_t total = fail_dnnl_no_more();
    check_that(status == WG_OK, "%s: %s", what, expected.message);
    check_that(total >= least, "%s: %zu calls of oneDNN", what, total);
    assert_int_equal(live_dnnl_objects(), 0);
    for (int way = 0; way < 4; way++)
        for (size_t at = 1; at <= total; at++)
            fail_one(what, f, &expected, at, way / 2,
                     way % 2 ? dnnl_unimplemented : dnnl_out_of_memory);
    free_results(&expected);
    wg_graph_free(p.g);
}

static void every_call(void **state)
{
    (void)state;
    told = served = wrong = 0;
    fail_each("a product of packed weights", packed_product, 10);
    fail_each("products and a sum", product_of_many, 10);
    fail_each("two layers", layer, 10);
    fail_each("a convolution", convolution, 20);
    fail_each("a convolution in groups", groups, 20);
    fail_each("means over windows", means, 10);
    fail_each("attention", attention, 5);
    printf("%zu failures told, %zu without effect\n", told, served);
    assert_int_equal(wrong, 0);
    assert_true(told > 500);
    assert_true(served > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_call)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
