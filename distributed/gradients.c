/* Gradients in buckets. */
#include "wengert/distributed/ranks.h"
#include "wengert/ops/all_reduce.h"
#include "wengert/ops/table.h"

enum { BUCKET_BYTES = 8 << 20 };

/* How many of grads[0..end) make the bucket that ends with grads[end - 1]: tensors of one dtype,
 * until they have the bytes. */
static size_t size_of_bucket(wg_value *const *grads, size_t end, size_t bytes)
{
    size_t n = 0, have = 0;
    for (; n < end && have < bytes && grads[end - 1 - n]->dtype == grads[end - 1]->dtype; n++)
        have += wg_value_bytes(grads[end - 1 - n]);
    return n;
}

/* The sum of x[0..n), in place; false after an error. */
static bool reduce(const char *at, wg_value **x, size_t n, wg_all_reduce_attrs a)
{
    wg_node *node = wg_apply(at, wg_graph_of(x[0]), &wg_op_all_reduce, &a, x, (int)n);
    for (size_t i = 0; i < n; i++)
        x[i] = node ? node->out[i] : NULL;
    return node != NULL;
}

int64_t(wg_all_reduce_gradients)(const char *at, wg_value **grads, size_t n,
                                 const wg_reduce_options *options)
{
    const wg_reduce_options o = options ? *options : (wg_reduce_options){0};
    wg_all_reduce_attrs a = {.bucket = 1, .wire = o.wire};
    for (size_t i = 0; i < n; i++)
        if (!grads[i])
            return a.bucket;
    wg_graph *g = n ? wg_graph_of(grads[0]) : NULL;
    wg_origin before = wg_graph_origin(g), update = before;
    update.phase = WG_UPDATE;
    wg_graph_set_origin(g, update);
    bool ok = true;
    for (size_t end = n, some; end > 0 && ok; end -= some, a.bucket++) {
        some = size_of_bucket(grads, end, o.bucket_bytes ? o.bucket_bytes : BUCKET_BYTES);
        ok = reduce(at, grads + end - some, some, a);
    }
    wg_graph_set_origin(g, before);
    return a.bucket;
}
