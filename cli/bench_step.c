/* wengert bench train-step: forward, loss, backward and Adam of a Transformer encoder, as one plan. */
#include "cli/measure.h"

#include <errno.h>
#include <omp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { CONFIG = 1000, RUNS, PROFILE, JSON, NO_LIMITS, DROPOUT, SIZE };

static const struct {
    const char *name;
    wg_encoder_options options;
} configs[] = {
    {"tiny",
     {.batch = 4,
      .length = 16,
      .vocabulary = 500,
      .d_model = 32,
      .d_ff = 64,
      .heads = 2,
      .layers = 2}},
    {"small",
     {.batch = 16,
      .length = 32,
      .vocabulary = 8000,
      .d_model = 256,
      .d_ff = 1024,
      .heads = 4,
      .layers = 3}},
    {"base",
     {.batch = 32,
      .length = 64,
      .vocabulary = 10000,
      .d_model = 512,
      .d_ff = 2048,
      .heads = 8,
      .layers = 6}},
};
enum { N_CONFIGS = sizeof configs / sizeof configs[0] };

/* Sizes that an option changes: key SIZE + row. */
static const struct {
    const char *name;
    size_t at; /* offset in wg_encoder_options */
    bool is_int;
} sizes[] = {
    {"batch", offsetof(wg_encoder_options, batch), false},
    {"length", offsetof(wg_encoder_options, length), false},
    {"vocabulary", offsetof(wg_encoder_options, vocabulary), false},
    {"d-model", offsetof(wg_encoder_options, d_model), false},
    {"d-ff", offsetof(wg_encoder_options, d_ff), false},
    {"heads", offsetof(wg_encoder_options, heads), true},
    {"layers", offsetof(wg_encoder_options, layers), true},
};
enum { N_SIZES = sizeof sizes / sizeof sizes[0] };

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "Which model:", 1},
    {"config", CONFIG, "tiny|small|base", 0, "sizes of the model and the batch (default base)", 1},
    {"batch", SIZE, "N", 0, "sentences", 1},
    {"length", SIZE + 1, "N", 0, "tokens of a sentence", 1},
    {"vocabulary", SIZE + 2, "N", 0, "different tokens", 1},
    {"d-model", SIZE + 3, "N", 0, "width of the residual stream", 1},
    {"d-ff", SIZE + 4, "N", 0, "width of the feed-forward layers", 1},
    {"heads", SIZE + 5, "N", 0, "attention heads", 1},
    {"layers", SIZE + 6, "N", 0, "encoder layers", 1},
    {"dropout", DROPOUT, "P", 0, "probability of dropout (default 0)", 1},
    {0, 0, 0, 0, "What is measured:", 2},
    {"runs", RUNS, "N", 0, "timed steps (default 7)", 2},
    {"profile", PROFILE, 0, 0, "where the time goes, by op", 2},
    {"no-limits", NO_LIMITS, 0, 0, "do not measure the machine: no shares", 2},
    {"json", JSON, 0, 0, "as JSON", 2},
    {0},
};
/* clang-format on */

typedef struct request {
    const char *config;
    wg_encoder_options model;
    int64_t changed[N_SIZES]; /* 0: as the configuration says */
    double dropout;
    int runs;
    bool profile, no_limits, json;
    backend_choice backends;
} request;

/* ---- options -------------------------------------------------------------------------------------- */

static void choose_config(request *r, const struct argp_state *state)
{
    for (size_t i = 0; i < N_CONFIGS; i++)
        if (strcmp(configs[i].name, r->config) == 0) {
            r->model = configs[i].options;
            return;
        }
    argp_error(state, "--config takes tiny, small or base, not '%s'", r->config);
}

static void apply_changes(request *r)
{
    for (size_t i = 0; i < N_SIZES; i++) {
        void *field = (char *)&r->model + sizes[i].at;
        if (r->changed[i] && sizes[i].is_int)
            *(int *)field = (int)r->changed[i];
        else if (r->changed[i])
            *(int64_t *)field = r->changed[i];
    }
    r->model.dropout = r->dropout;
    r->model.tied = true;
}

static double parse_dropout(const char *text, const struct argp_state *state)
{
    char *end;
    double p = strtod(text, &end);
    if (end == text || *end || !(p >= 0 && p < 1))
        argp_error(state, "--dropout takes a number from 0 to below 1, not '%s'", text);
    return p;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    if (key >= SIZE && key < SIZE + N_SIZES) {
        const char *name = sizes[key - SIZE].name;
        r->changed[key - SIZE] = number_argument(state, name, arg, 1, 10000000);
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->backends; break;
    case CONFIG: r->config = arg; break;
    case DROPOUT: r->dropout = parse_dropout(arg, state); break;
    case RUNS: r->runs = (int)number_argument(state, "--runs", arg, 1, 100000); break;
    case PROFILE: r->profile = true; break;
    case NO_LIMITS: r->no_limits = true; break;
    case JSON: r->json = true; break;
    case ARGP_KEY_ARG: argp_error(state, "what is '%s'?", arg); break;
    case ARGP_KEY_END:
        choose_config(r, state);
        apply_changes(r);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- one training step ---------------------------------------------------------------------------- */

/* Forward, backward and update for one shape of the batch. */
typedef struct step {
    wg_graph *g;
    wg_value *tokens, *lengths, *rate;
    double build_seconds;
} step;

static wg_status build_step(step *s, const wg_encoder_options *model)
{
    double start = bench_now();
    *s = (step){.g = wg_graph_new()};
    wg_value *loss = wg_encoder(s->g, model);
    size_t n = wg_graph_parameters(s->g, NULL, 0);
    wg_value **w = calloc(2 * n + 1, sizeof *w), **dw = w + n;
    if (!w)
        return WG_ENOMEM;
    wg_graph_parameters(s->g, w, n);
    s->rate = wg_input(s->g, "rate", WG_F32, WG_SCALAR);
    wg_status status = wg_grad(loss, w, n, dw);
    if (status == WG_OK)
        status = wg_adam_update(w, dw, n, s->rate, NULL);
    free(w);
    s->tokens = wg_graph_find(s->g, "tokens");
    s->lengths = wg_graph_find(s->g, "lengths");
    s->build_seconds = bench_now() - start;
    return status;
}

/* Draws the parameters before anything is timed: a plan of the leaves alone. */
static wg_status fill_store(wg_store *store, wg_graph *g, double *seconds)
{
    double start = bench_now();
    size_t n = wg_graph_parameters(g, NULL, 0);
    wg_value **w = calloc(n + 1, sizeof *w);
    wg_plan *p = NULL;
    wg_status status = w ? WG_OK : WG_ENOMEM;
    if (w)
        wg_graph_parameters(g, w, n);
    if (status == WG_OK)
        status =
            wg_plan_create(&p, g, &(wg_plan_options){.outputs = w, .n_outputs = n, .store = store});
    wg_plan_free(p);
    free(w);
    *seconds = bench_now() - start;
    return status;
}

static void fill_batch(wg_plan *p, const step *s, const wg_encoder_options *model)
{
    uint64_t state = 7;
    double length = (double)model->length;
    fill_random(s->tokens, wg_plan_data(p, s->tokens), 0, (double)model->vocabulary, &state);
    fill_random(s->lengths, wg_plan_data(p, s->lengths), length, length + 1, &state); /* all full */
    *(float *)wg_plan_data(p, s->rate) = 1e-4f;
}

/* What was seen of one backend. */
typedef struct result {
    wg_store *store;
    wg_plan *plan;
    uint64_t steps;
    double store_seconds, cold_seconds, second_seconds;
    size_t fused_bytes, unfused_bytes, leaf_bytes, nodes;
    bench_times times;
} result;

static wg_status run_step(void *context)
{
    result *r = context;
    return wg_plan_run(r->plan, ++r->steps);
}

static wg_status create_plan(wg_plan **p, result *out, wg_graph *g, const request *r, size_t i,
                             bool no_fuse, double *seconds)
{
    double start = bench_now();
    wg_status status = wg_plan_create(p, g,
                                      &(wg_plan_options){.backends = &r->backends.backend[i],
                                                         .n_backends = 1,
                                                         .threads = r->backends.threads,
                                                         .store = out->store,
                                                         .profile = r->profile,
                                                         .no_fuse = no_fuse});
    *seconds = bench_now() - start;
    if (status != WG_OK)
        complain("%s", wg_graph_message(g));
    return status;
}

/* The plan of the step, cold; of another batch, which finds the parameters in place; and the step without fusion, only
 * for its memory. */
static wg_status make_plans(result *out, const step *s, const step *other, const request *r,
                            size_t i)
{
    wg_plan *p = NULL;
    double ignored;
    out->store = wg_store_new(1);
    if (!out->store)
        return WG_ENOMEM;
    wg_status status = fill_store(out->store, s->g, &out->store_seconds);
    if (status == WG_OK)
        status = create_plan(&out->plan, out, s->g, r, i, false, &out->cold_seconds);
    if (status == WG_OK)
        status = create_plan(&p, out, other->g, r, i, false, &out->second_seconds);
    wg_plan_free(p);
    if (status == WG_OK)
        status = create_plan(&p, out, s->g, r, i, true, &ignored);
    if (status == WG_OK) {
        wg_plan_stats stats = wg_plan_statistics(out->plan);
        out->fused_bytes = stats.buffer_bytes;
        out->leaf_bytes = stats.leaf_bytes;
        out->nodes = stats.nodes;
        out->unfused_bytes = wg_plan_statistics(p).buffer_bytes;
        wg_plan_free(p);
        fill_batch(out->plan, s, &r->model);
    }
    return status;
}

/* Operations of the matrix products of a step: four projections, scores and averages of attention, and the feed-forward
 * pair in each layer, the logits; each product has two of its size in the backward pass. */
static double matmul_flops(const wg_encoder_options *o)
{
    double d = (double)o->d_model, tokens = (double)o->batch * (double)o->length;
    double layer = 4 * d * d + 2 * (double)o->length * d + 2 * d * (double)o->d_ff;
    return 3 * 2 * tokens * (o->layers * layer + d * (double)o->vocabulary);
}

static double parameter_count(const wg_graph *g)
{
    double count = 0;
    size_t n = wg_graph_parameters(g, NULL, 0);
    wg_value **w = calloc(n + 1, sizeof *w);
    if (w)
        wg_graph_parameters(g, w, n);
    for (size_t i = 0; w && i < n; i++)
        count += (double)wg_value_count(w[i]);
    free(w);
    return count;
}

/* ---- writing -------------------------------------------------------------------------------------- */

static void print(const request *r, const step *s, const result *seen, const bench_limits *l)
{
    const wg_encoder_options *o = &r->model;
    char a[32], b[32], c[32];
    double tokens = (double)o->batch * (double)o->length, flops = matmul_flops(o);
    printf("encoder: %d layers, d_model %lld, d_ff %lld, %d heads, vocabulary %lld, batch %lld x "
           "%lld, dropout %g\n",
           o->layers, (long long)o->d_model, (long long)o->d_ff, o->heads, (long long)o->vocabulary,
           (long long)o->batch, (long long)o->length, o->dropout);
    printf("%.4g million parameters; %.4g GFLOP of matrix products a step; graph and gradient "
           "built in %s\n",
           1e-6 * parameter_count(s->g), 1e-9 * flops, time_text(s->build_seconds, a, sizeof a));
    if (!r->no_limits) {
        putchar('\n');
        print_limits(l);
    }
    printf("\n%-16s %9s %9s %9s %9s %9s%s\n", "training step", "median", "min", "max", "tokens/s",
           "GFLOP/s", r->no_limits ? "" : "  of matmul");
    for (size_t i = 0; i < r->backends.count; i++) {
        const bench_times *t = &seen[i].times;
        printf("%-16s %9s %9s %9s %9.0f %9.1f", r->backends.name[i],
               time_text(t->median, a, sizeof a), time_text(t->least, b, sizeof b),
               time_text(t->most, c, sizeof c), tokens / t->median, 1e-9 * flops / t->median);
        if (!r->no_limits)
            printf("  %7.0f %%", 100 * flops / t->median / bench_matmul_rate(l));
        putchar('\n');
    }
    printf("\n%-16s %9s %13s %7s %15s %15s %12s\n", "plan", "cold", "second shape", "steps",
           "buffer, fused", "buffer, unfused", "parameters+");
    for (size_t i = 0; i < r->backends.count; i++)
        printf("%-16s %9s %13s %7zu %11.1f MiB %11.1f MiB %8.1f MiB\n", r->backends.name[i],
               time_text(seen[i].cold_seconds, a, sizeof a),
               time_text(seen[i].second_seconds, b, sizeof b), seen[i].nodes,
               (double)seen[i].fused_bytes / 0x1p20, (double)seen[i].unfused_bytes / 0x1p20,
               (double)seen[i].leaf_bytes / 0x1p20);
    for (size_t i = 0; i < r->backends.count && r->profile; i++)
        print_profile(seen[i].plan, r->backends.name[i]);
}

static void json_result(json *j, const char *name, const result *x, const request *r,
                        const bench_limits *l)
{
    double tokens = (double)r->model.batch * (double)r->model.length;
    double flops = matmul_flops(&r->model), seconds = x->times.median;
    put_json_begin(j, NULL, '{');
    put_json_text(j, "backend", name);
    json_times(j, "seconds", &x->times);
    put_json_real(j, "tokens_per_second", tokens / seconds);
    put_json_real(j, "matmul_flops_per_second", flops / seconds);
    if (!r->no_limits)
        put_json_real(j, "share_of_matmul", flops / seconds / bench_matmul_rate(l));
    put_json_real(j, "plan_seconds_cold", x->cold_seconds);
    put_json_real(j, "plan_seconds_second_shape", x->second_seconds);
    put_json_whole(j, "plan_steps", (int64_t)x->nodes);
    put_json_whole(j, "buffer_bytes", (int64_t)x->fused_bytes);
    put_json_whole(j, "buffer_bytes_unfused", (int64_t)x->unfused_bytes);
    put_json_whole(j, "leaf_bytes", (int64_t)x->leaf_bytes);
    if (r->profile)
        json_profile(j, x->plan);
    put_json_end(j, '}');
}

static void print_json(const request *r, const step *s, const result *seen, const bench_limits *l)
{
    json j = {.file = stdout};
    put_json_begin(&j, NULL, '{');
    put_json_begin(&j, "model", '{');
    for (size_t i = 0; i < N_SIZES; i++) {
        const void *field = (const char *)&r->model + sizes[i].at;
        put_json_whole(&j, sizes[i].name,
                   sizes[i].is_int ? *(const int *)field : *(const int64_t *)field);
    }
    put_json_real(&j, "dropout", r->model.dropout);
    put_json_real(&j, "parameters", parameter_count(s->g));
    put_json_end(&j, '}');
    put_json_real(&j, "matmul_flops", matmul_flops(&r->model));
    put_json_real(&j, "build_seconds", s->build_seconds);
    if (!r->no_limits)
        json_limits(&j, l);
    put_json_begin(&j, "backends", '[');
    for (size_t i = 0; i < r->backends.count; i++)
        json_result(&j, r->backends.name[i], &seen[i], r, l);
    put_json_end(&j, ']');
    put_json_end(&j, '}');
}

/* ---- the command ---------------------------------------------------------------------------------- */

static int time_steps(result *seen, const request *r)
{
    bench_subject subject[MOST_BACKENDS];
    bench_times times[MOST_BACKENDS];
    int n = (int)r->backends.count;
    for (int i = 0; i < n; i++)
        subject[i] = (bench_subject){run_step, &seen[i]};
    const bench_schedule schedule = {.runs = r->runs ? r->runs : 7, .seconds = 60};
    wg_status status = bench_interleaved(subject, n, &schedule, times);
    for (int i = 0; i < n; i++) {
        if (status == WG_OK)
            seen[i].times = times[i];
        else if (*wg_plan_message(seen[i].plan))
            complain("%s", wg_plan_message(seen[i].plan));
    }
    return exit_code(status);
}

static int bench(const request *r)
{
    result seen[MOST_BACKENDS] = {{0}};
    bench_limits l = {0};
    step s = {0}, other = {0};
    wg_encoder_options half = r->model; /* the batch of another length bucket */
    half.length = half.length > 1 ? half.length / 2 : 2;

    wg_status status = build_step(&s, &r->model);
    if (status == WG_OK)
        status = build_step(&other, &half);
    if (status != WG_OK)
        complain("%s",
                 s.g && wg_graph_status(s.g) ? wg_graph_message(s.g) : wg_status_text(status));
    for (size_t i = 0; i < r->backends.count && status == WG_OK; i++)
        status = make_plans(&seen[i], &s, &other, r, i);
    int code = exit_code(status);
    if (code == EXIT_OK && !r->no_limits)
        code = measure_limits(&l, r->backends.threads);
    if (code == EXIT_OK)
        code = time_steps(seen, r);
    if (code == EXIT_OK && r->json)
        print_json(r, &s, seen, &l);
    else if (code == EXIT_OK)
        print(r, &s, seen, &l);

    for (size_t i = 0; i < r->backends.count; i++) {
        wg_plan_free(seen[i].plan);
        wg_store_free(seen[i].store);
    }
    wg_graph_free(s.g);
    wg_graph_free(other.g);
    return code;
}

int bench_train_step(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&backend_argp, 0, "By whom (default: the fastest that is built):", 3}, {0}};
    static const struct argp argp = {
        table,
        parse,
        NULL,
        "Times a training step (forward, loss, backward, Adam) of a Transformer encoder, counting "
        "only the operations "
        "of matrix products; says how long planning takes and how much memory fusion saves.",
        children,
        NULL,
        NULL};
    request r = {.config = "base"};
    if (argp_parse(&argp, argc, argv, 0, NULL, &r) != 0)
        return EXIT_USAGE;
    if (!r.backends.given)
        r.backends.count = 1;
    if (!r.backends.threads)
        r.backends.threads = omp_get_max_threads();
    int code = bench(&r);
    close_backends(&r.backends);
    return code;
}
