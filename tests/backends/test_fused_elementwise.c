/* Elementwise nodes that a plan computes together: random graphs of them have the same bits as one
 * by one; limits hold; and whoever makes NaN is still named. */
#include "graph/element.h"
#include "ops/steps.h"
#include "tests/plans.h"
#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/fused.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <math.h>
#include <string.h>

static uint32_t next(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525 + 1013904223;
    return (*state >> 8) % below;
}

/* ---- random graphs --------------------------------------------------------------------------- */

enum { LEAVES = 7, NODES = 90, SHAPES = 10 };

typedef struct maze {
    wg_graph *g;
    wg_value *leaf[LEAVES];
    /* of the dtype of the leaves, and of the other one */
    wg_value *floats[2][NODES + 2 * LEAVES], *bools[NODES + 2];
    int n_floats[2], n_bools, n_out, kind; /* of the next node */
} maze;

/* A row of f32 [4, 1500] has the bytes of all its bools, and so has one of f64 [4, 2, 700].  Of the
 * last two, many rows are in a strip. */
static const wg_shape shapes[SHAPES] = {
    {0, {0}},    {1, {1}},       {2, {3, 5}},      {3, {4, 7, 33}},    {2, {300, 41}},
    {1, {9001}}, {2, {4, 1500}}, {3, {4, 2, 700}}, {4, {37, 5, 3, 2}}, {3, {90, 70, 7}},
};

/* The shape itself, one number, or one that is broadcast along some axes. */
static wg_shape operand_shape(const wg_shape *s, int k)
{
    wg_shape x = *s;
    if (k == 1)
        return (wg_shape){0};
    if (k == 2 && s->rank > 1)
        return (wg_shape){1, {s->dim[s->rank - 1]}};
    for (int i = 0; i < s->rank && k > 2 && k < 5; i++)
        x.dim[i] = i % 2 == k % 2 ? 1 : x.dim[i];
    return x;
}

static wg_value *any_float(maze *m, uint32_t *r)
{
    /* mostly one of the last, so that chains are long */
    int n = m->n_floats[m->kind],
        back = (int)next(r, 4) ? (int)next(r, 4) : (int)next(r, (uint32_t)n);
    return m->floats[m->kind][n - 1 - (back < n ? back : n - 1)];
}

static wg_value *add_node(maze *m, uint32_t *r)
{
    static const wg_op *const unary[] = {
        &wg_op_neg,  &wg_op_abs,        &wg_op_square,    &wg_op_exp,  &wg_op_tanh, &wg_op_sigmoid,
        &wg_op_relu, &wg_op_silu,       &wg_op_softplus,  &wg_op_sin,  &wg_op_erf,  &wg_op_floor,
        &wg_op_atan, &wg_op_log1p,      &wg_op_sqrt,      &wg_op_sign, &wg_op_cosh, &wg_op_expm1,
        &wg_op_log,  &wg_op_reciprocal, &wg_op_hardswish,
    };
    static const wg_op *const binary[] = {
        &wg_op_add,     &wg_op_sub,   &wg_op_mul,       &wg_op_div,       &wg_op_maximum,
        &wg_op_minimum, &wg_op_atan2, &wg_op_relu_grad, &wg_op_silu_grad, &wg_op_remainder,
    };
    static const wg_op *const tests[] = {
        &wg_op_equal,      &wg_op_not_equal, &wg_op_less,
        &wg_op_less_equal, &wg_op_greater,   &wg_op_greater_equal,
    };
    wg_value *a = any_float(m, r), *b = any_float(m, r),
             *w = m->bools[next(r, (uint32_t)m->n_bools)];
    switch (next(r, 14)) {
    case 0:
    case 1:
    case 2:
    case 3: return wg_apply1(WG_HERE, unary[next(r, WG_COUNT(unary))], NULL, a);
    case 4:
    case 5: {
        const wg_op *op = binary[next(r, WG_COUNT(binary))];
        bool grad = op == &wg_op_relu_grad || op == &wg_op_silu_grad;
        return wg_apply2(WG_HERE, op, NULL, a, grad ? a : b);
    }
    case 6: return wg_apply2(WG_HERE, tests[next(r, WG_COUNT(tests))], NULL, a, b);
    case 7: return wg_where(w, a, b);
    case 8: {
        wg_value *v = m->bools[next(r, (uint32_t)m->n_bools)];
        uint32_t how = next(r, 4);
        return how == 0   ? wg_logical_and(w, v)
               : how == 1 ? wg_logical_or(w, v)
               : how == 2 ? wg_logical_xor(w, v)
                          : wg_logical_not(w);
    }
    case 9: return wg_cast(w, a->dtype);
    case 10: return next(r, 2) ? wg_clamp(a, -0.5, 1.25) : wg_leaky_relu(a, 0.1);
    case 11: {
        uint32_t how = next(r, 3);
        return how == 0   ? wg_clamp_grad(a, next(r, 2) ? a : b, -0.5, 1.25)
               : how == 1 ? wg_hardswish_grad(a, a)
                          : wg_maximum_grad(a, b, any_float(m, r));
    }
    case 12: {
        wg_value *v = wg_fill(m->g, a->dtype, next(r, 2) ? a->shape : b->shape, 0.5);
        return next(r, 3) ? wg_sub(v, a) : wg_where(w, v, a);
    }
    default: return next(r, 2) ? wg_scale(a, 0.75) : wg_shift(a, -0.1);
    }
}

static void add_float(maze *m, int kind, wg_value *v)
{
    m->floats[kind][m->n_floats[kind]++] = v;
}

/* Of the last float: what forward nodes compute, backward ones read or compute again. */
static void add_gradient(maze *m)
{
    wg_value *last = m->floats[0][m->n_floats[0] - 1], *d[2];
    if (wg_grad(wg_sum(wg_sin(last), WG_ALL_AXES, WG_DROP), m->leaf, 2, d) != WG_OK)
        fail_msg("%s", wg_graph_message(m->g));
    for (int k = 0; k < 2; k++)
        if (d[k])
            wg_output(d[k], k ? "d1" : "d0");
}

/* The state takes a value from the middle of the graph: what reads its old one must not wait. */
static void assign_state(maze *m)
{
    wg_value *state = m->leaf[0];
    for (int i = LEAVES + NODES / 3; i < m->n_floats[0]; i++)
        if (wg_shape_equal(&m->floats[0][i]->shape, &state->shape)) { /* two runs, so it is read */
            wg_value *next_state = wg_clamp(m->floats[0][i], -2, 2);
            wg_assign(state, next_state);
            wg_output(next_state, "next state");
            return;
        }
}

/* With `both`, some nodes are of the other dtype, and bools are of neither. */
static maze new_maze(wg_dtype dtype, bool both, bool with_grad, bool with_state,
                     const wg_shape *shape, uint32_t seed)
{
    maze m = {.g = wg_graph_new()};
    char name[20];
    for (int k = 0; k < LEAVES; k++) {
        snprintf(name, sizeof name, "x%d", k);
        wg_dtype own = k == 6 ? WG_BOOL : dtype;
        wg_shape of_leaf = operand_shape(shape, k == 6 ? 0 : k);
        m.leaf[k] = k == 0 && with_state ? wg_state(m.g, name, own, of_leaf, wg_zeros())
                                         : wg_input(m.g, name, own, of_leaf);
        if (k < 6)
            add_float(&m, 0, m.leaf[k]);
        else
            m.bools[m.n_bools++] = m.leaf[k];
    }
    for (int k = 1; k < 6; k++) /* for some, a broadcast of their own */
        add_float(&m, 0, wg_expand(m.leaf[k], *shape));
    for (int k = 0; k < 6; k++)
        add_float(&m, 1, wg_cast(m.leaf[k], dtype == WG_F32 ? WG_F64 : WG_F32));
    m.bools[m.n_bools++] = wg_expand(wg_less(m.leaf[1], m.leaf[1]), *shape);
    for (int i = 0; i < NODES; i++) {
        m.kind = both && next(&seed, 2);
        wg_value *y = add_node(&m, &seed);
        check_that(y != NULL, "%s", wg_graph_message(m.g));
        if (y->dtype == WG_BOOL)
            m.bools[m.n_bools++] = y;
        else
            add_float(&m, m.kind, y);
        if (next(&seed, 6) == 0 || i == NODES - 1)
            wg_output(y, (snprintf(name, sizeof name, "y%d", m.n_out++), name));
    }
    if (with_grad)
        add_gradient(&m);
    if (with_state)
        assign_state(&m);
    return m;
}

static void fill(const maze *m, wg_plan *p)
{
    for (int k = 0; k < LEAVES; k++) {
        uint32_t r = 5 + (uint32_t)k;
        for (int64_t i = 0; i < wg_value_count(m->leaf[k]); i++) {
            double x = (double)next(&r, 4001) / 1000 - 2;
            if (m->leaf[k]->dtype == WG_F32)
                wg_plan_f32(p, m->leaf[k])[i] = (float)x;
            else if (m->leaf[k]->dtype == WG_F64)
                wg_plan_f64(p, m->leaf[k])[i] = x;
            else
                ((uint8_t *)wg_plan_data(p, m->leaf[k]))[i] = x > 0;
        }
    }
}

static wg_plan *plan_of_maze(const maze *m, int threads, bool no_fuse)
{
    const wg_plan_options o = {.threads = threads, .no_fuse = no_fuse};
    wg_plan *p;
    check_that(wg_plan_create(&p, m->g, &o) == WG_OK, "%s", wg_graph_message(m->g));
    check_that(wg_plan_check(p) == WG_OK, "%s", wg_plan_message(p));
    fill(m, p);
    for (uint64_t step = 0; step < 2; step++)
        run(p, step);
    return p;
}

static int fused_steps(const wg_plan *p, int *nodes)
{
    wgi_element_step step[WGI_STEPS];
    int steps = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        const wg_node *n = wg_plan_step_at(p, i).node;
        if (n->op != &wg_op_fused_elementwise)
            continue;
        int k = wgi_steps_read(((const wg_fused_elementwise_attrs *)n->attrs)->steps, step);
        assert_true(k >= 1 && k <= WGI_STEPS && n->n_in <= WGI_STEP_OPERANDS &&
                    n->n_out <= WGI_STEP_RESULTS);
        steps += k;
        ++*nodes;
    }
    return steps;
}

/* Of the same bits, NaN too, of which the sign may differ. */
static int64_t compare(const maze *m, wg_plan *a, wg_plan *b)
{
    int64_t compared = 0;
    for (size_t i = 0; i < wg_graph_output_count(m->g); i++) {
        const wg_value *v = wg_graph_output(m->g, i);
        const char *x = wg_plan_data(a, v), *y = wg_plan_data(b, v);
        size_t size = wg_dtype_size(v->dtype);
        for (int64_t k = 0; k < wg_value_count(v); k++, compared++) {
            const char *u = x + (size_t)k * size, *w = y + (size_t)k * size;
            bool nan =
                isnan(wgi_get_element(x, v->dtype, k)) && isnan(wgi_get_element(y, v->dtype, k));
            check_that(nan || memcmp(u, w, size) == 0, "output %zu of %s, element %lld", i,
                       v->node->op->name, (long long)k);
        }
    }
    return compared;
}

static void random_graphs_have_the_bits_of_plain_ones(void **state)
{
    (void)state;
    int64_t compared = 0;
    int steps = 0, nodes = 0;
    for (uint32_t seed = 0; seed < 120; seed++) {
        maze m = new_maze(seed % 3 ? WG_F32 : WG_F64, seed % 4 == 0, seed % 5 < 3, seed % 7 < 3,
                          &shapes[seed % SHAPES], 77 * seed + 1);
        wg_plan *plain = plan_of_maze(&m, 1, true), *one = plan_of_maze(&m, 1, false),
                *three = plan_of_maze(&m, 3, false);
        compared += compare(&m, one, plain) + compare(&m, three, plain);
        steps += fused_steps(one, &nodes);
        wg_plan_free(plain);
        wg_plan_free(one);
        wg_plan_free(three);
        wg_graph_free(m.g);
    }
    print_message("%lld numbers of %d steps in %d nodes\n", (long long)compared, steps, nodes);
    assert_true(compared > 10000000 && steps > 800 && nodes > 150);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static void long_chains_are_cut(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(100)), *y = x;
    for (int i = 0; i < 500; i++)
        y = i % 2 ? wg_tanh(y) : wg_shift(y, 0.01 * (i % 5));
    wg_output(y, "y");
    wg_plan *p = plan_of(g, NULL);
    int nodes = 0;
    assert_int_equal(fused_steps(p, &nodes), 500);
    wg_plan_free(p);
    wg_graph_free(g);
    assert_true(nodes >= 500 / WGI_STEPS && nodes <= 2 + 500 / WGI_STEPS);
}

/* Two halves of a chain around a product: it must not move behind what it is read by. */
static void others_are_read_and_read_in_order(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8, 8));
    wg_value *a = wg_tanh(wg_scale(x, 2)), *b = wg_matmul(a, x);
    wg_output(wg_mul(wg_exp(wg_add(a, b)), a), "y");
    wg_plan *p = plan_of(g, NULL);
    int nodes = 0;
    assert_int_equal(fused_steps(p, &nodes), 4); /* the sum is part of the product */
    assert_int_equal(nodes, 2);
    assert_int_equal(wg_plan_check(p), WG_OK);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* A sum to which products are added one after the other must not wait for all of them. */
static void sums_do_not_wait_for_their_terms(void **state)
{
    (void)state;
    enum { TERMS = 12, N = 64 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(N, N)), *sum = x;
    for (int i = 0; i < TERMS; i++) {
        wg_value *term = wg_cumsum(wg_cumsum(wg_scale(x, i + 1), 0, 0), 1, 0);
        sum = wg_add(wg_scale(sum, 0.5), wg_cumsum(term, 0, 0));
    }
    wg_output(sum, "y");
    wg_plan *fused = plan_of(g, NULL), *plain = plan_of(g, &(wg_plan_options){.no_fuse = true});
    size_t a = wg_plan_statistics(fused).live_bytes, b = wg_plan_statistics(plain).live_bytes;
    int nodes = 0;
    assert_true(fused_steps(fused, &nodes) > TERMS);
    check_that(a <= b, "%zu bytes, %zu one by one", a, b);
    wg_plan_free(fused);
    wg_plan_free(plain);
    wg_graph_free(g);
}

/* The gradient of d max(d, 0) clamp(d), d = t - x, needs all three, of which two are a step away
 * from the first.  The numbers are right as well if the run writes x. */
static void cheap_values_are_computed_again(void **state)
{
    (void)state;
    enum { N = 5000, BYTES = 4 * N };
    for (int is_state = 0; is_state < 2; is_state++) {
        wg_graph *g = wg_graph_new();
        wg_value *x = is_state ? wg_state(g, "x", WG_F32, WG_SHAPE(N), wg_zeros())
                               : wg_input(g, "x", WG_F32, WG_SHAPE(N));
        wg_value *t = wg_input(g, "t", WG_F32, WG_SHAPE(N)), *dt;
        wg_value *d = wg_sub(t, x);
        wg_value *loss =
            wg_mean(wg_mul(wg_mul(d, wg_relu(d)), wg_clamp(d, -3, 5)), WG_ALL_AXES, WG_DROP);
        if (is_state)
            wg_assign(x, wg_cumsum(x, 0, 0));
        wg_output(loss, "loss");
        check_that(wg_grad(loss, &t, 1, &dt) == WG_OK, "%s", wg_graph_message(g));
        wg_output(dt, "dt");
        wg_plan *p = plan_of(g, NULL), *plain = plan_of(g, &(wg_plan_options){.no_fuse = true});
        size_t bytes = wg_plan_statistics(p).live_bytes;
        int nodes = 0, steps = fused_steps(p, &nodes);
        if (!is_state)
            check_that(steps > 14 && bytes < 3 * BYTES, "%d steps, %zu bytes", steps, bytes);
        const maze both = {.g = g, .leaf = {x, t}};
        wg_plan *const each[] = {p, plain};
        for (int k = 0; k < 2; k++) {
            for (int i = 0; i < N; i++)
                wg_plan_f32(each[k], x)[i] = wg_plan_f32(each[k], t)[N - 1 - i] =
                    (float)(i % 17) - 8;
            run(each[k], 0);
        }
        assert_true(compare(&both, p, plain) > N);
        wg_plan_free(p);
        wg_plan_free(plain);
        wg_graph_free(g);
    }
}

/* Two later groups read |y|, and one of them y: what the first takes over, the second cannot count
 * on. */
static void what_one_takes_over_another_does_not_read(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    const wg_shape shape = WG_SHAPE(16, 6);
    wg_value *x = wg_input(g, "x", WG_F32, shape), *z = wg_input(g, "z", WG_F32, shape),
             *c = wg_input(g, "c", WG_BOOL, shape);
    wg_value *y = wg_where(c, x, x), *size = wg_abs(y), *log = wg_log(size), *t = wg_tanh(y),
             *q = wg_tanh(z);
    wg_origin origin = wg_graph_origin(g);
    origin.phase = WG_BACKWARD;
    wg_graph_set_origin(g, origin);
    wg_value *square = wg_square(t), *ratio = wg_div(wg_mul(q, log), size);
    wg_value *out = wg_output(wg_add(square, wg_mul(ratio, wg_sign(y))), "out");
    wg_plan *p = plan_of(g, NULL), *plain = plan_of(g, &(wg_plan_options){.no_fuse = true});
    wg_plan *const each[] = {p, plain};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 96; i++) {
            wg_plan_f32(each[k], x)[i] = 0.25F * (float)(i % 13) - 1.6F;
            wg_plan_f32(each[k], z)[i] = 0.5F - 0.125F * (float)(i % 7);
            ((uint8_t *)wg_plan_data(each[k], c))[i] = i % 3 == 0;
        }
        run(each[k], 0);
    }
    assert_memory_equal(wg_plan_data(p, out), wg_plan_data(plain, out), 96 * sizeof(float));
    wg_plan_free(p);
    wg_plan_free(plain);
    wg_graph_free(g);
}

/* A row of four bytes an element has as many bytes as the bools of four rows, but may not become
 * them: later rows read it again. */
static void bools_do_not_overwrite_a_row(void **state)
{
    (void)state;
    enum { B = 4, N = 300 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(B, N)), *dx;
    wg_value *largest = wg_max(wg_tanh(x), WG_AXES(0), WG_DROP);
    wg_value *loss = wg_sum(wg_square(largest), WG_ALL_AXES, WG_DROP);
    check_that(wg_grad(loss, &x, 1, &dx) == WG_OK, "%s", wg_graph_message(g));
    wg_output(dx, "dx");
    wg_plan *p = plan_of(g, NULL);
    for (int i = 0; i < B * N; i++)
        wg_plan_f32(p, x)[i] = (float)(i * 7919 % 1201) / 500 - 1;
    run(p, 0);
    int nonzero = 0;
    for (int i = 0; i < N; i++) {
        double sum = 0, most = -2;
        for (int k = 0; k < B; k++) {
            sum += (double)floats(p, dx)[k * N + i];
            most = fmax(most, tanh((double)(float)wg_plan_f32(p, x)[k * N + i]));
        }
        double expected = 2 * most * (1 - most * most);
        check_that(fabs(sum - expected) <= 1e-5, "column %d: %g, not %g", i, sum, expected);
        nonzero += fabs(expected) > 1e-3;
    }
    assert_true(nonzero > 250);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* What has bools alone goes with f32 or f64, but not with both. */
static void two_float_dtypes_make_two_nodes(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *m = wg_input(g, "m", WG_BOOL, WG_SHAPE(6)),
             *x = wg_input(g, "x", WG_F32, WG_SHAPE(6)), *y = wg_input(g, "y", WG_F64, WG_SHAPE(6));
    wg_value *w = wg_logical_not(m),
             *both = wg_logical_and(wg_less(x, wg_neg(x)), wg_less(y, wg_neg(y)));
    wg_output(wg_mul(wg_cast(w, WG_F32), x), "a");
    wg_output(wg_mul(wg_cast(w, WG_F64), y), "b");
    wg_output(wg_where(wg_logical_or(both, w), x, wg_square(x)), "c");
    wg_plan *p = plan_of(g, NULL), *plain = plan_of(g, &(wg_plan_options){.no_fuse = true});
    wg_plan *const each[] = {p, plain};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 6; i++) {
            ((uint8_t *)wg_plan_data(each[k], m))[i] = i % 2 == 1;
            wg_plan_f32(each[k], x)[i] = (float)i - 2.5F;
            wg_plan_f64(each[k], y)[i] = 1.5 - i;
        }
        assert_int_equal(wg_plan_run(each[k], 0), WG_OK);
    }
    const maze all = {.g = g};
    assert_int_equal(compare(&all, p, plain), 18);
    int nodes = 0;
    assert_true(fused_steps(p, &nodes) >= 6 && nodes >= 2);
    wg_plan_free(p);
    wg_plan_free(plain);
    wg_graph_free(g);
}

/* Constants are still folded, and phases and shapes stay apart. */
static void what_is_constant_is_not_computed_in_a_run(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(6));
    wg_value *table = wg_exp(wg_sin(wg_iota(g, WG_F32, WG_SHAPE(6), 0, 0, 1)));
    wg_output(wg_mul(wg_neg(x), table), "y");
    wg_plan *p = plan_of(g, NULL);
    int nodes = 0;
    assert_int_equal(fused_steps(p, &nodes), 2);
    assert_int_equal(wg_plan_step_count(p), 1);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* ---- numbers that are none ------------------------------------------------------------------- */

/* The result overwrites x, so that the step is found from a copy of it. */
static void the_step_that_makes_nan_is_named(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(3, 100)),
             *b = wg_input(g, "b", WG_F32, WG_SHAPE(3, 1));
    wg_value *h = wg_dropout(x, 0.25);
    wg_scope_push(g, "body");
    wg_value *root = wg_sqrt(wg_add(h, b));
    int line = __LINE__ - 1;
    wg_scope_pop(g);
    wg_output(wg_exp(wg_neg(root)), "y");
    wg_plan *p = plan_of(g, NULL);
    char expected[100];
    snprintf(expected, sizeof expected,
             "result 0 is NaN at element [2,0] (test_fused_elementwise.c:%d)", line);
    memcpy(wg_plan_data(p, b), (float[]){0, 1, -5}, 3 * sizeof(float));
    for (int i = 0; i < 300; i++)
        wg_plan_f32(p, x)[i] = 1;
    const wg_node *n = wg_plan_first_nonfinite(p, 0);
    assert_true(n && n->op == &wg_op_sqrt);
    const char *got = wg_plan_message(p);
    check_that(strstr(got, "body: sqrt(") == got && strstr(got, expected), "%s", got);
    int nodes = 0, in_place = 0;
    assert_int_equal(fused_steps(p, &nodes), 4);
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        in_place += wg_plan_step_at(p, i).node->op == &wg_op_fused_elementwise &&
                    wg_plan_step_at(p, i).inplace;
    assert_int_equal(in_place, 1);
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_have_the_bits_of_plain_ones),
        cmocka_unit_test(long_chains_are_cut),
        cmocka_unit_test(others_are_read_and_read_in_order),
        cmocka_unit_test(sums_do_not_wait_for_their_terms),
        cmocka_unit_test(cheap_values_are_computed_again),
        cmocka_unit_test(what_one_takes_over_another_does_not_read),
        cmocka_unit_test(bools_do_not_overwrite_a_row),
        cmocka_unit_test(two_float_dtypes_make_two_nodes),
        cmocka_unit_test(what_is_constant_is_not_computed_in_a_run),
        cmocka_unit_test(the_step_that_makes_nan_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
