/* Where the numbers of two runs part.
 *
 * For a value with elements a_i in the first run and b_i in the second:
 *
 *     relative error   max |a_i - b_i| / max |a_i|
 *     digits lost      log10(relative error / u), at least 0, where u = 2^-p is the unit roundoff
 *                      of the coarser dtype (p = 53, 24, 11, 8 for f64, f32, f16, bf16): its
 *                      numbers have -log10(u) digits, and what is left of these are the digits
 *                      that agree
 *     ulps             |a_i - b_i| in units of the last place of a_i, where it is largest relative
 *                      to the tensor
 *
 * A NaN or an infinity on one side only, and an integer or bool that differs, lose all digits.
 *
 * A value that is zero but for rounding has no digits to lose: in each run its largest element is
 * at most 4 u n times the largest of its operands, where n is how many elements of an operand there
 * are for each element of the value (the gradient of a bias that cancels, for example).  Not all
 * ops cancel: what softmax makes of a mask of -1e9 is no zero. */
#include "cli/diff.h"
#include "cli/draw.h"
#include "graph/element.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is known of one value. */
typedef struct loss {
    const wg_value *v; /* of the original graph; NULL if it was not compared */
    double relative, digits, ulps, operands; /* operands: the digits that they have lost */
    double a, b;                             /* where the error is largest */
    int64_t at;
    double scale[2];  /* the largest magnitude in each run */
    size_t different; /* elements whose numbers are further apart than the floor */
    bool zero;        /* but for rounding */
    bool parts;       /* beyond what was allowed */
    char text[40];    /* of the picture */
} loss;

/* ---- one value ------------------------------------------------------------------------------- */

/* The digits of precision p bits; of whole numbers all. */
static int precision(wg_dtype dtype)
{
    switch (dtype) {
    case WG_F64: return 53;
    case WG_F32: return 24;
    case WG_F16: return 11;
    case WG_BF16: return 8;
    default: return 0;
    }
}

static double max_digits(const wg_value *a, const wg_value *b)
{
    int p = precision(a->dtype) < precision(b->dtype) ? precision(a->dtype) : precision(b->dtype);
    return p * 0.30102999566398120; /* log10(2) */
}

static double max_magnitude(const void *data, const wg_value *v)
{
    double max = 0;
    for (int64_t i = 0; i < wg_value_count(v); i++) {
        double x = fabs(wgi_get_element(data, v->dtype, i));
        max = isfinite(x) && x > max ? x : max;
    }
    return max;
}

/* |a - b|; infinite if one is not finite and the other is something else. */
static double distance(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b)))
        return 0;
    return isfinite(a) && isfinite(b) ? fabs(a - b) : INFINITY;
}

static double in_ulps(double error, double a, int p)
{
    int exponent;
    if (error == 0 || p == 0)
        return error;
    frexp(a, &exponent); /* a = f 2^exponent, f in [1/2, 1) */
    return error / ldexp(1, exponent - p);
}

static loss compare_value(const wg_value *v, const wg_value *va, const void *a, const wg_value *vb,
                          const void *b, const diff_request *r)
{
    loss l = {.v = v, .scale = {max_magnitude(a, va), max_magnitude(b, vb)}};
    double worst = 0, scale = l.scale[0], digits = max_digits(va, vb);
    for (int64_t i = 0; i < wg_value_count(v); i++) {
        double x = wgi_get_element(a, va->dtype, i), y = wgi_get_element(b, vb->dtype, i);
        double error = distance(x, y);
        l.different += error > r->floor;
        if (!(error > r->floor) || !(i == 0 || error > worst || worst == 0))
            continue;
        worst = error;
        l.at = i;
        l.a = x;
        l.b = y;
    }
    l.relative = worst == 0 ? 0 : scale > 0 ? worst / scale : INFINITY;
    l.ulps = in_ulps(worst, l.a, (int)(digits / 0.30102999566398120 + 0.5));
    if (digits == 0) /* whole numbers */
        l.digits = worst > 0 ? INFINITY : 0;
    else
        l.digits = worst > 0 ? fmin(fmax(log10(l.relative) + digits, 0), digits) : 0;
    return l;
}

/* Whether results may be what is left of operands that cancel: not those of a function of one
 * number, nor what is small because a mask hides what is large. */
static bool may_cancel(const wg_node *n)
{
    static const char *const others[] = {"softmax", "log_softmax", "logsumexp",
                                         "max",     "min",         "attention"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(n->op->name, others[i]) == 0)
            return false;
    return n->op->family != WG_FAMILY_ACTIVATION &&
           (n->op->family != WG_FAMILY_ELEMENTWISE || n->n_in > 1);
}

/* Whether the results of a run are what is left where its operands cancel. */
static bool is_zero(const loss *all, const wg_value *v, const wg_value *here, int run)
{
    double operands = 0;
    for (int i = 0; i < v->node->n_in; i++) {
        const wg_value *x = v->node->in[i];
        double terms =
            (double)wg_value_count(x) / (double)(wg_value_count(v) ? wg_value_count(v) : 1);
        double size = all[x->id].v ? all[x->id].scale[run] * (terms > 1 ? terms : 1) : 0;
        operands = size > operands ? size : operands;
    }
    int p = precision(here->dtype);
    return p > 0 && may_cancel(v->node) && isfinite(operands) &&
           all[v->id].scale[run] <= ldexp(4, -p) * operands;
}

/* ---- all values ------------------------------------------------------------------------------ */

/* The sums of the report. */
typedef struct sums {
    size_t compared, hidden, equal, parted, zero;
    double digits; /* that the coarser dtype of the first float value has */
} sums;

/* The digits that the operands of a node have lost at most; negative if one was not compared. */
static double operand_digits(const loss *all, const wg_node *n)
{
    double digits = 0;
    for (int i = 0; i < n->n_in; i++) {
        const loss *l = &all[n->in[i]->id];
        if (!l->v)
            return -1;
        digits = l->digits > digits ? l->digits : digits;
    }
    return digits;
}

static void compare_all(loss *all, sums *sum, side s[2], const wg_graph *g, const diff_request *r)
{
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i), *a = s[0].map[i], *b = s[1].map[i];
        const void *x = a ? wg_plan_data(s[0].plan, a) : NULL;
        const void *y = b ? wg_plan_data(s[1].plan, b) : NULL;
        if (!x || !y) {
            sum->hidden += a && b;
            continue;
        }
        all[i] = compare_value(v, a, x, b, y, r);
        loss *l = &all[i];
        l->operands = operand_digits(all, v->node);
        l->zero = l->different && is_zero(all, v, a, 0) && is_zero(all, v, b, 1);
        l->digits = l->zero ? 0 : l->digits;
        l->parts = r->bits ? l->different > 0 : l->digits > r->digits;
        sum->compared++;
        sum->zero += l->zero;
        sum->equal += l->different == 0;
        sum->parted += l->parts;
        if (sum->digits == 0)
            sum->digits = max_digits(a, b);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static int worst_first(const void *a, const void *b)
{
    const loss *x = *(loss *const *)a, *y = *(loss *const *)b;
    if (x->digits != y->digits)
        return x->digits < y->digits ? 1 : -1;
    if (x->different != y->different)
        return x->different < y->different ? 1 : -1;
    return (x->v->id > y->v->id) - (x->v->id < y->v->id);
}

/* "[3,7]" */
static const char *element_text(const wg_value *v, int64_t at, char *text, size_t size)
{
    wg_shape place = {.rank = v->shape.rank};
    for (int k = place.rank - 1; k >= 0; k--) {
        place.dim[k] = at % v->shape.dim[k];
        at /= v->shape.dim[k];
    }
    return place.rank ? wg_shape_text(&place, text, size) : "";
}

static const char *digits_text(double digits, char *text, size_t size)
{
    if (isfinite(digits) && digits >= 0)
        snprintf(text, size, "%.1f", digits);
    else
        snprintf(text, size, "%s", digits < 0 ? "?" : "all");
    return text;
}

static void print_row(const loss *l)
{
    char digits[16], operands[16], at[160], what[200], node[800], type[160];
    snprintf(what, sizeof what, "%%%u %s%s%s", l->v->id, wg_dtype_name(l->v->dtype),
             wg_shape_text(&l->v->shape, type, sizeof type),
             l->v->node->phase == WG_BACKWARD ? " backward"
             : l->v->node->phase == WG_UPDATE ? " update"
                                              : "");
    printf("%6s %8s %9.2g %9.3g %-10s %15.9g %15.9g  %s\n",
           digits_text(l->digits, digits, sizeof digits),
           digits_text(l->operands, operands, sizeof operands), l->relative, l->ulps,
           element_text(l->v, l->at, at, sizeof at), l->a, l->b,
           wg_node_message(l->v->node, what, node, sizeof node));
}

static int print_worst(loss *all, size_t n, side s[2], int shown)
{
    loss **sorted = calloc(n + 1, sizeof *sorted);
    size_t count = 0;
    if (!sorted) {
        complain("out of memory");
        return EXIT_RUN;
    }
    for (size_t i = 0; i < n; i++)
        if (all[i].v && all[i].different)
            sorted[count++] = &all[i];
    qsort(sorted, count, sizeof *sorted, worst_first);
    if (count && shown)
        printf("\n%6s %8s %9s %9s %-10s %15.15s %15.15s  node\n", "digits", "of its", "relative",
               "", "", "", "");
    if (count && shown)
        printf("%6s %8s %9s %9s %-10s %15.15s %15.15s\n", "lost", "operands", "error", "ulps",
               "element", s[0].label, s[1].label);
    for (size_t i = 0; i < count && i < (size_t)shown; i++)
        print_row(sorted[i]);
    free(sorted);
    return EXIT_OK;
}

static void print_first(const loss *all, size_t n, const sums *sum)
{
    char lost[16], operands[16], what[200], node[800];
    size_t i = 0;
    while (i < n && !all[i].parts)
        i++;
    if (i == n)
        return;
    snprintf(what, sizeof what, "%s of %.1f digits lost, its operands %s; %zu of %lld elements",
             digits_text(all[i].digits, lost, sizeof lost), sum->digits,
             digits_text(all[i].operands, operands, sizeof operands), all[i].different,
             (long long)wg_value_count(all[i].v));
    printf("the results diverge at %%%u: %s\n", all[i].v->id,
           wg_node_message(all[i].v->node, what, node, sizeof node));
}

/* "onednn runs 12 of 20 steps": a backend leaves to cpu what it does not take. */
static void print_share_of_backend(const side *s)
{
    size_t n = wg_plan_step_count(s->plan), own = 0;
    const wg_backend *b = s->list.backend[0];
    for (size_t i = 0; i < n; i++)
        own += strcmp(wg_plan_step_at(s->plan, i).backend, b->name) == 0;
    printf("%s runs %zu of %zu steps%s\n", s->label, own, n, own < n ? ", cpu the others" : "");
}

static void print_sums(const sums *sum, side s[2], const diff_request *r)
{
    printf("%s: %s against %s\n%zu values compared, %zu of them equal in every element", r->name[0],
           s[0].label, s[1].label, sum->compared, sum->equal);
    if (r->bits)
        printf(", %zu not\n", sum->parted);
    else
        printf("; %zu lost more than %g of %.1f digits\n", sum->parted, r->digits, sum->digits);
    if (sum->zero && !r->bits)
        printf("%zu values are zero but for rounding in both runs\n", sum->zero);
    for (int i = 0; i < 2 && r->kind == DIFF_BACKENDS; i++)
        print_share_of_backend(&s[i]);
    if (sum->hidden)
        printf("%zu values are inside fused kernels of a run and not compared%s\n", sum->hidden,
               r->no_fuse ? "" : "; see --no-fuse");
}

/* ---- the picture ----------------------------------------------------------------------------- */

typedef struct shading {
    loss *all;
    double digits;
} shading;

/* Nodes that lost nothing are white, those that were not compared too. */
static void shade(void *context, const wg_node *n, wg_picture_note *note)
{
    const shading *s = context;
    loss *l = n->n_out ? &s->all[n->out[0]->id] : NULL;
    for (int i = 1; i < n->n_out; i++)
        if (s->all[n->out[i]->id].digits > l->digits)
            l = &s->all[n->out[i]->id];
    note->heat = 1e-9;
    if (!l || !l->v || !(l->digits > 0))
        return;
    char digits[16];
    snprintf(l->text, sizeof l->text, "%s digits lost",
             digits_text(l->digits, digits, sizeof digits));
    note->text = l->text;
    note->heat = isfinite(l->digits) && s->digits > 0 ? l->digits / s->digits : 1;
}

static int draw(loss *all, const sums *sum, side s[2], const wg_graph *g, const diff_request *r)
{
    char title[2400];
    wg_error error;
    wg_picture *p;
    shading of_all = {all, sum->digits};
    if (!r->svg && !r->png)
        return EXIT_OK;
    snprintf(title, sizeof title, "%s: digits lost, %s against %s", r->name[0], s[0].label,
             s[1].label);
    wg_picture_options o = {
        .title = title, .full = r->full, .no_legend = true, .note = shade, .context = &of_all};
    if (wg_picture_create(&p, g, &o, &error) != WG_OK)
        return complain_error(&error);
    int code = r->svg ? write_picture(p, WG_PICTURE_SVG, r->svg) : EXIT_OK;
    if (code == EXIT_OK && r->png)
        code = write_picture(p, WG_PICTURE_PNG, r->png);
    wg_picture_free(p);
    return code;
}

int diff_numbers(side s[2], wg_graph *g, const diff_request *r)
{
    size_t n = wg_graph_value_count(g);
    sums sum = {0};
    loss *all = calloc(n + 1, sizeof *all);
    if (!all) {
        complain("out of memory");
        return EXIT_RUN;
    }
    compare_all(all, &sum, s, g, r);
    print_sums(&sum, s, r);
    print_first(all, n, &sum);
    int code = print_worst(all, n, s, r->worst);
    if (code == EXIT_OK)
        code = draw(all, &sum, s, g, r);
    free(all);
    if (sum.compared == 0)
        complain("%s: nothing was compared", r->name[0]);
    return code == EXIT_OK && (sum.parted || !sum.compared) ? EXIT_RUN : code;
}
