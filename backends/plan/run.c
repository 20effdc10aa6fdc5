/* A run: the kernels in order, then the assignments.  Nothing is allocated or looked up: operands,
 * results and scratch of each call were written into it when the plan was made. */
#include "backends/plan/blame.h"
#include "backends/plan/facts.h"
#include "backends/plan/plan.h"
#include "backends/plan/workspace.h"
#include "backends/waiting.h"
#include "graph/clock.h"
#include "graph/element.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static char *address_in_buffer(const wg_plan *p, size_t offset)
{
    return offset < p->layout.shared_bytes ? p->memory.shared + offset
                                           : p->memory.outputs + (offset - p->layout.shared_bytes);
}

void wgi_plan_wire(wg_plan *p)
{
    p->memory.shared = wgi_workspace_memory(p->workspace);
    for (size_t i = 0; i < p->layout.n_storages; i++) {
        wgi_storage *s = &p->layout.storage[i];
        s->first_slot = 0;
        if (s->kind == WGI_STORAGE_BUFFER)
            s->memory = address_in_buffer(p, s->offset);
    }
    void **slot = p->program.slots;
    p->program.alone = false;
    for (size_t i = 0; i < p->program.n_work; i++) {
        wgi_work *w = &p->program.work[i];
        const wg_node *n = w->node;
        w->call = (wg_call){
            .node = n,
            .in = (const void *const *)slot,
            .out = slot + n->n_in,
            .state = w->kernel.state,
            .scratch = w->scratch == WGI_NONE ? NULL : p->layout.storage[w->scratch].memory,
            .threads = wgi_threads_of_call(n, p->options.threads),
            .seed = p->options.seed,
            .message = p->call_message};
        for (int k = 0; k < n->n_in; k++, slot++) {
            wgi_storage *s = &p->layout.storage[p->layout.storage_of[n->in[k]->id]];
            *slot = s->memory;
            if (s->kind == WGI_STORAGE_INPUT) {
                p->program.next_slot[slot - p->program.slots] = s->first_slot;
                s->first_slot = (uint32_t)(slot - p->program.slots) + 1;
            }
        }
        for (int k = 0; k < n->n_out; k++)
            *slot++ = wgi_memory_of(p, n->out[k]);
    }
}

/* ---- non-finite values ----------------------------------------------------------------------- */

enum { HAS_NAN = 1, HAS_PLUS = 2, HAS_MINUS = 4 }; /* infinity of that sign */

/* Which of these the elements have; *where is the first element that has one of `wanted`. */
static int nonfinite_in(const wg_value *v, const void *data, int wanted, int64_t *where)
{
    int found = 0;
    int64_t count = wg_dtype_is_float(v->dtype) ? wg_value_count(v) : 0;
    for (int64_t i = 0; i < count; i++) {
        double x = wgi_get_element(data, v->dtype, i);
        int o = isfinite(x) ? 0 : isnan(x) ? HAS_NAN : x > 0 ? HAS_PLUS : HAS_MINUS;
        if ((o & wanted) && !(found & wanted))
            *where = i;
        found |= o;
    }
    return found;
}

static void note_leaves(wg_plan *p)
{
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        int64_t at = p->layout.storage_of[i];
        wgi_storage *s = at == WGI_NONE ? NULL : &p->layout.storage[at];
        if (!s || wgi_is_view(v->node) || s->kind == WGI_STORAGE_BUFFER)
            continue;
        s->nan_at = WGI_NONE;
        s->nonfinite = (unsigned char)nonfinite_in(v, s->memory, HAS_NAN, &s->nan_at);
    }
}

static wgi_storage *storage_at(const wg_plan *p, const wg_value *v)
{
    return &p->layout.storage[p->layout.storage_of[v->id]];
}

/* The value of which v is a view, directly or through others. */
static const wg_value *behind_views(const wg_value *v)
{
    while (wgi_is_view(v->node))
        v = v->node->in[0];
    return v;
}

/* The first operand that held NaN before the run, NULL if none did.  (Other operands have none: a
 * node that makes NaN ends the run.) */
static const wg_value *operand_with_nan(const wg_plan *p, const wg_node *n)
{
    for (int k = 0; k < n->n_in; k++) {
        const wg_value *v = behind_views(n->in[k]);
        const wgi_storage *s = storage_at(p, v);
        bool held = wgi_is_outer(v->node) || s->kind == WGI_STORAGE_CONSTANT;
        if (held && s->nan_at != WGI_NONE)
            return v;
    }
    return NULL;
}

/* Element `at` of the shape as indices along its axes: "[2,0]"; "7" in a vector */
static const char *element_text(const wg_shape *shape, int64_t at, char *text, size_t size)
{
    wg_shape index = *shape;
    for (int k = shape->rank - 1; k >= 0; k--) {
        index.dim[k] = at % shape->dim[k];
        at /= shape->dim[k];
    }
    if (shape->rank > 1)
        return wg_shape_text(&index, text, size);
    snprintf(text, size, "%lld", shape->rank ? (long long)index.dim[0] : 0);
    return text;
}

/* "reads NaN at element 3 of parameter w, which held it before the run (as 2 of 7 did)" */
static void describe_source(wg_plan *p, const wg_value *v)
{
    size_t stored = 0, bad = 0;
    char name[200], element[100], how_many[80] = "";
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++) {
        const wg_value *w = wg_graph_value(p->g, i);
        if (wgi_is_stored(w->node)) {
            stored++;
            bad += storage_at(p, w)->nan_at != WGI_NONE;
        }
    }
    if (bad > 1 && wgi_is_stored(v->node)) /* not of an input, which may have spoilt a sum */
        snprintf(how_many, sizeof how_many, ", as did %zu of %zu parameters and states", bad,
                 stored);
    bool constant = storage_at(p, v)->kind == WGI_STORAGE_CONSTANT;
    snprintf(p->call_message, sizeof p->call_message, "reads NaN at element %s of %s %s, %s%s",
             element_text(&v->shape, storage_at(p, v)->nan_at, element, sizeof element),
             v->node->op->name, wg_value_text(v, name, sizeof name),
             constant ? "which depends on constants alone" : "which held it before the run",
             how_many);
}

static int infinity_of(double x)
{
    return !isinf(x) ? 0 : x > 0 ? HAS_PLUS : HAS_MINUS;
}

/* Those that n has from its attributes: what is filled or padded with, numbers of fused steps. */
static int infinities_given(const wg_node *n)
{
    int given = 0;
    for (int i = 0; i < n->op->n_attrs; i++) {
        const wg_attr *a = &n->op->attrs[i];
        double x = 0;
        if (a->kind == WG_ATTR_REAL)
            memcpy(&x, (const char *)n->attrs + a->offset, sizeof x);
        given |= infinity_of(x);
    }
    if (n->op != &wg_op_fused_elementwise)
        return given;
    wgi_element_step step[WGI_STEPS];
    int steps = wgi_steps_read(((const wg_fused_elementwise_attrs *)n->attrs)->steps, step);
    for (int i = 0; i < steps; i++)
        for (int k = 0; k < step[i].n_in; k++)
            if (step[i].in[k].kind == WGI_TERM_NUMBER)
                given |= infinity_of(step[i].in[k].number);
    return given;
}

/* Which infinities op makes itself if a result has them and operands had `had`. */
static int infinities_to_make(const wg_op *op, int had)
{
    /* of nothing at all: an empty segment, an empty axis */
    static const wg_op *const choose[] = {&wg_op_max, &wg_op_min, &wg_op_segment_max,
                                          &wg_op_segment_min, &wg_op_logsumexp};
    /* no operand of one sign makes a result of the other */
    static const wg_op *const keep_signs[] = {&wg_op_add, &wg_op_exp, &wg_op_expm1, &wg_op_sum,
                                              &wg_op_softplus};
    const int infinite = HAS_PLUS | HAS_MINUS;
    for (int i = 0; i < WG_COUNT(choose); i++)
        if (op == choose[i])
            return 0;
    for (int i = 0; i < WG_COUNT(keep_signs); i++)
        if (op == keep_signs[i])
            return infinite & ~had;
    return had & infinite ? 0 : infinite;
}

/* *at is the element.
 *
 * A node makes NaN if a result has one, and an infinity if a result has it but neither an operand
 * nor an attribute had any; where signs last, none of that sign: so a mask of -inf passes, and the
 * overflow of exp beside it does not, unless it is a step of the node that has the mask.  What
 * operands had is noted by storage, since a result may have taken their place.  If an operand had
 * NaN, the message says where it came from. */
static bool makes_nonfinite(wg_plan *p, const wgi_work *w, int64_t *at)
{
    const wg_node *n = w->node;
    int had = 0;
    for (int k = 0; k < n->n_in; k++)
        had |= storage_at(p, n->in[k])->nonfinite;
    for (int k = 0; k < n->n_out; k++) {
        if (wgi_begins_sum(n)) { /* they are not whole yet */
            storage_at(p, n->out[k])->nonfinite = (unsigned char)had;
            continue;
        }
        int has = nonfinite_in(n->out[k], w->call.out[k], 0, at),
            given = has & (HAS_PLUS | HAS_MINUS) ? infinities_given(n) : 0,
            made = has & (HAS_NAN | infinities_to_make(n->op, had | given));
        storage_at(p, n->out[k])->nonfinite = (unsigned char)has;
        if (!made)
            continue;
        p->source = made & HAS_NAN ? operand_with_nan(p, n) : NULL;
        if (p->source) {
            describe_source(p, p->source);
            return true;
        }
        int worst = made & HAS_NAN ? HAS_NAN : made;
        nonfinite_in(n->out[k], w->call.out[k], worst, at);
        char element[180]; /* of WG_MAX_RANK axes */
        snprintf(p->call_message, sizeof p->call_message, "result %d is %s at element %s%s", k,
                 worst == HAS_NAN ? "NaN" : "infinite",
                 element_text(&n->out[k]->shape, *at, element, sizeof element),
                 n->phase == WG_BACKWARD ? ", in the backward pass" : "");
        return true;
    }
    return false;
}

/* ---- poison ---------------------------------------------------------------------------------- */

static void poison_dead(const wg_plan *p, const wgi_work *w)
{
    for (size_t i = w->dies; i < w->dies_end; i++) {
        const wgi_storage *s = &p->layout.storage[p->layout.dying[i]];
        memset(s->memory, 0xff, s->bytes);
    }
}

/* ---- inputs ---------------------------------------------------------------------------------- */

/* The first input that a kernel reads and whose memory nobody has asked for, NULL if there is
 * none. */
static const wg_value *find_unfilled(const wg_plan *p)
{
    for (size_t i = 0; i < wg_graph_value_count(p->g); i++) {
        const wg_value *v = wg_graph_value(p->g, i);
        int64_t at = p->layout.storage_of[i];
        const wgi_storage *s = at == WGI_NONE ? NULL : &p->layout.storage[at];
        if (s && s->kind == WGI_STORAGE_INPUT && s->first_slot && !s->given && wg_value_count(v) &&
            !wgi_is_view(v->node))
            return v;
    }
    return NULL;
}

static bool inputs_are_filled(wg_plan *p)
{
    char name[200];
    const wg_value *v = find_unfilled(p);
    if (!v)
        return true;
    snprintf(p->call_message, sizeof p->call_message,
             "%s was never filled: wg_plan_data gives its memory",
             wg_value_text(v, name, sizeof name));
    wg_node_message(v->node, p->call_message, p->message, sizeof p->message);
    return false;
}

/* ---- the run --------------------------------------------------------------------------------- */

/* Whether the call's bits do not depend on how many threads it has */
static bool takes_any_threads(const wgi_work *w)
{
    return w->by->backend->reproducible == WG_ANY_THREADS;
}

/* Where cores are short, one thread instead of the plan's. */
static void set_alone(wg_plan *p, bool alone)
{
    if (alone == p->program.alone)
        return;
    p->program.alone = alone;
    omp_set_num_threads(p->options.threads);
    for (size_t i = 0; i < p->program.n_work; i++) {
        wgi_work *w = &p->program.work[i];
        int threads = alone && takes_any_threads(w) ? 1 : p->options.threads;
        w->call.threads = wgi_threads_of_call(w->node, threads);
    }
}

/* Nodes between two checks of whether the threads have their cores.  Where they do not, a step of a
 * large model takes seconds, so checking at its beginning alone would be too rare. */
enum { NODES_BETWEEN_LOOKS = 16 };

/* Calls the kernel.  The node that made a number that is not finite; NULL if there is none, or
 * nothing is checked. */
static const wg_node *run_checked(wg_plan *p, wgi_work *w, bool check)
{
    wgi_witness witness;
    if (!check) {
        w->kernel.run(&w->call);
        return NULL;
    }
    int64_t at = 0;
    wgi_witness_begin(&witness, w);
    w->kernel.run(&w->call);
    const wg_node *bad = w->call.status == WG_OK && makes_nonfinite(p, w, &at) ? w->node : NULL;
    if (bad && !p->source && witness.complete) {
        const wg_node *step = wgi_blame_step(p, w, &witness, at);
        bad = step ? step : bad;
    }
    wgi_witness_end(&witness);
    return bad;
}

/* The first node that fails, NULL if none does; the status in *status. */
static const wg_node *run_all(wg_plan *p, uint64_t step, bool check, wg_status *status)
{
    *status = WG_OK;
    p->message[0] = '\0';
    p->source = p->bad = NULL;
    if (p->options.poison) {
        memset(p->memory.shared, 0xff, p->layout.shared_bytes);
        memset(p->memory.outputs, 0xff, p->layout.buffer_bytes - p->layout.shared_bytes);
    }
    if (check)
        note_leaves(p);
    for (size_t i = 0; i < p->program.n_work; i++) {
        wgi_work *w = &p->program.work[i];
        if (i % NODES_BETWEEN_LOOKS == 0)
            set_alone(p, wgi_threads_watch(p->options.threads) && wgi_threads_alone());
        if (p->program.alone) /* for the libraries that kernels call */
            omp_set_num_threads(takes_any_threads(w) ? 1 : p->options.threads);
        double start = p->options.profile ? wgi_seconds() : 0;
        w->call.step = step;
        w->call.status = WG_OK;
        w->call.bad = NULL;
        const wg_node *bad = run_checked(p, w, check);
        if (p->options.profile)
            w->seconds += wgi_seconds() - start;
        w->runs++;
        *status = bad ? WG_ENONFINITE : w->call.status;
        if (*status != WG_OK) {
            bad = bad ? bad : w->node;
            p->bad = p->source ? p->source : w->call.bad;
            p->bad_at = p->source ? storage_at(p, p->source)->nan_at : w->call.bad_at;
            wg_node_message(bad, p->call_message, p->message, sizeof p->message);
            return bad;
        }
        if (p->options.poison)
            poison_dead(p, w);
    }
    return NULL;
}

/* The same between the backends' enter and leave. */
static const wg_node *run_entered(wg_plan *p, uint64_t step, bool check, wg_status *status)
{
    if (p->memory.shared != wgi_workspace_memory(p->workspace))
        wgi_plan_wire(p);
    for (size_t i = 0; i < p->backends.count; i++)
        if (p->backends.open[i].backend->enter)
            p->backends.open[i].backend->enter(p->backends.open[i].state);
    const wg_node *failed = run_all(p, step, check, status);
    for (size_t i = p->backends.count; i-- > 0;)
        if (p->backends.open[i].backend->leave)
            p->backends.open[i].backend->leave(p->backends.open[i].state);
    p->has_run |= !failed;
    return failed;
}

/* ---- the thread of a run --------------------------------------------------------------------- */

typedef struct run {
    wg_plan *p;
    uint64_t step;
    bool check;
    wg_status status;
    const wg_node *failed;
} run;

static void *run_here(void *context)
{
    run *r = context;
    r->failed = run_entered(r->p, r->step, r->check, &r->status);
    return NULL;
}

/* In a parallel region of the program OpenMP gives a smaller team than the kernels were made for,
 * most often of one thread: the run gets a thread that is in no region. */
static void run_anywhere(run *r)
{
    const int threads = r->p->options.threads;
    pthread_t aside;
    if (threads == 1 || (!omp_in_parallel() && threads <= omp_get_thread_limit())) {
        run_here(r);
    } else if (pthread_create(&aside, NULL, run_here, r) == 0) {
        pthread_join(aside, NULL);
    } else {
        r->status = WG_ENOMEM;
        snprintf(r->p->message, sizeof r->p->message,
                 "no thread for the run, which begins in a parallel region");
    }
}

/* A plan has one memory, so a second thread that runs it meanwhile is turned away.  It must not
 * write the message, which belongs to the first: wg_plan_message has a text for it. */
static bool begin_run(wg_plan *p)
{
    if (atomic_exchange_explicit(&p->running, true, memory_order_acquire)) {
        atomic_store_explicit(&p->refused, true, memory_order_relaxed);
        return false;
    }
    atomic_store_explicit(&p->refused, false, memory_order_relaxed);
    return true;
}

static wg_status run_plan(wg_plan *p, uint64_t step)
{
    if ((p->options.check_nonfinite || p->options.poison) && !inputs_are_filled(p))
        return WG_EINVAL;
    run r = {.p = p, .step = step, .check = p->options.check_nonfinite};
    run_anywhere(&r);
    if (r.status != WG_OK)
        return r.status;
    wgi_marks marks = wgi_graph_marks(p->g);
    for (size_t i = 0; i < marks.n_assigns; i++) {
        char *to = wgi_memory_of(p, marks.assigns[i].leaf);
        const char *from = wgi_memory_of(p, marks.assigns[i].value);
        if (to != from)
            memcpy(to, from, wg_value_bytes(marks.assigns[i].leaf));
    }
    return WG_OK;
}

wg_status wg_plan_run(wg_plan *p, uint64_t step)
{
    if (!p || !begin_run(p))
        return WG_EINVAL;
    wg_status status = run_plan(p, step);
    atomic_store_explicit(&p->running, false, memory_order_release);
    return status;
}

/* ---- the first non-finite value -------------------------------------------------------------- */

static bool is_written_in_place(const wg_plan *p, const wgi_assignment *a)
{
    return wgi_memory_of(p, a->leaf) == wgi_memory_of(p, a->value);
}

/* Copies the leaves that a run writes in place, one after the other, to `saved`, or back from
 * there. Returns their bytes; `saved` may be NULL. */
static size_t copy_overwritten(const wg_plan *p, char *saved, bool back)
{
    wgi_marks marks = wgi_graph_marks(p->g);
    size_t total = 0;
    for (size_t i = 0; i < marks.n_assigns; i++) {
        const wgi_assignment *a = &marks.assigns[i];
        size_t bytes = is_written_in_place(p, a) ? wg_value_bytes(a->leaf) : 0;
        char *leaf = wgi_memory_of(p, a->leaf);
        if (saved && leaf && bytes)
            memcpy(back ? leaf : saved + total, back ? saved + total : leaf, bytes);
        total += bytes;
    }
    return total;
}

const wg_node *wg_plan_first_nonfinite(wg_plan *p, uint64_t step)
{
    if (!p)
        return NULL;
    char *saved = malloc(copy_overwritten(p, NULL, false) + 1);
    if (!saved) {
        snprintf(p->message, sizeof p->message, "out of memory");
        return NULL;
    }
    copy_overwritten(p, saved, false);
    run r = {.p = p, .step = step, .check = true};
    run_anywhere(&r);
    copy_overwritten(p, saved, true);
    free(saved);
    if (r.status != WG_ENONFINITE)
        return NULL;
    return p->source ? p->source->node : r.failed;
}
