/* Shared objects with models that cannot be used; test_load_model.c and test_cli_files.sh load
 * them. */
#include "wengert.h"

#ifndef ABI
#define ABI WG_MODEL_ABI
#endif

WG_API wg_value *build(wg_graph *g);
WG_API wg_model_entry wengert_model;

/* Inner sizes that differ. */
wg_value *build(wg_graph *g)
{
    wg_value *x = wg_input(g, "x", WG_F32, WG_SHAPE(2, 3));
    return wg_output(wg_matmul(x, x), "loss");
}

const wg_model *wengert_model(uint32_t abi)
{
    static const wg_model model = {.name = NAME, .build = BUILD};
    return abi == ABI ? &model : NULL;
}
