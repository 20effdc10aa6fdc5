/* The time of a plan by op and kernel. */
#include "cli/measure.h"
#include "graph/amount.h"

#include <stdlib.h>
#include <string.h>

/* All steps with one op and one kernel. */
typedef struct row {
    const char *op, *backend, *kernel;
    size_t steps;
    double seconds, flops, bytes; /* of one run */
} row;

static row *find_row(row *rows, size_t *n, const wg_plan_step *s)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(rows[i].op, s->node->op->name) == 0 && strcmp(rows[i].kernel, s->kernel) == 0 &&
            strcmp(rows[i].backend, s->backend) == 0)
            return &rows[i];
    rows[*n] = (row){.op = s->node->op->name, .backend = s->backend, .kernel = s->kernel};
    return &rows[(*n)++];
}

static int by_time(const void *a, const void *b)
{
    double x = ((const row *)a)->seconds, y = ((const row *)b)->seconds;
    return (x < y) - (x > y);
}

/* NULL, and it complains, without memory. */
static row *collect(const wg_plan *p, size_t *n, double *all)
{
    size_t steps = wg_plan_step_count(p);
    row *rows = calloc(steps + 1, sizeof *rows);
    *n = 0;
    *all = 0;
    for (size_t i = 0; rows && i < steps; i++) {
        wg_plan_step s = wg_plan_step_at(p, i);
        row *r = find_row(rows, n, &s);
        double seconds = s.runs ? s.seconds / (double)s.runs : 0;
        r->steps++;
        r->seconds += seconds;
        r->flops += s.flops;
        r->bytes += s.bytes;
        *all += seconds;
    }
    if (rows)
        qsort(rows, *n, sizeof *rows, by_time);
    else
        complain("out of memory");
    return rows;
}

int print_profile(const wg_plan *p, const char *name)
{
    size_t n;
    double all;
    char time[WGI_AMOUNT_TEXT];
    row *rows = collect(p, &n, &all);
    if (!rows)
        return EXIT_RUN;
    printf("\n%-24s %6s %9s %6s %9s %8s  kernel\n", name, "steps", "time", "share", "GFLOP/s",
           "GB/s");
    for (size_t i = 0; i < n && all > 0; i++) {
        const row *r = &rows[i];
        printf("%-24.24s %6zu %9s %4.1f %% %9.1f %8.2f  %s %s\n", r->op, r->steps,
               wgi_seconds_text(r->seconds, time), 100 * r->seconds / all,
               1e-9 * r->flops / r->seconds, 1e-9 * r->bytes / r->seconds, r->backend, r->kernel);
    }
    free(rows);
    return EXIT_OK;
}

int json_profile(wgi_json *j, const wg_plan *p)
{
    size_t n;
    double all;
    row *rows = collect(p, &n, &all);
    if (!rows)
        return EXIT_RUN;
    wgi_json_begin(j, "profile", '[');
    for (size_t i = 0; i < n; i++) {
        wgi_json_begin(j, NULL, '{');
        wgi_json_text(j, "op", rows[i].op);
        wgi_json_text(j, "backend", rows[i].backend);
        wgi_json_text(j, "kernel", rows[i].kernel);
        wgi_json_whole(j, "steps", (int64_t)rows[i].steps);
        wgi_json_real(j, "seconds", rows[i].seconds);
        wgi_json_real(j, "share", rows[i].seconds / all);
        wgi_json_real(j, "flops", rows[i].flops);
        wgi_json_real(j, "bytes", rows[i].bytes);
        wgi_json_end(j, '}');
    }
    wgi_json_end(j, ']');
    free(rows);
    return EXIT_OK;
}
