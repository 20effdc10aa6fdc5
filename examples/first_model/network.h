/* The network, for the program that trains it and for the one that uses it. */
#include <wengert.h>

enum { CLASSES = 3 };

/* x [B, 2], points of the plane; returns the logits [B, CLASSES]. */
static wg_value *network(wg_value *x)
{
    wg_value *h = wg_dense("hidden1", x, 32, WG_ACTIVATION_TANH);
    h = wg_dense("hidden2", h, 32, WG_ACTIVATION_TANH);
    return wg_dense("classes", h, CLASSES, WG_ACTIVATION_NONE);
}
