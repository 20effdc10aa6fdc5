/* gather, the scatters and segments of the simd backend against the reference, bit for bit, on one
 * thread, on three and on sixteen: ids that are the same along rows, differ, or are some of each,
 * in both types; few and many rows of the result, rows of any length, src with rows that are not
 * read; special numbers; ids outside the axis. */
#include "tests/numbers.h"
#include "tests/plans.h"
#include "wengert/backends/simd.h"
#include "wengert/ops/index.h"
#include "wengert/ops/segment.h"

enum { PLANS = 4 }; /* the reference, simd on one thread, on three and on sixteen */

/* How the ids of a row are drawn. */
typedef enum alike { ALL, NONE, SOME, ALIKES } alike;

static uint64_t seed = 1;

static int64_t draw(int64_t count)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(seed >> 33) % count;
}

static void put_id(wg_plan *p, const wg_value *ids, int64_t i, int64_t id)
{
    if (ids->dtype == WG_I64)
        ((int64_t *)wg_plan_data(p, ids))[i] = id;
    else
        ((int32_t *)wg_plan_data(p, ids))[i] = (int32_t)id;
}

/* Special numbers among others.  No NaN but the one, since of two a sum may be either. */
static void fill(wg_plan *p, const wg_value *x)
{
    static const double specials[] = {0.0, -0.0, NAN, INFINITY};
    for (int64_t i = 0; i < wg_value_count(x); i++) {
        double v =
            draw(50) ? (double)draw(2000001) / 997 - 1000 : specials[draw(WG_COUNT(specials))];
        wgi_put_element(wg_plan_data(p, x), x->dtype, i,
                        wg_dtype_is_int(x->dtype) ? (double)draw(1000) - 500 : v);
    }
}

/* Rows of `width` ids below `size` */
static void fill_ids(wg_plan *p, const wg_value *ids, int64_t width, int64_t size, alike how)
{
    int64_t row = 0;
    bool one = true;
    for (int64_t i = 0; i < wg_value_count(ids); i++) {
        if (i % width == 0) {
            one = how == ALL || (how == SOME && draw(2));
            row = draw(size);
        }
        put_id(p, ids, i, one ? row : draw(size));
    }
}

typedef struct trial {
    wg_graph *g;
    wg_value *x, *src, *ids, *y; /* src of scatters */
    int64_t size, width;         /* of the axis, of a row */
    alike how;
    int64_t wrong; /* id that one is, if `fails` */
    bool fails;
} trial;

/* The result of each plan, or its message */
static void compare(const trial *t, const char *kernel)
{
    static const int threads[PLANS] = {1, 1, 3, 16};
    const wg_backend *const simd[] = {wg_simd_backend()};
    const wg_value *in[] = {t->x, t->ids, t->src};
    check_that(wg_output(t->y, "y"), "%s", wg_graph_message(t->g));
    wg_plan *p[PLANS];
    char message[200];
    for (int i = 0; i < PLANS; i++) {
        p[i] = plan_of(t->g, &(wg_plan_options){.reference = i == 0,
                                                .backends = simd,
                                                .n_backends = i > 0,
                                                .threads = threads[i],
                                                .no_fold = true});
        wg_plan_step last = wg_plan_step_at(p[i], wg_plan_step_count(p[i]) - 1);
        check_that(strcmp(last.kernel, i ? kernel : "reference") == 0, "%s: %s, %s",
                   t->y->node->op->name, last.kernel, last.refused);
        for (int k = 0; k < 3 && in[k]; k++)
            if (i)
                memcpy(wg_plan_data(p[i], in[k]), wg_plan_data(p[0], in[k]), wg_value_bytes(in[k]));
            else if (k == 1)
                fill_ids(p[0], in[k], t->width, t->size, t->how);
            else
                fill(p[0], in[k]);
        if (i == 0 && t->fails)
            put_id(p[0], t->ids, draw(wg_value_count(t->ids)), t->wrong);
        check_that((wg_plan_run(p[i], 0) == WG_OK) != t->fails, "%s", wg_plan_message(p[i]));
        if (i && t->fails)
            assert_string_equal(wg_plan_message(p[i]), message);
        else if (t->fails)
            snprintf(message, sizeof message, "%s", wg_plan_message(p[i]));
        else if (i)
            numbers_same_bits(t->y->node->op->name, p[0], t->y, p[i], t->y);
    }
    for (int i = 0; i < PLANS; i++)
        wg_plan_free(p[i]);
    wg_graph_free(t->g);
}

/* ---- an id for each number ------------------------------------------------------------------- */

typedef wg_value *scatter(const char *at, wg_value *x, wg_value *ids, wg_value *src, int axis);

/* gather, or one of the scatters, of [outer, size, width] by [outer, count, width]; `more` rows of
 * src.  The result may lie where x lies. */
static trial draw_trial(wg_dtype dtype, int64_t outer, int64_t size, int64_t count, int64_t width,
                        scatter *op, int64_t more)
{
    trial t = {.g = wg_graph_new(), .size = size, .width = width, .how = (alike)draw(ALIKES)};
    const wg_shape ids = outer == 1 ? WG_SHAPE(count, width) : WG_SHAPE(outer, count, width);
    wg_shape x = ids, src = ids;
    const int axis = ids.rank - 2;
    x.dim[axis] = size;
    src.dim[axis] += more;
    t.x = wg_input(t.g, "x", dtype, x);
    t.ids = wg_input(t.g, "ids", draw(2) ? WG_I64 : WG_I32, ids);
    if (!op) {
        t.y = wg_gather(t.x, t.ids, axis);
        return t;
    }
    t.src = wg_input(t.g, "src", dtype, src);
    t.y = op(WG_HERE, dtype != WG_U8 && draw(2) ? wg_shift(t.x, 1) : t.x, t.ids, t.src, axis);
    return t;
}

static scatter *const scatters[] = {NULL, (wg_scatter), (wg_scatter_add), (wg_scatter_max),
                                    (wg_scatter_min)};

/* A gather and each scatter of these sizes, in a dtype that simd has of it. */
static void each_op(int64_t outer, int64_t size, int64_t count, int64_t width)
{
    static const wg_dtype dtypes[] = {WG_F32, WG_F64, WG_I32, WG_I64};
    for (int i = 0; i < WG_COUNT(scatters); i++) {
        const trial t =
            draw_trial(dtypes[draw(4)], outer, size, count, width, scatters[i], draw(3));
        compare(&t, (width == 1 ? count : width) < 8 ? "reference" : "rows by id");
    }
}

static void rows_of_any_length(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 130, 1000};
    for (int i = 0; i < WG_COUNT(widths); i++) {
        each_op(1, 1 + draw(5), 1 + draw(100), widths[i]);
        each_op(1 + draw(3), 1 + draw(300), 1 + draw(300), widths[i]);
    }
}

static void one_row_and_many(void **state)
{
    (void)state;
    each_op(1, 1, 1, 8);
    each_op(1, 1, 5000, 33);
    each_op(1, 2, 1000, 520);
    each_op(1, 5000, 1, 33);
    each_op(700, 3, 2, 9);
    each_op(2, 1700, 3000, 16);
}

static void lines_along_the_last_axis(void **state)
{
    (void)state;
    static const int64_t counts[] = {7, 8, 9, 63, 1000, 1024, 1025, 5000};
    for (int i = 0; i < WG_COUNT(counts); i++) {
        each_op(1, 1 + draw(9), counts[i], 1);
        each_op(1 + draw(300), 1 + draw(2000), counts[i], 1);
    }
}

/* What is neither of vectors nor of whole rows stays with the reference. */
static void others_are_left(void **state)
{
    (void)state;
    trial t = draw_trial(WG_U8, 1, 20, 30, 40, (wg_scatter), 0);
    compare(&t, "reference");
    t = (trial){.g = wg_graph_new(), .size = 40, .width = 7};
    t.x = wg_input(t.g, "x", WG_F32, WG_SHAPE(20, 40));
    t.ids = wg_input(t.g, "ids", WG_I64, WG_SHAPE(20, 7));
    t.y = wg_gather(t.x, t.ids, 1);
    compare(&t, "reference");
    t = (trial){.g = wg_graph_new(), .size = 20, .width = 39};
    t.x = wg_input(t.g, "x", WG_F32, WG_SHAPE(20, 40));
    t.ids = wg_input(t.g, "ids", WG_I64, WG_SHAPE(30, 39));
    t.y = wg_gather(t.x, t.ids, 0);
    compare(&t, "reference");
}

static void ids_outside_are_reported(void **state)
{
    (void)state;
    for (int turn = 0; turn < 60; turn++) {
        const int64_t size = 1 + draw(50);
        trial t = draw_trial(draw(2) ? WG_F32 : WG_F64, 1 + draw(2), size, 8 + draw(900),
                             draw(3) ? 8 + draw(30) : 1, scatters[turn % WG_COUNT(scatters)], 0);
        t.fails = true;
        t.wrong = turn % 3 == 0 ? -1 : turn % 3 == 1 ? size : size + draw(1 << 30);
        if (t.ids->dtype == WG_I64 && draw(2))
            t.wrong = draw(2) ? INT64_MIN + draw(9) : INT64_MAX - draw(9);
        compare(&t, "rows by id");
    }
}

/* ---- segments -------------------------------------------------------------------------------- */

static void segment(wg_dtype dtype, int64_t outer, int64_t size, int64_t count, int64_t width)
{
    typedef wg_value *segments(const char *at, wg_value *x, wg_value *ids, int axis, int64_t n);
    static segments *const ops[] = {(wg_segment_sum), (wg_segment_max), (wg_segment_min)};
    for (int op = 0; op < WG_COUNT(ops); op++) {
        trial t = {.g = wg_graph_new(), .size = size, .width = 1};
        const int axis = outer > 1 || draw(2); /* 0: the sums of f32 have a kernel of their own */
        const bool matrix = count % 2 == 0 && draw(2), sum = axis == 0 && op == 0;
        const wg_shape ids = matrix ? WG_SHAPE(2, count / 2) : WG_SHAPE(count);
        wg_shape x = {.rank = 0};
        if (axis)
            x.dim[x.rank++] = outer;
        for (int i = 0; i < ids.rank; i++)
            x.dim[x.rank++] = ids.dim[i];
        x.dim[x.rank++] = width;
        t.x = wg_input(t.g, "x", dtype, x);
        t.ids = wg_input(t.g, "ids", draw(2) ? WG_I64 : WG_I32, ids);
        t.y = ops[op](WG_HERE, t.x, t.ids, axis, size);
        t.fails = draw(8) == 0;
        t.wrong = draw(2) ? -1 : size;
        compare(&t, width < 8 && !(sum && dtype == WG_F32) ? "reference" : "rows by id");
    }
}

static void segments_are_the_same(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 7, 8, 9, 16, 17, 33, 64, 65, 300};
    for (int i = 0; i < WG_COUNT(widths); i++)
        for (int f64 = 0; f64 < 2; f64++) {
            segment(f64 ? WG_F64 : WG_F32, 1, 1 + draw(5), 1 + draw(500), widths[i]);
            segment(f64 ? WG_F64 : WG_F32, 1 + draw(4), 1 + draw(500), 1 + draw(500), widths[i]);
        }
    segment(WG_F64, 1, 3000, 1, 16);
    segment(WG_F64, 1, 1, 3000, 16);
    segment(WG_F32, 500, 2, 3, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_any_length),        cmocka_unit_test(one_row_and_many),
        cmocka_unit_test(lines_along_the_last_axis), cmocka_unit_test(others_are_left),
        cmocka_unit_test(ids_outside_are_reported),  cmocka_unit_test(segments_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
