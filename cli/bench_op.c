/* wengert bench op NAME: times of one op on each backend, in turn. */
#include "cli/measure.h"
#include "cli/trials.h"
#include "cli/values.h"
#include "graph/amount.h"
#include "graph/element.h"
#include "graph/matrices.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

enum { SHAPE = 1000, SAMPLE, PRESET, GRAD, RUNS, JSON, NO_LIMITS };

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "Operands (default: every sample of the op, scaled up):", 1},
    {"shape", SHAPE, "AxB,C...", 0,
     "shapes of the operands; `scalar` has no axes, and AxB@N holds integers in [0,N) "
     "(may be repeated)", 1},
    {"sample", SAMPLE, "NAME", 0,
     "use the dtypes and attributes of this sample (see wengert ops)", 1},
    {"preset", PRESET, "base", 0, "use the shapes of a base Transformer", 1},
    {0, 0, 0, 0, "Measurement:", 2},
    {"grad", GRAD, 0, 0, "time the gradient as well, with the forward pass that it needs", 2},
    {"runs", RUNS, "N", 0, "number of timed samples (default: 11)", 2},
    {"no-limits", NO_LIMITS, 0, 0, "do not measure the machine's limits; print no shares", 2},
    {"json", JSON, 0, 0, "print JSON", 2},
    {0},
};
/* clang-format on */

typedef struct request {
    const char *op;
    trial_choice trials;
    int runs;
    bool grad, no_limits, json;
    backend_choice backends;
} request;

/* ---- options --------------------------------------------------------------------------------- */

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->backends; break;
    case SHAPE:
        if (r->trials.n_shapes == MAX_SHAPES)
            argp_error(state, "--shape given more than %d times", MAX_SHAPES);
        r->trials.shape[r->trials.n_shapes++] = arg;
        break;
    case SAMPLE: r->trials.sample = arg; break;
    case PRESET:
        if (strcmp(arg, "base") != 0)
            argp_error(state, "--preset: expected base, got '%s'", arg);
        r->trials.base = true;
        break;
    case GRAD: r->grad = true; break;
    case RUNS: r->runs = (int)number_argument(state, "--runs", arg, 1, 100000); break;
    case NO_LIMITS: r->no_limits = true; break;
    case JSON: r->json = true; break;
    case ARGP_KEY_ARG: take_argument(state, &r->op, "op", arg); break;
    case ARGP_KEY_END:
        if (!r->op)
            argp_error(state, "no op given");
        if (r->trials.base && r->trials.n_shapes)
            argp_error(state, "use --preset or --shape, not both");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* One trial in one direction, on every backend. */
typedef struct setting {
    wg_graph *g;
    wg_value *leaf[WG_MAX_SAMPLE_OPERANDS], **cotangent, **wanted; /* cotangent: n_wanted places */
    int n_cotangents, n_wanted;
    double flops, bytes;
    wg_plan *plan[MAX_BACKENDS];
    bench_times times[MAX_BACKENDS];
} setting;

static void free_setting(setting *s)
{
    for (int i = 0; i < MAX_BACKENDS; i++)
        wg_plan_free(s->plan[i]);
    free(s->cotangent);
    free(s->wanted);
    wg_graph_free(s->g);
}

/* The vector-Jacobian product for every float operand, with an input for each float result. */
static wg_status add_gradient(setting *s, wg_node *n)
{
    wg_value *y[64], *x[WG_MAX_SAMPLE_OPERANDS];
    int n_x = 0, n_y = 0;
    for (int i = 0; i < n->n_in; i++)
        if (wg_dtype_is_float(n->in[i]->dtype))
            x[n_x++] = n->in[i];
    for (int i = 0; i < n->n_out && n_y < WG_COUNT(y); i++)
        if (wg_dtype_is_float(n->out[i]->dtype)) {
            char name[16];
            snprintf(name, sizeof name, "dy%d", i);
            s->cotangent[n_y] = wg_input(s->g, name, n->out[i]->dtype, n->out[i]->shape);
            y[n_y++] = n->out[i];
        }
    s->n_cotangents = n_y;
    s->n_wanted = n_x;
    return wg_vjp(y, s->cotangent, (size_t)n_y, x, (size_t)n_x, NULL, s->wanted);
}

static wg_status make_graph(setting *s, const trial *t, bool grad)
{
    *s = (setting){.g = wg_graph_new()};
    wg_node *n = build_trial(s->g, t, s->leaf);
    if (!n)
        return wg_graph_status(s->g);
    size_t max = (size_t)n->n_out + WG_MAX_SAMPLE_OPERANDS;
    s->cotangent = calloc(max, sizeof(wg_value *));
    s->wanted = calloc(max, sizeof(wg_value *));
    if (!s->cotangent || !s->wanted)
        return WG_ENOMEM;
    if (grad)
        return add_gradient(s, n);
    for (int i = 0; i < n->n_out; i++)
        s->wanted[s->n_wanted++] = n->out[i];
    s->flops = wg_node_flops(n);
    s->bytes = wg_node_bytes(n);
    return wg_graph_status(s->g);
}

/* Numbers of the operand's range, in matrices of its kind. */
static void fill_operand(const wg_sample_operand *x, const wg_value *v, void *data, uint64_t *state)
{
    bool none = x->lo == 0 && x->hi == 0, real = wg_dtype_is_float(v->dtype);
    double lo = none && real ? -2 : x->lo, hi = none ? 2 : x->hi;
    int64_t count = x->matrices == WG_MATRICES_ANY ? 0 : wg_value_count(v);
    fill_random(v, data, lo, hi, state);
    for (int64_t i = 0; i < count; i++)
        wgi_put_element(data, v->dtype, i,
                        wgi_get_element(data, v->dtype, i) +
                            wgi_matrix_offset(x->matrices, &v->shape, i, lo, hi));
}

static wg_status make_plan(wg_plan **p, setting *s, const trial *t, const wg_backend_list *backends,
                           int threads)
{
    uint64_t state = 1;
    wg_plan_options o = {.outputs = s->wanted,
                         .n_outputs = (size_t)s->n_wanted,
                         .backends = backends->backend,
                         .n_backends = backends->count,
                         .threads = threads};
    wg_status status = wg_plan_create(p, s->g, &o);
    if (status != WG_OK) {
        complain("%s", wg_graph_message(s->g));
        return status;
    }
    for (int i = 0; i < t->n_in; i++)
        fill_operand(&t->in[i], s->leaf[i], wg_plan_data(*p, s->leaf[i]), &state);
    for (int i = 0; i < s->n_cotangents; i++)
        fill_random(s->cotangent[i], wg_plan_data(*p, s->cotangent[i]), -1, 1, &state);
    return WG_OK;
}

static wg_status run_plan(void *context)
{
    return wg_plan_run(context, 1);
}

/* The work of a gradient is that of the plan that does the least. */
static void count_work(setting *s, int n)
{
    for (int i = 0; i < n; i++) {
        wg_plan_stats stats = wg_plan_statistics(s->plan[i]);
        s->flops = i == 0 || stats.flops < s->flops ? stats.flops : s->flops;
        s->bytes = i == 0 || stats.bytes < s->bytes ? stats.bytes : s->bytes;
    }
}

static int measure(setting *s, const trial *t, const request *r, bool grad)
{
    bench_subject subject[MAX_BACKENDS];
    const wg_plan *plan[MAX_BACKENDS];
    int n = (int)r->backends.n_sets;
    wg_status status = make_graph(s, t, grad);
    if (status != WG_OK)
        complain("%s", wg_graph_status(s->g) ? wg_graph_message(s->g) : wg_status_text(status));
    for (int i = 0; i < n && status == WG_OK; i++) {
        status = make_plan(&s->plan[i], s, t, &r->backends.set[i].list, r->backends.threads);
        subject[i] = (bench_subject){run_plan, s->plan[i]};
        plan[i] = s->plan[i];
    }
    if (status != WG_OK)
        return exit_code(status);
    if (grad)
        count_work(s, n);
    status =
        bench_interleaved(subject, n, &(bench_schedule){.runs = r->runs, .seconds = 5}, s->times);
    return code_of_times(status, t->op->name, plan, (size_t)n);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* "onednn brg:avx512_core" if there is one step; otherwise the number of steps, in total and of
 * each backend: "4 steps: onednn 1, simd 3". */
static const char *kernels_text(const wg_plan *p, const wg_backend_list *list, char *text,
                                size_t size)
{
    size_t n = wg_plan_step_count(p);
    wg_plan_step s = wg_plan_step_at(p, 0);
    if (n == 1) {
        snprintf(text, size, "%s %s", s.backend, s.kernel);
        return text;
    }
    size_t used = (size_t)snprintf(text, size, "%zu steps", n);
    for (size_t k = 0; k < list->count && used < size; k++) {
        size_t own = 0;
        for (size_t i = 0; i < n; i++)
            own += strcmp(wg_plan_step_at(p, i).backend, list->backend[k]->name) == 0;
        used += (size_t)snprintf(text + used, size - used, "%s %s %zu", k ? "," : ":",
                                 list->backend[k]->name, own);
    }
    return text;
}

static void print_share(double share)
{
    if (share > 0)
        printf(" %4.0f %%", 100 * share);
}

static void print_setting(const setting *s, const request *r, const bench_limits *l)
{
    char median[WGI_AMOUNT_TEXT], min[WGI_AMOUNT_TEXT], max[WGI_AMOUNT_TEXT], kernels[120];
    for (size_t i = 0; i < r->backends.n_sets; i++) {
        const bench_times *t = &s->times[i];
        printf("    %-14s %9s %9s %9s %9.1f", r->backends.set[i].name,
               wgi_seconds_text(t->median, median), wgi_seconds_text(t->min, min),
               wgi_seconds_text(t->max, max), 1e-9 * s->flops / t->median);
        if (!r->no_limits)
            print_share(s->flops / t->median / bench_matmul_rate(l));
        printf(" %8.2f", 1e-9 * s->bytes / t->median);
        if (!r->no_limits)
            print_share(s->bytes / t->median / bench_memory_rate(l));
        printf("  %s\n",
               kernels_text(s->plan[i], &r->backends.set[i].list, kernels, sizeof kernels));
    }
}

static void print_head(const trial *t, const setting *s, bool grad, const request *r)
{
    char flops[WGI_AMOUNT_TEXT], bytes[WGI_AMOUNT_TEXT];
    printf("\n%s%s %s: %s, %s\n", t->op->name, grad ? " gradient," : "", t->label,
           wgi_amount_text(s->flops, "FLOP", flops), wgi_amount_text(s->bytes, "B", bytes));
    printf("    %-14s %9s %9s %9s %9s%s %8s%s  kernel\n", "backend", "median", "min", "max",
           "GFLOP/s", r->no_limits ? "" : " share ", "GB/s", r->no_limits ? "" : " share ");
}

static void json_setting(wgi_json *j, const trial *t, const setting *s, bool grad, const request *r,
                         const bench_limits *l)
{
    char kernels[120];
    wgi_json_begin(j, NULL, '{');
    wgi_json_text(j, "op", t->op->name);
    wgi_json_text(j, "case", t->label);
    wgi_json_text(j, "direction", grad ? "gradient" : "forward");
    wgi_json_real(j, "flops", s->flops);
    wgi_json_real(j, "bytes", s->bytes);
    wgi_json_begin(j, "backends", '[');
    for (size_t i = 0; i < r->backends.n_sets; i++) {
        double seconds = s->times[i].median;
        wgi_json_begin(j, NULL, '{');
        wgi_json_text(j, "backend", r->backends.set[i].name);
        wgi_json_text(j, "kernel",
                      kernels_text(s->plan[i], &r->backends.set[i].list, kernels, sizeof kernels));
        json_times(j, "seconds", &s->times[i]);
        wgi_json_real(j, "flops_per_second", s->flops / seconds);
        wgi_json_real(j, "bytes_per_second", s->bytes / seconds);
        if (!r->no_limits) {
            wgi_json_real(j, "share_of_matmul", s->flops / seconds / bench_matmul_rate(l));
            wgi_json_real(j, "share_of_memory", s->bytes / seconds / bench_memory_rate(l));
        }
        wgi_json_end(j, '}');
    }
    wgi_json_end(j, ']');
    wgi_json_end(j, '}');
}

/* ---- the command ----------------------------------------------------------------------------- */

static int measure_all(const trial *t, int n, const request *r, wgi_json *j, const bench_limits *l)
{
    int code = EXIT_OK;
    for (int i = 0; i < n; i++)
        for (int grad = 0; grad <= r->grad && code == EXIT_OK; grad++) {
            setting s;
            code = measure(&s, &t[i], r, grad);
            if (code == EXIT_OK && r->json)
                json_setting(j, &t[i], &s, grad, r, l);
            else if (code == EXIT_OK) {
                print_head(&t[i], &s, grad, r);
                print_setting(&s, r, l);
                fflush(stdout);
            }
            free_setting(&s);
        }
    return code;
}

static int bench(const wg_op *op, request *r)
{
    trial *t = calloc(MAX_TRIALS, sizeof *t);
    int n = 0;
    bench_limits l = {0};
    wgi_json j = {.file = stdout};
    if (!t)
        complain("out of memory");
    int code = t ? choose_trials(t, &n, op, &r->trials) : EXIT_RUN;
    if (code == EXIT_OK && !r->no_limits)
        code = measure_limits(&l, r->backends.threads);
    if (code == EXIT_OK && r->json) {
        wgi_json_begin(&j, NULL, '{');
        if (!r->no_limits)
            json_limits(&j, &l);
        wgi_json_begin(&j, "measured", '[');
        code = measure_all(t, n, r, &j, &l);
        wgi_json_end(&j, ']');
        wgi_json_end(&j, '}');
    } else if (code == EXIT_OK) {
        if (!r->no_limits)
            print_limits(&l);
        code = measure_all(t, n, r, &j, &l);
    }
    free(t);
    return code;
}

int bench_op(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&backend_argp, 0, "Backends (default: all that are built in):", 3}, {0}};
    static const struct argp argp = {
        table,
        parse,
        "NAME",
        "Times an op: median, minimum and maximum of repeated runs, operations and bytes per "
        "second, and their share of the machine's measured limits.  Several backends are timed "
        "in turn.",
        children,
        NULL,
        NULL};
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    const wg_op *op = wg_op_find(r.op);
    code = EXIT_USAGE;
    if (op)
        code = bench(op, &r);
    else
        complain_unknown("op", r.op, op_name_at);
    close_backends(&r.backends);
    return code;
}
