#include "paper/task.h"
#include "graph/random.h"
#include "wengert/models/transformer.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* A random number in [0, n). */
static int below(const wgi_random *random, uint64_t element, int n)
{
    return (int)(wgi_uniform(random, element) * n);
}

void paper_task_pair(const paper_task *t, uint64_t stream, uint64_t i, int32_t *source,
                     int32_t *length, int32_t *target_in, int32_t *target_out)
{
    const wgi_random random = wgi_random_of(stream, i, 0);
    int n = t->shortest + below(&random, 0, t->longest - t->shortest + 1);
    for (int k = 0; k < paper_task_length(t); k++) {
        source[k] = k < n    ? PAPER_FIRST_WORD + below(&random, (uint64_t)k + 1, t->words)
                    : k == n ? PAPER_END
                             : PAPER_PADDING;
        target_out[k] = k < n ? source[k] : k == n ? PAPER_END : WG_NO_TARGET;
    }
    *length = n + 1;
    if (t->order == PAPER_SORTED)
        qsort(target_out, (size_t)n, sizeof *target_out, by_id);
    for (int k = 0; t->order == PAPER_REVERSED && k < n; k++)
        target_out[k] = source[n - 1 - k];
    for (int k = 0; k < paper_task_length(t); k++)
        target_in[k] = k == 0 ? PAPER_BEGIN : k <= n ? target_out[k - 1] : PAPER_PADDING;
}
