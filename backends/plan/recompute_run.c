/* A run in little memory, simulated.
 *
 * The steps are gone through in their order.  A step needs all its operands in memory; those that
 * were dropped are computed again first, and before them what was dropped of their operands, and so
 * on.  A step then needs room for its results and its scratch; while there is too little, a value
 * that no pending step holds is dropped, the one of the smallest score first (recompute.h).  So
 * values are computed again as late as possible, and dropped only when memory is short: the scheme
 * of Kirisame et al. 2021, "Dynamic Tensor Rematerialization", but with the uses to come known.
 *
 * A value is wanted if a later step reads it, or if a dropped value that is wanted is computed from
 * it.  What is not wanted is freed at once.  In the plan that is made of the sequence, memory ends
 * at a value's last use; here it may end later, when the value is dropped.  So the plan never needs
 * more than the simulation. */
#include "backends/plan/recompute.h"
#include "graph/grow.h"
#include "graph/mix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_TIMES = 6,     /* wgi_rule.most_times, unless it says otherwise */
    MOST_ANCESTORS = 64 /* that count in a cost                                            */
};

/* A step that waits for its operands. */
typedef struct frame {
    uint32_t step;
    bool again;
    size_t next_in; /* the operands before this one are in memory */
} frame;

typedef struct entry {
    double score;
    uint32_t value;
} entry;

/* Of a value, while the simulation goes on. */
typedef struct state {
    uint32_t next;  /* index of the next use */
    uint32_t heirs; /* dropped, wanted values that are computed from it */
    uint32_t holds; /* pending steps that read it or have made it  */
    bool made, here, missing, queued;
    uint64_t seen; /* the last walk that came here */
} state;

typedef struct change {
    uint32_t value;
    bool missing;
} change;

typedef struct run {
    const wgi_steps *s;
    const wgi_rule *rule;
    wgi_sequence *out;
    state *of; /* [values] */
    size_t limit, live;
    uint32_t now; /* the step of the program that is next */
    uint64_t walks;
    frame *frame;
    size_t n_frames, frame_room;
    entry *heap;
    size_t n_heap, heap_room;
    entry *held; /* candidates that pending steps hold */
    size_t n_held, held_room;
    change *change;
    size_t n_changes, change_room;
    uint32_t *walk; /* [MOST_ANCESTORS + 1] */
    bool no_memory;
} run;

void wgi_sequence_free(wgi_sequence *q)
{
    free(q->step);
    free(q->again);
    *q = (wgi_sequence){.n = 0};
}

/* ---- the next use ---------------------------------------------------------------------------- */

static bool has_use(const run *r, uint32_t v)
{
    return r->s->value[v].kept || r->of[v].next < r->s->value[v].end_use;
}

static bool is_wanted(const run *r, uint32_t v)
{
    return has_use(r, v) || r->of[v].heirs > 0;
}

/* The step of the next use; of a value that only dropped ones want, the earliest of theirs that is
 * found nearby. */
static uint32_t next_use(const run *r, uint32_t v)
{
    enum { LOOKED_AT = 8 };
    const wgi_step_value *x = &r->s->value[v];
    uint32_t end = (uint32_t)r->s->n_steps, first = end, at = r->of[v].next;
    if (has_use(r, v))
        return at < x->end_use ? r->s->use[at] : end;
    for (int looked = 0; at-- > x->first_use && looked < LOOKED_AT; looked++) {
        const wgi_program_step *reader = &r->s->step[r->s->use[at]];
        for (size_t o = reader->first_out; o < reader->end_out; o++) {
            uint32_t y = r->s->out[o];
            if (r->of[y].missing && r->of[y].next < r->s->value[y].end_use &&
                r->s->use[r->of[y].next] < first)
                first = r->s->use[r->of[y].next];
        }
    }
    return first;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* The cost of v, and of the dropped values that are needed for it. */
static double cost_of(run *r, uint32_t v)
{
    const wgi_steps *s = r->s;
    double cost = s->step[s->value[v].step].cost;
    size_t n = 0, counted = 0;
    if (!r->rule->ancestors)
        return cost;
    r->walks++;
    r->walk[n++] = v;
    while (n && counted < MOST_ANCESTORS) {
        const wgi_program_step *step = &s->step[s->value[r->walk[--n]].step];
        for (size_t i = step->first_in; i < step->end_in && n < MOST_ANCESTORS; i++) {
            uint32_t x = s->in[i];
            if (r->of[x].here || r->of[x].seen == r->walks)
                continue;
            r->of[x].seen = r->walks;
            cost += s->step[s->value[x].step].cost;
            counted++;
            r->walk[n++] = x;
        }
    }
    return cost;
}

static double score_of(run *r, uint32_t v, double cost)
{
    double bytes = (double)r->s->value[v].bytes;
    double distance = (double)(next_use(r, v) - r->now) + 1, score = (cost + 1) / bytes;
    if (r->rule->a != 0)
        score /= r->rule->a == 1 ? distance : pow(distance, r->rule->a);
    if (r->rule->noise != 0) {
        double x = (double)(wgi_mix64(r->rule->seed * WGI_GOLDEN + v) >> 11) * 0x1p-53;
        score *= exp(r->rule->noise * (2 * x - 1));
    }
    return score;
}

/* What only dropped values want may always be: they were dropped under its limit. */
static bool can_be_dropped(const run *r, uint32_t v)
{
    const wgi_step_value *x = &r->s->value[v];
    bool barred = r->rule->barred && r->rule->barred[v];
    if (!r->of[v].here || !x->bytes || !x->again || x->kept || barred)
        return false;
    return !has_use(r, v) || x->limit >= (int64_t)next_use(r, v);
}

/* ---- heap ------------------------------------------------------------------------------------ */

static void push(run *r, entry e)
{
    if (!WGI_RESERVE(r->heap, r->heap_room, r->n_heap + 1)) {
        r->no_memory = true;
        return;
    }
    size_t i = r->n_heap++;
    for (; i > 0 && e.score < r->heap[(i - 1) / 2].score; i = (i - 1) / 2)
        r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = e;
}

static entry pop(run *r)
{
    entry top = r->heap[0], e = r->heap[--r->n_heap];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < r->n_heap; i = child) {
        child += child + 1 < r->n_heap && r->heap[child + 1].score < r->heap[child].score;
        if (!(r->heap[child].score < e.score))
            break;
        r->heap[i] = r->heap[child];
    }
    r->heap[i] = e;
    return top;
}

/* With the cost of its own step: the whole is found when it is this value's turn. */
static void offer(run *r, uint32_t v)
{
    if (r->of[v].queued || !r->of[v].here || !r->s->value[v].again || !r->s->value[v].bytes)
        return;
    r->of[v].queued = true;
    push(r, (entry){score_of(r, v, r->s->step[r->s->value[v].step].cost), v});
}

/* ---- wanted, missing, freed ------------------------------------------------------------------ */

static void release(run *r, uint32_t v)
{
    r->of[v].here = false;
    r->live -= r->s->value[v].bytes;
}

/* Frees v if nothing wants or holds it, and notes whether it is missing now. */
static void settle(run *r, uint32_t v)
{
    state *x = &r->of[v];
    bool wanted = is_wanted(r, v), missing = x->made && !x->here && wanted;
    if (x->here && !wanted && !x->holds)
        release(r, v);
    if (missing == x->missing)
        return;
    if (!WGI_RESERVE(r->change, r->change_room, r->n_changes + 1)) {
        r->no_memory = true;
        return;
    }
    x->missing = missing;
    r->change[r->n_changes++] = (change){v, missing};
}

/* What is missing wants its operands. */
static void update(run *r, uint32_t v)
{
    settle(r, v);
    while (r->n_changes) {
        change c = r->change[--r->n_changes];
        const wgi_program_step *step = &r->s->step[r->s->value[c.value].step];
        for (size_t i = step->first_in; i < step->end_in; i++) {
            uint32_t x = r->s->in[i];
            r->of[x].heirs += c.missing ? 1 : UINT32_MAX;
            settle(r, x);
        }
    }
}

static void drop(run *r, uint32_t v)
{
    release(r, v);
    update(r, v);
}

/* ---- room ------------------------------------------------------------------------------------ */

/* Drops the value of the smallest score; false if there is none.  Scores in the heap are those of
 * when they were written: most only grow, so the first one that has not grown is the smallest.
 * What cannot be dropped leaves the heap, until it is used again. */
static bool drop_one(run *r)
{
    while (r->n_heap) {
        entry e = pop(r);
        r->of[e.value].queued = false;
        if (!can_be_dropped(r, e.value) || !is_wanted(r, e.value))
            continue;
        if (r->of[e.value].holds) {
            if (!WGI_RESERVE(r->held, r->held_room, r->n_held + 1))
                return !(r->no_memory = true);
            r->held[r->n_held++] = e;
            continue;
        }
        double score = score_of(r, e.value, cost_of(r, e.value));
        if (score > e.score && r->n_heap && score > r->heap[0].score) {
            r->of[e.value].queued = true;
            push(r, (entry){score, e.value});
            continue;
        }
        drop(r, e.value);
        return true;
    }
    return false;
}

static bool make_room(run *r, size_t bytes)
{
    bool ok = true;
    while (ok && (bytes > r->limit || r->live > r->limit - bytes))
        ok = drop_one(r);
    while (r->n_held) {
        entry e = r->held[--r->n_held];
        r->of[e.value].queued = true;
        push(r, e);
    }
    return ok && !r->no_memory;
}

/* ---- one step -------------------------------------------------------------------------------- */

static bool emit(run *r, const frame *f)
{
    wgi_sequence *q = r->out;
    size_t room = q->room;
    if (!WGI_RESERVE(q->step, room, q->n + 1) || !WGI_RESERVE(q->again, q->room, q->n + 1))
        return !(r->no_memory = true);
    q->step[q->n] = f->step;
    q->again[q->n++] = f->again;
    q->cost += f->again ? r->s->step[f->step].cost : 0;
    if (r->rule->most_cost > 0 && q->cost > r->rule->most_cost)
        return false;
    size_t times = r->rule->most_times ? r->rule->most_times : MOST_TIMES;
    return q->n <= times * (r->s->n_steps + 64);
}

/* Bytes of operands that die at the step and over which results are written. */
static size_t reused(run *r, const wgi_program_step *step)
{
    size_t bytes = 0;
    r->walks++;
    for (size_t o = step->first_out; o < step->end_out; o++)
        for (size_t k = r->s->first_over[o]; k < r->s->first_over[o + 1]; k++) {
            uint32_t x = r->s->over[k];
            if (is_wanted(r, x) || r->of[x].holds > 1 || r->of[x].seen == r->walks)
                continue;
            r->of[x].seen = r->walks;
            bytes += r->s->value[x].bytes;
            break;
        }
    return bytes;
}

/* The results are in memory from now on: their operands may no longer be wanted. */
static size_t begin_results(run *r, const wgi_program_step *step, size_t *twice)
{
    size_t bytes = step->scratch;
    for (size_t o = step->first_out; o < step->end_out; o++) {
        uint32_t y = r->s->out[o];
        bytes += r->s->value[y].bytes;
        *twice += r->of[y].here ? r->s->value[y].bytes : 0;
        r->of[y].made = r->of[y].here = true;
        r->of[y].holds++;
        update(r, y);
    }
    return bytes;
}

static void end_step(run *r, const wgi_program_step *step)
{
    for (size_t i = step->first_in; i < step->end_in; i++) {
        r->of[r->s->in[i]].holds--;
        update(r, r->s->in[i]);
        offer(r, r->s->in[i]);
    }
    for (size_t o = step->first_out; o < step->end_out; o++) {
        r->of[r->s->out[o]].holds--;
        update(r, r->s->out[o]);
        offer(r, r->s->out[o]);
    }
}

static bool execute(run *r, const frame *f)
{
    const wgi_program_step *step = &r->s->step[f->step];
    size_t twice = 0;
    if (!f->again) {
        for (size_t i = step->first_in; i < step->end_in; i++)
            r->of[r->s->in[i]].next++;
        r->now = f->step + 1;
    }
    size_t bytes = begin_results(r, step, &twice);
    if (!make_room(r, bytes - reused(r, step)) || !emit(r, f))
        return false;
    r->live += bytes - twice - step->scratch;
    end_step(r, step);
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool wait_for(run *r, uint32_t step, bool again)
{
    if (!WGI_RESERVE(r->frame, r->frame_room, r->n_frames + 1))
        return !(r->no_memory = true);
    const wgi_program_step *s = &r->s->step[step];
    for (size_t i = s->first_in; i < s->end_in; i++)
        r->of[r->s->in[i]].holds++;
    r->frame[r->n_frames++] = (frame){step, again, s->first_in};
    return true;
}

static bool run_step(run *r, uint32_t i)
{
    bool ok = wait_for(r, i, false);
    while (ok && r->n_frames) {
        frame *f = &r->frame[r->n_frames - 1];
        const wgi_program_step *step = &r->s->step[f->step];
        while (f->next_in < step->end_in && r->of[r->s->in[f->next_in]].here)
            f->next_in++;
        if (f->next_in < step->end_in)
            ok = wait_for(r, r->s->value[r->s->in[f->next_in]].step, true);
        else
            ok = execute(r, &r->frame[--r->n_frames]);
    }
    return ok;
}

wgi_outcome wgi_recompute_run(const wgi_steps *s, size_t bytes, const wgi_rule *rule,
                              wgi_sequence *out)
{
    run r = {.s = s, .rule = rule, .out = out, .limit = bytes};
    *out = (wgi_sequence){.n = 0};
    r.of = calloc(s->n_values + 1, sizeof *r.of);
    r.walk = calloc(MOST_ANCESTORS + 1, sizeof *r.walk);
    bool ok = r.of && r.walk;
    r.no_memory = !ok;
    for (size_t i = 0; ok && i < s->n_values; i++)
        r.of[i].next = s->value[i].first_use;
    for (uint32_t i = 0; ok && i < s->n_steps; i++)
        ok = run_step(&r, i);
    void *const owned[] = {r.of, r.walk, r.frame, r.heap, r.held, r.change};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    return r.no_memory ? WGI_NO_MEMORY : ok ? WGI_FITS : WGI_TOO_LARGE;
}
