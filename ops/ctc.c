/* Connectionist temporal classification (Graves et al. 2006).
 *
 * The L = 2 S + 1 states of an example are its labels with blanks around them:
 *
 *     state      0   1   2   3   4          labels  a b
 *     symbol     -   a   -   b   -          -: the blank
 *
 * A path has one state at each frame t.  It begins at state 0 or 1, ends at one of the last two,
 * and goes on by 0 or 1 states, or by 2 if that skips a blank between two different labels.  With
 * e_t(s) = log_probs[t, symbol(s)], the log-probability of all paths that are in s at frame t,
 * including frame t and those before, is
 *
 *     alpha_t(s) = e_t(s) + log(exp alpha_{t-1}(s) + exp alpha_{t-1}(s - 1)
 *                               + exp alpha_{t-1}(s - 2) if state s may be skipped to)
 *
 * from alpha_{-1} = 0 at state 0 and -inf elsewhere.  beta_t(s), of the frames after t, is the same
 * recurrence backwards.  Both give the likelihood and the occupation probability of a state:
 *
 *     log p = log(exp alpha_{T-1}(L - 1) + exp alpha_{T-1}(L - 2)),      loss = -log p
 *     d loss / d log_probs[t, c] = -sum over s with symbol c of exp(alpha_t(s) + beta_t(s) - log p)
 *
 * The expansions here are these formulas, one node after the other: T steps long, they are for
 * derivatives of the gradient and for comparison.  What runs are the kernels of the two ops. */
#include "wengert/ops/ops.h"
#include "ops/ops_internal.h"
#include "wengert/ops/table.h"

#include <math.h>

static const char *const reductions[] = {"mean", "sum", "none", NULL};

static const wg_attr attrs[] = {
    WG_ATTR(INT, wg_ctc_attrs, blank),
    WG_ATTR_NAMED(wg_ctc_attrs, reduction, reductions),
    WG_ATTR(BOOL, wg_ctc_attrs, zero_infinity),
};

/* ---- shape rules: log_probs at operand i, targets and lengths after it ----------------------- */

static bool need_lengths(wg_node *n, int i, int64_t examples)
{
    return wg_need_int(n, i) && wg_need_rank(n, i, 1, 1) && wg_need_dim(n, i, 0, examples);
}

static bool need_operands(wg_node *n, int i)
{
    const wg_ctc_attrs *a = n->attrs;
    if (!wg_need_float(n, i) || !wg_need_rank(n, i, 3, 3) || !wg_need_int(n, i + 1) ||
        !wg_need_rank(n, i + 1, 2, 2))
        return false;
    const int64_t *x = n->in[i]->shape.dim, labels = n->in[i + 1]->shape.dim[1];
    if (!wg_need_dim(n, i + 1, 0, x[0]) || !need_lengths(n, i + 2, x[0]) ||
        !need_lengths(n, i + 3, x[0]))
        return false;
    if (a->blank < 0 || a->blank >= x[2])
        return wg_fail(n, WG_EINVAL, "blank is %lld, must be one of the %lld classes",
                       (long long)a->blank, (long long)x[2]);
    int64_t most = (INT64_C(1) << 59) / (x[0] + 1) / (x[1] + 3); /* bytes of scratch are a number */
    return 2 * labels + 2 <= most ||
           wg_fail(n, WG_ESHAPE, "%lld examples of %lld frames with %lld labels are too many",
                   (long long)x[0], (long long)x[1], (long long)labels);
}

static wg_shape loss_shape(const wg_node *n, const wg_value *lengths)
{
    const wg_ctc_attrs *a = n->attrs;
    return a->reduction == WG_LOSS_NONE ? lengths->shape : WG_SCALAR;
}

static bool infer(wg_node *n)
{
    return need_operands(n, 0) && wg_set_result(n, 0, n->in[0]->dtype, loss_shape(n, n->in[2]));
}

static bool infer_grad(wg_node *n)
{
    char is[160], must[160];
    if (!need_operands(n, 1) || !wg_need_same_dtype(n, 0, 1))
        return false;
    wg_shape dy = loss_shape(n, n->in[3]);
    return wg_shape_equal(&n->in[0]->shape, &dy)
               ? wg_set_result(n, 0, n->in[1]->dtype, n->in[1]->shape)
               : wg_fail(n, WG_ESHAPE, "dy is %s, must be %s",
                         wg_shape_text(&n->in[0]->shape, is, sizeof is),
                         wg_shape_text(&dy, must, sizeof must));
}

/* ---- the chain of states as nodes ------------------------------------------------------------ */

/* x in the dtype of the chain: f32 for 16 bits, of which f16 does not reach NEVER. */
static wg_value *widened(wg_value *x)
{
    return wg_dtype_size(x->dtype) < 4 ? wg_cast(x, WG_F32) : x;
}

/* In the place of -inf, whose differences would be NaN.  No sum of real log-probabilities comes
 * near it; a path with one of these is below NEVER / 10. */
#define NEVER (-1e20)

typedef struct chain {
    wg_graph *graph;
    int64_t examples, frames, states, classes;
    wg_value *lengths;   /* [N, 1] i64: frames of each example */
    wg_value *labels;    /* [N, 1] i64: labels of each example */
    wg_value *symbol;    /* [N, L] i64; blank after the last label */
    wg_value *may_skip;  /* [N, L] bool: a path may come from two states before */
    wg_value *ids;       /* [N, T, L]: symbol for each frame */
    wg_value *emissions; /* [N, T, L]: log_probs of the symbols */
    wg_value *never;     /* scalar */
} chain;

static wg_value *count_up(const chain *c, int64_t size) /* [1, size]: 0 1 2 ... */
{
    return wg_iota(c->graph, WG_I64, WG_SHAPE(1, size), 1, 0, 1);
}

/* Columns of x[N, L] moved right by `by`, or left if it is negative. */
static wg_value *moved(const chain *c, wg_value *x, int64_t by, double fill)
{
    int64_t steps = by < 0 ? -by : by, away = steps < c->states ? steps : c->states;
    int64_t first = by < 0 ? away : 0, before = by < 0 ? 0 : away;
    return wg_pad(wg_slice(x, 1, first, first + c->states - away, 1), WG_SHAPE(0, before),
                  WG_SHAPE(0, away - before), fill);
}

static wg_value *log_sum(wg_value *a, wg_value *b, wg_value *c)
{
    wg_value *all[] = {a, b, c};
    return wg_logsumexp(wg_stack(all, 3, 2), WG_AXES(2), WG_DROP);
}

/* `yes` for the examples that have a frame t, else `no`. */
static wg_value *if_frame(const chain *c, int64_t t, wg_value *yes, wg_value *no)
{
    return wg_where(wg_greater(c->lengths, wg_scalar_like(c->lengths, (double)t)), yes, no);
}

static wg_value *emissions_at(const chain *c, int64_t t)
{
    return wg_reshape(wg_slice(c->emissions, 1, t, t + 1, 1), WG_SHAPE(c->examples, c->states));
}

/* The symbols of all states from the targets, of which only the first `labels` are read. */
static wg_value *symbols_of(const chain *c, wg_value *targets, double blank)
{
    int64_t most = c->states / 2;
    wg_value *blanks = wg_fill(c->graph, WG_I64, WG_SHAPE(c->examples, most), blank);
    wg_value *read = wg_less(count_up(c, most), c->labels);
    wg_value *pairs[] = {blanks, wg_where(read, wg_cast(targets, WG_I64), blanks)};
    wg_value *list[] = {
        wg_reshape(wg_stack(pairs, 2, 2), WG_SHAPE(c->examples, 2 * most)),
        wg_fill(c->graph, WG_I64, WG_SHAPE(c->examples, 1), blank),
    };
    return wg_concat(list, 2, 1);
}

static chain chain_of(const wg_node *n, int i)
{
    const wg_ctc_attrs *a = n->attrs;
    const int64_t *x = n->in[i]->shape.dim;
    chain c = {.graph = n->graph,
               .examples = x[0],
               .frames = x[1],
               .classes = x[2],
               .states = 2 * n->in[i + 1]->shape.dim[1] + 1};
    wg_shape column = WG_SHAPE(x[0], 1), all = WG_SHAPE(x[0], x[1], c.states);
    wg_value *log_probs = widened(n->in[i]);
    c.never = wg_scalar_like(log_probs, NEVER);
    c.lengths = wg_reshape(wg_cast(n->in[i + 2], WG_I64), column);
    c.labels = wg_reshape(wg_cast(n->in[i + 3], WG_I64), column);
    c.symbol = symbols_of(&c, n->in[i + 1], (double)a->blank);
    wg_value *is_label =
        wg_not_equal(c.symbol, wg_fill(n->graph, WG_I64, WG_SCALAR, (double)a->blank));
    c.may_skip = wg_logical_and(is_label, wg_not_equal(c.symbol, moved(&c, c.symbol, 2, -1)));
    c.ids = wg_expand(wg_reshape(c.symbol, WG_SHAPE(x[0], 1, c.states)), all);
    c.emissions = wg_maximum(wg_gather(log_probs, c.ids, 2), c.never);
    return c;
}

/* Room for one value per frame and one more; NULL after an error. */
static wg_value **room_for_frames(const chain *c)
{
    return wg_graph_alloc(c->graph, ((size_t)c->frames + 1) * sizeof(wg_value *));
}

/* alpha[t + 1] is alpha_t; after the last frame of an example it stays as it is. */
static void make_alpha(const chain *c, wg_value **alpha)
{
    wg_value *sure = wg_fill(c->graph, c->never->dtype, WG_SHAPE(c->examples, 1), 0);
    alpha[0] = wg_pad(sure, WG_SHAPE(0, 0), WG_SHAPE(0, c->states - 1), NEVER);
    for (int64_t t = 0; t < c->frames; t++) {
        wg_value *a = alpha[t];
        wg_value *skipped = wg_where(c->may_skip, moved(c, a, 2, NEVER), c->never);
        wg_value *sum = log_sum(a, moved(c, a, 1, NEVER), skipped);
        alpha[t + 1] = if_frame(c, t, wg_add(sum, emissions_at(c, t)), a);
    }
}

/* 0 at the states where a path may end, NEVER elsewhere: [N, L]. */
static wg_value *ends(const chain *c)
{
    wg_value *state = count_up(c, c->states), *last = wg_add(c->labels, c->labels);
    wg_value *one = wg_scalar_like(last, 1), *zero = wg_scalar_like(c->never, 0);
    wg_value *is_end = wg_logical_or(wg_equal(state, last), wg_equal(wg_add(state, one), last));
    return wg_where(is_end, zero, c->never);
}

/* log p of each example, [N, 1]; *impossible: there is no path. */
static wg_value *log_likelihood(const chain *c, wg_value *last_alpha, wg_value **impossible)
{
    wg_value *p = wg_logsumexp(wg_add(last_alpha, ends(c)), WG_AXES(1), WG_KEEP);
    *impossible = wg_less(p, wg_scalar_like(c->never, NEVER / 10));
    return wg_where(*impossible, wg_scalar_like(c->never, 0), p);
}

/* What the loss of each example is multiplied by, [N, 1]; NULL: 1. */
static wg_value *weights(const wg_node *n, const chain *c)
{
    const wg_ctc_attrs *a = n->attrs;
    if (a->reduction != WG_LOSS_MEAN || !c->never)
        return NULL;
    wg_value *labels = wg_cast(c->labels, c->never->dtype);
    wg_value *divisor = wg_maximum(labels, wg_scalar_like(labels, 1));
    return wg_scale(wg_reciprocal(divisor), 1.0 / (double)(c->examples ? c->examples : 1));
}

/* ---- expansions ------------------------------------------------------------------------------ */

/* A node of 16 bits is itself in f32 between casts: f16 does not reach NEVER.  Returns whether n is
 * one. */
static bool widen(wg_node *n, wg_value **y)
{
    enum { MAX_OPERANDS = 5 };
    wg_value *in[MAX_OPERANDS];
    wg_dtype dtype = n->out[0]->dtype;
    if (!wg_dtype_is_half(dtype))
        return false;
    for (int i = 0; i < n->n_in; i++)
        in[i] = n->in[i]->dtype == dtype ? wg_cast(n->in[i], WG_F32) : n->in[i];
    wg_value *wide = wgi_apply_list(WG_HERE, n->op, n->attrs, in, (size_t)n->n_in);
    y[0] = wg_cast(wide, dtype);
    return true;
}

static void expand(wg_node *n, wg_value **y)
{
    if (widen(n, y))
        return;
    const wg_ctc_attrs *a = n->attrs;
    chain c = chain_of(n, 0);
    wg_value **alpha = room_for_frames(&c), *impossible;
    if (!alpha || !c.never)
        return;
    make_alpha(&c, alpha);
    wg_value *loss = wg_neg(log_likelihood(&c, alpha[c.frames], &impossible));
    wg_value *infinite = wg_scalar_like(loss, a->zero_infinity ? 0 : INFINITY);
    loss = wg_where(impossible, infinite, loss);
    wg_value *weight = weights(n, &c);
    if (weight)
        loss = wg_mul(loss, weight);
    loss = a->reduction == WG_LOSS_NONE ? wg_reshape(loss, WG_SHAPE(c.examples))
                                        : wg_sum(loss, WG_ALL_AXES, WG_DROP);
    y[0] = wg_cast(loss, n->in[0]->dtype);
}

/* The probability of each state at each frame, [N, T, L], with beta from the last frame on. */
static wg_value *occupation(const chain *c, wg_value *const *alpha, wg_value *log_p)
{
    wg_value **p = room_for_frames(c), *beta = ends(c);
    if (!p)
        return NULL;
    for (int64_t t = c->frames - 1; t >= 0; t--) {
        wg_value *here = wg_exp(wg_sub(wg_add(alpha[t + 1], beta), log_p));
        p[t] = if_frame(c, t, here, wg_scalar_like(c->never, 0));
        wg_value *e = wg_add(beta, emissions_at(c, t));
        wg_value *skipping = wg_where(c->may_skip, e, c->never);
        wg_value *sum = log_sum(e, moved(c, e, -1, NEVER), moved(c, skipping, -2, NEVER));
        beta = if_frame(c, t, sum, beta);
    }
    return wg_stack(p, (size_t)c->frames, 1);
}

/* 0, or NaN, which wg_fill refuses. */
static wg_value *no_gradient(wg_value *like, const wg_ctc_attrs *a)
{
    wg_value *x = wg_scalar_like(like, a->zero_infinity ? 0 : INFINITY);
    return wg_sub(x, x);
}

static void expand_grad(wg_node *n, wg_value **y)
{
    if (widen(n, y))
        return;
    const wg_ctc_attrs *a = n->attrs;
    chain c = chain_of(n, 1);
    wg_value **alpha = room_for_frames(&c), *impossible;
    if (!alpha || !c.never)
        return;
    if (c.frames == 0) {
        y[0] = wg_zeros_like(n->in[1]);
        return;
    }
    make_alpha(&c, alpha);
    wg_value *log_p = log_likelihood(&c, alpha[c.frames], &impossible);
    wg_value *zeros = wg_fill(c.graph, c.never->dtype, n->in[1]->shape, 0);
    wg_value *of_class = wg_scatter_add(zeros, c.ids, occupation(&c, alpha, log_p), 2);
    wg_value *dy = widened(n->in[0]);
    dy = a->reduction == WG_LOSS_NONE ? wg_reshape(dy, WG_SHAPE(c.examples, 1))
                                      : wg_expand(dy, WG_SHAPE(c.examples, 1));
    wg_value *weight = weights(n, &c);
    dy = weight ? wg_mul(dy, weight) : dy;
    wg_value *d = wg_neg(wg_mul(of_class, wg_reshape(dy, WG_SHAPE(c.examples, 1, 1))));
    wg_value *bad = wg_logical_and(wg_less(count_up(&c, c.frames), c.lengths), impossible);
    bad = wg_reshape(bad, WG_SHAPE(c.examples, c.frames, 1));
    y[0] = wg_cast(wg_where(bad, no_gradient(d, a), d), n->in[1]->dtype);
}

/* ---- gradient -------------------------------------------------------------------------------- */

static void grad(wg_node *n, wg_value *const *dy, wg_value **dx)
{
    wg_value *in[] = {dy[0], n->in[0], n->in[1], n->in[2], n->in[3]};
    dx[0] = wgi_apply_list(WG_HERE, &wg_op_ctc_loss_grad, n->attrs, in, 5);
}

/* ---- the ops --------------------------------------------------------------------------------- */

/* about 20 for each frame and state, forwards; as many again backwards */
static double flops_of(const wg_value *log_probs, const wg_value *targets)
{
    const int64_t *x = log_probs->shape.dim;
    return 20.0 * (double)x[0] * (double)x[1] * (2.0 * (double)targets->shape.dim[1] + 1);
}

static double flops(const wg_node *n)
{
    return flops_of(n->in[0], n->in[1]);
}

static double flops_grad(const wg_node *n)
{
    return 2 * flops_of(n->in[1], n->in[2]);
}

static const wg_ctc_attrs mean = {0, WG_LOSS_MEAN, false}, sum_last = {4, WG_LOSS_SUM, false},
                          each = {0, WG_LOSS_NONE, false}, each_zeroed = {0, WG_LOSS_NONE, true};

/* clang-format off */
#define LOG_PROBS(...) WG_FLOATS(-3, 0, 3, __VA_ARGS__)
#define LABELS(...) WG_INTS(1, 5, 2, __VA_ARGS__)
#define LENGTHS(min, max, n) WG_INTS(min, (max) + 1, 1, n)
/* 7 frames, 5 classes, up to 3 labels: 5 frames are enough for these even if all are equal */
#define PLAIN LOG_PROBS(2, 7, 5), LABELS(2, 3), LENGTHS(5, 7, 2), LENGTHS(0, 3, 2)
#define BLANK_4                                                                                    \
    LOG_PROBS(2, 7, 5), WG_INTS(0, 4, 2, 2, 3), LENGTHS(5, 7, 2), LENGTHS(1, 3, 2)
#define INFEASIBLE LOG_PROBS(4, 7, 5), LABELS(4, 3), LENGTHS(0, 7, 4), LENGTHS(0, 3, 4)
#define NO_LABELS LOG_PROBS(2, 3, 4), LABELS(2, 0), LENGTHS(1, 3, 2), LENGTHS(0, 0, 2)
#define NO_EXAMPLES LOG_PROBS(0, 3, 4), LABELS(0, 2), LENGTHS(0, 3, 0), LENGTHS(0, 2, 0)
#define MANY LOG_PROBS(6, 4, 7), WG_INTS(1, 7, 2, 6, 2), LENGTHS(3, 4, 6), LENGTHS(0, 2, 6)
#define FEW_CLASSES LOG_PROBS(2, 9, 3), WG_INTS(1, 3, 2, 2, 4), LENGTHS(7, 9, 2), LENGTHS(2, 4, 2)
#define DY WG_FLOATS(-2, 2, 0, 0)

static const wg_sample samples[] = {
    {"mean", &mean, 4, {PLAIN}},
    {"last class blank, sum", &sum_last, 4, {BLANK_4}},
    {"each, infinite losses zeroed", &each_zeroed, 4, {INFEASIBLE}},
    {"each", &each, 4, {MANY}},
    {"no labels", &mean, 4, {NO_LABELS}},
    {"no examples", &mean, 4, {NO_EXAMPLES}},
    {"few classes", &mean, 4, {FEW_CLASSES}},
};
static const wg_sample grad_samples[] = {
    {"mean", &mean, 5, {DY, PLAIN}},
    {"last class blank, sum", &sum_last, 5, {DY, BLANK_4}},
    {"each, infinite losses zeroed", &each_zeroed, 5, {WG_FLOATS(-2, 2, 1, 4), INFEASIBLE}},
    {"each", &each, 5, {WG_FLOATS(-2, 2, 1, 6), MANY}},
    {"no labels", &mean, 5, {DY, NO_LABELS}},
    {"no examples", &mean, 5, {DY, NO_EXAMPLES}},
    {"few classes", &mean, 5, {DY, FEW_CLASSES}},
};
/* clang-format on */

#define CTC .family = WG_FAMILY_LOSS, WG_ATTRS(wg_ctc_attrs, attrs)

const wg_op wg_op_ctc_loss = {
    .name = "ctc_loss",
    .formula = "loss = -log sum over paths that spell targets of product of exp(log_probs)",
    .operands = "log_probs targets input_lengths target_lengths",
    .results = "loss",
    CTC,
    .flops = flops,
    .infer = infer,
    .expand = expand,
    .grad = grad,
    .reads = WG_READS_X,
    WG_SAMPLES(samples),
};
const wg_op wg_op_ctc_loss_grad = {
    .name = "ctc_loss_grad",
    .formula = "dlog_probs[n,t,c] = -dy weight P(a path that spells targets is at c at frame t)",
    .operands = "dy log_probs targets input_lengths target_lengths",
    .results = "dlog_probs",
    CTC,
    .flops = flops_grad,
    .inplace = 1 << 1,
    .infer = infer_grad,
    .expand = expand_grad,
    WG_SAMPLES(grad_samples),
};

wg_value *(wg_ctc_loss)(const char *at, wg_value *log_probs, wg_value *targets,
                        wg_value *input_lengths, wg_value *target_lengths,
                        const wg_ctc_attrs *options)
{
    static const wg_ctc_attrs defaults;
    wg_value *in[] = {log_probs, targets, input_lengths, target_lengths};
    return wgi_apply_list(at, &wg_op_ctc_loss, options ? options : &defaults, in, 4);
}
