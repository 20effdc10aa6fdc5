/* Groups of elementwise nodes, each of which becomes one node. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_ELEMENTWISE_H
#define WG_PRIVATE_BACKENDS_PLAN_ELEMENTWISE_H

#include "backends/plan/planner.h"
#include "ops/steps.h"

#define WGI_NO_READER UINT32_MAX

/* Nodes of one shape that are computed strip by strip. */
typedef struct wgi_group {
    uint32_t member[WGI_STEPS]; /* nodes, ascending */
    int n;
    int n_again;    /* of them: those of other groups, which it computes once more */
    wg_dtype dtype; /* of its floats; WG_BOOL: it has none */
    uint32_t into;  /* the group that it has become part of, or itself */
    uint32_t place; /* in the order of nodes that run, of its last member */
    bool closed;
    uint32_t operand[WGI_STEP_OPERANDS]; /* values */
    uint32_t result[WGI_STEP_RESULTS];   /* values */
    int n_operands, n_results;
    bool has_float;   /* among the operands */
    bool has_shape;   /* each result has its shape without expands before it, too */
    bool has_expands; /* or fills of several elements, that it makes superfluous */
} wgi_group;

typedef struct wgi_groups {
    wgi_planner *p;
    const wg_graph *g;
    wgi_group *group;
    uint32_t n;
    uint32_t *of;    /* [nodes] group + 1, 0: none */
    bool *foldable;  /* [nodes] computed when the plan is made */
    uint32_t *root;  /* [values] facts.h */
    uint32_t *last;  /* [values] by root: the last node that reads it, or WGI_NO_READER */
    bool *is_marked; /* [values] an output, assigned, or read outside of its group */
    bool *is_read; /* [nodes] of expands, fills: by others than groups that make them superfluous */
    wgi_element_step step[WGI_STEPS];
    wg_graph *to;
    wg_value **map;
} wgi_groups;

wg_node *wgi_node_at(const wgi_groups *s, uint32_t id);
/* The group of a node, NULL if it is in none. */
wgi_group *wgi_group_of(const wgi_groups *s, uint32_t node);
/* Whether the group computes v. */
bool wgi_group_has(const wgi_groups *s, const wgi_group *x, const wg_value *v);
/* Whether the group is to become a node, once its results are known. */
bool wgi_is_worth_it(const wgi_group *x);
/* The place of id in the list, -1 if it is not there. */
int wgi_index_of(const uint32_t *list, int n, uint32_t id);

/* v before it was broadcast. */
wg_value *wgi_unexpanded(wg_value *v);
/* Whether operand k of n is a number that a step's text can hold: a scalar, or a fill of more
 * elements without which n's result has its shape, and n a float. */
bool wgi_is_number(const wg_node *n, int k);
double wgi_number_of(const wg_value *v);
/* The float dtype of a step; WG_BOOL if it has bools alone.  These go with either dtype. */
wg_dtype wgi_step_dtype(const wg_node *n);
bool wgi_go_together(wg_dtype a, wg_dtype b);

/* What the members read from outside the group; false if it is too much. */
bool wgi_list_operands(const wgi_groups *s, wgi_group *x);
/* Whether each result has its shape if operands are read as they are before expands. */
bool wgi_results_have_shape(const wgi_groups *s, const wgi_group *x);

/* The parts of the pass: the groups, with their operands and results; values that they compute once
 * more rather than keep (elementwise_again.c); which expands and fills nobody reads; the nodes
 * (elementwise_build.c).  false: memory. */
void wgi_find_groups(wgi_groups *s);
bool wgi_compute_again(wgi_groups *s);
void wgi_find_superfluous(wgi_groups *s);
bool wgi_build_groups(wgi_groups *s);

#endif
