/* The steps of a fused_elementwise: plain ops, element by element, written as text.
 *
 *     t0=add(x0,x1) y0=tanh(t0) t1=mul(y0,0.5) y1=clamp[-1,1](t1)
 *
 * x0, x1, .. are operands of the node, y0, y1, .. its results, and t0, t1, .. values that only
 * later steps read.  A number stands for a scalar; those in brackets are the attributes. */
#ifndef WG_OPS_STEPS_H
#define WG_OPS_STEPS_H

#include "wengert/graph/op.h"

/* The most that a node may have. */
enum {
    WGI_STEPS = 48,
    WGI_STEP_OPERANDS = 16, /* of the node */
    WGI_STEP_RESULTS = 8,   /* of the node */
    WGI_STEP_NUMBERS = 8,   /* distinct, in all of its steps */
    WGI_STEPS_TEXT = 64 * WGI_STEPS
};

/* What a step reads. */
typedef enum wgi_term_kind { WGI_TERM_OPERAND, WGI_TERM_STEP, WGI_TERM_NUMBER } wgi_term_kind;
typedef struct wgi_term {
    wgi_term_kind kind;
    int index;     /* of the operand or the step */
    double number; /* the number itself */
} wgi_term;

typedef struct wgi_element_step {
    const wg_op *op;
    union {
        double align;
        unsigned char bytes[16];
    } attrs; /* the op's attribute struct */
    wgi_term in[3];
    int n_in;
    int result; /* the node's result that it is; -1: none */
} wgi_element_step;

/* Dtypes of the op's operands and result, as "ff:b": f the float dtype of the node, b WG_BOOL.
 * NULL if it cannot be a step. */
const char *wgi_step_dtypes(const wg_op *op);
/* Whether a step costs less than to write its result to memory and read it again. */
bool wgi_step_is_cheap(const wg_op *op);

/* Reads the text; the number of steps, or -1 if it is none of the above. */
int wgi_steps_read(const char *text, wgi_element_step step[WGI_STEPS]);
/* Writes n steps; false if the text is too long. */
bool wgi_steps_write(const wgi_element_step *step, int n, char *text, size_t size);

#endif
