#include "tests/onnx/built_in.h"
#include "graph/element.h"
#include "graph/mix.h"
#include "tests/test.h"
#include "wengert/ops/table.h"

void built_in_fill(const wg_model *m, const wg_value *v, void *data)
{
    uint64_t state = wgi_hash_text(v->name);
    int64_t below = wg_dtype_is_int(v->dtype) && m ? wg_model_range(m, v->name) : 2;
    for (int64_t i = 0; i < wg_value_count(v); i++) {
        uint64_t bits = wgi_splitmix64(&state);
        double real = 2 * (((double)(bits >> 41) + 0.5) * 0x1p-23) - 1;
        bool whole = !wg_dtype_is_float(v->dtype);
        wgi_put_element(data, v->dtype, i, whole ? (double)(bits % (uint64_t)below) : real);
    }
}

void built_in_fill_inputs(const wg_model *m, wg_plan *p, const wg_graph *g)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        if (v->node->op->flags & WG_OP_INPUT)
            built_in_fill(m, v, wg_plan_data(p, v));
    }
}

void built_in_vary(wg_store *s, double scale)
{
    for (size_t i = 0; i < wg_store_count(s); i++) {
        const wg_tensor *t = wg_store_at(s, i);
        uint64_t state = wgi_hash_text(t->name) + 1;
        for (int64_t k = 0; wg_dtype_is_float(t->dtype) && k < wg_shape_count(&t->shape); k++) {
            double by = scale * (2 * ((double)(wgi_splitmix64(&state) >> 40) * 0x1p-24) - 1);
            wgi_put_element(t->data, t->dtype, k, wgi_get_element(t->data, t->dtype, k) + by);
        }
    }
}

static bool drop_nothing(void *context, wg_graph *to, const wg_node *n, wg_value *const *in,
                         wg_value **y)
{
    (void)context;
    (void)to;
    if (n->op != &wg_op_dropout)
        return false;
    y[0] = in[0];
    return true;
}

wg_graph *built_in_without_dropout(const wg_graph *g)
{
    wg_graph *plain = wg_graph_clone(g, &(wg_clone_options){.replace = drop_nothing}, NULL);
    check_that(plain && wg_graph_status(plain) == WG_OK, "%s",
               plain ? wg_graph_message(plain) : wg_graph_message(g));
    return plain;
}

void built_in_show_all(wg_graph *g)
{
    for (size_t i = 0, n = wg_graph_value_count(g); i < n; i++) {
        wg_value *v = wg_graph_value(g, i);
        char name[40];
        snprintf(name, sizeof name, "shown%zu", i);
        if (v->index == 0 && !(v->node->op->flags & WG_OP_LEAF) && wg_dtype_is_float(v->dtype) &&
            !(wg_graph_output_count(g) && v == wg_graph_output(g, 0)))
            wg_output(v, name);
    }
}
