/* softmax and log_softmax along any axis. */
#include "backends/simd/internal.h"
#include "wengert/ops/softmax.h"

static simd_softmax softmax_of(const wg_node *n)
{
    wgi_axis x = simd_axis_of(&n->in[0]->shape, ((const wg_softmax_attrs *)n->attrs)->axis);
    return (simd_softmax){.outer = x.outer, .width = x.size, .inner = x.inner};
}

static const char *refuses_softmax(const wg_node *n)
{
    enum { FEW = 8 };
    const char *why = wgi_simd_refuses_other_floats(n);
    if (why)
        return why;
    int64_t inner = softmax_of(n).inner;
    return inner == 1 || inner >= FEW ? NULL : "few numbers beside one another";
}

static simd_softmax softmax_of_call(const wg_call *c)
{
    simd_softmax a = softmax_of(c->node);
    a.x = c->in[0];
    a.y = c->out[0];
    a.threads = c->threads;
    return a;
}

static void run_softmax(wg_call *c)
{
    simd_softmax a = softmax_of_call(c);
    simd_floats(c)->softmax(&a);
}

static void run_log_softmax(wg_call *c)
{
    simd_softmax a = softmax_of_call(c);
    simd_floats(c)->log_softmax(&a);
}

const simd_kernel wgi_simd_softmax[] = {
    {&wg_op_softmax, "rows", refuses_softmax, NULL, run_softmax},
    {&wg_op_log_softmax, "rows", refuses_softmax, NULL, run_log_softmax},
    {.op = NULL},
};
