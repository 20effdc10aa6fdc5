/* The operands with which an op is timed: its scaled-up samples, given shapes, or those of a known
 * model. */
#ifndef WG_CLI_TRIALS_H
#define WG_CLI_TRIALS_H

#include "cli/cli.h"
#include "wengert/graph/op.h"

enum { MAX_TRIALS = 64, MAX_SHAPES = 32 };

typedef struct trial_choice {
    const char *sample;            /* its dtypes and attributes; NULL: any */
    const char *shape[MAX_SHAPES]; /* "4096x512,512x2048": one trial each */
    int n_shapes;
    bool base; /* shapes of a base Transformer */
} trial_choice;

/* An op with attributes, and operands to draw. */
typedef struct trial {
    char label[96];
    const wg_op *op;
    const void *attrs;
    int n_in;
    wg_sample_operand in[WG_MAX_SAMPLE_OPERANDS];
} trial;

/* Writes *n trials into t, which has MAX_TRIALS places; complains and returns an exit code other
 * than EXIT_OK if the op has no such trials. */
int choose_trials(trial *t, int *n, const wg_op *op, const trial_choice *r);

/* The op of a trial in g, whose operands become the inputs in[]; NULL if it refuses them. */
wg_node *build_trial(wg_graph *g, const trial *t, wg_value **in);

#endif
