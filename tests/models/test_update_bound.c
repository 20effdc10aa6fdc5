/* The bound of an update: whatever its operands, either all new parameters and moments are finite,
 * or the run is refused and nothing has changed; ordinary updates pass. */
#include "tests/plans.h"
#include "graph/element.h"
#include "wengert/models/optimizer.h"

#include <math.h>

enum { SIZE = 7, LEAVES = 3, CASES = 400 };

typedef struct trial {
    wg_graph *g;
    wg_plan *plan;
    wg_value *gradient, *rate, *leaf[LEAVES]; /* parameter, moments, or NULL */
} trial;

typedef struct kind {
    const char *name;
    wg_optimizer_kind kind;
    const char *states[LEAVES - 1];
    wg_optimizer_numbers numbers;
    double decay;
} kind;

static const kind kinds[] = {
    {.name = "sgd", .kind = WG_OPTIMIZER_SGD},
    {.name = "sgd with momentum and decay",
     .kind = WG_OPTIMIZER_SGD,
     .states = {"sgd/velocity/p"},
     .numbers.momentum = 0.9,
     .decay = 0.1},
    {.name = "nesterov",
     .kind = WG_OPTIMIZER_SGD,
     .states = {"sgd/velocity/p"},
     .numbers = {.momentum = 0.99, .nesterov = true}},
    {.name = "adam", .kind = WG_OPTIMIZER_ADAM, .states = {"adam/m/p", "adam/v/p"}},
    {.name = "adam with decay and a small eps",
     .kind = WG_OPTIMIZER_ADAM,
     .states = {"adam/m/p", "adam/v/p"},
     .numbers = {.beta1 = 0.95, .beta2 = 0.9, .eps = 1e-30},
     .decay = 10},
    {.name = "adamw", .kind = WG_OPTIMIZER_ADAMW, .states = {"adam/m/p", "adam/v/p"}, .decay = 0.1},
    {.name = "rmsprop",
     .kind = WG_OPTIMIZER_RMSPROP,
     .states = {NULL, "rmsprop/square/p"},
     .decay = 0.1},
    {.name = "rmsprop with momentum",
     .kind = WG_OPTIMIZER_RMSPROP,
     .states = {"rmsprop/velocity/p", "rmsprop/square/p"},
     .numbers.momentum = 0.9},
    {.name = "adagrad",
     .kind = WG_OPTIMIZER_ADAGRAD,
     .states = {NULL, "adagrad/square/p"},
     .decay = 0.1},
    {.name = "adadelta",
     .kind = WG_OPTIMIZER_ADADELTA,
     .states = {"adadelta/change/p", "adadelta/square/p"}},
    {.name = "adamax",
     .kind = WG_OPTIMIZER_ADAMAX,
     .states = {"adamax/m/p", "adamax/max/p"},
     .decay = 0.1},
    {.name = "lion", .kind = WG_OPTIMIZER_LION, .states = {"lion/m/p"}, .decay = 10},
    {.name = "nadam",
     .kind = WG_OPTIMIZER_NADAM,
     .states = {"nadam/m/p", "nadam/v/p"},
     .decay = 0.1},
    {.name = "radam",
     .kind = WG_OPTIMIZER_RADAM,
     .states = {"radam/m/p", "radam/v/p"},
     .decay = 0.1},
    {.name = "radam with a large eps",
     .kind = WG_OPTIMIZER_RADAM,
     .states = {"radam/m/p", "radam/v/p"},
     .numbers = {.beta1 = 0.5, .beta2 = 0.9, .eps = 1e6}},
    {.name = "rprop",
     .kind = WG_OPTIMIZER_RPROP,
     .states = {"rprop/gradient/p", "rprop/size/p"},
     .decay = 10},
    {.name = "lamb", .kind = WG_OPTIMIZER_LAMB, .states = {"lamb/m/p", "lamb/v/p"}, .decay = 0.1},
};

static trial trial_of(const kind *k, wg_dtype dtype, const wg_plan_options *options)
{
    trial t = {.g = wg_graph_new()};
    t.leaf[0] = wg_parameter(t.g, "p", dtype, WG_SHAPE(SIZE), wg_zeros());
    t.gradient = wg_input(t.g, "gradient", dtype, WG_SHAPE(SIZE));
    t.rate = wg_input(t.g, "rate", dtype, WG_SCALAR);
    const wg_update_options o = {.weight_decay = k->decay, .norm = wg_global_norm(&t.gradient, 1)};
    wg_optimizer_update(&t.leaf[0], &t.gradient, 1, t.rate, k->kind, &k->numbers, &o);
    for (int i = 1; i < LEAVES; i++)
        t.leaf[i] = k->states[i - 1] ? wg_graph_find(t.g, k->states[i - 1]) : NULL;
    t.plan = plan_of(t.g, options);
    return t;
}

static double uniform(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return (double)(*state >> 8) / (1 << 24);
}

/* What is never negative: second moments. */
static bool is_square(const kind *k, int leaf)
{
    return leaf == 2 || (leaf == 1 && k->kind == WG_OPTIMIZER_ADADELTA);
}

/* Fills v with numbers of magnitude around 10^power; of one sign if `positive`. */
static void fill(const trial *t, const wg_value *v, double power, bool positive, uint32_t *state)
{
    double max = v->dtype == WG_F64 ? 1e308 : 3e38;
    void *data = wg_plan_data(t->plan, v);
    assert_non_null(data);
    for (int64_t i = 0; i < wg_value_count(v); i++) {
        double x = fmin(pow(10, power) * (0.5 + uniform(state)), max);
        wgi_put_element(data, v->dtype, i, !positive && uniform(state) < 0.5 ? -x : x);
    }
}

static bool is_finite(const trial *t)
{
    for (int i = 0; i < LEAVES; i++)
        for (int64_t k = 0; k < SIZE && t->leaf[i]; k++)
            if (!isfinite(wgi_get_element(wg_plan_data(t->plan, t->leaf[i]), t->leaf[i]->dtype, k)))
                return false;
    return true;
}

static void copy_leaves(const trial *t, char to[LEAVES][SIZE * 8])
{
    for (int i = 0; i < LEAVES; i++)
        if (t->leaf[i])
            memcpy(to[i], wg_plan_data(t->plan, t->leaf[i]), wg_value_bytes(t->leaf[i]));
}

/* One update at random magnitudes up to 10^span; true if it was made. */
static bool update(const trial *t, const kind *k, double span, uint32_t *state)
{
    char before[LEAVES][SIZE * 8] = {{0}}, after[LEAVES][SIZE * 8] = {{0}};
    for (int i = 0; i < LEAVES; i++)
        if (t->leaf[i])
            fill(t, t->leaf[i], span * (2 * uniform(state) - 1), is_square(k, i), state);
    fill(t, t->gradient, span * (2 * uniform(state) - 1), false, state);
    fill(t, t->rate, span * (2 * uniform(state) - 1), true, state);
    copy_leaves(t, before);
    wg_status status = wg_plan_run(t->plan, 0);
    char message[600];
    snprintf(message, sizeof message, "%s", wg_plan_message(t->plan));
    copy_leaves(t, after);
    if (status == WG_OK) {
        check_that(is_finite(t), "%s: what is new is not finite", k->name);
        return true;
    }
    const char *word = k->kind == WG_OPTIMIZER_LAMB ? "norm of what is new is " : "bound is ";
    check_that(status == WG_ENONFINITE && strstr(message, word), "%s: %s", k->name, message);
    check_that(memcmp(before, after, sizeof before) == 0, "%s: a refused update changed something",
               k->name);
    return false;
}

static void an_update_is_finite_or_refused(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_BF16};
    static const double spans[] = {38, 300, 38};
    const wg_plan_options ways[] = {{0}, {.reference = true}};
    uint32_t seed = 1;
    for (int i = 0; i < WG_COUNT(kinds); i++)
        for (int d = 0; d < WG_COUNT(dtypes); d++)
            for (int way = 0; way < WG_COUNT(ways); way++) {
                trial t = trial_of(&kinds[i], dtypes[d], &ways[way]);
                int made = 0;
                for (int n = 0; n < CASES; n++)
                    made += update(&t, &kinds[i], spans[d], &seed);
                check_that(made > CASES / 50 && made < CASES, "%s, %s: %d of %d were made",
                           kinds[i].name, wg_dtype_name(dtypes[d]), made, CASES);
                wg_plan_free(t.plan);
                wg_graph_free(t.g);
            }
}

static void an_ordinary_update_is_never_refused(void **state)
{
    (void)state;
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_BF16};
    uint32_t seed = 2;
    for (int i = 0; i < WG_COUNT(kinds); i++)
        for (int d = 0; d < WG_COUNT(dtypes); d++) {
            trial t = trial_of(&kinds[i], dtypes[d], NULL);
            double span = kinds[i].numbers.eps == 1e-30 ? 2 : 8;
            for (int n = 0; n < CASES; n++)
                check_that(update(&t, &kinds[i], span, &seed), "%s, %s: %s", kinds[i].name,
                           wg_dtype_name(dtypes[d]), wg_plan_message(t.plan));
            wg_plan_free(t.plan);
            wg_graph_free(t.g);
        }
}

/* Bytes that an update of LARGE numbers takes beside them and their moments. */
enum { LARGE = 1 << 20 };

static size_t room_of(const kind *k, bool is_checked)
{
    wg_graph *g = wg_graph_new();
    wg_value *p = wg_parameter(g, "p", WG_F32, WG_SHAPE(LARGE), wg_zeros());
    wg_value *d = wg_input(g, "gradient", WG_F32, WG_SHAPE(LARGE)),
             *rate = wg_input(g, "rate", WG_F32, WG_SCALAR);
    const wg_update_options o = {.weight_decay = k->decay,
                                 .norm = is_checked ? wg_global_norm(&d, 1) : NULL};
    wg_optimizer_update(&p, &d, 1, rate, k->kind, &k->numbers, &o);
    wg_plan *plan = plan_of(g, &(wg_plan_options){.threads = 1});
    const size_t bytes = wg_plan_statistics(plan).buffer_bytes;
    wg_plan_free(plan);
    wg_graph_free(g);
    return bytes;
}

/* New values are written over the old ones with the check, too. */
static void a_bound_takes_no_room(void **state)
{
    (void)state;
    int compared = 0;
    for (int i = 0; i < WG_COUNT(kinds); i++) {
        if (kinds[i].kind == WG_OPTIMIZER_LAMB) /* whose results are checked */
            continue;
        const size_t without = room_of(&kinds[i], false), with = room_of(&kinds[i], true);
        check_that(with <= without + (1 << 16), "%s: %zu bytes, %zu without the check",
                   kinds[i].name, with, without);
        compared++;
    }
    assert_true(compared >= 16);
}

static void a_bound_needs_the_range_of_f32(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *p = wg_parameter(g, "p", WG_F16, WG_SHAPE(SIZE), wg_zeros());
    wg_value *rate = wg_input(g, "rate", WG_F16, WG_SCALAR), *norm = wg_global_norm(&p, 1);
    assert_int_equal(wg_adam_update(&p, &p, 1, rate, &(wg_adam_options){.norm = norm}), WG_EDTYPE);
    check_that(strstr(wg_graph_message(g), "needs the range of f32, but parameters are f16") !=
                   NULL,
               "%s", wg_graph_message(g));
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_update_is_finite_or_refused),
        cmocka_unit_test(an_ordinary_update_is_never_refused),
        cmocka_unit_test(a_bound_takes_no_room),
        cmocka_unit_test(a_bound_needs_the_range_of_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
