/* How much of the sums over ranks is hidden behind computation:
 *
 *     mpirun -n 2 --bind-to none bench_ranks mpi [LAYERS [ROWS [BUCKET_KIB]]]
 *
 * A chain of LAYERS products [ROWS,512] [512,512] with their gradient and SGD, of which each rank
 * computes the same, in three forms: without sums; with sums that begin when the whole gradient is
 * there; with sums that begin as the plan has it.  Printed are the medians of seconds of a step
 * over the ranks' slowest, and what of it was waiting for sums. */
#include "wengert.h"

#include "graph/clock.h"

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 512, MOST_LAYERS = 64, STEPS = 5 };
enum { NO_SUMS, SUMS_AFTER, SUMS_BESIDE, FORMS };

typedef struct setup {
    wg_ranks *ranks;
    int layers, rows;
    size_t bucket;
} setup;

static int fail(const char *text)
{
    fprintf(stderr, "%s\n", text);
    return 1;
}

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
        wg_all_reduce_gradients(d.grads, d.n, s->bucket);
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 1e-3)));
    return g;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Seconds of a step, of the slowest rank, and how long that rank of them waited. */
static int time_form(const setup *s, int form, double *step, double *waited)
{
    wg_backend_list list = wg_ranks_backends(s->ranks);
    wg_graph *g = build(s, form);
    wg_plan *p;
    double of[STEPS], wait[STEPS], *all = calloc((size_t)wg_ranks_count(s->ranks), sizeof *all);
    if (!all ||
        wg_plan_create(
            &p, g, &(wg_plan_options){.backends = list.backend, .n_backends = list.count}) != WG_OK)
        return fail(all ? wg_graph_message(g) : "out of memory");
    for (int i = -1; i < STEPS; i++) { /* the first one is not timed */
        double begin, before = wg_ranks_waited(s->ranks), own;
        wg_ranks_gather(s->ranks, &before, sizeof before, all); /* begin together */
        before = wg_ranks_waited(s->ranks);
        begin = wgi_seconds();
        if (wg_plan_run(p, (uint64_t)i + 1) != WG_OK)
            return fail(wg_plan_message(p));
        own = wgi_seconds() - begin;
        double exposed = wg_ranks_waited(s->ranks) - before;
        wg_ranks_gather(s->ranks, &own, sizeof own, all);
        for (int r = 0; r < wg_ranks_count(s->ranks); r++)
            own = all[r] > own ? all[r] : own;
        if (i >= 0) {
            of[i] = own;
            wait[i] = exposed;
        }
    }
    qsort(of, STEPS, sizeof *of, ascending);
    qsort(wait, STEPS, sizeof *wait, ascending);
    *step = of[STEPS / 2];
    *waited = wait[STEPS / 2];
    wg_plan_free(p);
    wg_graph_free(g);
    free(all);
    return 0;
}

int main(int argc, char **argv)
{
    static const char *const names[FORMS] = {"no sums", "sums after", "sums beside"};
    setup s = {.layers = argc > 2 ? atoi(argv[2]) : 16, .rows = argc > 3 ? atoi(argv[3]) : 1024};
    wg_error error;
    s.bucket = (size_t)(argc > 4 ? atoi(argv[4]) : 2048) << 10;
    if (argc < 2 || s.layers < 1 || s.layers > MOST_LAYERS || s.rows < 1 || s.bucket == 0)
        return fail("usage: bench_ranks ENGINE [LAYERS [ROWS [BUCKET_KIB]]]");
    if (wg_ranks_open(&s.ranks, argv[1], &error) != WG_OK)
        return fail(error.text);
    bool prints = wg_ranks_rank(s.ranks) == 0;
    if (prints)
        printf("%d ranks, %.1f MiB of gradients, buckets of %.1f MiB\n%-12s %8s %8s\n",
               wg_ranks_count(s.ranks), s.layers * (double)WIDTH * WIDTH * 4 / (1 << 20),
               (double)s.bucket / (1 << 20), "", "step s", "waits s");
    for (int form = 0; form < FORMS; form++) {
        double step, waited;
        if (time_form(&s, form, &step, &waited) != 0)
            return 1;
        if (prints)
            printf("%-12s %8.3f %8.3f\n", names[form], step, waited);
    }
    wg_ranks_close(s.ranks);
    return 0;
}
