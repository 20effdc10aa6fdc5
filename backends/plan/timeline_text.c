/* The timeline of a plan as a table. */
#include "backends/plan/plan.h"
#include "graph/amount.h"
#include "graph/error.h"
#include "wengert/backends/timeline.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 24, WIDTH = 50, SHOWN = 20 };

static double mib(size_t bytes)
{
    return (double)bytes / 0x1p20;
}

/* One line for each of ROWS parts of the run: the most that is in use in it, and a bar. */
static bool print_course(const wg_timeline *t, FILE *file)
{
    size_t steps = wg_timeline_step_count(t), n = wg_timeline_group_count(t), most = 1;
    size_t *row = calloc(steps + 1, sizeof *row), *sum = calloc(steps + 1, sizeof *sum);
    bool ok = row && sum;
    for (size_t i = 0; ok && i < n; i++) {
        wg_timeline_row(t, i, row);
        for (size_t k = 0; k < steps; k++)
            sum[k] += row[k];
    }
    for (size_t k = 0; ok && k < steps; k++)
        most = sum[k] > most ? sum[k] : most;
    size_t rows = steps < ROWS ? steps : ROWS;
    for (size_t r = 0; ok && r < rows; r++) {
        size_t begin = r * steps / rows, end = (r + 1) * steps / rows, bytes = 0;
        for (size_t k = begin; k < end; k++)
            bytes = sum[k] > bytes ? sum[k] : bytes;
        char bar[WIDTH + 1] = "";
        memset(bar, '#', (size_t)((double)bytes / (double)most * WIDTH));
        fprintf(file, "%9zu %10.2f MiB  %s\n", begin, mib(bytes), bar);
    }
    free(row);
    free(sum);
    return ok;
}

static void print_groups(const wg_timeline *t, size_t live, const char *what, FILE *file)
{
    size_t n = 0, rest = 0;
    fprintf(file, "\nat the peak, by %s:\n", what);
    for (; n < wg_timeline_group_count(t); n++) {
        wg_timeline_group g = wg_timeline_group_at(t, n);
        if (n < SHOWN && g.at_peak)
            fprintf(file, "%10.2f MiB %5.1f %%  %s\n", mib(g.at_peak),
                    100 * (double)g.at_peak / (double)(live ? live : 1), *g.name ? g.name : "-");
        else
            rest += g.at_peak;
    }
    if (rest)
        fprintf(file, "%10.2f MiB %5.1f %%  others\n", mib(rest),
                100 * (double)rest / (double)(live ? live : 1));
}

/* The group of the most bytes that are computed again, of fewer than `below` or, in a later group
 * than `after`, of as many; the count of groups: there is none. */
static size_t next_again(const wg_timeline *t, size_t below, size_t after)
{
    size_t n = wg_timeline_group_count(t), best = n, most = 0;
    for (size_t i = 0; i < n; i++) {
        size_t bytes = wg_timeline_group_at(t, i).again;
        bool is_left = bytes < below || (bytes == below && i > after);
        if (is_left && bytes > most) {
            best = i;
            most = bytes;
        }
    }
    return best;
}

/* What is computed again, the most first. */
static void print_again(const wg_timeline *t, const wg_plan_stats *s, FILE *file)
{
    const size_t n = wg_timeline_group_count(t);
    size_t rest = 0;
    if (!s->again_nodes)
        return;
    char flops[WGI_AMOUNT_TEXT];
    fprintf(file, "\ncomputed again, by scope: %.2f MiB, %zu steps, %s\n", mib(s->again_bytes),
            s->again_nodes, wgi_amount_text(s->again_flops, "FLOP", flops));
    for (size_t i = 0; i < n; i++)
        rest += wg_timeline_group_at(t, i).again;
    size_t at = next_again(t, SIZE_MAX, 0);
    for (int shown = 0; at < n && shown < SHOWN; shown++) {
        wg_timeline_group g = wg_timeline_group_at(t, at);
        fprintf(file, "%10.2f MiB  %s\n", mib(g.again), *g.name ? g.name : "-");
        rest -= g.again;
        at = next_again(t, g.again, at);
    }
    if (rest)
        fprintf(file, "%10.2f MiB  others\n", mib(rest));
}

static void print_head(const wg_plan *p, const wg_plan_stats *s, FILE *file)
{
    char text[512];
    size_t peak = (size_t)p->layout.peak_step;
    fprintf(file,
            "memory of a run: %.2f MiB\n"
            "%10.2f MiB  parameters and states\n%10.2f MiB  inputs and constants\n"
            "%10.2f MiB  buffer, of which %.2f MiB are in use at the peak, step %zu of %zu",
            mib(s->leaf_bytes + s->buffer_bytes), mib(s->tensor_bytes),
            mib(s->leaf_bytes - s->tensor_bytes), mib(s->buffer_bytes), mib(s->live_bytes), peak,
            s->nodes);
    if (peak < p->program.n_work)
        fprintf(file, ":\n                %s",
                wg_node_message(p->program.work[peak].node, p->program.work[peak].node->op->name,
                                text, sizeof text));
    fputs("\n\n     step     in use\n", file);
}

wg_status wg_plan_write_timeline(const wg_plan *p, FILE *file, wg_error *error)
{
    wg_timeline *scopes = NULL, *lines = NULL;
    wgi_error_clear(error);
    if (!p || !file)
        return wgi_error_set(error, WG_EINVAL, "wg_plan_write_timeline: an argument is NULL");
    wg_status status = wg_timeline_create(&scopes, p, WG_TIMELINE_BY_SCOPE, 0, error);
    if (status == WG_OK)
        status = wg_timeline_create(&lines, p, WG_TIMELINE_BY_LINE, 0, error);
    if (status == WG_OK) {
        const wg_plan_stats s = wg_plan_statistics(p);
        print_head(p, &s, file);
        if (!print_course(scopes, file))
            status = wgi_error_set(error, WG_ENOMEM, "out of memory");
        print_groups(scopes, s.live_bytes, "scope", file);
        print_groups(lines, s.live_bytes, "line", file);
        print_again(scopes, &s, file);
        if (status == WG_OK && ferror(file))
            status = wgi_error_set(error, WG_EIO, "wg_plan_write_timeline: writing failed");
    }
    wg_timeline_free(scopes);
    wg_timeline_free(lines);
    return status;
}
