/* layernorm, rmsnorm and their gradients.  ops/norm.c has the formulas; rmsnorm is the case
 * without a mean. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/norm.h"

typedef struct rows {
    int64_t count, size;
    double eps;
} rows;

static rows rows_of(const wg_call *c, const wg_value *x)
{
    const wg_rownorm_attrs *a = c->node->attrs;
    rows r = {1, 1, a->eps};
    int first = x->shape.rank - (a->axes == 0 ? 1 : (int)a->axes);
    for (int i = 0; i < x->shape.rank; i++)
        *(i < first ? &r.count : &r.size) *= x->shape.dim[i];
    return r;
}

static const real *optional(const wg_call *c, int i)
{
    return i < c->node->n_in ? c->in[i] : NULL;
}

static wide mean_of(const real *x, int64_t size)
{
    wide sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += x[i];
    return size ? sum / (wide)size : 0;
}

/* of squared distances from `centre` */
static wide mean_square(const real *x, int64_t size, wide centre)
{
    wide sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += (x[i] - centre) * (x[i] - centre);
    return size ? sum / (wide)size : 0;
}

/* ---- forward --------------------------------------------------------------------------------- */

static void normalise(wg_call *c, real *mean, real *rstd)
{
    rows r = rows_of(c, c->node->in[0]);
    const real *gain = optional(c, 1), *bias = mean ? optional(c, 2) : NULL;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, r.count *r.size * 8))
    for (int64_t k = 0; k < r.count; k++) {
        const real *x = (const real *)c->in[0] + k * r.size;
        real *y = (real *)c->out[0] + k * r.size;
        wide m = mean ? mean_of(x, r.size) : 0;
        wide s = 1 / sqrt(mean_square(x, r.size, m) + r.eps);
        for (int64_t i = 0; i < r.size; i++)
            y[i] = (real)((x[i] - m) * s * (gain ? gain[i] : 1) + (bias ? bias[i] : 0));
        if (mean)
            mean[k] = (real)m;
        rstd[k] = (real)s;
    }
}

void KERNEL(layernorm)(wg_call *c)
{
    normalise(c, c->out[1], c->out[2]);
}

void KERNEL(rmsnorm)(wg_call *c)
{
    normalise(c, NULL, c->out[1]);
}

/* ---- gradients ------------------------------------------------------------------------------- */

typedef struct operands {
    const real *dy, *x, *mean /* or NULL */, *rstd, *gain /* or NULL */;
} operands;

/* dx = rstd (e - mean(e) - h mean(e h)) of row k */
static void row_grad(const operands *o, int64_t k, int64_t size, real *dx)
{
    const real *dy = o->dy + k * size, *x = o->x + k * size, *gain = o->gain;
    wide m = o->mean ? o->mean[k] : 0, s = o->rstd[k], sum = 0, along = 0;
    for (int64_t i = 0; i < size; i++) {
        wide e = (wide)dy[i] * (gain ? gain[i] : 1);
        sum += e;
        along += e * (x[i] - m) * s;
    }
    wide mean_e = o->mean ? sum / (wide)size : 0, mean_eh = along / (wide)size;
    for (int64_t i = 0; i < size; i++)
        dx[i] =
            (real)(s * ((wide)dy[i] * (gain ? gain[i] : 1) - mean_e - (x[i] - m) * s * mean_eh));
}

/* dgain and dbias (or NULL) of columns [first, first + width): each is summed in the order of
 * rows. */
enum { WIDTH = 64 };
static void column_sums(const operands *o, rows r, int64_t first, int64_t width, real *dgain,
                        real *dbias)
{
    wide gain[WIDTH] = {0}, bias[WIDTH] = {0};
    for (int64_t k = 0; k < r.count; k++) {
        const real *dy = o->dy + k * r.size + first, *x = o->x + k * r.size + first;
        wide m = o->mean ? o->mean[k] : 0, s = o->rstd[k];
        for (int64_t i = 0; i < width; i++) {
            gain[i] += dy[i] * (x[i] - m) * s;
            bias[i] += dy[i];
        }
    }
    for (int64_t i = 0; i < width; i++)
        dgain[first + i] = (real)gain[i];
    for (int64_t i = 0; dbias && i < width; i++)
        dbias[first + i] = (real)bias[i];
}

static void gradients(wg_call *c, const operands *o, real *dbias)
{
    rows r = rows_of(c, c->node->in[1]);
    int64_t blocks = (r.size + WIDTH - 1) / WIDTH;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, r.count *r.size * 8))
    for (int64_t k = 0; k < r.count; k++)
        row_grad(o, k, r.size, (real *)c->out[0] + k * r.size);
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, r.count *r.size * 8))
    for (int64_t b = 0; b < blocks; b++)
        column_sums(o, r, b * WIDTH, b + 1 < blocks ? WIDTH : r.size - b * WIDTH, c->out[1], dbias);
}

void KERNEL(layernorm_grad)(wg_call *c)
{
    operands o = {c->in[0], c->in[1], c->in[2], c->in[3], optional(c, 4)};
    gradients(c, &o, c->out[2]);
}

void KERNEL(rmsnorm_grad)(wg_call *c)
{
    operands o = {c->in[0], c->in[1], NULL, c->in[2], optional(c, 3)};
    gradients(c, &o, NULL);
}
