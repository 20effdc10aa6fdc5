/* The search over many sentences.  They are taken longest first; each that ends makes room for the
 * next at once, so the steps stay full until the last sentences. */
#include "decode/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 512, MIN_ROWS = 64, MAX_ROWS = 1 << 16, WAITING = 8 /* one for so many places */ };

/* ---- options --------------------------------------------------------------------------------- */

static wg_status check_options(wg_search *s, const wg_search_options *given, wg_search_options *o)
{
    *o = given ? *given : (wg_search_options){0};
    o->beam = o->beam ? o->beam : 1;
    o->n_best = o->n_best ? o->n_best : 1;
    if (o->beam < 1 || o->beam > MAX_ROWS)
        return wgi_search_fail(s, WG_EINVAL, "the beam is %lld, must be 1 to %d",
                               (long long)o->beam, MAX_ROWS);
    if (o->n_best < 1 || o->n_best > o->beam)
        return wgi_search_fail(s, WG_EINVAL, "%lld best of a beam of %lld: must be 1 to the beam",
                               (long long)o->n_best, (long long)o->beam);
    if (o->penalty != WG_PENALTY_LENGTH && o->penalty != WG_PENALTY_GNMT)
        return wgi_search_fail(s, WG_EINVAL, "there is no length penalty %d", o->penalty);
    if (!isfinite(o->alpha) || !isfinite(o->max_factor) || o->max_factor < 0 || o->max_extra < 0 ||
        o->max_length < 0)
        return wgi_search_fail(
            s, WG_EINVAL,
            "alpha %g, lengths %g times the source + %lld, at most %lld: must be finite "
            "and, but alpha, not negative",
            o->alpha, o->max_factor, (long long)o->max_extra, (long long)o->max_length);
    if (o->max_factor == 0 && o->max_extra == 0) {
        o->max_factor = 1;
        o->max_extra = 50;
    }
    return WG_OK;
}

static wg_status check_ids(wg_search *s, const char *what, size_t sentence, const int32_t *ids,
                           size_t n, int64_t vocabulary)
{
    int64_t max = s->config.max_positions;
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= vocabulary)
            return wgi_search_fail(s, WG_EDATA, "%s of sentence %zu: token %ld is outside [0,%lld)",
                                   what, sentence, (long)ids[i], (long long)vocabulary);
    if (s->config.positions == WG_POSITIONS_LEARNED && (int64_t)n > max)
        return wgi_search_fail(
            s, WG_EDATA, "%s of sentence %zu has %zu tokens, but only %lld positions were learned",
            what, sentence, n, (long long)max);
    return WG_OK;
}

static size_t max_tokens(const wg_search *s, const wg_search_options *o, size_t source)
{
    double max = fmin(o->max_factor * (double)source + (double)o->max_extra, 1e9);
    if (o->max_length > 0)
        max = fmin(max, (double)o->max_length);
    if (s->config.positions == WG_POSITIONS_LEARNED)
        max = fmin(max, (double)s->config.max_positions);
    return max < 1 ? 1 : (size_t)max;
}

/* ---- a run
 *
 * ------------------------------------------------------------------------------------------------- */

typedef struct run {
    wg_search *s;
    wg_search_options o;
    wgi_beam_rules rules;
    wgi_search_limits limits;
    wgi_beam *sentence, **queue;        /* [n], longest first */
    size_t n, n_encoded, n_begun;       /* of the queue       */
    wgi_beam **active;                  /* [places]           */
    size_t places, n_active, n_stepped; /* the first n_stepped take part in this step */
    size_t step_rows;                   /* at most */
    wgi_search_row *row;                /* [places * beam]    */
    wgi_partial *partial, **room;       /* [places * 2 beam]; [places] of which room is free */
    int32_t *ids, *slots, *source_slots;
    float *scores;
    wg_hypothesis *done; /* [places * beam]    */
    wg_hypothesis *results;
} run;

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Rounded up, so that a later run with somewhat longer sentences finds its plans. */
static int64_t roomy(const wg_search *s, size_t n)
{
    int64_t up = wgi_search_round_up((int64_t)n, 64), max = s->config.max_positions;
    return s->config.positions == WG_POSITIONS_LEARNED && up > max ? max : up;
}

static void list_sentences(run *r, const int32_t *const *sources, const size_t *lengths,
                           const size_t *which, size_t n)
{
    size_t target = 1, source = 1;
    for (size_t i = 0; i < n; i++) {
        size_t index = which[i];
        wgi_beam *x = &r->sentence[i];
        *x = (wgi_beam){.source = sources[index], .length = lengths[index], .index = index};
        x->max = max_tokens(r->s, &r->o, x->length);
        if (x->length == 0)
            continue;
        r->queue[r->n++] = x;
        target = larger(target, x->max);
        source = larger(source, x->length);
    }
    r->limits.target = roomy(r->s, target);
    r->limits.source = roomy(r->s, source);
}

static void set_rules(run *r)
{
    const wg_search *s = r->s;
    r->rules.beam = (size_t)r->o.beam;
    r->rules.n_best = (size_t)r->o.n_best;
    r->rules.eos = s->eos;
    r->rules.banned[0] = s->pad;
    r->rules.banned[1] = s->no_unk ? s->unk : -1;
    r->rules.penalty = r->o.penalty;
    r->rules.alpha = r->o.alpha;
    /* Of one row at most the beam live on, and one ends. */
    int64_t k = r->o.beam + 1 + (r->rules.banned[0] >= 0) + (r->rules.banned[1] >= 0);
    r->rules.candidates =
        (size_t)(k < s->config.target_vocabulary ? k : s->config.target_vocabulary);
}

/* So many sentences at once that their rows, and with the plain decoder their tokens, are worth a
 * step, which threads share; and some more, which wait with all they have while a step is full:
 * most sentences have `beam` rows, but each begins with one, and without the others steps would not
 * be full. */
static void set_places(run *r)
{
    int64_t rows = ROWS / (int64_t)r->s->companions, longest = r->limits.source, beam = r->o.beam;
    rows = rows > MIN_ROWS ? rows : MIN_ROWS;
    if (r->o.batch_tokens > 0)
        rows = r->o.batch_tokens / longest;
    rows = rows > MAX_ROWS ? MAX_ROWS : rows < beam ? beam : rows;
    r->step_rows = (size_t)rows;
    r->places = (size_t)(rows / beam);
    if (beam > 1)
        r->places += (r->places + WAITING - 1) / WAITING;
    if (r->places > r->n)
        r->places = larger(1, r->n);
    r->limits.rows = wgi_search_round_up((int64_t)r->places * beam, 8);
}

static bool make_room(run *r)
{
    size_t beam = r->rules.beam, partials = r->places * 2 * beam, length = 0, tokens = 0;
    for (size_t i = 0; i < r->n; i++) {
        length = larger(length, r->queue[i]->max);
        tokens += r->queue[i]->length;
    }
    r->active = calloc(r->places, sizeof *r->active);
    r->room = calloc(r->places, sizeof *r->room);
    r->row = calloc(r->places * beam, sizeof *r->row);
    r->done = calloc(r->places * beam, sizeof *r->done);
    r->rules.heads = calloc(beam, sizeof *r->rules.heads);
    r->partial = calloc(partials, sizeof *r->partial);
    r->ids = calloc(partials * length + 1, sizeof *r->ids);
    r->slots = calloc(partials * length + 1, sizeof *r->slots);
    r->scores = calloc(partials * length + 1, sizeof *r->scores);
    r->source_slots = calloc(tokens + 1, sizeof *r->source_slots);
    if (!r->active || !r->room || !r->row || !r->done || !r->rules.heads || !r->partial ||
        !r->ids || !r->slots || !r->scores || !r->source_slots)
        return false;
    for (size_t i = 0; i < partials; i++) {
        r->partial[i].ids = r->ids + i * length;
        r->partial[i].slots = r->slots + i * length;
        r->partial[i].scores = r->scores + i * length;
    }
    for (size_t i = 0; i < r->places; i++)
        r->room[i] = r->partial + i * 2 * beam;
    for (size_t i = 0, first = 0; i < r->n; first += r->queue[i++]->length)
        r->queue[i]->source_slots = r->source_slots + first;
    return true;
}

/* Encodes the next sentences of the queue, as many as one encoding takes. */
static wg_status encode_ahead(run *r)
{
    size_t first = r->n_encoded, tokens = 0;
    if (r->o.uncached) {
        r->n_encoded = r->n;
        return WG_OK;
    }
    while (r->n_encoded < r->n) {
        tokens += r->queue[r->n_encoded]->length;
        if (tokens > wgi_cached_max_tokens(r->s) && r->n_encoded > first)
            break;
        r->n_encoded++;
    }
    return wgi_cached_encode(r->s, r->queue + first, r->n_encoded - first);
}

static wg_status admit(run *r)
{
    while (r->n_active < r->places && r->n_begun < r->n) {
        wg_status status = r->n_begun < r->n_encoded ? WG_OK : encode_ahead(r);
        if (status != WG_OK)
            return status;
        wgi_beam *x = r->queue[r->n_begun++];
        size_t free_place = r->places - r->n_active - 1;
        x->now = r->room[free_place];
        x->next = x->now + r->rules.beam;
        x->done = r->done + (size_t)(x->now - r->partial) / 2;
        wgi_beam_begin(x);
        r->active[r->n_active++] = x;
    }
    return WG_OK;
}

/* Active sentence i is done: the last takes its place. */
static void leave(run *r, size_t i)
{
    wgi_beam *x = r->active[i];
    wgi_beam_finish(x, &r->rules, r->results + x->index * r->rules.n_best);
    if (!r->o.uncached)
        wgi_cached_release(r->s, x);
    r->active[i] = r->active[--r->n_active];
    r->room[r->places - r->n_active - 1] = x->now < x->next ? x->now : x->next;
}

static wg_status advance(run *r, const wgi_candidates *all)
{
    wgi_slots *slots = r->o.uncached ? NULL : wgi_cached_slots(r->s);
    size_t row = 0, k = r->rules.candidates;
    for (size_t i = 0; i < r->n_stepped; i++) {
        wgi_beam *x = r->active[i];
        const wgi_candidates own = {all->scores + row * k, all->ids + row * k};
        row += x->n_now;
        wg_status status = wgi_beam_advance(x, &r->rules, &own, slots);
        if (status == WG_ENONFINITE)
            return wgi_search_fail(
                r->s, status, "sentence %zu: no next token has a finite probability", x->index);
        if (status != WG_OK)
            return wgi_search_fail(r->s, status, "out of memory");
    }
    for (size_t i = r->n_stepped; i-- > 0;)
        if (r->active[i]->finished)
            leave(r, i);
    return WG_OK;
}

static wg_status step(run *r)
{
    size_t rows = 0;
    wgi_candidates c;
    for (r->n_stepped = 0; r->n_stepped < r->n_active; r->n_stepped++) {
        wgi_beam *x = r->active[r->n_stepped];
        if (rows + x->n_now > r->step_rows)
            break;
        for (size_t k = 0; k < x->n_now; k++)
            r->row[rows++] = (wgi_search_row){x, &x->now[k]};
    }
    int64_t k = (int64_t)r->rules.candidates;
    wg_status status = r->o.uncached ? wgi_plain_step(r->s, r->row, rows, k, &c)
                                     : wgi_cached_step(r->s, r->row, rows, k, &c);
    return status == WG_OK ? advance(r, &c) : status;
}

static wg_status search(run *r)
{
    wg_status status = r->o.uncached ? WG_OK : wgi_cached_prepare(r->s, &r->limits);
    if (status != WG_OK)
        return status;
    if (!r->o.uncached)
        wgi_cached_forget(r->s);
    if (!make_room(r))
        return wgi_search_fail(r->s, WG_ENOMEM, "out of memory");
    while ((status = admit(r)) == WG_OK && r->n_active && (status = step(r)) == WG_OK)
        ;
    for (size_t i = 0; i < r->n_active; i++) /* after a failure */
        wgi_beam_finish(r->active[i], &r->rules,
                        r->results + r->active[i]->index * r->rules.n_best);
    return status;
}

static void clear(run *r)
{
    void *const owned[] = {r->sentence, r->queue,        r->active,  r->room,
                           r->row,      r->done,         r->partial, r->ids,
                           r->slots,    r->source_slots, r->scores,  r->rules.heads};
    for (int i = 0; i < WG_COUNT(owned); i++)
        free(owned[i]);
}

/* Sentences without a token have an empty translation. */
static bool translate_nothing(wg_hypothesis *results, const size_t *lengths, size_t n,
                              size_t n_best)
{
    bool ok = true;
    for (size_t i = 0; i < n; i++)
        if (lengths[i] == 0)
            ok &= (results[i * n_best].ids = calloc(1, sizeof(int32_t))) != NULL;
    return ok;
}

wg_status wgi_search_alone(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                           const size_t *which, size_t n, const wg_search_options *options,
                           wg_hypothesis *results)
{
    run r = {.s = s, .o = *options, .results = results};
    wg_status status = WG_OK;
    set_rules(&r);
    r.sentence = calloc(n + 1, sizeof *r.sentence);
    r.queue = calloc(n + 1, sizeof *r.queue);
    if (!r.sentence || !r.queue) {
        status = wgi_search_fail(s, WG_ENOMEM, "out of memory");
    } else {
        list_sentences(&r, sources, lengths, which, n);
        set_places(&r);
        if (r.n)
            status = search(&r);
    }
    clear(&r);
    return status;
}

wg_status wg_search_run(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                        size_t n, const wg_search_options *options, wg_hypothesis **results)
{
    wg_search_options o;
    if (!s || !results || (n && (!sources || !lengths)))
        return s ? wgi_search_fail(s, WG_EINVAL, "wg_search_run: an argument is NULL") : WG_EINVAL;
    *results = NULL;
    wg_status status = check_options(s, options, &o);
    for (size_t i = 0; status == WG_OK && i < n; i++)
        status = check_ids(s, "the source", i, sources[i], lengths[i], s->config.source_vocabulary);
    if (status == WG_OK)
        status = wgi_search_integers(s);
    if (status != WG_OK)
        return status;
    size_t n_best = (size_t)o.n_best, count = n * n_best;
    wg_hypothesis *found = calloc(count + 1, sizeof *found);
    if (!found)
        return wgi_search_fail(s, WG_ENOMEM, "out of memory");
    status = wgi_search_together(s, sources, lengths, n, &o, found);
    if (status == WG_OK && !translate_nothing(found, lengths, n, n_best))
        status = wgi_search_fail(s, WG_ENOMEM, "out of memory");
    if (status == WG_OK && o.attention)
        status = wgi_search_force(s, sources, lengths, found, count, n_best, false, true);
    if (status == WG_OK)
        *results = found;
    else
        wg_hypotheses_free(found, count);
    return status;
}

/* ---- given targets --------------------------------------------------------------------------- */

static wg_status take_target(wg_search *s, wg_hypothesis *h, const int32_t *ids, size_t n)
{
    h->n = n;
    h->ids = malloc((n + 1) * sizeof *h->ids);
    if (!h->ids)
        return wgi_search_fail(s, WG_ENOMEM, "out of memory");
    if (n)
        memcpy(h->ids, ids, n * sizeof *h->ids);
    return WG_OK;
}

wg_status wg_search_score(wg_search *s, const int32_t *const *sources, const size_t *source_lengths,
                          const int32_t *const *targets, const size_t *target_lengths, size_t n,
                          const wg_search_options *options, wg_hypothesis **results)
{
    wg_search_options o;
    if (!s || !results || (n && (!sources || !source_lengths || !targets || !target_lengths)))
        return s ? wgi_search_fail(s, WG_EINVAL, "wg_search_score: an argument is NULL")
                 : WG_EINVAL;
    *results = NULL;
    wg_status status = check_options(s, options, &o);
    if (status == WG_OK)
        status = wgi_search_integers(s);
    if (status != WG_OK)
        return status;
    wg_hypothesis *h = calloc(n + 1, sizeof *h);
    if (!h)
        return wgi_search_fail(s, WG_ENOMEM, "out of memory");
    for (size_t i = 0; status == WG_OK && i < n; i++) {
        h[i].source_tokens = source_lengths[i];
        status = check_ids(s, "the source", i, sources[i], source_lengths[i],
                           s->config.source_vocabulary);
        if (status == WG_OK)
            status = check_ids(s, "the target", i, targets[i], target_lengths[i],
                               s->config.target_vocabulary);
        if (status == WG_OK)
            status = take_target(s, &h[i], targets[i], target_lengths[i]);
    }
    if (status == WG_OK)
        status = wgi_search_force(s, sources, source_lengths, h, n, 1, true, o.attention);
    for (size_t i = 0; status == WG_OK && i < n; i++)
        if (h[i].n)
            h[i].score = h[i].log_probability / wg_length_penalty_of(o.penalty, o.alpha, h[i].n);
    if (status == WG_OK)
        *results = h;
    else
        wg_hypotheses_free(h, n);
    return status;
}
