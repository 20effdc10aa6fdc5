#include "backends/cpu/scratch.h"
#include "backends/axis.h"
#include "backends/batch.h"
#include "backends/matrix_exp.h"
#include "wengert/ops/fft.h"
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

/* the roots of unity, as pairs */
static size_t roots(int64_t n)
{
    return 2 * sizeof(double) * (size_t)n;
}

static size_t fft(const wg_node *n)
{
    const wg_fft_attrs *a = n->attrs;
    return roots(wgi_axis_of(&n->in[0]->shape, a->axis).size);
}

static size_t rfft(const wg_node *n)
{
    const wg_rfft_attrs *a = n->attrs;
    return roots(a->n ? a->n : wgi_axis_of(&n->in[0]->shape, a->axis).size);
}

static size_t qr(const wg_node *n)
{
    wgi_batch b = wgi_batch_of(&n->in[0]->shape);
    return (size_t)(b.count * cpu_qr_numbers(b.rows, b.columns)) * sizeof(double);
}

static size_t eigh(const wg_node *n)
{
    wgi_batch b = wgi_batch_of(&n->in[0]->shape);
    return (size_t)(b.count * cpu_eigh_numbers(b.rows)) * sizeof(double);
}

static size_t svd(const wg_node *n)
{
    wgi_batch b = wgi_batch_of(&n->in[0]->shape);
    return (size_t)(b.count * cpu_svd_numbers(b.rows, b.columns)) * sizeof(double);
}

static size_t matrix_exp(const wg_node *n)
{
    wgi_batch b = wgi_batch_of(&n->in[0]->shape);
    return (size_t)(b.count * wgi_matrix_exp_numbers(b.rows)) * sizeof(double);
}

static const struct {
    const wg_op *op;
    size_t (*bytes)(const wg_node *n);
} needs[] = {
    {&wg_op_ctc_loss, ctc_loss},
    {&wg_op_ctc_loss_grad, ctc_loss_grad},
    {&wg_op_fft, fft},
    {&wg_op_rfft, rfft},
    {&wg_op_irfft, rfft},
    {&wg_op_qr, qr},
    {&wg_op_eigh, eigh},
    {&wg_op_svd, svd},
    {&wg_op_matrix_exp, matrix_exp},
};

size_t wgi_cpu_scratch(const wg_node *n)
{
    for (int i = 0; i < WG_COUNT(needs); i++)
        if (needs[i].op == n->op)
            return needs[i].bytes(n);
    return 0;
}
