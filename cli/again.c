/* What a plan computes again to save memory. */
#include "cli/measure.h"

#include <stdlib.h>
#include <string.h>

/* All that is computed again in one scope. */
typedef struct row {
    const char *scope;
    size_t nodes;
    double bytes, flops;
} row;

static row *row_of(row *rows, size_t *n, const char *scope)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(rows[i].scope, scope) == 0)
            return &rows[i];
    rows[*n] = (row){.scope = scope};
    return &rows[(*n)++];
}

static int most_bytes_first(const void *a, const void *b)
{
    double x = ((const row *)a)->bytes, y = ((const row *)b)->bytes;
    return (x < y) - (x > y);
}

/* By scope, the most bytes first; the caller frees them.  NULL without memory. */
static row *rows_of(const wg_plan *p, size_t *n)
{
    row *rows = calloc(wg_plan_statistics(p).again_nodes + 1, sizeof *rows);
    *n = 0;
    for (size_t i = 0; rows && i < wg_plan_step_count(p); i++) {
        const wg_plan_step s = wg_plan_step_at(p, i);
        row *r = s.again ? row_of(rows, n, s.node->scope->path) : NULL;
        for (int k = 0; r && k < s.node->n_out; k++)
            r->bytes += (double)wg_value_bytes(s.node->out[k]);
        if (r) {
            r->nodes++;
            r->flops += s.flops;
        }
    }
    if (rows)
        qsort(rows, *n, sizeof *rows, most_bytes_first);
    return rows;
}

void print_again(const wg_plan *p, const char *name)
{
    enum { SHOWN = 8 };
    const wg_plan_stats s = wg_plan_statistics(p);
    size_t n;
    row *rows = s.again_nodes ? rows_of(p, &n) : NULL;
    if (!rows)
        return;
    printf("\n%s computes again, to save memory: %zu nodes, %.1f MiB, %.1f %% of the FLOP\n", name,
           s.again_nodes, (double)s.again_bytes / 0x1p20, 100 * s.again_flops / s.flops);
    for (size_t i = 0; i < n && i < SHOWN; i++)
        printf("%10.1f MiB %10.1f MFLOP %5zu nodes  %s\n", rows[i].bytes / 0x1p20,
               1e-6 * rows[i].flops, rows[i].nodes, rows[i].scope);
    if (n > SHOWN)
        printf("%15s %zu more scopes\n", "", n - SHOWN);
    free(rows);
}

void json_again(wgi_json *j, const wg_plan_stats *s)
{
    wgi_json_whole(j, "again_nodes", (int64_t)s->again_nodes);
    wgi_json_whole(j, "again_bytes", (int64_t)s->again_bytes);
    wgi_json_real(j, "again_flops", s->again_flops);
}
