/* Beam search over one sentence: which hypotheses stay live and which are finished. */
#ifndef WG_PRIVATE_DECODE_BEAM_H
#define WG_PRIVATE_DECODE_BEAM_H

#include "wengert/decode/search.h"
#include "decode/slots.h"

/* A live hypothesis: n tokens, whose keys and values are at n_slots slots. */
typedef struct wgi_partial {
    double log_probability;
    int32_t *ids, *slots;
    float *scores; /* log p of each token */
    size_t n, n_slots;
} wgi_partial;

typedef struct wgi_beam_rules {
    size_t beam, n_best, candidates; /* candidates of each row              */
    int32_t eos, banned[2];          /* banned: never produced if not -1    */
    int penalty;                     /* wg_length_penalty                   */
    double alpha;
    size_t *cursors; /* [beam] scratch: candidates of each row read so far  */
    bool no_scores;  /* the results have none */
} wgi_beam_rules;

typedef struct wgi_beam {
    const int32_t *source;
    size_t length, index;     /* of the source; in the caller's order         */
    size_t max;               /* tokens of a translation                      */
    int32_t *source_slots;    /* [length] of the source's keys and values     */
    wgi_partial *live, *next; /* [beam] each: hypotheses of this step, room for those of the next */
    size_t n_live;
    wg_hypothesis *done; /* [beam] finished hypotheses, in order of completion */
    size_t n_done;
    bool finished; /* the search is over                                       */
} wgi_beam;

/* One row of a step: a live hypothesis and its sentence. */
typedef struct wgi_beam_row {
    const wgi_beam *sentence;
    wgi_partial *partial;
} wgi_beam_row;

/* The next tokens of rows, the most probable first: [rows, candidates]. */
typedef struct wgi_candidates {
    const double *scores; /* log p of the token */
    const int64_t *ids;
} wgi_candidates;

/* Begins with the empty hypothesis. */
void wgi_beam_begin(wgi_beam *x);
/* Advances all live hypotheses by one token, chosen from candidates [n_live, candidates]; `slots`
 * (may be NULL) counts who holds a slot.  WG_ENONFINITE if no candidate has a finite score;
 * WG_ENOMEM. */
wg_status wgi_beam_advance(wgi_beam *x, const wgi_beam_rules *rules, const wgi_candidates *c,
                           wgi_slots *slots);
/* Moves the n_best of the finished hypotheses to results, the best first; frees the others, and
 * scores that are not wanted. */
void wgi_beam_finish(wgi_beam *x, const wgi_beam_rules *rules, wg_hypothesis *results);

#endif
