/* Random ops, each on every backend, against the reference: shapes (empty, of one element, odd,
 * broadcast, scalars), attributes, dtypes, operands that are views, numbers of threads and results
 * in place of operands are drawn; the bounds are those of test_conformance and test_half.
 *
 *     test_random_ops [COUNT [FIRST]]      the cases FIRST, FIRST + 1, ...
 *
 * A case depends on its number only, so a message with a number is a case to run again. */
#include "graph/mix.h"
#include "tests/bounds.h"
#include "tests/half.h"
#include "wengert/backends/lapack.h"

#include <time.h>

enum { SOME = 3000, MAX_THREADS = 4, SHOWN = 20, MAX_TURN = 64 };
enum { DRAWS = 8, MAGNIFIED = 16 };
static const double max_flops = 2e6;

static int64_t cases_to_run = SOME, first_case = 1;

/* What was done. */
typedef struct tally {
    const wg_backend_list built;
    conf_device device[WG_MAX_BACKENDS][MAX_THREADS];
    int64_t drawn, refused, cases; /* cases; of them refused by a shape rule, and compared */
    int64_t of_dtype[WG_DTYPE_COUNT], viewed, empty;                  /* of those compared */
    int64_t kernels[WG_MAX_BACKENDS + 1], plans[WG_MAX_BACKENDS + 1]; /* the last: all backends */
    int64_t elements;
    int64_t judged, magnified; /* results compared; of them beyond their bounds */
    int failures;
} tally;

static size_t draw(uint64_t *seed, size_t n)
{
    return (size_t)(wgi_splitmix64(seed) % n);
}

/* ---- proposing ------------------------------------------------------------------------------- */

/* One attribute becomes another of its kind; the shape rule judges it. */
static void vary_attribute(const wg_op *op, char *attrs, uint64_t *seed)
{
    const wg_attr *a = &op->attrs[draw(seed, (size_t)op->n_attrs)];
    static const double factors[] = {0.5, 1, 2};
    char *field = attrs + a->offset;
    wg_axes axes = {.count = (int)draw(seed, 3)};
    int names = 0;
    for (int i = 0; i < axes.count; i++)
        axes.axis[i] = (int)draw(seed, 6) - 3;
    while (a->kind == WG_ATTR_ENUM && a->names[names])
        names++;
    switch (a->kind) {
    case WG_ATTR_BOOL: *(bool *)field = draw(seed, 2) != 0; break;
    case WG_ATTR_ENUM: *(int *)(void *)field = (int)draw(seed, (size_t)names); break;
    case WG_ATTR_REAL: *(double *)(void *)field *= factors[draw(seed, 3)]; break;
    case WG_ATTR_AXES: memcpy(field, &axes, sizeof axes); break;
    case WG_ATTR_INT:
    case WG_ATTR_AXIS:
    case WG_ATTR_KEY: *(uint64_t *)(void *)field += draw(seed, 5) - 2; break;
    default: break; /* shapes follow those of the operands; texts and data stay */
    }
}

static const wg_op *draw_op(uint64_t *seed)
{
    size_t n = 0;
    while (wg_op_at(n))
        n++;
    for (;;) {
        const wg_op *op = wg_op_at(draw(seed, n));
        if (!(op->flags & WG_OP_LEAF) && op->n_samples)
            return op;
    }
}

/* A case without numbers; false, and nothing to free, if there is none. */
static bool propose(conf_case *c, uint64_t *seed)
{
    const wg_op *op = draw_op(seed), *from = conf_source_of(op);
    int n = 0, turn = 1 + (int)draw(seed, MAX_TURN);
    while (conf_sample_of(from, n))
        n++;
    if (!conf_case_of(op, conf_sample_of(from, (int)draw(seed, (size_t)n)), turn, seed, c))
        return false;
    if (c->sample.attrs && op->n_attrs && draw(seed, 3) == 0)
        vary_attribute(op, (void *)(uintptr_t)c->sample.attrs, seed);
    return true;
}

/* The dtype of the operands whose dtype is open. */
static wg_dtype draw_dtype(uint64_t *seed)
{
    static const wg_dtype dtypes[] = {WG_F32, WG_F32,  WG_F32, WG_F32, WG_F32,
                                      WG_F32, WG_BF16, WG_F16, WG_F64, WG_I64};
    return dtypes[draw(seed, WG_COUNT(dtypes))];
}

/* Half of the cases on one thread, which is faster. */
static int draw_threads(uint64_t *seed)
{
    return draw(seed, 2) ? 1 : 1 + (int)draw(seed, MAX_THREADS);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* One case and what it is compared with. */
typedef struct trial_of {
    int64_t number;
    conf_case c;
    conf_way way; /* of its plans */
    op_bound bound;
    conf_results truth;
} trial_of;

static const half_format *half_of(wg_dtype dtype)
{
    return dtype == WG_BF16 ? &halves[0] : dtype == WG_F16 ? &halves[1] : NULL;
}

/* The 8-bit integers that the reference makes of f32 are those of all backends; of f64 they may be
 * others. */
static wg_dtype truth_dtype(const conf_case *c, wg_dtype dtype)
{
    const bool quantises = strncmp(c->op->name, "quantize", 8) == 0;
    return !wg_dtype_is_float(dtype) || (quantises && dtype == WG_F32) ? dtype : WG_F64;
}

static void complain(tally *t, const trial_of *r, const char *who, const char *what, double error,
                     double tolerance)
{
    if (t->failures++ >= SHOWN)
        return;
    print_error("case %lld: %s(", (long long)r->number, r->c.op->name);
    for (int i = 0; i < r->c.sample.n_in; i++) {
        char shape[64];
        print_error("%s%s", i ? ", " : "",
                    wg_shape_text(&r->c.sample.in[i].shape, shape, sizeof shape));
    }
    print_error(") in %s on %s: %s, error %.3g > %.3g\n", wg_dtype_name(r->way.dtype), who, what,
                error, tolerance);
}

/* The error of each result. */
static void errors_of(const trial_of *r, const conf_results *y, double error[CONF_RESULTS])
{
    const half_format *half = half_of(r->way.dtype);
    if (half)
        bound_shares_of_half(half, &r->bound, y, &r->truth, error);
    else
        bound_errors(&r->bound, &r->c, y, &r->truth, error);
}

static double tolerance_of(const trial_of *r)
{
    if (half_of(r->way.dtype))
        return 1;
    if (r->way.dtype == WG_F64) /* the same multiples of its own precision */
        return r->bound.tolerance * (r->bound.kind == BOUND_RELATIVE ? 0x1p-29 : 0x1p-58);
    return r->bound.tolerance;
}

static bool run_reference(const conf_case *c, wg_dtype dtype, conf_results *y)
{
    const conf_way way = {dtype, 0, {.reference = true, .threads = 1}};
    return conf_run_way(c, &way, y, NULL, NULL);
}

/* ---- cases that magnify rounding errors ------------------------------------------------------ */

/* Moves each float operand by that many roundings of f32, up or down; zeros stay. */
static void nudge(conf_case *c, int roundings, uint64_t *seed)
{
    for (int i = 0; i < c->sample.n_in; i++)
        for (int64_t k = 0; !c->sample.in[i].dtype && k < wg_shape_count(&c->sample.in[i].shape);
             k++) {
            float *x = (float *)c->data[i] + k, to = draw(seed, 2) ? INFINITY : -INFINITY;
            for (int n = 0; n < roundings && *x != 0; n++)
                *x = nextafterf(*x, to);
        }
}

static void save_numbers(const conf_case *c, void **saved, bool restore)
{
    for (int i = 0; i < c->sample.n_in; i++) {
        const wg_sample_operand *o = &c->sample.in[i];
        const size_t bytes =
            (size_t)wg_shape_count(&o->shape) * wg_dtype_size(o->dtype ? o->dtype : WG_F32);
        if (!restore)
            saved[i] = malloc(bytes + 1);
        assert_non_null(saved[i]);
        memcpy(restore ? c->data[i] : saved[i], restore ? saved[i] : c->data[i], bytes);
        if (restore)
            free(saved[i]);
    }
}

/* The reference on operands that are moved by that many roundings; with bf16 and f16 in f32, in
 * which plans compute. */
static bool run_nudged(const trial_of *r, int roundings, uint64_t *seed, conf_results *y)
{
    void *saved[WG_MAX_SAMPLE_OPERANDS];
    conf_case c = r->c; /* whose numbers are r's */
    save_numbers(&c, saved, false);
    nudge(&c, roundings, seed);
    const wg_dtype dtype = half_of(r->way.dtype) ? WG_F32 : r->way.dtype;
    bool ran = run_reference(&c, dtype, y);
    save_numbers(&c, saved, true);
    return ran;
}

/* The bounds hold for numbers that do not magnify rounding errors, which chance alone does not
 * promise: a sum may cancel, a triangular system be nearly singular.  What one rounding does to
 * such a case is measured: the largest error of the reference itself, over some draws in which each
 * operand is rounded to a neighbour. */
static void measure_noise(const trial_of *r, double noise[CONF_RESULTS])
{
    uint64_t seed = 1;
    double error[CONF_RESULTS];
    memset(noise, 0, CONF_RESULTS * sizeof *noise);
    for (int k = 0; k < DRAWS; k++) {
        conf_results y;
        bool ran = run_nudged(r, 1, &seed, &y);
        if (ran)
            errors_of(r, &y, error);
        for (int i = 0; ran && i < y.n; i++)
            noise[i] = fmax(noise[i], error[i]);
        conf_results_free(&y);
    }
}

/* Which of two equal numbers is the larger one depends on rounding: each integer of result i must
 * be one that the reference makes on operands that are moved a little. */
static bool is_near_tie(const trial_of *r, const conf_results *y, int i)
{
    uint64_t seed = 1;
    int64_t unexplained = y->count[i];
    bool *explained = calloc((size_t)y->count[i] + 1, sizeof *explained);
    assert_non_null(explained);
    for (int k = 0; k <= 2 * DRAWS && unexplained; k++) {
        conf_results other;
        bool ran = run_nudged(r, k ? MAGNIFIED : 0, &seed, &other);
        for (int64_t at = 0; ran && at < y->count[i]; at++)
            if (!explained[at] && wgi_get_element(y->data[i], y->dtype[i], at) ==
                                      wgi_get_element(other.data[i], other.dtype[i], at)) {
                explained[at] = true;
                unexplained--;
            }
        conf_results_free(&other);
    }
    free(explained);
    return unexplained == 0;
}

/* Sums in f32 have several roundings where the reference, which adds in double, has one. */
static bool is_noise(const trial_of *r, const conf_results *y, int i, double error, double noise)
{
    const bool squares = r->bound.kind == BOUND_MEAN_SQUARE || r->bound.kind == BOUND_PRODUCT;
    if (isfinite(noise) && error <= (squares ? MAGNIFIED * MAGNIFIED : MAGNIFIED) * noise)
        return true;
    return r->way.dtype == WG_F32 && bound_of_small(&r->bound, &r->c, y, &r->truth, i);
}

/* The results of a backend in the dtype of the case against the truth. */
static void judge(tally *t, const trial_of *r, const char *who, const conf_results *y)
{
    const double tolerance = tolerance_of(r);
    double error[CONF_RESULTS] = {0}, noise[CONF_RESULTS];
    char what[64];
    bool measured = false;
    t->judged++;
    errors_of(r, y, error);
    for (int i = 0; i < y->n; i++) {
        if (error[i] <= tolerance)
            continue;
        if (!measured)
            measure_noise(r, noise);
        t->magnified += !measured;
        measured = true;
        snprintf(what, sizeof what, "result %d, where roundings make %.3g", i, noise[i]);
        const bool real = wg_dtype_is_float(y->dtype[i]);
        if (!(tolerance > 0 &&
              (real ? is_noise(r, y, i, error[i], noise[i]) : is_near_tie(r, y, i))))
            complain(t, r, who, what, error[i], tolerance);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

/* The kernel of backend b between guards, perhaps in place of operands: f32 only. */
static bool run_kernel(tally *t, const trial_of *r, size_t b, uint64_t *seed)
{
    const conf_device *d = &t->device[b][draw_threads(seed) - 1];
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    conf_results y;
    const wg_node *n = conf_build(g, &r->c, WG_F32, in);
    bool taken = conf_run_kernel(d, &r->c, n, (int)draw(seed, 4), &y, NULL);
    if (taken)
        judge(t, r, d->backend->name, &y);
    t->kernels[b] += taken;
    conf_results_free(&y);
    wg_graph_free(g);
    return taken;
}

/* A plan that asks backend b first, or all of them if b is past the last; it may refuse numbers,
 * such as an id outside its range, where the reference does. */
static void run_plan(tally *t, trial_of *r, size_t b)
{
    const wg_backend *const *list = b < t->built.count ? &t->built.backend[b] : t->built.backend;
    char kernel[64] = "";
    int used = 0;
    conf_results y;
    r->way.options.backends = list;
    r->way.options.n_backends = b < t->built.count ? 1 : t->built.count;
    const char *who = b < t->built.count ? list[0]->name : "all backends";
    if (conf_run_way(&r->c, &r->way, &y, &used, kernel))
        judge(t, r, who, &y);
    else
        complain(t, r, who, "refused", 1, 0);
    t->plans[b] += used > 0;
    conf_results_free(&y);
}

static int64_t elements_of(const conf_results *r)
{
    int64_t n = 0;
    for (int i = 0; i < r->n; i++)
        n += r->count[i];
    return n;
}

static void run_on_all(tally *t, trial_of *r, uint64_t *seed)
{
    const bool plain = r->way.dtype == WG_F32 && draw(seed, 2) != 0;
    for (size_t b = 0; b < t->built.count; b++) {
        bool taken = plain && run_kernel(t, r, b, seed);
        if (!taken && (!plain || r->c.op->expand))
            run_plan(t, r, b);
    }
    if (!plain)
        run_plan(t, r, t->built.count);
    const int64_t elements = elements_of(&r->truth);
    t->cases++;
    t->elements += elements;
    t->empty += elements == 0;
    t->viewed += !plain && r->way.views != 0;
    t->of_dtype[r->way.dtype]++;
}

/* Whether the case is legal and cheap. */
static bool is_legal(const trial_of *r)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    const wg_node *n = conf_is_small(&r->c) ? conf_build(g, &r->c, r->way.dtype, in) : NULL;
    bool legal = n && wg_node_flops(n) <= max_flops;
    wg_graph_free(g);
    return legal;
}

static void run_case(tally *t, int64_t number)
{
    uint64_t seed = wgi_mix64((uint64_t)number); /* far from that of the next number */
    trial_of r = {.number = number};
    if (!propose(&r.c, &seed))
        return;
    t->drawn++;
    r.bound = bound_of(r.c.op);
    r.way.dtype = draw_dtype(&seed);
    r.way.views = draw(&seed, 2) ? wgi_splitmix64(&seed) : 0;
    r.way.options.threads = draw_threads(&seed);
    r.way.options.poison = draw(&seed, 2) != 0;
    r.way.options.no_inplace = draw(&seed, 4) == 0;
    if (is_legal(&r)) {
        r.c.whole = !wg_dtype_is_float(r.way.dtype) ||
                    (r.bound.kind == BOUND_PRODUCT && draw(&seed, 2) != 0);
        conf_fill(&r.c, r.bound.lo, r.bound.hi, &seed);
        if (half_of(r.way.dtype))
            bound_round_operands(half_of(r.way.dtype), &r.c);
        const wg_dtype dtype = truth_dtype(&r.c, r.way.dtype);
        if (run_reference(&r.c, dtype, &r.truth))
            run_on_all(t, &r, &seed);
        conf_results_free(&r.truth);
    } else {
        t->refused++;
    }
    conf_free(&r.c);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void print_tally(const tally *t, double seconds)
{
    print_message("%lld ops drawn, %lld refused, %lld compared: %lld elements, %lld without any, "
                  "%lld of views; %.0f ops/s\n",
                  (long long)t->drawn, (long long)t->refused, (long long)t->cases,
                  (long long)t->elements, (long long)t->empty, (long long)t->viewed,
                  (double)t->cases / seconds);
    for (size_t b = 0; b <= t->built.count; b++)
        print_message("%s: %lld kernels, %lld plans that are not all of cpu\n",
                      b < t->built.count ? t->built.backend[b]->name : "all backends",
                      (long long)t->kernels[b], (long long)t->plans[b]);
    print_message("%lld of %lld results magnify rounding errors beyond their bounds\n",
                  (long long)t->magnified, (long long)t->judged);
    for (int d = 1; d < WG_DTYPE_COUNT; d++)
        if (t->of_dtype[d])
            print_message("%s: %lld\n", wg_dtype_name(d), (long long)t->of_dtype[d]);
}

static void random_ops_are_those_of_the_reference(void **state)
{
    (void)state;
    tally t = {.built = wg_backend_list_built_in()};
    struct timespec from, to;
    for (size_t b = 0; b < t.built.count; b++)
        for (int k = 0; k < MAX_THREADS; k++)
            t.device[b][k] = conf_open(t.built.backend[b], k + 1);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int64_t i = first_case; t.cases < cases_to_run; i++)
        run_case(&t, i);
    clock_gettime(CLOCK_MONOTONIC, &to);
    print_tally(&t, (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
    for (size_t b = 0; b < t.built.count; b++)
        for (int k = 0; k < MAX_THREADS; k++)
            conf_close(&t.device[b][k]);
    for (size_t b = 0; b < t.built.count && cases_to_run >= SOME; b++)
        check_that(t.kernels[b] > 0, "no kernel of %s was compared", t.built.backend[b]->name);
    check_that(t.magnified * 1000 <= t.judged || t.judged < SOME,
               "%lld of %lld results beyond their bounds: too many", (long long)t.magnified,
               (long long)t.judged);
    check_that(t.failures == 0, "%d differences", t.failures);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_ops_are_those_of_the_reference)};
    if (argc > 1)
        cases_to_run = strtoll(argv[1], NULL, 10);
    if (argc > 2)
        first_case = strtoll(argv[2], NULL, 10);
    return cases_to_run > 0 ? cmocka_run_group_tests(tests, NULL, NULL) : 2;
}
