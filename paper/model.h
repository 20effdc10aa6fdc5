/* A small Transformer that is trained on a generated task. */
#ifndef WG_PAPER_MODEL_H
#define WG_PAPER_MODEL_H

#include "paper/checkpoints.h"
#include "paper/run.h"
#include "paper/task.h"
#include "wengert/decode/search.h"
#include "wengert/train/trainer.h"

/* Test sentences have a stream of random numbers of their own; those of training are the seeds. */
enum { PAPER_TESTS = 8, PAPER_TEST_STREAM = 1000 };

/* What is measured of a trained model on sentences that it has not seen. */
typedef enum paper_score {
    PAPER_NLL = 0,  /* -log p of a token, without smoothing: log perplexity */
    PAPER_ACCURACY, /* share of the tokens that get the highest probability */
    PAPER_EXACT,    /* share of the sentences in which all do, which is what greedy decoding gets */
    PAPER_SCORES
} paper_score;

struct paper_model;
/* Measures n = extras numbers of a trained model, whose parameters it may change. */
typedef wg_status paper_extra(struct paper_model *m, double *values, wg_error *error);

typedef struct paper_training {
    const char *name; /* of the variant */
    paper_task task;
    wg_transformer_config net; /* vocabularies and dtype are set by the training */
    wg_schedule schedule;
    int64_t updates, batch;
    int tests;
    paper_task test[PAPER_TESTS]; /* [tests] what it is scored on; 0: on `task` */
    int points;                   /* of the curve of the training loss */
    int checkpoints, apart;       /* so many last ones are kept, so many updates from each other */
    int extras;
    paper_extra *extra; /* measures them after the scores; NULL: extras is 0 */
} paper_training;

typedef struct paper_model {
    const paper_training *training;
    uint64_t seed;
    wg_transformer_config net; /* with the sizes of the vocabularies */
    wg_field field[4];         /* of the trainer's data */
    wg_examples pairs;
    wg_trainer *trainer; /* has the parameters */
    double *loss;        /* [points], the caller's */
    int at;              /* points of it so far */
    paper_checkpoints kept;
    wg_status keeping; /* WG_OK, or why a checkpoint could not be kept */
} paper_model;

/* Trains it in one thread.  A training that diverges ends with the parameters before, and with
 * fewer points of its loss.  Free the model also after a failure; it must not be moved. */
wg_status paper_model_train(paper_model *m, const paper_training *training, uint64_t seed,
                            double *loss, wg_error *error);
void paper_model_free(paper_model *m);

/* The number of its parameters. */
int64_t paper_model_size(const paper_training *training);

/* Its scores[PAPER_SCORES] on sentences of the task that it has not seen. */
wg_status paper_model_score(paper_model *m, const paper_task *t, double *scores, wg_error *error);

/* A search with its parameters, in one thread; it must be freed before the model. */
wg_status paper_model_search(const paper_model *m, wg_search **out, wg_error *error);

#endif
