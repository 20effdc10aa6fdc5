/* How often a classifier is right. */
#include "wengert/models/accuracy.h"
#include "models/internal.h"

static bool is_one_for_each_row(const char *at, const wg_value *logits, const wg_value *targets)
{
    char rows[160], got[160];
    wg_shape expected = logits->shape;
    if (expected.rank > 0)
        expected = wg_shape_make(expected.rank - 1, expected.dim);
    if (logits->shape.rank > 0 && wg_shape_equal(&expected, &targets->shape))
        return true;
    wg_graph_fail(wg_graph_of(logits), WG_ESHAPE, at, "wg_accuracy",
                  "targets are %s, logits %s: expected a target for each row of logits",
                  wg_shape_text(&targets->shape, got, sizeof got),
                  wg_shape_text(&logits->shape, rows, sizeof rows));
    return false;
}

static bool are_classes(const char *at, const wg_value *targets)
{
    if (targets->dtype == WG_I32 || targets->dtype == WG_I64)
        return true;
    wg_graph_fail(wg_graph_of(targets), WG_EDTYPE, at, "wg_accuracy",
                  "targets are %s, must be i32 or i64", wg_dtype_name(targets->dtype));
    return false;
}

/* The number of true elements, in f32. */
static wg_value *count_of(wg_value *x)
{
    return wg_sum(wg_cast(x, WG_F32), WG_ALL_AXES, WG_DROP);
}

wg_value *(wg_accuracy)(const char *at, wg_value *logits, wg_value *targets,
                        const wg_cross_entropy_attrs *options)
{
    if (!logits || !targets || !are_classes(at, targets) ||
        !is_one_for_each_row(at, logits, targets))
        return NULL;
    wg_graph *g = wg_graph_of(logits);
    wg_origin before = wgi_layer_enter(at, g, "accuracy");
    targets = wg_cast(targets, WG_I64);
    wg_value *right = wg_equal(wg_argmax(logits, -1, WG_DROP), targets);
    wg_value *one = wg_fill(g, WG_F32, WG_SCALAR, 1), *n;
    if (options && options->use_ignore) {
        wg_value *ignored = wg_constant(g, WG_I64, WG_SCALAR, &options->ignore);
        wg_value *counts = wg_not_equal(targets, ignored);
        right = wg_logical_and(right, counts);
        n = wg_maximum(count_of(counts), one);
    } else {
        int64_t all = targets ? wg_shape_count(&targets->shape) : 1;
        n = all > 0 ? wg_scale(one, (double)all) : one;
    }
    return wgi_layer_leave(g, before, wg_div(count_of(right), n));
}
