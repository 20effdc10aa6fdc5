/* ctc_loss and its gradient; ops/ctc.c has the formulas.  Everything of one example is computed by
 * one thread in f64, with logarithms of probabilities throughout. */
#include "backends/cpu/kernel.h"
#include "backends/cpu/scratch.h"
#include "graph/element.h"
#include "wengert/ops/loss.h"

typedef struct batch {
    const wg_ctc_attrs *attrs;
    const real *log_probs; /* [examples, frames, classes] */
    const void *targets, *input_lengths, *target_lengths;
    wg_dtype targets_dtype, input_dtype, target_dtype;
    int64_t examples, frames, classes, labels;
    wide *scratch;
    int64_t scratch_each; /* numbers of it for one example */
    int threads;
} batch;

typedef struct example {
    int64_t frames, labels, states, classes;
    const real *log_probs; /* [frames, classes] */
    int64_t *symbol;       /* [states] */
    wide *alpha;           /* [states] or [frames + 1, states]: row t + 1 is alpha_t */
} example;

static int64_t input_length(const batch *b, int64_t i)
{
    return wgi_get_int(b->input_lengths, b->input_dtype, i);
}

static int64_t target_length(const batch *b, int64_t i)
{
    return wgi_get_int(b->target_lengths, b->target_dtype, i);
}

/* Length i, of operand k */
static bool is_length(wg_call *c, int k, const char *what, int64_t length, int64_t i, int64_t most)
{
    if (length >= 0 && length <= most)
        return true;
    wg_call_fail_at(c, k, i, "the %s length of example %lld is %lld, must be 0 to %lld", what,
                    (long long)i, (long long)length, (long long)most);
    return false;
}

/* Those of example i, of operand `of` */
static bool are_labels(wg_call *c, int of, const batch *b, int64_t i)
{
    for (int64_t k = 0; k < target_length(b, i); k++) {
        int64_t label = wgi_get_int(b->targets, b->targets_dtype, i * b->labels + k);
        if (label >= 0 && label < b->classes && label != b->attrs->blank)
            continue;
        wg_call_fail_at(c, of, i * b->labels + k,
                        "label %lld of example %lld is %lld, must be in [0, %lld) and not %lld, "
                        "the blank",
                        (long long)k, (long long)i, (long long)label, (long long)b->classes,
                        (long long)b->attrs->blank);
        return false;
    }
    return true;
}

/* Operand `first` is log_probs; the others follow.  false: a length or a label is wrong. */
static bool open_batch(wg_call *c, int first, int64_t rows, batch *b)
{
    wg_value *const *in = c->node->in + first;
    const int64_t *x = in[0]->shape.dim;
    int64_t each = cpu_ctc_numbers(in[1], rows);
    *b = (batch){.attrs = c->node->attrs,
                 .log_probs = c->in[first],
                 .targets = c->in[first + 1],
                 .input_lengths = c->in[first + 2],
                 .target_lengths = c->in[first + 3],
                 .targets_dtype = in[1]->dtype,
                 .input_dtype = in[2]->dtype,
                 .target_dtype = in[3]->dtype,
                 .examples = x[0],
                 .frames = x[1],
                 .classes = x[2],
                 .labels = in[1]->shape.dim[1],
                 .scratch = c->scratch,
                 .scratch_each = each,
                 .threads = cpu_threads(c, x[0] * x[1] * in[1]->shape.dim[1] * 40)};
    for (int64_t i = 0; i < b->examples; i++)
        if (!is_length(c, first + 2, "input", input_length(b, i), i, b->frames) ||
            !is_length(c, first + 3, "target", target_length(b, i), i, b->labels) ||
            !are_labels(c, first + 1, b, i))
            return false;
    return true;
}

/* Example i, with its symbols in scratch. */
static example open_example(const batch *b, int64_t i)
{
    example e = {.frames = input_length(b, i),
                 .labels = target_length(b, i),
                 .classes = b->classes,
                 .log_probs = b->log_probs + i * b->frames * b->classes};
    wide *scratch = b->scratch + i * b->scratch_each;
    e.states = 2 * e.labels + 1;
    e.symbol = (int64_t *)(void *)scratch;
    e.alpha = scratch + 2 * b->labels + 1;
    for (int64_t s = 0; s < e.states; s++)
        e.symbol[s] = s % 2 ? wgi_get_int(b->targets, b->targets_dtype, i * b->labels + s / 2)
                            : b->attrs->blank;
    return e;
}

/* Whether a path may go from state s - 2 to state s. */
static bool may_skip(const example *e, int64_t s)
{
    return s >= 2 && s < e->states && s % 2 && e->symbol[s] != e->symbol[s - 2];
}

/* log(exp a + exp b + exp c), with the largest as a. */
static wide log_sum(wide a, wide b, wide c)
{
    wide first = a;
    if (b > a)
        a = b, b = first;
    first = a;
    if (c > a)
        a = c, c = first;
    if (a == -INFINITY)
        return a + b + c; /* -inf, or NaN if one is */
    return a + log(1 + exp(b - a) + exp(c - a));
}

/* alpha_{-1} */
static void begin(const example *e, wide *alpha)
{
    for (int64_t s = 0; s < e->states; s++)
        alpha[s] = s == 0 ? 0 : -INFINITY;
}

/* From alpha_{t-1} to alpha_t; from the last state down, so that both may be one row. */
static void advance(const example *e, int64_t t, const wide *from, wide *to)
{
    const real *log_p = e->log_probs + t * e->classes;
    for (int64_t s = e->states - 1; s >= 0; s--)
        to[s] = (wide)log_p[e->symbol[s]] + log_sum(from[s], s > 0 ? from[s - 1] : -INFINITY,
                                                    may_skip(e, s) ? from[s - 2] : -INFINITY);
}

static wide log_likelihood(const example *e, const wide *alpha)
{
    int64_t last = e->states - 1;
    return log_sum(alpha[last], last > 0 ? alpha[last - 1] : -INFINITY, -INFINITY);
}

static wide loss_of(const batch *b, int64_t i)
{
    example e = open_example(b, i);
    begin(&e, e.alpha);
    for (int64_t t = 0; t < e.frames; t++)
        advance(&e, t, e.alpha, e.alpha);
    wide loss = -log_likelihood(&e, e.alpha);
    return b->attrs->zero_infinity && loss == INFINITY ? 0 : loss;
}

/* What the loss of example i is divided by. */
static wide divisor(const batch *b, int64_t i)
{
    int64_t labels = target_length(b, i);
    return b->attrs->reduction == WG_LOSS_MEAN ? (wide)(labels > 1 ? labels : 1) * (wide)b->examples
                                               : 1;
}

void KERNEL(ctc_loss)(wg_call *c)
{
    batch b;
    real *y = c->out[0];
    if (!open_batch(c, 0, CPU_CTC_LOSS_ROWS, &b))
        return;
    wide *loss = b.examples ? b.scratch + b.examples * b.scratch_each : NULL, sum = 0;
#pragma omp parallel for schedule(dynamic) num_threads(b.threads)
    for (int64_t i = 0; i < b.examples; i++)
        loss[i] = loss_of(&b, i);
    for (int64_t i = 0; i < b.examples; i++) {
        sum += loss[i] / divisor(&b, i);
        if (b.attrs->reduction == WG_LOSS_NONE)
            y[i] = (real)loss[i];
    }
    if (b.attrs->reduction != WG_LOSS_NONE)
        y[0] = (real)sum;
}

/* Row t of the gradient, -weight times the occupation of each class, and beta from t to t - 1.  The
 * row may be that of log_probs: it is written after that has been read. */
static void retreat(const example *e, int64_t t, wide log_p, wide weight, wide *beta, real *dx)
{
    const real *log_probs = e->log_probs + t * e->classes;
    wide *at = e->alpha + (t + 1) * e->states;
    for (int64_t s = 0; s < e->states; s++) {
        at[s] = exp(at[s] + beta[s] - log_p);
        beta[s] += (wide)log_probs[e->symbol[s]];
    }
    for (int64_t s = 0; s < e->states; s++)
        beta[s] = log_sum(beta[s], s + 1 < e->states ? beta[s + 1] : -INFINITY,
                          may_skip(e, s + 2) ? beta[s + 2] : -INFINITY);
    for (int64_t k = 0; k < e->classes; k++)
        dx[k] = 0;
    for (int64_t s = 0; s < e->states; s++)
        dx[e->symbol[s]] -= (real)(weight * at[s]);
}

/* dx [frames, classes], of which the rows after the last frame are 0 */
static void gradient_of(const batch *b, int64_t i, wide weight, real *dx)
{
    example e = open_example(b, i);
    begin(&e, e.alpha);
    for (int64_t t = 0; t < e.frames; t++)
        advance(&e, t, e.alpha + t * e.states, e.alpha + (t + 1) * e.states);
    wide log_p = log_likelihood(&e, e.alpha + e.frames * e.states);
    wide *beta = e.alpha + (e.frames + 1) * e.states;
    for (int64_t s = 0; s < e.states; s++)
        beta[s] = s + 2 >= e.states ? 0 : -INFINITY;
    real none = b->attrs->zero_infinity ? 0 : (real)NAN;
    for (int64_t k = 0; log_p == -INFINITY && k < e.frames * e.classes; k++)
        dx[k] = none;
    for (int64_t t = e.frames - 1; log_p != -INFINITY && t >= 0; t--)
        retreat(&e, t, log_p, weight, beta, dx + t * e.classes);
    for (int64_t k = e.frames * e.classes; k < b->frames * e.classes; k++)
        dx[k] = 0;
}

void KERNEL(ctc_loss_grad)(wg_call *c)
{
    batch b;
    const real *dy = c->in[0];
    real *dx = c->out[0];
    if (!open_batch(c, 1, cpu_ctc_grad_rows(c->node->in[1]), &b))
        return;
    bool each = b.attrs->reduction == WG_LOSS_NONE;
#pragma omp parallel for schedule(dynamic) num_threads(b.threads)
    for (int64_t i = 0; i < b.examples; i++)
        gradient_of(&b, i, (wide)dy[each ? i : 0] / divisor(&b, i), dx + i * b.frames * b.classes);
}
