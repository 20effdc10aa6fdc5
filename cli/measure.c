#include "cli/measure.h"
#include "graph/element.h"
#include "graph/mix.h"

#include <string.h>

/* ---- limits ---------------------------------------------------------------------------------- */

int measure_limits(bench_limits *l, int threads)
{
    wg_status status = bench_limits_measure(l, &(bench_limits_options){.threads = threads});
    if (status != WG_OK)
        complain("cannot measure the machine's limits: %s", wg_status_text(status));
    return exit_code(status);
}

static void print_rate(const char *what, const char *unit, double work, const bench_times *t)
{
    printf("%-44s %9.1f %9.1f %9.1f  %s\n", what, 1e-9 * work / t->min, 1e-9 * work / t->median,
           1e-9 * work / t->max, unit);
}

void print_limits(const bench_limits *l)
{
    char what[160];
    printf("kernels for %s\n", bench_isa_text(what, sizeof what));
    printf("%-44s %9s %9s %9s\n", "measured", "best", "median", "worst");
    snprintf(what, sizeof what, "matmul %lld^3 f32 (%s)", (long long)l->matmul_size,
             l->matmul_kernel);
    print_rate(what, "GFLOP/s", l->matmul_flops, &l->matmul);
    snprintf(what, sizeof what, "memory, 1 thread (triad, 3 x %zu MiB)", l->triad_bytes >> 20);
    print_rate(what, "GB/s", l->triad_traffic, &l->triad_one);
    if (l->threads == 1)
        return;
    snprintf(what, sizeof what, "memory, %d threads", l->threads);
    print_rate(what, "GB/s", l->triad_traffic, &l->triad);
}

static void json_rate(wgi_json *j, const char *key, double work, const bench_times *t)
{
    wgi_json_begin(j, key, '{');
    wgi_json_real(j, "best", work / t->min);
    wgi_json_real(j, "median", work / t->median);
    wgi_json_real(j, "worst", work / t->max);
    wgi_json_whole(j, "runs", t->runs);
    wgi_json_end(j, '}');
}

void json_limits(wgi_json *j, const bench_limits *l)
{
    wgi_json_begin(j, "limits", '{');
    char isa[80];
    wgi_json_text(j, "kernels", bench_isa_text(isa, sizeof isa));
    wgi_json_whole(j, "threads", l->threads);
    wgi_json_whole(j, "matmul_size", l->matmul_size);
    wgi_json_text(j, "matmul_kernel", l->matmul_kernel);
    json_rate(j, "matmul_flops_per_second", l->matmul_flops, &l->matmul);
    wgi_json_whole(j, "triad_array_bytes", (int64_t)l->triad_bytes);
    json_rate(j, "memory_bytes_per_second_one_thread", l->triad_traffic, &l->triad_one);
    json_rate(j, "memory_bytes_per_second", l->triad_traffic, &l->triad);
    wgi_json_end(j, '}');
}

/* ---- times ----------------------------------------------------------------------------------- */

void json_times(wgi_json *j, const char *key, const bench_times *t)
{
    wgi_json_begin(j, key, '{');
    wgi_json_real(j, "median", t->median);
    wgi_json_real(j, "min", t->min);
    wgi_json_real(j, "max", t->max);
    wgi_json_whole(j, "runs", t->runs);
    wgi_json_end(j, '}');
}

int code_of_times(wg_status status, const char *what, const wg_plan *const plan[], size_t n)
{
    const char *why = wg_status_text(status);
    for (size_t i = 0; i < n; i++)
        why = *wg_plan_message(plan[i]) ? wg_plan_message(plan[i]) : why;
    if (status != WG_OK)
        complain("%s: %s", what, why);
    return exit_code(status);
}

/* ---- numbers --------------------------------------------------------------------------------- */

void fill_random(const wg_value *v, void *data, double lo, double hi, uint64_t *state)
{
    int64_t count = wg_value_count(v);
    uint64_t span = hi - lo >= 1 ? (uint64_t)(hi - lo) : 1;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = wgi_splitmix64(state);
        double real = lo + (hi - lo) * ((double)(bits >> 40) + 0.5) * 0x1p-24;
        int64_t whole = (int64_t)lo + (int64_t)(bits % span);
        double x = wg_dtype_is_float(v->dtype) ? real
                   : v->dtype == WG_BOOL       ? (double)(bits >> 63)
                                               : (double)whole;
        wgi_put_element(data, v->dtype, i, x);
    }
}
