#include "tests/fuzz/exercise.h"
#include "graph/text_buffer.h"
#include "tests/bounds.h"
#include "tests/fuzz/fuzz.h"
#include "tests/sample.h"
#include "wengert/autograd/grad.h"
#include "wengert/ops/parse.h"

#include <math.h>

enum { MAX_NODES = 400, MAX_EXPANDED = 4000, MAX_RESULTS = 256, MAX_LEAVES = 64, RUNS = 2 };
enum { MAX_DIM = 64, MAX_ELEMENTS = 1 << 13 };
static const double max_work = 1e5;

typedef struct subject {
    wg_graph *g;
    exercise_numbers *numbers;
    const void *context;
    wg_value **original; /* by the id of a value of g: the value that `numbers` knows, or NULL */
} subject;

/* ---- size ------------------------------------------------------------------------------------ */

static bool is_small_value(const wg_value *v)
{
    for (int k = 0; k < v->shape.rank; k++)
        if (v->shape.dim[k] > MAX_DIM)
            return false;
    return wg_value_count(v) <= MAX_ELEMENTS;
}

static bool is_small(const wg_graph *g, size_t max_nodes)
{
    double work = 0;
    for (size_t i = 0; i < wg_graph_value_count(g); i++)
        if (!is_small_value(wg_graph_value(g, i)))
            return false;
    for (size_t i = 0; i < wg_graph_node_count(g); i++)
        work += sample_work(wg_graph_node(g, i));
    return wg_graph_node_count(g) <= max_nodes && work <= max_work;
}

/* What a shape rule has accepted can be expanded, down to the ops that cannot. */
static bool expands(wg_graph *g)
{
    wg_value *y[MAX_RESULTS];
    for (size_t i = 0; i < wg_graph_node_count(g) && i < MAX_EXPANDED; i++) {
        wg_node *n = wg_graph_node(g, i);
        if (n->n_out > MAX_RESULTS)
            return false;
        if (n->op->expand)
            NEED_OK(wg_expand_node(n, y), wg_graph_message(g));
    }
    return is_small(g, MAX_EXPANDED);
}

/* Plans widen bf16 and f16 before they expand. */
static wg_dtype expanded_dtype(const wg_graph *g)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++)
        if (wg_dtype_is_half(wg_graph_value(g, i)->dtype))
            return WG_F32;
    return WG_DTYPE_DEFAULT;
}

bool exercise_is_small(const wg_graph *g)
{
    if (!is_small(g, MAX_NODES))
        return false;
    const wg_clone_options options = {.floats_as = expanded_dtype(g), .keep_all = true};
    wg_graph *c = wg_graph_clone(g, &options, NULL);
    NEED(c && (wg_graph_status(c) == WG_OK || options.floats_as));
    bool small = wg_graph_status(c) == WG_OK && expands(c);
    wg_graph_free(c);
    return small;
}

/* ---- text ------------------------------------------------------------------------------------ */

static char *print(const wg_graph *g, size_t *size)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    NEED(f && wg_graph_print(g, f) == WG_OK);
    char *text = wgi_text_close(&b);
    *size = b.size;
    return text;
}

void exercise_comes_back(const wg_graph *g)
{
    wg_error error;
    size_t n[2];
    wg_graph *again;
    char *first = print(g, &n[0]);
    NEED_OK(wg_graph_parse(&again, first, n[0], NULL, &error) == WG_OK, error.text);
    char *second = print(again, &n[1]);
    NEED(n[0] == n[1] && memcmp(first, second, n[0]) == 0);
    NEED(wg_graph_hash(g) == wg_graph_hash(again));
    free(first);
    free(second);
    wg_graph_free(again);
}

/* ---- results of plans ------------------------------------------------------------------------ */

/* What a plan computes: its outputs, then what has been assigned, after each run. */
typedef struct results {
    wg_status status; /* of creating or running it */
    size_t n;         /* values */
    const wg_value **value;
    char **data;
} results;

static void results_free(results *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->data[i]);
    free(r->value);
    free(r->data);
}

static void keep(results *r, wg_plan *p, const wg_value *v)
{
    const void *data = wg_plan_data(p, v);
    NEED_OK(data != NULL, wg_plan_message(p));
    const size_t bytes = wg_value_bytes(v);
    r->value[r->n] = v;
    r->data[r->n] = malloc(bytes + 1);
    NEED(r->data[r->n]);
    if (bytes)
        memcpy(r->data[r->n], data, bytes);
    r->n++;
}

static void fill_inputs(const subject *s, wg_plan *p)
{
    static const wg_sample_operand usual = {.lo = 0, .hi = 0};
    for (size_t i = 0; i < wg_graph_node_count(s->g); i++) {
        const wg_node *n = wg_graph_node(s->g, i);
        if (!(n->op->flags & WG_OP_INPUT))
            continue;
        const wg_value *v = n->out[0], *known = s->original ? s->original[v->id] : v;
        const wg_sample_operand *x = known ? s->numbers(s->context, known->id) : NULL;
        uint64_t state = i + 1;
        void *data = wg_plan_data(p, v);
        NEED_OK(data != NULL, wg_plan_message(p));
        sample_fill(n->op, x ? x : &usual, v, data, &state);
    }
}

static void keep_all(const subject *s, wg_plan *p, results *r)
{
    for (size_t i = 0; i < wg_graph_output_count(s->g); i++)
        keep(r, p, wg_graph_output(s->g, i));
    for (size_t i = 0;; i++) {
        wg_value *leaf, *v;
        wg_graph_assign_at(s->g, i, &leaf, &v);
        if (!leaf)
            break;
        keep(r, p, leaf);
    }
}

/* A plan that has its inputs, or NULL and the status. */
static wg_plan *plan_of(const subject *s, const wg_plan_options *options, wg_status *status)
{
    wg_plan *p;
    wg_plan_options o = *options;
    o.seed = CONF_SEED;
    o.threads = o.threads ? o.threads : 1;
    *status = wg_plan_create(&p, s->g, &o);
    if (*status == WG_EINVAL && strstr(wg_graph_message(s->g), "has no name"))
        return NULL; /* a parameter that a builder would not make */
    NEED_OK(*status == WG_OK ? p != NULL : !p && (*status == WG_EDATA || *status == WG_ENONFINITE),
            wg_graph_message(s->g));
    if (!p)
        return NULL;
    NEED_OK(wg_plan_check(p) == WG_OK, wg_plan_message(p));
    fill_inputs(s, p);
    return p;
}

static results results_of(const subject *s, const wg_plan_options *options)
{
    const size_t room = RUNS * (wg_graph_output_count(s->g) + wg_graph_value_count(s->g)) + 1;
    results r = {.value = calloc(room, sizeof *r.value), .data = calloc(room, sizeof *r.data)};
    NEED(r.value && r.data);
    wg_plan *p = plan_of(s, options, &r.status);
    for (uint64_t step = 0; p && step < RUNS && r.status == WG_OK; step++) {
        r.status = wg_plan_run(p, CONF_STEP + step);
        NEED_OK(r.status == WG_OK || r.status == WG_EDATA || r.status == WG_ENONFINITE,
                wg_plan_message(p)); /* an id out of range; a guard */
        if (r.status == WG_OK)
            keep_all(s, p, &r);
    }
    wg_plan_free(p);
    return r;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* NaN is as good as NaN. */
static bool same_numbers(const wg_value *v, const char *a, const char *b)
{
    if (memcmp(a, b, wg_value_bytes(v)) == 0)
        return true;
    const size_t size = wg_dtype_size(v->dtype);
    for (int64_t k = 0; k < wg_value_count(v); k++)
        if (memcmp(a + (size_t)k * size, b + (size_t)k * size, size) != 0 &&
            !(isnan(wgi_get_element(a, v->dtype, k)) && isnan(wgi_get_element(b, v->dtype, k))))
            return false;
    return true;
}

static void need_same(const results *a, const results *b, const char *way)
{
    NEED_OK((a->status == WG_OK) == (b->status == WG_OK), way);
    if (a->status != WG_OK)
        return;
    NEED(a->n == b->n);
    for (size_t i = 0; i < a->n; i++)
        NEED_OK(same_numbers(a->value[i], a->data[i], b->data[i]), way);
}

/* The passes change no bits, on the reference or, without fusion and without folding, which the
 * kernels of the reference do and no flush of subnormals, on all backends.  A third of the
 * ways, which the graph chooses: inputs are many, and plans take time.  Returns the results. */
static results in_all_ways(const subject *s, bool reference)
{
    static const struct {
        const char *name;
        wg_plan_options options;
    } ways[] = {
        {"no_cse", {.no_cse = true}},         {"no_fold", {.no_fold = true}},
        {"no_inplace", {.no_inplace = true}}, {"poison", {.poison = true}},
        {"keep_all", {.keep_all = true}},     {"all passes", {.no_fuse = true}},
        {"two threads", {.threads = 2}},
    };
    const results plain = results_of(s, &(wg_plan_options){.reference = reference,
                                                           .keep_all = true,
                                                           .no_inplace = true,
                                                           .no_cse = true,
                                                           .no_fold = true,
                                                           .no_fuse = true});
    const uint64_t choice = wg_graph_hash(s->g);
    for (size_t i = 0; i < WG_COUNT(ways); i++) {
        wg_plan_options o = ways[i].options;
        o.reference = reference;
        o.no_fuse = true;
        o.no_fold |= !reference;
        const bool chosen = o.threads > 1 ? choice % 32 == 0 : (choice + i) % 3 == 0;
        if (!chosen || (o.threads > 1 && !reference)) /* bits may depend on the number of threads */
            continue;
        results r = results_of(s, &o);
        need_same(&plain, &r, ways[i].name);
        results_free(&r);
    }
    return plain;
}

/* ---- one node by one ------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

/* Whether all numbers are of (lo, hi) and differ, and none is so small that subnormal results may
 * follow, which backends flush to 0: what the samples promise, and bounds build on. */
static bool are_usual(const float *x, int64_t count, double lo, double hi)
{
    static float sorted[MAX_ELEMENTS];
    if (count > MAX_ELEMENTS)
        return false;
    for (int64_t k = 0; k < count; k++) {
        const bool tiny = x[k] != 0 && fabsf(x[k]) < 1e-6f;
        if (!((double)x[k] >= lo && (double)x[k] <= hi) || tiny)
            return false;
        sorted[k] = x[k];
    }
    qsort(sorted, (size_t)count, sizeof *sorted, by_value);
    for (int64_t k = 1; k < count; k++)
        if (sorted[k] == sorted[k - 1])
            return false;
    return true;
}

/* Whether the operands of a case are such as the op is sampled with. */
static bool is_usual(const conf_case *c, const op_bound *b)
{
    for (int k = 0; k < c->op->n_samples; k++) {
        const wg_sample *s = &c->op->samples[k];
        bool fits = s->n_in == c->sample.n_in;
        for (int i = 0; fits && i < s->n_in; i++) {
            const wg_sample_operand *o = &s->in[i];
            const bool open = o->lo == 0 && o->hi == 0, own = b->lo != 0 || b->hi != 0;
            const double lo = own ? b->lo : open ? -2 : o->lo, hi = own ? b->hi : open ? 2 : o->hi;
            if (o->matrices != WG_MATRICES_ANY)
                fits = false;
            else if (!c->sample.in[i].dtype)
                fits = are_usual(c->data[i], wg_shape_count(&c->sample.in[i].shape), lo, hi);
        }
        if (fits)
            return true;
    }
    return false;
}

/* A node with the operands that a plan has computed; false if it is not all of f32. */
static bool case_of(conf_case *c, wg_plan *p, const wg_node *n)
{
    *c = (conf_case){.op = n->op, .sample = {.attrs = n->attrs, .n_in = n->n_in}};
    if (n->n_in > WG_MAX_SAMPLE_OPERANDS || n->n_out > CONF_RESULTS || n->op->flags & WG_OP_LEAF)
        return false;
    for (int i = 0; i < n->n_in; i++) {
        const wg_dtype dtype = n->in[i]->dtype;
        if (wg_dtype_is_float(dtype) && dtype != WG_F32)
            return false;
        c->sample.in[i].dtype = dtype == WG_F32 ? WG_DTYPE_DEFAULT : dtype;
        c->sample.in[i].shape = n->in[i]->shape;
        c->data[i] = wg_plan_data(p, n->in[i]);
        if (!c->data[i])
            return false; /* nothing needs it */
    }
    return n->n_out > 0 && wg_plan_data(p, n->out[0]);
}

static bool builds_in_f64(const conf_case *c)
{
    wg_graph *g = wg_graph_new();
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    bool builds = conf_build(g, c, WG_F64, in) != NULL;
    wg_graph_free(g);
    return builds;
}

/* A node of a plan on all backends against the reference in f64 on the same operands. */
static void compare_node(wg_plan *p, const wg_node *n)
{
    conf_case c;
    conf_results truth, y = {.n = n->n_out};
    double error[CONF_RESULTS];
    const op_bound b = bound_of(n->op);
    const bool quantises = strncmp(n->op->name, "quantize", 8) == 0;
    if (!case_of(&c, p, n) || quantises || !is_usual(&c, &b) || !builds_in_f64(&c))
        return;
    for (int i = 0; i < n->n_out; i++) {
        y.count[i] = wg_value_count(n->out[i]);
        y.dtype[i] = n->out[i]->dtype;
        y.data[i] = wg_plan_data(p, n->out[i]);
        if (!y.data[i])
            return;
    }
    const conf_way exact = {WG_F64, 0, {.reference = true, .threads = 1}};
    if (conf_run_way(&c, &exact, &truth, NULL, NULL)) {
        bound_errors(&b, &c, &y, &truth, error);
        for (int i = 0; i < truth.n; i++)
            NEED_OK(error[i] <= b.tolerance || bound_of_small(&b, &c, &y, &truth, i), n->op->name);
    }
    conf_results_free(&truth);
}

/* Without assignments, which would change operands after the run. */
static void node_by_node(const subject *s)
{
    const size_t n = wg_graph_output_count(s->g);
    wg_value **outputs = calloc(n + 1, sizeof *outputs);
    NEED(outputs);
    for (size_t i = 0; i < n; i++)
        outputs[i] = wg_graph_output(s->g, i);
    wg_status status;
    wg_plan *p = plan_of(
        s,
        &(wg_plan_options){.outputs = outputs, .n_outputs = n, .keep_all = true, .no_fuse = true},
        &status);
    if (p && wg_plan_run(p, CONF_STEP) == WG_OK)
        for (size_t i = 0; i < wg_graph_node_count(s->g); i++)
            compare_node(p, wg_graph_node(s->g, i));
    wg_plan_free(p);
    free(outputs);
}

/* ---- fusion ---------------------------------------------------------------------------------- */

static double worst_error(const results *a, const results *truth)
{
    double worst = 0;
    for (size_t i = 0; i < a->n; i++)
        for (int64_t k = 0; k < wg_value_count(a->value[i]); k++) {
            double x = wgi_get_element(a->data[i], a->value[i]->dtype, k),
                   t = wgi_get_element(truth->data[i], truth->value[i]->dtype, k);
            double error = x == t || (isnan(x) && isnan(t)) ? 0 : fabs(x - t) / fmax(1, fabs(t));
            worst = error <= worst ? worst : error; /* NaN stays */
        }
    return worst;
}

/* Where both the reference and the kernels of all backends compute the whole graph in f32 as
 * exactly as f64 does, a plan of fused kernels must be near, too: a pattern that was not one gives
 * other numbers, not slightly other ones. */
static void fused(const subject *s, const results *reference, const results *fast)
{
    static const double good = 1e-5, near = 1e-3;
    const size_t values = wg_graph_value_count(s->g);
    wg_value **map = calloc(values + 1, sizeof *map);
    NEED(map);
    wg_graph *wide = wg_graph_clone(s->g, &(wg_clone_options){.floats_as = WG_F64}, map);
    NEED(wide != NULL);
    wg_value **original = calloc(wg_graph_value_count(wide) + 1, sizeof *original);
    NEED(original);
    for (size_t i = 0; i < values; i++)
        if (map[i])
            original[map[i]->id] = s->original ? s->original[i] : wg_graph_value(s->g, i);
    const subject w = {wide, s->numbers, s->context, original};
    if (wg_graph_status(wide) == WG_OK) {
        results truth = results_of(&w, &(wg_plan_options){.reference = true});
        results y = results_of(s, &(wg_plan_options){.poison = true});
        if (y.status == WG_OK && truth.status == WG_OK && worst_error(reference, &truth) <= good &&
            worst_error(fast, &truth) <= good)
            NEED(worst_error(&y, &truth) <= near);
        results_free(&truth);
        results_free(&y);
    }
    free(original);
    free(map);
    wg_graph_free(wide);
}

/* ---- all ------------------------------------------------------------------------------------- */

static void plans(const subject *s)
{
    results reference = in_all_ways(s, true), fast = in_all_ways(s, false);
    /* Not always the same status: a kernel that takes several nodes may see bad data of one whose
     * own results are empty or not needed. */
    if (reference.status == WG_OK && fast.status == WG_OK) {
        node_by_node(s);
        fused(s, &reference, &fast);
    }
    results_free(&reference);
    results_free(&fast);
}

/* The copy of g with the gradients of its outputs as further outputs; NULL, and a message, if an op
 * has none. */
static wg_graph *with_gradients(const wg_graph *g, wg_value **map)
{
    wg_graph *c = wg_graph_clone(g, NULL, map);
    wg_value *y[MAX_LEAVES], *x[MAX_LEAVES], *dx[MAX_LEAVES];
    size_t n_y = 0, n_x = 0;
    NEED_OK(c && wg_graph_status(c) == WG_OK, wg_graph_message(c));
    for (size_t i = 0; i < wg_graph_output_count(c) && n_y < MAX_LEAVES; i++)
        if (wg_dtype_is_float(wg_graph_output(c, i)->dtype))
            y[n_y++] = wg_graph_output(c, i);
    for (size_t i = 0; i < wg_graph_node_count(c) && n_x < MAX_LEAVES; i++) {
        const wg_node *n = wg_graph_node(c, i);
        if (n->op->flags & (WG_OP_INPUT | WG_OP_PARAMETER) && wg_dtype_is_float(n->out[0]->dtype))
            x[n_x++] = n->out[0];
    }
    if (n_y && n_x && wg_vjp(y, NULL, n_y, x, n_x, NULL, dx) == WG_OK) {
        for (size_t i = 0; i < n_x; i++)
            wg_output(dx[i], NULL);
        NEED_OK(wg_graph_verify(c) == WG_OK, wg_graph_message(c));
        return c;
    }
    NEED(!n_y || !n_x || wg_graph_message(c)[0]);
    wg_graph_free(c);
    return NULL;
}

/* The plans of g with its gradient; false if there is none. */
static bool plans_with_gradients(wg_graph *g, exercise_numbers *numbers, const void *context)
{
    wg_value **map = calloc(wg_graph_value_count(g) + 1, sizeof *map), **original = NULL;
    NEED(map);
    wg_graph *c = with_gradients(g, map);
    const bool has = c && wg_graph_node_count(c) <= MAX_NODES;
    if (has) {
        original = calloc(wg_graph_value_count(c) + 1, sizeof *original);
        NEED(original);
        for (size_t i = 0; i < wg_graph_value_count(g); i++)
            if (map[i])
                original[map[i]->id] = wg_graph_value(g, i);
        exercise_comes_back(c);
        plans(&(subject){c, numbers, context, original});
    }
    wg_graph_free(c);
    free(original);
    free(map);
    return has;
}

void exercise(wg_graph *g, exercise_numbers *numbers, const void *context)
{
    NEED_OK(wg_graph_verify(g) == WG_OK, wg_graph_message(g));
    exercise_comes_back(g);
    if (wg_graph_hash(g) % 2 || !plans_with_gradients(g, numbers, context))
        plans(&(subject){g, numbers, context, NULL});
}
