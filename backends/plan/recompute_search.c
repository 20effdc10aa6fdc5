/* Which rule drops the right values?  It depends on the graph: a simulation takes milliseconds at
 * most, so several are tried, and the cheapest sequence is taken.  Then it is improved by a walk:
 * a value that is computed again is barred from being dropped, or one that is barred is not,
 * or another rule is taken.  How much is tried depends on the numbers of steps alone, never on
 * time, and all choices are reproducible, so the same graph has the same plan on every machine. */
#include "backends/plan/recompute.h"
#include "graph/mix.h"

#include <stdlib.h>

enum {
    PLAIN_RULES = 6,
    MOST_RULES = 64,
    STEPS_OF_RULES = 150000, /* of the program, in all simulations */
    MOST_STEPS = 1000000,    /* that simulations run: then no other rule is tried */
    MOST_MOVES = 3000,
    STEPS_OF_MOVES = 600000,
    MOST_STEPS_OF_WALK = 300000 /* that simulations run, of which a step may be run several times */
};

static wgi_rule rule_at(size_t i)
{
    static const wgi_rule plain[PLAIN_RULES] = {
        {.ancestors = true, .a = 1},  {.ancestors = true, .a = 0.5}, {.ancestors = true, .a = 0},
        {.ancestors = false, .a = 1}, {.ancestors = true, .a = 2},   {.ancestors = false, .a = 0},
    };
    wgi_rule rule = plain[i % PLAIN_RULES];
    if (i >= PLAIN_RULES) {
        rule.seed = i;
        rule.noise = i % 2 ? 0.3 : 1;
    }
    return rule;
}

static size_t tries(const wgi_steps *s, size_t steps, size_t least, size_t most)
{
    size_t n = steps / (s->n_steps + 1);
    return n < least ? least : n > most ? most : n;
}

/* A simulation takes a good part of a second, and several if it fails late. */
static bool is_long(const wgi_steps *s)
{
    return s->n_steps > 20000;
}

static size_t rules_for(const wgi_steps *s)
{
    return tries(s, STEPS_OF_RULES, PLAIN_RULES, MOST_RULES);
}

/* Takes q for *out if it is cheaper; otherwise frees it. */
static bool take_better(wgi_sequence *out, wgi_sequence *q, wgi_outcome outcome)
{
    bool better = outcome == WGI_FITS && (!out->step || q->cost < out->cost);
    wgi_sequence_free(better ? out : q);
    if (better)
        *out = *q;
    return better;
}

/* The cheapest of the sequences of some rules, or the first one; *rule is the one that made it. */
static wgi_outcome try_rules(const wgi_steps *s, size_t bytes, size_t n_rules, bool first,
                             wgi_sequence *out, wgi_rule *best)
{
    size_t steps = 0;
    *out = (wgi_sequence){.n = 0};
    for (size_t i = 0; i < n_rules && steps < MOST_STEPS; i++) {
        if (out->step && (first || out->cost == 0))
            break;
        wgi_sequence q;
        wgi_rule rule = rule_at(i);
        rule.most_cost = out->cost;
        wgi_outcome outcome = wgi_recompute_run(s, bytes, &rule, &q);
        steps += q.n;
        if (take_better(out, &q, outcome))
            *best = rule;
        if (outcome == WGI_NO_MEMORY)
            return outcome;
    }
    return out->step ? WGI_FITS : WGI_TOO_LARGE;
}

/* A value to bar: a result of a step that is run again, drawn at random.  SIZE_MAX: none. */
static size_t draw_again(const wgi_steps *s, const wgi_sequence *q, uint64_t *random)
{
    size_t at = wgi_splitmix64(random) % (q->n + 1);
    for (size_t i = 0; i < q->n; i++) {
        size_t k = (at + i) % q->n;
        const wgi_program_step *step = &s->step[q->step[k]];
        if (q->again[k] && step->first_out < step->end_out)
            return s->out[step->first_out];
    }
    return SIZE_MAX;
}

/* Where the walk is: under which rule, with which values barred, at which cost. */
typedef struct walk {
    const wgi_steps *s;
    size_t bytes;
    wgi_rule rule;
    bool *barred; /* [values] */
    size_t *list; /* [n_barred] those that are */
    size_t n_barred;
    double cost, slack; /* by which the cost may grow at first, as a fraction */
    uint64_t random;
} walk;

enum move { BAR, LIFT, RULE };

/* One move, taken back unless the cost is at most `most`.  *q is the sequence after it, if there is
 * one; the last sequence is in `now`. */
static wgi_outcome try_move(walk *w, const wgi_sequence *now, double most, wgi_sequence *q)
{
    uint64_t draw = wgi_splitmix64(&w->random) % 8;
    enum move move = draw == 0 ? RULE : draw < 3 && w->n_barred ? LIFT : BAR;
    size_t which = w->n_barred ? wgi_splitmix64(&w->random) % w->n_barred : 0,
           v = move == LIFT ? w->list[which] : draw_again(w->s, now, &w->random);
    const wgi_rule before = w->rule;
    if (move == RULE)
        w->rule = rule_at(wgi_splitmix64(&w->random) % PLAIN_RULES);
    else if (v != SIZE_MAX)
        w->barred[v] = move == BAR;
    w->rule.barred = w->barred;
    w->rule.most_cost = most;
    wgi_outcome outcome = wgi_recompute_run(w->s, w->bytes, &w->rule, q);
    bool accepted = outcome == WGI_FITS && q->cost <= most;
    if (accepted)
        w->cost = q->cost;
    else if (move == RULE)
        w->rule = before;
    else if (v != SIZE_MAX)
        w->barred[v] = move == LIFT;
    if (accepted && move == LIFT)
        w->list[which] = w->list[--w->n_barred];
    else if (accepted && move == BAR && v != SIZE_MAX)
        w->list[w->n_barred++] = v;
    return outcome == WGI_FITS && !accepted ? WGI_TOO_LARGE : outcome;
}

/* Threshold accepting (Dueck and Scheuer 1990): a walk that may go up by less and less. */
static wgi_outcome improve(walk *w, size_t n_moves, wgi_sequence *out)
{
    wgi_outcome outcome = WGI_FITS;
    wgi_sequence now = {.n = 0};
    size_t steps = 0;
    w->cost = out->cost;
    for (size_t i = 0; i < n_moves && out->cost > 0 && outcome != WGI_NO_MEMORY; i++) {
        wgi_sequence q;
        if (steps > MOST_STEPS_OF_WALK)
            break;
        double slack = w->slack * (1 - (double)i / (double)n_moves);
        outcome = try_move(w, now.step ? &now : out, w->cost + slack * out->cost, &q);
        steps += q.n;
        if (outcome != WGI_FITS) {
            wgi_sequence_free(&q);
        } else if (q.cost < out->cost) {
            wgi_sequence_free(out);
            wgi_sequence_free(&now);
            *out = q;
            now = (wgi_sequence){.n = 0};
        } else {
            wgi_sequence_free(&now);
            now = q;
        }
    }
    wgi_sequence_free(&now);
    return outcome == WGI_NO_MEMORY ? outcome : WGI_FITS;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Bytes that a step needs at least: what it reads and makes, less what may lie over each other. */
static size_t need_of(const wgi_steps *s, const wgi_program_step *step)
{
    size_t bytes = step->scratch, shared = 0;
    for (size_t i = step->first_in; i < step->end_in; i++)
        bytes += s->value[s->in[i]].bytes;
    for (size_t o = step->first_out; o < step->end_out; o++) {
        size_t most = 0;
        bytes += s->value[s->out[o]].bytes;
        for (size_t k = s->first_over[o]; k < s->first_over[o + 1]; k++)
            most = s->value[s->over[k]].bytes > most ? s->value[s->over[k]].bytes : most;
        shared += most;
    }
    return bytes > shared ? bytes - shared : 0;
}

/* No sequence needs less: each step runs, and what is kept is there in the end. */
static size_t floor_of(const wgi_steps *s)
{
    size_t most = 0, kept = 0;
    for (size_t i = 0; i < s->n_steps; i++) {
        size_t need = need_of(s, &s->step[i]);
        most = need > most ? need : most;
    }
    for (size_t v = 0; v < s->n_values; v++)
        kept += s->value[v].kept ? s->value[v].bytes : 0;
    return kept > most ? kept : most;
}

/* Enough for a run that drops nothing. */
static size_t peak_of(const wgi_steps *s)
{
    size_t live = 0, peak = 0;
    for (size_t i = 0; i < s->n_steps; i++) {
        const wgi_program_step *step = &s->step[i];
        for (size_t o = step->first_out; o < step->end_out; o++)
            live += s->value[s->out[o]].bytes;
        peak = live + step->scratch > peak ? live + step->scratch : peak;
        for (size_t k = step->first_in; k < step->end_in; k++) {
            const wgi_step_value *x = &s->value[s->in[k]];
            live -= !x->kept && s->use[x->end_use - 1] == i ? x->bytes : 0;
        }
        for (size_t o = step->first_out; o < step->end_out; o++) {
            const wgi_step_value *y = &s->value[s->out[o]];
            live -= !y->kept && y->first_use == y->end_use ? y->bytes : 0;
        }
    }
    return peak;
}

/* ---- the search ------------------------------------------------------------------------------ */

wgi_outcome wgi_recompute_search(const wgi_steps *s, size_t bytes, wgi_sequence *out)
{
    static const double slack[] = {0.15, 0, 0.5};
    enum { WALKS = sizeof slack / sizeof *slack };
    size_t n_moves = tries(s, STEPS_OF_MOVES, 0, MOST_MOVES);
    walk w = {.s = s, .bytes = bytes};
    wgi_rule rule;
    *out = (wgi_sequence){.n = 0};
    if (bytes < floor_of(s))
        return WGI_TOO_LARGE;
    wgi_outcome outcome = try_rules(s, bytes, rules_for(s), false, out, &rule);
    for (uint64_t i = 0; i < WALKS && outcome == WGI_FITS && n_moves; i++) {
        w.rule = i ? w.rule : rule;
        w.slack = slack[i];
        w.random = i + 1;
        w.n_barred = 0;
        w.barred = calloc(s->n_values + 1, sizeof *w.barred);
        w.list = calloc(n_moves + 1, sizeof *w.list);
        outcome = w.barred && w.list ? improve(&w, n_moves / WALKS, out) : WGI_NO_MEMORY;
        free(w.barred);
        free(w.list);
    }
    return outcome;
}

wgi_outcome wgi_recompute_least(const wgi_steps *s, size_t *bytes, wgi_sequence *out)
{
    size_t low = floor_of(s), high = peak_of(s), n_rules = rules_for(s);
    wgi_outcome outcome = WGI_FITS;
    *out = (wgi_sequence){.n = 0};
    low -= low > 0; /* the bound itself may do */
    while (outcome != WGI_NO_MEMORY && high - low > high / (is_long(s) ? 16 : 256) + 64) {
        size_t middle = low + (high - low) / 2;
        wgi_sequence q;
        wgi_rule rule = {.ancestors = true, .a = 1, .most_times = 2};
        outcome = is_long(s) ? wgi_recompute_run(s, middle, &rule, &q)
                             : try_rules(s, middle, n_rules, true, &q, &rule);
        wgi_sequence_free(outcome == WGI_FITS ? out : &q);
        if (outcome == WGI_FITS) {
            high = middle;
            *out = q;
        } else {
            low = middle;
        }
    }
    *bytes = high;
    if (outcome == WGI_NO_MEMORY)
        return outcome;
    if (is_long(s) && out->step)
        return WGI_FITS; /* not the cheapest one, but soon */
    wgi_sequence_free(out);
    return wgi_recompute_search(s, high, out);
}
