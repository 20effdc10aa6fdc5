/* Minimisation: known minima by both methods in both dtypes, why runs end, what they leave, and
 * wrong arguments. */
#include "tests/test.h"
#include "wengert.h"
#include "wengert/train/minimise.h"

#include <float.h>
#include <math.h>

static const char *const method_names[] = {"L-BFGS", "Newton"};

static wg_value *sum(wg_value *x)
{
    return wg_sum(x, WG_ALL_AXES, WG_DROP);
}

static wg_value *vector(wg_graph *g, wg_dtype dtype, int64_t n, const double *from)
{
    wg_value *x = wg_parameter(g, "x64", WG_F64, WG_SHAPE(n), wg_values_init(from, 8 * (size_t)n));
    if (dtype == WG_F64)
        return x;
    float start[32];
    for (int64_t i = 0; i < n; i++)
        start[i] = (float)from[i];
    return wg_parameter(g, "x", dtype, WG_SHAPE(n), wg_values_init(start, 4 * (size_t)n));
}

static wg_minimiser *create(wg_value *loss, const wg_minimiser_options *options)
{
    wg_error error;
    wg_minimiser *m;
    wg_status status = wg_minimiser_create(&m, loss, options, &error);
    check_that(status == WG_OK, "%s", error.text);
    return m;
}

static wg_minimised run(wg_minimiser *m)
{
    wg_minimised found;
    wg_status status = wg_minimiser_run(m, &found);
    check_that(status == WG_OK, "%s", wg_minimiser_message(m));
    return found;
}

/* ---- known minima ---------------------------------------------------------------------------- */

/* sum of 100 (x[i+1] - x[i]^2)^2 + (1 - x[i])^2  (Rosenbrock 1960), at 1 */
static wg_value *rosenbrock(wg_value *x)
{
    int64_t n = wg_value_dim(x, 0);
    wg_value *a = wg_slice(x, 0, 0, n - 1, 1), *b = wg_slice(x, 0, 1, n, 1);
    wg_value *valley = wg_scale(wg_square(wg_sub(b, wg_square(a))), 100);
    return sum(wg_add(valley, wg_square(wg_shift(a, -1))));
}

/* sum of 10^i (x[i] - 1)^2 / 2: a condition of 10^5 */
static wg_value *narrow(wg_value *x)
{
    double weights[6] = {1, 1e1, 1e2, 1e3, 1e4, 1e5};
    wg_value *w = wg_constant(wg_graph_of(x), WG_F64, WG_SHAPE(6), weights);
    return wg_scale(sum(wg_mul(wg_cast(w, x->dtype), wg_square(wg_shift(x, -1)))), 0.5);
}

/* sum of x - log x, at 1; NaN where a step goes too far */
static wg_value *barrier(wg_value *x)
{
    return sum(wg_sub(x, wg_log(x)));
}

/* sum of x^4 - x^2, at sqrt(1/2): the Hessian is negative near 0 */
static wg_value *saddle(wg_value *x)
{
    return sum(wg_sub(wg_square(wg_square(x)), wg_square(x)));
}

/* sum of 1e6 + (x - 1)^2: digits are lost, and the slopes must decide */
static wg_value *high(wg_value *x)
{
    return wg_shift(sum(wg_square(wg_shift(x, -1))), 1e6);
}

typedef struct function {
    const char *name;
    wg_value *(*of)(wg_value *x);
    int64_t n;
    double start, step; /* x[i] = start + step i */
    double x, loss;     /* at the minimum */
    double far[2];      /* how far from x, f32 and f64 */
} function;

static const function functions[] = {
    {"rosenbrock", rosenbrock, 2, -1.2, 2.2, 1, 0, {1e-3, 1e-9}},
    {"rosenbrock of 20", rosenbrock, 20, -1.2, 0.1, 1, 0, {3e-3, 1e-9}},
    {"narrow", narrow, 6, -3, 1, 1, 0, {1e-3, 1e-10}},
    {"barrier", barrier, 3, 100, 40, 1, 3, {2e-4, 1e-9}},
    {"saddle", saddle, 4, 1e-3, 1e-4, 0.70710678118654752, -1, {1e-4, 1e-9}},
    {"high", high, 3, -7, 3, 1, 1e6, {1e-6, 1e-12}},
};

/* The loss of the last step, and by which part of it rounding may raise it. */
typedef struct descent {
    double before, noise;
} descent;

static bool falls(void *context, const wg_minimised *at)
{
    descent *d = context;
    check_that(at->loss <= d->before + d->noise * fabs(d->before) || isinf(d->before),
               "step %zu: the loss rises from %.17g to %.17g", at->steps, d->before, at->loss);
    d->before = at->loss;
    return true;
}

static void reach(const function *f, wg_dtype dtype, wg_minimise_method method)
{
    const double eps = dtype == WG_F32 ? (double)FLT_EPSILON : DBL_EPSILON;
    double from[32];
    descent d = {INFINITY, 10 * eps};
    for (int64_t i = 0; i < f->n; i++)
        from[i] = f->start + f->step * (double)i;
    wg_graph *g = wg_graph_new();
    wg_value *x = vector(g, dtype, f->n, from), *loss = f->of(x);
    wg_minimiser *m =
        create(loss, &(wg_minimiser_options){.method = method, .tell = falls, .context = &d});
    wg_minimised found = run(m);
    double far = 0;
    for (int64_t i = 0; i < f->n; i++) {
        const void *at = wg_plan_data(wg_minimiser_plan(m), x);
        double xi = dtype == WG_F32 ? (double)((const float *)at)[i] : ((const double *)at)[i];
        far = fmax(far, fabs(xi - f->x));
    }
    check_that(found.end <= WG_MINIMISE_GRADIENT && far <= f->far[dtype == WG_F64] &&
                   fabs(found.loss - f->loss) <= 100 * eps * fmax(1, fabs(f->loss)),
               "%s by %s in %s: end %d after %zu steps, loss %.17g, gradient %g, %g from the "
               "minimum",
               f->name, method_names[method], wg_dtype_name(dtype), (int)found.end, found.steps,
               found.loss, found.gradient, far);
    check_that(found.loss == wg_plan_scalar(wg_minimiser_plan(m), loss), "not run at the minimum");
    wg_minimiser_free(m);
    wg_graph_free(g);
}

static void known_minima(void **state)
{
    (void)state;
    for (size_t i = 0; i < WG_COUNT(functions); i++)
        for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
            reach(&functions[i], WG_F32, (wg_minimise_method)method);
            reach(&functions[i], WG_F64, (wg_minimise_method)method);
        }
}

/* On a quadratic Newton's method is exact within the radius.  L-BFGS takes some steps for each
 * number, whatever the condition; the gradient alone would take 10^5. */
static void quadratics_take_few_steps(void **state)
{
    (void)state;
    static const double from[6] = {3, -2, 4, 1, 5, 2};
    static const size_t most[] = {40, 3};
    for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
        wg_graph *g = wg_graph_new();
        wg_minimiser *m =
            create(narrow(vector(g, WG_F64, 6, from)),
                   &(wg_minimiser_options){.method = (wg_minimise_method)method, .gradient = 1e-6});
        wg_minimised found = run(m);
        check_that(found.end == WG_MINIMISE_GRADIENT && found.gradient <= 1e-6 &&
                       found.steps <= most[method],
                   "%s: end %d, gradient %g after %zu steps", method_names[method], (int)found.end,
                   found.gradient, found.steps);
        wg_minimiser_free(m);
        wg_graph_free(g);
    }
}

/* ---- ends ------------------------------------------------------------------------------------ */

static const double valley_start[4] = {-1.2, 1, -1.2, 1};

static bool stop_at_three(void *context, const wg_minimised *at)
{
    (void)context;
    return at->steps < 3;
}

static void each_end(void **state)
{
    (void)state;
    const struct {
        wg_minimiser_options options;
        wg_minimise_end end;
        size_t steps, runs; /* at most */
    } cases[] = {
        {{.steps = 7}, WG_MINIMISE_STEPS, 7, 1000},
        {{.runs = 20}, WG_MINIMISE_RUNS, 20, 22},
        {{.gradient = 1e-3}, WG_MINIMISE_GRADIENT, 100, 1000},
        {{.change = 1e-2}, WG_MINIMISE_CHANGE, 100, 1000},
        {{.tell = stop_at_three}, WG_MINIMISE_STOPPED, 3, 1000},
        {{.method = WG_MINIMISE_NEWTON, .runs = 20}, WG_MINIMISE_RUNS, 20, 24},
        {{.method = WG_MINIMISE_NEWTON, .steps = 4}, WG_MINIMISE_STEPS, 4, 1000},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_graph *g = wg_graph_new();
        wg_minimiser *m = create(rosenbrock(vector(g, WG_F64, 4, valley_start)), &cases[i].options);
        wg_minimised found = run(m);
        check_that(found.end == cases[i].end && found.steps <= cases[i].steps &&
                       found.runs <= cases[i].runs && found.runs >= found.steps,
                   "case %zu: end %d after %zu steps and %zu runs, expected %d", i, (int)found.end,
                   found.steps, found.runs, (int)cases[i].end);
        wg_minimiser_free(m);
        wg_graph_free(g);
    }
}

static void not_finite_at_first(void **state)
{
    (void)state;
    static const double from[1] = {-1};
    wg_graph *g = wg_graph_new();
    wg_minimised found = {.steps = 9};
    wg_minimiser *m = create(barrier(vector(g, WG_F64, 1, from)), NULL);
    assert_int_equal(wg_minimiser_run(m, &found), WG_ENONFINITE);
    check_that(strstr(wg_minimiser_message(m), "not finite") != NULL && isnan(found.loss) &&
                   found.steps == 0,
               "%s", wg_minimiser_message(m));
    *wg_plan_f64(wg_minimiser_plan(m), wg_graph_find(g, "x64")) = 5;
    found = run(m);
    check_that(fabs(found.loss - 1) <= 1e-12 && wg_minimiser_message(m)[0] == '\0', "loss %g",
               found.loss);
    wg_minimiser_free(m);
    wg_graph_free(g);
}

/* 9 (x + 1)^2 - log det (x A + 1) / 2 is computed where x A + 1 is positive definite; a step that
 * leaves these matrices becomes shorter.  Where the run begins, it is an error. */
static void matrices_without_factors(void **state)
{
    (void)state;
    static const double numbers[4] = {2, 1, 1, 2}, from[1] = {5};
    for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = vector(g, WG_F64, 1, from), *one = wg_eye(g, WG_F64, 2);
        wg_value *a = wg_constant(g, WG_F64, WG_SHAPE(2, 2), numbers);
        wg_value *factor = wg_cholesky(wg_add(wg_mul(x, a), one), WG_LOWER);
        wg_value *logs = wg_log(wg_sum(wg_mul(factor, one), WG_AXES(-1), WG_DROP));
        wg_value *loss = wg_sub(sum(wg_scale(wg_square(wg_shift(x, 1)), 9)), sum(logs));
        wg_minimiser *m =
            create(loss, &(wg_minimiser_options){.method = (wg_minimise_method)method});
        wg_minimised found = run(m);
        double *at = wg_plan_f64(wg_minimiser_plan(m), x);
        check_that(found.gradient <= 1e-9 && *at > -1.0 / 3, "%s: x = %.17g, gradient %g",
                   method_names[method], *at, found.gradient);
        *at = -1;
        assert_int_equal(wg_minimiser_run(m, &found), WG_EDATA);
        check_that(strstr(wg_minimiser_message(m), "not positive definite") != NULL, "%s",
                   wg_minimiser_message(m));
        wg_minimiser_free(m);
        wg_graph_free(g);
    }
}

/* Squares of these losses' gradients, or of the parameters, leave the range of f64; and a point
 * from which there is no way leaves nothing behind. */
static void losses_of_any_size(void **state)
{
    (void)state;
    static const double sizes[] = {1e-200, 1e-100, 1, 1e100, 1e200};
    static const double lost[2] = {1e150, 1e152}, near[2] = {1, 0.5};
    for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
        const wg_minimiser_options options = {.method = (wg_minimise_method)method};
        for (size_t i = 0; i < WG_COUNT(sizes); i++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = vector(g, WG_F64, 4, valley_start);
            wg_minimiser *m = create(wg_scale(rosenbrock(x), sizes[i]), &options);
            wg_minimised found = run(m);
            double at = wg_plan_f64(wg_minimiser_plan(m), x)[2];
            check_that(fabs(at - 1) <= 1e-6, "%s, times %g: x[2] = %.17g after %zu steps, end %d",
                       method_names[method], sizes[i], at, found.steps, (int)found.end);
            wg_minimiser_free(m);
            wg_graph_free(g);
        }
        wg_graph *g = wg_graph_new();
        wg_value *x = vector(g, WG_F64, 2, lost);
        wg_minimiser *m = create(sum(wg_sub(wg_cos(x), wg_scale(wg_square(x), 1e-3))), &options);
        run(m);
        memcpy(wg_plan_f64(wg_minimiser_plan(m), x), near, sizeof near);
        wg_minimised found = run(m);
        check_that(found.steps > 0, "%s: no step from (1, 0.5), gradient %g", method_names[method],
                   found.gradient);
        wg_minimiser_free(m);
        wg_graph_free(g);
    }
}

/* Where no step is found, parameters stay as they are, however long the gradient. */
static void stays_where_it_began(void **state)
{
    (void)state;
    static const double from[2] = {600, 2};
    for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = vector(g, WG_F64, 2, from);
        wg_minimiser *m =
            create(sum(wg_exp(x)),
                   &(wg_minimiser_options){.method = (wg_minimise_method)method, .runs = 1});
        wg_minimised found = run(m);
        const double *at = wg_plan_f64(wg_minimiser_plan(m), x);
        check_that(at[0] == 600 && at[1] == 2 && found.loss == exp(600) + exp(2),
                   "%s: from (600, 2) to (%g, %g), loss %g", method_names[method], at[0], at[1],
                   found.loss);
        wg_minimiser_free(m);
        wg_graph_free(g);
    }
}

/* ---- what runs leave, and go on from --------------------------------------------------------- */

static void runs_go_on(void **state)
{
    (void)state;
    for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
        double end[2][4];
        for (int parts = 1; parts <= 2; parts++) {
            wg_graph *g = wg_graph_new();
            wg_value *x = vector(g, WG_F64, 4, valley_start);
            wg_minimiser *m =
                create(rosenbrock(x), &(wg_minimiser_options){.method = (wg_minimise_method)method,
                                                              .steps = 8 / (size_t)parts});
            for (int k = 0; k < parts; k++)
                run(m);
            memcpy(end[parts - 1], wg_plan_f64(wg_minimiser_plan(m), x), sizeof end[0]);
            wg_minimiser_free(m);
            wg_graph_free(g);
        }
        check_that(memcmp(end[0], end[1], sizeof end[0]) == 0,
                   "%s: 8 steps end at x[0] = %.17g, twice 4 steps at %.17g", method_names[method],
                   end[0][0], end[1][0]);
    }
}

/* Two minimisers of one graph, each of its own parameter, in turn. */
static void two_of_a_graph(void **state)
{
    (void)state;
    for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
        wg_graph *g = wg_graph_new();
        wg_store *store = wg_store_new(1);
        const wg_plan_options plan = {.store = store};
        wg_value *x[2], *loss = NULL;
        wg_minimiser *m[2];
        for (int i = 0; i < 2; i++)
            x[i] = wg_parameter(g, i ? "b" : "a", WG_F64, WG_SHAPE(2), wg_constant_init(3));
        loss = sum(wg_square(wg_sub(wg_shift(x[0], -1), wg_scale(x[1], 0.5))));
        loss = wg_add(loss, sum(wg_square(wg_shift(x[1], -2))));
        for (int i = 0; i < 2; i++)
            m[i] = create(loss, &(wg_minimiser_options){.method = (wg_minimise_method)method,
                                                        .params = &x[i],
                                                        .n_params = 1,
                                                        .plan = &plan});
        for (int round = 0; round < 30; round++)
            for (int i = 0; i < 2; i++)
                run(m[i]);
        for (int i = 0; i < 2; i++) {
            const double *at = wg_plan_f64(wg_minimiser_plan(m[i]), x[i]);
            check_that(fabs(at[0] - 2) <= 1e-7 && fabs(at[1] - 2) <= 1e-7, "%s: %s is %.17g",
                       method_names[method], x[i]->name, at[0]);
        }
        for (int i = 0; i < 2; i++)
            wg_minimiser_free(m[i]);
        wg_graph_free(g);
        wg_store_free(store);
    }
}

/* A graph with an assignment and outputs, whose data come by inputs; one input is changed. */
static void graphs_with_inputs(void **state)
{
    (void)state;
    for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
        wg_graph *g = wg_graph_new();
        wg_value *y = wg_input(g, "y", WG_F64, WG_SHAPE(3));
        wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(3));
        wg_value *runs = wg_state(g, "runs", WG_F64, WG_SCALAR, wg_zeros());
        wg_value *shift = wg_state(g, "shift", WG_F32, WG_SCALAR, wg_zeros());
        wg_value *unused = wg_input(g, "unused", WG_F32, WG_SCALAR);
        wg_assign(runs, wg_shift(runs, 1));
        wg_value *miss = wg_sub(wg_add(wg_exp(x), wg_cast(shift, WG_F64)), y);
        wg_value *largest = wg_output(wg_max(wg_abs(miss), WG_ALL_AXES, WG_DROP), "largest");
        wg_value *loss =
            wg_add(sum(wg_square(miss)), wg_square(wg_cast(wg_shift(shift, -2), WG_F64)));
        wg_value *const params[] = {x, shift};
        wg_minimiser *m = create(loss, &(wg_minimiser_options){.method = (wg_minimise_method)method,
                                                               .params = params,
                                                               .n_params = 2});
        wg_plan *plan = wg_minimiser_plan(m);
        for (int round = 1; round <= 2; round++) {
            for (int i = 0; i < 3; i++) {
                wg_plan_f64(plan, y)[i] = 2 + (i + 2) * round;
                wg_plan_f64(plan, x)[i] = 0.5;
            }
            run(m);
            for (int i = 0; i < 3; i++) {
                double got = wg_plan_f64(plan, x)[i];
                check_that(fabs(got - log((i + 2) * round)) <= 1e-6, "%s: x[%d] = %g",
                           method_names[method], i, got);
            }
            check_that(fabs((double)*wg_plan_f32(plan, shift) - 2) <= 1e-5 &&
                           wg_plan_scalar(plan, largest) <= 1e-5 && wg_plan_scalar(plan, runs) == 0,
                       "%s: shift %g, largest %g, %g assignments", method_names[method],
                       (double)*wg_plan_f32(plan, shift), wg_plan_scalar(plan, largest),
                       wg_plan_scalar(plan, runs));
        }
        (void)unused;
        wg_minimiser_free(m);
        wg_graph_free(g);
    }
}

/* Dropout draws the same numbers in every run, so the loss is a function; several threads and
 * kernels come to the same bits on the reference backend; and the graph may be gone. */
static void networks(void **state)
{
    (void)state;
    enum { N = 24, H = 8 };
    for (int method = WG_MINIMISE_LBFGS; method <= WG_MINIMISE_NEWTON; method++) {
        double loss_of[3] = {0};
        for (int threads = 1; threads <= 3; threads++) {
            double xs[N], ys[N];
            for (int i = 0; i < N; i++)
                ys[i] = sin(3 * (xs[i] = i / 12.0 - 1));
            wg_graph *g = wg_graph_new();
            wg_value *x = wg_constant(g, WG_F64, WG_SHAPE(N, 1), xs);
            wg_value *y = wg_constant(g, WG_F64, WG_SHAPE(N, 1), ys);
            wg_value *h = wg_dropout(wg_dense("hidden", x, H, WG_ACTIVATION_TANH), 0.1);
            wg_value *miss = wg_sub(wg_dense("out", h, 1, WG_ACTIVATION_NONE), y);
            const wg_plan_options plan = {.reference = true, .threads = threads, .seed = 3};
            wg_minimiser *m =
                create(wg_mean(wg_square(miss), WG_ALL_AXES, WG_DROP),
                       &(wg_minimiser_options){
                           .method = (wg_minimise_method)method, .plan = &plan, .steps = 60});
            wg_graph_free(g);
            loss_of[threads - 1] = run(m).loss;
            wg_minimiser_free(m);
        }
        check_that(loss_of[0] <= 0.05 && loss_of[1] == loss_of[0] && loss_of[2] == loss_of[0],
                   "%s: losses %.17g, %.17g, %.17g by 1, 2, 3 threads", method_names[method],
                   loss_of[0], loss_of[1], loss_of[2]);
    }
}

static void stores_are_shared(void **state)
{
    (void)state;
    wg_store *store = wg_store_new(1);
    const wg_plan_options plan = {.store = store};
    wg_graph *g = wg_graph_new();
    wg_minimiser *m = create(rosenbrock(vector(g, WG_F64, 4, valley_start)),
                             &(wg_minimiser_options){.plan = &plan});
    run(m);
    wg_minimiser_free(m);
    const double *x = wg_store_find(store, "x64")->data;
    check_that(fabs(x[0] - 1) <= 1e-9 && fabs(x[3] - 1) <= 1e-9, "x[0] = %g, x[3] = %g", x[0],
               x[3]);
    wg_graph_free(g);
    wg_store_free(store);
}

/* ---- wrong arguments ------------------------------------------------------------------------- */

static void wrong_arguments(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new(), *other = wg_graph_new();
    wg_value *x = vector(g, WG_F64, 4, valley_start);
    wg_value *ids = wg_parameter(g, "half", WG_BF16, WG_SHAPE(4), wg_zeros());
    wg_value *alien = vector(other, WG_F64, 4, valley_start), *loss = rosenbrock(x);
    wg_value *const none[] = {NULL}, *const twice[] = {x, x}, *const halves[] = {ids},
                    *const aliens[] = {alien}, *const results[] = {loss};
    const struct {
        wg_value *loss;
        wg_minimiser_options options;
        wg_status status;
        const char *says;
    } cases[] = {
        {NULL, {0}, WG_EINVAL, "the loss is NULL"},
        {x, {0}, WG_ESHAPE, "scalar loss"},
        {wg_cast(loss, WG_BF16), {0}, WG_EDTYPE, "got bf16"},
        {wg_stop_gradient(loss), {0}, WG_EINVAL, "got none"},
        {loss, {.n_params = 3}, WG_EINVAL, "params is NULL"},
        {loss, {.params = none, .n_params = 1}, WG_EINVAL, "params[0], which is NULL"},
        {loss, {.params = twice, .n_params = 2}, WG_EINVAL, "[0] and [1] are both x64"},
        {loss, {.params = halves, .n_params = 1}, WG_EDTYPE, "half, which is bf16"},
        {loss, {.params = aliens, .n_params = 1}, WG_EINVAL, "params[0], which is x64"},
        {loss, {.params = results, .n_params = 1}, WG_EINVAL, "params[0], which is "},
        {loss, {.method = (wg_minimise_method)7}, WG_EINVAL, "unknown method 7"},
        {loss, {.gradient = -1}, WG_EINVAL, "got -1 and 0"},
        {loss, {.change = NAN}, WG_EINVAL, "got 0 and nan"},
        {loss, {.history = SIZE_MAX / 2}, WG_ENOMEM, "no memory"},
        {loss, {.plan = &(wg_plan_options){.threads = -1}}, WG_EINVAL, "threads"},
    };
    for (size_t i = 0; i < WG_COUNT(cases); i++) {
        wg_error error;
        wg_minimiser *m = (wg_minimiser *)8;
        wg_status status = wg_minimiser_create(&m, cases[i].loss, &cases[i].options, &error);
        check_that(status == cases[i].status && m == NULL && strstr(error.text, cases[i].says),
                   "case %zu: %s: \"%s\", expected \"%s\"", i, wg_status_text(status), error.text,
                   cases[i].says);
    }
    assert_int_equal(wg_minimiser_create(NULL, loss, NULL, NULL), WG_EINVAL);
    assert_int_equal(wg_minimiser_run(NULL, NULL), WG_EINVAL);
    assert_null(wg_minimiser_plan(NULL));
    assert_string_equal(wg_minimiser_message(NULL), "the minimiser is NULL");
    wg_minimiser_free(NULL);
    wg_graph_free(g);
    wg_graph_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_minima),
        cmocka_unit_test(quadratics_take_few_steps),
        cmocka_unit_test(each_end),
        cmocka_unit_test(not_finite_at_first),
        cmocka_unit_test(runs_go_on),
        cmocka_unit_test(graphs_with_inputs),
        cmocka_unit_test(networks),
        cmocka_unit_test(stores_are_shared),
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(stays_where_it_began),
        cmocka_unit_test(matrices_without_factors),
        cmocka_unit_test(two_of_a_graph),
        cmocka_unit_test(losses_of_any_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
