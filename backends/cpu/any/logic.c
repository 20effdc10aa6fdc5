/* Logic on bytes of 0 and 1, and the choice between elements of 1, 2, 4 or 8 bytes. */
#include "backends/cpu/elementwise.h"

/* clang-format off */
BINARY_OF(wgi_cpu_logical_and, uint8_t, uint8_t, a & b)
BINARY_OF(wgi_cpu_logical_or, uint8_t, uint8_t, a | b)
BINARY_OF(wgi_cpu_logical_xor, uint8_t, uint8_t, a ^ b)
UNARY_OF(wgi_cpu_logical_not, uint8_t, uint8_t, !x)

/* y[j] = w[j] ? a[j] : b[j] along one row, each operand moving by its step.  Both numbers are read:
 * a choice without a branch. */
#define WHERE_LOOP(type, size, y, w, w_step, a, a_step, b, b_step)                                 \
    _Pragma("omp simd")                                                                            \
    for (int64_t j = 0; j < (size); j++) {                                                         \
        type yes = (a)[j * (a_step)], no = (b)[j * (b_step)];                                      \
        (y)[j] = (w)[j * (w_step)] ? yes : no;                                                     \
    }

#define WHERE_ROW(type)                                                                            \
    static void where_##type(const int64_t step[3], int64_t size, const uint8_t *w, const type *a, \
                             const type *b, type *y)                                               \
    {                                                                                              \
        if (step[0] && step[1] && step[2]) {                                                       \
            WHERE_LOOP(type, size, y, w, 1, a, 1, b, 1)                                            \
        } else if (step[0] && step[1]) {                                                           \
            WHERE_LOOP(type, size, y, w, 1, a, 1, b, 0)                                            \
        } else if (step[0] && step[2]) {                                                           \
            WHERE_LOOP(type, size, y, w, 1, a, 0, b, 1)                                            \
        } else {                                                                                   \
            WHERE_LOOP(type, size, y, w, step[0], a, step[1], b, step[2])                          \
        }                                                                                          \
    }
/* NOLINTBEGIN(bugprone-branch-clone): it does not look into `omp simd` loops */
WHERE_ROW(uint8_t)
WHERE_ROW(uint16_t)
WHERE_ROW(uint32_t)
WHERE_ROW(uint64_t)
/* NOLINTEND(bugprone-branch-clone) */
/* clang-format on */

static void where_tasks(const wg_call *call, const void *loop, int64_t first, int64_t end)
{
    const wgi_rows *r = loop;
    size_t element = wg_dtype_size(call->node->out[0]->dtype);
    for (int64_t task = first; task < end; task++)
        for (wgi_cursor k = wgi_cursor_at(r, task); k.left > 0; wgi_cursor_next(r, &k)) {
            const uint8_t *w = (const uint8_t *)call->in[0] + k.at[0];
            const char *p = (const char *)call->in[1] + k.at[1] * (int64_t)element;
            const char *q = (const char *)call->in[2] + k.at[2] * (int64_t)element;
            char *y = (char *)call->out[0] + k.out * (int64_t)element;
            const void *a = p, *b = q;
            void *out = y;
            switch (element) {
            case 1: where_uint8_t(r->step, k.size, w, a, b, out); break;
            case 2: where_uint16_t(r->step, k.size, w, a, b, out); break;
            case 4: where_uint32_t(r->step, k.size, w, a, b, out); break;
            default: where_uint64_t(r->step, k.size, w, a, b, out); break;
            }
        }
}

void wgi_cpu_where(wg_call *call)
{
    cpu_share_rows(call, where_tasks);
}

/* A plan gives a view its operand's memory and calls no kernel; this is for callers without one. */
void wgi_cpu_stop_gradient(wg_call *call)
{
    if (call->out[0] != call->in[0])
        memcpy(call->out[0], call->in[0], wg_value_bytes(call->node->out[0]));
}
