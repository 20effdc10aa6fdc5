/* Gradients in buckets. */
#include "wengert/distributed/ranks.h"
#include "wengert/ops/all_reduce.h"

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

int64_t(wg_all_reduce_gradients)(const char *at, wg_value **grads, size_t n, size_t bucket_bytes)
{
    int64_t bucket = 1;
    for (size_t i = 0; i < n; i++)
        if (!grads[i])
            return bucket;
    wg_graph *g = n ? wg_graph_of(grads[0]) : NULL;
    wg_origin before = wg_graph_origin(g), update = before;
    update.phase = WG_UPDATE;
    wg_graph_set_origin(g, update);
    for (size_t end = n, some; end > 0; end -= some) {
        some = size_of_bucket(grads, end, bucket_bytes ? bucket_bytes : BUCKET_BYTES);
        (wg_all_reduce)(at, grads + end - some, some, bucket++, grads + end - some);
        if (!grads[end - some])
            break;
    }
    wg_graph_set_origin(g, before);
    return bucket;
}
