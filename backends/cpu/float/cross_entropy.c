/* cross_entropy and its gradient; ops/cross_entropy.c has the formulas.  One pass over the
 * targets checks and counts them, one over the rows of logits does the work.  Rows are summed in
 * a fixed number of chunks, so that the sum has the same bits at any number of threads. */
#include "graph/element.h"
#include "backends/cpu/kernel.h"
#include "backends/targets.h"
#include "wengert/ops/cross_entropy.h"

enum { CHUNKS = 64 };

typedef struct rows {
    const wg_cross_entropy_attrs *attrs;
    const real *logits;
    const void *ids;
    wg_dtype id_dtype;
    int64_t count, classes;
    wg_target_weights q;
    double divisor; /* of the mean */
} rows;

static int64_t target_of(const rows *r, int64_t i) /* -1: ignored */
{
    int64_t id = wgi_get_int(r->ids, r->id_dtype, i);
    return r->attrs->use_ignore && id == r->attrs->ignore ? -1 : id;
}

/* Operand `first` is the logits; targets and perhaps the normaliser follow.  false: a target is
 * wrong. */
static bool open_rows(wg_call *c, int first, rows *r)
{
    const wg_value *logits = c->node->in[first], *targets = c->node->in[first + 1];
    *r = (rows){.attrs = c->node->attrs,
                .logits = c->in[first],
                .ids = c->in[first + 1],
                .id_dtype = targets->dtype,
                .count = cpu_count(targets),
                .classes = logits->shape.dim[logits->shape.rank - 1]};
    r->q = wg_target_weights_of(r->attrs, r->classes);
    int64_t kept = 0;
    for (int64_t i = 0; i < r->count; i++) {
        int64_t id = wgi_get_int(r->ids, r->id_dtype, i);
        if (r->attrs->use_ignore && id == r->attrs->ignore)
            continue;
        kept++;
        if (id < 0 || id >= r->classes) {
            wgi_refuse_target(c, first + 1, r->attrs, i, id, r->classes);
            return false;
        }
    }
    r->divisor = c->node->n_in > first + 2 ? (double)*(const real *)c->in[first + 2] : (double)kept;
    if (r->divisor == 0)
        r->divisor = 1;
    return true;
}

static real shift_of(const real *x, int64_t size) /* as in softmax */
{
    real largest = -INFINITY;
    for (int64_t i = 0; i < size; i++)
        largest = x[i] > largest ? x[i] : largest;
    return largest == -INFINITY ? 0 : largest;
}

static wide row_loss(const rows *r, int64_t i)
{
    int64_t target = target_of(r, i);
    if (target < 0)
        return 0;
    const real *x = r->logits + i * r->classes;
    real shift = shift_of(x, r->classes);
    wide sum = 0, others = 0;
    for (int64_t k = 0; k < r->classes; k++)
        sum += exp(x[k] - shift);
    wide log_sum = sum == 0 ? 0 : log(sum), loss = 0;
    if (r->q.on != 0)
        loss -= r->q.on * ((wide)x[target] - shift - log_sum);
    if (r->q.off == 0)
        return loss;
    for (int64_t k = 0; k < r->classes; k++)
        others += k == target ? 0 : (wide)x[k] - shift - log_sum;
    return loss - r->q.off * others;
}

void KERNEL(cross_entropy)(wg_call *c)
{
    rows r;
    real *y = c->out[0];
    if (!open_rows(c, 0, &r))
        return;
    if (r.attrs->reduction == WG_LOSS_NONE) {
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, r.count *r.classes * 8))
        for (int64_t i = 0; i < r.count; i++)
            y[i] = (real)row_loss(&r, i);
        return;
    }
    wide partial[CHUNKS] = {0}, sum = 0;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, r.count *r.classes * 8))
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        for (int64_t i = r.count * chunk / CHUNKS; i < r.count * (chunk + 1) / CHUNKS; i++)
            partial[chunk] += row_loss(&r, i);
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        sum += partial[chunk];
    y[0] = (real)(r.attrs->reduction == WG_LOSS_MEAN ? sum / r.divisor : sum);
}

/* dx = weight ((sum q) softmax(x) - q); x and dx may be the same memory */
static void row_grad(const rows *r, int64_t i, wide weight, real *dx)
{
    const real *x = r->logits + i * r->classes;
    int64_t target = target_of(r, i);
    if (target < 0) {
        memset(dx, 0, (size_t)r->classes * sizeof *dx);
        return;
    }
    real shift = shift_of(x, r->classes);
    wide sum = 0;
    for (int64_t k = 0; k < r->classes; k++)
        sum += dx[k] = exp(x[k] - shift);
    wide scale = sum == 0 ? 0 : r->q.sum / sum;
    for (int64_t k = 0; k < r->classes; k++)
        dx[k] = (real)(weight * (dx[k] * scale - (k == target ? r->q.on : r->q.off)));
}

void KERNEL(cross_entropy_grad)(wg_call *c)
{
    rows r;
    const real *dy = c->in[0];
    if (!open_rows(c, 1, &r))
        return;
    bool each = r.attrs->reduction == WG_LOSS_NONE;
    wide weight = each ? 0 : r.attrs->reduction == WG_LOSS_MEAN ? dy[0] / r.divisor : dy[0];
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, r.count *r.classes * 8))
    for (int64_t i = 0; i < r.count; i++)
        row_grad(&r, i, each ? dy[i] : weight, (real *)c->out[0] + i * r.classes);
}
