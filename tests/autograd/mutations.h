/* Ways to break a gradient rule: what they make of the cotangent of an operand. */
#ifndef WG_TESTS_MUTATIONS_H
#define WG_TESTS_MUTATIONS_H

#include "wengert/autograd/grad.h"

typedef struct mutation {
    const char *name;
    wg_value *(*change)(wg_value *d);
    bool needs_two; /* does nothing to a single element */
} mutation;

enum { MUTATIONS = 7 };
extern const mutation mutations[MUTATIONS];

/* Breaks the rules of one op, as wg_grad_hook.context. */
typedef struct target {
    const wg_op *op;
    int operand;
    const mutation *mutation;
    bool hit; /* a rule made a cotangent that could be changed */
} target;

void break_rule(void *context, wg_node *n, wg_value *const *dy, wg_value **dx);

#endif
