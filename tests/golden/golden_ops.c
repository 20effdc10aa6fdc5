/* golden_ops FILE: runs every case of a file of golden vectors (tests/golden/golden.h) in f64,
 * outputs and gradients, and prints the worst error of each, relative to max(1, |value|).  The last
 * line is "N passed, N failed"; the exit status is 0 if none failed, 1 if any did, 2 for wrong
 * usage, 3 if the file cannot be read. */
#include "tests/golden/golden.h"
#include "tests/golden/golden_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double double_tolerance = 1e-10; /* of numbers stored as f64            */
static const double single_tolerance = 1e-5;  /* of numbers that the file stores as f32 */

/* ---- one case -------------------------------------------------------------------------------- */

/* What is to be compared: a value of the graph and the file's tensor. */
typedef struct comparison {
    wg_value *value;
    const wg_file_tensor *expected;
    char what[64];
} comparison;

typedef struct run {
    golden c;
    wg_value *cot[GOLDEN_TENSORS]; /* of c.out[i], or NULL */
    const wg_file_tensor *cot_tensor[GOLDEN_TENSORS];
    comparison compare[2 * GOLDEN_TENSORS];
    int n_compare;
    double worst; /* error */
    int64_t compared;
} run;

/* The tensor NAME of the case, for "CASE/in.NAME" and prefix "in."; NULL for others. */
static const char *name_after(const golden *c, const wg_file_tensor *t, const char *prefix)
{
    size_t n = strlen(c->name), m = strlen(prefix);
    bool is = strncmp(t->name, c->name, n) == 0 && t->name[n] == '/' &&
              strncmp(t->name + n + 1, prefix, m) == 0;
    return is ? t->name + n + 1 + m : NULL;
}

static void make_inputs(golden *c, const wg_safetensors *file)
{
    for (size_t i = 0; i < wg_safetensors_count(file); i++) {
        const wg_file_tensor *t = wg_safetensors_at(file, i);
        const char *name = name_after(c, t, "in.");
        if (!name)
            continue;
        if (c->n_in == GOLDEN_TENSORS) {
            golden_fail(c, "more than %d inputs", GOLDEN_TENSORS);
            return;
        }
        c->in[c->n_in++] =
            (golden_input){name, t, wg_input(c->graph, name, golden_dtype(t), t->shape), false};
    }
}

/* "y" is output 0, "3" is output 3. */
static int output_index(const char *name)
{
    char *end;
    long i = strcmp(name, "y") == 0 ? 0 : strtol(name, &end, 10);
    return i == 0 && strcmp(name, "y") != 0 && strcmp(name, "0") != 0 ? -1 : (int)i;
}

static comparison *add_comparison(run *r, wg_value *v, const wg_file_tensor *expected,
                                  const char *what, const char *of)
{
    comparison *k = &r->compare[r->n_compare++];
    *k = (comparison){v, expected, ""};
    snprintf(k->what, sizeof k->what, "%s%s", what, of);
    if (!wg_shape_equal(&v->shape, &expected->shape)) {
        char a[200], b[200];
        golden_fail(&r->c, "%s: expected shape %s, got %s", k->what,
                    wg_shape_text(&expected->shape, a, sizeof a),
                    wg_shape_text(&v->shape, b, sizeof b));
    }
    return k;
}

/* Each out.NAME is compared; cot.NAME becomes an input and the cotangent of that output. */
static void take_outputs(run *r, const wg_safetensors *file)
{
    golden *c = &r->c;
    for (size_t i = 0; i < wg_safetensors_count(file) && !c->reason[0]; i++) {
        const wg_file_tensor *t = wg_safetensors_at(file, i);
        const char *out = name_after(c, t, "out."), *cot = name_after(c, t, "cot.");
        if (!out && !cot)
            continue;
        int k = output_index(out ? out : cot);
        if (k < 0 || k >= c->n_out || !c->out[k]) {
            golden_fail(c, "the op has no output %s", out ? out : cot);
        } else if (out) {
            add_comparison(r, c->out[k], t, "", out);
        } else {
            r->cot_tensor[k] = t;
            char name[80];
            snprintf(name, sizeof name, "cot.%s", cot);
            r->cot[k] = wg_input(c->graph, name, WG_F64, t->shape);
        }
    }
}

/* Each grad.NAME is the vector-Jacobian product for in.NAME with the given cotangents; if the case
 * has none, all are ones. */
static void take_gradients(run *r, const wg_safetensors *file)
{
    golden *c = &r->c;
    wg_value *y[GOLDEN_TENSORS], *dy[GOLDEN_TENSORS], *wrt[GOLDEN_TENSORS], *dx[GOLDEN_TENSORS];
    const wg_file_tensor *expected[GOLDEN_TENSORS];
    const char *names[GOLDEN_TENSORS];
    size_t n_y = 0, n = 0;
    bool any = false;
    for (int i = 0; i < c->n_out; i++)
        any |= r->cot[i] != NULL;
    for (int i = 0; i < c->n_out; i++)
        if (any ? r->cot[i] != NULL : c->out[i] && wg_dtype_is_float(c->out[i]->dtype)) {
            y[n_y] = c->out[i];
            dy[n_y++] = r->cot[i];
        }
    for (size_t i = 0; i < wg_safetensors_count(file); i++) {
        const wg_file_tensor *t = wg_safetensors_at(file, i);
        const char *name = name_after(c, t, "grad.");
        if (!name)
            continue;
        if (n == GOLDEN_TENSORS) {
            golden_fail(c, "more than %d gradients", GOLDEN_TENSORS);
            return;
        }
        names[n] = name;
        expected[n] = t;
        wrt[n] = golden_in(c, name);
        n += wrt[n] != NULL;
    }
    if (!n || c->reason[0])
        return;
    if (wg_vjp(y, dy, n_y, wrt, n, NULL, dx) != WG_OK)
        golden_fail(c, "%s", wg_graph_message(c->graph));
    for (size_t i = 0; i < n && !c->reason[0]; i++)
        add_comparison(r, dx[i], expected[i], "grad.", names[i]);
}

static void compare(run *r, const comparison *k, const void *data)
{
    bool exact = !wg_dtype_is_float(k->value->dtype);
    double tolerance =
        strcmp(k->expected->dtype_name, "F64") == 0 ? double_tolerance : single_tolerance;
    for (int64_t i = 0; i < wg_shape_count(&k->expected->shape); i++) {
        double want = golden_element(k->expected, i), got = golden_number(data, k->value->dtype, i);
        bool same = want == got || (isnan(want) && isnan(got));
        double error = same ? 0 : fabs(got - want) / fmax(1, fabs(want));
        r->compared++;
        if (!(error <= r->worst))
            r->worst = error;
        if (!same && (exact || !(error <= tolerance)))
            golden_fail(&r->c, "%s[%lld]: expected %.17g, got %.17g", k->what, (long long)i, want,
                        got);
    }
}

static void run_plan(run *r)
{
    golden *c = &r->c;
    wg_plan *p;
    wg_value *wanted[2 * GOLDEN_TENSORS];
    for (int i = 0; i < r->n_compare; i++)
        wanted[i] = r->compare[i].value;
    if (wg_plan_create(&p, c->graph,
                       &(wg_plan_options){.outputs = wanted, .n_outputs = (size_t)r->n_compare}) !=
        WG_OK) {
        golden_fail(c, "%s", wg_graph_message(c->graph));
        return;
    }
    for (int i = 0; i < c->n_in; i++)
        golden_fill(wg_plan_data(p, c->in[i].value), c->in[i].value->dtype, c->in[i].tensor);
    for (int i = 0; i < c->n_out; i++)
        if (r->cot[i])
            golden_fill(wg_plan_data(p, r->cot[i]), WG_F64, r->cot_tensor[i]);
    if (wg_plan_run(p, 0) != WG_OK)
        golden_fail(c, "%s", wg_plan_message(p));
    for (int i = 0; i < r->n_compare && !c->reason[0]; i++)
        compare(r, &r->compare[i], wg_plan_data(p, r->compare[i].value));
    wg_plan_free(p);
}

static bool run_case(const wg_safetensors *file, const char *name, const char *description)
{
    run r = {.c.name = name, .c.graph = wg_graph_new()};
    golden *c = &r.c;
    json_error_t error;
    c->attrs = json_loads(description ? description : "", JSON_REJECT_DUPLICATES, &error);
    if (!c->graph)
        golden_fail(c, "no memory");
    else if (!json_is_object(c->attrs))
        golden_fail(c, "its metadata entry is missing or no JSON object");
    else
        make_inputs(c, file);
    if (!c->reason[0])
        golden_build(c, golden_text(c, "op", ""));
    if (!c->reason[0])
        take_outputs(&r, file);
    if (!c->reason[0])
        take_gradients(&r, file);
    if (!c->reason[0] && !r.n_compare)
        golden_fail(c, "it has nothing to compare");
    if (!c->reason[0])
        run_plan(&r);
    bool passed = !c->reason[0];
    printf("%-6s %-32s %8lld compared, worst error %.1e%s%s\n", passed ? "ok" : "FAILED", name,
           (long long)r.compared, r.worst, passed ? "" : ": ", c->reason);
    json_decref(c->attrs);
    wg_graph_free(c->graph);
    return passed;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Cases are named by their tensors, "CASE/out.y"; tensors come in order of names, so those of a
 * case that share a prefix up to the last '/' come together. */
int main(int count, char **arguments)
{
    char name[256] = "";
    wg_error error;
    wg_safetensors *file;
    if (count != 2) {
        fprintf(stderr, "usage: golden_ops FILE.safetensors\n");
        return 2;
    }
    if (wg_safetensors_open(&file, arguments[1], &error) != WG_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 3;
    }
    int passed = 0, failed = 0;
    for (size_t i = 0; i < wg_safetensors_count(file); i++) {
        const char *tensor = wg_safetensors_at(file, i)->name, *slash = strrchr(tensor, '/');
        size_t n = slash ? (size_t)(slash - tensor) : strlen(tensor);
        if (n >= sizeof name || (strncmp(name, tensor, n) == 0 && name[n] == '\0'))
            continue;
        memcpy(name, tensor, n);
        name[n] = '\0';
        if (run_case(file, name, wg_safetensors_note(file, name)))
            passed++;
        else
            failed++;
    }
    wg_safetensors_close(file);
    printf("%d passed, %d failed\n", passed, failed);
    return passed && !failed ? 0 : 1;
}
