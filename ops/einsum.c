/* einsum: a spec is parsed into labels, one for each axis of each operand; the expansion
 * contracts the operands from left to right, each time by one matrix product or one broadcast
 * product. */
#include "ops/ops_internal.h"
#include "wengert/ops/ops.h"
#include "wengert/ops/table.h"

#include <string.h>

/* ---- labels ---------------------------------------------------------------------------------- */

/* A letter is its own label; DOTS + k is the axis under "..." that is the k-th from the end. */
enum { DOTS = 128, LABELS = DOTS + WG_MAX_RANK };

typedef struct labels {
    int count;
    int of[WG_MAX_RANK];
} labels;

typedef struct spec {
    int64_t size[LABELS];
    int uses[LABELS];  /* how often it occurs in operands            */
    int first[LABELS]; /* the operand in which it occurs first       */
    int last[LABELS];  /* and last; the number of operands if it is in the result */
    int dots;          /* the most axes under "..." in any operand   */
    labels result;
} spec;

static bool holds(const labels *l, int label)
{
    for (int i = 0; i < l->count; i++)
        if (l->of[i] == label)
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "bij" or "...ij" between text and end into labels; `dots` axes are under "...", -1: as many as
 * make `rank`. */
static bool parse_term(wg_node *n, const char *text, const char *end, int rank, int dots,
                       labels *out)
{
    int letters = 0;
    const char *ellipsis = NULL;
    for (const char *c = text; c < end; c++) {
        if (is_letter(*c)) {
            letters++;
        } else if (end - c >= 3 && memcmp(c, "...", 3) == 0 && !ellipsis) {
            ellipsis = c;
            c += 2;
        } else if (*c != ' ') {
            return wg_fail(n, WG_EINVAL, "'%c' in \"%.*s\" is out of place", *c, (int)(end - text),
                           text);
        }
    }
    if (rank >= 0 && (ellipsis ? letters > rank : letters != rank))
        return wg_fail(n, WG_ESHAPE, "\"%.*s\" has %d letters for an operand of rank %d",
                       (int)(end - text), text, letters, rank);
    dots = !ellipsis ? 0 : dots < 0 ? rank - letters : dots;
    if (letters + dots > WG_MAX_RANK)
        return wg_fail(n, WG_ESHAPE, "\"%.*s\" makes rank %d, more than %d", (int)(end - text),
                       text, letters + dots, WG_MAX_RANK);
    out->count = 0;
    for (const char *c = text; c < end; c++) {
        for (int k = dots - 1; c == ellipsis && k >= 0; k--)
            out->of[out->count++] = DOTS + k;
        if (is_letter(*c))
            out->of[out->count++] = (unsigned char)*c;
    }
    return true;
}

static const char *arrow_of(const char *text)
{
    const char *arrow = strstr(text, "->");
    return arrow ? arrow : text + strlen(text);
}

/* The terms of operands that have not been read yet. */
typedef struct terms_left {
    const char *at, *end;
} terms_left;

static terms_left terms_of(const wg_node *n)
{
    const wg_einsum_attrs *a = n->attrs;
    return (terms_left){a->spec, arrow_of(a->spec)};
}

/* The labels of operand i, whose term is the next one. */
static bool next_labels(wg_node *n, int i, terms_left *t, labels *out)
{
    const char *text = t->at, *comma = memchr(text, ',', (size_t)(t->end - text));
    t->at = comma ? comma + 1 : t->end;
    return parse_term(n, text, comma ? comma : t->end, n->in[i]->shape.rank, -1, out);
}

/* Adds the sizes and uses of operand i, whose term is the next one, to the spec. */
static bool note_operand(wg_node *n, int i, terms_left *t, spec *s)
{
    labels l = {0};
    if (!next_labels(n, i, t, &l))
        return false;
    for (int k = 0; k < l.count; k++) {
        int label = l.of[k];
        int64_t size = n->in[i]->shape.dim[k], *known = &s->size[label];
        if (s->uses[label]++ == 0) {
            *known = size;
            s->first[label] = i;
        } else if (label >= DOTS && (*known == 1 || size == 1)) {
            *known = *known == 1 ? size : *known;
        } else if (*known != size) {
            if (label >= DOTS)
                return wg_fail(n, WG_ESHAPE,
                               "sizes %lld and %lld under \"...\" do not broadcast, in operand %d",
                               (long long)*known, (long long)size, i);
            return wg_fail(n, WG_ESHAPE, "letter %c is %lld in operand %d, but %lld before", label,
                           (long long)size, i, (long long)*known);
        }
        s->last[label] = i;
        if (label >= DOTS && label - DOTS >= s->dots)
            s->dots = label - DOTS + 1;
    }
    return true;
}

/* What the spec says after "->", or would say. */
static bool note_result(wg_node *n, const char *text, spec *s)
{
    const char *arrow = arrow_of(text);
    labels *r = &s->result;
    if (*arrow) {
        if (!parse_term(n, arrow + 2, arrow + strlen(arrow), -1, s->dots, r))
            return false;
    } else {
        int count = s->dots;
        for (int label = 0; label < DOTS; label++)
            count += s->uses[label] == 1;
        if (count > WG_MAX_RANK)
            return wg_fail(n, WG_ESHAPE, "the result of \"%s\" has rank %d, more than %d", text,
                           count, WG_MAX_RANK);
        for (int k = s->dots - 1; k >= 0; k--)
            r->of[r->count++] = DOTS + k;
        for (int label = 0; label < DOTS; label++)
            if (s->uses[label] == 1)
                r->of[r->count++] = label;
    }
    for (int k = 0; k < r->count; k++) {
        int label = r->of[k];
        if (s->uses[label] == 0)
            return wg_fail(n, WG_EINVAL, "letter %c of the result is in no operand", label);
        if (s->last[label] == n->n_in)
            return wg_fail(n, WG_EINVAL, "letter %c is twice in the result", label);
        s->last[label] = n->n_in;
    }
    return true;
}

static bool parse(wg_node *n, spec *s)
{
    const wg_einsum_attrs *a = n->attrs;
    *s = (spec){.dots = 0};
    if (!a->spec)
        return wg_fail(n, WG_EINVAL, "no spec");
    terms_left t = terms_of(n);
    int count = 1;
    for (const char *c = t.at; c < t.end; c++)
        count += *c == ',';
    if (count != n->n_in)
        return wg_fail(n, WG_EINVAL, "\"%s\" is for %d operands, not %d", a->spec, count, n->n_in);
    for (int i = 0; i < n->n_in; i++)
        if (!note_operand(n, i, &t, s))
            return false;
    if (!note_result(n, a->spec, s))
        return false;
    for (int i = 1; i < n->n_in; i++) {
        int alive = 0;
        for (int label = 0; label < LABELS; label++)
            alive += s->uses[label] && s->first[label] <= i && s->last[label] > i;
        if (alive > WG_MAX_RANK)
            return wg_fail(n, WG_ESHAPE,
                           "the product of the first %d operands has %d axes, more than %d", i + 1,
                           alive, WG_MAX_RANK);
    }
    return true;
}

static bool infer_einsum(wg_node *n)
{
    spec s;
    for (int i = 0; i < n->n_in; i++)
        if (!wg_need_float(n, i) || !wg_need_same_dtype(n, 0, i))
            return false;
    if (!parse(n, &s))
        return false;
    wg_shape y = {.rank = s.result.count};
    for (int i = 0; i < y.rank; i++)
        y.dim[i] = s.size[s.result.of[i]];
    return wg_set_result(n, 0, n->in[0]->dtype, y);
}

/* ---- the expansion --------------------------------------------------------------------------- */

/* A value whose axes have labels, no label twice. */
typedef struct term {
    wg_value *x; /* NULL after an error */
    labels l;
} term;

static void push(labels *l, int label)
{
    l->of[l->count++] = label;
}

static bool is_order(const term *t, const labels *order)
{
    return t->l.count == order->count &&
           memcmp(t->l.of, order->of, sizeof *order->of * (size_t)order->count) == 0;
}

/* The same axes in another order. */
static wg_value *permuted(const term *t, const labels *order)
{
    wg_axes axes = {.count = order->count};
    for (int i = 0; i < order->count; i++)
        while (t->l.of[axes.axis[i]] != order->of[i])
            axes.axis[i]++;
    return is_order(t, order) ? t->x : wg_permute(t->x, axes);
}

/* [.., n, .., n, ..] with one label at axes i < k becomes [..., n]: the elements 0, n + 1, 2 (n +
 * 1), ... of the last two axes seen as one. */
static void take_diagonal(term *t, int i, int k)
{
    int rank = t->l.count, label = t->l.of[i];
    int64_t size = t->x->shape.dim[i];
    wg_axes order = {.count = rank};
    wg_shape flat = {.rank = rank - 1};
    labels l = {0};
    for (int j = 0; j < rank; j++)
        if (j != i && j != k) {
            order.axis[l.count] = j;
            flat.dim[l.count] = t->x->shape.dim[j];
            push(&l, t->l.of[j]);
        }
    order.axis[rank - 2] = i;
    order.axis[rank - 1] = k;
    flat.dim[rank - 2] = size * size;
    push(&l, label);
    t->l = l;
    t->x = wg_slice(wg_reshape(wg_permute(t->x, order), flat), -1, 0, WG_TO_END, size + 1);
}

/* Operand i, whose term is the next one, each label once, without the axes of size 1 that
 * broadcast. */
static term operand_term(wg_node *n, int i, terms_left *left, const spec *s)
{
    term t = {.x = n->in[i]};
    if (!next_labels(n, i, left, &t.l))
        return (term){0};
    for (int a = 0; t.x && a < t.l.count; a++)
        for (int b = a + 1; t.x && b < t.l.count; b++)
            if (t.l.of[a] == t.l.of[b]) {
                take_diagonal(&t, a, b);
                a = -1; /* axes have moved: from the start */
                break;
            }
    if (!t.x)
        return t;
    labels l = {0};
    wg_shape shape = {0};
    for (int k = 0; k < t.l.count; k++)
        if (t.x->shape.dim[k] == s->size[t.l.of[k]]) {
            shape.dim[shape.rank++] = t.x->shape.dim[k];
            push(&l, t.l.of[k]);
        }
    t.l = l;
    t.x = wg_reshape(t.x, shape);
    return t;
}

/* Sums t over the labels that nothing after operand `step` and not `other` needs. */
static void sum_out(term *t, const labels *other, const spec *s, int step)
{
    wg_axes axes = {0};
    labels l = {0};
    for (int i = 0; i < t->l.count; i++)
        if (s->last[t->l.of[i]] > step || holds(other, t->l.of[i]))
            push(&l, t->l.of[i]);
        else
            axes.axis[axes.count++] = i;
    if (axes.count)
        t->x = wg_sum(t->x, axes, WG_DROP);
    t->l = l;
}

static labels joined(const labels *a, const labels *b, const labels *c)
{
    labels l = {0};
    const labels *parts[] = {a, b, c};
    for (int p = 0; p < 3; p++)
        for (int i = 0; i < parts[p]->count; i++)
            push(&l, parts[p]->of[i]);
    return l;
}

static int64_t volume(const labels *l, const spec *s)
{
    int64_t size = 1;
    for (int i = 0; i < l->count; i++)
        size *= s->size[l->of[i]];
    return size;
}

static wg_shape shape_of(const labels *l, const spec *s)
{
    wg_shape shape = {.rank = l->count};
    for (int i = 0; i < l->count; i++)
        shape.dim[i] = s->size[l->of[i]];
    return shape;
}

/* t as a matrix, or a batch of them, with axes (batch, rows, columns); *transposed if t is better
 * taken as (batch, columns, rows), in which order it already is. */
static wg_value *matrix(const term *t, const labels *batch, const labels *rows,
                        const labels *columns, const spec *s, bool *transposed)
{
    labels straight = joined(batch, rows, columns), crossed = joined(batch, columns, rows);
    *transposed = !is_order(t, &straight) && is_order(t, &crossed);
    if (*transposed) {
        const labels *other = rows;
        rows = columns;
        columns = other;
    }
    wg_value *x = permuted(t, *transposed ? &crossed : &straight);
    wg_shape shape = {0};
    if (batch->count)
        shape.dim[shape.rank++] = volume(batch, s);
    shape.dim[shape.rank++] = volume(rows, s);
    shape.dim[shape.rank++] = volume(columns, s);
    return wg_reshape(x, shape);
}

/* t with axes in that order and axes of size 1 for the labels that it lacks. */
static wg_value *aligned(const term *t, const labels *order, const spec *s)
{
    labels own = {0};
    wg_shape shape = {.rank = order->count};
    for (int i = 0; i < order->count; i++) {
        bool has = holds(&t->l, order->of[i]);
        shape.dim[i] = has ? s->size[order->of[i]] : 1;
        if (has)
            push(&own, order->of[i]);
    }
    return wg_reshape(permuted(t, &own), shape);
}

/* The product of a and b, operand `step`, summed over what is not needed later:
 *   y[batch, left, right] = sum over inner of a[batch, left, inner] b[batch, inner, right]. */
static term contract(term a, term b, const spec *s, int step)
{
    labels batch = {0}, left = {0}, right = {0}, inner = {0};
    labels of_a = a.l;
    sum_out(&a, &b.l, s, step);
    sum_out(&b, &of_a, s, step);
    for (int i = 0; i < a.l.count; i++) {
        int label = a.l.of[i];
        push(!holds(&b.l, label) ? &left : s->last[label] > step ? &batch : &inner, label);
    }
    for (int i = 0; i < b.l.count; i++)
        if (!holds(&a.l, b.l.of[i]))
            push(&right, b.l.of[i]);

    term y = {.l = joined(&batch, &left, &right)};
    if (inner.count == 0) {
        y.x = wg_mul(aligned(&a, &y.l, s), aligned(&b, &y.l, s));
        return y;
    }
    bool ta, tb;
    wg_value *ma = matrix(&a, &batch, &left, &inner, s, &ta),
             *mb = matrix(&b, &batch, &inner, &right, s, &tb);
    y.x = wg_matmul_t(ma, mb, (ta ? WG_TN : 0) | (tb ? WG_NT : 0));
    y.x = wg_reshape(y.x, shape_of(&y.l, s));
    return y;
}

static void expand_einsum(wg_node *n, wg_value **y)
{
    spec s;
    labels none = {0};
    if (!parse(n, &s))
        return;
    terms_left left = terms_of(n);
    term t = operand_term(n, 0, &left, &s);
    for (int i = 1; i < n->n_in && t.x; i++) {
        term b = operand_term(n, i, &left, &s);
        t = b.x ? contract(t, b, &s, i) : b;
    }
    if (!t.x)
        return;
    sum_out(&t, &none, &s, n->n_in - 1);
    y[0] = permuted(&t, &s.result);
}

/* A multiplication and an addition for each value of the letters at hand, operand by operand. */
static double einsum_flops(const wg_node *n)
{
    spec s;
    double flops = 0;
    if (!parse((wg_node *)n, &s)) /* it was valid when built: nothing is changed */
        return 0;
    for (int i = n->n_in > 1; i < n->n_in; i++) {
        double terms = 1;
        for (int label = 0; label < LABELS; label++)
            if (s.uses[label] && s.first[label] <= i && s.last[label] >= i)
                terms *= (double)s.size[label];
        flops += (n->n_in > 1 ? 2 : 1) * terms;
    }
    return flops;
}

static const wg_attr einsum_attrs[] = {WG_ATTR(TEXT, wg_einsum_attrs, spec)};

static const wg_sample einsum_samples[] = {
    {"matrix product",
     &(const wg_einsum_attrs){"ij,jk->ik"},
     2,
     {WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 2, 4, 2)}},
    {"batched, crossed",
     &(const wg_einsum_attrs){"bji, bkj -> bki"},
     2,
     {WG_FLOATS(-2, 2, 3, 2, 3, 4), WG_FLOATS(-2, 2, 3, 2, 5, 3)}},
    {"attention scores",
     &(const wg_einsum_attrs){"bqhd,bkhd->bhqk"},
     2,
     {WG_FLOATS(-2, 2, 4, 2, 2, 2, 3), WG_FLOATS(-2, 2, 4, 2, 3, 2, 3)}},
    {"three operands",
     &(const wg_einsum_attrs){"i,ij,j"},
     3,
     {WG_FLOATS(-2, 2, 1, 3), WG_FLOATS(-2, 2, 2, 3, 4), WG_FLOATS(-2, 2, 1, 4)}},
    {"ellipsis",
     &(const wg_einsum_attrs){"...ij,...j->...i"},
     2,
     {WG_FLOATS(-2, 2, 4, 2, 1, 3, 2), WG_FLOATS(-2, 2, 2, 3, 2)}},
    {"trace", &(const wg_einsum_attrs){"ii"}, 1, {WG_FLOATS(-2, 2, 2, 3, 3)}},
    {"diagonal", &(const wg_einsum_attrs){"iji->ij"}, 1, {WG_FLOATS(-2, 2, 3, 3, 2, 3)}},
    {"outer product",
     &(const wg_einsum_attrs){"i,j->ji"},
     2,
     {WG_FLOATS(-2, 2, 1, 3), WG_FLOATS(-2, 2, 1, 4)}},
    {"sum", &(const wg_einsum_attrs){"ij->j"}, 1, {WG_FLOATS(-2, 2, 2, 3, 4)}},
};

const wg_op wg_op_einsum = {
    .name = "einsum",
    .formula = "y[result] = sum over other letters of the product of operands",
    .family = WG_FAMILY_LINEAR_ALGEBRA,
    .operands = "x*",
    .results = "y",
    WG_ATTRS(wg_einsum_attrs, einsum_attrs),
    .infer = infer_einsum,
    .expand = expand_einsum,
    .flops = einsum_flops,
    .smoothness = WG_PIECEWISE_LINEAR,
    WG_SAMPLES(einsum_samples),
};

wg_value *(wg_einsum)(const char *at, const char *text, wg_value *const *x, size_t n)
{
    return wgi_apply_list(at, &wg_op_einsum, &(wg_einsum_attrs){text}, x, n);
}
