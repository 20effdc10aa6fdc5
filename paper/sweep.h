/* Variants of one training as a table of settings, such as the rows of Table 3: trained with
 * several seeds, and reported with mean and spread. */
#ifndef WG_PAPER_SWEEP_H
#define WG_PAPER_SWEEP_H

#include "paper/training.h"

enum { PAPER_SEEDS = 5, PAPER_SMALL_SEEDS = 1, PAPER_VARIANTS = 12 };

/* What a variant changes of the training that all are variants of; a field that is zero changes
 * nothing. */
typedef struct paper_setting {
    const char *name;
    bool small;     /* the small form has it, too */
    int64_t layers; /* of the encoder, and as many of the decoder */
    int64_t d_model, d_ff, heads, d_k;
    double dropout, smoothing;
    bool pre_norm;
    int64_t warmup;   /* updates */
    int kind;         /* of the schedule: wg_schedule_kind */
    int64_t examples; /* sentences of the training data */
    int64_t updates;
} paper_setting;

typedef struct paper_sweep {
    int n;
    paper_training variant[PAPER_VARIANTS];
    paper_results results;
} paper_sweep;

/* The usual training, ended in the full form while models still differ. */
paper_training paper_sweep_base(bool small);

/* `base` with that name and those changes. */
paper_training paper_variant(const paper_training *base, const paper_setting *x);

/* Trains variants of `base` with PAPER_SEEDS seeds; in the small form those marked so, with
 * PAPER_SMALL_SEEDS.
 * WG_EINVAL: more than PAPER_VARIANTS.  Free the sweep also after a failure. */
wg_status paper_sweep_train(paper_sweep *s, paper_run *r, const paper_training *base,
                            const paper_setting *setting, int settings);
void paper_sweep_free(paper_sweep *s);

/* The number of the variant of that name; -1: this form does not have it. */
int paper_sweep_find(const paper_sweep *s, const char *name);
/* Its score over the seeds; NaN if there is no such variant. */
paper_spread paper_sweep_score(const paper_sweep *s, const char *name, paper_score score);

/* A finding, which agrees with the paper if the score is clearly more with one variant than with
 * another; none if this form lacks one of them. */
void paper_sweep_judge(const paper_sweep *s, paper_run *r, paper_score score, const char *more,
                       const char *less);

/* A point of a curve: the variant of that name, at x. */
typedef struct paper_place {
    const char *name;
    double x;
} paper_place;
/* A panel with a curve of a score over n variants, on a logarithmic axis if `log` is set.  Variants
 * that this form does not have are left out; with fewer than two others there is no panel. */
void paper_sweep_panel(const paper_sweep *s, paper_run *r, const char *title, const char *x,
                       bool log, paper_score score, const paper_place *at, int n);

/* A curve of several. */
typedef struct paper_group {
    const char *label;
    const paper_place *at;
    int n;
} paper_group;
/* Panels of -log p and of exact matches, each with a curve for every group. */
void paper_sweep_draw(const paper_sweep *s, paper_run *r, const char *x, const paper_group *group,
                      int groups);

#endif
