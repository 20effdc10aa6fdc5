/* Plans that share a workspace: the same bits as with memory of their own, whatever order they are
 * made, run and freed in; outputs that stay; memory that cannot be had. */
#include "tests/plans.h"
#include "tests/allocations.h"
#include "tests/random_graph.h"

#include <math.h>

enum { N = 64, MAX = 1000 };

/* y = sum over rows of tanh(x) x' [n, n]; n sets the size of the buffer. */
typedef struct small {
    wg_graph *g;
    wg_value *x, *y, *total;
    wg_plan *p;
} small;

static small small_graph(int64_t n)
{
    small m = {.g = wg_graph_new()};
    m.x = wg_input(m.g, "x", WG_F32, WG_SHAPE(n, 4));
    m.y = wg_output(wg_sum(wg_matmul_t(wg_tanh(m.x), m.x, WG_NT), WG_AXES(0), WG_DROP), "y");
    m.total = wg_output(wg_sum(m.y, WG_ALL_AXES, WG_DROP), "total");
    return m;
}

static void fill(small *m)
{
    float *x = wg_plan_data(m->p, m->x);
    for (int64_t i = 0; i < wg_value_count(m->x); i++)
        x[i] = (float)(i % 13) / 8 - 0.7f;
}

static small make_small(int64_t n, wg_plan_options options)
{
    small m = small_graph(n);
    m.p = plan_of(m.g, &options);
    fill(&m);
    return m;
}

static void free_small(small *m)
{
    wg_plan_free(m->p);
    wg_graph_free(m->g);
    *m = (small){0};
}

/* sum of y, computed by a plan with memory of its own */
static float total_of(int64_t n)
{
    small m = make_small(n, (wg_plan_options){0});
    run(m.p, 0);
    float total = *floats(m.p, m.total);
    free_small(&m);
    assert_true(total == total && total != 0);
    return total;
}

/* ---- the same bits --------------------------------------------------------------------------- */

typedef struct planned {
    random_graph r;
    wg_plan *p;
} planned;

static planned plan_random(size_t n, uint64_t seed, wg_plan_options options)
{
    planned a = {.r = rg_new(n, seed)};
    a.p = plan_of(a.r.g, &options);
    for (int i = 0; i < 3; i++) {
        float *x = wg_plan_data(a.p, a.r.input[i]);
        for (int64_t k = 0; x && k < wg_value_count(a.r.input[i]); k++)
            x[k] = (float)((k * 7 + i * 3) % 11) / 5.0f - 1;
    }
    return a;
}

static size_t results(planned *a, float *out)
{
    size_t n = 0, outputs = wg_graph_output_count(a->r.g);
    for (size_t i = 0; i < outputs + 4; i++) {
        const wg_value *v = i < outputs ? wg_graph_output(a->r.g, i) : a->r.state[i - outputs];
        const float *x = floats(a->p, v);
        for (int64_t k = 0; k < wg_value_count(v) && n < MAX; k++)
            out[n++] = x[k];
    }
    return n;
}

/* Three plans run in turn, each poisoning what it does not need; read only after all have run. */
static void shared_memory_gives_the_same_bits(void **state)
{
    (void)state;
    enum { PLANS = 3 };
    static float own[MAX], shared[MAX];
    const wg_plan_options ways[] = {
        {.poison = true}, {.check_nonfinite = true, .poison = true}, {.no_inplace = true}};
    size_t compared = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        wg_plan_options alone = ways[seed % 3], together = alone;
        wg_workspace *w = together.workspace = wg_workspace_new();
        planned a[PLANS], b[PLANS];
        for (int i = 0; i < PLANS; i++) {
            size_t n = 20 + seed + 30 * (size_t)i; /* later ones are larger: the workspace grows */
            a[i] = plan_random(n, seed * 10 + (uint64_t)i, alone);
            b[i] = plan_random(n, seed * 10 + (uint64_t)i, together);
            run(b[i].p, 0);
            run(a[i].p, 0);
        }
        for (uint64_t step = 1; step < 3; step++)
            for (int i = 0; i < PLANS; i++) {
                run(a[i].p, step);
                run(b[i].p, step);
            }
        size_t largest = 0;
        for (int i = 0; i < PLANS; i++) {
            size_t n = results(&a[i], own);
            assert_int_equal(results(&b[i], shared), n);
            check_that(memcmp(own, shared, n * sizeof *own) == 0,
                       "graphs %d: plan %d has other bits", (int)seed, i);
            compared += n;
            assert_int_equal(wg_plan_check(b[i].p), WG_OK);
            size_t bytes = wg_plan_statistics(b[i].p).shared_bytes;
            largest = bytes > largest ? bytes : largest;
            assert_int_equal(wg_plan_statistics(a[i].p).shared_bytes, 0);
        }
        assert_int_equal(wg_workspace_bytes(w), largest);
        for (int i = 0; i < PLANS; i++) {
            wg_plan_free(a[i].p);
            wg_plan_free(b[i].p);
            rg_free(&a[i].r);
            rg_free(&b[i].r);
        }
        wg_workspace_free(w);
    }
    assert_true(compared > 10000);
}

/* ---- growth ---------------------------------------------------------------------------------- */

static void a_plan_follows_memory_that_grows(void **state)
{
    (void)state;
    wg_workspace *w = wg_workspace_new();
    small m = make_small(8, (wg_plan_options){.workspace = w, .poison = true});
    run(m.p, 0);
    const float *total = wg_plan_data(m.p, m.total);
    float first = *total, expected = total_of(8);
    assert_true(first == expected);
    size_t before = wg_workspace_bytes(w);
    small large = make_small(200, (wg_plan_options){.workspace = w, .poison = true});
    assert_true(wg_workspace_bytes(w) > 10 * before);
    assert_true(*total == expected); /* an output of before */
    run(large.p, 0);
    assert_true(*total == expected);
    run(m.p, 1);
    assert_ptr_equal(total, wg_plan_data(m.p, m.total));
    assert_true(*total == expected && *floats(large.p, large.total) == total_of(200));
    free_small(&m);
    free_small(&large);
    wg_workspace_free(w);
}

static void bound_inputs_stay_bound_when_memory_moves(void **state)
{
    (void)state;
    wg_workspace *w = wg_workspace_new();
    small m = make_small(8, (wg_plan_options){.workspace = w});
    float *mine = aligned_alloc(64, 128);
    for (int i = 0; i < 32; i++)
        mine[i] = 0;
    assert_int_equal(wg_plan_bind(m.p, m.x, mine), WG_OK);
    small large = make_small(200, (wg_plan_options){.workspace = w});
    run(m.p, 0);
    assert_true(*floats(m.p, m.total) == 0);
    assert_int_equal(wg_plan_bind(m.p, m.x, NULL), WG_OK);
    run(m.p, 0);
    assert_true(*floats(m.p, m.total) == total_of(8));
    free_small(&m);
    free_small(&large);
    wg_workspace_free(w);
    free(mine);
}

/* Where every value can be read after a run, none may be another plan's. */
static void kept_values_are_not_shared(void **state)
{
    (void)state;
    wg_workspace *w = wg_workspace_new();
    small m = make_small(8, (wg_plan_options){.workspace = w, .keep_all = true});
    assert_int_equal(wg_workspace_bytes(w), 0);
    run(m.p, 0);
    assert_true(*floats(m.p, m.total) == total_of(8));
    free_small(&m);
    wg_workspace_free(w);
    assert_int_equal(wg_workspace_bytes(NULL), 0);
    wg_workspace_free(NULL);
}

/* The first run that finds a NaN is one of the plan that was asked, after its memory has moved. */
static void the_search_for_nan_follows_memory_that_grows(void **state)
{
    (void)state;
    wg_workspace *w = wg_workspace_new();
    small m = make_small(8, (wg_plan_options){.workspace = w}),
          large = make_small(200, (wg_plan_options){.workspace = w});
    assert_null(wg_plan_first_nonfinite(m.p, 0));
    ((float *)wg_plan_data(m.p, m.x))[3] = NAN;
    const wg_node *n = wg_plan_first_nonfinite(m.p, 0);
    assert_non_null(n);
    assert_string_equal(n->op->name, "input");
    assert_non_null(strstr(wg_plan_message(m.p), "tanh(x): reads NaN at element [0,3] of input x"));
    free_small(&m);
    free_small(&large);
    wg_workspace_free(w);
}

/* ---- freeing --------------------------------------------------------------------------------- */

/* The caller's workspace and two plans are freed in each of the six orders; what is left still
 * runs. */
static void all_is_freed_in_any_order(void **state)
{
    (void)state;
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (int o = 0; o < 6; o++) {
        wg_workspace *w = wg_workspace_new();
        small m[2] = {make_small(8, (wg_plan_options){.workspace = w}),
                      make_small(N, (wg_plan_options){.workspace = w})};
        for (int i = 0; i < 3; i++) {
            if (orders[o][i] == 2)
                wg_workspace_free(w);
            else
                free_small(&m[orders[o][i]]);
            for (int k = 0; k < 2; k++)
                if (m[k].p) {
                    run(m[k].p, 0);
                    assert_true(*floats(m[k].p, m[k].total) == total_of(k ? N : 8));
                }
        }
    }
}

/* ---- out of memory --------------------------------------------------------------------------- */

static void a_plan_that_fails_leaves_the_others_usable(void **state)
{
    (void)state;
    float expected = total_of(8);
    size_t failures = 0;
    bool made = false;
    for (size_t fail_at = 1; !made; fail_at++) {
        wg_workspace *w = wg_workspace_new();
        small m = make_small(8, (wg_plan_options){.workspace = w, .threads = 1}),
              large = small_graph(N);
        run(m.p, 0);
        count_allocations(fail_at, false);
        wg_status status = wg_plan_create(
            &large.p, large.g, &(wg_plan_options){.workspace = w, .reference = true, .threads = 1});
        allocations.counting = false;
        made = status == WG_OK;
        failures += !made;
        check_that(made || (status == WG_ENOMEM && !large.p), "allocation %zu: %s", fail_at,
                   wg_status_text(status));
        assert_true(*floats(m.p, m.total) == expected);
        run(m.p, 1);
        assert_true(*floats(m.p, m.total) == expected);
        free_small(&m);
        free_small(&large);
        wg_workspace_free(w);
    }
    check_that(failures > 30, "only %zu allocations", failures);
}

static void a_run_that_moves_allocates_nothing(void **state)
{
    (void)state;
    wg_workspace *w = wg_workspace_new();
    small m = make_small(8, (wg_plan_options){.workspace = w, .threads = 1}),
          large = make_small(N, (wg_plan_options){.workspace = w, .threads = 1});
    count_allocations(0, false);
    run(m.p, 0);
    allocations.counting = false;
    assert_int_equal(allocations.calls, 0);
    free_small(&m);
    free_small(&large);
    wg_workspace_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_memory_gives_the_same_bits),
        cmocka_unit_test(a_plan_follows_memory_that_grows),
        cmocka_unit_test(bound_inputs_stay_bound_when_memory_moves),
        cmocka_unit_test(kept_values_are_not_shared),
        cmocka_unit_test(the_search_for_nan_follows_memory_that_grows),
        cmocka_unit_test(all_is_freed_in_any_order),
        cmocka_unit_test(a_plan_that_fails_leaves_the_others_usable),
        cmocka_unit_test(a_run_that_moves_allocates_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
