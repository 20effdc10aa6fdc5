/* Trainings of several variants, each with several seeds. */
#ifndef WG_PAPER_TRAINING_H
#define WG_PAPER_TRAINING_H

#include "paper/model.h"

enum { PAPER_KEY = 100 };

/* A small model and its training, of which variants change fields. */
paper_training paper_training_usual(bool small);

/* One of six and six layers, with the curve of its loss: the learning rate rises to its peak at
 * once, and then falls in a straight line. */
paper_training paper_training_deep(bool small);

/* The numbers of all trainings. */
typedef struct paper_results {
    int variants, seeds, tests, points, extras;
    double *number; /* [variants, seeds, tests * PAPER_SCORES + points + extras] */
} paper_results;

/* Trains each variant with the seeds 1, ..., seeds; all must have equally many tests, points and
 * extras.
 * The caller frees the results by paper_results_free, also after a failure. */
wg_status paper_train(paper_run *r, const paper_training *variant, int variants, int seeds,
                      paper_results *out);
void paper_results_free(paper_results *results);

/* Over the seeds: a score on one of the tests; the loss at a point of the curve (NaN once a
 * training had diverged); an extra number. */
paper_spread paper_score_of(const paper_results *results, int variant, int test, paper_score score);
paper_spread paper_loss_at(const paper_results *results, int variant, int point);
paper_spread paper_extra_of(const paper_results *results, int variant, int extra);
/* By how much one extra number is more than another of the same training. */
paper_spread paper_gain_of(const paper_results *results, int variant, int extra, int than);

/* What an axis of that score counts. */
const char *paper_score_unit(paper_score score);
/* A table of all scores on test 0, a row for each variant; with `sizes` also of the numbers of
 * parameters. */
void paper_add_scores(paper_run *r, const char *title, const paper_training *variant,
                      const paper_results *results, bool sizes);
/* A panel of the training losses of all variants, which have points. */
void paper_add_losses(paper_run *r, const paper_training *variant, const paper_results *results);
/* Whether a is larger by more than the standard errors of both together. */
bool paper_clearly_more(paper_spread a, paper_spread b);
/* Whether a is above zero by more than its standard error. */
bool paper_clearly_positive(paper_spread a);

#endif
