#include "tests/graph_text.h"

char *text_of(const wg_graph *g, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    assert_non_null(f);
    assert_int_equal(wg_graph_print(g, f), WG_OK);
    assert_int_equal(fclose(f), 0);
    return text;
}

wg_graph *parsed(const char *text, size_t size, const wg_parse_options *options)
{
    wg_graph *g;
    wg_error error;
    wg_status status = wg_graph_parse(&g, text, size, options, &error);
    check_that(status == WG_OK && g && error.status == WG_OK, "%s\nin:\n%s", error.text, text);
    return g;
}

static void same_text(const char *a, const char *b)
{
    if ((a || b) && (!a || !b || strcmp(a, b) != 0))
        fail_msg("'%s' became '%s'", a ? a : "NULL", b ? b : "NULL");
}

static void same_node(const wg_node *a, const wg_node *b)
{
    const char *slash = a->at ? strrchr(a->at, '/') : NULL;
    assert_ptr_equal(a->op, b->op);
    assert_int_equal(a->n_in, b->n_in);
    assert_int_equal(a->n_out, b->n_out);
    assert_int_equal(a->phase, b->phase);
    check_that(wg_node_attrs_equal(a->op, a->attrs, b->attrs), "attributes of %s", a->op->name);
    same_text(a->scope->path, b->scope->path);
    same_text(slash ? slash + 1 : a->at, b->at);
    for (const wg_scope *s = a->scope, *t = b->scope; s && t; s = s->parent, t = t->parent) {
        assert_int_equal(s->recompute, t->recompute);
        assert_int_equal(s->reuse, t->reuse);
        assert_int_equal(s->average, t->average);
        assert_int_equal(s->parameter_dtype, t->parameter_dtype);
    }
    for (int i = 0; i < a->n_in; i++)
        assert_int_equal(a->in[i]->id, b->in[i]->id);
    for (int i = 0; i < a->n_out; i++) {
        const wg_value *v = a->out[i], *w = b->out[i];
        assert_int_equal(v->id, w->id);
        assert_int_equal(v->dtype, w->dtype);
        assert_true(wg_shape_equal(&v->shape, &w->shape));
        same_text(v->name, w->name);
        const wg_value *found = v->name ? wg_graph_find(a->graph, v->name) : NULL;
        const wg_value *again = v->name ? wg_graph_find(b->graph, v->name) : NULL;
        assert_int_equal(found ? found->id + 1 : 0, again ? again->id + 1 : 0);
    }
}

/* Every node, value, output and assignment; the next key of a random op. */
static void same_graph(wg_graph *a, wg_graph *b)
{
    assert_int_equal(wg_graph_node_count(a), wg_graph_node_count(b));
    assert_int_equal(wg_graph_value_count(a), wg_graph_value_count(b));
    assert_int_equal(wg_graph_output_count(a), wg_graph_output_count(b));
    assert_int_equal(wg_graph_assign_count(a), wg_graph_assign_count(b));
    assert_true(wg_graph_hash(a) == wg_graph_hash(b));
    for (size_t i = 0; i < wg_graph_node_count(a); i++)
        same_node(wg_graph_node(a, i), wg_graph_node(b, i));
    for (size_t i = 0; i < wg_graph_output_count(a); i++) {
        assert_int_equal(wg_graph_output(a, i)->id, wg_graph_output(b, i)->id);
        assert_string_equal(wg_graph_output_name(a, i), wg_graph_output_name(b, i));
    }
    for (size_t i = 0; i < wg_graph_assign_count(a); i++) {
        wg_value *leaf[2], *v[2];
        wg_graph_assign_at(a, i, &leaf[0], &v[0]);
        wg_graph_assign_at(b, i, &leaf[1], &v[1]);
        assert_int_equal(leaf[0]->id, leaf[1]->id);
        assert_int_equal(v[0]->id, v[1]->id);
    }
    assert_int_equal(wg_graph_verify(b), WG_OK);
}

wg_graph *there_and_back(wg_graph *g, const wg_parse_options *options)
{
    size_t size, again;
    char *first = text_of(g, &size);
    wg_graph *back = parsed(first, size, options);
    same_graph(g, back);
    char *second = text_of(back, &again);
    check_that(size == again && memcmp(first, second, size) == 0, "printed\n%s\nthen\n%s", first,
               second);
    free(first);
    free(second);
    return back;
}
