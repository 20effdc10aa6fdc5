/* The gradient check of every case of ONNX's own suite that is imported and has inputs of floats,
 * at the suite's own numbers: in f64, against finite differences.  No derivative may be wrong. */
#include "tests/onnx/cases.h"

#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, ELEMENTS = 6 };

typedef struct counts {
    size_t cases, right, undecided, without, wrong, compared;
} counts;

/* What has no derivative, or none that differences could show at the case's numbers. */
static void judge(const char *name, wg_status status, const wg_gradcheck_report *r, counts *c)
{
    c->cases++;
    c->compared += r->compared;
    if (r->verdict == WG_GRADCHECK_WRONG) {
        printf("%s: %s\n", name, r->message);
        c->wrong++;
    } else if (status == WG_OK && r->compared)
        c->right++;
    else if (r->verdict == WG_GRADCHECK_UNDECIDED)
        c->undecided++;
    else
        c->without++;
}

static void check(onnx_case *c, const char *name, counts *total)
{
    wg_gradcheck_leaf leaf[CASE_MAX_TENSORS];
    wg_gradcheck_report report;
    size_t n = 0, floats = 0;
    for (size_t i = 0; i < c->n_inputs; i++) {
        const wg_value *v = wg_graph_find(c->graph, c->input_name[i]);
        if (!v || !(v->node->op->flags & WG_OP_INPUT) || v->dtype != c->input[i].dtype)
            continue;
        leaf[n++] = (wg_gradcheck_leaf){.leaf = v, .data = c->input[i].data};
        floats += wg_dtype_is_float(v->dtype);
    }
    if (!floats)
        return;
    const wg_gradcheck_options o = {
        .evaluator = wg_plan_evaluator(), .leaves = leaf, .n_leaves = n, .max = ELEMENTS};
    wg_status status = wg_gradcheck(c->graph, &o, &report);
    judge(name, status, &report, total);
}

int main(void)
{
    counts total = {0};
    char **names, folder[400];
    snprintf(folder, sizeof folder, "%s/node", onnx_data());
    size_t n = onnx_folders(folder, &names);
    for (size_t i = 0; i < n; i++) {
        onnx_case c;
        snprintf(folder, sizeof folder, "%s/node/%s", onnx_data(), names[i]);
        if (onnx_case_open(&c, folder) == WG_OK)
            check(&c, names[i], &total);
        onnx_case_close(&c);
        free(names[i]);
    }
    free(names);
    if (!n) {
        printf("skipped: %s is not there (Debian: libonnx-testdata)\n", onnx_data());
        return SKIPPED;
    }
    printf("%zu cases with inputs of floats: %zu right, %zu undecided, %zu without a derivative to "
           "compare, %zu wrong; %zu derivatives compared\n",
           total.cases, total.right, total.undecided, total.without, total.wrong, total.compared);
    return total.wrong || total.right < 300;
}
