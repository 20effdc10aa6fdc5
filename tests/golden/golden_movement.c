/* PyTorch's movements of elements, and reads and writes by index. */
#include "tests/golden/golden.h"

static const char AXIS[] = "axis|axes|dim|dims";

/* ---- movement -------------------------------------------------------------------------------- */

static wg_shape shape_of(golden *c, const char *names)
{
    int64_t dim[WG_MAX_RANK];
    int n = golden_ints(c, names, dim, WG_MAX_RANK, 1);
    if (n < 0)
        golden_fail(c, "attribute %s is missing", names);
    return wg_shape_make(n < 0 ? 0 : n, dim);
}

static void build_reshape(golden *c)
{
    golden_give(c, wg_reshape(golden_in(c, "x"), shape_of(c, "shape|size")));
}

static void build_permute(golden *c)
{
    golden_give(c, wg_permute(golden_in(c, "x"), golden_axes(c, "perm|dims|axes")));
}

static void build_transpose(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int a = golden_axis(c, "dim0|axis0", -2), b = golden_axis(c, "dim1|axis1", -1);
    int rank = x ? x->shape.rank : 0;
    wg_axes order = {.count = rank};
    for (int i = 0; i < rank; i++)
        order.axis[i] = i;
    if (wg_normalize_axis(a, rank) < 0 || wg_normalize_axis(b, rank) < 0) {
        golden_fail(c, "axes %d and %d are outside rank %d", a, b, rank);
        return;
    }
    order.axis[wg_normalize_axis(a, rank)] = wg_normalize_axis(b, rank);
    order.axis[wg_normalize_axis(b, rank)] = wg_normalize_axis(a, rank);
    golden_give(c, wg_permute(x, order));
}

static void build_squeeze(golden *c)
{
    int axis = golden_axis(c, AXIS, -1);
    golden_give(c, wg_squeeze(golden_in(c, "x"), axis));
}

static void build_unsqueeze(golden *c)
{
    int axis = golden_axis(c, AXIS, -1);
    golden_give(c, wg_unsqueeze(golden_in(c, "x"), axis));
}

/* -1 keeps the size of x */
static void build_expand(golden *c)
{
    wg_value *x = golden_in(c, "x");
    wg_shape s = shape_of(c, "shape|size|sizes");
    for (int i = 0; x && i < s.rank; i++)
        if (s.dim[i] == -1 && i >= s.rank - x->shape.rank)
            s.dim[i] = x->shape.dim[i - (s.rank - x->shape.rank)];
    golden_give(c, wg_expand(x, s));
}

static void build_repeat(golden *c)
{
    golden_give(c, wg_tile(golden_in(c, "x"), shape_of(c, "repeats|times|reps")));
}

static void build_slice(golden *c)
{
    int64_t step = golden_int(c, "step", 1);
    int axis = golden_axis(c, AXIS, 0);
    int64_t start = golden_int(c, "start", step > 0 ? 0 : WG_TO_END),
            stop = golden_int(c, "stop|end", step > 0 ? WG_TO_END : WG_TO_START);
    golden_give(c, wg_slice(golden_in(c, "x"), axis, start, stop, step));
}

static void build_concat(golden *c)
{
    wg_value *x[GOLDEN_TENSORS];
    int axis = golden_axis(c, AXIS, 0), n = golden_all(c, x);
    golden_give(c, wg_concat(x, n, axis));
}

static void build_stack(golden *c)
{
    wg_value *x[GOLDEN_TENSORS];
    int axis = golden_axis(c, AXIS, 0), n = golden_all(c, x);
    golden_give(c, wg_stack(x, n, axis));
}

/* torch.split: pieces of one size (the last may be smaller) or of given sizes; torch.chunk: so many
 * pieces. */
static void build_split(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int64_t sizes[GOLDEN_TENSORS], chunks = golden_int(c, "chunks|sections", 0);
    int axis = golden_axis(c, AXIS, 0), normal = x ? wg_normalize_axis(axis, x->shape.rank) : -1;
    int n = golden_ints(c, "split_size_or_sections|split_size|sizes", sizes, GOLDEN_TENSORS, 1);
    if (normal < 0)
        return;
    int64_t size = x->shape.dim[normal];
    if (n <= 1) {
        int64_t piece = n == 1 ? sizes[0] : chunks > 0 ? (size + chunks - 1) / chunks : size;
        for (n = 0; piece > 0 && n < GOLDEN_TENSORS && (int64_t)n * piece < size; n++)
            sizes[n] = size - n * piece < piece ? size - n * piece : piece;
    }
    golden_give_results(c, wg_split(x, axis, sizes, n), n);
}

/* "before" and "after" for each axis, or F.pad's "pad": pairs from the last axis on. */
static void build_pad(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int64_t pairs[2 * WG_MAX_RANK];
    double value = golden_real(c, "value", 0);
    const char *mode = golden_text(c, "mode", "constant");
    if (!x)
        return;
    int n = golden_ints(c, "pad|padding", pairs, 2 * WG_MAX_RANK, 1);
    wg_shape before = {x->shape.rank, {0}}, after = before;
    if (n >= 0) {
        for (int i = 0; i + 1 < n && i / 2 < x->shape.rank; i += 2) {
            before.dim[x->shape.rank - 1 - i / 2] = pairs[i];
            after.dim[x->shape.rank - 1 - i / 2] = pairs[i + 1];
        }
    } else {
        before = shape_of(c, "before");
        after = shape_of(c, "after");
    }
    if (golden_is(mode, "constant"))
        golden_give(c, wg_pad(x, before, after, value));
    else if (golden_is(mode, "reflect"))
        golden_give(c, wg_pad_border(x, before, after, WG_BORDER_REFLECT));
    else if (golden_is(mode, "replicate") || golden_is(mode, "edge"))
        golden_give(c, wg_pad_border(x, before, after, WG_BORDER_EDGE));
    else if (golden_is(mode, "circular") || golden_is(mode, "wrap"))
        golden_give(c, wg_pad_border(x, before, after, WG_BORDER_WRAP));
    else
        golden_fail(c, "padding mode %s", mode);
}

static void build_flip(golden *c)
{
    golden_give(c, wg_flip(golden_in(c, "x"), golden_axes(c, AXIS)));
}

/* Without an axis PyTorch rolls the elements in row-major order. */
static void build_roll(golden *c)
{
    wg_value *x = golden_in(c, "x");
    int64_t shift[WG_MAX_RANK];
    int n = golden_ints(c, "shifts|shift", shift, WG_MAX_RANK, 1);
    wg_axes axes = golden_axes(c, AXIS);
    if (x && !axes.count && n == 1) {
        golden_give(c, wg_reshape(wg_roll(wg_reshape(x, WG_SHAPE(wg_value_count(x))), shift[0], 0),
                                  x->shape));
        return;
    }
    if (n != axes.count)
        golden_fail(c, "%d shifts for %d axes", n, axes.count);
    for (int i = 0; i < n && i < axes.count; i++)
        x = wg_roll(x, shift[i], axes.axis[i]);
    golden_give(c, x);
}

/* ---- indices --------------------------------------------------------------------------------- */

static const char IDS[] = "i|ids|index|indices|idx";

/* padding_idx: rows of that id are read, but get no gradient */
static void build_embedding(golden *c)
{
    wg_value *w = golden_in(c, "w|weight"), *ids = golden_in(c, IDS);
    wg_value *y = wg_embedding(w, ids);
    if (y && golden_has(c, "padding_idx")) {
        wg_value *padding =
            wg_equal(ids, wg_scalar_like(ids, (double)golden_int(c, "padding_idx", 0)));
        y = wg_where(wg_unsqueeze(padding, -1), wg_stop_gradient(y), y);
    }
    golden_give(c, y);
}

static void build_gather(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give(c, wg_gather(golden_in(c, "x"), golden_in(c, IDS), axis));
}

static void build_take(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give(c, wg_take(golden_in(c, "x"), golden_in(c, IDS), axis));
}

static void build_scatter_add(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give(
        c, wg_scatter_add(golden_in(c, "x"), golden_in(c, IDS), golden_in(c, "src|s|y|b"), axis));
}

static void build_masked_fill(golden *c)
{
    double value = golden_real(c, "value", 0);
    golden_give(c,
                wg_masked_fill(golden_in(c, "x"), golden_as_bool(golden_in(c, "mask|m|c")), value));
}

static void build_one_hot(golden *c)
{
    golden_give(c,
                wg_one_hot(golden_in(c, "x|i|ids"), golden_int(c, "num_classes|depth", 0), WG_I64));
}

/* ---- the table ------------------------------------------------------------------------------- */

const golden_op golden_movement[] = {
    {"reshape", build_reshape},
    {"view", build_reshape},
    {"permute", build_permute},
    {"transpose", build_transpose},
    {"squeeze", build_squeeze},
    {"unsqueeze", build_unsqueeze},
    {"expand", build_expand},
    {"broadcast_to", build_expand},
    {"repeat", build_repeat},
    {"tile", build_repeat},
    {"slice", build_slice},
    {"concat", build_concat},
    {"cat", build_concat},
    {"stack", build_stack},
    {"split", build_split},
    {"chunk", build_split},
    {"pad", build_pad},
    {"flip", build_flip},
    {"roll", build_roll},
    {"embedding", build_embedding},
    {"gather", build_gather},
    {"index_select", build_take},
    {"take", build_take},
    {"scatter_add", build_scatter_add},
    {"masked_fill", build_masked_fill},
    {"one_hot", build_one_hot},
    {NULL, NULL},
};
