/* wengert bench train-step: a training step of a Transformer, as the trainer builds it. */
#include "measure/train_step.h"
#include "cli/measure.h"
#include "cli/values.h"
#include "graph/amount.h"
#include "graph/resident.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { PRESET = 1000, RUNS, PROFILE, JSON, NO_LIMITS, DROPOUT, CLIP, MEMORY, SIZE };

/* The batch of each preset: about as many tokens as fill the caches. */
static const struct {
    const char *name;
    bench_batch batch;
    int64_t vocabulary;
} presets[] = {
    {"tiny", {256, 16, 16}, 9712},
    {"small", {64, 16, 16}, 9712},
    {"base", {32, 32, 32}, 10000},
    {"big", {16, 32, 32}, 10000},
};
enum { N_PRESETS = WG_COUNT(presets) };

typedef struct request {
    const char *preset;
    bench_batch batch;
    wg_settings settings;
    size_t memory, process; /* the limit, and bytes of it that were taken at the beginning */
    double dropout;         /* negative: that of the preset */
    double clip;
    int64_t changed[16]; /* by row of `sizes`; 0: that of the preset */
    int runs;
    bool profile, no_limits, json;
    backend_choice backends;
} request;

/* Sizes that an option changes: key SIZE + row.  Later rows win. */
static const struct {
    const char *name;
    size_t at[2]; /* offsets in request; one, or two that change together */
} sizes[] = {
    {"batch", {offsetof(request, batch.rows)}},
    {"length", {offsetof(request, batch.source_length), offsetof(request, batch.target_length)}},
    {"source-length", {offsetof(request, batch.source_length)}},
    {"target-length", {offsetof(request, batch.target_length)}},
    {"vocabulary",
     {offsetof(request, settings.net.source_vocabulary),
      offsetof(request, settings.net.target_vocabulary)}},
    {"d-model", {offsetof(request, settings.net.d_model)}},
    {"d-ff", {offsetof(request, settings.net.d_ff)}},
    {"heads", {offsetof(request, settings.net.heads)}},
    {"layers",
     {offsetof(request, settings.net.encoder_layers),
      offsetof(request, settings.net.decoder_layers)}},
    {"encoder-layers", {offsetof(request, settings.net.encoder_layers)}},
    {"decoder-layers", {offsetof(request, settings.net.decoder_layers)}},
};
enum { N_SIZES = WG_COUNT(sizes) };

/* clang-format off */
static const struct argp_option table[] = {
    {0, 0, 0, 0, "Model and batch:", 1},
    {"preset", PRESET, "tiny|small|base|big", 0,
     "sizes of the model and the batch (default: base)", 1},
    {"batch", SIZE, "N", 0, "number of sentences", 1},
    {"length", SIZE + 1, "N", 0, "tokens per sentence, source and target", 1},
    {"source-length", SIZE + 2, "N", 0, "tokens per source sentence", 1},
    {"target-length", SIZE + 3, "N", 0, "tokens per target sentence", 1},
    {"vocabulary", SIZE + 4, "N", 0, "size of both vocabularies", 1},
    {"d-model", SIZE + 5, "N", 0, "width of the residual stream", 1},
    {"d-ff", SIZE + 6, "N", 0, "width of the feed-forward layers", 1},
    {"heads", SIZE + 7, "N", 0, "attention heads", 1},
    {"layers", SIZE + 8, "N", 0, "layers of the encoder and of the decoder", 1},
    {"encoder-layers", SIZE + 9, "N", 0, "layers of the encoder", 1},
    {"decoder-layers", SIZE + 10, "N", 0, "layers of the decoder", 1},
    {"dropout", DROPOUT, "P", 0, "dropout probability (default: that of --preset)", 1},
    {"clip-norm", CLIP, "NORM", 0,
     "clip the gradient to this global norm (default: 25; 0: no clipping)", 1},
    {"memory", MEMORY, "BYTES", 0,
     "let the process take no more than this, 512M or 2G: the plan drops values and recomputes "
     "them, 0: no limit", 1},
    {0, 0, 0, 0, "Measurement:", 2},
    {"runs", RUNS, "N", 0, "number of timed steps (default: 7)", 2},
    {"profile", PROFILE, 0, 0, "break the time down by op", 2},
    {"no-limits", NO_LIMITS, 0, 0, "do not measure the machine's limits; print no shares", 2},
    {"json", JSON, 0, 0, "print JSON", 2},
    {0},
};
/* clang-format on */

/* ---- options --------------------------------------------------------------------------------- */

static int64_t *size_at(request *r, int row, int k)
{
    size_t at = sizes[row].at[k];
    return k == 0 || at ? (int64_t *)(void *)((char *)r + at) : NULL;
}

static void apply_changes(request *r)
{
    for (int row = 0; row < N_SIZES; row++)
        for (int k = 0; k < 2 && r->changed[row]; k++)
            if (size_at(r, row, k))
                *size_at(r, row, k) = r->changed[row];
    if (r->dropout >= 0)
        r->settings.net.dropout = r->dropout;
    r->settings.clip_norm = r->clip;
}

/* Sets the preset and the changes to it; complains. */
static wg_status configure(request *r)
{
    wg_error error;
    size_t i = 0;
    while (strcmp(presets[i].name, r->preset) != 0)
        i++;
    r->batch = presets[i].batch;
    wg_status status = bench_step_settings(&r->settings, r->preset, presets[i].vocabulary,
                                           r->backends.threads, &error);
    if (status == WG_OK)
        apply_changes(r);
    else
        complain_error(&error);
    return status;
}

static const char *check_preset(const char *name, const struct argp_state *state)
{
    for (size_t i = 0; i < N_PRESETS; i++)
        if (strcmp(presets[i].name, name) == 0)
            return name;
    argp_error(state, "--preset: expected tiny, small, base or big, got '%s'", name);
    return name;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    if (key >= SIZE && key < SIZE + N_SIZES) {
        char option[32];
        snprintf(option, sizeof option, "--%s", sizes[key - SIZE].name);
        r->changed[key - SIZE] = number_argument(state, option, arg, 1, 10000000);
        return 0;
    }
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->backends; break;
    case PRESET: r->preset = check_preset(arg, state); break;
    case DROPOUT:
        r->dropout = real_argument(state, "--dropout", arg, 0, BELOW_1, "from 0 to below 1");
        break;
    case CLIP: r->clip = real_argument(state, "--clip-norm", arg, 0, 1e30, "from 0 to 1e30"); break;
    case MEMORY: r->memory = bytes_argument(state, "--memory", arg); break;
    case RUNS: r->runs = (int)number_argument(state, "--runs", arg, 1, 100000); break;
    case PROFILE: r->profile = true; break;
    case NO_LIMITS: r->no_limits = true; break;
    case JSON: r->json = true; break;
    case ARGP_KEY_ARG: argp_error(state, "unexpected argument '%s'", arg); break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- one training step ----------------------------------------------------------------------- */

/* The measurements of one list of backends. */
typedef struct result {
    wg_store *store;
    bench_step step;
    double second_seconds; /* to plan another shape */
    double
        resident; /* peak after two steps; of the first backend, before anything else is measured */
    double before; /* peak before the graph is built */
    size_t unfused_bytes;
    wg_plan_stats stats;
    bench_times times;
} result;

static wg_status make(bench_step *s, const result *out, const request *r, size_t i,
                      const bench_batch *b, bool no_fuse, size_t memory)
{
    wg_status status =
        bench_step_make(s, &(bench_step_options){.settings = &r->settings,
                                                 .batch = *b,
                                                 .backends = r->backends.set[i].list.backend,
                                                 .n_backends = r->backends.set[i].list.count,
                                                 .store = out->store,
                                                 .profile = r->profile,
                                                 .memory = memory,
                                                 .memory_elsewhere = r->process,
                                                 .no_fuse = no_fuse});
    const char *why = s->graph ? wg_graph_message(s->graph) : "";
    if (status != WG_OK)
        complain("%s", *why ? why : wg_status_text(status));
    return status;
}

static wg_status run_step(bench_step *s)
{
    wg_status status = bench_step_run(s);
    if (status != WG_OK)
        complain("%s", wg_plan_message(s->plan));
    return status;
}

/* Plans the step and runs it twice; plans it for another batch, which finds the parameters in
 * place; and plans it without fusion, only for its memory. */
static wg_status make_plans(result *out, const request *r, size_t i)
{
    bench_batch half = r->batch; /* of another length */
    half.source_length = half.source_length > 1 ? half.source_length / 2 : 2;
    half.target_length = half.target_length > 1 ? half.target_length / 2 : 2;
    bench_step other = {0}, unfused = {0};
    out->before = bench_resident_peak();
    out->store = wg_store_new(1);
    if (!out->store)
        complain("out of memory");
    wg_status status =
        out->store ? make(&out->step, out, r, i, &r->batch, false, r->memory) : WG_ENOMEM;
    for (int k = 0; k < 2 && status == WG_OK; k++)
        status = run_step(&out->step);
    out->resident = bench_resident_peak();
    wg_plan_reset_profile(out->step.plan); /* the first steps touch memory for the first time */
    if (status == WG_OK)
        status = make(&other, out, r, i, &half, false, r->memory);
    out->second_seconds = other.plan_seconds;
    bench_step_free(&other);
    if (status == WG_OK)
        status = make(&unfused, out, r, i, &r->batch, true, 0);
    if (status == WG_OK) {
        out->stats = wg_plan_statistics(out->step.plan);
        out->unfused_bytes = wg_plan_statistics(unfused.plan).buffer_bytes;
    }
    bench_step_free(&unfused);
    return status;
}

static double flops_of(const request *r)
{
    return bench_step_flops(&r->settings.net, &r->batch);
}

static double target_tokens(const request *r)
{
    return (double)r->batch.rows * (double)r->batch.target_length;
}

static double parameter_count(const wg_graph *g)
{
    double count = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (n->op->flags & WG_OP_PARAMETER)
            count += (double)wg_value_count(n->out[0]);
    }
    return count;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void print_model(const request *r, const bench_step *s)
{
    const wg_transformer_config *c = &r->settings.net;
    const bench_batch *b = &r->batch;
    char text[WGI_AMOUNT_TEXT], count[WGI_AMOUNT_TEXT], flops[WGI_AMOUNT_TEXT];
    printf(
        "transformer: %lld + %lld layers, d_model %lld, d_ff %lld, %lld heads, vocabulary %lld, "
        "dropout %g, label smoothing %g; batch %lld x %lld + %lld, gradient clipped at %g, Adam\n",
        (long long)c->encoder_layers, (long long)c->decoder_layers, (long long)c->d_model,
        (long long)c->d_ff, (long long)c->heads, (long long)c->target_vocabulary, c->dropout,
        c->label_smoothing, (long long)b->rows, (long long)b->source_length,
        (long long)b->target_length, r->settings.clip_norm);
    printf("%s; %s of matrix products per step; graph and gradient built in %s\n",
           wgi_amount_text(parameter_count(s->graph), " parameters", count),
           wgi_amount_text(flops_of(r), "FLOP", flops), wgi_seconds_text(s->build_seconds, text));
    printf("counted: 2 x 3 (forward, two gradients) x the terms of the attention projections, "
           "scores and averages (causal:\nt + 1 keys for position t), of the feed-forward "
           "layers and of the logits; nothing else\n");
}

static void print_steps(const request *r, const result *seen, const bench_limits *l)
{
    char a[WGI_AMOUNT_TEXT], b[WGI_AMOUNT_TEXT], c[WGI_AMOUNT_TEXT];
    printf("\n%-16s %9s %9s %9s %15s %9s%s\n", "training step", "median", "min", "max",
           "target tokens/s", "GFLOP/s", r->no_limits ? "" : "  of matmul");
    for (size_t i = 0; i < r->backends.n_sets; i++) {
        const bench_times *t = &seen[i].times;
        double rate = flops_of(r) / t->median;
        printf("%-16s %9s %9s %9s %15.0f %9.1f", r->backends.set[i].name,
               wgi_seconds_text(t->median, a), wgi_seconds_text(t->min, b),
               wgi_seconds_text(t->max, c), target_tokens(r) / t->median, 1e-9 * rate);
        if (!r->no_limits)
            printf("  %7.0f %%", 100 * rate / bench_matmul_rate(l));
        putchar('\n');
    }
}

static void print_plans(const request *r, const result *seen)
{
    char a[WGI_AMOUNT_TEXT], b[WGI_AMOUNT_TEXT];
    printf("\n%-16s %9s %13s %7s %15s %15s %12s\n", "plan", "cold", "second shape", "steps",
           "buffer, fused", "buffer, unfused", "parameters+");
    for (size_t i = 0; i < r->backends.n_sets; i++)
        printf("%-16s %9s %13s %7zu %11.1f MiB %11.1f MiB %8.1f MiB\n", r->backends.set[i].name,
               wgi_seconds_text(seen[i].step.plan_seconds, a),
               wgi_seconds_text(seen[i].second_seconds, b), seen[i].stats.nodes,
               (double)seen[i].stats.buffer_bytes / 0x1p20, (double)seen[i].unfused_bytes / 0x1p20,
               (double)seen[i].stats.leaf_bytes / 0x1p20);
    for (size_t i = 0; i < r->backends.n_sets; i++)
        print_again(seen[i].step.plan, r->backends.set[i].name);
    const wg_plan_stats *s = &seen[0].stats;
    printf("resident peak: %.1f MiB, %.1f MiB of it since before the graph was built (%s, two "
           "steps, before any other measurement); planned: %.1f MiB\n",
           seen[0].resident / 0x1p20, (seen[0].resident - seen[0].before) / 0x1p20,
           r->backends.set[0].name, (double)(s->leaf_bytes + s->buffer_bytes) / 0x1p20);
}

static int print(const request *r, const result *seen, const bench_limits *l)
{
    int code = EXIT_OK;
    print_model(r, &seen[0].step);
    if (!r->no_limits) {
        putchar('\n');
        print_limits(l);
    }
    print_steps(r, seen, l);
    print_plans(r, seen);
    for (size_t i = 0; i < r->backends.n_sets && r->profile && code == EXIT_OK; i++)
        code = print_profile(seen[i].step.plan, r->backends.set[i].name);
    return code;
}

static int json_result(wgi_json *j, const request *r, const result *x, size_t i,
                       const bench_limits *l)
{
    int code = EXIT_OK;
    double flops = flops_of(r), seconds = x->times.median;
    wgi_json_begin(j, NULL, '{');
    wgi_json_text(j, "backend", r->backends.set[i].name);
    json_times(j, "seconds", &x->times);
    wgi_json_real(j, "target_tokens_per_second", target_tokens(r) / seconds);
    wgi_json_real(j, "matmul_flops_per_second", flops / seconds);
    if (!r->no_limits)
        wgi_json_real(j, "share_of_matmul", flops / seconds / bench_matmul_rate(l));
    wgi_json_real(j, "plan_seconds_cold", x->step.plan_seconds);
    wgi_json_real(j, "plan_seconds_second_shape", x->second_seconds);
    wgi_json_whole(j, "plan_steps", (int64_t)x->stats.nodes);
    wgi_json_whole(j, "buffer_bytes", (int64_t)x->stats.buffer_bytes);
    wgi_json_whole(j, "buffer_bytes_unfused", (int64_t)x->unfused_bytes);
    wgi_json_whole(j, "leaf_bytes", (int64_t)x->stats.leaf_bytes);
    wgi_json_whole(j, "library_bytes", (int64_t)x->stats.library_bytes);
    json_again(j, &x->stats);
    if (i == 0) {
        wgi_json_whole(j, "resident_peak_bytes", (int64_t)x->resident);
        wgi_json_whole(j, "resident_before_bytes", (int64_t)x->before);
    }
    if (r->profile)
        code = json_profile(j, x->step.plan);
    wgi_json_end(j, '}');
    return code;
}

static int print_json(request *r, const result *seen, const bench_limits *l)
{
    int code = EXIT_OK;
    wgi_json j = {.file = stdout};
    wgi_json_begin(&j, NULL, '{');
    wgi_json_begin(&j, "model", '{');
    wgi_json_text(&j, "preset", r->preset);
    for (int row = 0; row < N_SIZES; row++)
        if (!size_at(r, row, 1) || strcmp(sizes[row].name, "vocabulary") == 0)
            wgi_json_whole(&j, sizes[row].name, *size_at(r, row, 0));
    wgi_json_real(&j, "dropout", r->settings.net.dropout);
    wgi_json_real(&j, "label-smoothing", r->settings.net.label_smoothing);
    wgi_json_real(&j, "clip-norm", r->settings.clip_norm);
    wgi_json_real(&j, "parameters", parameter_count(seen[0].step.graph));
    wgi_json_end(&j, '}');
    wgi_json_real(&j, "matmul_flops", flops_of(r));
    wgi_json_real(&j, "build_seconds", seen[0].step.build_seconds);
    if (!r->no_limits)
        json_limits(&j, l);
    wgi_json_begin(&j, "backends", '[');
    for (size_t i = 0; i < r->backends.n_sets && code == EXIT_OK; i++)
        code = json_result(&j, r, &seen[i], i, l);
    wgi_json_end(&j, ']');
    wgi_json_end(&j, '}');
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int time_steps(result *seen, const request *r)
{
    bench_subject subject[MAX_BACKENDS];
    const wg_plan *plan[MAX_BACKENDS];
    bench_times times[MAX_BACKENDS];
    int n = (int)r->backends.n_sets;
    for (int i = 0; i < n; i++) {
        subject[i] = (bench_subject){bench_step_run, &seen[i].step};
        plan[i] = seen[i].step.plan;
    }
    const bench_schedule schedule = {.runs = r->runs ? r->runs : 7, .seconds = 60};
    wg_status status = bench_interleaved(subject, n, &schedule, times);
    for (int i = 0; i < n && status == WG_OK; i++)
        seen[i].times = times[i];
    return code_of_times(status, "training step", plan, (size_t)n);
}

static int bench(request *r)
{
    result seen[MAX_BACKENDS] = {{0}};
    bench_limits l = {0};
    wg_status status = configure(r);
    r->process = wgi_resident_bytes();
    for (size_t i = 0; i < r->backends.n_sets && status == WG_OK; i++)
        status = make_plans(&seen[i], r, i);
    int code = exit_code(status);
    if (code == EXIT_OK && !r->no_limits)
        code = measure_limits(&l, r->backends.threads);
    if (code == EXIT_OK)
        code = time_steps(seen, r);
    if (code == EXIT_OK)
        code = r->json ? print_json(r, seen, &l) : print(r, seen, &l);

    for (size_t i = 0; i < r->backends.n_sets; i++) {
        bench_step_free(&seen[i].step);
        wg_store_free(seen[i].store);
    }
    wg_settings_free(&r->settings);
    return code;
}

int bench_train_step(int argc, char **argv)
{
    static const struct argp_child children[] = {
        {&backend_argp, 0, "Backends (default: all that are built in):", 3}, {0}};
    static const struct argp argp = {
        table,
        parse,
        NULL,
        "Times the training step that `wengert train` runs: forward pass with dropout, "
        "label-smoothed loss, backward pass, clipping, Adam.  FLOP counts cover the model's "
        "matrix products only.  Also prints the time to plan, the memory that fusion saves and "
        "the peak memory of the process.",
        children,
        NULL,
        NULL};
    request r = {.preset = "base", .dropout = -1, .clip = 25};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    code = bench(&r);
    close_backends(&r.backends);
    return code;
}
