/* Recomputation to a memory budget (rematerialisation): which values of a planned program are
 * dropped after a use and computed again before the next one.
 *
 * The question is put as arrays (wgi_steps), without graphs: steps in order of execution, each of
 * which reads values and makes values of known bytes.  The answer is a longer list of steps
 * (wgi_sequence).  A value is a root (facts.h) that lies in the buffer. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_RECOMPUTE_H
#define WG_PRIVATE_BACKENDS_PLAN_RECOMPUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct wgi_step_value {
    size_t bytes;  /* 0: not in the buffer                                           */
    uint32_t step; /* that makes it                                                  */
    uint32_t first_use,
        end_use; /* use[first_use..end_use): the steps that read it, ascending     */
    int64_t
        limit;  /* the last step before which it can be computed again, from its operands on    */
    bool again; /* its step can be run again                                                    */
    bool kept;  /* an output or assigned: stays to the end                                      */
} wgi_step_value;

typedef struct wgi_program_step {
    size_t first_in, end_in;   /* in[..]: the values that it reads, none twice */
    size_t first_out, end_out; /* out[..]: those that it makes                 */
    size_t scratch;            /* bytes                                        */
    double cost;               /* wgi_step_cost of its node                    */
} wgi_program_step;

typedef struct wgi_steps {
    wgi_program_step *step;
    wgi_step_value *value; /* by id */
    size_t n_steps, n_values;
    uint32_t *work; /* which work of the program each step is */
    uint32_t *in, *out, *use;
    uint32_t *over;     /* over[first_over[o]..first_over[o + 1]): operands over which out[o] may */
    size_t *first_over; /* be written if they die at the step                                     */
    size_t bytes;       /* of all values and scratch: enough for any run */
} wgi_steps;

/* The steps to run: the number of each, and whether it is run again. */
typedef struct wgi_sequence {
    uint32_t *step;
    bool *again;
    size_t n, room;
    double cost; /* of the steps that are run again */
} wgi_sequence;

/* ---- recompute_run.c ------------------------------------------------------------------------- */

/* How a value is chosen when memory is short: the one with the smallest
 *
 *     cost of computing it again / (bytes * distance^a) * noise
 *
 * where the cost may include the dropped values that are needed for it, and the distance is the
 * number of steps until the next use. */
typedef struct wgi_rule {
    bool ancestors; /* the cost includes dropped values         */
    double a;
    double noise; /* up to a factor of e^noise either way; 0: none */
    uint64_t seed;
    size_t most_times;  /* steps of the sequence by steps of the program: beyond it, WGI_TOO_LARGE;
                          0: 6 */
    double most_cost;   /* of steps that are run again: beyond it, WGI_TOO_LARGE; 0: any */
    const bool *barred; /* [values] these are not dropped; NULL: all may be */
} wgi_rule;

typedef enum wgi_outcome { WGI_FITS, WGI_TOO_LARGE, WGI_NO_MEMORY } wgi_outcome;

/* Simulates a run in `bytes` of memory.  WGI_FITS: *out is what to run, and the caller frees it
 * by wgi_sequence_free, as after any other outcome. */
wgi_outcome wgi_recompute_run(const wgi_steps *s, size_t bytes, const wgi_rule *rule,
                              wgi_sequence *out);
void wgi_sequence_free(wgi_sequence *q);

/* ---- recompute_search.c ---------------------------------------------------------------------- */

/* The cheapest sequence in `bytes` that some rules find. */
wgi_outcome wgi_recompute_search(const wgi_steps *s, size_t bytes, wgi_sequence *out);

/* The smallest number of bytes for which wgi_recompute_search finds a sequence, and that one, by
 * bisection to one part in 256.  Of tens of thousands of steps: to one in 16, by a single rule, and
 * at most two steps are run for each.  WGI_FITS or WGI_NO_MEMORY; the caller frees *out. */
wgi_outcome wgi_recompute_least(const wgi_steps *s, size_t *bytes, wgi_sequence *out);

/* ---- recompute_order.c ----------------------------------------------------------------------- */

struct wgi_planner;

/* An order of the program that leaves more freedom, as numbers of works.  false without memory. */
bool wgi_recompute_order(const struct wgi_planner *p, uint32_t *work);

/* ---- recompute_steps.c ----------------------------------------------------------------------- */

/* What a step costs, in floating-point operations: its own, and for each byte that it moves as many
 * as a processor does in the time. */
#define WGI_OPERATIONS_PER_BYTE 8.0

/* The program of a planner of which the passes up to memory have run.  false without memory; freed
 * by wgi_steps_free in either case. */
bool wgi_steps_of(const struct wgi_planner *p, wgi_steps *s);
void wgi_steps_free(wgi_steps *s);

#endif
