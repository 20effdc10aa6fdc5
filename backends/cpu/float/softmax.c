/* softmax, log_softmax: one row at a time, a row being the elements along the axis. */
#include "backends/cpu/kernel.h"
#include "wengert/ops/softmax.h"

/* The largest element, or 0 where all are -inf: then exp(x - shift) is 0 throughout and nothing
 * becomes inf - inf.  NaN compares as smaller and shows up in the sum. */
static real shift_of(const real *x, int64_t size, int64_t stride)
{
    real largest = -INFINITY;
    for (int64_t i = 0; i < size; i++)
        largest = x[i * stride] > largest ? x[i * stride] : largest;
    return largest == -INFINITY ? 0 : largest;
}

static void softmax_row(real *y, const real *x, int64_t size, int64_t stride)
{
    real shift = shift_of(x, size, stride);
    wide sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += y[i * stride] = exp(x[i * stride] - shift);
    if (sum == 0)
        return; /* all masked: the zeros stay */
    for (int64_t i = 0; i < size; i++)
        y[i * stride] = (real)(y[i * stride] / sum);
}

static void log_softmax_row(real *y, const real *x, int64_t size, int64_t stride)
{
    real shift = shift_of(x, size, stride);
    wide sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += exp(x[i * stride] - shift);
    wide log_sum = sum == 0 ? 0 : log(sum); /* all masked: -inf stays */
    for (int64_t i = 0; i < size; i++)
        y[i * stride] = (real)((wide)x[i * stride] - shift - log_sum);
}

typedef void row_function(real *y, const real *x, int64_t size, int64_t stride);

typedef struct rows {
    wgi_axis axis;
    row_function *function;
} rows;

static void each_of(const wg_call *c, const void *loop, int64_t first, int64_t end)
{
    const rows *r = loop;
    int64_t size = r->axis.size, inner = r->axis.inner;
    for (int64_t row = first; row < end; row++) {
        int64_t at = row / inner * size * inner + row % inner;
        r->function((real *)c->out[0] + at, (const real *)c->in[0] + at, size, inner);
    }
}

static void each_row(wg_call *c, row_function *function)
{
    const wg_softmax_attrs *a = c->node->attrs;
    const wg_shape *s = &c->node->in[0]->shape;
    rows r = {wgi_axis_of(s, a->axis), function};
    int64_t n = r.axis.outer * r.axis.inner;
    cpu_share(c, &r, n, cpu_threads(c, n * r.axis.size), each_of);
}

void KERNEL(softmax)(wg_call *c)
{
    each_row(c, softmax_row);
}

void KERNEL(log_softmax)(wg_call *c)
{
    each_row(c, log_softmax_row);
}
