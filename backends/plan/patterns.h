/* Fusions: patterns of nodes that one op replaces. */
#ifndef WG_PRIVATE_BACKENDS_PLAN_PATTERNS_H
#define WG_PRIVATE_BACKENDS_PLAN_PATTERNS_H

#include "backends/plan/facts.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/fused.h"

/* The graph in which patterns are looked for. */
typedef struct wgi_fusion_view {
    bool *needed;         /* [nodes] leads to an output or an assignment                     */
    uint32_t *readers;    /* [values] operands of needed nodes, outputs and assignments      */
    size_t *first_reader; /* [values + 1] reader[first_reader[v] ...) are the nodes among them */
    wg_node **reader;     /* ascending                                                      */
    int64_t *replaced_by; /* [values] the earlier fusion that replaces it, or WGI_NONE       */
} wgi_fusion_view;

/* At most, without a list: operands and replaced values.  With a list: both, for each node. */
enum { WGI_FUSED_OPERANDS = 12, WGI_FUSED_RESULTS = 6, WGI_FUSED_PER_NODE = 10 };

typedef struct wgi_fusion wgi_fusion;

/* A fusion found: `op` on `in` computes what the pattern did, and result i replaces the value
 * replaces[i] (NULL: nothing reads it).  A pattern of any number of nodes instead puts its n_in
 * operands and then its n_replaces values into `list`, which has room for WGI_FUSED_PER_NODE of
 * them for each node of the graph. */
typedef struct wgi_fused {
    const wgi_fusion *fusion;
    wg_node *anchor;
    const wg_op *op;
    union {
        wg_attention_attrs attention;
        wg_packed_attention_attrs packed;
        wg_residual_layernorm_attrs residual;
        wg_linear_attrs linear;
        wg_matmul_attrs matmul;
        wg_cross_entropy_attrs loss;
        wg_adam_attrs adam;
        wg_topk_attrs topk;
        wg_blocked_conv_attrs conv;
    } attrs;
    wg_value *in[WGI_FUSED_OPERANDS];
    int n_in;
    wg_value *replaces[WGI_FUSED_RESULTS];
    wg_value **list;
    int n_replaces; /* in the list; 0: no list */
    bool taken;     /* by a backend */
} wgi_fused;

struct wgi_fusion {
    const char *name;
    const wg_op *anchor;
    /* Whether the pattern holds around `anchor`; fills *out. */
    bool (*matches)(const wgi_fusion_view *view, wg_node *anchor, wgi_fused *out);
};

/* All fusions, ended by a row without a name. */
extern const wgi_fusion wgi_fusions[];

/* In patterns_attention.c; they hold around attention and around its gradient. */
bool wgi_attention_by_token(const wgi_fusion_view *view, wg_node *n, wgi_fused *out);
bool wgi_packed_attention(const wgi_fusion_view *view, wg_node *n, wgi_fused *out);

/* v if it is computed by `op`, else NULL. */
static inline wg_node *wgi_made_by(const wg_value *v, const wg_op *op)
{
    return v && v->node->op == op ? v->node : NULL;
}

/* The one node that reads v; NULL if there are several readers, or one that is an output. */
static inline wg_node *wgi_only_reader(const wgi_fusion_view *view, const wg_value *v)
{
    size_t first = view->first_reader[v->id], nodes = view->first_reader[v->id + 1] - first;
    return nodes == 1 && view->readers[v->id] == 1 ? view->reader[first] : NULL;
}

#endif
