/* What plans on each fast backend, and on all of them, keep besides being right
 * (test_conformance.c): their bits, the floating-point mode, the number of threads, the masks of
 * dropout, the name of the node that makes NaN; and speed where numbers are subnormal. */
#include "graph/clock.h"
#include "tests/test.h"
#include "wengert/autograd/grad.h"
#include "wengert/backends/lapack.h"
#include "wengert/backends/load.h"
#include "wengert/backends/plan.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <omp.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { MAX = 8 };

typedef struct model {
    wg_graph *g;
    wg_value *leaf[MAX], *out[MAX];
    int n_leaves, n_out;
} model;

static wg_value *leaf(model *m, wg_shape shape)
{
    char name[16];
    snprintf(name, sizeof name, "x%d", m->n_leaves);
    return m->leaf[m->n_leaves++] = wg_input(m->g, name, WG_F32, shape);
}

/* y and the gradients of sum(y y) with respect to all leaves become outputs. */
static void outputs(model *m, wg_value *y)
{
    wg_value *dx[MAX], *loss = wg_sum(wg_mul(y, y), WG_ALL_AXES, WG_DROP);
    check_that(wg_grad(loss, m->leaf, (size_t)m->n_leaves, dx) == WG_OK, "%s",
               wg_graph_message(m->g));
    m->out[m->n_out++] = y;
    for (int i = 0; i < m->n_leaves; i++)
        m->out[m->n_out++] = dx[i];
}

/* Leaves get numbers of about `scale`. */
static wg_plan *plan_of(model *m, wg_plan_options o, wg_backend_list list, double scale)
{
    wg_plan *p;
    uint64_t seed = 5;
    o.outputs = m->out;
    o.n_outputs = (size_t)m->n_out;
    o.backends = list.backend;
    o.n_backends = list.count;
    o.reference = !list.count;
    check_that(wg_plan_create(&p, m->g, &o) == WG_OK, "%s", wg_graph_message(m->g));
    for (int i = 0; i < m->n_leaves; i++)
        for (int64_t k = 0; k < wg_value_count(m->leaf[i]); k++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            double x = (double)(seed >> 33) * 0x1p-30 - 1;
            ((float *)wg_plan_data(p, m->leaf[i]))[k] = (float)(x * scale);
        }
    return p;
}

static void run(wg_plan *p, uint64_t step)
{
    check_that(wg_plan_run(p, step) == WG_OK, "%s", wg_plan_message(p));
}

static bool same_bits(const model *m, wg_plan *p, wg_plan *q)
{
    for (int i = 0; i < m->n_out; i++)
        if (memcmp(wg_plan_data(p, m->out[i]), wg_plan_data(q, m->out[i]),
                   wg_value_bytes(m->out[i])) != 0)
            return false;
    return true;
}

/* Largest normalised mean squared difference of an output; NaN if there is one. */
static double distance(const model *m, wg_plan *p, wg_plan *q)
{
    double worst = 0;
    for (int i = 0; i < m->n_out; i++) {
        const float *a = wg_plan_data(p, m->out[i]), *b = wg_plan_data(q, m->out[i]);
        double difference = 0, size = 0;
        for (int64_t k = 0; k < wg_value_count(m->out[i]); k++) {
            difference += pow((double)a[k] - (double)b[k], 2);
            size += pow((double)b[k], 2);
        }
        double error = size > 1e-60 ? difference / size : difference;
        worst = error <= worst ? worst : error;
    }
    return worst;
}

static const wg_backend_list none = {.count = 0};

/* How many steps of p run on another backend than cpu. */
static int taken(wg_plan *p)
{
    int count = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        count += strcmp(wg_plan_step_at(p, i).backend, "cpu") != 0;
    return count;
}

/* A block of a Transformer: attention, residual layer normalisation, feed-forward layer. */
static model block(int64_t length, double dropout)
{
    enum { BATCH = 2, HEADS = 2, WIDTH = 128, HIDDEN = 300 };
    model m = {.g = wg_graph_new()};
    wg_value *x = leaf(&m, WG_SHAPE(BATCH, HEADS, length, WIDTH));
    wg_value *gain = leaf(&m, WG_SHAPE(WIDTH)), *bias = leaf(&m, WG_SHAPE(WIDTH));
    wg_value *up = leaf(&m, WG_SHAPE(HIDDEN, WIDTH)), *down = leaf(&m, WG_SHAPE(WIDTH, HIDDEN));
    wg_value *y =
        wg_attention(x, x, x, NULL, &(wg_attention_attrs){.causal = true, .dropout = dropout});
    y = wg_layernorm(wg_add(x, dropout > 0 ? wg_dropout(y, dropout) : y), gain, bias, WG_LAST_AXIS,
                     1e-5);
    y = wg_linear(wg_linear(y, up, NULL, WG_ACTIVATION_GELU), down, NULL, WG_ACTIVATION_NONE);
    outputs(&m, y);
    return m;
}

/* ---- bits ------------------------------------------------------------------------------------ */

static void runs_and_plans_repeat_their_bits(void **state)
{
    const wg_backend_list *list = *state;
    model m = block(200, 0.1);
    wg_plan_options o = {.threads = 2, .seed = 9};
    wg_plan *p = plan_of(&m, o, *list, 0.5), *q = plan_of(&m, o, *list, 0.5);
    assert_true(taken(p) >= 6);
    run(p, 1);
    run(q, 2);
    assert_false(same_bits(&m, p, q)); /* another step, other masks */
    for (int again = 0; again < 3; again++) {
        run(q, 1);
        assert_true(same_bits(&m, p, q));
    }
    wg_plan_free(p);
    wg_plan_free(q);
    wg_graph_free(m.g);
}

static void masks_are_those_of_the_cpu_backend(void **state)
{
    const wg_backend_list *list = *state;
    model m = block(37, 0.25), n = {.g = wg_graph_new()};
    wg_plan_options o = {.threads = 2, .seed = 9};
    wg_plan *p = plan_of(&m, o, *list, 0.5), *q = plan_of(&m, o, none, 0.5);
    assert_true(taken(p) >= 6 && taken(q) == 0);
    for (uint64_t step = 0; step < 3; step++) {
        run(p, step);
        run(q, step);
        double d = distance(&m, p, q);
        check_that(d <= 1e-10, "step %d: %g from the cpu backend", (int)step, d);
    }
    run(p, 7);
    double d = distance(&m, p, q);
    check_that(d > 1e-2, "the masks of two steps are only %g apart", d);
    wg_plan_free(p);
    wg_plan_free(q);
    wg_graph_free(m.g);

    wg_value *x = leaf(&n, WG_SHAPE(11, 257));
    outputs(&n, wg_dropout(wg_exp(x), 0.5));
    n.n_out = 1;
    p = plan_of(&n, o, *list, 1);
    q = plan_of(&n, o, none, 1);
    run(p, 4);
    run(q, 4);
    const float *a = wg_plan_data(p, n.out[0]), *b = wg_plan_data(q, n.out[0]);
    int kept = 0;
    for (int i = 0; i < 11 * 257; i++) {
        check_that((a[i] == 0) == (b[i] == 0), "element %d is dropped by one only", i);
        kept += a[i] != 0;
    }
    assert_in_range(kept, 1250, 1600);
    wg_plan_free(p);
    wg_plan_free(q);
    wg_graph_free(n.g);
}

/* ---- ways to multiply ------------------------------------------------------------------------ */

/* Sums of products of small integers, which are exact in every order: y [m, n] = x w + factor c, x
 * and w perhaps transposed. */
static void fill_integers(float *x, int64_t count, uint64_t seed)
{
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (float)(int)(seed >> 61) - 3;
    }
}

static void check_product(const float *y, const float *x, const float *w, const float *c,
                          float factor, const int64_t size[3], bool tx, bool tw)
{
    int64_t m = size[0], n = size[1], k = size[2];
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            float sum = factor * c[i * n + j];
            for (int64_t l = 0; l < k; l++)
                sum += x[tx ? l * m + i : i * k + l] * w[tw ? j * k + l : l * n + j];
            check_that(y[i * n + j] == sum, "element %d, %d is %g, not %g", (int)i, (int)j,
                       (double)y[i * n + j], (double)sum);
        }
}

/* On both sides of each border between plain weights, packed ones and sgemm; the results are exact
 * on all.  Alone, added to an input, which must stay, and in place of a value that dies. */
static void each_way_to_multiply_is_exact(void **state)
{
    const wg_backend_list *list = *state;
    static const struct {
        int64_t size[3];
        bool tx, tw;
        const char *way;
    } cases[] = {
        {{1023, 65, 67}, false, false, ""},     {{1024, 65, 67}, false, false, "reordered"},
        {{1030, 63, 80}, false, false, ""},     {{1030, 80, 63}, false, false, ""},
        {{2047, 65, 67}, false, true, ""},      {{2048, 65, 67}, false, true, "reordered"},
        {{64, 65, 300}, true, false, "sgemm"},  {{63, 65, 300}, true, false, ""},
        {{1024, 64, 70}, true, false, "sgemm"}, {{1025, 64, 70}, true, false, "reordered"},
        {{100, 100, 100}, true, true, ""},
    };
    static const float factors[] = {0, 1, -1};
    int named = 0, by_onednn = 0, count = WG_COUNT(cases);
    for (int turn = 0; turn < 3 * count; turn++) {
        int i = turn / 3, added = turn % 3;
        const int64_t *s = cases[i].size;
        bool tx = cases[i].tx, tw = cases[i].tw;
        model m = {.g = wg_graph_new()};
        wg_value *x = leaf(&m, tx ? WG_SHAPE(s[2], s[0]) : WG_SHAPE(s[0], s[2]));
        wg_value *w = leaf(&m, tw ? WG_SHAPE(s[1], s[2]) : WG_SHAPE(s[2], s[1]));
        wg_value *c = leaf(&m, WG_SHAPE(s[0], s[1]));
        wg_value *y = wg_matmul_t(x, w, (tx ? WG_TN : WG_NN) | (tw ? WG_NT : WG_NN));
        if (added)
            y = wg_add(y, added == 1 ? c : wg_neg(c));
        m.out[m.n_out++] = y;
        wg_plan *p = plan_of(&m, (wg_plan_options){.threads = 2}, *list, 1);
        fill_integers(wg_plan_data(p, x), s[0] * s[2], 1);
        fill_integers(wg_plan_data(p, w), s[1] * s[2], 2);
        fill_integers(wg_plan_data(p, c), s[0] * s[1], 3);
        run(p, 0);
        run(p, 1); /* what it adds to is as before */
        check_product(wg_plan_data(p, y), wg_plan_data(p, x), wg_plan_data(p, w),
                      wg_plan_data(p, c), factors[added], s, tx, tw);
        assert_int_equal(wg_plan_step_count(p), added == 2 ? 2 : 1);
        const char *kernel = wg_plan_step_at(p, added == 2 ? 1 : 0).kernel;
        by_onednn += strcmp(wg_plan_step_at(p, added == 2 ? 1 : 0).backend, "onednn") == 0;
        bool own = strstr(kernel, "sgemm") || strstr(kernel, "reordered");
        if (strncmp(kernel, "brg", 3) == 0 || own) { /* other CPUs may have nothing to pack for */
            named++;
            check_that(*cases[i].way ? strstr(kernel, cases[i].way) != NULL : !own,
                       "case %d runs on %s", i, kernel);
        }
        wg_plan_free(p);
        wg_graph_free(m.g);
    }
    assert_true(named >= 2 || by_onednn == 0);
}

/* Layers with bias and activation are packed as well, and batches of rows are rows. */
static void a_packed_layer_is_that_of_the_cpu_backend(void **state)
{
    const wg_backend_list *list = *state;
    model m = {.g = wg_graph_new()};
    wg_value *x = leaf(&m, WG_SHAPE(32, 70, 65)), *w = leaf(&m, WG_SHAPE(67, 65)),
             *bias = leaf(&m, WG_SHAPE(67));
    outputs(&m, wg_linear(x, w, bias, WG_ACTIVATION_RELU));
    wg_plan_options o = {.threads = 2};
    wg_plan *p = plan_of(&m, o, *list, 1), *q = plan_of(&m, o, none, 1);
    run(p, 0);
    run(q, 0);
    double d = distance(&m, p, q);
    check_that(d <= 1e-12, "%g from the cpu backend", d);
    wg_plan_free(p);
    wg_plan_free(q);
    wg_graph_free(m.g);
}

/* ---- the surroundings of a run --------------------------------------------------------------- */

#if defined(__x86_64__)
/* Not by valgrind's processor, which computes with subnormal numbers in any mode. */
static bool modes_are_kept(void)
{
    unsigned former = _mm_getcsr();
    _mm_setcsr(0x9f80);
    bool kept = (_mm_getcsr() & ~0x3fu) == 0x9f80;
    _mm_setcsr(former);
    return kept;
}
#endif

static void threads_and_modes_are_left_as_they_were(void **state)
{
    const wg_backend_list *list = *state;
    int before = omp_get_max_threads();
    model m = block(20, 0);
    for (int threads = 1; threads <= 2; threads++) {
        wg_plan_options o = {.threads = threads};
        wg_plan *p = plan_of(&m, o, *list, 1);
        assert_int_equal(omp_get_max_threads(), before);
        run(p, 0);
        assert_int_equal(omp_get_max_threads(), before);
#if defined(__x86_64__)
        static const unsigned modes[] = {0x1f80, 0x9f80, 0x1fc0, 0x3f80};
        const int known = modes_are_kept() ? WG_COUNT(modes) : 0;
        unsigned former = _mm_getcsr();
        for (int i = 0; i < known; i++) {
            int wrong = 0;
            _mm_setcsr(modes[i]); /* LLVM's OpenMP undoes what regions set */
#pragma omp parallel num_threads(threads)
            _mm_setcsr(modes[i]);
            run(p, 0);
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
            wrong +=
                (_mm_getcsr() & ~0x3fu) != modes[i]; /* the flags of what happened may differ */
#pragma omp parallel num_threads(threads)
            _mm_setcsr(former);
            _mm_setcsr(former);
            check_that(wrong == 0, "mode %x is lost on %d threads", modes[i], wrong);
        }
#endif
        wg_plan_free(p);
    }
    wg_graph_free(m.g);
}

/* ---- subnormal numbers ----------------------------------------------------------------------- */

static double seconds_of_run(wg_plan *p)
{
    double best = INFINITY;
    for (int i = 0; i < 7; i++) {
        double start = wgi_seconds();
        run(p, 0);
        double s = wgi_seconds() - start;
        best = s < best ? s : best;
    }
    return best;
}

/* On many CPUs a product of subnormal numbers takes up to 240 times as long.  On x86 they are zeros
 * on all threads. */
static void subnormal_numbers_cost_nothing(void **state)
{
    const wg_backend_list *list = *state;
    model m = {.g = wg_graph_new()};
    wg_value *x = leaf(&m, WG_SHAPE(256, 256)), *w = leaf(&m, WG_SHAPE(256, 256));
    m.out[m.n_out++] = wg_softmax(wg_linear(x, w, NULL, WG_ACTIVATION_NONE), -1);
    m.out[m.n_out++] = wg_exp(x);
    m.out[m.n_out++] = wg_matmul(x, w);
    wg_plan_options o = {.threads = 2};
    wg_plan *normal = plan_of(&m, o, *list, 1), *subnormal = plan_of(&m, o, *list, 1e-39),
            *truth = plan_of(&m, o, none, 1e-39);
    assert_true(taken(subnormal) >= (list->count > 1 ? 4 : 2));
    memcpy(wg_plan_data(subnormal, w), wg_plan_data(normal, w), wg_value_bytes(w));
    memcpy(wg_plan_data(truth, w), wg_plan_data(normal, w), wg_value_bytes(w));
    double usual = seconds_of_run(normal), slow = seconds_of_run(subnormal);
    check_that(slow < 10 * usual, "%g s instead of %g s", slow, usual);
#if defined(__x86_64__)
    const float *product = wg_plan_data(subnormal, m.out[2]);
    const int64_t known = modes_are_kept() ? wg_value_count(m.out[2]) : 0;
    for (int64_t i = 0; i < known; i++)
        check_that(product[i] == 0, "element %lld is %g", (long long)i, (double)product[i]);
#endif
    run(truth, 0);
    double d = distance(&m, subnormal, truth);
    check_that(d <= 1e-12, "%g from the cpu backend", d);
    wg_plan_free(normal);
    wg_plan_free(subnormal);
    wg_plan_free(truth);
    wg_graph_free(m.g);
}

/* ---- NaN ------------------------------------------------------------------------------------- */

/* A relu that makes 0 of NaN, or an exp that makes infinity of it, would hide NaN behind a maximum
 * with 0 or a division. */
static void the_node_that_makes_nan_is_named(void **state)
{
    const wg_backend_list *list = *state;
    for (int kind = 0; kind < 3; kind++) {
        model m = {.g = wg_graph_new()};
        wg_value *x = leaf(&m, WG_SHAPE(4, 32)), *w = leaf(&m, WG_SHAPE(32, 32)), *y = NULL;
        const char *guilty = "sqrt";
        if (kind == 0) /* made before */
            y = wg_linear(wg_sqrt(x), w, NULL, WG_ACTIVATION_RELU);
        else if (kind == 1)
            y = wg_reciprocal(wg_exp(wg_sqrt(wg_matmul(x, w))));
        else { /* made inside: inf - inf, then relu */
            y = wg_linear(x, w, NULL, WG_ACTIVATION_RELU);
            guilty = "linear";
        }
        m.out[m.n_out++] = y;
        for (int check = 0; check < 2; check++) {
            wg_plan_options o = {.threads = 2, .check_nonfinite = check};
            wg_plan *p = plan_of(&m, o, *list, kind == 2 ? 3e38 : 1);
            if (check) {
                assert_int_equal(wg_plan_run(p, 0), WG_ENONFINITE);
                check_that(strstr(wg_plan_message(p), guilty), "%s", wg_plan_message(p));
            } else {
                const wg_node *n = wg_plan_first_nonfinite(p, 0);
                assert_non_null(n);
                assert_string_equal(n->op->name, guilty);
            }
            wg_plan_free(p);
        }
        wg_graph_free(m.g);
    }
}

int main(void)
{
    const wg_backend_list built = wg_backend_list_built_in();
    int failures = 0;
    for (size_t i = 0; i < built.count; i++) { /* each but cpu alone, then all together */
        wg_backend_list list = built;
        if (built.backend[i] == wg_lapack_backend())
            continue; /* it takes no node of these graphs: tests/ops/test_solve.c */
        if (i + 1 < built.count)
            list = (wg_backend_list){{built.backend[i]}, {{0}}, 1};
        printf("%s\n", list.count > 1 ? "all backends" : list.backend[0]->name);
        const struct CMUnitTest tests[] = {
            cmocka_unit_test_prestate(runs_and_plans_repeat_their_bits, &list),
            cmocka_unit_test_prestate(masks_are_those_of_the_cpu_backend, &list),
            cmocka_unit_test_prestate(each_way_to_multiply_is_exact, &list),
            cmocka_unit_test_prestate(a_packed_layer_is_that_of_the_cpu_backend, &list),
            cmocka_unit_test_prestate(threads_and_modes_are_left_as_they_were, &list),
            cmocka_unit_test_prestate(subnormal_numbers_cost_nothing, &list),
            cmocka_unit_test_prestate(the_node_that_makes_nan_is_named, &list),
        };
        failures += cmocka_run_group_tests(tests, NULL, NULL);
    }
    return failures;
}
