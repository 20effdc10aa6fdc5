/* Ops along an axis, at positions that are data, and over segments: PyTorch's names for them, or
 * those of JAX where PyTorch has none. */
#include "tests/golden/golden.h"

static const char AXIS[] = "axis|dim", IDS[] = "ids|index";

static void build_polygamma(golden *c)
{
    golden_give(c, wg_polygamma(golden_in(c, "x"), golden_int(c, "n", 1)));
}

/* ---- along an axis --------------------------------------------------------------------------- */

static void build_cumsum(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give(c, wg_cumsum(golden_in(c, "x"), axis, WG_CUMSUM_FORWARD));
}

static void build_cumprod(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give(c, wg_cumprod(golden_in(c, "x"), axis, WG_CUMSUM_FORWARD));
}

static void build_cummax(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give_results(c, wg_cummax(golden_in(c, "x"), axis), 2);
}

static void build_cummin(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give_results(c, wg_cummin(golden_in(c, "x"), axis), 2);
}

static void build_sort(golden *c)
{
    int axis = golden_axis(c, AXIS, -1);
    bool descending = golden_bool(c, "descending", false);
    golden_give_results(
        c, wg_sort(golden_in(c, "x"), axis, descending ? WG_DESCENDING : WG_ASCENDING), 2);
}

/* ---- at positions that are data -------------------------------------------------------------- */

static void build_scatter(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    wg_value *x = golden_in(c, "x"), *ids = golden_in(c, IDS);
    golden_give(c, wg_scatter(x, ids, golden_in(c, "src"), axis));
}

static void build_scatter_reduce(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    const char *reduce = golden_text(c, "reduce", "");
    wg_value *x = golden_in(c, "x"), *ids = golden_in(c, IDS), *src = golden_in(c, "src");
    if (golden_is(reduce, "amax"))
        golden_give(c, wg_scatter_max(x, ids, src, axis));
    else if (golden_is(reduce, "amin"))
        golden_give(c, wg_scatter_min(x, ids, src, axis));
    else if (golden_is(reduce, "sum"))
        golden_give(c, wg_scatter_add(x, ids, src, axis));
    else
        golden_fail(c, "reduce \"%s\" is not known", reduce);
}

static void build_dynamic_slice(golden *c)
{
    int64_t dim[WG_MAX_RANK];
    int rank = golden_ints(c, "size|slice_sizes", dim, WG_MAX_RANK, 1);
    wg_value *x = golden_in(c, "x"), *start = golden_in(c, "start");
    golden_give(c, wg_dynamic_slice(x, start, wg_shape_make(rank, dim)));
}

static void build_dynamic_update_slice(golden *c)
{
    wg_value *x = golden_in(c, "x"), *start = golden_in(c, "start");
    golden_give(c, wg_dynamic_update_slice(x, start, golden_in(c, "update")));
}

/* ---- Fourier transforms ---------------------------------------------------------------------- */

typedef wg_value *by_transform(const char *at, wg_value *x, int axis);

static void build_transform(golden *c, by_transform *build)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give(c, build(WG_HERE, golden_in(c, "x"), axis));
}

#define TRANSFORMS(name)                                                                           \
    static void build_##name(golden *c)                                                            \
    {                                                                                              \
        build_transform(c, wg_##name);                                                             \
    }
TRANSFORMS(fft)
TRANSFORMS(ifft)
TRANSFORMS(rfft)

static void build_irfft(golden *c)
{
    int axis = golden_axis(c, AXIS, 0);
    golden_give(c, wg_irfft(golden_in(c, "x"), axis, golden_int(c, "n", 0)));
}

/* ---- over segments --------------------------------------------------------------------------- */

typedef wg_value *by_segment(const char *at, wg_value *x, wg_value *ids, int axis, int64_t n);

static void build_segments(golden *c, by_segment *build)
{
    int axis = golden_axis(c, AXIS, 0);
    int64_t n = golden_int(c, "num_segments", 0);
    wg_value *x = golden_in(c, "x");
    golden_give(c, build(WG_HERE, x, golden_in(c, IDS), axis, n));
}

#define SEGMENTS(name)                                                                             \
    static void build_##name(golden *c)                                                            \
    {                                                                                              \
        build_segments(c, wg_##name);                                                              \
    }
SEGMENTS(segment_sum)
SEGMENTS(segment_mean)
SEGMENTS(segment_max)
SEGMENTS(segment_min)
SEGMENTS(segment_softmax)

/* ---- the table ------------------------------------------------------------------------------- */

const golden_op golden_arrays[] = {
    {"polygamma", build_polygamma},
    {"cumsum", build_cumsum},
    {"cumprod", build_cumprod},
    {"cummax", build_cummax},
    {"cummin", build_cummin},
    {"sort", build_sort},
    {"scatter", build_scatter},
    {"scatter_reduce", build_scatter_reduce},
    {"dynamic_slice", build_dynamic_slice},
    {"dynamic_update_slice", build_dynamic_update_slice},
    {"fft", build_fft},
    {"ifft", build_ifft},
    {"rfft", build_rfft},
    {"irfft", build_irfft},
    {"segment_sum", build_segment_sum},
    {"segment_mean", build_segment_mean},
    {"segment_max", build_segment_max},
    {"segment_min", build_segment_min},
    {"segment_softmax", build_segment_softmax},
    {NULL, NULL},
};
