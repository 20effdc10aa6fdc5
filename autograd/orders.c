/* The gradient check, order by order, and its verdict. */
#include "autograd/check.h"
#include "autograd/internal.h"
#include "graph/call.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

wg_status wgi_graph_error(wgi_trial *t, wg_status status)
{
    const char *why = wg_graph_message(t->g);
    if (status != WG_OK && !*t->report->message)
        wgi_trial_error(t, status, "%s", *why ? why : wg_status_text(status));
    return status;
}

/* ---- orders ---------------------------------------------------------------------------------- */

/* The gradient becomes the function: y := dx, wrt := wrt and dy.  Takes dx. */
static wg_status differentiate_again(wgi_trial *t, wg_value *const *dy, wg_value **dx)
{
    size_t n_y = t->n_y, n_wrt = t->n_wrt;
    wg_value **wrt = realloc(t->wrt, sizeof *wrt * (n_wrt + n_y + 1));
    if (!wrt)
        return WG_ENOMEM;
    memcpy(wrt + n_wrt, dy, sizeof *wrt * n_y);
    free(t->y);
    t->y = dx;
    t->n_y = n_wrt;
    t->wrt = wrt;
    t->n_wrt = n_wrt + n_y;
    return WG_OK;
}

/* Looks for the reason where the gradient is not confirmed. */
static wg_status explain(wgi_trial *t, wgi_records *records)
{
    wg_status status = WG_OK;
    if (t->report->failed || t->report->undecided || !isfinite(t->size))
        status = wgi_find_f32_kernel(t);
    if (status == WG_OK && !(t->size <= WGI_ABSURD))
        status = wgi_find_absurd(t);
    else if (status == WG_OK && t->report->failed && !*t->report->kernel && !t->options->no_blame)
        status = wgi_blame(t, records);
    return status;
}

/* wg_vjp, whose errors name the check and no line of it. */
static wg_status differentiate(wgi_trial *t, wg_value *const *dy, const wg_grad_hook *hook,
                               wg_value **dx)
{
    const char *entered = wgi_graph_enter(t->g, "wg_gradcheck");
    wg_status status =
        (wg_vjp)(NULL, t->y, dy, t->n_y, t->wrt, t->n_wrt, &(wg_vjp_options){hook}, dx);
    wgi_graph_leave(t->g, entered);
    return status;
}

static wg_status check_order(wgi_trial *t, int order, bool last)
{
    wgi_records records = {.hook = order == 1 ? t->options->hook : NULL};
    const wg_grad_hook recorder = {wgi_record_rule, &records};
    wg_value **dy = calloc(t->n_y + 1, sizeof *dy), **dx = calloc(t->n_wrt + 1, sizeof *dx);
    wg_status status = dy && dx ? wgi_draw_cotangents(t, order, dy) : WG_ENOMEM;
    if (status == WG_OK)
        status = differentiate(t, dy, &recorder, dx);
    if (status == WG_OK && records.no_memory)
        status = WG_ENOMEM;
    if (status == WG_OK)
        status = wgi_compare_differences(t, order, dy, dx);
    if (status == WG_OK)
        status = explain(t, &records);
    if (status == WG_OK && !last) {
        status = differentiate_again(t, dy, dx);
        if (status == WG_OK)
            dx = NULL; /* the trial's now */
    }
    free(dy);
    free(dx);
    wgi_records_free(&records);
    return wgi_graph_error(t, status);
}

/* How many stop_gradient lie between wrt and y, which from order 2 on is made by gradient rules. */
static wg_status count_stops(wgi_trial *t)
{
    wgi_path path = {0};
    t->report->stopped = 0;
    bool found = wgi_path_find(&path, t->g, 0, t->y, t->n_y, t->wrt, t->n_wrt);
    for (uint32_t id = 0; found && id < path.end; id++) {
        const wg_node *n = wg_graph_node(t->g, id);
        t->report->stopped += n->op == &wg_op_stop_gradient && wgi_path_reaches(&path, n->in[0]);
    }
    wgi_path_free(&path);
    return found ? WG_OK : WG_ENOMEM;
}

wg_status wgi_check_orders(wgi_trial *t)
{
    int orders = t->options->order > 0 ? t->options->order : 1;
    wg_status status = WG_OK;
    t->size = 0;
    for (int order = 1; order <= orders && status == WG_OK; order++) {
        status = count_stops(t);
        if (status == WG_OK)
            status = check_order(t, order, order == orders);
        if (t->report->failed || !(t->size <= WGI_ABSURD))
            break;
    }
    return status;
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* Where the line lies: "w[3]", or "w, all elements at once". */
static const char *line_text(const char *leaf, int64_t index, char *text, size_t size)
{
    if (index < 0)
        snprintf(text, size, "%s, all elements at once", leaf);
    else
        snprintf(text, size, "%s[%lld]", leaf, (long long)index);
    return text;
}

static wg_status is_wrong(wgi_trial *t)
{
    wg_gradcheck_report *r = t->report;
    char line[200];
    line_text(r->leaf, r->index, line, sizeof line);
    return wgi_trial_error(
        t, WG_EDATA,
        "order %d: %s: gradient %.9g, differences %.9g, relative error %.3g above "
        "%.3g (%zu of %zu elements); %s%s",
        r->order, line, r->analytic, r->numeric, r->worst, r->tolerance, r->failed, r->compared,
        *r->guilty             ? "the rule at fault: "
        : t->options->no_blame ? "no rule was looked for"
                               : "no single rule explains the error",
        r->guilty);
}

/* So many elements could not be decided that the others do not speak for the whole. */
static wg_status is_undecided(wgi_trial *t)
{
    wg_gradcheck_report *r = t->report;
    size_t all = r->compared + r->skipped + r->undecided;
    char leaf[128] = "", line[200];
    if (r->undecided)
        wg_value_text(t->unsure.leaf, leaf, sizeof leaf);
    line_text(leaf, t->unsure.index, line, sizeof line);
    if (r->skipped * 20 > all && r->skipped >= r->undecided)
        return wgi_trial_error(t, WG_EDATA,
                               "could not be decided: %zu of %zu elements lie at a kink or a jump, "
                               "more than 5%%; choose numbers away from where relu, abs, max or "
                               "rounding bend",
                               r->skipped, all);
    return wgi_trial_error(t, WG_EDATA,
                           "could not be decided for %zu of %zu elements, such as %s: rounding "
                           "makes differences uncertain by %.2g; check a part of the graph (y, "
                           "wrt), or choose other ranges",
                           r->undecided, all, line, t->unsure_by);
}

static wg_status is_right(wgi_trial *t)
{
    wg_gradcheck_report *r = t->report;
    char undecided[48] = "", stopped[80] = "";
    if (r->undecided)
        snprintf(undecided, sizeof undecided, ", %zu undecided", r->undecided);
    if (r->stopped)
        snprintf(stopped, sizeof stopped, "; %zu stop_gradient between, held constant", r->stopped);
    r->verdict = WG_GRADCHECK_RIGHT;
    return wgi_trial_error(t, WG_OK,
                           "%zu elements compared, %zu at a kink%s, largest error %.3g (tolerance "
                           "%.3g)%s",
                           r->compared, r->skipped, undecided, r->worst, r->tolerance, stopped);
}

wg_status wgi_verdict(wgi_trial *t)
{
    wg_gradcheck_report *r = t->report;
    size_t all = r->compared + r->skipped + r->undecided;
    r->verdict = WG_GRADCHECK_UNDECIDED;
    if (*r->kernel)
        return wgi_trial_error(
            t, WG_EDATA, "could not be decided: the kernel of %s; the check needs f64", r->kernel);
    if (!(t->size <= WGI_ABSURD))
        return wgi_trial_error(t, WG_ENONFINITE,
                               "could not be decided: the function has numbers of up to %.1g%s%s; "
                               "choose ranges or data for the leaves",
                               t->size, *r->absurd ? ", first in " : "", r->absurd);
    if (r->failed) {
        r->verdict = WG_GRADCHECK_WRONG;
        return is_wrong(t);
    }
    if (!all && !r->empty && !r->no_derivative)
        return wgi_trial_error(t, WG_EDATA, "nothing was compared");
    if ((r->skipped + r->undecided) * 20 > all || t->unsure_leaf)
        return is_undecided(t);
    return is_right(t);
}

wg_status wgi_gradcheck_options_check(const wg_gradcheck_options *o, wg_gradcheck_report *r)
{
    const char *wrong =
        !o || !o->evaluator         ? "the options lack an evaluator, such as wg_plan_evaluator()"
        : o->order < 0              ? "order: expected 0 or more"
        : o->n_leaves && !o->leaves ? "the array leaves is NULL, but n_leaves is not 0"
        : o->n_y && !o->y           ? "the array y is NULL, but n_y is not 0"
        : o->n_wrt && !o->wrt       ? "the array wrt is NULL, but n_wrt is not 0"
                                    : NULL;
    if (wrong)
        snprintf(r->message, sizeof r->message, "%s", wrong);
    return wrong ? WG_EINVAL : WG_OK;
}

void wgi_set_differences(wgi_trial *t, wg_smoothness smoothness)
{
    t->four_point = smoothness == WG_SMOOTH;
    t->dyadic = smoothness == WG_PIECEWISE_LINEAR;
    t->h = t->four_point ? 0x1p-11 : 0x1p-17;
    t->tolerance = t->report->tolerance = t->four_point ? 1e-9 : t->dyadic ? 1e-15 : 1e-8;
}
