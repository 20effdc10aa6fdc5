/* The step of training against what the machine can do and against PyTorch: each in a process of
 * its own, all in turn.
 *
 *     bench_steps [ROUNDS [PYTHON]]     9 rounds that count, python3
 *     bench_steps check                 counts only, of small models */
#include "graph/threads.h"
#include "measure/child.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

static const bench_case cases[] = {
    {"base", {32, 32, 32}, 10000, 0},
    {"tiny", {256, 16, 16}, 9712, 0},
    {"base", {8, 128, 128}, 10000, 0},
};
enum { CASES = WG_COUNT(cases), WARM_UP = 2, MIN_ROUNDS = 7 };

typedef struct harness {
    int rounds;
    const char *python;
    bench_child ours[CASES], theirs[CASES]; /* theirs: where there is PyTorch */
    bench_limits limits[BENCH_MAX_RUNS];
    bench_square square;
    double products[CASES][BENCH_MAX_RUNS]; /* seconds of the same work as products alone */
} harness;

static void print_case(const bench_case *c)
{
    const bench_batch *b = &c->batch;
    printf("%s %lld x %lld+%lld, V %lld", c->config, (long long)b->rows,
           (long long)b->source_length, (long long)b->target_length, (long long)c->vocabulary);
}

/* ---- measuring ------------------------------------------------------------------------------- */

static bool start(harness *h, int threads)
{
    for (int i = 0; i < CASES; i++) {
        bench_case c = cases[i];
        c.threads = threads;
        if (!bench_child_start(&h->ours[i], &c, NULL, NULL)) {
            fprintf(stderr, "bench_steps: %s\n", h->ours[i].name);
            return false;
        }
        if (i > 0 && !h->theirs[0].pid)
            continue; /* as little as for the first */
        if (!bench_child_start(&h->theirs[i], &c, h->python, WG_PYTORCH_STEP))
            printf("Without PyTorch: %s\n", h->theirs[i].name);
    }
    return true;
}

/* Half of the operations of a step, as products of large squares: what the machine gives just
 * now, for as long.  The best product of all rounds says what it gives when it gives most. */
static bool run_products(harness *h, const bench_case *c, double *seconds)
{
    double n = (double)h->square.n, half = bench_case_flops(c) / 2, one = 2 * n * n * n;
    int calls = half > one ? (int)(half / one) : 1;
    double each;
    bool good =
        bench_time_calls(&(bench_subject){bench_square_run, &h->square}, calls, &each) == WG_OK;
    *seconds += each * half / one;
    return good;
}

static bool run_round(harness *h, int round)
{
    for (int i = 0; i < CASES; i++) {
        double products = 0;
        if (!run_products(h, &cases[i], &products) || !bench_child_run(&h->ours[i], round >= 0) ||
            !run_products(h, &cases[i], &products) ||
            (h->theirs[i].pid && !bench_child_run(&h->theirs[i], round >= 0))) {
            fprintf(stderr, "bench_steps: a process ended in a step of case %d\n", i + 1);
            return false;
        }
        if (round >= 0)
            h->products[i][round] = products;
    }
    return true;
}

static bool measure(harness *h, int threads)
{
    if (bench_square_make(&h->square, 0, threads) != WG_OK)
        return false;
    for (int k = 0; k < WARM_UP; k++)
        if (!run_round(h, -1))
            return false;
    for (int k = 0; k < h->rounds; k++)
        if (bench_limits_measure(&h->limits[k], &(bench_limits_options){.threads = threads}) !=
                WG_OK ||
            !run_round(h, k))
            return false;
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Of all rounds: the best is the limit. */
static double print_limit(const harness *h, const char *what, const char *unit,
                          double (*rate)(const bench_limits *))
{
    double values[BENCH_MAX_RUNS];
    for (int k = 0; k < h->rounds; k++)
        values[k] = rate(&h->limits[k]);
    bench_times t = bench_summary(values, h->rounds);
    printf("%-34s %9.1f %9.1f %9.1f  %s\n", what, 1e-9 * t.max, 1e-9 * t.median, 1e-9 * t.min,
           unit);
    return t.max;
}

static void print_child(const bench_case *c, const bench_child *x, double limit)
{
    bench_times t = bench_child_times(x);
    double flops = bench_case_flops(c);
    printf("  %-22s %8.3f %8.3f %8.3f %10.0f %9.1f %8.0f %% %9.0f\n", x->name, t.median, t.min,
           t.max, (double)(c->batch.rows * c->batch.target_length) / t.median,
           1e-9 * flops / t.median, 100 * flops / t.median / limit, x->peak / 0x1p20);
}

/* The time of as many operations in products alone, before and after the step, over its own. */
static void print_share(const harness *h, int i)
{
    double share[BENCH_MAX_RUNS];
    for (int k = 0; k < h->rounds; k++)
        share[k] = h->products[i][k] / h->ours[i].seconds[k];
    bench_times t = bench_summary(share, h->rounds);
    printf("  %-22s %8.2f %8.2f %8.2f    of the rate of products just before and after\n", "share",
           t.median, t.min, t.max);
}

/* Of the steps of one round each: theirs over ours. */
static void print_ratio(const bench_child *ours, const bench_child *theirs)
{
    bench_times t = bench_child_ratio(theirs, ours);
    printf("  %-22s %8.2f %8.2f %8.2f    times as fast, with %.2f of the memory\n", "ratio",
           t.median, t.min, t.max, ours->peak / theirs->peak);
}

static void print(const harness *h)
{
    char isa[80];
    printf("\nkernels for %s\n", bench_isa_text(isa, sizeof isa));
    printf("%-34s %9s %9s %9s\n", "measured, best of each round", "best", "median", "worst");
    double limit = print_limit(h, "matmul 2048^3 f32", "GFLOP/s", bench_matmul_rate);
    print_limit(h, "memory (triad)", "GB/s", bench_memory_rate);
    printf("\n%d rounds, seconds of a step             target            of the  resident\n"
           "  %-22s %8s %8s %8s %10s %9s %10s %9s\n",
           h->rounds, "", "median", "min", "max", "tokens/s", "GFLOP/s", "matmul", "peak, MiB");
    for (int i = 0; i < CASES; i++) {
        print_case(&cases[i]);
        printf(": %.1f GFLOP\n", 1e-9 * bench_case_flops(&cases[i]));
        print_child(&cases[i], &h->ours[i], limit);
        print_share(h, i);
        if (h->theirs[i].runs) {
            print_child(&cases[i], &h->theirs[i], limit);
            print_ratio(&h->ours[i], &h->theirs[i]);
        }
    }
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Operations of the products in the plan of plain ops. */
static double count_products(const wg_plan *p)
{
    double flops = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        wg_plan_step s = wg_plan_step_at(p, i);
        if (strcmp(s.node->op->name, "matmul") == 0)
            flops += s.flops;
    }
    return flops;
}

/* What bench_step_flops counts is what a plan has, apart from what the causal mask hides: nothing
 * of one target. */
static int check_counts(const char *config)
{
    wg_settings settings;
    bench_step s = {0};
    const wg_backend *cpu = wg_cpu_backend();
    bench_step_options o = {.settings = &settings,
                            .batch = {2, 5, 1},
                            .backends = &cpu,
                            .n_backends = 1,
                            .no_fuse = true};
    wg_status status = bench_step_settings(&settings, config, 40, 1, NULL);
    if (status == WG_OK) {
        settings.net.d_model = 32; /* 16 heads divide it */
        settings.net.d_ff = 20;
        status = bench_step_make(&s, &o);
    }
    double formula = bench_step_flops(&settings.net, &o.batch),
           plan = status == WG_OK ? count_products(s.plan) : 0;
    printf("%s: %.0f operations by the formula, %.0f in the plan\n", config, formula, plan);
    bench_step_free(&s);
    wg_settings_free(&settings);
    return formula == plan && plan > 0 ? 0 : 1;
}

static const bench_case small = {"tiny", {2, 3, 4}, 40, 1};

/* Is the process stopped, as it should be while it is not its turn? */
static bool rests(pid_t pid)
{
    char path[40], state = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "r");
    bool read = f && fscanf(f, "%*d (%*[^)]) %c", &state) == 1;
    if (f)
        fclose(f);
    return read && state == 'T';
}

/* A child answers as it should. */
static int check_child(void)
{
    bench_child c;
    bool good = bench_child_start(&c, &small, NULL, NULL);
    for (int k = 0; good && k < 3; k++)
        good = rests(c.pid) && bench_child_run(&c, k > 0);
    good = good && rests(c.pid) && c.runs == 2 && c.buffer > 0 && c.peak > c.buffer &&
           bench_child_times(&c).min > 0;
    bench_child_end(&c);
    bench_child none;
    bool absent =
        !bench_child_start(&none, &small, "/nonexistent/python", WG_PYTORCH_STEP) && *none.name;
    printf("child: %s; without Python: %s\n", good ? "2 steps" : "fails",
           absent ? none.name : "there is one");
    return good && absent ? 0 : 1;
}

/* A resting child whose parent is killed ends too: here a process between this one and the
 * child. */
static int check_orphan(void)
{
#ifdef __linux__
    enum { PATIENCE = 60 };
    int state = 0, news[2];
    pid_t child = 0;
    if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0 || pipe(news) != 0)
        return 1;
    pid_t parent = fork();
    if (parent == 0) {
        bench_child c;
        if (bench_child_start(&c, &small, NULL, NULL) &&
            write(news[1], &c.pid, sizeof c.pid) == sizeof c.pid)
            raise(SIGKILL);
        _exit(1);
    }
    close(news[1]);
    alarm(PATIENCE); /* to fail, and not to wait for ever */
    bool good = read(news[0], &child, sizeof child) == sizeof child &&
                waitpid(parent, NULL, 0) == parent && waitpid(child, &state, 0) == child &&
                WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL;
    alarm(0);
    close(news[0]);
    printf("child of a parent that is killed: %s\n", good ? "killed" : "goes on");
    return good ? 0 : 1;
#else
    return 0;
#endif
}

static int check(void)
{
    int failures = check_child() + check_orphan();
    for (size_t i = 0; wg_transformer_config_at(i); i++)
        failures += check_counts(wg_transformer_config_at(i)->name);
    return failures > 0;
}

int main(int argc, char **argv)
{
    static harness h;
    int code;
    if (bench_child_serve(argc, argv, &code))
        return code;
    if (argc == 2 && strcmp(argv[1], "check") == 0)
        return check();
    h.rounds = argc > 1 ? atoi(argv[1]) : 9;
    h.python = argc > 2 ? argv[2] : "python3";
    if (h.rounds < MIN_ROUNDS || h.rounds > BENCH_MAX_RUNS || argc > 3)
        return fprintf(
                   stderr,
                   "Usage: bench_steps [ROUNDS [PYTHON]], %d to %d rounds; or bench_steps check\n",
                   MIN_ROUNDS, BENCH_MAX_RUNS),
               2;
    int threads = wgi_threads(0);
    bool good = start(&h, threads) && measure(&h, threads);
    if (good)
        print(&h);
    bench_square_free(&h.square);
    for (int i = 0; i < CASES; i++) {
        bench_child_end(&h.ours[i]);
        bench_child_end(&h.theirs[i]);
    }
    return good ? 0 : 1;
}
