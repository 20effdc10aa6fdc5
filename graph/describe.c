/* What messages call operands, values and nodes. */
#include "graph/error.h"
#include "graph/internal.h"

#include <string.h>

const char *wg_family_name(wg_family family)
{
    /* clang-format off */
    static const char *const names[] = {
        [WG_FAMILY_OTHER] = "other",
        [WG_FAMILY_LINEAR_ALGEBRA] = "linear algebra",
        [WG_FAMILY_ATTENTION] = "attention",
        [WG_FAMILY_CONVOLUTION] = "convolution",
        [WG_FAMILY_UPSAMPLING] = "upsampling",
        [WG_FAMILY_POOLING] = "pooling",
        [WG_FAMILY_RECURRENT] = "recurrent",
        [WG_FAMILY_NORMALISATION] = "normalisation",
        [WG_FAMILY_ACTIVATION] = "activation",
        [WG_FAMILY_ELEMENTWISE] = "elementwise",
        [WG_FAMILY_COMPARISON] = "comparison",
        [WG_FAMILY_LOGIC] = "logic",
        [WG_FAMILY_SELECTION] = "selection",
        [WG_FAMILY_REDUCTION] = "reduction",
        [WG_FAMILY_LOSS] = "loss",
        [WG_FAMILY_RANDOM] = "random",
        [WG_FAMILY_OPTIMIZER] = "optimizer",
        [WG_FAMILY_INDEXING] = "indexing",
        [WG_FAMILY_MOVEMENT] = "movement",
        [WG_FAMILY_LEAF] = "leaf",
        [WG_FAMILY_FUSED] = "fused",
        [WG_FAMILY_QUANTISATION] = "quantisation",
        [WG_FAMILY_ORDER] = "order",
    };
    /* clang-format on */
    return names[(size_t)family < WG_COUNT(names) ? family : WG_FAMILY_OTHER];
}

/* ---- what the operand text of an op says ----------------------------------------------------- */

/* The i-th word of "x weight bias?"; the last word answers for all further ones if it ends in
 * '*'. */
static const char *word(const char *words, int i, size_t *length)
{
    const char *w = words;
    for (;;) {
        w += strspn(w, " ");
        *length = strcspn(w, " ");
        if (*length == 0)
            return NULL;
        if (i == 0 || w[*length - 1] == '*')
            return w;
        i--;
        w += *length;
    }
}

void wg_op_arity(const wg_op *op, int *min, int *max)
{
    *min = *max = 0;
    for (const char *w = op->operands ? op->operands : "";;) {
        w += strspn(w, " ");
        size_t length = strcspn(w, " ");
        if (length == 0)
            return;
        char mark = w[length - 1];
        *min += mark != '?' && mark != '*';
        *max = mark == '*' ? INT32_MAX : *max + 1;
        w += length;
    }
}

const char *wg_op_operand_name(const wg_op *op, int i, char *text, size_t size)
{
    size_t length;
    const char *w = word(op->operands ? op->operands : "", i, &length);
    if (!w)
        snprintf(text, size, "operand %d", i);
    else if (w[length - 1] == '*')
        snprintf(text, size, "%.*s%d", (int)length - 1, w, i);
    else
        snprintf(text, size, "%.*s", (int)(w[length - 1] == '?' ? length - 1 : length), w);
    return text;
}

/* ---- values and nodes ------------------------------------------------------------------------ */

const char *wgi_short_at(const char *at)
{
    const char *slash = strrchr(at, '/');
    return slash ? slash + 1 : at;
}

const char *wgi_line_of(const char *at)
{
    return at ? wgi_short_at(at) : "an unknown line";
}

const char *wg_value_text(const wg_value *v, char *text, size_t size)
{
    if (v->name)
        snprintf(text, size, "%s", v->name);
    else
        snprintf(text, size, "%%%u", v->id);
    wgi_text_disarm(text, false);
    return text;
}

/* Another operand, w, has a name that ends in the same part as v's. */
static bool is_ambiguous(const wg_node *n, const wg_value *v)
{
    for (int i = 0; v->name && i < n->n_in; i++) {
        const wg_value *w = n->in[i];
        if (w && w != v && w->name && strcmp(wgi_short_at(w->name), wgi_short_at(v->name)) == 0)
            return true;
    }
    return false;
}

/* "encoder/layer3: matmul(q, k)": a named value shows the last part of its name, or all of it where
 * that of another operand ends likewise.  A leaf that is being built shows its own: "input(x)". */
static void node_title(const wg_node *n, char *text, size_t size)
{
    const char *path = n->scope->path;
    int used = snprintf(text, size, "%s%s%s(", path, *path ? ": " : "", n->op->name);
    for (int i = 0; i < n->n_in && used > 0 && (size_t)used < size; i++) {
        char name[128];
        const wg_value *v = n->in[i];
        const char *shown = !v ? "NULL" : wg_value_text(v, name, sizeof name);
        bool whole = v && is_ambiguous(n, v);
        if (i == 6 && n->n_in > 8) {
            used += snprintf(text + used, size - (size_t)used, ", ... %d more", n->n_in - i);
            break;
        }
        used += snprintf(text + used, size - (size_t)used, "%s%s", i ? ", " : "",
                         whole ? shown : wgi_short_at(shown));
    }
    if (n->graph->leaf && n->op->flags & WG_OP_LEAF && used > 0 && (size_t)used < size)
        used += snprintf(text + used, size - (size_t)used, "%s", n->graph->leaf);
    if (used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ")");
}

const char *wg_node_message(const wg_node *n, const char *what, char *text, size_t size)
{
    char title[512];
    node_title(n, title, sizeof title);
    snprintf(text, size, "%s: %s%s%s%s", title, what, n->at ? " (" : "",
             n->at ? wgi_short_at(n->at) : "", n->at ? ")" : "");
    wgi_text_disarm(text, false);
    return text;
}
