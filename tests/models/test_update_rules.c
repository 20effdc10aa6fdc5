/* The optimizers that are rules, against PyTorch and plain loops, and their numbers. */
#include "tests/models/steps.h"

/* ---- the optimizers -------------------------------------------------------------------------- */

typedef struct golden {
    const char *name;
    wg_optimizer_kind kind;
    wg_optimizer_numbers numbers;
    double rate, decay;
    int steps; /* 0: STEPS */
    double p[N];
} golden;

/* PyTorch 1.13 in float64, four or MANY steps from `start` with those gradients.  RAdam's variance
 * is rectified from step 6 on.  NAdam with foreach=True: the other loop of that version has a
 * factor too much in it, which later versions removed. */
static const golden goldens[] = {
    {.name = "adam",
     .kind = WG_OPTIMIZER_ADAM,
     .numbers = {.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-2},
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.65591699354179422, -1.64731077600545, 2.179062727410495, 0, -0.48524777676317699}},
    {.name = "adamw",
     .kind = WG_OPTIMIZER_ADAMW,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.68406800631134135, -1.6444078922385796, 2.3797827838300356, 0, -0.48658509315521425}},
    {.name = "nesterov",
     .kind = WG_OPTIMIZER_SGD,
     .numbers = {.momentum = 0.9, .nesterov = true},
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.54209306209308195, -3.0513351144211001, 2.0290829777179997, 0, -28.788292136084696}},
    {.name = "rmsprop",
     .kind = WG_OPTIMIZER_RMSPROP,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.48521018378625114, -4.033858943653259, 4.5916344369494189, 0, -2.0735237069050649}},
    {.name = "rmsprop with momentum",
     .kind = WG_OPTIMIZER_RMSPROP,
     .numbers = {.beta2 = 0.95, .eps = 1e-3, .momentum = 0.9},
     .rate = 0.1,
     .decay = 0,
     .p = {1.599659542390417, -4.3834833382309357, 5.2151337047416257, 0, -2.5690589265311408}},
    {.name = "adagrad",
     .kind = WG_OPTIMIZER_ADAGRAD,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.50355092080761055, -1.5283558027456958, 2.2688188419637814, 0, -0.31923395689119105}},
    {.name = "adadelta",
     .kind = WG_OPTIMIZER_ADADELTA,
     .rate = 0.5,
     .decay = 0.01,
     .p = {0.49911116626725938, -1.2565259618021147, 2.0059791746485822, 0, -0.12896466987311422}},
    {.name = "adamax",
     .kind = WG_OPTIMIZER_ADAMAX,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.65962661353647867, -1.6501867140933788, 2.1609575679654021, 0, -0.40677434703454202}},
    {.name = "nadam",
     .kind = WG_OPTIMIZER_NADAM,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.50241258343622608, -1.5802321085194231, 2.3134470953213331, 0, -0.36107614710118341}},
    {.name = "nadam with numbers",
     .kind = WG_OPTIMIZER_NADAM,
     .numbers = {.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-2, .momentum_decay = 0.05},
     .rate = 0.1,
     .decay = 0,
     .p = {0.50453334383864457, -1.6134477595904684, 2.3314528964012684, 0, -0.39163209383969255}},
    {.name = "radam",
     .kind = WG_OPTIMIZER_RADAM,
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.56106498026540985, -1.8445199958659257, 2.006453837096795, 0, -11.370902743492353}},
    {.name = "radam with numbers",
     .kind = WG_OPTIMIZER_RADAM,
     .numbers = {.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-2},
     .rate = 0.1,
     .decay = 0.01,
     .p = {0.55354637443236432, -1.8444827651324693, 2.0069544183869668, 0, -11.080033296506411}},
    {.name = "rprop",
     .kind = WG_OPTIMIZER_RPROP,
     .rate = 0.1,
     .decay = 0,
     .p = {0.65999999999999992, -1.7868000000000002, 2.5368000000000004, 0, -0.66179999999999994}},
    {.name = "rprop with numbers",
     .kind = WG_OPTIMIZER_RPROP,
     .numbers = {.eta_minus = 0.4, .eta_plus = 1.5, .step_min = 0.05, .step_max = 0.5},
     .rate = 0.3,
     .decay = 0,
     .p = {1.0700000000000001, -3, 3.75, 0, -1.875}},
    {.name = "nadam for long",
     .kind = WG_OPTIMIZER_NADAM,
     .rate = 0.1,
     .decay = 0.01,
     .steps = MANY,
     .p = {-0.078848932203635896, -1.9730008754023731, 2.8812853514839674, 0,
           -0.52836480160801103}},
    {.name = "nadam with numbers for long",
     .kind = WG_OPTIMIZER_NADAM,
     .numbers = {.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-2, .momentum_decay = 0.05},
     .rate = 0.1,
     .decay = 0,
     .steps = MANY,
     .p = {-0.10519856183411257, -2.0673465050673969, 2.8642791862695858, 0, -0.60445250607922096}},
    {.name = "radam for long",
     .kind = WG_OPTIMIZER_RADAM,
     .rate = 0.1,
     .decay = 0.01,
     .steps = MANY,
     .p = {0.52241371788413093, -2.0070762310189738, 2.0244471974201539, 0, -13.0490957973929}},
    {.name = "radam with numbers for long",
     .kind = WG_OPTIMIZER_RADAM,
     .numbers = {.beta1 = 0.8, .beta2 = 0.9, .eps = 1e-2},
     .rate = 0.1,
     .decay = 0.01,
     .steps = MANY,
     .p = {0.39230410086209355, -2.1338563910744308, 2.1336969623691218, 0, -12.686442173822844}},
    {.name = "rprop for long",
     .kind = WG_OPTIMIZER_RPROP,
     .rate = 0.1,
     .decay = 0,
     .steps = MANY,
     .p = {0.1242048, -3.3298901760000001, 4.0798901760000001, 0, -2.2048901759999997}},
    {.name = "rprop with numbers for long",
     .kind = WG_OPTIMIZER_RPROP,
     .numbers = {.eta_minus = 0.4, .eta_plus = 1.5, .step_min = 0.05, .step_max = 0.5},
     .rate = 0.3,
     .decay = 0,
     .steps = MANY,
     .p = {-1.105, -5.5, 6.25, 0, -4.375}},
};

static void optimizers_agree_with_pytorch(void **state)
{
    (void)state;
    for (int k = 0; k < WG_COUNT(goldens); k++)
        for (int choice = 0; choice < 4; choice++) {
            const golden *o = &goldens[k];
            net n = begin(choice & 1 ? WG_F32 : WG_F64);
            wg_value *norm = choice & 2 ? wg_global_norm(&n.gradient, 1) : NULL;
            wg_optimizer_update(&n.p, &n.gradient, 1, n.rate, o->kind, &o->numbers,
                                &(wg_update_options){.weight_decay = o->decay, .norm = norm});
            take(&n, o->steps ? o->steps : STEPS, o->rate);
            near(&n, o->name, o->p);
            end(&n);
        }
}

static double sign(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

static void plain_lion(double rate, double decay, double *p)
{
    double m[N] = {0};
    memcpy(p, start, sizeof start);
    for (int t = 1; t <= STEPS; t++)
        for (int i = 0; i < N; i++) {
            double g = gradient_at(i, t);
            p[i] -= rate * (sign(0.9 * m[i] + 0.1 * g) + decay * p[i]);
            m[i] = 0.99 * m[i] + 0.01 * g;
        }
}

static void plain_lamb(double rate, double decay, double *p)
{
    double m[N] = {0}, v[N] = {0}, d[N];
    memcpy(p, start, sizeof start);
    for (int t = 1; t <= STEPS; t++) {
        double pp = 0, dd = 0;
        for (int i = 0; i < N; i++) {
            double g = gradient_at(i, t);
            m[i] = 0.9 * m[i] + 0.1 * g;
            v[i] = 0.999 * v[i] + 0.001 * g * g;
            d[i] =
                m[i] / (1 - pow(0.9, t)) / (sqrt(v[i] / (1 - pow(0.999, t))) + 1e-6) + decay * p[i];
            pp += p[i] * p[i];
            dd += d[i] * d[i];
        }
        for (int i = 0; i < N; i++)
            p[i] -= rate * sqrt(pp / dd) * d[i];
    }
}

static void lion_and_lamb_agree_with_plain_loops(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        wg_optimizer_kind kind;
        void (*plain)(double rate, double decay, double *p);
    } cases[] = {{"lion", WG_OPTIMIZER_LION, plain_lion}, {"lamb", WG_OPTIMIZER_LAMB, plain_lamb}};
    for (int k = 0; k < WG_COUNT(cases); k++)
        for (int choice = 0; choice < 4; choice++) {
            double p[N], decay = choice & 2 ? 0.3 : 0;
            net n = begin(choice & 1 ? WG_F32 : WG_F64);
            wg_value *norm = choice & 2 ? wg_global_norm(&n.gradient, 1) : NULL;
            wg_optimizer_update(&n.p, &n.gradient, 1, n.rate, cases[k].kind, NULL,
                                &(wg_update_options){.weight_decay = decay, .norm = norm});
            take_steps(&n, 0.1);
            cases[k].plain(0.1, decay, p);
            near(&n, cases[k].name, p);
            end(&n);
        }
}

/* NAdam as its paper has it, whose product of momenta is a state there; at the end of the ranges,
 * and for longer than anything of the beginning is left. */
static double plain_nadam(double beta1, double decay, int steps)
{
    double m = 0, v = 0, product = 1, p = start[0];
    for (int t = 1; t <= steps; t++) {
        double g = gradient_at(0, t), u = beta1 * (1 - 0.5 * pow(0.96, t * decay)),
               next = beta1 * (1 - 0.5 * pow(0.96, (t + 1) * decay));
        product *= u;
        m = beta1 * m + (1 - beta1) * g;
        v = 0.999 * v + 0.001 * g * g;
        p -= 0.01 * ((1 - u) / (1 - product) * g + next / (1 - product * next) * m) /
             (sqrt(v / (1 - pow(0.999, t))) + 1e-8);
    }
    return p;
}

static void nadam_needs_no_product_of_momenta(void **state)
{
    (void)state;
    static const double betas[] = {WG_BETA_ZERO, 0.5, 0.9, 0.9999}, decays[] = {1e-9, 0.004, 1, 50};
    int compared = 0;
    for (int b = 0; b < WG_COUNT(betas); b++)
        for (int d = 0; d < WG_COUNT(decays); d++)
            for (int steps = 1; steps <= 1000; steps *= 10) {
                net n = begin(WG_F64);
                wg_optimizer_update(
                    &n.p, &n.gradient, 1, n.rate, WG_OPTIMIZER_NADAM,
                    &(wg_optimizer_numbers){.beta1 = betas[b], .momentum_decay = decays[d]}, NULL);
                take(&n, steps, 0.01);
                double want = plain_nadam(betas[b] > 0 ? betas[b] : 0, decays[d], steps),
                       got = get(&n, n.p, 0);
                check_that(fabs(got - want) <= 1e-12 * fabs(want),
                           "beta1 %g, decay %g, %d steps: %.17g, expected %.17g", betas[b],
                           decays[d], steps, got, want);
                compared++;
                end(&n);
            }
    assert_int_equal(compared, 64);
}

/* Of such a beta2 no variance is ever rectified: Adam without its root. */
static void radam_of_a_small_beta2_is_a_mean(void **state)
{
    (void)state;
    static const double betas[] = {WG_BETA_ZERO, 0.3, 0.5, 0.66};
    for (int b = 0; b < WG_COUNT(betas); b++) {
        net n = begin(WG_F64);
        wg_optimizer_update(&n.p, &n.gradient, 1, n.rate, WG_OPTIMIZER_RADAM,
                            &(wg_optimizer_numbers){.beta2 = betas[b]}, NULL);
        take(&n, MANY, 0.01);
        double p[N];
        for (int i = 0; i < N; i++) {
            double m = 0;
            p[i] = start[i];
            for (int t = 1; t <= MANY; t++) {
                m = 0.9 * m + 0.1 * gradient_at(i, t);
                p[i] -= 0.01 * m / (1 - pow(0.9, t));
            }
        }
        near(&n, "radam", p);
        end(&n);
    }
}

/* Whose product would be 0 in f32. */
static void rprop_sees_the_signs_of_small_gradients(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *p = wg_parameter(g, "p", WG_F32, WG_SHAPE(2), wg_zeros()),
             *d = wg_fill(g, WG_F32, WG_SHAPE(2), 1e-30);
    wg_optimizer_update(&p, &d, 1, wg_fill(g, WG_F32, WG_SCALAR, 0.5), WG_OPTIMIZER_RPROP, NULL,
                        &(wg_update_options){.norm = wg_global_norm(&d, 1)});
    wg_plan *plan = plan_of(g, NULL);
    for (uint64_t t = 0; t < 2; t++)
        check_that(wg_plan_run(plan, t) == WG_OK, "%s", wg_plan_message(plan));
    double now = (double)wg_plan_f32(plan, p)[1];
    check_that(fabs(now + 0.5 + 0.6) <= 1e-6, "%g", now);
    wg_plan_free(plan);
    wg_graph_free(g);
}

/* LAMB's quotient of norms is 1 for a parameter of zeros, and for a step of zeros. */
static void lamb_takes_a_step_from_zero(void **state)
{
    (void)state;
    for (int still = 0; still < 2; still++) {
        wg_graph *g = wg_graph_new();
        wg_value *p = wg_parameter(g, "p", WG_F32, WG_SHAPE(2), still ? wg_ones() : wg_zeros());
        wg_value *d = wg_fill(g, WG_F32, WG_SHAPE(2), still ? 0 : 3);
        wg_optimizer_update(&p, &d, 1, wg_fill(g, WG_F32, WG_SCALAR, 0.5), WG_OPTIMIZER_LAMB, NULL,
                            &(wg_update_options){.norm = wg_global_norm(&d, 1)});
        wg_plan *plan = plan_of(g, NULL);
        check_that(wg_plan_run(plan, 0) == WG_OK, "%s", wg_plan_message(plan));
        double now = (double)wg_plan_f32(plan, p)[1];
        check_that(fabs(now - (still ? 1 : -0.5)) <= 1e-6, "%g", now);
        wg_plan_free(plan);
        wg_graph_free(g);
    }
}

static void numbers_that_cannot_be_are_named(void **state)
{
    (void)state;
    static const struct {
        int kind;
        wg_optimizer_numbers numbers;
        const char *words;
    } cases[] = {
        {WG_OPTIMIZER_LION, {.beta1 = 1}, "lion: beta1: expected a number in [0, 1), got 1"},
        {WG_OPTIMIZER_LION, {.eps = 1e-8}, "eps: Lion does not use it: expected 0, got 1e-08"},
        {WG_OPTIMIZER_ADAGRAD, {.beta2 = 0.9}, "beta2: Adagrad does not use it"},
        {WG_OPTIMIZER_ADAM, {.nesterov = true}, "nesterov: Adam does not use it"},
        {WG_OPTIMIZER_RMSPROP, {.momentum = 1.5}, "momentum: expected a number in [0, 1)"},
        {WG_OPTIMIZER_LAMB, {.eps = -1}, "eps: expected 0 or more, got -1"},
        {WG_OPTIMIZER_LAMB, {.eps = NAN}, "eps: expected 0 or more, got nan"},
        {WG_OPTIMIZER_NADAM, {.momentum_decay = -1}, "nadam: momentum_decay: expected 0 or more"},
        {WG_OPTIMIZER_ADAM, {.momentum_decay = 1}, "momentum_decay: Adam does not use it"},
        {WG_OPTIMIZER_RADAM, {.beta2 = 1}, "radam: beta2: expected a number in [0, 1), got 1"},
        {WG_OPTIMIZER_RPROP, {.beta1 = 0.5}, "beta1: Rprop does not use it"},
        {WG_OPTIMIZER_RPROP, {.eta_minus = 1}, "eta_minus: expected a number in [0, 1), got 1"},
        {WG_OPTIMIZER_RPROP, {.eta_plus = 0.9}, "eta_plus: expected 0 or a number above 1"},
        {WG_OPTIMIZER_RPROP, {.step_min = 1, .step_max = 0.5}, "at most step_max, 0.5, got 1"},
        {WG_OPTIMIZER_RPROP, {.step_max = 1e-7}, "step_min: expected at most step_max, 1e-07"},
        {WG_OPTIMIZER_RPROP + 1, {.eps = 0}, "kind: expected one of wg_optimizer_kind, got 12"},
        {-1, {.eps = 0}, "kind: expected one of wg_optimizer_kind, got -1"},
    };
    for (int i = 0; i < WG_COUNT(cases); i++) {
        net n = begin(WG_F32);
        assert_int_equal(wg_optimizer_update(&n.p, &n.gradient, 1, n.rate,
                                             (wg_optimizer_kind)cases[i].kind, &cases[i].numbers,
                                             NULL),
                         WG_EINVAL);
        check_that(strstr(wg_graph_message(n.g), cases[i].words), "case %d: %s", i,
                   wg_graph_message(n.g));
        end(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizers_agree_with_pytorch),
        cmocka_unit_test(lion_and_lamb_agree_with_plain_loops),
        cmocka_unit_test(nadam_needs_no_product_of_momenta),
        cmocka_unit_test(radam_of_a_small_beta2_is_a_mean),
        cmocka_unit_test(rprop_sees_the_signs_of_small_gradients),
        cmocka_unit_test(lamb_takes_a_step_from_zero),
        cmocka_unit_test(numbers_that_cannot_be_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
