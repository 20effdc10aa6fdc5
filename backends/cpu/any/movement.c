/* Movement of elements of 1, 2, 4 or 8 bytes.  Result and operand are walked with strides: see
 * copy_strided. */
#include "backends/cpu/kernel.h"
#include "ops/movement.h"

/* y[i0, i1, ...] = x[sum of i_k stride_k] for a dense y of that shape. */
static void copy_strided(const wg_call *c, const wg_value *y, void *out, const void *in,
                         const int64_t stride[WG_MAX_RANK])
{
    const wg_shape *s = &y->shape;
    size_t element = wg_dtype_size(y->dtype);
    int64_t size = s->rank ? s->dim[s->rank - 1] : 1, step = s->rank ? stride[s->rank - 1] : 0;
    int64_t rows = size ? cpu_count(y) / size : 0;
#pragma omp parallel for schedule(static) num_threads(cpu_threads(c, rows * size))
    for (int64_t row = 0; row < rows; row++) {
        int64_t from = 0, rest = row;
        for (int i = s->rank - 2; i >= 0; i--) {
            from += rest % s->dim[i] * stride[i];
            rest /= s->dim[i];
        }
        const char *x = (const char *)in + from * (int64_t)element;
        char *to = (char *)out + row * size * (int64_t)element;
        if (step == 1)
            memcpy(to, x, (size_t)size * element);
        else if (element == 4)
            for (int64_t j = 0; j < size; j++)
                ((uint32_t *)(void *)to)[j] = ((const uint32_t *)(const void *)x)[j * step];
        else if (element == 8)
            for (int64_t j = 0; j < size; j++)
                ((uint64_t *)(void *)to)[j] = ((const uint64_t *)(const void *)x)[j * step];
        else
            for (int64_t j = 0; j < size; j++)
                memcpy(to + j * (int64_t)element, x + j * step * (int64_t)element, element);
    }
}

/* A plan gives a view its operand's memory and calls no kernel; this one is for callers without a planner. */
void cpu_reshape(wg_call *c)
{
    if (c->out[0] != c->in[0])
        memcpy(c->out[0], c->in[0], wg_value_bytes(c->node->out[0]));
}


void cpu_permute(wg_call *c)
{
    const wg_permute_attrs *a = c->node->attrs;
    int64_t dense[WG_MAX_RANK], stride[WG_MAX_RANK] = {0};
    wg_shape_strides(&c->node->in[0]->shape, dense);
    for (int i = 0; i < a->order.count; i++)
        stride[i] = dense[wg_axis_of(a->order.axis[i], a->order.count)];
    copy_strided(c, c->node->out[0], c->out[0], c->in[0], stride);
}

void cpu_expand(wg_call *c)
{
    int64_t stride[WG_MAX_RANK] = {0};
    cpu_broadcast_strides(&c->node->in[0]->shape, &c->node->out[0]->shape, stride);
    copy_strided(c, c->node->out[0], c->out[0], c->in[0], stride);
}
