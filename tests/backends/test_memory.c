/* The memory of plans: on random graphs the layout is sound, the checker sees broken ones, and
 * every way of planning gives the same bits. */
#include "tests/test.h"
#include "tests/random_graph.h"
#include "backends/memory.h"
#include "backends/plan/facts.h"
#include "backends/plan/offsets.h"

enum { GRAPHS = 150 };

static void fill_inputs(wg_plan *p, const random_graph *r)
{
    for (int i = 0; i < 3; i++) {
        float *x = wg_plan_data(p, r->input[i]);
        for (int64_t k = 0; x && k < wg_value_count(r->input[i]); k++)
            x[k] = (float)((k * 7 + i * 3) % 11) / 5.0f - 1;
    }
}

/* Three runs; then outputs and states, one after the other.  Returns how many numbers. */
static size_t results(const random_graph *r, wg_plan_options options, float *out, size_t max)
{
    wg_plan *p;
    size_t n = 0;
    options.seed = 5;
    check_that(wg_plan_create(&p, r->g, &options) == WG_OK, "%s", wg_graph_message(r->g));
    check_that(wg_plan_check(p) == WG_OK, "%s", wg_plan_message(p));
    fill_inputs(p, r);
    for (uint64_t step = 0; step < 3; step++)
        assert_int_equal(wg_plan_run(p, step), WG_OK);
    for (size_t i = 0; i < wg_graph_output_count(r->g) + 4; i++) {
        size_t outputs = wg_graph_output_count(r->g);
        const wg_value *v = i < outputs ? wg_graph_output(r->g, i) : r->state[i - outputs];
        const float *x = wg_plan_data(p, v);
        assert_non_null(x);
        for (int64_t k = 0; k < wg_value_count(v) && n < max; k++)
            out[n++] = x[k];
    }
    wg_plan_free(p);
    return n;
}

static void every_way_of_planning_gives_the_same_bits(void **state)
{
    (void)state;
    enum { MAX = 1000 };
    static float plain[MAX], other[MAX];
    const wg_plan_options ways[] = {
        {0},
        {.poison = true},
        {.no_inplace = true},
        {.no_cse = true, .poison = true},
        {.no_fold = true},
        {.check_nonfinite = true, .poison = true},
        {.threads = 3},
    };
    size_t compared = 0;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        random_graph r = rg_new(20 + seed * 2, seed);
        check_that(wg_graph_status(r.g) == WG_OK, "%s", wg_graph_message(r.g));
        wg_plan_options keep = {
            .keep_all = true, .no_inplace = true, .no_cse = true, .no_fold = true, .threads = 1};
        size_t n = results(&r, keep, plain, MAX);
        for (int w = 0; w < WG_COUNT(ways); w++) {
            assert_int_equal(results(&r, ways[w], other, MAX), n);
            check_that(memcmp(plain, other, n * sizeof *plain) == 0,
                       "graph %d: way %d gives other bits", (int)seed, w);
            compared += n;
        }
        rg_free(&r);
    }
    assert_true(compared > 10000);
}

/* Two storages alive together, moved onto each other. */
static bool break_layout(wg_plan *p, size_t pick)
{
    for (size_t a = 0; a < p->layout.n_storages; a++)
        for (size_t b = a + 1; b < p->layout.n_storages; b++) {
            wgi_storage *x = &p->layout.storage[a], *y = &p->layout.storage[b];
            bool both = x->kind == WGI_STORAGE_BUFFER && y->kind == WGI_STORAGE_BUFFER &&
                        x->bytes && y->bytes;
            if (!both || x->last < y->first || y->last < x->first || pick-- > 0)
                continue;
            y->offset = x->offset;
            wgi_plan_wire(p);
            return true;
        }
    return false;
}

static void the_checker_catches_broken_layouts(void **state)
{
    (void)state;
    size_t broken = 0;
    for (uint64_t seed = 1; seed <= GRAPHS; seed++) {
        random_graph r = rg_new(40, seed);
        wg_plan *p;
        check_that(wg_plan_create(&p, r.g, NULL) == WG_OK, "%s", wg_graph_message(r.g));
        assert_int_equal(wg_plan_check(p), WG_OK);
        if (break_layout(p, seed % 5)) {
            broken++;
            assert_int_equal(wg_plan_check(p), WG_EINVAL);
            check_that(strstr(wg_plan_message(p), "overlap") ||
                           strstr(wg_plan_message(p), "beyond"),
                       "%s", wg_plan_message(p));
        }
        wg_plan_free(p);
        rg_free(&r);
    }
    assert_true(broken > GRAPHS / 2);
}

static void the_checker_catches_what_is_overwritten_too_early(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8)), *a = wg_tanh(x), *b = wg_neg(a),
             *c = wg_mul(a, b);
    wg_output(c, "c");
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.no_fuse = true}), WG_OK);
    assert_int_equal(p->program.n_work, 3);
    assert_int_equal(wg_plan_check(p), WG_OK);
    int64_t sa = p->layout.storage_of[p->program.work[0].node->out[0]->id];
    p->layout.storage_of[p->program.work[1].node->out[0]->id] = sa; /* b over a, still read by c */
    wgi_plan_wire(p);
    assert_int_equal(wg_plan_check(p), WG_EINVAL);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* With poison, memory used after its end shows as NaN: a plan that believes `a` dead one step too
 * early. */
static void poison_shows_stale_reads(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8)), *a = wg_tanh(x),
             *b = wg_sum(a, WG_ALL_AXES, WG_DROP);
    wg_value *c = wg_mul(a, b);
    wg_output(c, "c");
    wg_plan *p;
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.poison = true}), WG_OK);
    memset(wg_plan_data(p, x), 0, wg_value_bytes(x));
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    const float *y = wg_plan_data(p, c);
    assert_true(y[0] == 0);
    int64_t sa = p->layout.storage_of[p->program.work[0].node->out[0]->id];
    wgi_work *early = &p->program.work[1];
    assert_true(early->dies == early->dies_end || p->layout.dying[early->dies] != sa);
    p->layout.dying[0] = sa;
    early->dies = 0;
    early->dies_end = 1;
    assert_int_equal(wg_plan_run(p, 0), WG_OK);
    assert_true(y[0] != y[0]);
    wg_plan_free(p);
    wg_graph_free(g);
}

static size_t peak_of(wg_graph *g, wg_plan_options options)
{
    wg_plan *p;
    check_that(wg_plan_create(&p, g, &options) == WG_OK, "%s", wg_graph_message(g));
    wg_plan_stats s = wg_plan_statistics(p);
    check_that(s.live_bytes <= s.buffer_bytes && s.buffer_bytes <= s.value_bytes, "%zu %zu %zu",
               s.live_bytes, s.buffer_bytes, s.value_bytes);
    wg_plan_free(p);
    return s.buffer_bytes;
}

/* A chain of n elementwise steps lives in one place; without in-place results, in two. */
static void a_chain_needs_one_place(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *y = wg_input(g, "x", WG_F32, WG_SHAPE(1000));
    for (int i = 0; i < 50; i++)
        y = wg_tanh(y);
    wg_output(y, "y");
    assert_int_equal(peak_of(g, (wg_plan_options){0}), wgi_round_up(4000));
    assert_int_equal(peak_of(g, (wg_plan_options){.no_inplace = true}), 2 * wgi_round_up(4000));
    assert_int_equal(peak_of(g, (wg_plan_options){.keep_all = true}), 50 * wgi_round_up(4000));
    wg_graph_free(g);
}

/* sum of tanh(scale i x), all terms built before the first addition: an eager order needs 3 places,
 * not 40. */
static void the_order_lowers_the_peak(void **state)
{
    (void)state;
    enum { TERMS = 40 };
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(1000)), *term[TERMS], *sum = NULL;
    for (int i = 0; i < TERMS; i++)
        term[i] = wg_tanh(wg_scale(x, i));
    for (int i = 0; i < TERMS; i++)
        sum = sum ? wg_add(sum, term[i]) : term[i];
    wg_output(sum, "y");
    size_t peak = peak_of(g, (wg_plan_options){0});
    check_that(peak <= 3 * wgi_round_up(4000), "%zu bytes", peak);
    wg_graph_free(g);
}

/* Offsets alone: random intervals never overlap, and are packed near the lower bound. */
static void offsets_do_not_overlap_and_pack_well(void **state)
{
    (void)state;
    enum { N = 4000 };
    static wgi_storage s[N];
    random_graph r = {.bits = 77};
    for (int round = 0; round < 20; round++) {
        size_t n = round < 18 ? 1 + rg_draw(&r, 400) : N;
        int64_t step = 0;
        size_t bound = 0;
        for (size_t i = 0; i < n; i++) {
            step += (int64_t)rg_draw(&r, 3);
            s[i] = (wgi_storage){.bytes = WGI_ALIGN * rg_draw(&r, 100), .first = step};
            s[i].last = step + (int64_t)rg_draw(&r, 30);
        }
        size_t size = wgi_place_storages(s, n);
        assert_true(size != SIZE_MAX);
        for (size_t i = 0; i < n; i++) {
            size_t alive = 0;
            assert_true(s[i].offset + s[i].bytes <= size && s[i].offset % WGI_ALIGN == 0);
            for (size_t k = 0; k < n; k++) {
                bool together = s[i].first <= s[k].last && s[k].first <= s[i].last;
                bool apart = s[i].offset + s[i].bytes <= s[k].offset ||
                             s[k].offset + s[k].bytes <= s[i].offset;
                if (k != i && together && s[i].bytes && s[k].bytes)
                    check_that(apart, "round %d: storages %zu and %zu overlap", round, i, k);
                alive += s[k].first <= s[i].first && s[i].first <= s[k].last ? s[k].bytes : 0;
            }
            bound = alive > bound ? alive : bound;
        }
        double of_live = (double)size / (double)(bound ? bound : 1);
        printf("%4zu storages: %.3f of what is live at once\n", n, of_live);
        check_that(of_live <= (n <= 400 ? 1.1 : 1.35),
                   "round %d: %zu bytes, at least %zu are needed", round, size, bound);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_of_planning_gives_the_same_bits),
        cmocka_unit_test(the_checker_catches_broken_layouts),
        cmocka_unit_test(the_checker_catches_what_is_overwritten_too_early),
        cmocka_unit_test(poison_shows_stale_reads),
        cmocka_unit_test(a_chain_needs_one_place),
        cmocka_unit_test(the_order_lowers_the_peak),
        cmocka_unit_test(offsets_do_not_overlap_and_pack_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
