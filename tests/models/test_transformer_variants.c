/* Every variant of the Transformer: it trains, runs the same way again, and is what its name
 * says. */
#include "tests/transformers.h"

#include <math.h>

/* ---- training -------------------------------------------------------------------------------- */

/* Does the loss depend on it at all?  Of a number that is added to all scores of a query it does
 * not. */
static bool has_a_derivative(const wg_value *w)
{
    return strstr(w->name, "/k/bias") == NULL;
}

/* One step: every gradient is finite, and not all of a gradient is zero. */
static void every_variant_trains(void **state)
{
    (void)state;
    wg_transformer_config c;
    size_t variants = 0;
    for (size_t variant = 0; wgi_transformer_variant(variant, &c); variant++) {
        transformer t = transformer_of(&c, 3, 5, 6, true);
        wg_value *w[TRANSFORMER_MAX_PARAMETERS], *dw[TRANSFORMER_MAX_PARAMETERS];
        size_t n = transformer_gradients(&t, w, dw);
        for (size_t i = 0; i < n; i++) {
            wg_output(dw[i], NULL);
            wg_assign(w[i], wg_sub(w[i], wg_scale(dw[i], 0.05)));
        }
        assert_int_equal(wg_graph_verify(t.g), WG_OK);
        wg_plan *p = transformer_plan(&t, wg_backend_list_built_in(), NULL, 1);
        transformer_fill(p, &t, 6);
        run(p, 0);
        float before = floats(p, t.loss)[0];
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (int64_t k = 0; k < wg_value_count(dw[i]); k++)
                sum += fabs((double)floats(p, dw[i])[k]);
            check_that(isfinite(sum) && (sum > 0 || !has_a_derivative(w[i])),
                       "%s: the gradient of %s adds up to %g", c.name, w[i]->name, sum);
        }
        for (int step = 0; step < 10; step++)
            run(p, 0); /* at the same masks */
        check_that(floats(p, t.loss)[0] < before, "%s: the loss went from %g to %g", c.name,
                   (double)before, (double)floats(p, t.loss)[0]);
        wg_plan_free(p);
        wg_graph_free(t.g);
        variants++;
    }
    assert_true(variants >= 20);
}

/* Logits of the same seed: the same bits from two stores and at one thread and two. */
static void runs_are_reproducible(void **state)
{
    (void)state;
    wg_transformer_config c;
    for (size_t variant = 0; wgi_transformer_variant(variant, &c); variant++) {
        transformer t = transformer_of(&c, 3, 5, 6, true);
        wg_store *store[] = {wg_store_new(9), wg_store_new(9)};
        wg_plan *p[2];
        for (int i = 0; i < 2; i++) {
            p[i] = transformer_plan(&t, wg_backend_list_built_in(), store[i], i + 1);
            transformer_fill(p[i], &t, 6);
            run(p[i], 3);
        }
        check_that(
            memcmp(floats(p[0], t.logits), floats(p[1], t.logits), wg_value_bytes(t.logits)) == 0,
            "%s: other bits", c.name);
        for (int i = 0; i < 2; i++) {
            wg_plan_free(p[i]);
            wg_store_free(store[i]);
        }
        wg_graph_free(t.g);
    }
}

enum { ROWS = 3, SOURCE = 5, TARGET = 6 };

/* ---- one variant as another ------------------------------------------------------------------ */

/* Two models of which the second has its own parameters where the names differ, on the same
 * batch. */
typedef struct pair {
    transformer t[2];
    wg_plan *p[2];
    wg_store *store;
} pair;

static pair pair_of(const wg_transformer_config *a, const wg_transformer_config *b)
{
    pair m = {.store = wg_store_new(2)};
    for (int i = 0; i < 2; i++) {
        m.t[i] = transformer_of(i ? b : a, ROWS, SOURCE, TARGET, false);
        m.p[i] = transformer_plan(&m.t[i], wg_backend_list_built_in(), m.store, 1);
        transformer_fill(m.p[i], &m.t[i], 1);
    }
    return m;
}

static float *parameter(pair *m, int which, const char *name)
{
    const wg_value *w = wg_graph_find(m->t[which].g, name);
    check_that(w != NULL, "no %s", name);
    return wg_plan_data(m->p[which], w);
}

/* The largest difference of their logits; frees both. */
static float largest_difference(pair *m)
{
    float max = 0;
    for (int i = 0; i < 2; i++)
        run(m->p[i], 0);
    const float *a = floats(m->p[0], m->t[0].logits), *b = floats(m->p[1], m->t[1].logits);
    for (int64_t i = 0; i < wg_value_count(m->t[0].logits); i++)
        max = fmaxf(max, fabsf(a[i] - b[i]));
    assert_true(isfinite(a[0]) && isfinite(b[0]));
    for (int i = 0; i < 2; i++) {
        wg_plan_free(m->p[i]);
        wg_graph_free(m->t[i].g);
    }
    wg_store_free(m->store);
    return max;
}

/* A learned table that holds sinusoids gives the same bits as sinusoids. */
static void learned_positions_can_be_sinusoids(void **state)
{
    (void)state;
    static const char *const tables[] = {"encoder/positions/weight", "decoder/positions/weight"};
    wg_transformer_config c, l;
    assert_true(wgi_transformer_variant(0, &c));
    l = c;
    l.positions = WG_POSITIONS_LEARNED;
    l.first_position = 3;
    for (int right = 0; right < 2; right++) {
        pair m = pair_of(&c, &l);
        for (int k = 0; k < 2 && right; k++)
            for (int64_t t = 0; t < c.max_positions; t++)
                for (int64_t i = 0; i < c.d_model; i++)
                    parameter(&m, 1, tables[k])[(t + 3) * c.d_model + i] =
                        (float)wg_sinusoid(WG_POSITIONS_INTERLEAVED, t, i, c.d_model);
        assert_int_equal(largest_difference(&m) == 0, right);
    }
}

/* One matrix for q, k and v is the three under each other. */
static void fused_projections_are_the_separate_ones(void **state)
{
    (void)state;
    static const char *const layers[] = {"encoder/layer0", "encoder/layer1", "decoder/layer0",
                                         "decoder/layer1"};
    wg_transformer_config c, f;
    assert_true(wgi_transformer_variant(0, &c));
    f = c;
    f.fused_projections = true;
    pair m = pair_of(&c, &f);
    size_t d = (size_t)c.d_model;
    for (int i = 0; i < 4; i++)
        for (size_t part = 0; part < 3; part++)
            for (int bias = 0; bias < 2; bias++) {
                char from[80], to[80];
                const char *kind = bias ? "bias" : "weight";
                snprintf(from, sizeof from, "%s/self_attn/%c/%s", layers[i], "qkv"[part], kind);
                snprintf(to, sizeof to, "%s/self_attn/qkv/%s", layers[i], kind);
                size_t count = bias ? d : d * d;
                float *x = parameter(&m, 0, from);
                for (size_t k = 0; bias && k < d; k++) /* zero at first, which would show nothing */
                    x[k] = .1f * (float)k - .2f * (float)part;
                memcpy(parameter(&m, 1, to) + part * count, x, count * sizeof *x);
            }
    assert_true(largest_difference(&m) <= 2e-6f);
}

/* Post-norm: two norms a layer of the encoder, three of the decoder; pre-norm: one more for each
 * stack. */
static void each_stack_has_its_norms_once(void **state)
{
    (void)state;
    wg_transformer_config c;
    assert_true(wgi_transformer_variant(0, &c));
    for (int pre = 0; pre < 2; pre++) {
        c.pre_norm = pre;
        transformer t = transformer_of(&c, 1, 2, 3, false);
        int norms = 0;
        for (size_t i = 0; i < wg_graph_node_count(t.g); i++)
            norms += strcmp(wg_graph_node(t.g, i)->op->name, "layernorm") == 0;
        assert_int_equal(norms, 2 * (2 + 3) + 2 * pre);
        assert_int_equal(wg_graph_find(t.g, "encoder/norm/gain") != NULL, pre);
        assert_int_equal(wg_graph_find(t.g, "decoder/norm/gain") != NULL, pre);
        wg_graph_free(t.g);
    }
}

/* Dropout is random, and there is none of it without training. */
static void evaluation_has_no_dropout(void **state)
{
    (void)state;
    wg_transformer_config c;
    for (size_t variant = 0; wgi_transformer_variant(variant, &c); variant++) {
        c.dropout = c.attention_dropout = c.activation_dropout = 0.5;
        for (int training = 0; training < 2; training++) {
            transformer t = transformer_of(&c, ROWS, SOURCE, TARGET, training);
            wg_plan *p = transformer_plan(&t, wg_backend_list_built_in(), NULL, 1);
            float first[ROWS * TARGET * 16];
            transformer_fill(p, &t, 1);
            transformer_logits(p, &t, first);
            run(p, 1);
            bool same = different(first, floats(p, t.logits), 0, wg_value_count(t.logits)) == 0;
            check_that(same == !training, "%s: step 1 gives %s numbers", c.name,
                       same ? "the same" : "other");
            wg_plan_free(p);
            wg_graph_free(t.g);
        }
    }
}

/* ---- kernels --------------------------------------------------------------------------------- */

static int steps_of(const wg_plan *p, const char *op)
{
    int n = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++)
        n += strcmp(wg_plan_step_at(p, i).node->op->name, op) == 0;
    return n;
}

/* A training step on the built-in backends: attention without permutations, norms with their
 * residual sums, the loss with its projection, activations within linear layers, cotangents
 * accumulated by products. */
static void plans_use_the_fused_kernels(void **state)
{
    (void)state;
    const wg_backend_list built = wg_backend_list_built_in();
    static const char *const names[] = {"tiny", "base"};
    for (int i = 0; i < 2; i++) {
        wg_transformer_config c = transformer_sized(names[i], 500);
        c.encoder_layers = c.decoder_layers = 2;
        transformer t = transformer_of(&c, 4, 16, 16, true);
        wg_value *w[TRANSFORMER_MAX_PARAMETERS], *dw[TRANSFORMER_MAX_PARAMETERS];
        size_t n = transformer_gradients(&t, w, dw);
        wg_value *wanted[TRANSFORMER_MAX_PARAMETERS + 1];
        memcpy(wanted, dw, n * sizeof *dw);
        wanted[n] = t.loss;
        wg_plan *p = plan_of(t.g, &(wg_plan_options){.backends = built.backend,
                                                     .n_backends = built.count,
                                                     .outputs = wanted,
                                                     .n_outputs = n + 1});
        assert_int_equal(steps_of(p, "attention_by_token"), 2 + 4);
        assert_int_equal(steps_of(p, "attention_by_token_grad"), 2 + 4);
        assert_int_equal(steps_of(p, "permute"), 0);
        assert_int_equal(steps_of(p, "residual_layernorm"), 4 + 6);
        assert_int_equal(steps_of(p, "residual_layernorm_grad"), 4 + 6);
        assert_int_equal(steps_of(p, "linear_cross_entropy_step"), 1);
        assert_int_equal(steps_of(p, "linear"), 2 * 6 + 2 * 10);
        /* cotangents: 4 a layer of the encoder, 5 of the decoder, the memory's k and v but one;
         * positions and the shared embedding remain */
        assert_int_equal(steps_of(p, "matmul_add"), 2 * 4 + 2 * 5 + 3);
        assert_int_equal(steps_of(p, "add"), 2);
        assert_int_equal(steps_of(p, "fused_elementwise"), 2); /* of two of them each */
        assert_int_equal(steps_of(p, "relu"), 0);
        wg_plan_free(p);
        wg_graph_free(t.g);
    }
}

/* Pre-norm: a sum is read by its norm and by the next sum; it is a result of the fused op, whose
 * gradient takes both cotangents. */
static void norms_before_layers_are_fused_with_the_sums_before(void **state)
{
    (void)state;
    const wg_backend_list built = wg_backend_list_built_in();
    wg_transformer_config c = transformer_sized("tiny", 500);
    c.encoder_layers = c.decoder_layers = 2;
    c.pre_norm = true;
    transformer t = transformer_of(&c, 4, 16, 16, true);
    wg_value *w[TRANSFORMER_MAX_PARAMETERS], *wanted[TRANSFORMER_MAX_PARAMETERS + 1];
    size_t n = transformer_gradients(&t, w, wanted);
    wanted[n] = t.loss;
    wg_plan *p = plan_of(t.g, &(wg_plan_options){.backends = built.backend,
                                                 .n_backends = built.count,
                                                 .outputs = wanted,
                                                 .n_outputs = n + 1});
    assert_int_equal(steps_of(p, "layernorm"), 2); /* the first of each stack: of no sum */
    assert_int_equal(steps_of(p, "residual_layernorm"), 4 + 6);
    assert_int_equal(steps_of(p, "residual_layernorm_grad"),
                     4 + 6 + 2); /* and the embeddings' dropout */
    assert_int_equal(steps_of(p, "layernorm_grad"), 0);
    assert_int_equal(steps_of(p, "add"), 2); /* as above */
    assert_int_equal(steps_of(p, "fused_elementwise"), 2);
    wg_plan_free(p);
    wg_graph_free(t.g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_variant_trains),
        cmocka_unit_test(runs_are_reproducible),
        cmocka_unit_test(learned_positions_can_be_sinusoids),
        cmocka_unit_test(fused_projections_are_the_separate_ones),
        cmocka_unit_test(each_stack_has_its_norms_once),
        cmocka_unit_test(evaluation_has_no_dropout),
        cmocka_unit_test(plans_use_the_fused_kernels),
        cmocka_unit_test(norms_before_layers_are_fused_with_the_sums_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
