/* What a plan computes again to keep to a budget is no dearer than the best choice of scopes, which
 * an exhaustive search finds; and as arrays, that every sequence is one that can be run. */
#include "tests/plans.h"
#include "backends/plan/recompute.h"
#include "graph/mix.h"
#include "wengert.h"

enum { SCOPES = 5, CHOICES = 1 << SCOPES };

/* ---- models of five scopes ------------------------------------------------------------------- */

static wg_value *feed_forward(wg_graph *g, wg_value *x, int i)
{
    (void)g;
    wg_value *h = wg_dense("a", wg_layernorm_layer("norm", x), 32, WG_ACTIVATION_GELU);
    (void)i;
    return wg_add(x, wg_dense("b", wg_dropout(h, 0.1), 8, WG_ACTIVATION_NONE));
}

/* Scopes of several widths and costs. */
static wg_value *gated(wg_graph *g, wg_value *x, int i)
{
    (void)g;
    wg_value *h = wg_dense("a", x, 8 * (1 + i % 3), WG_ACTIVATION_NONE);
    return wg_dense("b", wg_mul(wg_tanh(h), wg_sigmoid(h)), 8, WG_ACTIVATION_RELU);
}

static wg_value *attention(wg_graph *g, wg_value *x, int i)
{
    (void)g;
    (void)i;
    wg_multi_head_options o = {.heads = 2, .causal = true};
    wg_value *h = wg_layernorm_layer("norm", x);
    return wg_add(x, wg_dropout(wg_multi_head_attention("self", h, h, &o), 0.1));
}

/* One of each. */
static wg_value *mixed(wg_graph *g, wg_value *x, int i)
{
    const wg_feed_forward_options gate = {.gated = true};
    (void)g;
    switch (i) {
    case 1: return wg_feed_forward("f", x, 16, &gate);
    case 3: return wg_dense("d", wg_silu(wg_dense("e", x, 12, 0)), 8, 0);
    case 4: return wg_dense("d", x, 16, WG_ACTIVATION_GELU);
    default: break;
    }
    wg_value *y = wg_feed_forward("f", wg_layernorm_layer("n", x), 24, NULL);
    return wg_add(x, wg_dropout(y, 0.1));
}

typedef wg_value *builder(wg_graph *g, wg_value *x, int i);

/* A training step in which the scopes of `marks` are marked for recomputation; `mixed` has larger
 * tensors and Adam. */
static wg_graph *step_of(builder *build, unsigned marks)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(build == mixed ? 64 : 2, 8, 8));
    for (int i = 0; i < SCOPES; i++) {
        char name[16];
        snprintf(name, sizeof name, "block%d", i);
        wg_scope_push(g, "%s", name);
        if (marks >> i & 1)
            wg_scope_recompute(g);
        x = build(g, x, i);
        wg_scope_pop(g);
    }
    wg_gradients d = wg_grad_all(wg_output(wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP), "loss"));
    if (build == mixed)
        wg_adam_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 0.01), NULL);
    for (size_t i = 0; i < d.n && build != mixed; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 0.1)));
    return g;
}

typedef struct choice {
    size_t bytes;
    double cost; /* operations, as the planner counts them */
} choice;

static choice plan_with(builder *build, unsigned marks, size_t memory)
{
    wg_graph *g = step_of(build, marks);
    wg_plan *p = plan_of(g, &(wg_plan_options){.reference = true, .memory = memory});
    wg_plan_stats s = wg_plan_statistics(p);
    wg_plan_free(p);
    wg_graph_free(g);
    return (choice){s.buffer_bytes + s.leaf_bytes, s.flops + WGI_OPERATIONS_PER_BYTE * s.bytes};
}

/* Compares at each budget that some choice of scopes needs and that no cheaper one keeps to;
 * returns how many there are. */
static int compare(const char *name, builder *build)
{
    static choice scopes[CHOICES];
    int compared = 0;
    double worst = 0;
    for (unsigned i = 0; i < CHOICES; i++)
        scopes[i] = plan_with(build, i, 0);
    for (unsigned i = 1; i < CHOICES; i++) {
        bool best = scopes[i].bytes < scopes[0].bytes;
        for (unsigned k = 0; k < CHOICES && best; k++) /* of equal ones the first */
            best = scopes[k].bytes > scopes[i].bytes || scopes[k].cost > scopes[i].cost ||
                   (k >= i && scopes[k].cost == scopes[i].cost);
        if (!best)
            continue;
        choice ours = plan_with(build, 0, scopes[i].bytes);
        assert_true(ours.bytes <= scopes[i].bytes);
        double ratio = (ours.cost - scopes[0].cost) / (scopes[i].cost - scopes[0].cost);
        worst = ratio > worst ? ratio : worst;
        compared++;
    }
    printf("%s: %d budgets; recomputed operations at most %.3f times those of the best scopes\n",
           name, compared, worst);
    check_that(worst <= 1.1, "%s: %.3f times the best choice of scopes", name, worst);
    return compared;
}

static void it_is_as_good_as_the_best_choice_of_scopes(void **state)
{
    (void)state;
    int compared = compare("feed-forward", feed_forward) + compare("gated", gated) +
                   compare("attention", attention);
    assert_true(compared >= 10);
}

/* Where the gaps of a layout exceed a limit by a few bytes, what is computed again is still about
 * what a little less memory needs, and not what the least memory does. */
static void a_larger_limit_does_not_cost_much_more(void **state)
{
    (void)state;
    enum { LIMITS = 80 };
    choice all = plan_with(mixed, 0, 0);
    double smaller = 0, most = 0;
    for (size_t i = LIMITS; i > 0; i--) { /* from 0.65 of what is needed to all but little */
        choice c = plan_with(mixed, 0, all.bytes - all.bytes * i * 35 / (100 * LIMITS));
        double cost = (c.cost - all.cost) / all.cost;
        most = i < LIMITS && cost - smaller > most ? cost - smaller : most;
        smaller = i < LIMITS && smaller < cost ? smaller : cost;
    }
    printf("a larger limit computes at most %.3f of a run more again\n", most);
    check_that(most <= 0.05, "%g of a run more", most);
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* A chain of n steps forward and n back, as of a net of n layers of one byte each: step i makes
 * value i; step n + k makes value n + k of value n + k - 1 and of value n - 1 - k. */
static void make_chain(wgi_steps *s, uint32_t n)
{
    uint32_t count = 2 * n;
    *s = (wgi_steps){.n_steps = count, .n_values = count, .bytes = count};
    s->step = calloc(count, sizeof *s->step);
    s->value = calloc(count, sizeof *s->value);
    s->in = calloc(2 * count, sizeof *s->in);
    s->out = calloc(count, sizeof *s->out);
    s->use = calloc(2 * count, sizeof *s->use);
    s->over = calloc(1, sizeof *s->over);
    s->first_over = calloc(count + 1, sizeof *s->first_over);
    uint32_t at = 0, used = 0;
    for (uint32_t i = 0; i < count; i++) {
        s->step[i] =
            (wgi_program_step){.first_in = at, .first_out = i, .end_out = i + 1, .cost = 1};
        if (i > 0)
            s->in[at++] = i - 1;
        if (i >= n && count - 1 - i != i - 1)
            s->in[at++] = count - 1 - i;
        s->step[i].end_in = at;
        s->out[i] = i;
    }
    for (uint32_t v = 0; v < count; v++) {
        s->value[v] = (wgi_step_value){.bytes = 1,
                                       .step = v,
                                       .first_use = used,
                                       .limit = INT64_MAX,
                                       .again = true,
                                       .kept = v + 1 == count};
        if (v + 1 < count)
            s->use[used++] = v + 1;
        if (v < n && count - 1 - v > v + 1)
            s->use[used++] = count - 1 - v;
        s->value[v].end_use = used;
    }
}

/* Runs the sequence on a table of what is there; returns the largest number of values. */
static size_t replay(const wgi_steps *s, const wgi_sequence *q)
{
    size_t n = s->n_values, most = 0, next = 0;
    int64_t *made = malloc(n * sizeof *made), *last = malloc((q->n + 1) * sizeof *last);
    assert_true(made && last);
    for (size_t v = 0; v < n; v++)
        made[v] = -1;
    for (size_t i = 0; i < q->n; i++) {
        const wgi_program_step *step = &s->step[q->step[i]];
        for (size_t k = step->first_in; k < step->end_in; k++) {
            assert_true(made[s->in[k]] >= 0);
            last[made[s->in[k]]] = (int64_t)i;
        }
        made[s->out[step->first_out]] = last[i] = (int64_t)i;
        assert_true(q->again[i] || q->step[i] == next++);
    }
    assert_int_equal(next, s->n_steps);
    for (size_t i = 0; i < q->n; i++) {
        size_t live = 0;
        for (size_t k = 0; k <= i; k++)
            live += last[k] >= (int64_t)i;
        most = live > most ? live : most;
    }
    free(made);
    free(last);
    return most;
}

/* A chain of n layers can be run in memory for about sqrt(n) values with one more forward pass
 * (Chen et al. 2016); with more passes, in less. */
static void a_chain_needs_memory_for_its_square_root(void **state)
{
    (void)state;
    enum { LAYERS = 100 };
    wgi_steps s;
    make_chain(&s, LAYERS);
    for (size_t bytes = 80; bytes >= 20; bytes -= 20) {
        wgi_sequence q;
        assert_int_equal(wgi_recompute_search(&s, bytes, &q), WGI_FITS);
        size_t most = replay(&s, &q);
        printf("%d layers in %zu bytes: %.0f steps again, at most %zu values\n", LAYERS, bytes,
               q.cost, most);
        assert_true(most <= bytes);
        check_that(q.cost <= 1.1 * LAYERS || bytes < 20, "%zu bytes: %.0f steps again", bytes,
                   q.cost);
        wgi_sequence_free(&q);
    }
    wgi_steps_free(&s);
}

/* A simulation ends where its cost is above what its rule allows, and at that cost it does not. */
static void a_run_ends_at_the_most_cost(void **state)
{
    (void)state;
    wgi_steps s;
    make_chain(&s, 100);
    wgi_rule rule = {.ancestors = true, .a = 1};
    wgi_sequence free_run, bounded;
    assert_int_equal(wgi_recompute_run(&s, 40, &rule, &free_run), WGI_FITS);
    assert_true(free_run.cost > 1);
    rule.most_cost = free_run.cost;
    assert_int_equal(wgi_recompute_run(&s, 40, &rule, &bounded), WGI_FITS);
    assert_int_equal(bounded.n, free_run.n);
    assert_memory_equal(bounded.step, free_run.step, free_run.n * sizeof *free_run.step);
    wgi_sequence_free(&bounded);
    rule.most_cost = free_run.cost - 1;
    assert_int_equal(wgi_recompute_run(&s, 40, &rule, &bounded), WGI_TOO_LARGE);
    assert_true(bounded.n < free_run.n);
    wgi_sequence_free(&bounded);
    wgi_sequence_free(&free_run);
    wgi_steps_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_as_good_as_the_best_choice_of_scopes),
        cmocka_unit_test(a_larger_limit_does_not_cost_much_more),
        cmocka_unit_test(a_chain_needs_memory_for_its_square_root),
        cmocka_unit_test(a_run_ends_at_the_most_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
