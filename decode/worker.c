/* Continuous batching: sentences are taken longest first, and a finished one makes room for the
 * next at once, so that steps stay full almost to the end. */
#include "decode/worker.h"
#include "decode/sizes.h"
#include "graph/error.h"

#include <math.h>
#include <stdlib.h>

enum {
    ROWS = 128,       /* of a step of a beam, by default  */
    GREEDY_ROWS = 64, /* the same of greedy search        */
    MAX_ROWS = 1 << 16,
    PLACES_A_SPARE = 8 /* one spare place for this many that fill a step */
};

wgi_worker *wgi_worker_new(const wg_search_model *model, int threads)
{
    wgi_worker *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    bool ok = wgi_context_init(&w->context, model, threads);
    w->cached = wgi_cached_new(&w->context);
    w->plain = wgi_plain_new(&w->context);
    if (ok && w->cached && w->plain)
        return w;
    wgi_worker_free(w);
    return NULL;
}

void wgi_worker_free(wgi_worker *w)
{
    if (!w)
        return;
    wgi_cached_free(w->cached);
    wgi_plain_free(w->plain);
    wgi_context_clear(&w->context);
    free(w);
}

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct run {
    wgi_worker *worker;
    const wg_transformer_config *config;
    wg_search_options o;
    wgi_beam_rules rules;
    bool logits; /* candidates have logits in place of log p */
    wgi_decode_limits limits;
    wgi_beam *sentence, **queue;        /* [n], longest first */
    size_t n, n_encoded, n_begun;       /* of the queue       */
    wgi_beam **active;                  /* [places]           */
    size_t places, n_active, n_stepped; /* the first n_stepped take part in this step */
    size_t step_rows;                   /* maximum            */
    wgi_beam_row *row;                  /* [places * beam]    */
    wgi_partial *partial, **free_place; /* [places * 2 beam]; [places - n_active] parts of it */
    int32_t *ids, *slots, *source_slots;
    float *scores;
    wg_hypothesis *done; /* [places * beam]    */
    wg_hypothesis *results;
} run;

static size_t max_tokens(const wg_transformer_config *c, const wg_search_options *o, size_t source)
{
    double max = fmin(o->max_factor * (double)source + (double)o->max_extra, 1e9);
    if (o->max_length > 0)
        max = fmin(max, (double)o->max_length);
    if (c->positions == WG_POSITIONS_LEARNED)
        max = fmin(max, (double)c->max_positions);
    return max < 1 ? 1 : (size_t)max;
}

/* Rounded up, so that a later run with somewhat longer sentences finds its plans. */
static int64_t length_limit(const run *r, int64_t n)
{
    return wgi_limit_length(r->config, n, wgi_round_up_doubling(n, 64));
}

static void list_sentences(run *r, const wgi_sentences *all, const size_t *which, size_t n)
{
    int64_t target = 1, source = 1;
    for (size_t i = 0; i < n; i++) {
        size_t index = which[i];
        wgi_beam *x = &r->sentence[i];
        *x = (wgi_beam){.source = all->ids[index], .length = all->length[index], .index = index};
        x->max = max_tokens(r->config, &r->o, x->length);
        if (x->length == 0)
            continue;
        r->queue[r->n++] = x;
        target = wgi_larger(target, (int64_t)x->max);
        source = wgi_larger(source, (int64_t)x->length);
    }
    r->limits.target = length_limit(r, target);
    r->limits.source = length_limit(r, source);
}

static void set_rules(run *r)
{
    const wg_search_model *m = r->worker->context.model;
    r->rules.beam = (size_t)r->o.beam;
    r->rules.n_best = (size_t)r->o.n_best;
    r->rules.eos = m->eos;
    r->rules.banned[0] = m->pad;
    r->rules.banned[1] = m->no_unk ? m->unk : -1;
    r->rules.penalty = r->o.penalty;
    r->rules.alpha = r->o.alpha;
    r->rules.no_scores = r->o.beam == 1 && r->o.without_scores;
    /* In 8 bits, the best logits are found together with the sum of their exponentials. */
    r->logits = r->rules.no_scores && !m->int8;
    /* At most `beam` extensions of a row stay live, and one ends; if there is only one, either. */
    int64_t k =
        (r->o.beam > 1 ? r->o.beam + 1 : 1) + (r->rules.banned[0] >= 0) + (r->rules.banned[1] >= 0);
    r->rules.candidates =
        (size_t)(k < r->config->target_vocabulary ? k : r->config->target_vocabulary);
}

/* As many sentences at once as make a full step.  It reads the keys and values of each row's own
 * tokens, and those of the source, which the rows of a sentence share: greedy search, whose rows
 * share nothing, has half as many, so that as much stays in the cache.  A few more sentences are
 * kept ready: most have `beam` rows, but each begins with one, and without the spare ones steps
 * would not be full. */
static void set_places(run *r)
{
    int64_t beam = r->o.beam, rows = beam > 1 ? ROWS : GREEDY_ROWS, longest = r->limits.source;
    if (r->o.batch_tokens > 0)
        rows = r->o.batch_tokens / longest;
    rows = rows > MAX_ROWS ? MAX_ROWS : rows < beam ? beam : rows;
    r->step_rows = (size_t)rows;
    r->places = (size_t)(rows / beam);
    if (beam > 1)
        r->places += (r->places + PLACES_A_SPARE - 1) / PLACES_A_SPARE;
    if (r->places > r->n)
        r->places = r->n ? r->n : 1;
    r->limits.rows =
        wgi_round_up_doubling((int64_t)r->places * beam, r->worker->context.least_rows);
}

static bool allocate(run *r)
{
    size_t beam = r->rules.beam, partials = r->places * 2 * beam, length = 0, tokens = 0;
    for (size_t i = 0; i < r->n; i++) {
        length = length > r->queue[i]->max ? length : r->queue[i]->max;
        tokens += r->queue[i]->length;
    }
    r->active = calloc(r->places, sizeof *r->active);
    r->free_place = calloc(r->places, sizeof *r->free_place);
    r->row = calloc(r->places * beam, sizeof *r->row);
    r->done = calloc(r->places * beam, sizeof *r->done);
    r->rules.cursors = calloc(beam, sizeof *r->rules.cursors);
    r->partial = calloc(partials, sizeof *r->partial);
    r->ids = calloc(partials * length + 1, sizeof *r->ids);
    r->slots = calloc(partials * length + 1, sizeof *r->slots);
    r->scores = calloc(partials * length + 1, sizeof *r->scores);
    r->source_slots = calloc(tokens + 1, sizeof *r->source_slots);
    if (!r->active || !r->free_place || !r->row || !r->done || !r->rules.cursors || !r->partial ||
        !r->ids || !r->slots || !r->scores || !r->source_slots)
        return false;
    for (size_t i = 0; i < partials; i++) {
        r->partial[i].ids = r->ids + i * length;
        r->partial[i].slots = r->slots + i * length;
        r->partial[i].scores = r->scores + i * length;
    }
    for (size_t i = 0; i < r->places; i++)
        r->free_place[i] = r->partial + i * 2 * beam;
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
        if (tokens > wgi_cached_max_tokens(r->worker->cached) && r->n_encoded > first)
            break;
        r->n_encoded++;
    }
    return wgi_cached_encode(r->worker->cached, r->queue + first, r->n_encoded - first);
}

static wg_status admit(run *r)
{
    while (r->n_active < r->places && r->n_begun < r->n) {
        wg_status status = r->n_begun < r->n_encoded ? WG_OK : encode_ahead(r);
        if (status != WG_OK)
            return status;
        wgi_beam *x = r->queue[r->n_begun++];
        x->live = r->free_place[r->places - r->n_active - 1];
        x->next = x->live + r->rules.beam;
        x->done = r->done + (size_t)(x->live - r->partial) / 2;
        wgi_beam_begin(x);
        r->active[r->n_active++] = x;
    }
    return WG_OK;
}

/* Active sentence i is done; the last active one takes its index. */
static void complete(run *r, size_t i)
{
    wgi_beam *x = r->active[i];
    wgi_beam_finish(x, &r->rules, r->results + x->index * r->rules.n_best);
    if (!r->o.uncached)
        wgi_cached_release(r->worker->cached, x);
    r->active[i] = r->active[--r->n_active];
    r->free_place[r->places - r->n_active - 1] = x->live < x->next ? x->live : x->next;
}

static wg_status advance(run *r, const wgi_candidates *all)
{
    wgi_slots *slots = r->o.uncached ? NULL : wgi_cached_slots(r->worker->cached);
    size_t row = 0, k = r->rules.candidates;
    for (size_t i = 0; i < r->n_stepped; i++) {
        wgi_beam *x = r->active[i];
        const wgi_candidates own = {all->scores + row * k, all->ids + row * k};
        row += x->n_live; /* NOLINT(clang-analyzer-core.NullDereference): what steps is there */
        wg_status status = wgi_beam_advance(x, &r->rules, &own, slots);
        if (status == WG_ENONFINITE)
            return wgi_error_set(&r->worker->context.error, status,
                                 "sentence %zu: no next token has a finite probability",
                                 x->index + 1);
        if (status != WG_OK)
            return wgi_error_set(&r->worker->context.error, status, "out of memory");
    }
    for (size_t i = r->n_stepped; i-- > 0;)
        if (r->active[i]->finished)
            complete(r, i);
    return WG_OK;
}

static wg_status step(run *r)
{
    size_t rows = 0;
    wgi_candidates c;
    for (r->n_stepped = 0; r->n_stepped < r->n_active; r->n_stepped++) {
        wgi_beam *x = r->active[r->n_stepped];
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): what is active is there */
        if (rows + x->n_live > r->step_rows)
            break;
        for (size_t k = 0; k < x->n_live; k++)
            r->row[rows++] = (wgi_beam_row){x, &x->live[k]};
    }
    int64_t k = (int64_t)r->rules.candidates;
    wg_status status = r->o.uncached
                           ? wgi_plain_step(r->worker->plain, r->row, rows, k, r->logits, &c)
                           : wgi_cached_step(r->worker->cached, r->row, rows, k, r->logits, &c);
    return status == WG_OK ? advance(r, &c) : status;
}

static wg_status search(run *r)
{
    wg_status status = r->o.uncached ? WG_OK : wgi_cached_prepare(r->worker->cached, &r->limits);
    if (status != WG_OK)
        return status;
    if (!allocate(r))
        return wgi_error_set(&r->worker->context.error, WG_ENOMEM, "out of memory");
    while ((status = admit(r)) == WG_OK && r->n_active && (status = step(r)) == WG_OK)
        ;
    for (size_t i = 0; i < r->n_active; i++) /* after a failure */
        wgi_beam_finish(r->active[i], &r->rules,
                        r->results + r->active[i]->index * r->rules.n_best);
    return status;
}

static void clear(run *r)
{
    void *const owned[] = {r->sentence, r->queue,        r->active,  r->free_place,
                           r->row,      r->done,         r->partial, r->ids,
                           r->slots,    r->source_slots, r->scores,  r->rules.cursors};
    for (int i = 0; i < WG_COUNT(owned); i++)
        free(owned[i]);
}

wg_status wgi_worker_run(wgi_worker *w, const wgi_sentences *sentences, const size_t *which,
                         size_t n, const wg_search_options *options, wg_hypothesis *results)
{
    run r = {.worker = w, .config = w->context.model->config, .o = *options, .results = results};
    wg_status status = WG_OK;
    wgi_error_clear(&w->context.error);
    w->context.stop = options->stop;
    set_rules(&r);
    r.sentence = calloc(n + 1, sizeof *r.sentence);
    r.queue = calloc(n + 1, sizeof *r.queue);
    if (!r.sentence || !r.queue) {
        status = wgi_error_set(&w->context.error, WG_ENOMEM, "out of memory");
    } else {
        list_sentences(&r, sentences, which, n);
        set_places(&r);
        if (r.n)
            status = search(&r);
    }
    clear(&r);
    return status;
}
