/* What is drawn and what is folded: equal layers, phases, updates; never into a cycle. */
#include "tests/graph/pictures.h"

static void options_decide_how_much_is_drawn(void **state)
{
    (void)state;
    wg_graph *g = tower(false);
    /* x, encoder, head, sum, output */
    assert_int_equal(boxes(g, &(wg_picture_options){.depth = 1}), 5);
    /* the encoder's frame holds one box for six layers; weight, matmul, mul and tanh of the head
     * are drawn */
    assert_int_equal(boxes(g, &(wg_picture_options){.depth = 2}), 8);
    /* first and second of the one layer */
    assert_int_equal(boxes(g, &(wg_picture_options){.depth = 3}), 9);
    assert_int_equal(boxes(g, &(wg_picture_options){.depth = 4}), 15);
    /* a folded sibling may be named too */
    const char *open[] = {"encoder/layer4"};
    assert_int_equal(boxes(g, &(wg_picture_options){.depth = 1, .expanded = open, .n_expanded = 1}),
                     6);
    /* everything: the 66 nodes and the output */
    assert_int_equal(boxes(g, &(wg_picture_options){.full = true}), wg_graph_node_count(g) + 1);
    /* some 30 boxes by default: here all depths */
    assert_int_equal(boxes(g, NULL), 15);
    wg_graph_free(g);
}

static void phases_are_drawn_together_or_alone(void **state)
{
    (void)state;
    wg_graph *g = tower(true);
    size_t forward = boxes(g, &(wg_picture_options){.depth = 1, .phases = 1u << WG_FORWARD});
    size_t both = boxes(g, &(wg_picture_options){.depth = 1});
    size_t backward = boxes(g, &(wg_picture_options){.depth = 1, .phases = 1u << WG_BACKWARD});
    assert_int_equal(forward, 5);
    assert_int_equal(both, forward + 4); /* encoder, head; reshape and expand of the seed */
    assert_true(backward >= 3);          /* with ghosts of what it reads */
    wg_graph_free(g);
}

static void siblings_that_differ_are_not_folded(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8, 16));
    for (int i = 0; i < 4; i++) /* sizes 16, 16, 8, 8: the third reads 16 and the fourth 8 */
        x = dense(g, (const char *[]){"layer0", "layer1", "layer2", "layer3"}[i], x,
                  i < 2 ? 16 : 8);
    wg_output(x, "y");
    assert_int_equal(boxes(g, &(wg_picture_options){.depth = 1}), 2 + 3);
    wg_graph_free(g);
    g = wg_graph_new();
    x = dense(g, "left", wg_input(g, "x", WG_F32, WG_SHAPE(8, 16)), 16);
    wg_output(dense(g, "right", x, 16), "y"); /* of equal structure */
    assert_int_equal(boxes(g, &(wg_picture_options){.depth = 1}), 2 + 2);
    wg_graph_free(g);
}

/* Each draws numbers of its own, by a key of its own. */
static void layers_with_dropout_are_folded(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8, 16));
    for (int i = 0; i < 4; i++) {
        wg_scope_push(g, "layer%d", i);
        x = wg_dropout(wg_tanh(x), 0.1);
        wg_scope_pop(g);
    }
    wg_output(x, "y");
    assert_int_equal(boxes(g, &(wg_picture_options){.depth = 1}), 2);
    wg_graph_free(g);
}

/* The update is a box for clipping and one for Adam, however many parameters there are. */
static void a_trained_model_stays_readable(void **state)
{
    (void)state;
    size_t first = 0;
    for (int layers = 4; layers <= 16; layers *= 2) {
        wg_graph *g = trained_stack(layers);
        size_t n = boxes(g, NULL);
        check_that(n > 5 && n <= 30, "%d layers: %zu boxes", layers, n);
        first = first ? first : n;
        assert_int_equal(n, first); /* equal layers are folded */
        wg_graph_free(g);
    }
}

/* Layers between which values pass outside: folded, they would be one box on a cycle. */
static wg_graph *coupled(int layers)
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F64, WG_SHAPE(8, 4));
    const int64_t halves[] = {2, 2};
    for (int i = 0; i < layers; i++) {
        char name[16];
        snprintf(name, sizeof name, "layer%d", i);
        wg_value *a = wg_split(x, 1, halves, 2), *b = wg_result_of(a, 1);
        b = wg_add(b, wg_dense(name, a, 2, WG_ACTIVATION_TANH));
        x = wg_concat((wg_value *[]){b, a}, 2, 1);
    }
    wg_output(x, "y");
    return g;
}

/* Boxes from which no more edges lead are taken away, until none are left. */
static bool is_acyclic(const wg_picture *p)
{
    size_t left = p->n_edges, before = left + 1;
    bool *gone = calloc(p->n_edges + 1, sizeof *gone);
    assert_non_null(gone);
    for (; left && left < before;) {
        before = left;
        for (size_t i = 0; i < p->n_edges; i++) {
            bool leads_on = false;
            for (size_t k = 0; k < p->n_edges; k++)
                leads_on |= !gone[k] && p->edges[k].from == p->edges[i].to;
            if (!gone[i] && !leads_on) {
                gone[i] = true;
                left--;
            }
        }
    }
    free(gone);
    return left == 0;
}

static void a_folded_picture_has_no_cycle(void **state)
{
    (void)state;
    for (int depth = 0; depth < 4; depth++) {
        wg_graph *g = coupled(4);
        wg_picture *p = picture(g, &(wg_picture_options){.depth = depth});
        check_that(is_acyclic(p), "a cycle at depth %d", depth);
        assert_true(wg_picture_box_count(p) >= 4);
        wg_picture_free(p);
        wg_graph_free(g);
        g = tower(true); /* what feeds the next alone is folded, and has none either */
        p = picture(g, &(wg_picture_options){.depth = depth});
        check_that(is_acyclic(p), "a cycle of the tower at depth %d", depth);
        wg_picture_free(p);
        wg_graph_free(g);
    }
}

/* Two pairs of siblings, a and b: each may be folded alone, both would close a cycle. */
static void the_second_of_two_folds_sees_the_first(void **state)
{
    (void)state;
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(8, 16)),
             *y = wg_input(g, "y", WG_F32, WG_SHAPE(8, 16));
    wg_value *a0 = dense(g, "a0", x, 16), *b1 = NULL, *b0 = NULL;
    /* siblings lie side by side in the order of their first nodes */
    wg_scope_push(g, "a1");
    wg_value *w = wg_parameter(g, "weight", WG_F32, WG_SHAPE(16, 16), wg_xavier(1));
    wg_scope_pop(g);
    b0 = dense(g, "b0", a0, 16);
    b1 = dense(g, "b1", y, 16);
    wg_scope_push(g, "a1");
    wg_value *a1 = wg_tanh(wg_scale(wg_matmul_t(b1, w, WG_NT), 0.5));
    wg_scope_pop(g);
    wg_output(wg_add(b0, a1), "z");
    assert_int_equal(wg_graph_status(g), WG_OK);
    for (int depth = 1; depth < 3; depth++) {
        wg_picture *p = picture(g, &(wg_picture_options){.depth = depth});
        check_that(is_acyclic(p), "a cycle at depth %d", depth);
        wg_picture_free(p);
    }
    wg_graph_free(g);
}

/* The learning rate, which only the update reads, is no part of the forward pass. */
static void a_leaf_that_other_phases_read_is_drawn_with_them(void **state)
{
    (void)state;
    wg_graph *g = trained_stack(2);
    for (int all = 0; all < 2; all++) {
        wg_picture *p = picture(g, &(wg_picture_options){.phases = all ? 0 : 1u << WG_FORWARD});
        bool found = false;
        for (const wgi_pic_box *b = p->boxes; b; b = b->next)
            for (size_t i = 0; i < b->n_nodes; i++)
                found |= b->nodes[i]->out[0] == wg_graph_find(g, "lr");
        assert_int_equal(found, all);
        wg_picture_free(p);
    }
    wg_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_decide_how_much_is_drawn),
        cmocka_unit_test(phases_are_drawn_together_or_alone),
        cmocka_unit_test(siblings_that_differ_are_not_folded),
        cmocka_unit_test(layers_with_dropout_are_folded),
        cmocka_unit_test(a_trained_model_stays_readable),
        cmocka_unit_test(a_folded_picture_has_no_cycle),
        cmocka_unit_test(the_second_of_two_folds_sees_the_first),
        cmocka_unit_test(a_leaf_that_other_phases_read_is_drawn_with_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
