/* Random tensors.  Each node draws other numbers in each step of a run, as a function of the plan's
 * seed; what the file gives as seeds is ignored. */
#include "onnx/ops.h"

/* The type of the results: of the attribute, else of operand 0, else f32. */
static bool find_type(ox_node *n, wg_dtype *dtype)
{
    const wg_value *like = n->n_operands ? wgi_ox_in(n, 0) : NULL;
    const int64_t number = wgi_ox_int(n, "dtype", 0);
    char text[32];
    *dtype = like ? like->dtype : WG_F32;
    if (number) {
        n->type[0] = wgi_ox_type(number);
        *dtype = n->type[0] ? n->type[0]->computed : WG_DTYPE_DEFAULT;
    }
    if (wgi_ox_failed(n) || (n->n_operands && !like))
        return false;
    if (wg_dtype_is_float(*dtype))
        return true;
    wgi_ox_fail(n, number ? wgi_ox_type_status(number) : WG_EUNSUPPORTED,
                "not supported: random elements of type %s",
                number ? wgi_ox_type_text(number, text) : wg_dtype_name(*dtype));
    return false;
}

/* That of operand 0, or the attribute `shape`. */
static bool find_shape(ox_node *n, wg_shape *shape)
{
    ox_ints dims = {0};
    if (n->n_operands) {
        *shape = wgi_ox_in(n, 0)->shape;
        return true;
    }
    if (!wgi_ox_ints(n, "shape", &dims))
        return false;
    if (dims.n > WG_MAX_RANK)
        return wgi_ox_refuse(n, "%zu axes", dims.n);
    *shape = wg_shape_make((int)dims.n, dims.at);
    return true;
}

wg_value *wgi_ox_random_normal(ox_node *n)
{
    wg_dtype dtype;
    wg_shape shape;
    const double mean = wgi_ox_real(n, "mean", 0), std = wgi_ox_real(n, "scale", 1);
    return find_type(n, &dtype) && find_shape(n, &shape)
               ? wg_normal(n->graph, dtype, shape, mean, std)
               : NULL;
}

wg_value *wgi_ox_random_uniform(ox_node *n)
{
    wg_dtype dtype;
    wg_shape shape;
    const double low = wgi_ox_real(n, "low", 0), high = wgi_ox_real(n, "high", 1);
    return find_type(n, &dtype) && find_shape(n, &shape)
               ? wg_uniform(n->graph, dtype, shape, low, high)
               : NULL;
}
