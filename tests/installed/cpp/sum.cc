// d/dw sum(w x) = x, from C++.
#include "wengert.h"

#include <cstdio>

int main()
{
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2));
    wg_value *w = wg_parameter(g, "w", WG_F32, WG_SHAPE(2), wg_ones());
    wg_value *y = wg_output(wg_sum(wg_mul(w, x), WG_ALL_AXES, WG_DROP), "y");
    wg_gradients d = wg_grad_all(y);
    wg_value *dw = d.n ? wg_output(d.grads[0], "dw") : nullptr;
    wg_plan *plan;
    if (wg_plan_create(&plan, g, nullptr) != WG_OK)
        return std::printf("%s\n", wg_graph_message(g)), 1;
    wg_plan_f32(plan, x)[0] = 2;
    wg_plan_f32(plan, x)[1] = 3;
    if (wg_plan_run(plan, 0) != WG_OK)
        return std::printf("%s\n", wg_plan_message(plan)), 1;
    bool right = wg_plan_scalar(plan, y) == 5 && wg_plan_f32(plan, dw)[1] == 3;
    std::printf("C++: %s\n", right ? "right" : "wrong");
    wg_plan_free(plan);
    wg_graph_free(g);
    return right ? 0 : 1;
}
