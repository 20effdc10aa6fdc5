/* What a plan says of itself. */
#include "backends/plan/occupancy.h"
#include "graph/amount.h"
#include "graph/error.h"

#include <stdlib.h>

wg_plan_stats wg_plan_statistics(const wg_plan *p)
{
    wg_plan_stats s = {0};
    if (!p)
        return s;
    s = (wg_plan_stats){.threads = p->options.threads,
                        .nodes = p->program.n_work,
                        .buffer_bytes = p->layout.buffer_bytes,
                        .shared_bytes = p->options.workspace ? p->layout.shared_bytes : 0,
                        .value_bytes = p->layout.value_bytes,
                        .live_bytes = p->layout.live_bytes,
                        .leaf_bytes = p->layout.leaf_bytes,
                        .library_bytes = p->program.library_bytes};
    for (size_t i = 0; i < p->layout.n_storages; i++)
        s.tensor_bytes +=
            p->layout.storage[i].kind == WGI_STORAGE_TENSOR ? p->layout.storage[i].bytes : 0;
    for (size_t i = 0; i < p->program.n_work; i++) {
        const wgi_work *w = &p->program.work[i];
        s.flops += wg_node_flops(w->node);
        s.bytes += wg_node_bytes(w->node);
        s.again_nodes += w->again;
        s.again_flops += w->again ? wg_node_flops(w->node) : 0;
        for (int k = 0; w->again && k < w->node->n_out; k++)
            s.again_bytes += wg_value_bytes(w->node->out[k]);
    }
    return s;
}

size_t wg_plan_step_count(const wg_plan *p)
{
    return p ? p->program.n_work : 0;
}

wg_plan_step wg_plan_step_at(const wg_plan *p, size_t i)
{
    wg_plan_step s = {0};
    if (!p || i >= p->program.n_work)
        return s;
    const wgi_work *w = &p->program.work[i];
    const wgi_storage *first =
        w->node->n_out ? &p->layout.storage[p->layout.storage_of[w->node->out[0]->id]] : NULL;
    s = (wg_plan_step){.node = w->node,
                       .backend = w->by->backend->name,
                       .kernel = w->kernel.name ? w->kernel.name : "",
                       .refused = w->refused ? w->refused : "",
                       .flops = wg_node_flops(w->node),
                       .bytes = wg_node_bytes(w->node),
                       .seconds = w->seconds,
                       .runs = w->runs,
                       .offset =
                           first && first->kind == WGI_STORAGE_BUFFER ? first->offset : SIZE_MAX,
                       .inplace = w->inplace,
                       .again = w->again};
    return s;
}

void wg_plan_reset_profile(wg_plan *p)
{
    for (size_t i = 0; p && i < p->program.n_work; i++) {
        p->program.work[i].seconds = 0;
        p->program.work[i].runs = 0;
    }
}

const wg_graph *wg_plan_graph(const wg_plan *p)
{
    return p ? p->g : NULL;
}

/* ---- print ----------------------------------------------------------------------------------- */

static void print_step(const wg_plan *p, size_t i, FILE *file)
{
    wg_plan_step s = wg_plan_step_at(p, i);
    char name[200], scope[400], shape[160] = "", place[32] = "leaf";
    const wg_value *v = s.node->n_out ? s.node->out[0] : NULL;
    if (s.offset != SIZE_MAX)
        snprintf(place, sizeof place, "@%zu%s", s.offset, s.inplace ? " in place" : "");
    fprintf(file, "%5zu  %-14s %s%s  %-20s  %s %s", i, s.node->op->name,
            v ? wg_dtype_name(v->dtype) : "",
            v ? wg_shape_text(&v->shape, shape, sizeof shape) : "", place, s.backend, s.kernel);
    if (s.runs && s.seconds > 0)
        fprintf(file, "  %.3f us  %.2f GFLOP/s", 1e6 * s.seconds / (double)s.runs,
                1e-9 * s.flops * (double)s.runs / s.seconds);
    if (v && v->name)
        fprintf(file, "  %s", wg_value_text(v, name, sizeof name));
    snprintf(scope, sizeof scope, "%s", s.node->scope->path);
    wgi_text_disarm(scope, false);
    if (*scope)
        fprintf(file, "  in %s", scope);
    if (s.again)
        fputs("  again", file);
    if (*s.refused)
        fprintf(file, "  (%s)", s.refused);
    fputc('\n', file);
}

/* What is alive at the peak, the largest first. */
static wg_status print_peak(const wg_plan *p, FILE *file)
{
    enum { SHOWN = 20 };
    size_t n = 0;
    wgi_occupant *alive = wgi_occupants_at_peak(&p->program, &p->layout, &n);
    if (!alive)
        return WG_ENOMEM;
    fprintf(file, "alive at the peak, step %lld: %zu values\n", (long long)p->layout.peak_step, n);
    for (size_t i = 0; i < n && i < SHOWN; i++) {
        char name[200], text[400];
        const wg_value *v = alive[i].value;
        fprintf(file, "  %12zu  %s", alive[i].bytes,
                v ? wg_value_text(v, name, sizeof name) : "scratch");
        fprintf(file, "  %s\n",
                wg_node_message(alive[i].node, v ? wg_dtype_name(v->dtype) : "scratch", text,
                                sizeof text));
    }
    if (n > SHOWN)
        fprintf(file, "  and %zu smaller ones\n", n - SHOWN);
    free(alive);
    return WG_OK;
}

wg_status wg_plan_print(const wg_plan *p, FILE *file)
{
    if (!p || !file)
        return WG_EINVAL;
    for (size_t i = 0; i < p->program.n_work; i++)
        print_step(p, i, file);
    wg_plan_stats s = wg_plan_statistics(p);
    char flops[WGI_AMOUNT_TEXT], bytes[WGI_AMOUNT_TEXT];
    fprintf(file,
            "%zu steps, %s, %s moved\n"
            "buffer %zu bytes (values alone %zu, lower bound %zu), leaves %zu bytes\n",
            s.nodes, wgi_amount_text(s.flops, "FLOP", flops), wgi_amount_text(s.bytes, "B", bytes),
            s.buffer_bytes, s.value_bytes, s.live_bytes, s.leaf_bytes);
    if (s.again_nodes)
        fprintf(file, "%zu steps compute %zu bytes again, by %s\n", s.again_nodes, s.again_bytes,
                wgi_amount_text(s.again_flops, "FLOP", flops));
    wg_status status = print_peak(p, file);
    return ferror(file) ? WG_EIO : status;
}
