/* ai.onnx.preview.training: updates of parameters, and gradients. */
#include "onnx/ops.h"
#include "wengert/autograd/grad.h"

#include <string.h>

/* Operands: the rate R, the count of updates T, then `lists` lists of tensors of equal lengths. */
typedef struct update {
    ox_node *n;
    wg_value *rate, *step;
    int count; /* of tensors */
    int lists;
} update;

static bool begin(update *u, ox_node *n, int lists)
{
    *u = (update){n, wgi_ox_in(n, 0), wgi_ox_in(n, 1), 0, lists};
    size_t rest = n->n_operands - 2;
    if (!rest || rest % (size_t)lists || rest > OX_MAX_RESULTS)
        return wgi_ox_fail(n, WG_EDATA, "expected R, T and %d lists of tensors, got %zu operands",
                           lists, n->n_operands);
    u->count = (int)rest / lists;
    u->rate = wg_reshape(u->rate, WG_SCALAR);
    u->step = wg_reshape(u->step, WG_SCALAR);
    return true;
}

static wg_value *item(const update *u, int list, int i)
{
    return wgi_ox_in(u->n, 2 + list * u->count + i);
}

static void set(const update *u, int list, int i, wg_value *v)
{
    wgi_ox_set(u->n, list * u->count + i, v);
}

/* G + norm_coefficient X */
static wg_value *regularised(const update *u, int i)
{
    wg_value *x = item(u, 0, i), *g = item(u, 1, i);
    return wg_add(wg_scale(x, wgi_ox_real(u->n, "norm_coefficient", 0)), g);
}

static wg_value *is_later(const update *u)
{
    return u->step ? wg_greater(u->step, wg_scalar_like(u->step, 0)) : NULL;
}

/* R sqrt(1 - beta^T) / (1 - alpha^T), and R itself at T = 0 */
static wg_value *adam_rate(const update *u, double alpha, double beta)
{
    if (!u->rate || !u->step)
        return NULL;
    wg_value *later = is_later(u), *t = wg_cast(u->step, u->rate->dtype);
    t = wg_where(later, t, wg_scalar_like(t, 1)); /* no division by 0 where it is not used */
    wg_value *b = wg_pow(wg_scalar_like(t, beta), t), *a = wg_pow(wg_scalar_like(t, alpha), t);
    wg_value *factor = wg_div(wg_sqrt(wg_shift(wg_neg(b), 1)), wg_shift(wg_neg(a), 1));
    return wg_where(later, wg_mul(u->rate, factor), u->rate);
}

/* V' = alpha V + (1 - alpha) G,  H' = beta H + (1 - beta) G^2,
 * X' = X - rate V' / (sqrt(H') + eps) */
wg_value *wgi_ox_adam(ox_node *n)
{
    update u;
    double alpha = wgi_ox_real(n, "alpha", 0.9), beta = wgi_ox_real(n, "beta", 0.999),
           eps = wgi_ox_real(n, "epsilon", 1e-6),
           post = 1 - wgi_ox_real(n, "norm_coefficient_post", 0);
    if (!begin(&u, n, 4))
        return NULL;
    wg_value *rate = adam_rate(&u, alpha, beta);
    for (int i = 0; i < u.count; i++) {
        wg_value *x = item(&u, 0, i), *g = regularised(&u, i);
        wg_value *v = wg_add(wg_scale(item(&u, 2, i), alpha), wg_scale(g, 1 - alpha));
        wg_value *h = wg_add(wg_scale(item(&u, 3, i), beta), wg_scale(wg_square(g), 1 - beta));
        wg_value *move = wg_div(wg_mul(rate, v), wg_shift(wg_sqrt(h), eps));
        set(&u, 0, i, wg_scale(wg_sub(x, move), post));
        set(&u, 1, i, v);
        set(&u, 2, i, h);
    }
    return n->result[0];
}

/* H' = H + G^2,  X' = X - R / (1 + T decay) G / (sqrt(H') + eps) */
wg_value *wgi_ox_adagrad(ox_node *n)
{
    update u;
    double decay = wgi_ox_real(n, "decay_factor", 0), eps = wgi_ox_real(n, "epsilon", 1e-6);
    if (!begin(&u, n, 3) || !u.rate || !u.step)
        return NULL;
    wg_value *t = wg_cast(u.step, u.rate->dtype);
    wg_value *rate = wg_div(u.rate, wg_shift(wg_scale(t, decay), 1));
    for (int i = 0; i < u.count; i++) {
        wg_value *g = regularised(&u, i), *h = wg_add(item(&u, 2, i), wg_square(g));
        wg_value *move = wg_div(wg_mul(rate, g), wg_shift(wg_sqrt(h), eps));
        set(&u, 0, i, wg_sub(item(&u, 0, i), move));
        set(&u, 1, i, h);
    }
    return n->result[0];
}

/* V' = alpha V + beta G (beta is 1 at T = 0),  X' = X - R V', or X - R (G + alpha V') */
wg_value *wgi_ox_momentum(ox_node *n)
{
    update u;
    double alpha = wgi_ox_real(n, "alpha", 0), beta = wgi_ox_real(n, "beta", 0);
    bool nesterov = strcmp(wgi_ox_word(n, "mode", "standard"), "nesterov") == 0;
    if (!begin(&u, n, 3) || !u.rate)
        return NULL;
    wg_value *later =
        wg_where(is_later(&u), wg_scalar_like(u.rate, beta), wg_scalar_like(u.rate, 1));
    for (int i = 0; i < u.count; i++) {
        wg_value *g = regularised(&u, i);
        wg_value *v = wg_add(wg_scale(item(&u, 2, i), alpha), wg_mul(later, g));
        wg_value *by = nesterov ? wg_add(g, wg_scale(v, alpha)) : v;
        set(&u, 0, i, wg_sub(item(&u, 0, i), wg_mul(u.rate, by)));
        set(&u, 1, i, v);
    }
    return n->result[0];
}

/* dy / dx for the values that xs names, where the graph computes y from them.  The operands are the
 * points at which to differentiate: only these values themselves are supported. */
wg_value *wgi_ox_gradient(ox_node *n)
{
    const char *name = wgi_ox_word(n, "y", "");
    const ox_item *y = wgi_ox_lookup(n->import, name);
    wg_value *x[OX_MAX_RESULTS], *dx[OX_MAX_RESULTS] = {NULL};
    size_t count = 0;
    if (!y || !y->value)
        return wgi_ox_fail(n, WG_EDATA, "y: no value before this node is called '%s'", name);
    for (; (name = wgi_ox_word_at(n, "xs", count)) && count < OX_MAX_RESULTS; count++) {
        const ox_item *named = wgi_ox_lookup(n->import, name);
        if (!named || count >= n->n_operands || named != n->operand[count])
            return wgi_ox_refuse(n, "xs: '%s' is not the operand in its place", name);
        x[count] = wgi_ox_in(n, (int)count);
    }
    for (size_t i = 0; (name = wgi_ox_word_at(n, "zs", i)); i++)
        if (count + i >= n->n_operands || wgi_ox_lookup(n->import, name) != n->operand[count + i])
            return wgi_ox_refuse(n, "zs: '%s' is not the operand in its place", name);
    if (!count)
        return wgi_ox_fail(n, WG_EDATA, "xs is empty");
    wg_value *values[] = {y->value};
    if (wg_vjp(values, NULL, 1, x, count, NULL, dx) != WG_OK)
        return NULL;
    for (size_t i = 0; i < count; i++)
        wgi_ox_set(n, (int)i, dx[i]);
    return dx[0];
}
