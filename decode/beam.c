/* Beam search over one sentence, by the rules of fairseq (Ott et al. 2019) except for when it ends.
 *
 * Each step considers the best 2 beam extensions of all live hypotheses, in order: those that end
 * the sentence are finished if they rank within the beam, and the first `beam` of the others stay
 * live.  The `beam` best finished hypotheses are kept.  The search ends when no extension can
 * surpass the n_best of them; or, once `beam` are finished, when no live hypothesis scores above
 * the n_best.  (fairseq ends as soon as `beam` are finished.  But a confident model ranks the end
 * of sentence second at every step, however improbable it is, so `beam` bad hypotheses are finished
 * early.)  Ties go to the better hypothesis of the step before, then to the lower id. */
#include "decode/beam.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double wg_length_penalty_of(int penalty, double alpha, size_t length)
{
    double n = (double)length;
    return pow(penalty == WG_PENALTY_GNMT ? (5 + n) / 6 : n, alpha);
}

/* ---- extensions ------------------------------------------------------------------------------ */

void wgi_beam_begin(wgi_beam *x)
{
    x->n_live = 1;
    x->n_done = 0;
    x->finished = false;
    x->live[0].n = x->live[0].n_slots = 0;
    x->live[0].log_probability = 0;
}

typedef struct extension {
    const wgi_partial *of;
    double score, total; /* of the token, of all */
    int32_t id;
} extension;

/* Merges the rows' candidates, the best first; false if none is left. */
static bool next_extension(const wgi_beam *x, const wgi_beam_rules *rules, const wgi_candidates *c,
                           extension *out)
{
    size_t best = x->n_live, k = rules->candidates;
    for (size_t i = 0; i < x->n_live; i++) {
        const int64_t *ids = c->ids + i * k;
        size_t *cursor = &rules->cursors[i];
        while (*cursor < k &&
               (ids[*cursor] == rules->banned[0] || ids[*cursor] == rules->banned[1]))
            ++*cursor;
        if (*cursor >= k)
            continue;
        double score = c->scores[i * k + *cursor], total = x->live[i].log_probability + score;
        if (isfinite(total) && (best == x->n_live || total > out->total)) {
            *out = (extension){&x->live[i], score, total, (int32_t)ids[*cursor]};
            best = i;
        }
    }
    if (best == x->n_live)
        return false;
    rules->cursors[best]++;
    return true;
}

static void clear(wg_hypothesis *h)
{
    free(h->ids);
    free(h->token_scores);
    free(h->attention);
    *h = (wg_hypothesis){0};
}

/* Makes room for a finished hypothesis with that score by dropping the worst; false if the worst is
 * better. */
static bool make_room(wgi_beam *x, size_t room, double score)
{
    size_t worst = 0;
    if (x->n_done < room)
        return true;
    for (size_t i = 1; i < x->n_done; i++)
        if (x->done[i].score <= x->done[worst].score)
            worst = i;
    if (!(score > x->done[worst].score))
        return false;
    clear(&x->done[worst]);
    x->n_done--;
    memmove(&x->done[worst], &x->done[worst + 1], (x->n_done - worst) * sizeof *x->done);
    return true;
}

static bool finish(wgi_beam *x, const wgi_beam_rules *rules, const extension *e)
{
    const wgi_partial *of = e->of;
    size_t n = of->n + 1;
    wg_hypothesis h = {.n = n, .log_probability = e->total, .source_tokens = x->length};
    h.score = e->total / wg_length_penalty_of(rules->penalty, rules->alpha, n);
    if (!make_room(x, rules->beam, h.score))
        return true;
    h.ids = malloc(n * sizeof *h.ids);
    h.token_scores = malloc(n * sizeof *h.token_scores);
    if (!h.ids || !h.token_scores) {
        free(h.ids);
        free(h.token_scores);
        return false;
    }
    memcpy(h.ids, of->ids, of->n * sizeof *h.ids);
    memcpy(h.token_scores, of->scores, of->n * sizeof *h.token_scores);
    h.ids[n - 1] = e->id;
    h.token_scores[n - 1] = (float)e->score;
    x->done[x->n_done++] = h;
    return true;
}

static void extend(wgi_partial *to, const extension *e)
{
    const wgi_partial *of = e->of;
    memcpy(to->ids, of->ids, of->n * sizeof *to->ids);
    memcpy(to->scores, of->scores, of->n * sizeof *to->scores);
    memcpy(to->slots, of->slots, of->n_slots * sizeof *to->slots);
    to->ids[of->n] = e->id;
    to->scores[of->n] = (float)e->score;
    to->n = of->n + 1;
    to->n_slots = of->n_slots;
    to->log_probability = e->total;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The score of a hypothesis if it had n tokens and the same probability. */
static double score_at(const wgi_partial *h, const wgi_beam_rules *rules, size_t n)
{
    return h->log_probability / wg_length_penalty_of(rules->penalty, rules->alpha, n);
}

/* The score that n_best finished hypotheses must reach for the search to end.  While fewer than
 * `beam` are finished: the maximum that any extension of a live one can score (no token's
 * probability is above 1).  Then: the maximum that a live one scores as it is. */
static double score_to_reach(const wgi_beam *x, const wgi_beam_rules *rules)
{
    double best = -HUGE_VAL;
    for (size_t i = 0; i < x->n_live; i++) {
        const wgi_partial *h = &x->live[i];
        if (x->n_done >= rules->beam)
            best = fmax(best, score_at(h, rules, h->n));
        else
            best = fmax(best, fmax(score_at(h, rules, h->n + 1), score_at(h, rules, x->max)));
    }
    return best;
}

static bool cannot_improve(const wgi_beam *x, const wgi_beam_rules *rules)
{
    if (x->n_live == 0)
        return true;
    if (x->n_done < rules->n_best)
        return false;
    double min = score_to_reach(x, rules);
    size_t above = 0;
    for (size_t i = 0; i < x->n_done; i++)
        above += x->done[i].score >= min;
    return above >= rules->n_best;
}

/* The first n_next of `next` become the live hypotheses; slots that only the former ones held are
 * free. */
static void replace_live(wgi_beam *x, size_t n_next, wgi_slots *slots)
{
    for (size_t i = 0; slots && i < n_next; i++)
        wgi_slots_hold(slots, x->next[i].slots, x->next[i].n_slots);
    for (size_t i = 0; slots && i < x->n_live; i++)
        wgi_slots_drop(slots, x->live[i].slots, x->live[i].n_slots);
    wgi_partial *former = x->live;
    x->live = x->next;
    x->next = former;
    x->n_live = n_next;
}

wg_status wgi_beam_advance(wgi_beam *x, const wgi_beam_rules *rules, const wgi_candidates *c,
                           wgi_slots *slots)
{
    size_t n_next = 0, beam = rules->beam;
    bool last = x->live[0].n + 1 >= x->max, ok = true, any = false;
    extension e = {0};
    memset(rules->cursors, 0, x->n_live * sizeof *rules->cursors);
    for (size_t rank = 0; ok && rank < 2 * beam && n_next < beam; rank++) {
        if (!next_extension(x, rules, c, &e))
            break;
        any = true;
        if (e.id == rules->eos || last)
            ok = rank >= beam || finish(x, rules, &e);
        else
            extend(&x->next[n_next++], &e);
    }
    if (!ok)
        return WG_ENOMEM;
    replace_live(x, n_next, slots);
    x->finished = cannot_improve(x, rules);
    if (x->finished)
        replace_live(x, 0, slots);
    return any ? WG_OK : WG_ENONFINITE;
}

/* Descending by score; hypotheses of one score in the order in which they were completed. */
static void sort(wg_hypothesis *h, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && h[j].score > h[j - 1].score; j--) {
            wg_hypothesis t = h[j];
            h[j] = h[j - 1];
            h[j - 1] = t;
        }
}

static void drop_scores(wg_hypothesis *h)
{
    free(h->token_scores);
    h->token_scores = NULL;
    h->log_probability = h->score = NAN;
}

void wgi_beam_finish(wgi_beam *x, const wgi_beam_rules *rules, wg_hypothesis *results)
{
    sort(x->done, x->n_done);
    for (size_t i = 0; rules->no_scores && i < x->n_done; i++)
        drop_scores(&x->done[i]);
    for (size_t i = 0; i < x->n_done; i++)
        if (i < rules->n_best)
            results[i] = x->done[i];
        else
            clear(&x->done[i]);
    x->n_done = 0;
}

void wg_hypotheses_free(wg_hypothesis *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++)
        clear(&results[i]);
    free(results);
}
