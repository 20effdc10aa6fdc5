/* bf16 and f16 in plans: where values are widened and rounded, native products, training with f32
 * masters. */
#include "tests/half.h"
#include "tests/sample.h"
#include "wengert/autograd/grad.h"
#include "wengert/models/optimizer.h"

#include <math.h>

static int count_steps(wg_plan *p, const wg_op *op)
{
    int count = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        count += wg_plan_step_at(p, i).node->op == op;
    return count;
}

/* ---- plans ----------------------------------------------------------------------------------- */

static wg_value *input(wg_graph *g, wg_dtype dtype, const char *name, int64_t rows, int64_t columns)
{
    return wg_input(g, name, dtype, WG_SHAPE(rows, columns));
}

/* The test for each format. */
static void for_each_format(void (*check)(const half_format *f))
{
    for (int i = 0; i < HALVES; i++)
        check(&halves[i]);
}

static void check_casts(const half_format *f)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, f->dtype, "x", 3, 5), *h = wg_sin(x), *y = wg_add(wg_cos(h), h);
    wg_plan *p = plan_on(NULL, g, &y, 1);
    assert_int_equal(count_steps(p, &wg_op_cast),
                     6); /* x up, h down and up, cos h down and up, y down */
    assert_int_equal(wg_plan_step_count(p), 3 + 6);
    for (int i = 0; i < 15; i++)
        wgi_put_element(wg_plan_data(p, x), f->dtype, i, 0.1 * i - 0.7);
    run(p, 1);
    for (int i = 0; i < 15; i++) {
        float a = f->to_f32(((uint16_t *)wg_plan_data(p, x))[i]);
        float b = half_rounded(f, sinf(a)), c = half_rounded(f, cosf(b));
        assert_int_equal(((uint16_t *)wg_plan_data(p, y))[i], f->from_f32(b + c));
    }
    wg_plan_free(p);
    wg_graph_free(g);
}

static void values_are_widened_once_and_rounded_where_stored(void **state)
{
    (void)state;
    for_each_format(check_casts);
}

static void check_composites(const half_format *f)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, f->dtype, "x", 3, 5),
             *y = wg_mse(x, input(g, f->dtype, "y", 3, 5), WG_LOSS_MEAN);
    wg_plan *p = plan_on(NULL, g, &y, 1);
    assert_int_equal(count_steps(p, &wg_op_cast), 3); /* x and y up, the loss down */
    check_that(wg_plan_step_count(p) > 4, "%zu steps: not expanded", wg_plan_step_count(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void composites_are_widened_whole(void **state)
{
    (void)state;
    for_each_format(check_composites);
}

static void check_movement(const half_format *f)
{
    wg_graph *g = wg_graph_new();
    wg_value *x[] = {input(g, f->dtype, "a", 3, 5), input(g, f->dtype, "b", 3, 5)};
    wg_value *y = wg_flip(wg_permute(wg_stack(x, 2, 0), WG_AXES(2, 0, 1)), WG_AXES(0));
    wg_plan *p = plan_on(NULL, g, &y, 1);
    check_that(wg_plan_step_count(p) >= 3, "%zu steps", wg_plan_step_count(p));
    assert_int_equal(count_steps(p, &wg_op_cast), 0);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void what_only_moves_stays_narrow(void **state)
{
    (void)state;
    for_each_format(check_movement);
}

/* A backend with native products, as oneDNN is where the CPU has AMX; its plans are looked at and
 * not run. */
static const char *refuses_all_but_products(void *state, const wg_node *n)
{
    (void)state;
    bool product = n->op == &wg_op_matmul || n->op == &wg_op_linear;
    return product && n->out[0]->dtype == WG_BF16 ? NULL : "no product of bf16";
}

static void never_run(wg_call *c)
{
    wg_call_fail(c, "plans of this backend are not run");
}

static wg_status prepare_nothing(void *state, const wg_node *n, wg_kernel *k)
{
    (void)state;
    (void)n;
    *k = (wg_kernel){.name = "product", .run = never_run};
    return WG_OK;
}

static const wg_backend products = {.abi = WG_BACKEND_ABI,
                                    .name = "products",
                                    .refuses = refuses_all_but_products,
                                    .prepare = prepare_nothing};

/* Native products stay narrow, yet nothing is rounded more or less often than without them. */
static void native_products_round_as_wide_ones(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, WG_BF16, "x", 4, 4), *w = input(g, WG_BF16, "w", 4, 4),
             *v = input(g, WG_BF16, "v", 4, 4);
    const struct {
        wg_value *y;
        int native, casts;
    } cases[] = {
        {wg_tanh(wg_matmul(x, w)), 1, 2}, /* not fused to linear: the product is rounded */
        {wg_linear(x, w, NULL, WG_ACTIVATION_TANH), 1, 0},
        {wg_einsum("ij,jk->ik", (wg_value *[]){x, w}, 2), 1, 0},
        {wg_einsum("ij,jk,kl->il", (wg_value *[]){x, w, v}, 3), 0, 4}, /* rounded at the end only */
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        wg_value *y = cases[i].y;
        wg_plan *p = plan_on(&products, g, &y, 1);
        int native = 0;
        for (size_t k = 0; k < wg_plan_step_count(p); k++)
            native += strcmp(wg_plan_step_at(p, k).backend, products.name) == 0;
        check_that(native == cases[i].native && count_steps(p, &wg_op_cast) == cases[i].casts,
                   "case %d: %d native products, %d casts", i, native, count_steps(p, &wg_op_cast));
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

/* Nodes that a plan makes are known by the names and lines of the user's. */
static void check_messages(const half_format *f)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, f->dtype, "x", 1, 2), *y = wg_log(x);
    wg_plan *p;
    wg_plan_options o = {.outputs = &y, .n_outputs = 1, .check_nonfinite = true};
    assert_int_equal(wg_plan_create(&p, g, &o), WG_OK);
    wgi_put_element(wg_plan_data(p, x), f->dtype, 0, -1);
    assert_int_equal(wg_plan_run(p, 0), WG_ENONFINITE);
    check_that(strstr(wg_plan_message(p), "log(x): ") &&
                   strstr(wg_plan_message(p), "test_half_plans.c:"),
               "%s", wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

static void messages_name_the_users_node(void **state)
{
    (void)state;
    for_each_format(check_messages);
}

static void dtypes_still_do_not_mix(void **state)
{
    (void)state;
    static const char *const messages[] = {"add(x, z): ", "matmul(x, z): "};
    static const wg_dtype pairs[][2] = {{WG_BF16, WG_F32}, {WG_F16, WG_F32}, {WG_BF16, WG_F16}};
    for (int k = 0; k < WG_COUNT(pairs); k++)
        for (int i = 0; i < 2; i++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = input(g, pairs[k][0], "x", 2, 2), *z = input(g, pairs[k][1], "z", 2, 2);
            assert_null(i ? wg_matmul(x, z) : wg_add(x, z));
            assert_int_equal(wg_graph_status(g), WG_EDTYPE);
            const char *text = wg_graph_message(g);
            check_that(strstr(text, messages[i]) && strstr(text, wg_dtype_name(pairs[k][0])) &&
                           strstr(text, wg_dtype_name(pairs[k][1])),
                       "%s", text);
            wg_graph_free(g);
        }
}

/* A node may read one format and write the other: each is rounded by its own rules. */
static void formats_convert_into_each_other(void **state)
{
    (void)state;
    for (int b = 0; b < n_backends(); b++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = input(g, WG_BF16, "x", 1, 0x10000), *z = input(g, WG_F16, "z", 1, 0x10000);
        wg_value *y[] = {wg_cast(x, WG_F16), wg_cast(z, WG_BF16)};
        wg_plan *p = plan_on(backend_at(b), g, y, 2);
        assert_int_equal(wg_plan_step_count(p), 2);
        for (int i = 0; i < 0x10000; i++)
            ((uint16_t *)wg_plan_data(p, x))[i] = ((uint16_t *)wg_plan_data(p, z))[i] = (uint16_t)i;
        run(p, 1);
        const uint16_t *to_f16 = wg_plan_data(p, y[0]), *to_bf16 = wg_plan_data(p, y[1]);
        for (int i = 0; i < 0x10000; i++) {
            assert_int_equal(to_f16[i], wg_f16_from_f32(wg_bf16_to_f32((uint16_t)i)));
            assert_int_equal(to_bf16[i], wg_bf16_from_f32(wg_f16_to_f32((uint16_t)i)));
        }
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* Beyond 65504 f16 is infinite, and the check of runs names its line. */
static void what_f16_cannot_hold_is_found(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, WG_F16, "x", 1, 1), *y = wg_square(x);
    wg_plan *p;
    wg_plan_options o = {.outputs = &y, .n_outputs = 1, .check_nonfinite = true};
    assert_int_equal(wg_plan_create(&p, g, &o), WG_OK);
    wgi_put_element(wg_plan_data(p, x), WG_F16, 0, 255);
    run(p, 0);
    assert_true(wgi_get_element(wg_plan_data(p, y), WG_F16, 0) == 65024); /* of 65025 */
    wgi_put_element(wg_plan_data(p, x), WG_F16, 0, 256);
    assert_int_equal(wg_plan_run(p, 1), WG_ENONFINITE);
    check_that(strstr(wg_plan_message(p), "is infinite at element [0,0] (test_half_plans.c:"), "%s",
               wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

static bool infer_unknown(wg_node *n)
{
    return wg_set_result(n, 0, n->in[0]->dtype, n->in[0]->shape);
}

/* An op without a kernel is refused under its own name, not under that of its wide copy. */
static void an_op_without_a_kernel_is_named(void **state)
{
    (void)state;
    static const wg_op unknown = {
        .name = "unknown", .operands = "x", .results = "y", .infer = infer_unknown};
    wg_graph *g = wg_graph_new();
    wg_value *y = wg_apply1(WG_HERE, &unknown, NULL, input(g, WG_BF16, "x", 2, 2));
    wg_plan *p;
    wg_plan_options o = {.outputs = &y, .n_outputs = 1, .reference = true};
    assert_int_equal(wg_plan_create(&p, g, &o), WG_EUNSUPPORTED);
    check_that(
        strstr(wg_graph_message(g), "unknown(x): cpu: no reference kernel (test_half_plans.c:"),
        "%s", wg_graph_message(g));
    wg_graph_free(g);
}

static void native_products_need_amx(void **state)
{
    (void)state;
    const wg_backend *od = wg_onednn_backend();
    if (!od)
        skip();
    void *backend = NULL;
    assert_int_equal(od->open(&backend, &(wg_backend_config){.threads = 1}), WG_OK);
    wg_graph *g = wg_graph_new();
    wg_value *x = input(g, WG_BF16, "x", 64, 64), *w = input(g, WG_BF16, "w", 64, 64),
             *b = wg_input(g, "b", WG_BF16, WG_SHAPE(64));
    const wg_value *y[] = {wg_matmul(x, w), wg_linear(x, w, b, WG_ACTIVATION_RELU), wg_tanh(x),
                           wg_softmax(x, -1)};
    for (int i = 0; i < 2; i++) {
        const char *why = od->refuses(backend, y[i]->node);
        if (why)
            assert_string_equal(why, "no AMX: native bf16 is slower than f32");
    }
    for (int i = 2; i < WG_COUNT(y); i++) /* only products are native */
        assert_non_null(od->refuses(backend, y[i]->node));
    wg_value *f16 = input(g, WG_F16, "f16", 64, 64);
    assert_non_null(od->refuses(backend, wg_matmul(f16, f16)->node));
    od->close(backend);
    wg_graph_free(g);
}

/* ---- parameters, training -------------------------------------------------------------------- */

/* Parameters and updates in 16 bits: stored as such, computed in f32, rounded when stored. */
static void check_parameters(const half_format *f)
{
    enum { N = 300 };
    wg_graph *g = wg_graph_new();
    wg_value *w = wg_parameter(g, "w", f->dtype, WG_SHAPE(N), wg_normal_init(1)),
             *x = wg_input(g, "x", f->dtype, WG_SHAPE(N)),
             *lr = wg_fill(g, WG_F32, WG_SCALAR, 0.125), *dw;
    wg_value *loss = wg_sum(wg_mul(w, x), WG_ALL_AXES, WG_DROP);
    assert_int_equal(wg_grad(loss, &w, 1, &dw), WG_OK);
    assert_int_equal(dw->dtype, f->dtype);
    wg_output(loss, "loss");
    assert_int_equal(wg_sgd_update(&w, &dw, 1, lr, NULL), WG_OK);
    for (int b = 0; b < n_backends(); b++) {
        const wg_backend *backend = backend_at(b);
        wg_plan *p;
        wg_plan_options o = {
            .backends = &backend, .n_backends = backend ? 1 : 0, .reference = !backend, .seed = 3};
        check_that(wg_plan_create(&p, g, &o) == WG_OK, "%s", wg_graph_message(g));
        const wg_tensor *t = wg_store_find(wg_plan_store(p), "w");
        assert_true(t && t->dtype == f->dtype);
        float before[N], at[N];
        double squares = 0, sum = 0;
        for (int i = 0; i < N; i++) {
            before[i] = f->to_f32(((uint16_t *)t->data)[i]);
            wgi_put_element(wg_plan_data(p, x), f->dtype, i, sin(i));
            at[i] = f->to_f32(((uint16_t *)wg_plan_data(p, x))[i]);
            squares += (double)(before[i] * before[i]);
            sum += (double)half_rounded(f, before[i] * at[i]);
        }
        check_that(squares > 0.7 * N && squares < 1.4 * N, "sum of squares %g", squares);
        run(p, 1);
        assert_int_equal(*(uint16_t *)wg_plan_data(p, loss), f->from_f64(sum));
        for (int i = 0; i < N; i++)
            assert_int_equal(((uint16_t *)t->data)[i], f->from_f32(before[i] - 0.125f * at[i]));
        wg_plan_free(p);
    }
    wg_graph_free(g);
}

static void parameters_may_be_narrow(void **state)
{
    (void)state;
    for_each_format(check_parameters);
}

enum { ROWS = 256, WIDTH = 64, LAYERS = 4, MAX_LAYERS = 12, CLASSES = 8 };
enum { STEPS = SANITIZED ? 80 : 150 };

typedef struct mlp {
    wg_graph *g;
    wg_value *x, *targets, *lr, *loss;
    wg_value *w[MAX_LAYERS], *dw[MAX_LAYERS];
} mlp;

/* tanh layers; weights are f32, products of `dtype`, the loss f32. */
static mlp mlp_new(wg_dtype dtype, int layers)
{
    mlp m = {.g = wg_graph_new()};
    m.x = wg_input(m.g, "x", WG_F32, WG_SHAPE(ROWS, WIDTH));
    m.targets = wg_input(m.g, "targets", WG_I64, WG_SHAPE(ROWS));
    m.lr = wg_input(m.g, "lr", WG_F32, WG_SCALAR);
    wg_value *h = wg_cast(m.x, dtype);
    for (int i = 0; i < layers; i++) {
        char name[16];
        snprintf(name, sizeof name, "w%d", i);
        int64_t out = i + 1 < layers ? WIDTH : CLASSES;
        m.w[i] = wg_parameter(m.g, name, WG_F32, WG_SHAPE(WIDTH, out), wg_xavier(1));
        h = wg_matmul(h, wg_cast(m.w[i], dtype));
        if (i + 1 < layers)
            h = wg_tanh(h);
    }
    m.loss = wg_cross_entropy(wg_cast(h, WG_F32), m.targets, NULL, NULL);
    wg_output(m.loss, "loss");
    check_that(wg_grad(m.loss, m.w, (size_t)layers, m.dw) == WG_OK, "%s", wg_graph_message(m.g));
    wg_adam_update(m.w, m.dw, (size_t)layers, m.lr, NULL);
    return m;
}

/* The mean loss of the last ten of 150 steps; *first is that of the first. */
static double train(const mlp *m, const wg_backend *backend, double *first)
{
    wg_plan *p;
    wg_plan_options o = {.backends = &backend,
                         .n_backends = backend ? 1 : 0,
                         .reference = !backend,
                         .threads = 2,
                         .seed = 9};
    check_that(wg_plan_create(&p, m->g, &o) == WG_OK, "%s", wg_graph_message(m->g));
    uint64_t seed = 1;
    float *x = wg_plan_data(p, m->x);
    for (int r = 0; r < ROWS; r++) { /* the class is the largest of the first CLASSES numbers */
        int64_t best = 0;
        for (int c = 0; c < WIDTH; c++) {
            x[r * WIDTH + c] = (float)(wgi_splitmix64(&seed) >> 40) * 0x1p-23f - 1;
            if (c < CLASSES && x[r * WIDTH + c] > x[r * WIDTH + best])
                best = c;
        }
        ((int64_t *)wg_plan_data(p, m->targets))[r] = best;
    }
    *(float *)wg_plan_data(p, m->lr) = 1e-3f;
    double mean = 0;
    for (uint64_t step = 0; step < STEPS; step++) {
        check_that(wg_plan_run(p, step) == WG_OK, "%s", wg_plan_message(p));
        double loss = (double)*(float *)wg_plan_data(p, m->loss);
        if (step == 0)
            *first = loss;
        mean += step >= STEPS - 10 ? loss / 10 : 0;
    }
    wg_plan_free(p);
    return mean;
}

static void check_training(const half_format *f)
{
    for (int b = 0; b < n_backends(); b++) {
        mlp wide = mlp_new(WG_F32, LAYERS), narrow = mlp_new(f->dtype, LAYERS);
        for (int i = 0; i < LAYERS; i++) {
            assert_int_equal(narrow.dw[i]->dtype, WG_F32); /* through the cast of the master */
            assert_ptr_equal(narrow.dw[i]->node->op, &wg_op_cast);
            assert_int_equal(narrow.dw[i]->node->in[0]->dtype, f->dtype);
        }
        double first, first_wide, loss = train(&narrow, backend_at(b), &first),
                                  loss_wide = train(&wide, backend_at(b), &first_wide);
        print_message("%s: f32 from %.6f to %.6f, %s from %.6f to %.6f\n",
                      b ? backend_at(b)->name : "cpu", first_wide, loss_wide,
                      wg_dtype_name(f->dtype), first, loss);
        assert_true(loss_wide < 0.5 * first_wide);
        check_that(first != first_wide, "%s changes nothing", wg_dtype_name(f->dtype));
        check_that(fabs(first / first_wide - 1) <= 0.01 && fabs(loss / loss_wide - 1) <= 0.05,
                   "the loss goes from %g to %g, in f32 from %g to %g", first, loss, first_wide,
                   loss_wide);
        wg_graph_free(wide.g);
        wg_graph_free(narrow.g);
    }
}

static void training_reaches_the_loss_of_f32(void **state)
{
    (void)state;
    for_each_format(check_training);
}

/* Activations kept for the backward pass are half as large; what is being computed is wide for a
 * moment. */
static void check_memory(const half_format *f)
{
    size_t bytes[2];
    for (int i = 0; i < 2; i++) {
        mlp m = mlp_new(i ? f->dtype : WG_F32, MAX_LAYERS);
        wg_plan *p;
        wg_plan_options o = {.threads = 1, .reference = true}; /* whose products have no scratch */
        assert_int_equal(wg_plan_create(&p, m.g, &o), WG_OK);
        assert_int_equal(wg_plan_check(p), WG_OK);
        bytes[i] = wg_plan_statistics(p).buffer_bytes;
        wg_plan_free(p);
        wg_graph_free(m.g);
    }
    print_message("buffer: f32 %zu, %s %zu bytes\n", bytes[0], wg_dtype_name(f->dtype), bytes[1]);
    check_that(5 * bytes[1] < 4 * bytes[0], "%zu bytes, of f32 %zu", bytes[1], bytes[0]);
}

static void a_narrow_model_needs_less_memory(void **state)
{
    (void)state;
    for_each_format(check_memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_widened_once_and_rounded_where_stored),
        cmocka_unit_test(composites_are_widened_whole),
        cmocka_unit_test(what_only_moves_stays_narrow),
        cmocka_unit_test(native_products_round_as_wide_ones),
        cmocka_unit_test(messages_name_the_users_node),
        cmocka_unit_test(dtypes_still_do_not_mix),
        cmocka_unit_test(formats_convert_into_each_other),
        cmocka_unit_test(what_f16_cannot_hold_is_found),
        cmocka_unit_test(an_op_without_a_kernel_is_named),
        cmocka_unit_test(native_products_need_amx),
        cmocka_unit_test(parameters_may_be_narrow),
        cmocka_unit_test(training_reaches_the_loss_of_f32),
        cmocka_unit_test(a_narrow_model_needs_less_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
