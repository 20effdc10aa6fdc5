/* The inside of the search: search_create.c makes it, search_lanes.c deals sentences to threads,
 * search.c admits them and runs the loop, beam.c extends one sentence's hypotheses, search_cached.c
 * and search_plain.c say how probable each next token is, with keys and values kept or recomputed;
 * search_forced.c scores given targets. */
#ifndef WG_DECODE_INTERNAL_H
#define WG_DECODE_INTERNAL_H

#include "wengert/backends/workspace.h"
#include "wengert/decode/search.h"

/* ---- slots: places in a pool of keys and values ---------------------------------------------- */

/* Slot 0 is nobody's: rows without a hypothesis write there. */
typedef struct wgi_slots {
    int32_t *free;     /* [count] the first n_free are to be had, the last of them first */
    uint32_t *holders; /* [count] hypotheses in which it is */
    int64_t count, n_free;
} wgi_slots;

bool wgi_slots_create(wgi_slots *s, int64_t count); /* false without memory */
void wgi_slots_clear(wgi_slots *s);                 /* frees */
int32_t wgi_slots_take(wgi_slots *s);               /* with one holder; -1 if all are taken */
void wgi_slots_hold(wgi_slots *s, const int32_t *slots, size_t n);
void wgi_slots_drop(wgi_slots *s, const int32_t *slots, size_t n);

/* ---- one sentence's beam --------------------------------------------------------------------- */

/* A hypothesis that can be extended: n tokens, whose keys and values are at n_slots slots. */
typedef struct wgi_partial {
    double log_probability;
    int32_t *ids, *slots;
    float *scores;
    size_t n, n_slots;
} wgi_partial;

typedef struct wgi_beam_rules {
    size_t beam, n_best, candidates; /* of each row                       */
    int32_t eos, banned[2];          /* never produced if not -1          */
    int penalty;
    double alpha;
    size_t *heads; /* [beam] room: how far each row has been read */
} wgi_beam_rules;

typedef struct wgi_beam {
    const int32_t *source;
    size_t length, index;    /* of the source; in the caller's order          */
    size_t max;              /* tokens of a translation                       */
    int32_t *source_slots;   /* [length], where keys and values are kept      */
    wgi_partial *now, *next; /* [beam] each: the live ones, room for the next */
    size_t n_now;
    wg_hypothesis *done; /* [beam], in order of completion                */
    size_t n_done;
    bool finished; /* nothing is left to do                         */
} wgi_beam;

/* The live hypotheses' candidates, best first: [n_now, candidates]. */
typedef struct wgi_candidates {
    const double *scores; /* log p of the token */
    const int64_t *ids;
} wgi_candidates;

/* Begins with the empty hypothesis. */
void wgi_beam_begin(wgi_beam *x);
/* One step of all live hypotheses; `slots` (may be NULL) learns who holds what.  WG_ENONFINITE if
 * no candidate has a finite score, WG_ENOMEM. */
wg_status wgi_beam_advance(wgi_beam *x, const wgi_beam_rules *rules, const wgi_candidates *c,
                           wgi_slots *slots);
/* Moves the n_best of the finished hypotheses to results, the best first; frees the others. */
void wgi_beam_finish(wgi_beam *x, const wgi_beam_rules *rules, wg_hypothesis *results);

/* ---- the next tokens' probabilities ---------------------------------------------------------- */

/* What the plans are made for. */
typedef struct wgi_search_limits {
    int64_t rows, target, source; /* hypotheses together, tokens of a translation, of a source */
} wgi_search_limits;

/* A hypothesis to be extended. */
typedef struct wgi_search_row {
    const wgi_beam *sentence;
    wgi_partial *partial;
} wgi_search_row;

typedef struct wgi_cached wgi_cached;
typedef struct wgi_plain wgi_plain;

struct wg_search {
    wg_transformer_config config;
    wg_store *store, *states; /* of parameters; over it, of pools          */
    wg_store *integers;       /* its own, over the caller's: `store`; NULL */
    wg_plan *quantizer;       /* fills it; NULL                            */
    bool int8;
    int32_t bos, eos, pad, unk;
    bool no_unk;
    const wg_backend **backends;
    size_t n_backends;
    int threads;
    wg_workspace *workspace;
    wgi_cached *cached;
    wgi_plain *plain;
    double *scores; /* [capacity] of the rows' candidates */
    size_t capacity;
    wg_search **lanes; /* [n_lanes] searches of one thread each, or none */
    size_t n_lanes;
    size_t companions; /* searches that run at the same time, itself included */
    char message[512];
};

/* One more of the same model, for one of `companions` threads; NULL without memory. */
wg_search *wgi_search_lane(const wg_search *s, size_t companions);

/* search.c: translates the sentences which[0..n), longest first, by s alone; their results go to
 * results[which[i] * n_best + k].  Ids and options have been checked. */
wg_status wgi_search_alone(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                           const size_t *which, size_t n, const wg_search_options *options,
                           wg_hypothesis *results);
/* search_lanes.c: the same by as many threads as the search has. */
wg_status wgi_search_together(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                              size_t n, const wg_search_options *options, wg_hypothesis *results);

/* Sets the message; returns the status. */
wg_status wgi_search_fail(wg_search *s, wg_status status, const char *format, ...) WG_PRINTF(3, 4);
/* search_int8.c, for models in 8 bits; else these do nothing.  The first quantises the parameters
 * as they are now; the second replaces g by its copy in integers, and the values by the copy's. */
wg_status wgi_search_integers(wg_search *s);
wg_status wgi_search_in_integers(wg_search *s, wg_graph **g, wg_value **const *values, size_t n);
/* Makes a plan of g's outputs and assignments; g stays the caller's. */
wg_status wgi_search_plan(wg_search *s, wg_plan **out, wg_graph *g, wg_store *store);
wg_status wgi_search_run_plan(wg_search *s, wg_plan *p);
/* Outputs "values" and "tokens" [..., k]: the k most probable next tokens after states,
 * descending. */
void wgi_search_best(wg_transformer *m, wg_value *states, int64_t k, wg_value **values,
                     wg_value **tokens);
/* count numbers of the config's dtype at `from`, as doubles in s->scores; NULL without memory. */
const double *wgi_search_numbers(wg_search *s, const void *from, size_t count);
/* The smallest power of two from `least` on that is at least n. */
int64_t wgi_search_round_up(int64_t n, int64_t min);

/* search_cached.c: encode puts sentences' keys and values into the pools, step extends rows. */
wg_status wgi_cached_prepare(wg_search *s, const wgi_search_limits *limits);
size_t wgi_cached_max_tokens(const wg_search *s); /* that one encoding takes */
wg_status wgi_cached_encode(wg_search *s, wgi_beam *const *sentences, size_t n);
wg_status wgi_cached_step(wg_search *s, const wgi_search_row *rows, size_t n, int64_t k,
                          wgi_candidates *out);
void wgi_cached_release(wg_search *s, wgi_beam *x);
void wgi_cached_forget(wg_search *s); /* all slots are free again */
wgi_slots *wgi_cached_slots(wg_search *s);
void wgi_cached_free(wg_search *s);

/* search_plain.c: each step computes all positions of all rows anew. */
wg_status wgi_plain_step(wg_search *s, const wgi_search_row *rows, size_t n, int64_t k,
                         wgi_candidates *out);
void wgi_plain_free(wg_search *s);

/* search_forced.c: of results[0..n), which have their ids, fills token_scores and log_probability,
 * and attention, as wanted; results[i] translates sources[i / per]. */
wg_status wgi_search_force(wg_search *s, const int32_t *const *sources, const size_t *lengths,
                           wg_hypothesis *results, size_t n, size_t per, bool scores,
                           bool attention);

#endif
