#include "paper/run.h"
#include "graph/threads.h"
#include "graph/error.h"

#include <omp.h>
#include <stdarg.h>

void paper_tell(paper_run *r, const char *format, ...)
{
    char line[200];
    va_list args;
    if (!r->options->tell)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    r->options->tell(r->options->context, line);
}

static void tell_numbers(paper_run *r, const char *key, const double *values, int n, bool kept)
{
    enum { SHOWN = 4 };
    char text[100] = "";
    size_t at = 0;
    for (int i = 0; i < n && i < SHOWN; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, " %.4g", values[i]);
    paper_tell(r, "%s:%s%s%s", key, text, n > SHOWN ? " ..." : "", kept ? "  (kept)" : "");
}

wg_status paper_once(paper_run *r, const char *key, double *values, int n, paper_work *work,
                     const void *what)
{
    wg_error error = {.status = WG_OK};
    bool kept;
#pragma omp critical(paper_state)
    {
        kept = paper_state_find(&r->state, key, values, n);
    }
    if (!kept)
        error.status = work(r, what, values, &error);
#pragma omp critical(paper_state)
    {
        if (!kept && error.status == WG_OK)
            paper_state_add(&r->state, key, values, n, &error);
        if (error.status == WG_OK)
            tell_numbers(r, key, values, n, kept);
        else if (r->error.status == WG_OK)
            r->error = error;
    }
    return error.status;
}

wg_status paper_in_parallel(paper_run *r, int n, wg_status (*f)(paper_run *r, void *context, int i),
                            void *context)
{
    wg_status failed = WG_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(wgi_threads(r->options->threads))
    for (int i = 0; i < n; i++) {
        wg_status status, before;
#pragma omp atomic read
        before = failed;
        if (before != WG_OK || (status = f(r, context, i)) == WG_OK)
            continue;
#pragma omp atomic write
        failed = status;
    }
    return failed;
}

wg_status paper_plan(wg_plan **out, wg_graph *g, const wg_plan_options *options, wg_error *error)
{
    wg_status status = wg_plan_create(out, g, options);
    return status == WG_OK ? WG_OK : wgi_error_set(error, status, "%s", wg_graph_message(g));
}

wg_status paper_plan_run(wg_plan *p, wg_error *error)
{
    wg_status status = wg_plan_run(p, 0);
    return status == WG_OK ? WG_OK : wgi_error_set(error, status, "%s", wg_plan_message(p));
}

wg_status paper_experiment_run(const paper_experiment *e, const paper_options *options,
                               paper_report *report, wg_error *error)
{
    static const paper_options none = {0};
    paper_run r = {.options = options ? options : &none, .report = report};
    char heading[100];
    wgi_error_clear(error);
    wgi_error_clear(&r.error);
    r.small = r.options->small;
    snprintf(heading, sizeof heading, "wengert paper %s, %s form, version 1", e->name,
             r.small ? "small" : "full");
    wg_status status = paper_report_begin(report, e->name, e->claim, r.small, &r.error);
    if (status == WG_OK)
        status = paper_state_open(&r.state, r.options->folder, heading, &r.error);
    if (status == WG_OK)
        status = e->run(&r);
    if (status == WG_OK && report->overflow)
        status = wgi_error_set(&r.error, WG_EINVAL, "%s: the report is full", e->name);
    paper_state_close(&r.state);
    if (status != WG_OK)
        wgi_error_set(error, status, "%s", r.error.text);
    return status;
}
