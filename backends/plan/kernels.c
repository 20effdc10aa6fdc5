/* Backends and their kernels: the first backend that takes a node prepares its kernel. */
#include "backends/memory.h"
#include "backends/plan/planner.h"
#include "wengert/backends/isa.h"
#include "wengert/backends/load.h"

#include <stdlib.h>
#include <string.h>

/* Whether kernels may rely on parameters that stay as they are. */
static bool has_fixed_parameters(const wgi_planner *p)
{
    bool fixed = p->options.fixed_parameters && !p->options.memory;
    for (size_t i = 0; i < p->marks.n_assigns; i++)
        fixed = fixed && !(p->marks.assigns[i].leaf->node->op->flags & WG_OP_PARAMETER);
    return fixed;
}

static bool open_backend(wgi_planner *p, const wg_backend *b)
{
    const wg_plan_options *o = &p->options;
    wgi_backends *list = &p->backends;
    if (!b || b->abi != WG_BACKEND_ABI)
        return wgi_planner_fail(p, WG_EINVAL, "backend %zu is %s", list->count,
                                b ? "of another version of the interface"
                                  : "NULL, as wg_backend_find returns for an unknown name");
    if (!b->name || !b->refuses || !b->prepare)
        return wgi_planner_fail(
            p, WG_EINVAL, "backend %zu: its table lacks name, refuses or prepare", list->count);
    void *state = NULL;
    const wg_backend_config config = {o->threads, b, has_fixed_parameters(p)};
    wg_status status = b->open ? b->open(&state, &config) : WG_OK;
    if (status != WG_OK)
        return wgi_planner_fail(p, status, "backend %s: %s", b->name, wg_status_text(status));
    list->open[list->count++] = (wgi_open_backend){b, state};
    return true;
}

/* Those of the options, or all that are built in, or none; then the reference. */
bool wgi_pass_backends(wgi_planner *p)
{
    const wg_plan_options *o = &p->options;
    const wg_backend_list built = wg_backend_list_built_in();
    bool all = !o->n_backends && !o->reference;
    size_t n = all ? built.count : o->n_backends;
    const wg_backend *const *first = all ? built.backend : o->backends, *cpu = wg_cpu_backend();
    wg_isa cap;
    wg_error error;
    if (wg_isa_cap(&cap, &error) != WG_OK)
        return wgi_planner_fail(p, WG_EINVAL, "%s", error.text);
    if (o->reference && o->n_backends)
        return wgi_planner_fail(p, WG_EINVAL, "the options ask for the reference and %zu backends",
                                o->n_backends);
    if (o->n_backends && !o->backends)
        return wgi_planner_fail(p, WG_EINVAL, "n_backends is %zu, but backends is NULL",
                                o->n_backends);
    p->backends.open = calloc(n + 1, sizeof *p->backends.open);
    if (!p->backends.open)
        return wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        if (!open_backend(p, first[i]))
            return false;
    return (n > 0 && first[n - 1] == cpu) || open_backend(p, cpu);
}

/* Adds "backend: why" to the reasons.  False: no memory, and planning has failed. */
static bool note_refusal(wgi_planner *p, wgi_work *w, const char *backend, const char *why)
{
    const char *before = w->refused ? w->refused : "";
    size_t size = strlen(before) + strlen(backend) + strlen(why) + 5;
    char *text = wg_graph_alloc(p->g, size);
    if (!text)
        return wgi_planner_fail_as(p, p->g);
    snprintf(text, size, "%s%s%s: %s", before, *before ? "; " : "", backend, why);
    w->refused = text;
    return true;
}

/* Prepares w's kernel by that backend, or notes why it cannot.  False: planning has failed. */
static bool prepare_kernel(wgi_planner *p, wgi_work *w, const wgi_open_backend *b)
{
    wg_kernel kernel = {0};
    wg_status status = b->backend->prepare(b->state, w->node, &kernel);
    if (status == WG_ENOMEM)
        return wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    if (status != WG_OK)
        return note_refusal(p, w, b->backend->name, wg_status_text(status));
    if (!kernel.run) {
        if (b->backend->finish)
            b->backend->finish(b->state, &kernel);
        return note_refusal(p, w, b->backend->name, "it has prepared no function to run");
    }
    if (!kernel.name)
        kernel.name = b->backend->name;
    w->kernel = kernel;
    w->by = b;
    wgi_skip_if_empty(w->node, &w->kernel);
    return true;
}

/* Asks one backend after the other.  A backend that yields is asked again, and then insists, before
 * the reference is. */
static bool ask_backends(wgi_planner *p, wgi_work *w, bool insist)
{
    bool yielded = false;
    for (size_t i = 0; i < p->backends.count && !w->by; i++) {
        const wgi_open_backend *b = &p->backends.open[i];
        if (yielded && b->backend == wg_cpu_backend())
            break;
        const char *why = b->backend->refuses(b->state, w->node);
        if (!why && !insist && b->backend->yields)
            yielded |= (why = b->backend->yields(b->state, w->node)) != NULL;
        if (!(why ? note_refusal(p, w, b->backend->name, why) : prepare_kernel(p, w, b)))
            return false;
    }
    if (w->by || !yielded)
        return true;
    w->refused = NULL;
    return ask_backends(p, w, true);
}

static bool choose_kernel(wgi_planner *p, wgi_work *w)
{
    char text[512];
    if (!ask_backends(p, w, false))
        return false;
    return w->by || wgi_planner_fail(p, WG_EUNSUPPORTED, "%s",
                                     wg_node_message(w->node, w->refused, text, sizeof text));
}

static bool runs(const wgi_planner *p, const wg_node *n)
{
    return !p->folded[n->id] && !(n->op->flags & WG_OP_LEAF) && !wgi_is_view(n);
}

/* A library's code and buffers are there once, however many kernels call it. */
static size_t library_bytes(const wgi_planner *p)
{
    size_t sum = 0;
    for (size_t b = 0; b < p->backends.count; b++) {
        size_t most = 0;
        for (size_t i = 0; i < p->program.n_work; i++) {
            const wgi_work *w = &p->program.work[i];
            if (w->by == &p->backends.open[b] && w->kernel.library > most)
                most = w->kernel.library;
        }
        if (!wgi_add_bytes(&sum, most))
            return WGI_MOST_BYTES;
    }
    return sum;
}

bool wgi_pass_kernels(wgi_planner *p)
{
    size_t count = wg_graph_node_count(p->g), n_work = 0, n_slots = 0;
    wgi_program *r = &p->program;
    for (size_t i = 0; i < count; i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        n_work += runs(p, n);
        n_slots += runs(p, n) ? (size_t)n->n_in + (size_t)n->n_out : 0;
    }
    r->work = calloc(n_work + 1, sizeof *r->work);
    r->slots = calloc(n_slots + 1, sizeof *r->slots);
    r->next_slot = calloc(n_slots + 1, sizeof *r->next_slot);
    if (!r->work || !r->slots || !r->next_slot)
        return wgi_planner_fail(p, WG_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const wg_node *n = wg_graph_node(p->g, i);
        if (!runs(p, n))
            continue;
        r->work[r->n_work].node = n;
        r->work[r->n_work].again = p->again && p->again[i];
        if (!choose_kernel(p, &r->work[r->n_work]))
            return false;
        r->n_work++;
    }
    r->library_bytes = library_bytes(p);
    return true;
}
