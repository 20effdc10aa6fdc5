#include "graph/threads.h"
#include "wengert/backends/isa.h"
#include "measure/limits.h"
#include "wengert/backends/load.h"
#include "wengert/ops/ops.h"

#include <omp.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- matmul ---------------------------------------------------------------------------------- */

void bench_square_free(bench_square *p)
{
    wg_plan_free(p->plan);
    wg_graph_free(p->graph);
    *p = (bench_square){0};
}

wg_status bench_square_run(void *product)
{
    bench_square *p = product;
    return wg_plan_run(p->plan, 0);
}

/* y = a b of [n, n], by the fastest backend that is built */
static wg_status make_product(bench_square *p, int64_t n, int threads)
{
    *p = (bench_square){.graph = wg_graph_new(), .n = n};
    wg_value *in[2] = {wg_input(p->graph, "a", WG_F32, WG_SHAPE(n, n)),
                       wg_input(p->graph, "b", WG_F32, WG_SHAPE(n, n))};
    wg_output(wg_matmul(in[0], in[1]), "y");
    wg_status status = wg_plan_create(&p->plan, p->graph, &(wg_plan_options){.threads = threads});
    for (int k = 0; k < 2 && status == WG_OK; k++) {
        float *x = wg_plan_data(p->plan, in[k]);
        for (int64_t i = 0; i < n * n; i++)
            x[i] = (float)(i * 7919 % 1001 - 500) / 500;
    }
    return status;
}

/* 2048; where there are only the plain kernels, the power of two up to it at which a product takes
 * two seconds at most, judged by small ones. */
static wg_status choose_size(int64_t *size, int threads)
{
    enum { SMALL = 256, LARGE = 2048, TRIES = 9 };
    *size = LARGE;
    if (wg_backend_at(0) != wg_cpu_backend())
        return WG_OK;
    bench_square p;
    double best = 0, seconds;
    wg_status status = make_product(&p, SMALL, threads);
    for (int i = 0; i < TRIES && status == WG_OK; i++) {
        status = bench_time_calls(&(bench_subject){bench_square_run, &p}, 1, &seconds);
        best = i == 0 || seconds < best ? seconds : best;
    }
    bench_square_free(&p);
    *size = SMALL;
    for (; *size < LARGE && 8 * best < 2; *size *= 2)
        best *= 8;
    return status;
}

wg_status bench_square_make(bench_square *out, int64_t n, int threads)
{
    *out = (bench_square){0};
    wg_status status = n > 0 ? WG_OK : choose_size(&n, threads);
    return status == WG_OK ? make_product(out, n, threads) : status;
}

/* ---- triad ----------------------------------------------------------------------------------- */

typedef struct triad {
    float *a, *b, *c;
    int64_t n;
    int threads;
} triad;

static void free_triad(triad *t)
{
    free(t->a);
    free(t->b);
    free(t->c);
}

static wg_status run_triad(void *context)
{
    const triad *t = context;
    float *restrict a = t->a;
    const float *restrict b = t->b, *restrict c = t->c;
#pragma omp parallel for simd schedule(static) num_threads(t->threads)
    for (int64_t i = 0; i < t->n; i++)
        a[i] = b[i] + 3.0f * c[i];
    return WG_OK;
}

static wg_status make_triad(triad *t, size_t bytes, int threads)
{
    bytes = (bytes + 63) / 64 * 64;
    *t = (triad){.a = aligned_alloc(64, bytes),
                 .b = aligned_alloc(64, bytes),
                 .c = aligned_alloc(64, bytes),
                 .n = (int64_t)(bytes / sizeof(float)),
                 .threads = threads};
    if (!t->a || !t->b || !t->c)
        return WG_ENOMEM;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < t->n; i++) { /* each page near the thread that will use it */
        t->a[i] = 0;
        t->b[i] = 1;
        t->c[i] = 2;
    }
    return WG_OK;
}

static size_t triad_bytes(void)
{
    const size_t min = (size_t)64 << 20, max = (size_t)256 << 20;
#ifdef _SC_LEVEL3_CACHE_SIZE
    long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
#else
    long cache = -1;
#endif
    size_t size = cache > 0 ? (size_t)cache : min;
    return size < min ? min : size > max ? max : size;
}

/* ---- limits ---------------------------------------------------------------------------------- */

static wg_status measure_matmul(bench_limits *l, int64_t size)
{
    bench_square p;
    wg_status status = bench_square_make(&p, size, l->threads);
    l->matmul_size = p.n;
    l->matmul_flops = 2.0 * (double)p.n * (double)p.n * (double)p.n;
    if (status == WG_OK) {
        wg_plan_step s = wg_plan_step_at(p.plan, 0);
        snprintf(l->matmul_kernel, sizeof l->matmul_kernel, "%s, %s", s.backend, s.kernel);
        status = bench_interleaved(&(bench_subject){bench_square_run, &p}, 1,
                                   &(bench_schedule){.runs = 21, .seconds = 2}, &l->matmul);
    }
    bench_square_free(&p);
    return status;
}

static wg_status measure_triad(bench_limits *l, size_t bytes)
{
    triad t;
    l->triad_bytes = bytes ? bytes : triad_bytes();
    wg_status status = make_triad(&t, l->triad_bytes, l->threads);
    if (status == WG_OK) {
        triad one = t;
        one.threads = 1;
        l->triad_traffic = 3.0 * (double)t.n * sizeof(float);
        const bench_subject subject[] = {{run_triad, &one}, {run_triad, &t}};
        bench_times times[2] = {{0}};
        status = bench_interleaved(subject, 2, &(bench_schedule){.runs = 11, .seconds = 2}, times);
        l->triad_one = times[0];
        l->triad = times[1];
    }
    free_triad(&t);
    return status;
}

wg_status bench_limits_measure(bench_limits *out, const bench_limits_options *options)
{
    const bench_limits_options o = options ? *options : (bench_limits_options){0};
    *out = (bench_limits){.threads = wgi_threads(o.threads)};
    wg_status status = measure_matmul(out, o.matmul_size);
    return status == WG_OK ? measure_triad(out, o.triad_bytes) : status;
}

const char *bench_isa_text(char *text, size_t size)
{
    wg_isa cap;
    bool capped = wg_isa_cap(&cap, NULL) == WG_OK && cap != WG_ISA_ALL;
    snprintf(text, size, "%s%s", wg_isa_name(wg_isa_best()),
             capped ? ", capped by " WG_ISA_VARIABLE : "");
    return text;
}

double bench_matmul_rate(const bench_limits *l)
{
    return l->matmul_flops / l->matmul.min;
}

double bench_memory_rate(const bench_limits *l)
{
    double seconds = l->triad.min < l->triad_one.min ? l->triad.min : l->triad_one.min;
    return l->triad_traffic / seconds;
}
