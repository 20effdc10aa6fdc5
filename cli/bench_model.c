/* wengert bench MODEL: the time of a run of a model, its gradient or a whole training step, on each
 * list of backends in turn, and by node. */
#include "cli/measure.h"
#include "cli/source.h"
#include "cli/values.h"
#include "backends/memory.h"
#include "graph/amount.h"
#include "graph/resident.h"

#include <stdlib.h>
#include <string.h>

enum { GRAD = 1000, STEP, MEMORY, RUNS, PROFILE, NODES, JSON };

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "Graph:", 1},
    {"grad", GRAD, 0, 0, "with the gradient of the loss with respect to all parameters", 1},
    {"step", STEP, 0, 0, "with the gradient and an update by Adam: a training step", 1},
    {"memory", MEMORY, "BYTES", 0,
     "let the process take no more than this, 512M or 2G: the plan drops values and recomputes "
     "them, 0: no limit", 1},
    {0, 0, 0, 0, "Measurement:", 2},
    {"runs", RUNS, "N", 0, "number of timed samples (default: 11)", 2},
    {"profile", PROFILE, 0, 0, "break the time down by op", 2},
    {"nodes", NODES, "N", 0, "list the N slowest nodes", 2},
    {"json", JSON, 0, 0, "print JSON", 2},
    {0},
};
/* clang-format on */

typedef struct request {
    const char *name;
    bool grad, step, profile, json;
    int runs, nodes;
    size_t memory;
    backend_choice backends;
    source_options options;
} request;

/* What was seen of one list of backends. */
typedef struct result {
    wg_plan *plan;
    uint64_t step;
    double plan_seconds;
    bench_times times;
    double before, resident; /* peak of memory before the plan was made and after two runs */
} result;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: hand_on(state, &r->backends, &r->options); break;
    case GRAD: r->grad = true; break;
    case STEP: r->step = true; break;
    case MEMORY: r->memory = bytes_argument(state, "--memory", arg); break;
    case RUNS: r->runs = (int)number_argument(state, "--runs", arg, 1, 100000); break;
    case PROFILE: r->profile = true; break;
    case NODES: r->nodes = (int)number_argument(state, "--nodes", arg, 1, 100000); break;
    case JSON: r->json = true; break;
    case ARGP_KEY_ARG: take_argument(state, &r->name, "model", arg); break;
    case ARGP_KEY_END:
        if (!r->name)
            argp_error(state, "no model given");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static wg_status run_once(void *context)
{
    result *x = context;
    return wg_plan_run(x->plan, x->step++);
}

static int make_plan(result *x, const source *s, wg_graph *g, const request *r, size_t i,
                     size_t elsewhere)
{
    const wg_backend_list *list = &r->backends.set[i].list;
    x->before = bench_resident_peak();
    double start = wgi_seconds();
    wg_status status = wg_plan_create(&x->plan, g,
                                      &(wg_plan_options){.backends = list->backend,
                                                         .n_backends = list->count,
                                                         .threads = r->backends.threads,
                                                         .fixed_parameters = true,
                                                         .memory = r->memory,
                                                         .memory_elsewhere = elsewhere,
                                                         .profile = r->profile || r->nodes});
    x->plan_seconds = wgi_seconds() - start;
    if (status != WG_OK)
        complain("%s: %s", s->name, wg_graph_message(g));
    else
        source_fill_inputs(s, x->plan, g, 0);
    if (status == WG_OK && (r->profile || r->nodes)) { /* warm up, or the first run counts */
        status = wg_plan_run(x->plan, x->step++);
        wg_plan_reset_profile(x->plan);
        if (status != WG_OK)
            complain("%s: %s", s->name, wg_plan_message(x->plan));
    }
    return exit_code(status);
}

static int time_plans(result *seen, const source *s, const request *r)
{
    bench_subject subject[MAX_BACKENDS];
    const wg_plan *plan[MAX_BACKENDS];
    bench_times times[MAX_BACKENDS];
    size_t n = r->backends.n_sets;
    for (size_t i = 0; i < n; i++) {
        subject[i] = (bench_subject){run_once, &seen[i]};
        plan[i] = seen[i].plan;
    }
    wg_status status = bench_interleaved(subject, (int)n,
                                         &(bench_schedule){.runs = r->runs, .seconds = 30}, times);
    for (size_t i = 0; i < n && status == WG_OK; i++)
        seen[i].times = times[i];
    return code_of_times(status, s->name, plan, n);
}

/* Two runs of the first backend, before anything else is measured; the peak of memory then. */
static int measure_peak(result *x, const source *s)
{
    wg_status status = WG_OK;
    for (int i = 0; i < 2 && status == WG_OK; i++)
        status = run_once(x);
    x->resident = bench_resident_peak();
    if (status != WG_OK)
        complain("%s: %s", s->name, wg_plan_message(x->plan));
    wg_plan_reset_profile(x->plan);
    return exit_code(status);
}

/* ---- by node --------------------------------------------------------------------------------- */

static int slowest_first(const void *a, const void *b)
{
    double x = ((const wg_plan_step *)a)->seconds, y = ((const wg_plan_step *)b)->seconds;
    return (x < y) - (x > y);
}

/* The steps by time, which the caller frees; NULL, and it complains, without memory. */
static wg_plan_step *sorted_steps(const wg_plan *p, size_t *n, double *all)
{
    *n = wg_plan_step_count(p);
    *all = 0;
    wg_plan_step *steps = calloc(*n + 1, sizeof *steps);
    for (size_t i = 0; steps && i < *n; i++) {
        steps[i] = wg_plan_step_at(p, i);
        *all += steps[i].seconds;
    }
    if (steps)
        qsort(steps, *n, sizeof *steps, slowest_first);
    else
        complain("out of memory");
    return steps;
}

static int print_nodes(const wg_plan *p, const char *name, int shown)
{
    size_t n;
    double all;
    char time[WGI_AMOUNT_TEXT], text[700], what[200];
    wg_plan_step *steps = sorted_steps(p, &n, &all);
    if (!steps)
        return EXIT_RUN;
    printf("\n%-24s %9s %7s  node\n", name, "time", "share");
    for (size_t i = 0; i < n && i < (size_t)shown && all > 0; i++) {
        const wg_plan_step *s = &steps[i];
        snprintf(what, sizeof what, "%s",
                 s->node->phase == WG_BACKWARD ? "backward"
                 : s->node->phase == WG_UPDATE ? "update"
                                               : "forward");
        printf("%-24.24s %9s %5.1f %%  %s\n", s->kernel,
               wgi_seconds_text(s->seconds / (double)(s->runs ? s->runs : 1), time),
               100 * s->seconds / all, wg_node_message(s->node, what, text, sizeof text));
    }
    free(steps);
    return EXIT_OK;
}

static int json_nodes(wgi_json *j, const wg_plan *p, int shown)
{
    size_t n;
    double all;
    wg_plan_step *steps = sorted_steps(p, &n, &all);
    if (!steps)
        return EXIT_RUN;
    wgi_json_begin(j, "nodes", '[');
    for (size_t i = 0; i < n && i < (size_t)shown; i++) {
        char text[700];
        const wg_plan_step *s = &steps[i];
        wgi_json_begin(j, NULL, '{');
        wgi_json_text(j, "node", wg_node_message(s->node, s->node->op->name, text, sizeof text));
        wgi_json_text(j, "scope", s->node->scope->path);
        wgi_json_text(j, "kernel", s->kernel);
        wgi_json_real(j, "seconds", s->seconds / (double)(s->runs ? s->runs : 1));
        wgi_json_end(j, '}');
    }
    wgi_json_end(j, ']');
    free(steps);
    return EXIT_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *kind_of(const request *r)
{
    return r->step ? "training step" : r->grad ? "gradient" : "run";
}

static int print(const result *seen, const request *r)
{
    int code = EXIT_OK;
    char a[WGI_AMOUNT_TEXT], b[WGI_AMOUNT_TEXT], c[WGI_AMOUNT_TEXT], d[WGI_AMOUNT_TEXT];
    printf("%s: %s\n%-20s %9s %9s %9s %9s %9s %7s %12s\n", r->name, kind_of(r), "backends",
           "median", "min", "max", "GFLOP/s", "plan", "steps", "buffer");
    for (size_t i = 0; i < r->backends.n_sets; i++) {
        const bench_times *t = &seen[i].times;
        wg_plan_stats stats = wg_plan_statistics(seen[i].plan);
        printf("%-20s %9s %9s %9s %9.2f %9s %7zu %8.2f MiB\n", r->backends.set[i].name,
               wgi_seconds_text(t->median, a), wgi_seconds_text(t->min, b),
               wgi_seconds_text(t->max, c), 1e-9 * stats.flops / t->median,
               wgi_seconds_text(seen[i].plan_seconds, d), stats.nodes,
               (double)stats.buffer_bytes / 0x1p20);
    }
    wg_plan_stats first = wg_plan_statistics(seen[0].plan);
    printf("memory of a run: %.2f MiB; the process grew by %.1f MiB (%s, planned and run twice)\n",
           (double)(first.leaf_bytes + first.buffer_bytes) / 0x1p20,
           (seen[0].resident - seen[0].before) / 0x1p20, r->backends.set[0].name);
    for (size_t i = 0; i < r->backends.n_sets; i++) {
        print_again(seen[i].plan, r->backends.set[i].name);
        if (code == EXIT_OK && r->profile)
            code = print_profile(seen[i].plan, r->backends.set[i].name);
        if (code == EXIT_OK && r->nodes)
            code = print_nodes(seen[i].plan, r->backends.set[i].name, r->nodes);
    }
    return code;
}

static int print_json(const result *seen, const request *r)
{
    int code = EXIT_OK;
    wgi_json j = {.file = stdout};
    wgi_json_begin(&j, NULL, '{');
    wgi_json_text(&j, "model", r->name);
    wgi_json_text(&j, "measured", kind_of(r));
    wgi_json_begin(&j, "backends", '[');
    for (size_t i = 0; i < r->backends.n_sets; i++) {
        wg_plan_stats stats = wg_plan_statistics(seen[i].plan);
        wgi_json_begin(&j, NULL, '{');
        wgi_json_text(&j, "backend", r->backends.set[i].name);
        json_times(&j, "seconds", &seen[i].times);
        wgi_json_real(&j, "flops", stats.flops);
        wgi_json_real(&j, "bytes", stats.bytes);
        wgi_json_real(&j, "plan_seconds", seen[i].plan_seconds);
        wgi_json_whole(&j, "plan_steps", (int64_t)stats.nodes);
        wgi_json_whole(&j, "buffer_bytes", (int64_t)stats.buffer_bytes);
        wgi_json_whole(&j, "leaf_bytes", (int64_t)stats.leaf_bytes);
        wgi_json_whole(&j, "library_bytes", (int64_t)stats.library_bytes);
        if (i == 0)
            wgi_json_whole(&j, "grown_bytes", (int64_t)(seen[0].resident - seen[0].before));
        json_again(&j, &stats);
        if (code == EXIT_OK && r->profile)
            code = json_profile(&j, seen[i].plan);
        if (code == EXIT_OK && r->nodes)
            code = json_nodes(&j, seen[i].plan, r->nodes);
        wgi_json_end(&j, '}');
    }
    wgi_json_end(&j, ']');
    wgi_json_end(&j, '}');
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int bench(const source *s, const request *r)
{
    result seen[MAX_BACKENDS] = {{0}};
    wg_value *loss;
    int code;
    wg_graph *g = source_build(s, &loss, &code);
    if (g && r->step)
        code = source_add_update(s, g, loss, NULL);
    else if (g && r->grad)
        code = source_add_gradient(s, g, loss);
    const size_t elsewhere = g ? wgi_resident_bytes() + wg_graph_node_count(g) * WGI_NODE_BYTES : 0;
    for (size_t i = 0; i < r->backends.n_sets && code == EXIT_OK; i++) {
        code = make_plan(&seen[i], s, g, r, i, elsewhere);
        if (code == EXIT_OK && i == 0)
            code = measure_peak(&seen[i], s);
    }
    if (code == EXIT_OK)
        code = time_plans(seen, s, r);
    if (code == EXIT_OK)
        code = r->json ? print_json(seen, r) : print(seen, r);
    for (size_t i = 0; i < r->backends.n_sets; i++)
        wg_plan_free(seen[i].plan);
    wg_graph_free(g);
    return code;
}

int bench_model(int argc, char **argv)
{
    static const struct argp_child children[] =
        BACKENDS_AND_MODEL("Backends (default: all that are built in):", 3);
    static const struct argp argp = {
        table,
        parse,
        "MODEL|FILE.wg|FILE.onnx|MODEL.so|FOLDER",
        "Times a run of a model on random inputs, on each --backend in turn.  Loading a shared "
        "object runs its code.",
        children,
        NULL,
        NULL};
    request r = {0};
    source s;
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    s = (source){.name = r.name};
    code = source_check_options(&r.options, &r.name, 1);
    if (code == EXIT_OK)
        code = source_open(&s, r.name, &r.options);
    if (code == EXIT_OK)
        code = bench(&s, &r);
    source_close(&s);
    close_backends(&r.backends);
    return code;
}
