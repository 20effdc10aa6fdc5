/* How a training step grows: with the length of sentences, with their number, with threads.
 *
 *     bench_growth [CONFIG [TOKENS [ROUNDS]]]     tiny, 4096 target tokens a batch, 7 rounds that count
 *     bench_growth check                          planned memory of a small model only */
#include "bench/child.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SHORTEST = 16, LENGTHS = 7, WARM_UP = 2, VOCABULARY = 10000 }; /* 16, 32 ... 1024 */

typedef struct request {
    const char *config;
    int64_t tokens;
    int rounds;
} request;

static int64_t length_at(int i)
{
    return (int64_t)SHORTEST << i;
}

/* Runs the cases in turn, each in a process of its own. */
static bool measure(bench_child *child, const bench_case *what, int n, int rounds)
{
    bool good = true;
    memset(child, 0, (size_t)n * sizeof *child);
    for (int i = 0; i < n && good; i++) {
        good = bench_child_start(&child[i], &what[i], NULL, NULL);
        if (!good)
            fprintf(stderr, "bench_growth: %s\n", child[i].name);
    }
    for (int k = 0; k < WARM_UP + rounds && good; k++)
        for (int i = 0; i < n && good; i++)
            good = bench_child_run(&child[i], k >= WARM_UP);
    for (int i = 0; i < n; i++)
        bench_child_end(&child[i]);
    return good;
}

static void print_row(const bench_case *c, const bench_child *x)
{
    bench_times t = bench_child_times(x);
    double flops = bench_case_flops(c);
    printf("%8lld %8lld %8d %9.4f %9.4f %9.4f %11.0f %9.1f %10.1f %10.1f\n",
           (long long)c->batch.target_length, (long long)c->batch.rows, c->threads, t.median,
           t.least, t.most, (double)(c->batch.rows * c->batch.target_length) / t.median,
           1e-9 * flops / t.median, x->buffer / 0x1p20, x->peak / 0x1p20);
}

static void print_head(const char *what)
{
    printf("\n%s\n%8s %8s %8s %9s %9s %9s %11s %9s %10s %10s\n", what, "length", "rows", "threads",
           "median s", "min", "max", "tokens/s", "GFLOP/s", "plan, MiB", "peak, MiB");
}

/* ---- tables --------------------------------------------------------------------------------------- */

static bool over_length(const request *r, int threads, double *tokens_per_second)
{
    static bench_child child[LENGTHS];
    bench_case what[LENGTHS];
    for (int i = 0; i < LENGTHS; i++) {
        int64_t n = length_at(i), rows = r->tokens / n;
        what[i] = (bench_case){r->config, {rows > 0 ? rows : 1, n, n}, VOCABULARY, threads};
    }
    if (!measure(child, what, LENGTHS, r->rounds))
        return false;
    for (int i = 0; i < LENGTHS; i++) {
        const bench_batch *b = &what[i].batch;
        print_row(&what[i], &child[i]);
        tokens_per_second[i] =
            (double)(b->rows * b->target_length) / bench_child_times(&child[i]).median;
    }
    return true;
}

static bool over_threads(const request *r)
{
    double one[LENGTHS], all[LENGTHS];
    int threads = omp_get_max_threads();
    print_head("Sentences of all lengths, as many target tokens in each batch");
    if (!over_length(r, 1, one) || (threads > 1 && !over_length(r, threads, all)))
        return false;
    for (int i = 0; i < LENGTHS && threads > 1; i++)
        printf("length %4lld: %d threads are %.2f times as fast as one\n", (long long)length_at(i),
               threads, all[i] / one[i]);
    return true;
}

/* Memory that grows with length alone: of as many sentences each. */
static bool memory_over_length(const request *r)
{
    enum { ROWS = 4 };
    static bench_child child[LENGTHS];
    bench_case what[LENGTHS];
    double length[LENGTHS], plan[LENGTHS], peak[LENGTHS];
    for (int i = 0; i < LENGTHS; i++)
        what[i] = (bench_case){
            r->config, {ROWS, length_at(i), length_at(i)}, VOCABULARY, omp_get_max_threads()};
    if (!measure(child, what, LENGTHS, 1))
        return false;
    print_head("As many sentences in each batch");
    for (int i = 0; i < LENGTHS; i++) {
        print_row(&what[i], &child[i]);
        length[i] = (double)length_at(i);
        plan[i] = child[i].buffer;
        peak[i] = child[i].peak;
    }
    int from =
        LENGTHS - 4; /* where what does not grow, such as gradients of parameters, is small */
    printf("memory ~ length^p from %lld to %lld: p = %.2f planned, %.2f resident\n",
           (long long)length_at(from), (long long)length_at(LENGTHS - 1),
           bench_exponent(length + from, plan + from, LENGTHS - from),
           bench_exponent(length + from, peak + from, LENGTHS - from));
    return true;
}

static bool over_rows(const request *r)
{
    static bench_child child[LENGTHS];
    bench_case what[LENGTHS];
    double rows[LENGTHS], seconds[LENGTHS];
    for (int i = 0; i < LENGTHS; i++)
        what[i] = (bench_case){
            r->config, {(int64_t)4 << i, SHORTEST, SHORTEST}, VOCABULARY, omp_get_max_threads()};
    if (!measure(child, what, LENGTHS, r->rounds))
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

/* ---- counts --------------------------------------------------------------------------------------- */

/* Bytes of the plan's buffer for two sentences of that length; 0 after an error. */
static double planned(int64_t length, const wg_backend *backend)
{
    wg_settings settings;
    bench_step s = {0};
    char message[300];
    double bytes = 0;
    wg_status status = bench_step_settings(&settings, "tiny", 40, 1, message, sizeof message);
    if (status == WG_OK) {
        settings.net.d_model = 16;
        settings.net.d_ff = 16;
        settings.net.heads = 2;
        settings.net.encoder_layers = settings.net.decoder_layers = 1;
        status = bench_step_make(&s, &(bench_step_options){.settings = &settings,
                                                           .batch = {2, length, length},
                                                           .backends = &backend,
                                                           .n_backends = 1});
    }
    if (status == WG_OK)
        bytes = (double)wg_plan_statistics(s.plan).buffer_bytes;
    bench_step_free(&s);
    wg_settings_free(&settings);
    return bytes;
}

/* Planned memory is at most linear in length where attention is one kernel; it is not of the reference's plain ops, so that the
 * difference shows. */
static int check(void)
{
    double length[3] = {256, 512, 1024}, fast[3], plain[3];
    for (int i = 0; i < 3; i++) {
        fast[i] = planned((int64_t)length[i], wg_backend_at(0));
        plain[i] = planned((int64_t)length[i], wg_cpu_backend());
        printf("length %4.0f: %.0f bytes planned for %s, %.0f for cpu\n", length[i], fast[i],
               wg_backend_at(0)->name, plain[i]);
        if (!(fast[i] > 0 && plain[i] > 0))
            return 1;
    }
    double p = bench_exponent(length, fast, 3), q = bench_exponent(length, plain, 3);
    printf("memory ~ length^%.3f for %s, length^%.3f for cpu\n", p, wg_backend_at(0)->name, q);
    bool fuses = wg_backend_at(0) != wg_cpu_backend();
    return q > 1.5 && q < 2.1 && (fuses ? p > 0.5 && p < 1.05 : p == q) ? 0 : 1;
}

int main(int argc, char **argv)
{
    int code;
    if (bench_child_serve(argc, argv, &code))
        return code;
    if (argc == 2 && strcmp(argv[1], "check") == 0)
        return check();
    const request r = {.config = argc > 1 ? argv[1] : "tiny",
                       .tokens = argc > 2 ? atol(argv[2]) : 4096,
                       .rounds = argc > 3 ? atoi(argv[3]) : 7};
    if (!wg_transformer_find(r.config) || r.tokens < SHORTEST || r.rounds < 1 ||
        r.rounds > BENCH_MOST_RUNS || argc > 4)
        return fprintf(stderr,
                       "Usage: bench_growth [CONFIG [TOKENS [ROUNDS]]], or bench_growth check\n"),
               2;
    setvbuf(stdout, NULL, _IOLBF, 0); /* tables appear as they are made, in files too */
    return over_threads(&r) && memory_over_length(&r) && over_rows(&r) ? 0 : 1;
}
