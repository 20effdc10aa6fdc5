/* Optimizer updates: one pass over the elements.  Results may be the memory of operands
 * (WG_OP_UPDATE), so element i of all operands is read before any is written. */
#include "graph/element.h"
#include "backends/cpu/kernel.h"
#include "wengert/ops/optimizer.h"

void KERNEL(sgd)(wg_call *c)
{
    const wg_sgd_attrs *a = c->node->attrs;
    const real *p = c->in[0], *g = c->in[1], *velocity = c->node->n_in > 3 ? c->in[3] : NULL;
    real *new_p = c->out[0], *new_velocity = velocity ? c->out[1] : NULL;
    real lr = *(const real *)c->in[2], momentum = (real)a->momentum, decay = (real)a->weight_decay;
    int64_t count = cpu_count(c->node->in[0]);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, count * 6))
    for (int64_t i = 0; i < count; i++) {
        real pi = p[i], d = g[i] + decay * pi, move = d;
        if (velocity) {
            real v = momentum * velocity[i] + d;
            new_velocity[i] = v;
            move = a->nesterov ? d + momentum * v : v;
        }
        new_p[i] = pi - lr * move;
    }
}

static void adam(wg_call *c, bool decoupled)
{
    const wg_adam_attrs *a = c->node->attrs;
    const real *p = c->in[0], *g = c->in[1], *m = c->in[2], *v = c->in[3];
    real *new_p = c->out[0], *new_m = c->out[1], *new_v = c->out[2];
    double t = wgi_get_element(c->in[5], c->node->in[5]->dtype, 0),
           lr = (double)*(const real *)c->in[4];
    if (!(t > 0)) {
        wg_call_fail(c, "step is %g, must be positive", t);
        return;
    }
    real rate = (real)(lr / (1 - pow(a->beta1, t))),
         root_scale = (real)(1 / sqrt(1 - pow(a->beta2, t)));
    real b1 = (real)a->beta1, c1 = (real)(1 - a->beta1), b2 = (real)a->beta2,
         c2 = (real)(1 - a->beta2);
    real eps = (real)a->eps, coupled = decoupled ? 0 : (real)a->weight_decay;
    real shrink = decoupled ? (real)(lr * a->weight_decay) : 0;
    int64_t count = cpu_count(c->node->in[0]);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, count * 14))
    for (int64_t i = 0; i < count; i++) {
        real pi = p[i], gi = coupled != 0 ? g[i] + coupled * pi : g[i];
        real mi = b1 * m[i] + c1 * gi, vi = b2 * v[i] + c2 * gi * gi;
        new_p[i] =
            (shrink != 0 ? pi - shrink * pi : pi) - rate * mi / (sqrt(vi) * root_scale + eps);
        new_m[i] = mi;
        new_v[i] = vi;
    }
}

void KERNEL(adam)(wg_call *c)
{
    adam(c, false);
}

void KERNEL(adamw)(wg_call *c)
{
    adam(c, true);
}

void KERNEL(moving_average)(wg_call *c)
{
    const wg_moving_average_attrs *a = c->node->attrs;
    const real *average = c->in[0], *x = c->in[1];
    real *y = c->out[0], old = (real)a->decay, new = (real)(1 - a->decay);
    int64_t count = cpu_count(c->node->out[0]);
#pragma omp parallel for simd schedule(static) num_threads(cpu_threads(c, count))
    for (int64_t i = 0; i < count; i++)
        y[i] = old * average[i] + new *x[i];
}

/* Each tensor is summed in a fixed number of chunks, so that the sum has the same bits at any
 * number of threads. */
enum { CHUNKS = 64 };

static wide squares(const real *x, int64_t from, int64_t to)
{
    wide sum = 0;
    for (int64_t i = from; i < to; i++)
        sum += (wide)x[i] * x[i];
    return sum;
}

static wide sum_of_squares(const wg_call *c, int operand)
{
    const real *x = c->in[operand];
    int64_t count = cpu_count(c->node->in[operand]), size = (count + CHUNKS - 1) / CHUNKS;
    wide partial[CHUNKS] = {0}, sum = 0;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, count * 2))
    for (int chunk = 0; chunk < CHUNKS; chunk++) {
        int64_t from = chunk * size, to = from + size < count ? from + size : count;
        partial[chunk] = squares(x, from, to);
    }
    for (int chunk = 0; chunk < CHUNKS; chunk++)
        sum += partial[chunk];
    return sum;
}

void KERNEL(global_norm)(wg_call *c)
{
    wide sum = 0;
    for (int i = 0; i < c->node->n_in; i++)
        sum += sum_of_squares(c, i);
    *(real *)c->out[0] = (real)sqrt(sum);
}
