/* Sums over ranks in plans: begun as early and waited for as late as can be, also where a plan
 * keeps to a limit of memory; and nothing touches their memory in between. */
#include "tests/plans.h"
#include "backends/plan/planner.h"
#include "wengert/autograd/grad.h"
#include "wengert/models/layers.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/parse.h"

enum { LAYERS = 6, WIDTH = 24, ROWS = 40 };

/* A net, and updates p - g of its parameters, where each g is a sum over ranks of its own. */
typedef struct net {
    wg_graph *g;
    wg_value *x;
    wg_gradients d;
} net;

static net build_net(bool reduces)
{
    net n = {.g = wg_graph_new()};
    char name[20];
    n.x = wg_input(n.g, "x", WG_F32, WG_SHAPE(ROWS, WIDTH));
    wg_value *h = n.x;
    for (int i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "layer%d", i);
        h = wg_dense(name, h, WIDTH, WG_ACTIVATION_TANH);
    }
    wg_value *loss = wg_output(wg_mean(wg_square(h), WG_ALL_AXES, WG_DROP), "loss");
    n.d = wg_grad_all(loss);
    for (size_t i = 0; i < n.d.n && reduces; i++)
        wg_all_reduce(&n.d.grads[i], 1, (int64_t)i, &n.d.grads[i]);
    for (size_t i = 0; i < n.d.n; i++)
        wg_assign(n.d.params[i], wg_sub(n.d.params[i], wg_scale(n.d.grads[i], 0.1)));
    return n;
}

static bool is(const wgi_work *w, const wg_op *op)
{
    return w->node->op == op;
}

/* The place of the work that computes the root of v, -1: a leaf. */
static int64_t place_of(const wg_plan *p, const wg_value *v)
{
    while (wgi_is_view(v->node))
        v = v->node->in[0];
    for (size_t i = 0; i < p->program.n_work; i++)
        if (p->program.work[i].node == v->node)
            return (int64_t)i;
    return -1;
}

/* Each start follows what it reads, but for other starts; each wait has all behind it that does not
 * need one. */
static void sums_frame_the_rest(void **state)
{
    net n = build_net(true);
    wg_plan *p = plan_of(n.g, &(wg_plan_options){.threads = 1});
    int64_t first_wait = -1, starts = 0, between = 0;
    (void)state;
    for (size_t i = 0; i < p->program.n_work; i++) {
        const wgi_work *w = &p->program.work[i];
        if (is(w, &wgi_op_all_reduce_start)) {
            int64_t after = place_of(p, w->node->in[0]) + 1;
            while (after < (int64_t)i && is(&p->program.work[after], &wgi_op_all_reduce_start))
                after++;
            check_that(after == (int64_t)i, "start %zu could have been at %lld", i,
                       (long long)after);
            check_that(first_wait < 0, "a start comes after a wait");
            starts++;
        }
        if (is(w, &wgi_op_all_reduce_wait) && first_wait < 0)
            first_wait = (int64_t)i;
        between += starts > 0 && first_wait < 0 && !is(w, &wgi_op_all_reduce_start);
    }
    assert_int_equal(starts, 2 * LAYERS);
    check_that(between >= LAYERS, "%lld nodes under which sums are hidden", (long long)between);
    wg_plan_free(p);
    wg_graph_free(n.g);
}

static void fill_net(wg_plan *p, const net *n)
{
    float *x = wg_plan_data(p, n->x);
    for (int i = 0; i < ROWS * WIDTH; i++)
        x[i] = (float)(i * 7 % 23) / 11 - 1;
}

/* The parameters after three updates, by kernels whose scratch is the same on every processor. */
static size_t trained(bool reduces, size_t memory, bool poison, float *out)
{
    net n = build_net(reduces);
    wg_plan *p =
        plan_of(n.g, &(wg_plan_options){.reference = true, .memory = memory, .poison = poison});
    size_t count = 0;
    int64_t first_wait = -1, last_start = -1;
    fill_net(p, &n);
    for (uint64_t i = 0; i < 3; i++)
        run(p, i);
    for (size_t i = 0; i < p->program.n_work; i++) {
        if (is(&p->program.work[i], &wgi_op_all_reduce_start))
            last_start = (int64_t)i;
        if (is(&p->program.work[i], &wgi_op_all_reduce_wait) && first_wait < 0)
            first_wait = (int64_t)i;
    }
    check_that(last_start <= first_wait, "a start comes after a wait");
    for (size_t i = 0; i < n.d.n; i++) {
        const float *w = wg_plan_data(p, n.d.params[i]);
        for (int64_t k = 0; k < wg_value_count(n.d.params[i]); k++)
            out[count++] = w[k];
    }
    wg_plan_free(p);
    wg_graph_free(n.g);
    return count;
}

/* Alone, a sum is the identity; a limit of memory changes neither bits nor the order of sums. */
static void one_rank_has_the_same_bits(void **state)
{
    enum { MOST = LAYERS * WIDTH * (WIDTH + 1) };
    static float plain[MOST], other[MOST];
    net n = build_net(true);
    wg_plan *p = plan_of(n.g, &(wg_plan_options){.reference = true});
    wg_plan_stats s = wg_plan_statistics(p);
    size_t whole = s.leaf_bytes + s.buffer_bytes;
    (void)state;
    wg_plan_free(p);
    wg_graph_free(n.g);
    assert_int_equal(trained(false, 0, false, plain), MOST);
    for (int way = 0; way < 4; way++) {
        assert_int_equal(trained(true, way & 1 ? whole * 19 / 20 : 0, way & 2, other), MOST);
        assert_memory_equal(plain, other, sizeof plain);
    }
}

/* What is moved into the memory of a sum that is under way is noticed. */
static void memory_under_way_is_guarded(void **state)
{
    net n = build_net(true);
    wg_plan *p = plan_of(n.g, &(wg_plan_options){.threads = 1});
    int64_t sum = WGI_NONE;
    int moved = 0;
    (void)state;
    for (size_t i = 0; i < p->program.n_work; i++) {
        const wgi_work *w = &p->program.work[i];
        if (is(w, &wgi_op_all_reduce_wait))
            break;
        if (is(w, &wgi_op_all_reduce_start)) {
            int64_t s = p->layout.storage_of[w->node->out[0]->id];
            sum = p->layout.storage[s].bytes > 1000 ? s : sum;
            continue;
        }
        int64_t s = sum == WGI_NONE ? WGI_NONE : p->layout.storage_of[w->node->out[0]->id];
        if (s == WGI_NONE || p->layout.storage[s].kind != WGI_STORAGE_BUFFER ||
            p->layout.storage[s].first != (int64_t)i)
            continue;
        size_t offset = p->layout.storage[s].offset;
        p->layout.storage[s].offset = p->layout.storage[sum].offset;
        wgi_plan_wire(p);
        assert_int_equal(wg_plan_check(p), WG_EINVAL);
        p->layout.storage[s].offset = offset;
        wgi_plan_wire(p);
        assert_int_equal(wg_plan_check(p), WG_OK);
        moved++;
    }
    check_that(moved >= 3, "%d were moved", moved);
    wg_plan_free(p);
    wg_graph_free(n.g);
}

/* Only the planner makes a start and a wait: neither a program nor a file can read a sum that is
 * under way. */
static void no_graph_has_the_parts(void **state)
{
    static const char *const parts[] = {"all_reduce_start", "all_reduce_wait"};
    wg_graph *g = wg_graph_new(), *from_text;
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(5)), *y;
    (void)state;
    for (size_t i = 0; i < WG_COUNT(parts); i++) {
        char text[200];
        wg_error error;
        assert_null(wg_op_find(parts[i]));
        int length = snprintf(text, sizeof text,
                              "wengert-graph 1\n%%x = input : f32[5]\n"
                              "%%y = %s(%%x) {bucket=1}\noutput = %%y\n",
                              parts[i]);
        assert_int_equal(wg_graph_parse(&from_text, text, (size_t)length, NULL, &error), WG_EDATA);
        check_that(strstr(error.text, "no op 'all_reduce_"), "%s", error.text);
    }
    wg_all_reduce(&x, 1, 1, &y);
    assert_false(wg_expand_node(y->node, &y));
    assert_int_equal(wg_graph_status(g), WG_OK);
    wg_graph_free(g);
}

/* The proof of a plan notices who else reads a sum that is under way. */
static void a_sum_under_way_is_not_read(void **state)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(5));
    const wg_all_reduce_attrs a = {.bucket = 1};
    wg_value *y = wg_apply1(WG_HERE, &wgi_op_all_reduce_start, &a, x);
    wg_plan *p;
    (void)state;
    wg_output(wg_neg(y), NULL);
    assert_int_equal(wg_plan_create(&p, g, NULL), WG_OK);
    assert_int_equal(wg_plan_check(p), WG_EINVAL);
    assert_non_null(strstr(wg_plan_message(p), "is read before it is whole"));
    wg_plan_free(p);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_frame_the_rest),         cmocka_unit_test(one_rank_has_the_same_bits),
        cmocka_unit_test(memory_under_way_is_guarded), cmocka_unit_test(no_graph_has_the_parts),
        cmocka_unit_test(a_sum_under_way_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
