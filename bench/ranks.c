/* How much of the sums over ranks is hidden behind computation, and whether the model of
 * measure/scaling.h says so:
 *
 *     mpirun -n 2 --bind-to none bench_ranks mpi [LAYERS [ROWS [BUCKET_KIB [WIRE]]]]
 *
 * A chain of LAYERS products [ROWS,512] [512,512] with their gradient and SGD, of which each rank
 * computes the same, in three forms: without sums; with sums that begin when the whole gradient is
 * there; with sums that begin as the plan has it.  Printed are the medians of seconds of a step, of
 * the slowest rank, what of it was waiting for sums, and what the model predicts.  The model is
 * fitted to two sums without a computation, of one number and of a bucket, the fastest of five.
 * WIRE is f32 or bf16.
 *
 * In the place of ROWS, "2.5s" stands for a computation that takes 2.5 seconds and no processor:
 * its products sleep.  So networks of more machines than there are processors can be tried, beside
 * whatever else runs. */
#include "measure/scaling.h"
#include "wengert.h"
#include "wengert/ops/table.h"

#include "graph/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WIDTH = 512, MOST_LAYERS = 64, STEPS = 5 };
enum { NO_SUMS, SUMS_AFTER, SUMS_BESIDE, FORMS };

typedef struct setup {
    wg_ranks *ranks;
    int layers, rows;
    double nap; /* seconds of a product that sleeps; 0: it computes */
    wg_reduce_options reduce;
} setup;

typedef struct timing {
    double step, least, waited; /* seconds: two medians, and the least of a step */
} timing;

static int fail(const char *text)
{
    fprintf(stderr, "%s\n", text);
    return 1;
}

/* ---- products that sleep --------------------------------------------------------------------- */

static wg_status open_sleeper(void **state, const wg_backend_config *config)
{
    *state = (void *)config->self;
    return WG_OK;
}

static const char *refuse_others(void *state, const wg_node *n)
{
    (void)state;
    return n->op == &wg_op_matmul ? NULL : "it is no product";
}

static void run_nap(wg_call *c)
{
    const double seconds = ((const setup *)c->state)->nap;
    const time_t whole = (time_t)seconds;
    memset(c->out[0], 0, wg_value_bytes(c->node->out[0]));
    nanosleep(&(struct timespec){whole, (long)((seconds - (double)whole) * 1e9)}, NULL);
}

/* A backend whose first member is its table: `self` of the configuration. */
typedef struct sleeper {
    wg_backend backend;
    const setup *setup;
} sleeper;

static wg_status prepare_nap(void *state, const wg_node *n, wg_kernel *k)
{
    (void)n;
    *k = (wg_kernel){
        .name = "sleep", .run = run_nap, .state = (void *)((const sleeper *)state)->setup};
    return WG_OK;
}

static sleeper make_sleeper(const setup *s)
{
    return (sleeper){{.abi = WG_BACKEND_ABI,
                      .name = "sleep",
                      .doc = "products that take their time and nothing else",
                      .reproducible = WG_ANY_THREADS,
                      .open = open_sleeper,
                      .refuses = refuse_others,
                      .prepare = prepare_nap},
                     s};
}

/* ---- what is timed --------------------------------------------------------------------------- */

static wg_graph *build(const setup *s, int form)
{
    wg_graph *g = wg_graph_new();
    wg_value *h = wg_fill(g, WG_F32, WG_SHAPE(s->rows, WIDTH), 0.01);
    for (int i = 0; i < s->layers; i++) {
        char name[20];
        snprintf(name, sizeof name, "w%d", i);
        wg_value *w = wg_parameter(g, name, WG_F32, WG_SHAPE(WIDTH, WIDTH), wg_normal_init(0.04));
        h = wg_matmul(wg_tanh(h), w);
    }
    wg_gradients d = wg_grad_all(wg_output(wg_mean(wg_square(h), WG_ALL_AXES, WG_DROP), "loss"));
    wg_value *whole[MOST_LAYERS];
    for (size_t i = 0; i < d.n; i++)
        whole[i] = d.grads[i];
    for (size_t i = 0; i < d.n && form == SUMS_AFTER; i++)
        d.grads[i] = wg_barrier(whole[i], whole, d.n);
    if (form != NO_SUMS)
        wg_all_reduce_gradients(d.grads, d.n, &s->reduce);
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 1e-3)));
    return g;
}

/* The sum of so many numbers alone. */
static wg_graph *build_sum(const setup *s, int64_t numbers)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_state(g, "x", WG_F32, WG_SHAPE(numbers), wg_zeros()), *y = x;
    wg_all_reduce_gradients(&y, 1,
                            &(wg_reduce_options){.bucket_bytes = SIZE_MAX, .wire = s->reduce.wire});
    wg_assign(x, y);
    return g;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The largest of all ranks' numbers. */
static double largest(wg_ranks *ranks, double own, double *all)
{
    wg_ranks_gather(ranks, &own, sizeof own, all);
    for (int r = 0; r < wg_ranks_count(ranks); r++)
        own = all[r] > own ? all[r] : own;
    return own;
}

/* Medians over runs of a plan; `all` has room for a number of each rank. */
static int time_plan(const setup *s, wg_plan *p, double *all, timing *t)
{
    double of[STEPS], wait[STEPS];
    for (int i = -1; i < STEPS; i++) { /* the first one is not timed */
        largest(s->ranks, 0, all);     /* begin together */
        double before = wg_ranks_waited(s->ranks), begin = wgi_seconds();
        if (wg_plan_run(p, (uint64_t)i + 1) != WG_OK)
            return fail(wg_plan_message(p));
        double own = wgi_seconds() - begin, exposed = wg_ranks_waited(s->ranks) - before;
        own = largest(s->ranks, own, all);
        if (i >= 0) {
            of[i] = own;
            wait[i] = exposed;
        }
    }
    qsort(of, STEPS, sizeof *of, ascending);
    qsort(wait, STEPS, sizeof *wait, ascending);
    *t = (timing){of[STEPS / 2], of[0], wait[STEPS / 2]};
    return 0;
}

/* The same of the plan of g, which is freed. */
static int time_graph(const setup *s, wg_graph *g, timing *t)
{
    wg_backend_list list = wg_ranks_backends(s->ranks);
    const sleeper sleeps = make_sleeper(s);
    if (s->nap > 0) { /* before all that compute */
        memmove(list.backend + 1, list.backend, list.count * sizeof *list.backend);
        list.backend[0] = &sleeps.backend;
        list.count++;
    }
    const wg_plan_options options = {
        .backends = list.backend, .n_backends = list.count, .no_fuse = s->nap > 0};
    wg_plan *p = NULL;
    double *all = calloc((size_t)wg_ranks_count(s->ranks), sizeof *all);
    int code;
    if (!all)
        code = fail("out of memory");
    else if (wg_plan_create(&p, g, &options) != WG_OK)
        code = fail(wg_graph_message(g));
    else
        code = time_plan(s, p, all, t);
    wg_plan_free(p);
    wg_graph_free(g);
    free(all);
    return code;
}

/* ---- the model ------------------------------------------------------------------------------- */

static double layer_bytes(const setup *s)
{
    return (double)WIDTH * WIDTH * (s->reduce.wire == WG_BF16 ? 2 : 4);
}

/* Layers of one bucket, by the rule of wg_all_reduce_gradients. */
static int layers_of_bucket(const setup *s)
{
    const size_t layer = (size_t)WIDTH * WIDTH * sizeof(float);
    size_t n = (s->reduce.bucket_bytes + layer - 1) / layer;
    return n < (size_t)s->layers ? (int)n : s->layers;
}

/* Seconds of both forms, from those of a step without sums.  A third of it is the forward pass; the
 * gradients of the layers are there one by one in the rest. */
static void predict(const setup *s, const scaling_network *w, double alone, double predicted[FORMS])
{
    double bytes[MOST_LAYERS], ready[MOST_LAYERS];
    scaling_update u = {alone, 0, bytes, ready};
    for (int done = 0, some = layers_of_bucket(s); done < s->layers; u.buckets++) {
        some = some < s->layers - done ? some : s->layers - done;
        done += some;
        bytes[u.buckets] = some * layer_bytes(s);
        ready[u.buckets] = alone * (1 + 2.0 * done / s->layers) / 3;
    }
    predicted[NO_SUMS] = alone;
    predicted[SUMS_AFTER] = scaling_after(w, wg_ranks_count(s->ranks), &u);
    predicted[SUMS_BESIDE] = scaling_beside(w, wg_ranks_count(s->ranks), &u, NULL);
}

static int fit(const setup *s, scaling_network *w)
{
    const int64_t many = (int64_t)layers_of_bucket(s) * WIDTH * WIDTH;
    const double number = s->reduce.wire == WG_BF16 ? 2 : 4;
    timing few, bucket;
    if (time_graph(s, build_sum(s, 1), &few) != 0 ||
        time_graph(s, build_sum(s, many), &bucket) != 0)
        return 1;
    *w = scaling_fit(wg_ranks_count(s->ranks), number, few.least, (double)many * number,
                     bucket.least);
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void print_head(const setup *s, const scaling_network *w)
{
    printf("%d ranks, %.1f MiB of gradients, buckets of %.1f MiB, messages of %s\n"
           "fitted: %.0f us for a message, %.1f Mb/s each way\n%-12s %8s %8s %9s %8s %8s\n",
           wg_ranks_count(s->ranks), s->layers * layer_bytes(s) / (1 << 20),
           layers_of_bucket(s) * layer_bytes(s) / (1 << 20),
           s->reduce.wire == WG_BF16 ? "bf16" : "f32", w->latency * 1e6, w->bandwidth * 8e-6, "",
           "step s", "waits s", "exposed", "model s", "error");
}

static int print_table(const setup *s, bool prints)
{
    static const char *const names[FORMS] = {"no sums", "no overlap", "overlap"};
    scaling_network w = {0};
    timing t[FORMS];
    double predicted[FORMS];
    for (int form = 0; form < FORMS; form++)
        if (time_graph(s, build(s, form), &t[form]) != 0)
            return 1;
    if (fit(s, &w) != 0)
        return 1;
    predict(s, &w, t[NO_SUMS].step, predicted);
    if (prints)
        print_head(s, &w);
    for (int form = 0; form < FORMS && prints; form++)
        printf("%-12s %8.3f %8.3f %8.0f%% %8.3f %+7.0f%%\n", names[form], t[form].step,
               t[form].waited, 100 * (t[form].step - t[NO_SUMS].step) / t[form].step,
               predicted[form], 100 * (predicted[form] / t[form].step - 1));
    if (prints)
        printf("a last bucket: %.3f s; communication of a step: %.3f s\n",
               scaling_sum(&w, wg_ranks_count(s->ranks), layers_of_bucket(s) * layer_bytes(s)),
               predicted[SUMS_AFTER] - t[NO_SUMS].step);
    return 0;
}

int main(int argc, char **argv)
{
    setup s = {.layers = argc > 2 ? atoi(argv[2]) : 16, .rows = argc > 3 ? atoi(argv[3]) : 1024};
    wg_error error;
    if (argc > 3 && argv[3][strcspn(argv[3], "s")] == 's') {
        s.nap = atof(argv[3]) / (3 * s.layers); /* of one forward and two backward products */
        s.rows = 8;
    }
    s.reduce.bucket_bytes = (size_t)(argc > 4 ? atoi(argv[4]) : 2048) << 10;
    s.reduce.wire = argc > 5 && strcmp(argv[5], "bf16") == 0 ? WG_BF16 : WG_DTYPE_DEFAULT;
    if (argc < 2 || s.layers < 1 || s.layers > MOST_LAYERS || s.rows < 1 || s.nap < 0 ||
        s.reduce.bucket_bytes == 0 || (argc > 5 && !s.reduce.wire && strcmp(argv[5], "f32") != 0))
        return fail("usage: bench_ranks ENGINE [LAYERS (at most 64) [ROWS or 2.5s [BUCKET_KIB "
                    "[WIRE]]]]");
    if (wg_ranks_open(&s.ranks, argv[1], &error) != WG_OK)
        return fail(error.text);
    if (wg_ranks_count(s.ranks) < 2)
        return fail("bench_ranks: expected at least 2 processes: mpirun -n 2 --bind-to none ...");
    int code = print_table(&s, wg_ranks_rank(s.ranks) == 0);
    wg_ranks_close(s.ranks);
    return code;
}
