#include "backends/cpu/scratch.h"
#include "wengert/ops/table.h"

/* of every example, and its loss */
static size_t ctc_loss(const wg_node *n)
{
    int64_t each = cpu_ctc_numbers(n->in[1], CPU_CTC_LOSS_ROWS) + 1;
    return (size_t)(n->in[0]->shape.dim[0] * each) * sizeof(double);
}

static size_t ctc_loss_grad(const wg_node *n)
{
    int64_t each = cpu_ctc_numbers(n->in[2], cpu_ctc_grad_rows(n->in[1]));
    return (size_t)(n->in[1]->shape.dim[0] * each) * sizeof(double);
}

static const struct {
    const wg_op *op;
    size_t (*bytes)(const wg_node *n);
} needs[] = {
    {&wg_op_ctc_loss, ctc_loss},
    {&wg_op_ctc_loss_grad, ctc_loss_grad},
};

size_t wgi_cpu_scratch(const wg_node *n)
{
    for (int i = 0; i < WG_COUNT(needs); i++)
        if (needs[i].op == n->op)
            return needs[i].bytes(n);
    return 0;
}
