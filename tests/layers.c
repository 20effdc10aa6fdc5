#include "tests/layers.h"
#include "graph/element.h"

wg_plan *layers_plan(wg_graph *g, wg_store *store)
{
    wg_plan *p;
    check_that(wg_plan_create(&p, g, &(wg_plan_options){.store = store, .seed = 3}) == WG_OK, "%s",
               wg_graph_message(g));
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        wg_value *v = wg_graph_value(g, i);
        for (int64_t k = 0; v->node->op == &wg_op_input && k < wg_value_count(v); k++)
            wgi_put_element(wg_plan_data(p, v), v->dtype, k,
                            wg_dtype_is_float(v->dtype) ? sin((double)k + v->id) : (double)(k % 3));
    }
    return p;
}

void layers_run(wg_plan *p, uint64_t step)
{
    check_that(wg_plan_run(p, step) == WG_OK, "%s", wg_plan_message(p));
}

void layers_check_shape(const wg_value *v, wg_shape shape)
{
    assert_true(wg_shape_equal(&v->shape, &shape));
}
