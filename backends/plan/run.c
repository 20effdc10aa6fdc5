/* A run: the kernels in order, then the assignments.  Nothing is allocated, nothing looked up:
 * operands, results and scratch of each call were written into it when the plan was made. */
#include "backends/plan/planner.h"
#include "backends/cpu/any/element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char *address_in_buffer(const wg_plan *p, size_t offset)
{
    return offset < p->shared_bytes ? p->shared + offset : p->apart + (offset - p->shared_bytes);
}

void wgi_plan_wire(wg_plan *p)
{
    p->shared = wgi_workspace_memory(p->workspace);
    for (size_t i = 0; i < p->n_storages; i++) {
        p->first_slot[i] = 0;
        if (p->storage[i].home == WG_HOME_BUFFER)
            p->storage[i].memory = address_in_buffer(p, p->storage[i].offset);
    }
    void **slot = p->slots;
    for (size_t i = 0; i < p->n_work; i++) {
        wgi_work *w = &p->work[i];
        const wg_node *n = w->node;
        w->call = (wg_call){.node = n,
                            .in = (const void *const *)slot,
                            .out = slot + n->n_in,
                            .state = w->kernel.state,
                            .scratch = w->scratch == WG_NONE ? NULL : p->storage[w->scratch].memory,
                            .threads = p->options.threads,
                            .seed = p->options.seed,
                            .message = p->call_message};
        for (int k = 0; k < n->n_in; k++, slot++) {
            int64_t s = p->storage_of[n->in[k]->id];
            *slot = p->storage[s].memory;
            if (p->storage[s].home == WG_HOME_INPUT) {
                p->next_slot[slot - p->slots] = p->first_slot[s];
                p->first_slot[s] = (uint32_t)(slot - p->slots) + 1;
            }
        }
        for (int k = 0; k < n->n_out; k++)
            *slot++ = wgi_memory_of(p, n->out[k]);
    }
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- non-finite values ----------------------------------------------------------------------- */

enum { HAS_NAN = 1, HAS_PLUS = 2, HAS_MINUS = 4 }; /* infinity of that sign */

/* What of these the elements have; *where is the first element that has one of `wanted`. */
static int oddities(const wg_value *v, const void *data, int wanted, int64_t *where)
{
    int found = 0;
    int64_t count = wg_dtype_is_float(v->dtype) ? wg_value_count(v) : 0;
    for (int64_t i = 0; i < count; i++) {
        double x = cpu_get(data, v->dtype, i);
        int o = isfinite(x) ? 0 : isnan(x) ? HAS_NAN : x > 0 ? HAS_PLUS : HAS_MINUS;
        if ((o & wanted) && !(found & wanted))
            *where = i;
        found |= o;
    }
    return found;
}

static void note_leaves(wg_plan *p)
{
    int64_t ignored = 0;
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++) {
        int64_t s = p->storage_of[i];
        if (s != WG_NONE && p->root[i] == i && p->storage[s].home != WG_HOME_BUFFER)
            p->odd[s] =
                (unsigned char)oddities(wg_graph_value(p->g, i), p->storage[s].memory, 0, &ignored);
    }
}

/* A node makes NaN if a result has one, and an infinity if a result has it but no operand had one
 * of that sign: so a mask of -inf passes, and the overflow of exp beside it does not.  What
 * operands had is noted by storage, since a result may have taken their place. */
static bool makes_nonfinite(wg_plan *p, const wgi_work *w)
{
    const wg_node *n = w->node;
    int had = 0;
    for (int k = 0; k < n->n_in; k++)
        had |= p->odd[p->storage_of[n->in[k]->id]];
    for (int k = 0; k < n->n_out; k++) {
        int64_t at = 0;
        int has = oddities(n->out[k], w->call.out[k], 0, &at), made = has & (HAS_NAN | ~had);
        p->odd[p->storage_of[n->out[k]->id]] = (unsigned char)has;
        if (!made)
            continue;
        int worst = made & HAS_NAN ? HAS_NAN : made;
        oddities(n->out[k], w->call.out[k], worst, &at);
        snprintf(p->call_message, sizeof p->call_message, "result %d is %s at element %lld", k,
                 worst == HAS_NAN ? "NaN" : "infinite", (long long)at);
        return true;
    }
    return false;
}

/* ---- poison ---------------------------------------------------------------------------------- */

static void poison_dead(const wg_plan *p, const wgi_work *w)
{
    for (size_t i = w->dies; i < w->dies_end; i++) {
        const wgi_storage *s = &p->storage[p->dying[i]];
        memset(s->memory, 0xff, s->bytes);
    }
}

/* ---- the run --------------------------------------------------------------------------------- */

/* The first work that fails, NULL if none does; the status in *status. */
static const wgi_work *run_all(wg_plan *p, uint64_t step, bool check, wg_status *status)
{
    *status = WG_OK;
    p->message[0] = '\0';
    if (p->options.poison) {
        memset(p->shared, 0xff, p->shared_bytes);
        memset(p->apart, 0xff, p->buffer_bytes - p->shared_bytes);
    }
    if (check)
        note_leaves(p);
    for (size_t i = 0; i < p->n_work; i++) {
        wgi_work *w = &p->work[i];
        double start = p->options.profile ? seconds_now() : 0;
        w->call.step = step;
        w->call.status = WG_OK;
        w->kernel.run(&w->call);
        if (p->options.profile)
            w->seconds += seconds_now() - start;
        w->runs++;
        if (w->call.status != WG_OK)
            *status = w->call.status;
        else if (check && makes_nonfinite(p, w))
            *status = WG_ENONFINITE;
        if (*status != WG_OK) {
            wg_node_message(w->node, p->call_message, p->message, sizeof p->message);
            return w;
        }
        if (p->options.poison)
            poison_dead(p, w);
    }
    return NULL;
}

/* The same between the backends' enter and leave. */
static const wgi_work *run_entered(wg_plan *p, uint64_t step, bool check, wg_status *status)
{
    if (p->shared != wgi_workspace_memory(p->workspace))
        wgi_plan_wire(p);
    for (size_t i = 0; i < p->n_backends; i++)
        if (p->backends[i].backend->enter)
            p->backends[i].backend->enter(p->backends[i].state);
    const wgi_work *failed = run_all(p, step, check, status);
    for (size_t i = p->n_backends; i-- > 0;)
        if (p->backends[i].backend->leave)
            p->backends[i].backend->leave(p->backends[i].state);
    return failed;
}

wg_status wg_plan_run(wg_plan *p, uint64_t step)
{
    wg_status status;
    if (!p)
        return WG_EINVAL;
    if (run_entered(p, step, p->options.check_nonfinite, &status))
        return status;
    for (size_t i = 0; i < p->n_assigns; i++) {
        char *to = wgi_memory_of(p, p->assigns[i].leaf);
        const char *from = wgi_memory_of(p, p->assigns[i].value);
        if (to != from)
            memcpy(to, from, wg_value_bytes(p->assigns[i].leaf));
    }
    return WG_OK;
}

/* ---- the first non-finite value -------------------------------------------------------------- */

static bool is_written_in_place(const wg_plan *p, const wgi_assigning *a)
{
    return wgi_memory_of(p, a->leaf) == wgi_memory_of(p, a->value);
}

const wg_node *wg_plan_first_nonfinite(wg_plan *p, uint64_t step)
{
    if (!p)
        return NULL;
    size_t total = 0;
    for (size_t i = 0; i < p->n_assigns; i++)
        total += is_written_in_place(p, &p->assigns[i]) ? wg_value_bytes(p->assigns[i].leaf) : 0;
    char *saved = malloc(total + 1), *at = saved;
    if (!saved) {
        snprintf(p->message, sizeof p->message, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < p->n_assigns; i++)
        if (is_written_in_place(p, &p->assigns[i])) {
            size_t bytes = wg_value_bytes(p->assigns[i].leaf);
            memcpy(at, wgi_memory_of(p, p->assigns[i].leaf), bytes);
            at += bytes;
        }
    wg_status status;
    const wgi_work *w = run_entered(p, step, true, &status);
    at = saved;
    for (size_t i = 0; i < p->n_assigns; i++)
        if (is_written_in_place(p, &p->assigns[i])) {
            size_t bytes = wg_value_bytes(p->assigns[i].leaf);
            memcpy(wgi_memory_of(p, p->assigns[i].leaf), at, bytes);
            at += bytes;
        }
    free(saved);
    return status == WG_ENONFINITE ? w->node : NULL;
}
