/* Plans with a budget of memory: never above it, the same bits as without, and a message that says
 * how much would do. */
#include "tests/plans.h"
#include "tests/random_graph.h"
#include "tests/transformers.h"
#include "graph/clone.h"
#include "graph/text_buffer.h"
#include "wengert/ops/table.h"

/* ---- models ---------------------------------------------------------------------------------- */

static wg_value *mlp(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(24, 16));
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer%d", i);
        x = wg_dropout(wg_dense(name, x, 16 + 8 * i, WG_ACTIVATION_GELU), 0.2);
    }
    return wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP);
}

static wg_value *attention(wg_graph *g)
{
    wg_multi_head_options o = {.heads = 2, .causal = true};
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 6, 8));
    for (int i = 0; i < 3; i++) {
        char name[2][16];
        snprintf(name[0], sizeof name[0], "norm%d", i);
        snprintf(name[1], sizeof name[1], "attention%d", i);
        wg_value *y = wg_layernorm_layer(name[0], x);
        x = wg_add(x, wg_dropout(wg_multi_head_attention(name[1], y, y, &o), 0.1));
    }
    return wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP);
}

static wg_value *conv(wg_graph *g)
{
    wg_conv2d_layer_options o = {.conv = {.padding = {1, 1}}};
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3, 8, 8));
    for (int i = 0; i < 3; i++) {
        char name[2][16];
        snprintf(name[0], sizeof name[0], "conv%d", i);
        snprintf(name[1], sizeof name[1], "norm%d", i);
        x = wg_conv2d_layer(name[0], x, 4, 3, &o);
        x = wg_dropout(wg_tanh(wg_batchnorm_layer(name[1], x, true, NULL)), 0.1);
    }
    return wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP);
}

static wg_value *lstm(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 12, 4));
    x = wg_lstm_layer("first", x, 6);
    x = wg_lstm_layer("second", wg_dropout(x, 0.3), 5);
    return wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP);
}

/* Marked by hand as well: barriers are in the graph that the budget finds. */
static wg_value *marked(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(24, 16));
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "block%d", i);
        wg_scope_push(g, "%s", name);
        if (i % 2)
            wg_scope_recompute(g);
        wg_value *y = wg_dense("inner", wg_layernorm_layer("norm", x), 32, WG_ACTIVATION_RELU);
        x = wg_add(x, wg_dense("outer", wg_dropout(y, 0.2), 16, WG_ACTIVATION_NONE));
        wg_scope_pop(g);
    }
    return wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP);
}

static const struct model {
    const char *name;
    wg_value *(*build)(wg_graph *g);
    int orders;
} models[] = {
    {"mlp", mlp, 2},   {"attention", attention, 2}, {"conv", conv, 2},
    {"lstm", lstm, 2}, {"marked", marked, 2},
};

/* The loss with the updates that its gradient makes; at order 2 those of the gradient's norm. */
static wg_graph *step_of(const struct model *m, int order)
{
    wg_graph *g = wg_graph_new();
    wg_value *loss = wg_output(m->build(g), "loss"), *norm = NULL;
    wg_gradients d = wg_grad_all(loss);
    for (size_t i = 0; i < d.n && order == 2; i++) {
        wg_value *square = wg_sum(wg_square(d.grads[i]), WG_ALL_AXES, WG_DROP);
        norm = norm ? wg_add(norm, square) : square;
    }
    if (order == 2)
        d = wg_grad_all(wg_output(norm, "norm"));
    for (size_t i = 0; i < d.n; i++)
        wg_assign(d.params[i], wg_sub(d.params[i], wg_scale(d.grads[i], 0.1)));
    check_that(wg_graph_status(g) == WG_OK, "%s: %s", m->name, wg_graph_message(g));
    return g;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void fill_inputs(wg_plan *p, wg_graph *g)
{
    for (uint32_t i = 0; i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        if (v->node->op != &wg_op_input)
            continue;
        float *x = wg_plan_f32(p, v);
        for (int64_t k = 0; k < wg_value_count(v); k++)
            x[k] = (float)((k * 7 + i * 3) % 11) / 5.0f - 1;
    }
}

/* The bytes of all outputs and of the store after three runs, which the caller frees. */
static char *results(wg_plan *p, wg_graph *g, size_t *size)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    assert_non_null(f);
    fill_inputs(p, g);
    for (uint64_t step = 0; step < 3; step++) {
        run(p, step);
        for (size_t i = 0; i < wg_graph_output_count(g); i++) {
            const wg_value *v = wg_graph_output(g, i);
            fwrite(wg_plan_data(p, v), 1, wg_value_bytes(v), f);
        }
    }
    const wg_tensor *t;
    for (size_t i = 0; (t = wg_store_at(wg_plan_store(p), i)); i++)
        fwrite(t->data, wg_dtype_size(t->dtype), (size_t)wg_shape_count(&t->shape), f);
    char *bytes = wgi_text_close(&b);
    assert_non_null(bytes);
    *size = b.size;
    return bytes;
}

static size_t total(const wg_plan *p)
{
    wg_plan_stats s = wg_plan_statistics(p);
    return s.buffer_bytes + s.leaf_bytes + s.library_bytes;
}

/* What a plan made and how much it took. */
typedef struct seen {
    char *bytes;
    size_t size, total, leaves;
    wg_plan_stats stats;
} seen;

/* Plans g and runs it; false if the memory is too small.  Frees g. */
static bool see(seen *s, wg_graph *g, const wg_plan_options *options)
{
    wg_plan *p;
    if (options->memory && wg_plan_create(&p, g, options) == WG_ENOMEM) {
        check_that(strstr(wg_graph_message(g), "are enough"), "%s", wg_graph_message(g));
        wg_graph_free(g);
        return false;
    }
    if (!options->memory)
        p = plan_of(g, options);
    check_that(wg_plan_check(p) == WG_OK, "%s", wg_plan_message(p));
    *s = (seen){.stats = wg_plan_statistics(p), .total = total(p)};
    check_that(!options->memory || s->total <= options->memory, "%zu bytes of %zu", s->total,
               options->memory);
    s->bytes = results(p, g, &s->size);
    wg_plan_free(p);
    wg_graph_free(g);
    return true;
}

static void compare(const seen *a, const seen *b, const char *what, int order, size_t memory)
{
    check_that(a->size == b->size && a->size > 0, "%s: %zu and %zu bytes", what, a->size, b->size);
    check_that(memcmp(a->bytes, b->bytes, a->size) == 0, "%s, order %d, %zu bytes: other bits",
               what, order, memory);
}

static void gradients_are_the_same_to_the_bit(void **state)
{
    (void)state;
    size_t compared = 0, again = 0;
    for (int m = 0; m < WG_COUNT(models); m++)
        for (int order = 1; order <= models[m].orders; order++) {
            seen plain, small;
            assert_true(see(&plain, step_of(&models[m], order),
                            &(wg_plan_options){.reference = true, .seed = 5}));
            for (size_t eighth = 7; eighth > 0; eighth -= 3) {
                wg_plan_options o = {.reference = true, .seed = 5, .poison = eighth == 4};
                o.memory = plain.stats.leaf_bytes + plain.stats.buffer_bytes * eighth / 8;
                if (!see(&small, step_of(&models[m], order), &o))
                    break;
                compare(&plain, &small, models[m].name, order, o.memory);
                compared++;
                again += small.stats.again_nodes;
                free(small.bytes);
            }
            free(plain.bytes);
        }
    printf("%zu plans compared, %zu nodes computed again\n", compared, again);
    assert_true(compared >= 2 * WG_COUNT(models) && again > 200);
}

static wg_graph *transformer_step(void)
{
    wg_value *w[TRANSFORMER_MAX_PARAMETERS], *dw[TRANSFORMER_MAX_PARAMETERS];
    wg_transformer_config c = transformer_sized("tiny", 30);
    c.dropout = 0.1;
    transformer t = transformer_of(&c, 2, 5, 6, true);
    size_t n = transformer_gradients(&t, w, dw);
    for (size_t i = 0; i < n; i++)
        wg_assign(w[i], wg_sub(w[i], wg_scale(dw[i], 0.1)));
    return t.g;
}

/* Of a whole Transformer, with masks and lengths; on all backends as well. */
static void a_transformer_has_the_same_bits(void **state)
{
    (void)state;
    for (int reference = 0; reference < 2; reference++) {
        wg_plan *p[2];
        wg_graph *g[2];
        size_t memory = 0;
        for (int i = 0; i < 2; i++) {
            g[i] = transformer_step();
            p[i] = plan_of(g[i], &(wg_plan_options){.reference = reference, .memory = memory});
            wg_plan_stats s = wg_plan_statistics(p[i]);
            assert_true(!memory || total(p[i]) <= memory);
            assert_int_equal(s.again_nodes > 0, i);
            memory = total(p[i]) - s.buffer_bytes * 3 / 10;
            for (uint32_t k = 0; k < wg_graph_value_count(g[i]); k++) {
                const wg_value *v = wg_graph_value(g[i], k);
                if (v->node->op == &wg_op_input && v->dtype == WG_I32)
                    for (int64_t e = 0; e < wg_value_count(v); e++)
                        wg_plan_i32(p[i], v)[e] = wg_value_count(v) == 2 ? 5 : (int)(e % 7) + 4;
            }
            run(p[i], 3);
        }
        const wg_tensor *a, *b;
        size_t compared = 0;
        for (size_t i = 0; (a = wg_store_at(wg_plan_store(p[0]), i)); i++) {
            assert_non_null(b = wg_store_find(wg_plan_store(p[1]), a->name));
            size_t bytes = (size_t)wg_shape_count(&a->shape) * wg_dtype_size(a->dtype);
            check_that(memcmp(a->data, b->data, bytes) == 0, "%s has other bits", a->name);
            compared++;
        }
        assert_true(compared > 20);
        for (int i = 0; i < 2; i++) {
            wg_plan_free(p[i]);
            wg_graph_free(g[i]);
        }
    }
}

static bool see_random(seen *s, uint64_t seed, const wg_plan_options *options)
{
    random_graph r = rg_new(60 + seed, seed);
    wg_graph *g = wg_graph_clone(r.g, &(wg_clone_options){.keep_all = true}, NULL);
    assert_non_null(g);
    bool fits = see(s, g, options);
    rg_free(&r);
    return fits;
}

/* Views, several results, states and assignments of one state to another. */
static void random_graphs_have_the_same_bits(void **state)
{
    (void)state;
    size_t compared = 0, again = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        seen plain, small;
        wg_plan_options o = {.reference = seed % 2, .seed = 3};
        assert_true(see_random(&plain, seed, &o));
        o.memory = plain.total - 64 * (1 + seed % 4);
        if (see_random(&small, seed, &o)) {
            compare(&plain, &small, "random graph", (int)seed, o.memory);
            compared++;
            again += small.stats.again_nodes;
            free(small.bytes);
        }
        free(plain.bytes);
    }
    printf("%zu random graphs compared, %zu nodes computed again\n", compared, again);
    assert_true(compared > 20 && again > 20);
}

/* ---- budgets --------------------------------------------------------------------------------- */

static char *print_of(const wg_plan *p)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    assert_non_null(f);
    assert_int_equal(wg_plan_print(p, f), WG_OK);
    return wgi_text_close(&b);
}

static void a_budget_above_what_is_needed_changes_nothing(void **state)
{
    (void)state;
    wg_graph *g = step_of(&models[0], 1);
    wg_plan *plain = plan_of(g, NULL),
            *exact = plan_of(g, &(wg_plan_options){.memory = total(plain)}),
            *large = plan_of(g, &(wg_plan_options){.memory = SIZE_MAX});
    char *text[] = {print_of(plain), print_of(exact), print_of(large)};
    assert_string_equal(text[0], text[1]);
    assert_string_equal(text[0], text[2]);
    for (int i = 0; i < 3; i++)
        free(text[i]);
    wg_plan_free(plain);
    wg_plan_free(exact);
    wg_plan_free(large);
    wg_graph_free(g);
}

/* The message names a number of bytes that is enough. */
static void too_small_a_budget_is_an_error_that_says_what_would_do(void **state)
{
    (void)state;
    for (int m = 0; m < WG_COUNT(models); m++) {
        wg_plan *p;
        wg_graph *g = step_of(&models[m], 1);
        assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.memory = 1000}), WG_ENOMEM);
        assert_null(p);
        const char *message = wg_graph_message(g), *at = strstr(message, "with recomputation ");
        if (m == 0)
            printf("%s\n", message);
        assert_non_null(at);
        assert_non_null(strstr(message, "1000 bytes"));
        assert_non_null(strstr(message, "test_budget.c:"));
        size_t least = strtoull(at + strlen("with recomputation "), NULL, 10);
        wg_graph_free(g);
        g = step_of(&models[m], 1);
        p = plan_of(g, &(wg_plan_options){.memory = least});
        assert_true(total(p) <= least);
        wg_plan_free(p);
        wg_graph_free(g);
    }
}

/* Of a graph that computes nothing, and of one that needs no more without recomputation. */
static void what_would_do_without_recomputation_is_told(void **state)
{
    (void)state;
    wg_plan *p;
    wg_graph *g = wg_graph_new();
    wg_value *w = wg_output(wg_parameter(g, "w", WG_F32, WG_SHAPE(100, 100), wg_ones()), "w");
    assert_int_equal(wg_plan_create(&p, g, &(wg_plan_options){.memory = 1}), WG_ENOMEM);
    assert_non_null(strstr(wg_graph_message(g), "1 byte is too small: 40000 bytes are enough"));
    p = plan_of(g, &(wg_plan_options){.memory = 40000});
    wg_plan_free(p);
    wg_output(wg_tanh(w), "y");
    wg_plan_options o = {.memory = 80000, .memory_elsewhere = SIZE_MAX};
    assert_int_equal(wg_plan_create(&p, g, &o), WG_ENOMEM);
    o.memory_elsewhere = 0;
    wg_plan_free(plan_of(g, &o));
    o.memory--;
    assert_int_equal(wg_plan_create(&p, g, &o), WG_ENOMEM);
    assert_non_null(
        strstr(wg_graph_message(g), "79999 bytes is too small: 80000 bytes are enough"));
    wg_graph_free(g);
}

/* Layers of which a part is marked, so that barriers order what is computed again. */
static wg_graph *marked_step(int kind)
{
    wg_graph *g = wg_graph_new();
    wg_value *in = wg_input(g, "x", WG_F32, WG_SHAPE(16, 32)), *x = in, *dw;
    for (int i = 0; i < 4; i++) {
        wg_scope_push(g, "block%d", i);
        x = wg_dense("d", x, 32, WG_ACTIVATION_NONE);
        wg_scope_push(g, "act");
        wg_scope_recompute(g);
        x = kind == 0   ? wg_softmax(x, -1)
            : kind == 1 ? wg_dropout(wg_tanh(x), 0.1)
                        : wg_gelu(wg_layernorm_layer("norm", x), WG_GELU_ERF);
        wg_scope_pop(g);
        wg_scope_pop(g);
    }
    wg_value *loss = wg_output(wg_mean(wg_square(x), WG_ALL_AXES, WG_DROP), "loss");
    assert_int_equal(wg_jvp(&loss, 1, &in, NULL, 1, &dw), WG_OK);
    wg_output(dw, "forward");
    wg_gradients d = wg_grad_all(loss);
    wg_adam_update(d.params, d.grads, d.n, wg_fill(g, WG_F32, WG_SCALAR, 0.01), NULL);
    return g;
}

static void a_limit_and_marks_work_together(void **state)
{
    (void)state;
    int compared = 0;
    for (int reference = 0; reference < 2; reference++)
        for (int kind = 0; kind < 3; kind++) {
            seen plain, small;
            wg_plan_options o = {.reference = reference, .threads = 1, .seed = 5};
            assert_true(see(&plain, marked_step(kind), &o));
            size_t all = plain.total;
            for (o.memory = all - 64; o.memory > all - all / 8; o.memory -= all / 32) {
                if (!see(&small, marked_step(kind), &o))
                    break;
                compare(&plain, &small, "marked", kind, o.memory);
                compared++;
                free(small.bytes);
            }
            free(plain.bytes);
        }
    assert_true(compared >= 12);
}

/* Pictures divide a graph by phases: what is computed again, views included, is of the one that
 * needs it. */
static void nothing_of_the_forward_pass_reads_what_is_computed_again(void **state)
{
    (void)state;
    wg_value *w[TRANSFORMER_MAX_PARAMETERS], *dw[TRANSFORMER_MAX_PARAMETERS];
    wg_transformer_config c = transformer_sized("tiny", 30);
    transformer t = transformer_of(&c, 2, 5, 6, true);
    wg_graph *g = t.g;
    size_t n_w = transformer_gradients(&t, w, dw);
    wg_adam_update(w, dw, n_w, wg_fill(g, WG_F32, WG_SCALAR, 0.01), NULL);
    wg_plan_options o = {.threads = 1};
    wg_plan *plain = plan_of(g, &o);
    wg_plan_stats before = wg_plan_statistics(plain);
    o.memory = total(plain) - before.buffer_bytes / 4;
    wg_plan *p = plan_of(g, &o);
    const wg_graph *planned = wg_plan_graph(p);
    size_t operands = 0;
    for (size_t i = 0; i < wg_graph_node_count(planned); i++) {
        const wg_node *n = wg_graph_node(planned, i);
        for (int k = 0; n->phase == WG_FORWARD && k < n->n_in; k++, operands++)
            check_that(n->in[k]->node->phase == WG_FORWARD, "%s, of the forward pass, reads %s",
                       n->op->name, n->in[k]->node->op->name);
    }
    assert_true(operands > 200 && wg_plan_statistics(p).again_nodes > 5);
    wg_plan_free(plain);
    wg_plan_free(p);
    wg_graph_free(g);
}

static void what_is_computed_again_is_told(void **state)
{
    (void)state;
    wg_graph *g = step_of(&models[0], 1);
    wg_plan_options o = {.threads = 1}; /* each has scratch, which no plan can do without */
    wg_plan *plain = plan_of(g, &o);
    wg_plan_stats before = wg_plan_statistics(plain);
    o.memory = total(plain) - before.buffer_bytes / 5;
    wg_plan *p = plan_of(g, &o);
    wg_plan_stats s = wg_plan_statistics(p);
    size_t nodes = 0, bytes = 0;
    double flops = 0;
    for (size_t i = 0; i < wg_plan_step_count(p); i++) {
        wg_plan_step x = wg_plan_step_at(p, i);
        nodes += x.again;
        flops += x.again ? x.flops : 0;
        for (int k = 0; x.again && k < x.node->n_out; k++)
            bytes += wg_value_bytes(x.node->out[k]);
        assert_true(!x.again || x.node->phase == WG_BACKWARD);
    }
    assert_true(nodes > 0 && nodes == s.again_nodes && bytes == s.again_bytes);
    assert_true(flops == s.again_flops && s.nodes == before.nodes + nodes);
    assert_true(s.flops - before.flops == flops);
    char *text = print_of(p);
    assert_non_null(strstr(text, "  again"));
    assert_non_null(strstr(text, "bytes again, by "));
    free(text);
    wg_plan_free(plain);
    wg_plan_free(p);
    wg_graph_free(g);
}

/* The outputs then have memory of their own, which counts. */
static void plans_that_share_a_workspace_keep_to_it_too(void **state)
{
    (void)state;
    wg_workspace *w = wg_workspace_new();
    wg_graph *g = step_of(&models[4], 1);
    wg_plan_options o = {.workspace = w};
    wg_plan *p = plan_of(g, &o);
    o.memory = total(p) - wg_plan_statistics(p).buffer_bytes / 5;
    wg_plan_free(p);
    wg_workspace_free(w);
    o.workspace = w = wg_workspace_new();
    p = plan_of(g, &o);
    assert_true(total(p) <= o.memory && wg_plan_statistics(p).again_nodes > 0);
    assert_true(wg_workspace_bytes(w) <= wg_plan_statistics(p).shared_bytes);
    fill_inputs(p, g);
    run(p, 0);
    wg_plan_free(p);
    wg_workspace_free(w);
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_the_same_to_the_bit),
        cmocka_unit_test(a_transformer_has_the_same_bits),
        cmocka_unit_test(random_graphs_have_the_same_bits),
        cmocka_unit_test(a_budget_above_what_is_needed_changes_nothing),
        cmocka_unit_test(too_small_a_budget_is_an_error_that_says_what_would_do),
        cmocka_unit_test(what_would_do_without_recomputation_is_told),
        cmocka_unit_test(a_limit_and_marks_work_together),
        cmocka_unit_test(nothing_of_the_forward_pass_reads_what_is_computed_again),
        cmocka_unit_test(what_is_computed_again_is_told),
        cmocka_unit_test(plans_that_share_a_workspace_keep_to_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
