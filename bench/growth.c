/* How a training step grows: in time and memory with the length of sentences, in time with their
 * number and with threads.
 *
 *     bench_growth [CONFIG [TOKENS [ROUNDS [TABLE]]]]
 *     bench_growth check                                  planned memory of a small model only
 *
 * Defaults: the configuration tiny, batches of 4096 target tokens, 7 timed rounds, and all tables
 * (length, rows, memory). */
#include "graph/threads.h"
#include "measure/child.h"

#include <stdlib.h>
#include <string.h>

enum { SHORTEST = 16, LENGTHS = 7, WARM_UP = 2, VOCABULARY = 10000 }; /* 16, 32 ... 1024 */
enum { FITTED = 4 }; /* the longest, to which memory is fitted: what does not grow is small there */

typedef struct request {
    const char *config;
    int64_t tokens;
    int rounds;
} request;

static int64_t length_at(int i)
{
    return (int64_t)SHORTEST << i;
}

/* What the machine's threads are worth, whatever runs on them: a product of large matrices with one
 * thread and with all. Where processors are virtual, a second one can be half of the first for
 * seconds at a time. */
typedef struct products {
    bench_square of[2]; /* one thread, all */
    double ratio[BENCH_MAX_RUNS];
    int runs;
} products;

static bool open_products(products *p, int threads)
{
    *p = (products){.runs = 0};
    return bench_square_make(&p->of[0], 0, 1) == WG_OK &&
           bench_square_make(&p->of[1], 0, threads) == WG_OK;
}

static void close_products(products *p)
{
    bench_square_free(&p->of[0]);
    bench_square_free(&p->of[1]);
}

static bool time_products(products *p, bool counts)
{
    double seconds[2] = {0};
    for (int k = 0; k < 2; k++)
        for (int run = 0; run < 2; run++) { /* the first wakes threads and fills the caches */
            double start = wgi_seconds();
            if (bench_square_run(&p->of[k]) != WG_OK)
                return false;
            seconds[k] = wgi_seconds() - start;
        }
    if (counts && p->runs < BENCH_MAX_RUNS)
        p->ratio[p->runs++] = seconds[0] / seconds[1];
    return true;
}

/* Runs the cases in turn, each in a process of its own, and the products after them, if any. */
static bool measure(bench_child *child, const bench_case *what, int n, int rounds, products *beside)
{
    bool good = true;
    memset(child, 0, (size_t)n * sizeof *child);
    for (int i = 0; i < n && good; i++) {
        good = bench_child_start(&child[i], &what[i], NULL, NULL);
        if (!good)
            fprintf(stderr, "bench_growth: %s\n", child[i].name);
    }
    for (int k = 0; k < WARM_UP + rounds && good; k++) {
        for (int i = 0; i < n && good; i++)
            good = bench_child_run(&child[i], k >= WARM_UP);
        good = good && (!beside || time_products(beside, k >= WARM_UP));
    }
    for (int i = 0; i < n; i++)
        bench_child_end(&child[i]);
    return good;
}

static void print_row(const bench_case *c, const bench_child *x)
{
    bench_times t = bench_child_times(x);
    double flops = bench_case_flops(c);
    printf("%8lld %8lld %8d %9.4f %9.4f %9.4f %11.0f %9.1f %10.1f %10.1f\n",
           (long long)c->batch.target_length, (long long)c->batch.rows, c->threads, t.median, t.min,
           t.max, (double)(c->batch.rows * c->batch.target_length) / t.median,
           1e-9 * flops / t.median, x->buffer / 0x1p20, x->peak / 0x1p20);
}

static void print_head(const char *what)
{
    printf("\n%s\n%8s %8s %8s %9s %9s %9s %11s %9s %10s %10s\n", what, "length", "rows", "threads",
           "median s", "min", "max", "tokens/s", "GFLOP/s", "plan, MiB", "peak, MiB");
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Seconds with one thread by those with all, of steps and of the product, for each length. */
typedef struct gains {
    bench_times step[LENGTHS], product[LENGTHS];
} gains;

static void print_gains(const gains *g, int threads)
{
    printf("\n%d threads against one, in the same round; the same of a product of matrices\n"
           "%8s %9s %9s %9s %9s %9s %9s\n",
           threads, "length", "median", "min", "max", "product", "min", "max");
    for (int i = 0; i < LENGTHS; i++) {
        const bench_times *s = &g->step[i], *p = &g->product[i];
        printf("%8lld %9.2f %9.2f %9.2f %9.2f %9.2f %9.2f\n", (long long)length_at(i), s->median,
               s->min, s->max, p->median, p->min, p->max);
    }
}

/* One length with one thread and, if there are more, with all, in turn, on `tokens` target
 * tokens. */
static bool at_length(const request *r, int i, int threads, products *beside, gains *g)
{
    static bench_child child[2];
    int kinds = threads > 1 ? 2 : 1;
    int64_t n = length_at(i), rows = r->tokens > n ? r->tokens / n : 1;
    const bench_case what[2] = {{r->config, {rows, n, n}, VOCABULARY, 1},
                                {r->config, {rows, n, n}, VOCABULARY, threads}};
    beside->runs = 0;
    if (!measure(child, what, kinds, r->rounds, kinds > 1 ? beside : NULL))
        return false;
    for (int k = 0; k < kinds; k++)
        print_row(&what[k], &child[k]);
    if (kinds > 1) {
        g->step[i] = bench_child_ratio(&child[0], &child[1]);
        g->product[i] = bench_summary(beside->ratio, beside->runs);
    }
    return true;
}

/* As many target tokens in each batch. */
static bool over_length(const request *r)
{
    static products beside;
    gains g;
    int threads = wgi_threads(0);
    bool good = open_products(&beside, threads);
    print_head("Sentences of all lengths, as many target tokens in each batch");
    for (int i = 0; i < LENGTHS && good; i++)
        good = at_length(r, i, threads, &beside, &g);
    if (good && threads > 1)
        print_gains(&g, threads);
    close_products(&beside);
    return good;
}

static bool over_rows(const request *r)
{
    static bench_child child[LENGTHS];
    bench_case what[LENGTHS];
    double rows[LENGTHS], seconds[LENGTHS];
    for (int i = 0; i < LENGTHS; i++)
        what[i] = (bench_case){
            r->config, {(int64_t)4 << i, SHORTEST, SHORTEST}, VOCABULARY, wgi_threads(0)};
    if (!measure(child, what, LENGTHS, r->rounds, NULL))
        return false;
    print_head("Batches of more and more sentences");
    for (int i = 0; i < LENGTHS; i++) {
        print_row(&what[i], &child[i]);
        rows[i] = (double)what[i].batch.rows;
        seconds[i] = bench_child_times(&child[i]).median;
    }
    printf("time ~ rows^p: p = %.2f\n", bench_exponent(rows, seconds, LENGTHS));
    return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Plans steps, and runs none. */
typedef struct planner {
    wg_settings settings;
    wg_store *store; /* parameters are drawn once */
} planner;

static bool planner_open(planner *p, const char *config, int64_t vocabulary)
{
    wg_error error;
    *p = (planner){.store = wg_store_new(1)};
    wg_status status = bench_step_settings(&p->settings, config, vocabulary, 0, &error);
    if (status != WG_OK)
        fprintf(stderr, "bench_growth: %s\n", error.text);
    return status == WG_OK && p->store;
}

static void planner_close(planner *p)
{
    wg_store_free(p->store);
    wg_settings_free(&p->settings);
}

/* Bytes of the plan's buffer for so many sentences of that length; 0 after a message. */
static double planned(const planner *p, const wg_backend_list *backends, int64_t rows,
                      int64_t length)
{
    bench_step s;
    wg_status status = bench_step_make(&s, &(bench_step_options){.settings = &p->settings,
                                                                 .batch = {rows, length, length},
                                                                 .backends = backends->backend,
                                                                 .n_backends = backends->count,
                                                                 .store = p->store});
    double bytes = status == WG_OK ? (double)wg_plan_statistics(s.plan).buffer_bytes : 0;
    if (status != WG_OK)
        fprintf(stderr, "bench_growth: %s\n",
                s.graph ? wg_graph_message(s.graph) : wg_status_text(status));
    bench_step_free(&s);
    return bytes;
}

/* Bytes that a step takes on as many sentences of lengths that double.  All but attention works on
 * tokens one by one, so attention adds what a step takes more than one on as many tokens in short
 * sentences. */
typedef struct memory {
    double length[LENGTHS], planned[LENGTHS], added[LENGTHS], resident[LENGTHS];
    int count;
} memory;

static bool plan_lengths(memory *m, const planner *p, const wg_backend_list *backends, int64_t rows,
                         int64_t shortest, int count)
{
    *m = (memory){.count = count};
    for (int i = 0; i < count; i++) {
        int64_t length = shortest << i;
        double even = planned(p, backends, rows * length / SHORTEST, SHORTEST);
        m->length[i] = (double)length;
        m->planned[i] = planned(p, backends, rows, length);
        m->added[i] = m->planned[i] - even;
        if (!(m->planned[i] > 0 && even > 0))
            return false;
    }
    return true;
}

/* p of bytes ~ length^p for the longest of them; 0 where they are less than a hundredth of what is
 * planned. */
static double exponent_of(const memory *m, const double *bytes)
{
    int from = m->count > FITTED ? m->count - FITTED : 0;
    for (int i = from; i < m->count; i++)
        if (!(bytes[i] >= 0.01 * m->planned[i]))
            return 0;
    return bench_exponent(m->length + from, bytes + from, m->count - from);
}

/* 0: nothing to tell. */
static void print_cell(double number)
{
    if (number != 0)
        printf(" %14.2f", number);
    else
        printf(" %14s", "-");
}

static void print_memory(const memory *m, int64_t rows, const char *backend)
{
    const double *column[] = {m->planned, m->added, m->resident};
    printf("\nMemory of %lld sentences on %s, MiB\n%8s %14s %14s %14s\n", (long long)rows, backend,
           "length", "planned", "of attention", "resident peak");
    for (int i = 0; i < m->count; i++) {
        printf("%8.0f", m->length[i]);
        for (int k = 0; k < WG_COUNT(column); k++)
            print_cell(column[k][i] / 0x1p20);
        printf("\n");
    }
    printf("~ n^p, p");
    for (int k = 0; k < WG_COUNT(column); k++)
        print_cell(exponent_of(m, column[k]));
    printf("     from %.0f on\n", m->length[m->count > FITTED ? m->count - FITTED : 0]);
}

/* The resident peak by running the steps, each in a process of its own. */
static bool run_lengths(memory *m, const request *r, int64_t rows)
{
    static bench_child child;
    for (int i = 0; i < LENGTHS; i++) {
        const bench_case what = {
            r->config, {rows, length_at(i), length_at(i)}, VOCABULARY, wgi_threads(0)};
        if (!measure(&child, &what, 1, 1, NULL))
            return false;
        m->resident[i] = child.peak;
    }
    return true;
}

/* Of the built-in backends; and planned for the reference, whose attention keeps all scores, to
 * compare. */
static bool memory_over_length(const request *r)
{
    enum { ROWS = 4 };
    const wg_backend_list built = wg_backend_list_built_in(), cpu = {{wg_cpu_backend()}, {{0}}, 1};
    planner p;
    memory m;
    bool good = planner_open(&p, r->config, VOCABULARY) &&
                plan_lengths(&m, &p, &built, ROWS, SHORTEST, LENGTHS) && run_lengths(&m, r, ROWS);
    if (good)
        print_memory(&m, ROWS, "the built-in backends");
    good = good && plan_lengths(&m, &p, &cpu, ROWS, SHORTEST, LENGTHS);
    if (good)
        print_memory(&m, ROWS, "cpu");
    planner_close(&p);
    return good;
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* Planned memory is at most linear in length where attention is one kernel, which adds next to
 * nothing; on the reference it adds the square of the length, so that the difference shows. */
static int check(void)
{
    enum { ROWS = 2, FIRST = 256, COUNT = 3 };
    const wg_backend_list built = wg_backend_list_built_in(), cpu = {{wg_cpu_backend()}, {{0}}, 1};
    planner p;
    memory fast, plain;
    bool good = planner_open(&p, "tiny", 40);
    p.settings.threads = 1;
    p.settings.net.d_model = p.settings.net.d_ff = 32;
    p.settings.net.heads = 2;
    p.settings.net.encoder_layers = p.settings.net.decoder_layers = 1;
    good = good && plan_lengths(&fast, &p, &built, ROWS, FIRST, COUNT) &&
           plan_lengths(&plain, &p, &cpu, ROWS, FIRST, COUNT);
    planner_close(&p);
    if (!good)
        return 1;
    print_memory(&fast, ROWS, "the built-in backends");
    print_memory(&plain, ROWS, "cpu");
    double whole = exponent_of(&fast, fast.planned), square = exponent_of(&plain, plain.added);
    double share = fast.added[COUNT - 1] / fast.planned[COUNT - 1];
    bool linear = whole > 0.5 && whole < 1.05 && share < 0.05;
    return square > 1.9 && square < 2.1 && linear ? 0 : 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool (*run)(const request *);
    } tables[] = {{"length", over_length}, {"rows", over_rows}, {"memory", memory_over_length}};
    int code;
    if (bench_child_serve(argc, argv, &code))
        return code;
    if (argc == 2 && strcmp(argv[1], "check") == 0)
        return check();
    const request r = {.config = argc > 1 ? argv[1] : "tiny",
                       .tokens = argc > 2 ? atol(argv[2]) : 4096,
                       .rounds = argc > 3 ? atoi(argv[3]) : 7};
    bool good = wg_transformer_find(r.config) && r.tokens >= SHORTEST && r.rounds > 0 &&
                r.rounds <= BENCH_MAX_RUNS;
    setvbuf(stdout, NULL, _IOLBF, 0); /* tables appear as they are made, in files too */
    int printed = 0;
    for (int i = 0; i < WG_COUNT(tables) && good; i++)
        if (argc < 5 || strcmp(argv[4], tables[i].name) == 0) {
            good = tables[i].run(&r);
            printed++;
        }
    if (printed == 0)
        fprintf(stderr,
                "Usage: bench_growth [CONFIG [TOKENS [ROUNDS [length|rows|memory]]]], or check\n");
    return printed == 0 ? 2 : !good;
}
