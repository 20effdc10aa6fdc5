/* batchnorm and groupnorm for each instruction set: planes of all sizes, pieces of planes and
 * pieces of several, few sets and many, vectors, against the definition in a wider type. */
#include "tests/simd.h"

#include <tgmath.h>

/* Sizes, and what the definition makes of the operands. */
typedef struct problem {
    simd_channel_norm a;
    int64_t n, sets;
    wide *y, *mean, *var, *dx, *dgain, *dbias;
} problem;

static wide *wides(int64_t n)
{
    wide *x = calloc((size_t)n + 1, sizeof *x);
    assert_non_null(x);
    return x;
}

static int64_t channel_of(const problem *p, int64_t i)
{
    return i / p->a.size % p->a.channels;
}

/* The set of element i */
static int64_t set_of(const problem *p, int64_t i)
{
    const simd_channel_norm *a = &p->a;
    int64_t c = channel_of(p, i);
    return a->groups ? i / (a->size * a->channels) * a->groups + c / (a->channels / a->groups) : c;
}

static wide gain_of(const problem *p, int64_t i)
{
    return p->a.gain ? (wide)((const real *)p->a.gain)[channel_of(p, i)] : 1;
}

static wide rstd_of(const problem *p, int64_t set)
{
    return 1 / sqrt(p->var[set] + (wide)(real)p->a.eps);
}

static void forward_by_definition(problem *p)
{
    const wide count = (wide)p->n / (wide)p->sets;
    const real *x = p->a.x, *of_bias = p->a.bias;
    for (int64_t i = 0; i < p->n; i++)
        p->mean[set_of(p, i)] += (wide)x[i] / count;
    for (int64_t i = 0; i < p->n; i++)
        p->var[set_of(p, i)] += pow((wide)x[i] - p->mean[set_of(p, i)], 2) / count;
    for (int64_t i = 0; i < p->n; i++) {
        int64_t set = set_of(p, i);
        wide bias = of_bias ? (wide)of_bias[channel_of(p, i)] : 0;
        p->y[i] = ((wide)x[i] - p->mean[set]) * rstd_of(p, set) * gain_of(p, i) + bias;
    }
}

static void backward_by_definition(problem *p)
{
    const wide count = (wide)p->n / (wide)p->sets;
    const real *x = p->a.x, *of_dy = p->a.dy;
    wide *sum = wides(p->sets), *along = wides(p->sets);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < p->n; i++) {
            int64_t set = set_of(p, i);
            wide dy = (wide)of_dy[i], e = dy * gain_of(p, i),
                 h = ((wide)x[i] - p->mean[set]) * rstd_of(p, set);
            if (pass == 1) {
                p->dx[i] = rstd_of(p, set) * (e - sum[set] - h * along[set]);
                continue;
            }
            sum[set] += e / count;
            along[set] += e * h / count;
            p->dgain[channel_of(p, i)] += dy * h;
            p->dbias[channel_of(p, i)] += dy;
        }
    free(sum);
    free(along);
}

/* Errors are shares of the largest number of the result, or of `least`: differences of large
 * numbers may be small. */
static int64_t compare(const real *got, const wide *expected, int64_t n, wide least,
                       const char *what, const char *isa)
{
    const wide share = 33 * (wide)EPSILON;
    wide size = least;
    for (int64_t i = 0; i < n; i++)
        size = fmax(size, fabs(expected[i]));
    for (int64_t i = 0; i < n; i++) {
        wide error = fabs((wide)got[i] - expected[i]);
        if (!(error <= share * size))
            fail_msg("%s, %s[%lld]: %.17g, expected %.17g", isa, what, (long long)i, (double)got[i],
                     (double)expected[i]);
    }
    return n;
}

/* The kernels: by planes; and batchnorm of short planes by columns, groupnorm by runs. */
enum { WAYS = 2 };
static bool has_way(const problem *p, int way)
{
    return p->a.groups || (way ? p->a.size <= SIMD_COLUMN_NORM_COLUMNS : p->a.size > 1);
}

static void run_way(int way, const simd_float_table *k, simd_channel_norm *a)
{
    if (!way) {
        k->channel_norm_forward(a);
        k->channel_norm_backward(a);
    } else if (a->groups) {
        k->group_runs_forward(a);
        k->group_runs_backward(a);
    } else {
        k->column_norm_forward(a);
        k->column_norm_backward(a);
    }
}

/* y mean spread dx dgain dbias, the caller's to free; sizes[] says how long they are. */
enum { RESULTS = 6 };
static void run_both(const problem *p, int way, const simd_table *table, int threads,
                     const int64_t sizes[RESULTS], real *results[RESULTS])
{
    simd_channel_norm a = p->a;
    for (int i = 0; i < RESULTS; i++)
        results[i] = room(sizes[i]);
    a.threads = threads;
    a.y = results[0], a.mean = results[1], a.spread = results[2];
    a.dx = results[3], a.dgain = results[4], a.dbias = results[5];
    int64_t doubles = way && a.groups ? simd_group_runs_scratch(&a, threads, sizeof(real))
                                      : simd_channel_norm_scratch(&a);
    double *scratch = malloc((size_t)doubles * sizeof *scratch);
    assert_non_null(scratch);
    a.scratch = scratch;
    run_way(way, floats_of(table), &a);
    free(scratch);
}

static int64_t compare_all(const problem *p, real *const r[RESULTS], const char *isa)
{
    int64_t channels = p->a.channels;
    wide *spread = wides(p->sets);
    for (int64_t k = 0; k < p->sets; k++)
        spread[k] = p->a.groups ? rstd_of(p, k) : p->var[k];
    /* The mean is 3 and rounded to its type: each of a channel's terms, which cancel, errs
     * by that. */
    wide terms = 0.1 * (wide)p->n / (wide)channels;
    int64_t compared = compare(r[0], p->y, p->n, 0, "y", isa) +
                       compare(r[1], p->mean, p->sets, 0, "mean", isa) +
                       compare(r[2], spread, p->sets, 1e-3, "spread", isa) +
                       compare(r[3], p->dx, p->n, 0.1, "dx", isa) +
                       compare(r[4], p->dgain, channels, terms, "dgain", isa) +
                       compare(r[5], p->dbias, channels, terms, "dbias", isa);
    free(spread);
    return compared;
}

/* Operands with a mean of some deviations, gain and bias as `variant` says. */
static problem new_problem(setting *s, const int64_t size[4], int variant)
{
    problem p = {.a = {.examples = size[0],
                       .channels = size[1],
                       .size = size[2],
                       .groups = size[3],
                       .eps = 1e-5}};
    p.n = size[0] * size[1] * size[2];
    p.sets = size[3] ? size[0] * size[3] : size[1];
    real *x = numbers(s, p.n);
    for (int64_t i = 0; i < p.n; i++)
        x[i] += 3;
    p.a.x = x;
    p.a.dy = numbers(s, p.n);
    p.a.gain = variant > 0 ? numbers(s, size[1]) : NULL;
    p.a.bias = variant > 1 ? numbers(s, size[1]) : NULL;
    p.y = wides(p.n), p.dx = wides(p.n), p.mean = wides(p.sets), p.var = wides(p.sets);
    p.dgain = wides(size[1]), p.dbias = wides(size[1]);
    forward_by_definition(&p);
    backward_by_definition(&p);
    return p;
}

static void free_problem(problem *p)
{
    const void *operands[] = {p->a.x, p->a.dy, p->a.gain, p->a.bias};
    for (int i = 0; i < 4; i++)
        free((void *)(uintptr_t)operands[i]);
    wide *const own[] = {p->y, p->dx, p->mean, p->var, p->dgain, p->dbias};
    for (int i = 0; i < 6; i++)
        free(own[i]);
}

static int64_t check(setting *s, const int64_t size[4], int variant)
{
    problem p = new_problem(s, size, variant);
    const int64_t sizes[RESULTS] = {p.n, p.sets, p.sets, p.n, size[1], size[1]};
    int64_t compared = 0;
    for (int t = 0; t < WAYS * s->n_tables; t++) {
        const simd_table *table = s->table[t / WAYS];
        const char *isa = table->isa;
        real *one[RESULTS], *more[RESULTS];
        if (!has_way(&p, t % WAYS))
            continue;
        run_both(&p, t % WAYS, table, 1, sizes, one);
        run_both(&p, t % WAYS, table, 3, sizes, more);
        compared += compare_all(&p, one, isa);
        for (int i = 0; i < RESULTS; i++) {
            check_that(memcmp(one[i], more[i], (size_t)sizes[i] * sizeof(real)) == 0,
                       "%s, result %d: other bits on three threads", isa, i);
            free_room(one[i], sizes[i]);
            free_room(more[i], sizes[i]);
        }
    }
    free_problem(&p);
    return compared;
}

/* examples, channels, size, groups (0: batchnorm) */
static const int64_t sizes[][4] = {
    {3, 5, 7, 0},    {70, 3, 33, 0},  {1, 3, 9001, 0},  {700, 2, 9, 0},   {2, 40, 64, 0},
    {2, 4, 100, 2},  {2, 6, 4097, 3}, {1, 1, 20000, 1}, {9, 8, 16, 8},    {1, 64, 50, 1},
    {3, 16, 2, 4},   {300, 20, 1, 0}, {5, 130, 1, 0},   {130, 400, 1, 0}, {2, 1, 1, 0},
    {65, 48, 1, 3},  {130, 16, 3, 2}, {200, 64, 3, 8},  {3, 96, 60, 2},   {2, 512, 30, 1},
    {140, 33, 2, 0}, {20, 9, 48, 0},  {300, 40, 7, 0},
};

static void sets_are_normalised(void **state)
{
    (void)state;
    setting s = all_tables();
    int64_t compared = 0;
    for (int k = 0; k < WG_COUNT(sizes); k++)
        for (int variant = 0; variant < 3; variant++)
            compared += check(&s, sizes[k], variant);
    print_message("%lld elements\n", (long long)compared);
    assert_true(compared > 1000000);
}

/* A NaN, or an infinity, spoils its own set and no other. */
static void a_bad_number_stays_in_its_set(void **state)
{
    (void)state;
    setting s = all_tables();
    int64_t bad_elements = 0;
    for (int k = 0; k < WG_COUNT(sizes); k++)
        for (int t = 0; t < WAYS * s.n_tables; t++) {
            problem p = new_problem(&s, sizes[k], 2);
            if (!has_way(&p, t % WAYS)) {
                free_problem(&p);
                continue;
            }
            const int64_t n[RESULTS] = {p.n, p.sets, p.sets, p.n, sizes[k][1], sizes[k][1]};
            int64_t at = p.n / 3;
            real *r[RESULTS], *x = (real *)(uintptr_t)p.a.x;
            x[at] = k % 2 ? NAN : INFINITY;
            run_both(&p, t % WAYS, s.table[t / WAYS], 2, n, r);
            for (int64_t i = 0; i < p.n; i++) {
                bool is = set_of(&p, i) == set_of(&p, at);
                assert_int_equal(isnan(r[0][i]) != 0, is);
                assert_int_equal(isnan(r[3][i]) != 0, is);
                bad_elements += is;
            }
            for (int i = 0; i < RESULTS; i++)
                free_room(r[i], n[i]);
            free_problem(&p);
        }
    assert_true(bad_elements > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_normalised),
        cmocka_unit_test(a_bad_number_stays_in_its_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
