/* Elementwise arithmetic, comparisons and casts. */
#include "onnx/ops.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* ---- any number of operands ------------------------------------------------------------------ */

static wg_value *fold(ox_node *n, ox_binary *f)
{
    wg_value *y = wgi_ox_in(n, 0);
    for (size_t i = 1; i < n->n_operands; i++)
        y = f(NULL, y, wgi_ox_in(n, (int)i));
    return y;
}

wg_value *wgi_ox_sum(ox_node *n)
{
    return fold(n, (wg_add));
}

wg_value *wgi_ox_mean(ox_node *n)
{
    return wg_scale(fold(n, (wg_add)), 1 / (double)n->n_operands);
}

wg_value *wgi_ox_max(ox_node *n)
{
    return fold(n, (wg_maximum));
}

wg_value *wgi_ox_min(ox_node *n)
{
    return fold(n, (wg_minimum));
}

/* ---- two ------------------------------------------------------------------------------------- */

wg_value *wgi_ox_div(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_second(n);
    return !a || wg_dtype_is_float(a->dtype) ? wg_div(a, b) : wgi_ox_divide(a, b);
}

/* The exponent, if it is one small whole number that is known: powers by products are faster, and
 * have a derivative at 0. */
static int small_power(ox_node *n)
{
    const wg_value *b = wgi_ox_in(n, 1);
    if (wg_value_count(b) != 1 || !wgi_ox_known(n, 1))
        return 0;
    double p = wgi_ox_real_in(n, 1, 0);
    return p == 1 || p == 2 || p == 3 ? (int)p : 0;
}

wg_value *wgi_ox_pow(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_second(n);
    if (!a || !b)
        return NULL;
    int power = b->shape.rank <= a->shape.rank ? small_power(n) : 0;
    if (power)
        return power == 1 ? a : power == 2 ? wg_square(a) : wg_mul(wg_square(a), a);
    if (wg_dtype_is_int(a->dtype) && wg_dtype_is_float(b->dtype))
        return wgi_ox_cast(wg_pow(wgi_ox_cast(a, WG_F64), wgi_ox_cast(b, WG_F64)), a->dtype);
    return wg_pow(a, wgi_ox_cast(b, a->dtype));
}

/* fmod: the remainder of the magnitudes, with the sign of a. */
wg_value *wgi_ox_mod(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_in(n, 1);
    if (!wgi_ox_int(n, "fmod", 0))
        return wg_remainder(a, b);
    wg_value *r = wg_remainder(wg_abs(a), wg_abs(b));
    return a ? wg_where(wg_less(a, wg_scalar_like(a, 0)), wg_neg(r), r) : NULL;
}

/* Unsigned numbers are held in signed ones of more bits, so that both shifts are those of ours. */
wg_value *wgi_ox_bit_shift(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *s = wgi_ox_in(n, 1);
    if (strcmp(wgi_ox_word(n, "direction", ""), "LEFT") == 0)
        return wg_bitwise_left_shift(a, s);
    return wg_bitwise_right_shift(a, s);
}

/* -1 - a, which is wrapped to the range of unsigned types. */
wg_value *wgi_ox_bitwise_not(ox_node *n)
{
    const ox_type *type = wgi_ox_type_in(n, 0);
    wg_value *a = wgi_ox_in(n, 0);
    if (!type || type->number == 13) /* its largest number cannot be held */
        return wgi_ox_refuse(n, "uint64");
    n->type[0] = type;
    return wgi_ox_wrap(wg_bitwise_not(a), type);
}

/* Bools are compared by logic. */
wg_value *wgi_ox_equal(ox_node *n)
{
    wg_value *a = wgi_ox_in(n, 0), *b = wgi_ox_second(n);
    return a && a->dtype == WG_BOOL ? wg_logical_not(wg_logical_xor(a, b)) : wg_equal(a, b);
}

wg_value *wgi_ox_where(ox_node *n)
{
    n->type[0] = wgi_ox_type_in(n, 1);
    return wg_where(wgi_ox_in(n, 0), wgi_ox_in(n, 1), wgi_ox_in(n, 2));
}

/* ---- one ------------------------------------------------------------------------------------- */

wg_value *wgi_ox_identity(ox_node *n)
{
    n->type[0] = wgi_ox_type_in(n, 0);
    return wgi_ox_in(n, 0);
}

/* det a = sign exp(log |det a|). */
wg_value *wgi_ox_det(ox_node *n)
{
    wg_value *sign = wg_slogdet(wgi_ox_in(n, 0));
    return wg_mul(sign, wg_exp(wg_result_of(sign, 1)));
}

wg_value *wgi_ox_is_inf(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0), *y = wg_isinf(x);
    bool positive = wgi_ox_int(n, "detect_positive", 1),
         negative = wgi_ox_int(n, "detect_negative", 1);
    if (!x || (positive && negative))
        return y;
    wg_value *zero = wg_scalar_like(x, 0);
    wg_value *side = positive ? wg_greater(x, zero) : wg_less(x, zero);
    return wg_logical_and(y, positive || negative ? side : wg_not_equal(wg_abs(x), wg_abs(x)));
}

/* The bounds are attributes before opset 11, then operands. */
static wg_value *clip_to(ox_node *n, wg_value *x)
{
    if (wgi_ox_has(n, 1))
        x = wg_maximum(x, wgi_ox_in(n, 1));
    return wgi_ox_has(n, 2) ? wg_minimum(x, wgi_ox_in(n, 2)) : x;
}

wg_value *wgi_ox_clip(ox_node *n)
{
    wg_value *x = wgi_ox_in(n, 0);
    bool known =
        (!wgi_ox_has(n, 1) || wgi_ox_known(n, 1)) && (!wgi_ox_has(n, 2) || wgi_ox_known(n, 2));
    if (!x || !wg_dtype_is_float(x->dtype) || !known)
        return clip_to(n, x);
    double low = wgi_ox_real_in(n, 1, -INFINITY), high = wgi_ox_real_in(n, 2, INFINITY);
    if (n->opset < 11) {
        low = wgi_ox_real(n, "min", -INFINITY);
        high = wgi_ox_real(n, "max", INFINITY);
    }
    bool float_max = low <= -3.4e38 && n->opset < 11; /* how old files say that there is no bound */
    return low <= high ? wg_clamp(x, float_max ? -INFINITY : low, high) : clip_to(n, x);
}

/* ---- casts ----------------------------------------------------------------------------------- */

/* To integers of fewer bits by way of those that they are computed in. */
static wg_value *cast_as(ox_node *n, const ox_type *type, int64_t number)
{
    char text[32];
    if (!type)
        return wgi_ox_fail(n, wgi_ox_type_status(number), "not supported: a cast to %s",
                           wgi_ox_type_text(number, text));
    n->type[0] = type;
    wg_value *x = wgi_ox_in(n, 0);
    return wgi_ox_wrap(wgi_ox_cast(x, type->computed), type);
}

wg_value *wgi_ox_cast_to(ox_node *n)
{
    bool by_name = n->opset < 6;
    int64_t to = by_name ? 0 : wgi_ox_int(n, "to", 0);
    const char *word = by_name ? wgi_ox_word(n, "to", NULL) : NULL;
    for (int k = 1; word && k < 17; k++) {
        const ox_type *t = wgi_ox_type(k);
        if (t && strcasecmp(t->name, word) == 0)
            to = k;
    }
    if (word && !to)
        return wgi_ox_refuse(n, "a cast to %s", word);
    return cast_as(n, wgi_ox_type(to), to);
}

wg_value *wgi_ox_cast_like(ox_node *n)
{
    return cast_as(n, wgi_ox_type_in(n, 1), 0);
}
