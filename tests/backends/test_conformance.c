/* Every op of the table that has a float result, on at least 50 cases (20 under a sanitizer): the
 * f32 kernels of each built-in backend against the cpu backend in f64.  What a backend refuses, but
 * whose expansion it computes, is compared as a plan. */
#include "tests/bounds.h"
#include "wengert/backends/lapack.h"
#include "wengert/backends/load.h"

enum { MIN_CASES = SANITIZED ? 20 : 50, MAX_TURNS = 12000 };

/* The largest share of zeros that still says something: 30 %, or the other triangle of a factor.
 * An op that writes zeros must not pass. */
static double max_zeros(const wg_op *op)
{
    return op == &wg_op_cholesky ? 0.5 : 0.3;
}

static bool too_many_zeros(const wg_op *op, const conf_results *truth)
{
    int64_t zeros = 0, total = 0;
    for (int i = 0; i < truth->n; i++)
        if (wg_dtype_is_float(truth->dtype[i])) {
            total += truth->count[i];
            for (int64_t k = 0; k < truth->count[i]; k++)
                zeros += wgi_get_element(truth->data[i], truth->dtype[i], k) == 0;
        }
    return (double)zeros > max_zeros(op) * (double)total;
}

static int64_t total_of(const conf_results *r)
{
    int64_t total = 0;
    for (int i = 0; i < r->n; i++)
        total += r->count[i];
    return total;
}

/* ---- one row of the table -------------------------------------------------------------------- */

typedef struct column {
    int cases, empty, failures;
    int64_t elements;
    double worst;
    char kernels[128]; /* their names */
} column;

typedef struct row {
    const wg_op *op;
    op_bound bound;
    column column[WG_MAX_BACKENDS]; /* of each backend, as in devices */
} row;

static void note_kernel(column *col, const char *op, const char *name)
{
    size_t used = strlen(col->kernels);
    if (strstr(name, "ref") && col->failures++ < 3) /* right, but up to 600 times as slow */
        print_error("%s: a reference kernel is taken: %s\n", op, name);
    if (name[0] && !strstr(col->kernels, name))
        snprintf(col->kernels + used, sizeof col->kernels - used, used ? ", %s" : "%s", name);
}

static void describe(const conf_case *c, char *text, size_t size)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < c->sample.n_in && at < size; i++) {
        at += (size_t)snprintf(text + at, size - at, "[");
        for (int k = 0; k < c->sample.in[i].shape.rank && at < size; k++)
            at += (size_t)snprintf(text + at, size - at, k ? ",%lld" : "%lld",
                                   (long long)c->sample.in[i].shape.dim[k]);
        at += at < size ? (size_t)snprintf(text + at, size - at, "] ") : 0;
    }
}

static void judge(const row *r, column *col, const char *who, const conf_case *c,
                  const conf_results *y, const conf_results *truth, bool sparse)
{
    int64_t total = total_of(truth);
    char shapes[256];
    describe(c, shapes, sizeof shapes);
    double errors[CONF_RESULTS];
    bound_errors(&r->bound, c, y, truth, errors);
    for (int i = 0; i < truth->n; i++) {
        const double error = errors[i];
        col->worst = error <= col->worst ? col->worst : error;
        if (error <= r->bound.tolerance)
            continue;
        if (col->failures++ < 3)
            print_error("%s on %s, %s(%s), result %d: error %.3g > %.3g\n", r->op->name, who,
                        c->sample.name ? c->sample.name : "sample", shapes, i, error,
                        r->bound.tolerance);
    }
    if (!total)
        col->empty++;
    else if (!sparse)
        col->cases++, col->elements += total;
}

static void same_bits(const row *r, column *col, const char *what, const conf_results *a,
                      conf_results *b)
{
    if (!conf_same_bits(a, b) && col->failures++ < 3)
        print_error("%s by %s: other bits %s\n", r->op->name, col->kernels, what);
    conf_results_free(b);
}

/* The built-in backends, each with one thread and with two; the last is cpu. */
typedef struct devices {
    conf_device one[WG_MAX_BACKENDS], two[WG_MAX_BACKENDS];
    int count;
} devices;

/* The kernel again: in place, once more, and, where the backend promises the same bits for it, on
 * another number of threads. */
static void repeat(const devices *d, int i, const row *r, column *col, const conf_case *c,
                   const wg_node *n, const conf_results *first)
{
    conf_results again;
    const int ways = n->op->flags & WG_OP_UPDATE ? n->n_in : 1;
    for (int way = 1; way <= ways; way++)
        if (conf_run_kernel(&d->two[i], c, n, way, &again, NULL))
            same_bits(r, col, "in place", first, &again);
    if (conf_run_kernel(&d->two[i], c, n, 0, &again, NULL))
        same_bits(r, col, "when run again", first, &again);
    if (d->two[i].backend->reproducible == WG_ANY_THREADS &&
        conf_run_kernel(&d->one[i], c, n, 0, &again, NULL))
        same_bits(r, col, "on one thread", first, &again);
}

/* Backend i's kernel for n or, if it has none, its plan of the expansion. */
static void run_on(const devices *d, int i, row *r, const conf_case *c, const wg_node *n,
                   const conf_results *truth, bool sparse)
{
    column *col = &r->column[i];
    const wg_backend *backend = d->two[i].backend;
    bool is_cpu = i == d->count - 1;
    char kernel[64] = "";
    int used = is_cpu; /* which computes whatever it is given */
    conf_results y = {.n = 0};
    if (col->cases >= 2 * MIN_CASES)
        return;
    bool direct = conf_run_kernel(&d->two[i], c, n, 0, &y, kernel);
    if (!direct && (is_cpu || r->op->expand))
        conf_run_plan(c, WG_F32, is_cpu ? NULL : backend, &y, is_cpu ? NULL : &used, kernel);
    if (direct || used) {
        note_kernel(col, r->op->name, is_cpu ? "" : kernel);
        judge(r, col, backend->name, c, &y, truth, sparse);
    }
    if (direct)
        repeat(d, i, r, col, c, n, &y);
    conf_results_free(&y);
}

static void run_case(const devices *d, row *r, conf_case *c)
{
    conf_results truth;
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    wg_node *n = conf_build(g, c, WG_F32, in);
    if (n && conf_run_plan(c, WG_F64, NULL, &truth, NULL, NULL)) {
        bool sparse = too_many_zeros(r->op, &truth);
        for (int i = 0; i < d->count; i++)
            run_on(d, i, r, c, n, &truth, sparse);
        conf_results_free(&truth);
    }
    wg_graph_free(g);
}

/* ---- all rows -------------------------------------------------------------------------------- */

static bool enough(const devices *d, const row *r)
{
    for (int i = 0; i < d->count; i++) {
        const column *c = &r->column[i];
        bool takes = c->cases + c->empty > 0 || i == d->count - 1;
        if (takes && c->cases < MIN_CASES)
            return false;
    }
    return true;
}

static void run_row(const devices *d, row *r)
{
    const wg_op *from = conf_source_of(r->op);
    const wg_sample *s;
    uint64_t seed = 11;
    for (int turn = 0; turn < MAX_TURNS && !enough(d, r); turn++)
        for (int k = 0; (s = conf_sample_of(from, k)); k++) {
            conf_case c;
            if (!conf_case_of(r->op, s, turn, &seed, &c))
                continue;
            c.whole = turn % 2 && r->bound.kind == BOUND_PRODUCT;
            if (conf_is_small(&c)) {
                conf_fill(&c, r->bound.lo, r->bound.hi, &seed);
                run_case(d, r, &c);
            }
            conf_free(&c);
        }
}

static void print_column(const column *c)
{
    if (c->cases + c->empty)
        print_message(" %5d %5d %9lld %8.1e", c->cases, c->empty, (long long)c->elements, c->worst);
    else
        print_message(" %30s", "");
}

static bool float_result(const wg_op *op)
{
    for (int k = 0; k < op->n_samples; k++) {
        wg_graph *g = wg_graph_new();
        wg_value *in[WG_MAX_SAMPLE_OPERANDS];
        conf_case c = {.op = op, .sample = op->samples[k]};
        wg_node *n = conf_build(g, &c, WG_F32, in);
        bool yes = n && n->out[0]->dtype == WG_F32;
        wg_graph_free(g);
        if (yes)
            return true;
    }
    return false;
}

static devices open_devices(void)
{
    const wg_backend_list built = wg_backend_list_built_in();
    devices d = {.count = (int)built.count};
    for (int i = 0; i < d.count; i++) {
        d.one[i] = conf_open(built.backend[i], 1);
        d.two[i] = conf_open(built.backend[i], 2);
    }
    return d;
}

static void close_devices(devices *d)
{
    for (int i = 0; i < d->count; i++) {
        conf_close(&d->one[i]);
        conf_close(&d->two[i]);
    }
}

/* How many ops a backend must have computed, if only parts of their expansions.  Of few cases none
 * may have matrices as large as LAPACK's. */
static int min_claimed(const wg_backend *b)
{
    return b == wg_lapack_backend() ? (SANITIZED ? 5 : 12) : 10;
}

static void print_head(const devices *d)
{
    print_message("%-20s", "");
    for (int i = 0; i < d->count; i++)
        print_message(" %30s", d->two[i].backend->name);
    print_message("  kernels\n%-20s", "op");
    for (int i = 0; i < d->count; i++)
        print_message(" %5s %5s %9s %8s", "cases", "empty", "elements", "error");
    print_message("\n");
}

static void every_op_is_right(void **state)
{
    (void)state;
    devices d = open_devices();
    int failures = 0, rows = 0, claimed[WG_MAX_BACKENDS] = {0};
    const wg_op *op;
    print_head(&d);
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        if (!float_result(op))
            continue;
        row r = {.op = op, .bound = bound_of(op)};
        run_row(&d, &r);
        print_message("%-20s", op->name);
        for (int k = 0; k < d.count; k++) {
            print_column(&r.column[k]);
            failures += r.column[k].failures;
            claimed[k] += r.column[k].cases > 0;
        }
        for (int k = 0; k < d.count; k++)
            print_message("  %s", r.column[k].kernels);
        print_message("\n");
        if (!enough(&d, &r)) {
            print_error("%s: fewer than %d cases\n", op->name, MIN_CASES);
            failures++;
        }
        rows++;
    }
    for (int k = 0; k < d.count; k++) {
        print_message("%d ops on %s\n", claimed[k], d.two[k].backend->name);
        assert_true(claimed[k] >= min_claimed(d.two[k].backend));
    }
    close_devices(&d);
    assert_true(rows > 80);
    check_that(failures == 0, "%d failures", failures);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_is_right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
