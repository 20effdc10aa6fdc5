/* wg_vmap: row k of a batch is what the graph gives for example k alone, for every op of the table,
 * on every sample, for every choice of batched operands. */
#include "graph/element.h"
#include "tests/sample.h"
#include "wengert/autograd/vmap.h"
#include "wengert/backends/plan.h"

#include <math.h>

enum { K = 3 };

/* A sample whose chosen operands are also there K times. */
typedef struct batch {
    sample_graph b;
    wg_value *x[WG_MAX_SAMPLE_OPERANDS], *xb[WG_MAX_SAMPLE_OPERANDS];
    const wg_sample_operand *from[WG_MAX_SAMPLE_OPERANDS];
    size_t n;
    wg_value *y[16], *yb[16];
    size_t n_y;
} batch;

static wg_shape with_k(const wg_shape *s)
{
    wg_shape wide = {.rank = s->rank + 1, .dim = {K}};
    for (int i = 0; i < s->rank; i++)
        wide.dim[i + 1] = s->dim[i];
    return wide;
}

static batch batch_of(const wg_op *op, const wg_sample *s, unsigned chosen)
{
    batch t = {.b = sample_build(op, s, WG_F64, 1)};
    check_that(t.b.node != NULL, "%s: %s", op->name, wg_graph_message(t.b.g));
    for (int i = 0; i < s->n_in; i++)
        if (chosen >> i & 1) {
            char name[32];
            snprintf(name, sizeof name, "xb%d", i);
            t.x[t.n] = t.b.in[i];
            t.from[t.n] = &s->in[i];
            t.xb[t.n] = wg_input(t.b.g, name, t.x[t.n]->dtype, with_k(&t.x[t.n]->shape));
            t.n++;
        }
    for (; t.n_y < (size_t)t.b.node->n_out && t.n_y < 16; t.n_y++)
        t.y[t.n_y] = t.b.node->out[t.n_y];
    check_that(wg_vmap(t.y, t.n_y, t.x, t.xb, t.n, t.yb) == WG_OK, "%s, %s, operands %x: %s",
               op->name, sample_name(s), chosen, wg_graph_message(t.b.g));
    for (size_t j = 0; j < t.n_y; j++)
        wg_output(t.y[j], NULL), wg_output(t.yb[j], NULL);
    return t;
}

static double tolerance(wg_dtype dtype)
{
    return dtype == WG_F64 ? 1e-11 : dtype == WG_F32 ? 1e-5 : wg_dtype_is_half(dtype) ? 1e-2 : 0;
}

/* Row k of each yb against y. */
static size_t compare(const batch *t, wg_plan *p, size_t k, const char *what, unsigned chosen)
{
    size_t compared = 0;
    for (size_t j = 0; j < t->n_y; j++) {
        const wg_value *y = t->y[j], *yb = t->yb[j];
        wg_shape wanted = with_k(&y->shape);
        check_that(yb->dtype == y->dtype && wg_shape_equal(&yb->shape, &wanted),
                   "%s, operands %x: wrong shape of result %zu", what, chosen, j);
        int64_t count = wg_value_count(y);
        for (int64_t i = 0; i < count; i++, compared++) {
            double one = wgi_get_element(wg_plan_data(p, y), y->dtype, i),
                   row = wgi_get_element(wg_plan_data(p, yb), y->dtype, (int64_t)k * count + i);
            double scale = fabs(one) > 1 ? fabs(one) : 1;
            bool same = one == row || (isnan(one) && isnan(row));
            if (!same && !(fabs(one - row) <= tolerance(y->dtype) * scale))
                fail_msg("%s, operands %x: result %zu of example %zu is %.17g, alone %.17g", what,
                         chosen, j, k, row, one);
        }
    }
    return compared;
}

static size_t check(const wg_op *op, const wg_sample *s, unsigned chosen)
{
    batch t = batch_of(op, s, chosen);
    wg_plan *p;
    size_t compared = 0;
    uint64_t seed = 7;
    check_that(wg_plan_create(&p, t.b.g, &(wg_plan_options){.threads = 1}) == WG_OK, "%s: %s",
               op->name, wg_graph_message(t.b.g));
    for (int i = 0; i < t.b.n_in; i++)
        memcpy(wg_plan_data(p, t.b.in[i]), t.b.data[i], wg_value_bytes(t.b.in[i]));
    for (size_t i = 0; i < t.n; i++)
        sample_fill(op, t.from[i], t.xb[i], wg_plan_data(p, t.xb[i]), &seed);
    for (size_t k = 0; k < K; k++) {
        for (size_t i = 0; i < t.n; i++) {
            size_t bytes = wg_value_bytes(t.x[i]);
            memcpy(wg_plan_data(p, t.x[i]), (char *)wg_plan_data(p, t.xb[i]) + k * bytes, bytes);
        }
        check_that(wg_plan_run(p, 5) == WG_OK, "%s: %s", op->name, wg_plan_message(p));
        compared += compare(&t, p, k, op->name, chosen);
    }
    wg_plan_free(p);
    sample_free(&t.b);
    return compared;
}

static bool has_room(const wg_op *op, const wg_sample *s)
{
    sample_graph b = sample_shapes(op, s, WG_F64, 1);
    bool room = b.node != NULL;
    for (int i = 0; room && i < b.node->n_out; i++)
        room = b.node->out[i]->shape.rank < WG_MAX_RANK;
    for (int i = 0; i < s->n_in; i++)
        room &= s->in[i].shape.rank < WG_MAX_RANK;
    wg_graph_free(b.g);
    return room;
}

static void every_op_with_every_choice_of_operands(void **state)
{
    (void)state;
    size_t compared = 0, cases = 0;
    FOR_EACH_SAMPLE(op, s)
    {
        if (s->n_in == 0 || !has_room(op, s))
            continue;
        unsigned all = (1u << s->n_in) - 1;
        for (unsigned chosen = 1; chosen <= all; chosen++, cases++) {
            if (s->n_in > 3 && chosen != all && (chosen & (chosen - 1)) != 0)
                continue; /* of many operands: one or all */
            compared += check(op, s, chosen);
        }
    }
    print_message("%zu elements in %zu cases\n", compared, cases);
    assert_true(compared > 10000);
}

/* Nodes that a rule, an expansion and the elementwise form make: no copies for each example. */
static void an_mlp_stays_as_small_as_it_is(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(4)),
             *xb = wg_input(g, "xb", WG_F32, WG_SHAPE(100, 4));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(5, 4), wg_xavier(1));
    wg_value *h = wg_linear(wg_reshape(x, WG_SHAPE(1, 4)), w, NULL, WG_ACTIVATION_TANH);
    wg_value *y = wg_sum(wg_softmax(h, -1), WG_ALL_AXES, WG_DROP), *yb;
    size_t before = wg_graph_node_count(g);
    assert_int_equal(wg_vmap(&y, 1, &x, &xb, 1, &yb), WG_OK);
    assert_true(wg_graph_node_count(g) - before <= 5);
    assert_int_equal(yb->shape.rank, 1);
    assert_int_equal(yb->shape.dim[0], 100);
    wg_graph_free(g);
}

static void what_does_not_depend_on_x_is_repeated(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2)),
             *xb = wg_input(g, "xb", WG_F32, WG_SHAPE(3, 2));
    wg_value *y = wg_fill(g, WG_F32, WG_SHAPE(2), 7), *yb;
    assert_int_equal(wg_vmap(&y, 1, &x, &xb, 1, &yb), WG_OK);
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.outputs = &yb, .n_outputs = 1}),
                     WG_OK);
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    for (int i = 0; i < 6; i++)
        assert_true(((float *)wg_plan_data(p, yb))[i] == 7);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void refused(wg_graph *g, wg_value *y, wg_value *x, wg_value *xb, wg_status status,
                    const char *words)
{
    wg_value *yb;
    assert_int_equal(wg_vmap(&y, 1, &x, &xb, 1, &yb), status);
    assert_null(yb);
    check_that(strstr(wg_graph_message(g), words), "%s", wg_graph_message(g));
    wg_graph_free(g);
}

static void bad_arguments(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2)), *y = wg_exp(x);
        wg_value *other = wg_input(g, "o", WG_F32, WG_SHAPE(3, 4)),
                 *ints = wg_input(g, "i", WG_I32, WG_SHAPE(3, 2)),
                 *none = wg_input(g, "n", WG_F32, WG_SHAPE(0, 2));
        switch (which) {
        case 0:
            refused(g, y, x, other, WG_ESHAPE, "x[0] is [2], its batch is [3,4], must be [3,2]");
            break;
        case 1: refused(g, y, x, ints, WG_EDTYPE, "x[0] is f32, its batch i32"); break;
        case 2: refused(g, y, x, none, WG_ESHAPE, "must be [K,2] with K > 0"); break;
        default: refused(g, NULL, x, other, WG_EINVAL, "y[0] is NULL"); break;
        }
    }
    wg_value *yb = NULL, *y = NULL;
    assert_int_equal(wg_vmap(&y, 1, NULL, NULL, 0, &yb), WG_EINVAL);
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2)), *twice[] = {x, x},
             *batches[] = {wg_input(g, "a", WG_F32, WG_SHAPE(3, 2)),
                           wg_input(g, "b", WG_F32, WG_SHAPE(3, 2))};
    y = wg_exp(x);
    assert_int_equal(wg_vmap(&y, 1, twice, batches, 2, &yb), WG_EINVAL);
    assert_non_null(strstr(wg_graph_message(g), "x[0] and x[1] are one value, but have two"));
    wg_graph_free(g);
}

static void lists_that_are_missing_are_refused(void **state)
{
    (void)state;
    static const char *const says[] = {"x", "xb", "x", "y", "yb"};
    for (int i = 0; i < WG_COUNT(says); i++) {
        char expected[60];
        wg_graph *g = wg_graph_new();
        wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2)), *y = wg_exp(x), *yb = x, *null = NULL;
        wg_value *xb = wg_input(g, "xb", WG_F32, WG_SHAPE(3, 2));
        wg_status status = wg_vmap(i == 3 ? NULL : &y, 1,
                                   i == 0   ? NULL
                                   : i == 2 ? &null
                                            : &x,
                                   i == 1 ? NULL : &xb, 1, i == 4 ? NULL : &yb);
        assert_int_equal(status, WG_EINVAL);
        assert_true(i == 4 || !yb);
        snprintf(expected, sizeof expected, "wg_vmap: the array %s is NULL or empty", says[i]);
        check_that(strstr(wg_graph_message(g), expected) == wg_graph_message(g), "%s",
                   wg_graph_message(g));
        wg_graph_free(g);
    }
    wg_graph *g = wg_graph_new(), *another = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2)), *y = wg_exp(x);
    wg_value *xb = wg_input(g, "xb", WG_F32, WG_SHAPE(3, 2));
    wg_value *far = wg_input(another, "far", WG_F32, WG_SHAPE(3, 2));
    assert_int_equal(wg_vmap(NULL, 0, &x, &xb, 1, NULL), WG_OK);
    assert_int_equal(wg_graph_status(g), WG_OK);
    refused(g, y, x, far, WG_EINVAL, "xb[0] is of another graph");
    g = wg_graph_new();
    x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    xb = wg_input(g, "xb", WG_F32, WG_SHAPE(3, 2));
    refused(g, far, x, xb, WG_EINVAL, "y[0] is of another graph");
    g = wg_graph_new();
    x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    refused(g, wg_exp(x), x, NULL, WG_EINVAL, "x[0] or its batch is NULL");
    wg_graph_free(another);
}

static void no_room_for_an_axis(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2)),
             *xb = wg_input(g, "xb", WG_F32, WG_SHAPE(3, 2));
    wg_value *y = wg_exp(wg_reshape(x, WG_SHAPE(1, 1, 1, 1, 1, 1, 1, 2)));
    refused(g, y, x, xb, WG_ESHAPE, "reshape has 8 axes, no room for another");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_op_with_every_choice_of_operands),
        cmocka_unit_test(an_mlp_stays_as_small_as_it_is),
        cmocka_unit_test(what_does_not_depend_on_x_is_repeated),
        cmocka_unit_test(bad_arguments),
        cmocka_unit_test(lists_that_are_missing_are_refused),
        cmocka_unit_test(no_room_for_an_axis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
