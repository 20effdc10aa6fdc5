/* golden_transformer FILE [--backend NAME] [--f32]: builds the model of a file of golden vectors
 * (tests/golden/golden_model.h) and compares logits, loss, every gradient, the loss before each
 * step of Adam and the parameters after the last, a line each.  The exit status is 0 if all are
 * right, 1 if not, 2 for wrong usage, 3 if the file cannot be read or is of another kind.
 *
 * In f64 an error is |got - want| / max(1, |want|) of the worst element.
 *
 * The loss does not depend on the biases of keys at all (a number added to all scores of a query),
 * so their gradients are rounding errors, of which Adam makes steps of up to rate * 2^-53 / eps:
 * they are a group of their own, with that bar.
 *
 * f32 (numbers of 24 bits, 2^-24 = 6e-8) is not so exact.  A value is reached by chains of some
 * tens of sums, each off by a few units of the last place of its largest term: logits and losses
 * may be off by 1e-5, and a gradient by 5e-5 of the largest in its tensor, for the elements of a
 * tensor are sums over the same terms.  Adam divides a gradient by its own size, so an element
 * whose gradient is below that error moves by the rate in a direction that rounding decides, and
 * later losses feel it: in f32 they may be off by 1e-3, and the movement of all parameters, as one
 * vector without the biases of keys, by 1% of its length.  (Seen for the models of two layers here:
 * a hundredth of these bars and less.) */
#include "tests/golden/golden_file.h"
#include "tests/golden/golden_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Allowed errors of one precision. */
typedef struct bars {
    double outputs, gradients, losses, after;
} bars;
static const bars double_bars = {1e-10, 1e-10, 1e-8, 1e-8}, single_bars = {1e-5, 5e-5, 1e-3, 1e-2};

typedef struct run {
    golden_model m;
    wg_dtype dtype;
    const wg_backend *backend; /* NULL: cpu alone */
    wg_graph *g;
    wg_store *store;
    wg_transformer_inputs in;
    wg_value *lr, *logits, *loss;
    wg_value **parameter, **gradient; /* n of them that are in the file */
    size_t n;
    int failed, passed;
} run;

/* ---- comparisons ----------------------------------------------------------------------------- */

/* The worst error of a group of tensors, and where it was. */
typedef struct group {
    const char *name;
    double worst;
    int64_t compared, tensors;
    char where[96];
} group;

/* error = |got - want| / scale, where a scale of 0 stands for max(1, |want|). */
static void compare_one(group *c, const char *what, int64_t i, double got, double want,
                        double scale)
{
    double error = fabs(got - want) / (scale > 0 ? scale : fmax(1, fabs(want)));
    c->compared++;
    if (isnan(c->worst) || error <= c->worst)
        return;
    c->worst = error;
    snprintf(c->where, sizeof c->where, "%.70s[%lld]", what, (long long)i);
}

static void compare(group *c, const char *what, const void *data, wg_dtype dtype, int64_t count,
                    golden_part want, double scale)
{
    c->tensors++;
    for (int64_t i = 0; i < count; i++)
        compare_one(c, what, i, golden_number(data, dtype, i),
                    golden_element(want.tensor, want.offset + i), scale);
}

static void finish(run *r, const group *c, double tolerance)
{
    bool ok = c->compared > 0 && c->worst <= tolerance;
    printf("%-6s %-12s %4lld tensors %8lld compared, worst error %8.1e, tolerance %6.0e%s%s\n",
           ok ? "ok" : "FAILED", c->name, (long long)c->tensors, (long long)c->compared, c->worst,
           tolerance, c->where[0] ? ", at " : "", c->where);
    *(ok ? &r->passed : &r->failed) += 1;
}

/* ---- the graph ------------------------------------------------------------------------------- */

/* Parameters that the file has; biases that it has not stay zero and are not trained. */
static bool take_parameters(run *r)
{
    size_t max = wg_graph_parameters(r->g, NULL, 0);
    r->parameter = calloc(max + 1, sizeof(wg_value *));
    r->gradient = calloc(max + 1, sizeof(wg_value *));
    if (!r->parameter || !r->gradient)
        return golden_model_fail(&r->m, "no memory");
    wg_graph_parameters(r->g, r->parameter, max);
    if (!golden_model_all_used(&r->m, r->parameter, max))
        return false;
    for (size_t i = 0; i < max; i++) {
        wg_value *w = r->parameter[i];
        if (golden_model_part(&r->m, "param", w).tensor)
            r->parameter[r->n++] = w;
        else if (!strstr(w->name, "bias"))
            golden_model_fail(&r->m, "the file has nothing for parameter %s", w->name);
    }
    return !r->m.reason[0];
}

static bool build(run *r)
{
    golden_model *m = &r->m;
    r->g = wg_graph_new();
    r->store = wg_store_new(0);
    m->config.dtype = r->dtype;
    wg_transformer t = wg_transformer_begin(r->g, &m->config, WG_MODE_TRAINING);
    r->in = wg_transformer_inputs_new(r->g, m->batch, m->source, m->target);
    t.target_lengths = wg_input(r->g, "target_lengths", WG_I32, WG_SHAPE(m->batch));
    r->lr = wg_input(r->g, "lr", r->dtype, WG_SCALAR);
    r->loss = wg_output(wg_transformer_loss(&t, &r->in, NULL), "loss");
    r->logits = r->loss ? r->loss->node->in[0] : NULL;
    if (r->logits && !take_parameters(r))
        return false;
    wg_grad(r->loss, r->parameter, r->n, r->gradient);
    if (m->steps)
        wg_adam_update(r->parameter, r->gradient, r->n, r->lr, &m->adam);
    return wg_graph_status(r->g) == WG_OK || golden_model_fail(m, "%s", wg_graph_message(r->g));
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Ids, and how many of each row count: those before the padding, of which none may come after. */
static void fill_ids(run *r, wg_plan *p, const char *name, const wg_value *ids,
                     const wg_value *lengths)
{
    const wg_file_tensor *t = wg_safetensors_find(r->m.file, name);
    int32_t *id = wg_plan_data(p, ids), *length = wg_plan_data(p, lengths);
    int64_t columns = t->shape.dim[1];
    golden_fill(id, WG_I32, t);
    for (int64_t b = 0; b < t->shape.dim[0]; b++) {
        int64_t n = columns;
        while (n > 0 && id[b * columns + n - 1] == r->m.pad)
            n--;
        length[b] = (int32_t)n;
        for (int64_t i = 0; i < n; i++)
            if (id[b * columns + i] == r->m.pad)
                golden_model_fail(&r->m, "%s: padding at [%lld, %lld], before other tokens", name,
                                  (long long)b, (long long)i);
    }
}

static void fill_targets(run *r, wg_plan *p)
{
    const wg_file_tensor *t = wg_safetensors_find(r->m.file, "in.tgt_out");
    int32_t *id = wg_plan_data(p, r->in.target_out);
    golden_fill(id, WG_I32, t);
    for (int64_t i = 0; i < wg_shape_count(&t->shape); i++)
        id[i] = id[i] == r->m.pad ? WG_NO_TARGET : id[i];
}

static void fill_parameters(run *r, wg_plan *p)
{
    size_t all = wg_graph_value_count(r->g);
    for (size_t i = 0; i < all; i++) {
        wg_value *w = wg_graph_value(r->g, i);
        if (strcmp(w->node->op->name, "parameter") != 0)
            continue;
        golden_part part = golden_model_part(&r->m, "param", w);
        void *data = wg_plan_data(p, w);
        for (int64_t k = 0; k < wg_value_count(w); k++) {
            double x = part.tensor ? golden_element(part.tensor, part.offset + k) : 0;
            if (r->dtype == WG_F32)
                ((float *)data)[k] = (float)x;
            else
                ((double *)data)[k] = x;
        }
    }
}

/* A plan with the file's inputs; NULL and a failure without. */
static wg_plan *plan_of(run *r, wg_value *const *outputs, size_t n_outputs)
{
    wg_plan *p;
    const wg_plan_options o = {.outputs = outputs,
                               .n_outputs = n_outputs,
                               .backends = &r->backend,
                               .n_backends = r->backend ? 1 : 0,
                               .reference = !r->backend,
                               .store = r->store};
    if (wg_plan_create(&p, r->g, &o) != WG_OK)
        return golden_model_fail(&r->m, "%s", wg_graph_message(r->g)), NULL;
    fill_ids(r, p, "in.src", r->in.source, r->in.source_lengths);
    fill_ids(r, p, "in.tgt_in", r->in.target_in, wg_graph_find(r->g, "target_lengths"));
    fill_targets(r, p);
    return p;
}

static bool run_plan(run *r, wg_plan *p, uint64_t step)
{
    return wg_plan_run(p, step) == WG_OK || golden_model_fail(&r->m, "%s", wg_plan_message(p));
}

/* ---- what is compared ------------------------------------------------------------------------ */

/* 0, or the largest of the file's tensor: what f32 gradients are measured by. */
static double scale_of(const run *r, const wg_file_tensor *t)
{
    double max = 0;
    for (int64_t i = 0; r->dtype == WG_F32 && i < wg_shape_count(&t->shape); i++)
        max = fmax(max, fabs(golden_element(t, i)));
    return max;
}

static void compare_output(run *r, wg_plan *p, const char *name, const wg_value *v,
                           double tolerance)
{
    char tensor[32];
    snprintf(tensor, sizeof tensor, "out.%s", name);
    golden_part want = {wg_safetensors_find(r->m.file, tensor), 0};
    group c = {.name = name};
    if (want.tensor && wg_shape_equal(&want.tensor->shape, &v->shape))
        compare(&c, tensor, wg_plan_data(p, v), v->dtype, wg_value_count(v), want, 0);
    else
        snprintf(c.where, sizeof c.where, "%s, which the file lacks or has in another shape",
                 tensor);
    finish(r, &c, tolerance);
}

static void compare_gradients(run *r, wg_plan *p, double tolerance)
{
    group c = {.name = "gradients"};
    for (size_t i = 0; i < r->n; i++) {
        golden_part want = golden_model_part(&r->m, "grad", r->parameter[i]);
        if (want.tensor)
            compare(&c, r->parameter[i]->name, wg_plan_data(p, r->gradient[i]), r->dtype,
                    wg_value_count(r->parameter[i]), want, scale_of(r, want.tensor));
        else
            golden_model_fail(&r->m, "the file has no gradient for %s", r->parameter[i]->name);
    }
    finish(r, &c, tolerance);
}

static void check_derivatives(run *r, const bars *tolerance)
{
    size_t n = r->n + 2;
    wg_value **outputs = calloc(n, sizeof *outputs);
    if (!outputs) {
        golden_model_fail(&r->m, "no memory");
        return;
    }
    outputs[0] = r->logits;
    outputs[1] = r->loss;
    memcpy(outputs + 2, r->gradient, r->n * sizeof *outputs);
    wg_plan *p = plan_of(r, outputs, n);
    if (p)
        fill_parameters(r, p);
    if (p && !r->m.reason[0] && run_plan(r, p, 0)) {
        compare_output(r, p, "logits", r->logits, tolerance->outputs);
        compare_output(r, p, "loss", r->loss, tolerance->outputs);
        compare_gradients(r, p, tolerance->gradients);
    }
    wg_plan_free(p);
    free(outputs);
}

static bool is_key_bias(const wg_value *w)
{
    return strstr(w->name, "/k/bias") != NULL;
}

/* Adds the squares of (got - want) and of (want - before) of one parameter. */
static void add_movement(group *c, const wg_value *w, const void *data, golden_part before,
                         golden_part after, double *off, double *moved)
{
    c->tensors++;
    for (int64_t k = 0; k < wg_value_count(w); k++, c->compared++) {
        double want = golden_element(after.tensor, after.offset + k);
        *off += pow(golden_number(data, w->dtype, k) - want, 2);
        *moved += pow(want - golden_element(before.tensor, before.offset + k), 2);
    }
}

/* The parameters after training: each of them in f64, their movement as one vector in f32. */
static void compare_parameters(run *r, wg_plan *p, double tolerance, double rates)
{
    group c = {.name = "after"}, keys = {.name = "after (keys)"};
    double off = 0, moved = 0;
    for (size_t i = 0; i < r->n; i++) {
        const wg_value *w = r->parameter[i];
        golden_part before = golden_model_part(&r->m, "param", w);
        golden_part after = golden_model_part(&r->m, "after", w);
        const void *data = wg_plan_data(p, w);
        if (!after.tensor)
            golden_model_fail(&r->m, "the file has no after.* for %s", w->name);
        else if (r->dtype == WG_F64)
            compare(is_key_bias(w) ? &keys : &c, w->name, data, r->dtype, wg_value_count(w), after,
                    0);
        else if (!is_key_bias(w))
            add_movement(&c, w, data, before, after, &off, &moved);
    }
    if (r->dtype == WG_F32)
        c.worst = sqrt(off / moved);
    finish(r, &c, tolerance);
    if (keys.tensors)
        finish(r, &keys, fmax(tolerance, rates * 0x1p-53 / r->m.adam.eps));
}

static void check_training(run *r, const bars *tolerance)
{
    wg_plan *p = r->m.steps ? plan_of(r, NULL, 0) : NULL;
    const wg_file_tensor *lr = wg_safetensors_find(r->m.file, "train.lr");
    const wg_file_tensor *expected = wg_safetensors_find(r->m.file, "train.loss_before_step");
    group c = {.name = "training", .tensors = 1};
    double rates = 0;
    bool ok = p != NULL;
    for (int64_t step = 0; ok && step < r->m.steps; step++) {
        if (r->dtype == WG_F32)
            *(float *)wg_plan_data(p, r->lr) = (float)golden_element(lr, step);
        else
            *(double *)wg_plan_data(p, r->lr) = golden_element(lr, step);
        rates += golden_element(lr, step);
        ok = run_plan(r, p, (uint64_t)step);
        if (ok)
            compare_one(&c, "train.loss_before_step", step,
                        golden_number(wg_plan_data(p, r->loss), r->dtype, 0),
                        golden_element(expected, step), 0);
    }
    if (ok) {
        finish(r, &c, tolerance->losses);
        compare_parameters(r, p, tolerance->after, rates);
    }
    wg_plan_free(p);
}

/* ---- the program ----------------------------------------------------------------------------- */

static int check_file(run *r, const wg_safetensors *file)
{
    const bars *tolerance = r->dtype == WG_F32 ? &single_bars : &double_bars;
    bool ready = golden_model_read(&r->m, file) && build(r);
    if (ready) {
        check_derivatives(r, tolerance);
        if (!r->m.reason[0])
            check_training(r, tolerance);
        if (!r->m.steps)
            printf("       the file has no training\n");
    }
    if (r->m.reason[0])
        printf("FAILED %s\n", r->m.reason);
    wg_store_free(r->store);
    wg_graph_free(r->g);
    free(r->parameter);
    free(r->gradient);
    int failed = r->failed + (r->m.reason[0] != '\0');
    printf("%d passed, %d failed\n", r->passed, failed);
    return !ready ? 3 : failed || !r->passed ? 1 : 0;
}

int main(int count, char **arguments)
{
    run r = {.dtype = WG_F64};
    const char *path = NULL;
    bool usage = count < 2;
    for (int i = 1; i < count && !usage; i++) {
        if (strcmp(arguments[i], "--f32") == 0)
            r.dtype = WG_F32;
        else if (strcmp(arguments[i], "--backend") == 0 && i + 1 < count)
            usage = !(r.backend = wg_backend_find(arguments[++i]));
        else if (arguments[i][0] == '-' || path)
            usage = true;
        else
            path = arguments[i];
    }
    if (usage || !path) {
        fprintf(stderr,
                "usage: golden_transformer FILE.safetensors [--backend NAME] [--f32]\nbackends:");
        for (size_t i = 0; wg_backend_at(i); i++)
            fprintf(stderr, " %s", wg_backend_at(i)->name);
        fprintf(stderr, "\n");
        return 2;
    }
    wg_error error;
    wg_safetensors *file;
    if (wg_safetensors_open(&file, path, &error) != WG_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 3;
    }
    int code = check_file(&r, file);
    wg_safetensors_close(file);
    return code;
}
