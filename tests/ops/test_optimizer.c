/* Optimizers against the same formulas in plain C, over several steps with states in
 * the store; clipping. */
#include "tests/numbers.h"
#include "wengert/models/optimizer.h"

enum { N = 7, STEPS = 10 };

/* A quadratic with its minimum at `goal`: the gradient is p - goal, different at each step. */
static const double start[N] = {1, -2, 0.5, 3, 0, -0.25, 8}, goal[N] = {0, 1, 0.5, -3, 2, 0.25, 7};

typedef struct session {
    wg_graph *g;
    wg_value *p, *lr, *grad;
    wg_plan *plan;
} session;

static session open_session(wg_dtype dtype)
{
    session s = {.g = wg_graph_new()};
    s.p = wg_parameter(s.g, "w", dtype, WG_SHAPE(N), wg_zeros());
    s.lr = wg_input(s.g, "lr", dtype, WG_SCALAR);
    wg_value *loss =
        wg_scale(wg_mse(s.p, numbers(s.g, dtype, WG_SHAPE(N), goal), WG_LOSS_SUM), 0.5);
    check_that(wg_grad(loss, &s.p, 1, &s.grad) == WG_OK, "%s", wg_graph_message(s.g));
    return s;
}

static void start_session(session *s)
{
    check_that(wg_plan_create(&s->plan, s->g, NULL) == WG_OK, "%s", wg_graph_message(s->g));
    for (int i = 0; i < N; i++)
        wgi_put_element(wg_plan_data(s->plan, s->p), s->p->dtype, i, start[i]);
}

static double rate(int step) /* 1, 2, ... */
{
    return 0.125 / step;
}

static void step_session(session *s, int step)
{
    wgi_put_element(wg_plan_data(s->plan, s->lr), s->lr->dtype, 0, rate(step));
    check_that(wg_plan_run(s->plan, (uint64_t)step) == WG_OK, "%s", wg_plan_message(s->plan));
}

static void end_session(session *s)
{
    wg_plan_free(s->plan);
    wg_graph_free(s->g);
}

/* ---- adam ------------------------------------------------------------------------------------ */

static void plain_adam(double *p, double *m, double *v, int t, const wg_adam_options *o)
{
    double b1 = o->beta1 == 0 ? 0.9 : o->beta1, b2 = o->beta2 == 0 ? 0.999 : o->beta2;
    double eps = o->eps == 0 ? 1e-8 : o->eps, lr = rate(t);
    for (int i = 0; i < N; i++) {
        double g = p[i] - goal[i] + (o->decoupled ? 0 : o->weight_decay * p[i]);
        if (o->decoupled)
            p[i] -= lr * o->weight_decay * p[i];
        m[i] = b1 * m[i] + (1 - b1) * g;
        v[i] = b2 * v[i] + (1 - b2) * g * g;
        p[i] -= lr * (m[i] / (1 - pow(b1, t))) / (sqrt(v[i] / (1 - pow(b2, t))) + eps);
    }
}

static void ten_steps_of_adam(void **state)
{
    (void)state;
    const wg_adam_options cases[] = {{0},
                                     {.beta1 = 0.8, .beta2 = 0.98, .eps = 1e-9},
                                     {.weight_decay = 0.1},
                                     {.weight_decay = 0.1, .decoupled = true}};
    for (int k = 0; k < WG_COUNT(cases); k++)
        for (wg_dtype d = WG_F32; d <= WG_F64; d++) {
            double p[N], m[N] = {0}, v[N] = {0};
            memcpy(p, start, sizeof p);
            session s = open_session(d);
            check_that(wg_adam_update(&s.p, &s.grad, 1, s.lr, &cases[k]) == WG_OK, "%s",
                       wg_graph_message(s.g));
            start_session(&s);
            for (int t = 1; t <= STEPS; t++) {
                step_session(&s, t);
                plain_adam(p, m, v, t, &cases[k]);
                double tolerance = d == WG_F64 ? 1e-14 : 2e-6;
                numbers_near("p", s.plan, s.p, p, N, tolerance);
                numbers_near("m", s.plan, wg_graph_find(s.g, "adam/m/w"), m, N, tolerance);
                numbers_near("v", s.plan, wg_graph_find(s.g, "adam/v/w"), v, N, tolerance);
            }
            assert_true(small_at(s.plan, wg_graph_find(s.g, "adam/step"), 0) == STEPS);
            end_session(&s);
        }
}

/* The scope of an optimizer is a part of its states' names: these are what they were before there
 * was one, and files of weights have them. */
static void states_are_named_by_optimizer_and_parameter(void **state)
{
    (void)state;
    static const char *const names[] = {"train/adam/step", "train/adam/m/layer/w",
                                        "train/adam/v/layer/w", "train/my/sgd/velocity/layer/w",
                                        "train/my/adam/step"};
    wg_graph *g = wg_graph_new();
    wg_scope_push(g, "layer");
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(2), wg_ones());
    wg_scope_pop(g);
    wg_value *lr = wg_fill(g, WG_F32, WG_SCALAR, 0.1), *v;
    wg_scope_push(g, "train");
    wg_gradients d = wg_grad_all(wg_sum(w, WG_ALL_AXES, WG_DROP));
    wg_adam_update(d.params, d.grads, d.n, lr, NULL);
    v = wg_parameter(g, "v", WG_F32, WG_SHAPE(2), wg_ones());
    wg_adam_update(&v, d.grads, 1, lr, &(wg_adam_options){.name = "my/adam"});
    assert_string_equal(wg_scope_path(g), "train");
    assert_int_equal(wg_graph_status(g), WG_OK);
    v = wg_graph_find(g, "train/adam/step");
    assert_true(v && v->node->phase == WG_UPDATE);
    for (int i = 0; i < WG_COUNT(names); i++)
        if (i != 3)
            check_that(wg_graph_find(g, names[i]) != NULL, "no %s", names[i]);
    wg_sgd_update(d.params, d.grads, d.n, lr, &(wg_sgd_options){.momentum = 0.9, .name = "my/sgd"});
    assert_int_equal(wg_graph_status(g), WG_EINVAL); /* w is assigned by Adam */
    assert_non_null(strstr(wg_graph_message(g), "wg_assign: layer/w is assigned already"));
    assert_non_null(wg_graph_find(g, names[3]));
    wg_graph_free(g);
}

/* Rate and decay of the only parameter, given by arrays or for all. */
static void update_by(session *s, int kind, bool arrays)
{
    static const double rates[] = {0.25}, decays[] = {0.1};
    wg_value *lr = arrays ? s->lr : wg_scale(s->lr, rates[0]), *norm = wg_global_norm(&s->grad, 1);
    double decay = arrays ? 9 : decays[0];
    const double *r = arrays ? rates : NULL, *d = arrays ? decays : NULL;
    wg_status status =
        kind == WG_OPTIMIZER_SGD
            ? wg_sgd_update(&s->p, &s->grad, 1, lr,
                            &(wg_sgd_options){.momentum = 0.9,
                                              .weight_decay = decay,
                                              .norm = norm,
                                              .rates = r,
                                              .decays = d})
            : wg_adam_update(&s->p, &s->grad, 1, lr,
                             &(wg_adam_options){.weight_decay = decay,
                                                .decoupled = kind == WG_OPTIMIZER_ADAMW,
                                                .norm = norm,
                                                .rates = r,
                                                .decays = d});
    check_that(status == WG_OK, "%s", wg_graph_message(s->g));
}

static void a_parameter_has_a_rate_and_a_decay_of_its_own(void **state)
{
    (void)state;
    for (int kind = WG_OPTIMIZER_ADAM; kind <= WG_OPTIMIZER_SGD; kind++) {
        session a = open_session(WG_F32), b = open_session(WG_F32);
        update_by(&a, kind, false);
        update_by(&b, kind, true);
        start_session(&a);
        start_session(&b);
        for (int t = 1; t <= STEPS; t++) {
            step_session(&a, t);
            step_session(&b, t);
            const float *p = wg_plan_f32(a.plan, a.p), *q = wg_plan_f32(b.plan, b.p);
            assert_memory_equal(p, q, N * sizeof(float));
            assert_true((double)p[0] != start[0]);
        }
        end_session(&a);
        end_session(&b);
    }
    session s = open_session(WG_F32);
    const double negative[] = {-1};
    assert_int_equal(wg_adam_update(&s.p, &s.grad, 1, s.lr, &(wg_adam_options){.rates = negative}),
                     WG_EINVAL);
    check_that(strstr(wg_graph_message(s.g), "rates[0] is -1, must be 0 or more") != NULL, "%s",
               wg_graph_message(s.g));
    wg_graph_free(s.g);
}

static void adam_refuses_step_zero(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_fill(g, WG_F32, WG_SHAPE(2), 1), *y;
    y = wg_adam(x, x, x, x, wg_scalar_like(x, 1), wg_fill(g, WG_I64, WG_SCALAR, 0),
                &(wg_adam_attrs){0.9, 0.999, 1e-8, 0});
    wg_plan *p;
    wg_plan_options options = {.outputs = &y, .n_outputs = 1, .no_fold = true};
    assert_int_equal(wg_plan_create(&p, g, &options), WG_OK);
    assert_int_equal(wg_plan_run(p, 0), WG_EDATA);
    check_that(strstr(wg_plan_message(p), "step is 0, must be positive"), "%s", wg_plan_message(p));
    wg_plan_free(p);
    wg_graph_free(g);
}

/* Nothing moves, and nothing is 0/0, where the gradient has always been 0. */
static void adam_of_zeros(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *zero = wg_fill(g, WG_F32, WG_SHAPE(3), 0), *p = wg_fill(g, WG_F32, WG_SHAPE(3), 2),
             *lr, *y[2];
    lr = wg_scalar_like(p, 0.1);
    y[0] = wg_adam(p, zero, zero, zero, lr, wg_fill(g, WG_I32, WG_SCALAR, 1),
                   &(wg_adam_attrs){0.9, 0.999, 1e-8, 0});
    assert_int_equal(wg_vjp(y, NULL, 1, &zero, 1, NULL, &y[1]), WG_OK);
    wg_plan *plan = small_run(g, y, 2, 1);
    small_equal("p", plan, y[0], (const double[]){2, 2, 2}, 3);
    numbers_finite("derivative", plan, y[1]);
    wg_plan_free(plan);
    wg_graph_free(g);
}

/* A parameter of infinity does not reach the moments when there is no weight decay: no 0 inf. */
static void adam_keeps_moments_apart_from_parameters(void **state)
{
    (void)state;
    const double inf[] = {INFINITY, 1}, half[] = {0.5, 0.5};
    for (int decoupled = 0; decoupled < 2; decoupled++) {
        wg_graph *g = wg_graph_new();
        wg_value *p = numbers(g, WG_F32, WG_SHAPE(2), inf),
                 *x = numbers(g, WG_F32, WG_SHAPE(2), half);
        wg_value *lr = wg_scalar_like(p, 0.1), *step = wg_scalar_like(p, 1), *y[3];
        const wg_adam_attrs a = {0.5, 0.5, 1e-8, 0};
        y[0] = decoupled ? wg_adamw(p, x, x, x, lr, step, &a) : wg_adam(p, x, x, x, lr, step, &a);
        y[1] = wg_result_of(y[0], 1);
        y[2] = wg_result_of(y[0], 2);
        wg_plan *plan = small_run(g, y, 3, 1);
        assert_true(small_at(plan, y[0], 0) == INFINITY);
        small_equal("m", plan, y[1], (const double[]){0.5, 0.5}, 2);
        small_equal("v", plan, y[2], (const double[]){0.375, 0.375}, 2);
        wg_plan_free(plan);
        wg_graph_free(g);
    }
}

/* ---- sgd ------------------------------------------------------------------------------------- */

static void ten_steps_of_sgd(void **state)
{
    (void)state;
    const wg_sgd_options cases[] = {{0},
                                    {.weight_decay = 0.1},
                                    {.momentum = 0.9},
                                    {.momentum = 0.9, .weight_decay = 0.1, .nesterov = true}};
    for (int k = 0; k < WG_COUNT(cases); k++) {
        const wg_sgd_options *o = &cases[k];
        double p[N], v[N] = {0};
        memcpy(p, start, sizeof p);
        session s = open_session(WG_F64);
        assert_int_equal(wg_sgd_update(&s.p, &s.grad, 1, s.lr, o), WG_OK);
        start_session(&s);
        for (int t = 1; t <= STEPS; t++) {
            step_session(&s, t);
            for (int i = 0; i < N; i++) {
                double d = p[i] - goal[i] + o->weight_decay * p[i];
                v[i] = o->momentum * v[i] + d;
                p[i] -= rate(t) * (o->nesterov ? d + o->momentum * v[i] : v[i]);
            }
            numbers_near("p", s.plan, s.p, p, N, 1e-14);
        }
        assert_true((wg_graph_find(s.g, "sgd/velocity/w") != NULL) == (o->momentum > 0));
        end_session(&s);
    }
}

static void updates_carry_their_phase_and_a_name(void **state)
{
    (void)state;
    session s = open_session(WG_F32);
    wg_value *other = wg_parameter(s.g, "other", WG_F32, WG_SHAPE(N), wg_zeros());
    size_t first = wg_graph_node_count(s.g);
    assert_int_equal(wg_adam_update(&s.p, &s.grad, 1, s.lr, NULL), WG_OK);
    assert_int_equal(wg_adam_update(&other, &s.grad, 1, s.lr, &(wg_adam_options){.name = "slow"}),
                     WG_OK);
    assert_non_null(wg_graph_find(s.g, "slow/m/other"));
    for (size_t i = first; i < wg_graph_node_count(s.g); i++)
        assert_int_equal(wg_graph_node(s.g, i)->phase, WG_UPDATE);
    assert_int_equal(wg_graph_origin(s.g).phase, WG_FORWARD);
    assert_int_equal(wg_graph_assign_count(s.g), 8);
    wg_adam_update(&s.p, &s.grad, 1, s.lr, NULL); /* the same names again */
    small_refused(s.g, "adam/step");
}

/* ---- norms and averages ---------------------------------------------------------------------- */

static void clipping_keeps_directions(void **state)
{
    (void)state;
    const double a[] = {3, 0}, b[] = {0, 4, 12};
    wg_graph *g = wg_graph_new();
    wg_value *in[] = {numbers(g, WG_F64, WG_SHAPE(2), a), numbers(g, WG_F64, WG_SHAPE(3), b)},
             *out[6];
    out[4] = wg_clip_by_global_norm(in, 2, 6.5, out);
    out[5] = wg_clip_by_global_norm(in, 2, 14, out + 2);
    wg_plan *p = small_run(g, out, 6, 1);
    double f = 6.5 / (13 + 1e-6);
    numbers_near("norm", p, out[4], (const double[]){13}, 1, 1e-15);
    numbers_near("clipped", p, out[0], (const double[]){3 * f, 0}, 2, 1e-15);
    numbers_near("clipped", p, out[1], (const double[]){0, 4 * f, 12 * f}, 3, 1e-15);
    small_equal("short enough", p, out[2], a, 2);
    small_equal("short enough", p, out[3], b, 3);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void a_norm_of_nan_stays_visible(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY};
    for (int i = 0; i < 2; i++) {
        const double a[] = {1, bad[i]};
        wg_graph *g = wg_graph_new();
        wg_value *in = numbers(g, WG_F32, WG_SHAPE(2), a), *out[2];
        out[1] = wg_clip_by_global_norm(&in, 1, 1, out);
        wg_plan *p = small_run(g, out, 2, 1);
        assert_true(!isfinite(small_at(p, out[1], 0)));
        assert_true(isnan(small_at(p, out[0], 1)));
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* Squares that f32 cannot hold, ten million terms, and the same bits at any number of threads. */
static void norms_of_large_and_of_many_numbers(void **state)
{
    (void)state;
    enum { MANY = 10000019 };
    wg_graph *g = wg_graph_new();
    wg_value *huge = wg_fill(g, WG_F32, WG_SHAPE(4), 1e30),
             *many = wg_fill(g, WG_F32, WG_SHAPE(MANY), 0.1);
    wg_value *none = wg_fill(g, WG_F32, WG_SHAPE(0), 0), *pair[] = {many, none};
    wg_value *out[] = {wg_global_norm(&huge, 1), wg_global_norm(pair, 2), wg_global_norm(&none, 1)};
    wg_plan *one = small_run(g, out, 3, 1), *four = small_run(g, out, 3, 4);
    assert_true(fabs(small_at(one, out[0], 0) / 2e30 - 1) <= 1e-7);
    assert_true(fabs(small_at(one, out[1], 0) / (0.1 * sqrt(MANY)) - 1) <= 1e-7);
    assert_true(small_at(one, out[2], 0) == 0);
    numbers_same_bits("norm", one, out[1], four, out[1]);
    wg_plan_free(one);
    wg_plan_free(four);
    wg_graph_free(g);
}

static void kernels_agree_with_expansions(void **state)
{
    (void)state;
    numbers_expansion(&wg_op_sgd);
    numbers_expansion(&wg_op_adam);
    numbers_expansion(&wg_op_adamw);
    numbers_expansion(&wg_op_global_norm);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    session s = open_session(WG_F32);
    wg_adam_update(&s.p, &s.grad, 1, s.lr, &(wg_adam_options){.beta1 = 1});
    small_refused(s.g, "adam: beta1: expected a number in [0, 1), got 1");
    s = open_session(WG_F32);
    wg_sgd(s.p, s.grad, s.lr, NULL, &(wg_sgd_attrs){.momentum = 0.5});
    small_refused(s.g, "momentum is 0.5, but there is no velocity");
    s = open_session(WG_F32);
    wg_value *unnamed = wg_fill(s.g, WG_F32, WG_SHAPE(N), 0);
    wg_adam_update(&unnamed, &s.grad, 1, s.lr, NULL);
    small_refused(s.g, "expected parameters, got a value without a name, of fill");
    s = open_session(WG_F32);
    wg_moving_average(s.p, s.grad, 1.5);
    small_refused(s.g, "decay is 1.5, must be in [0, 1]");
    s = open_session(WG_F32);
    wg_clip_by_global_norm(&s.grad, 1, NAN, &s.grad);
    small_refused(s.g, "max_norm is");
    s = open_session(WG_F32);
    wg_global_norm((wg_value *[]){s.p, wg_fill(s.g, WG_F64, WG_SHAPE(2), 0)}, 2);
    small_refused(s.g, "f64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_are_named_by_optimizer_and_parameter),
        cmocka_unit_test(ten_steps_of_adam),
        cmocka_unit_test(a_parameter_has_a_rate_and_a_decay_of_its_own),
        cmocka_unit_test(adam_refuses_step_zero),
        cmocka_unit_test(adam_of_zeros),
        cmocka_unit_test(adam_keeps_moments_apart_from_parameters),
        cmocka_unit_test(ten_steps_of_sgd),
        cmocka_unit_test(updates_carry_their_phase_and_a_name),
        cmocka_unit_test(clipping_keeps_directions),
        cmocka_unit_test(a_norm_of_nan_stays_visible),
        cmocka_unit_test(norms_of_large_and_of_many_numbers),
        cmocka_unit_test(kernels_agree_with_expansions),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
