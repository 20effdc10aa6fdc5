/* Trainings of several variants, each with several seeds. */
#ifndef WG_PAPER_TRAINING_H
#define WG_PAPER_TRAINING_H

#include "paper/model.h"

enum { PAPER_KEY = 100 };

/* A small model and its training, of which variants change fields. */
paper_training paper_training_usual(bool small);

/* The numbers of all trainings. */
typedef struct paper_results {
    int variants, seeds, tests, points;
    double *number; /* [variants, seeds, tests * PAPER_SCORES + points] */
} paper_results;

/* Trains each variant with the seeds 1, ..., seeds; all must have equally many tests and points.
 * The caller frees the results by paper_results_free, also after a failure. */
wg_status paper_train(paper_run *r, const paper_training *variant, int variants, int seeds,
                      paper_results *out);
void paper_results_free(paper_results *results);

/* Over the seeds: a score on one of the tests; the loss at a point of the curve (NaN once a
 * training had diverged). */
paper_spread paper_score_of(const paper_results *results, int variant, int test, paper_score score);
paper_spread paper_loss_at(const paper_results *results, int variant, int point);

/* A table of all scores on test 0, a row for each variant. */
void paper_add_scores(paper_run *r, const char *title, const paper_training *variant,
                      const paper_results *results);
/* Whether a is larger by more than the standard errors of both together. */
bool paper_clearly_more(paper_spread a, paper_spread b);

#endif
