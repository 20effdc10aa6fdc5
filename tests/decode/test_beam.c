/* The rules of beam search, on made-up probabilities. */
#include "tests/test.h"

#include "decode/beam.h"

#include <math.h>

enum { BEAM = 4, CANDIDATES = 2 * BEAM, MAX = 20, EOS = 2 };

/* A beam with room for BEAM hypotheses of MAX tokens. */
typedef struct room {
    wgi_beam beam;
    wgi_partial live[BEAM], next[BEAM];
    wg_hypothesis done[BEAM], results[BEAM];
    int32_t ids[2 * BEAM][MAX], slots[2 * BEAM][MAX];
    float scores[2 * BEAM][MAX];
    size_t cursors[BEAM];
} room;

static void begin(room *r)
{
    *r = (room){0};
    r->beam =
        (wgi_beam){.live = r->live, .next = r->next, .done = r->done, .max = MAX, .length = 1};
    for (int i = 0; i < BEAM; i++) {
        r->live[i] = (wgi_partial){.ids = r->ids[i], .slots = r->slots[i], .scores = r->scores[i]};
        r->next[i] = (wgi_partial){
            .ids = r->ids[BEAM + i], .slots = r->slots[BEAM + i], .scores = r->scores[BEAM + i]};
    }
    wgi_beam_begin(&r->beam);
}

/* A confident model: of a hypothesis that has said 10, 11, ... so far, the next of
 * these has probability 1 - e until there are `length`, then the end; all else is improbable, and
 * a wrong hypothesis may end or go on. The end is always the second choice. */
static void probabilities(const wgi_beam *x, size_t length, double *scores, int64_t *ids)
{
    for (size_t i = 0; i < x->n_live; i++, scores += CANDIDATES, ids += CANDIDATES) {
        const wgi_partial *h = &x->live[i];
        int64_t right = h->n < length ? 10 + (int64_t)h->n : EOS;
        for (int k = 0; k < CANDIDATES; k++) {
            scores[k] = k ? -7 - 0.5 * k : -0.1;
            ids[k] = 100 + k;
        }
        ids[0] = right;
        if (right != EOS)
            ids[1] = EOS;
    }
}

static void search(room *r, size_t length, int penalty, double alpha, size_t n_best)
{
    wgi_beam_rules rules = {.beam = BEAM,
                            .n_best = n_best,
                            .candidates = CANDIDATES,
                            .eos = EOS,
                            .banned = {-1, -1},
                            .penalty = penalty,
                            .alpha = alpha,
                            .cursors = r->cursors};
    double scores[BEAM * CANDIDATES];
    int64_t ids[BEAM * CANDIDATES];
    size_t steps = 0;
    begin(r);
    for (; !r->beam.finished; steps++) {
        assert_true(steps < MAX);
        probabilities(&r->beam, length, scores, ids);
        assert_int_equal(wgi_beam_advance(&r->beam, &rules, &(wgi_candidates){scores, ids}, NULL),
                         WG_OK);
    }
    wgi_beam_finish(&r->beam, &rules, r->results);
}

static void clear(room *r)
{
    for (int i = 0; i < BEAM; i++) {
        free(r->results[i].ids);
        free(r->results[i].token_scores);
    }
}

/* At each step an end of sentence is among the best four, so four are finished long before the
 * right one is. */
static void a_confident_model_is_not_cut_short(void **state)
{
    (void)state;
    static const double alphas[] = {0, 0.6, 1};
    size_t compared = 0;
    for (size_t length = 1; length <= 14; length++)
        for (size_t a = 0; a < 3; a++)
            for (int penalty = WG_PENALTY_LENGTH; penalty <= WG_PENALTY_GNMT; penalty++) {
                room r;
                search(&r, length, penalty, alphas[a], 1);
                const wg_hypothesis *h = &r.results[0];
                check_that(h->n == length + 1, "%zu tokens instead of %zu, alpha %g", h->n,
                           length + 1, alphas[a]);
                for (size_t t = 0; t < length; t++, compared++)
                    assert_int_equal(h->ids[t], 10 + (int32_t)t);
                assert_int_equal(h->ids[length], EOS);
                assert_true(fabs(h->log_probability + 0.1 * (double)(length + 1)) < 1e-9);
                clear(&r);
            }
    assert_true(compared > 600);
}

/* The best are kept, in order, however many were finished. */
static void finished_hypotheses_are_ordered_by_score(void **state)
{
    (void)state;
    room r;
    search(&r, 9, WG_PENALTY_LENGTH, 1, BEAM);
    for (int i = 0; i < BEAM; i++) {
        assert_true(r.results[i].n > 0);
        assert_true(i == 0 || r.results[i].score <= r.results[i - 1].score);
    }
    assert_int_equal(r.results[0].n, 10);
    clear(&r);
}

/* One step of a beam of two, whose rows have four candidates each. */
static void step(room *r, const wgi_beam_rules *rules, const double *scores, const int64_t *ids)
{
    assert_false(r->beam.finished);
    assert_int_equal(wgi_beam_advance(&r->beam, rules, &(wgi_candidates){scores, ids}, NULL),
                     WG_OK);
}

/* Three hypotheses of 1, 2 and 3 tokens end one after another, where there is room for two.  The
 * first two score -1 each; the third scores more, and takes the place of the second, or as much,
 * and comes too late. */
static void ties_go_to_what_was_completed_first(void **state)
{
    (void)state;
    static const double second[] = {-0.25, -0.5}, third[] = {-0.25, -1.5};
    static const size_t expected[][2] = {{3, 1}, {1, 2}};
    for (int i = 0; i < 2; i++) {
        room r;
        wgi_beam_rules rules = {.beam = 2,
                                .n_best = 2,
                                .candidates = 4,
                                .eos = EOS,
                                .banned = {-1, -1},
                                .penalty = WG_PENALTY_LENGTH,
                                .alpha = 1,
                                .cursors = r.cursors};
        begin(&r);
        step(&r, &rules, (const double[]){-1, -1, -50, -60}, (const int64_t[]){EOS, 10, 11, 12});
        step(&r, &rules, (const double[]){second[i], -1, -60, -70, -1, -2, -3, -4},
             (const int64_t[]){12, EOS, 13, 14, 15, 16, 17, 18});
        step(&r, &rules, (const double[]){third[i], -60, -70, -80, -1, -2, -3, -4},
             (const int64_t[]){EOS, 13, 14, 15, 16, 17, 18, 19});
        wgi_beam_finish(&r.beam, &rules, r.results);
        for (int k = 0; k < 2; k++)
            check_that(r.results[k].n == expected[i][k], "case %d: number %d has %zu tokens", i, k,
                       r.results[k].n);
        clear(&r);
    }
}

static void penalties_are_their_formulas(void **state)
{
    (void)state;
    assert_true(wg_length_penalty_of(WG_PENALTY_GNMT, 1, 1) == 1);
    assert_true(wg_length_penalty_of(WG_PENALTY_GNMT, 2, 7) == 4);
    assert_true(wg_length_penalty_of(WG_PENALTY_LENGTH, 2, 7) == 49);
    assert_true(wg_length_penalty_of(WG_PENALTY_LENGTH, 0, 7) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_confident_model_is_not_cut_short),
        cmocka_unit_test(finished_hypotheses_are_ordered_by_score),
        cmocka_unit_test(ties_go_to_what_was_completed_first),
        cmocka_unit_test(penalties_are_their_formulas),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
