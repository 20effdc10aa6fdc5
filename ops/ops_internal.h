/* What several files of ops/ share. */
#ifndef WG_OPS_OPS_INTERNAL_H
#define WG_OPS_OPS_INTERNAL_H

#include "wengert/graph/op.h"

/* x [..., d] as [rows, d]: one large product instead of a batch of small ones.  NULL passes
 * through. */
wg_value *wgi_as_rows(wg_value *x);

/* Result 0 of `op` on n operands, which may be any number; NULL after an error. */
wg_value *wgi_apply_list(const char *at, const wg_op *op, const void *attrs, wg_value *const *in,
                         size_t n);

/* `flags` of the builder `who` has no bits but those of `all`; false, and the graph of x in error,
 * otherwise. */
bool wgi_check_flags(const char *at, const char *who, const wg_value *x, int flags, int all);

/* How many elements of the end of the axis roll n moves to its front, 0 <= . < size. */
int64_t wgi_rolled(const wg_node *n);

/* The attributes of a node of adam, adamw or one of their fused forms are in range; false after an
 * error. */
bool wgi_need_adam_attrs(wg_node *n);

/* ---- square matrices (triangle.c) ------------------------------------------------------------ */

/* The names of wg_triangle. */
extern const char *const wgi_triangle_names[3];

/* Operand i is a float and square in its last two axes; false after an error. */
bool wgi_need_square(wg_node *n, int i);
/* The n of a [..., n, n]. */
int64_t wgi_matrix_size(const wg_value *a);
/* Shape rule of x = op(a [..., n, n], b [..., n, k]): leading axes broadcast. */
bool wgi_infer_solution(wg_node *n);
/* Result 0 of such an op, where b may also be a vector [n]. */
wg_value *wgi_apply_solution(const char *at, const wg_op *op, const void *attrs, wg_value *a,
                             wg_value *b);
/* Of one substitution. */
double wgi_substitution_flops(const wg_node *n);

/* Attributes of ops that have their fused forms elsewhere. */
#define WGI_ATTENTION_ATTRS                                                                        \
    WG_ATTR(BOOL, wg_attention_attrs, causal), WG_ATTR(INT, wg_attention_attrs, causal_offset),    \
        WG_ATTR(REAL, wg_attention_attrs, scale), WG_ATTR(REAL, wg_attention_attrs, dropout),      \
        WG_ATTR(KEY, wg_attention_attrs, key), WG_ATTR(BOOL, wg_attention_attrs, window),          \
        WG_ATTR(INT, wg_attention_attrs, left), WG_ATTR(INT, wg_attention_attrs, right)
extern const wg_attr wgi_attention_table[8], wgi_cross_entropy_table[5], wgi_matmul_table[2];

#endif
