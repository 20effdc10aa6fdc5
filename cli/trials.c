#include "cli/trials.h"
#include "cli/values.h"

#include <string.h>

/* ---- trials ---------------------------------------------------------------------------------- */

/* d_model 512, d_ff 2048, 8 heads; 32 sentences of 64 tokens, or 4 of 512; vocabulary 10000 */
static const struct {
    const char *op, *sample, *shape;
} base[] = {
    {"linear", "relu", "2048x512,2048x512,2048"},
    {"linear", "matrix", "2048x2048,512x2048,512"},
    {"linear", "matrix", "2048x512,10000x512,10000"},
    {"matmul", "nn", "2048x512,512x2048"},
    {"matmul", "nt", "32x8x64x64,32x8x64x64"},
    {"attention", "plain", "32x8x64x64,32x8x64x64,32x8x64x64"},
    {"attention", "causal", "4x8x512x64,4x8x512x64,4x8x512x64"},
    {"softmax", NULL, "32x8x64x64"},
    {"layernorm", "gain and bias", "2048x512,512,512"},
    {"cross_entropy", NULL, "2048x10000,2048@10000"},
    {"embedding", NULL, "10000x512,32x64@10000"},
    {"add", NULL, "2048x512,2048x512"},
    {"relu", NULL, "2048x2048"},
    {"gelu", NULL, "2048x2048"},
    {"dropout", NULL, "2048x512"},
    {"adam", NULL, "2048x512,2048x512,2048x512,2048x512,scalar,scalar"},
};

/* The sample of that name, or else the first with that many operands; -1: any number. */
static const wg_sample *find_sample(const wg_op *op, const char *name, int n_in)
{
    for (int i = 0; i < op->n_samples; i++) {
        const wg_sample *s = &op->samples[i];
        if (name ? s->name && strcmp(s->name, name) == 0 : n_in < 0 || s->n_in == n_in)
            return s;
    }
    return NULL;
}

static int no_sample(const wg_op *op, const char *name)
{
    complain("%s has no sample '%s'; wengert ops %s lists them", op->name, name, op->name);
    return EXIT_USAGE;
}

static int trial_of_shapes(trial *t, const wg_op *op, const char *sample, const char *text)
{
    wg_sample_operand given[WG_MAX_SAMPLE_OPERANDS] = {{0}};
    int n;
    if (!parse_shapes(text, given, &n)) {
        complain("'%s' is not a list of shapes, such as 4096x512,512x2048", text);
        return EXIT_USAGE;
    }
    const wg_sample *s = find_sample(op, sample, n);
    if (!s && sample)
        return no_sample(op, sample);
    if (!s) {
        complain("%s: got %d shapes for operands '%s'", op->name, n, op->operands);
        return EXIT_USAGE;
    }
    *t = (trial){.op = op, .attrs = s->attrs, .n_in = n};
    snprintf(t->label, sizeof t->label, "%s%s%s", s->name ? s->name : "", s->name ? ": " : "",
             text);
    for (int i = 0; i < n; i++) {
        bool range = given[i].hi > 0;
        t->in[i] = i < s->n_in ? s->in[i] : (wg_sample_operand){0};
        t->in[i].shape = given[i].shape;
        t->in[i].lo = range ? given[i].lo : t->in[i].lo;
        t->in[i].hi = range ? given[i].hi : t->in[i].hi;
    }
    return EXIT_OK;
}

wg_node *build_trial(wg_graph *g, const trial *t, wg_value **in)
{
    for (int i = 0; i < t->n_in; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        in[i] = wg_input(g, name, t->in[i].dtype ? t->in[i].dtype : WG_F32, t->in[i].shape);
    }
    return wg_graph_status(g) == WG_OK ? wg_apply(WG_HERE, g, t->op, t->attrs, in, t->n_in) : NULL;
}

/* True if the op accepts these operands and runs in a fraction of a second. */
static bool affordable(const trial *t)
{
    const double max_bytes = 64e6, max_flops = 4e9;
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    wg_graph *g = wg_graph_new();
    wg_node *n = build_trial(g, t, in);
    bool ok = n && wg_node_bytes(n) <= max_bytes && wg_node_flops(n) <= max_flops;
    wg_graph_free(g);
    return ok;
}

static bool is_empty(const wg_sample *s)
{
    for (int i = 0; i < s->n_in; i++)
        if (wg_shape_count(&s->in[i].shape) == 0)
            return true;
    return false;
}

/* The sample with every size above 1 multiplied by the same power of two, the largest that runs in
 * a fraction of a second. */
static trial trial_of_sample(const wg_op *op, const wg_sample *s)
{
    trial t;
    for (int64_t times = 1 << 20;; times /= 2) {
        t = (trial){.op = op, .attrs = s->attrs, .n_in = s->n_in};
        for (int i = 0; i < s->n_in; i++) {
            t.in[i] = s->in[i];
            for (int k = 0; k < s->in[i].shape.rank; k++)
                t.in[i].shape.dim[k] *= t.in[i].shape.dim[k] > 1 ? times : 1;
        }
        if (times == 1 || affordable(&t))
            break;
    }
    size_t used = (size_t)snprintf(t.label, sizeof t.label, "%s%s", s->name ? s->name : "",
                                   s->name ? ": " : "");
    for (int i = 0; i < t.n_in && used < sizeof t.label; i++) {
        char shape[80];
        wg_shape_text(&t.in[i].shape, shape, sizeof shape);
        used +=
            (size_t)snprintf(t.label + used, sizeof t.label - used, "%s%s", i ? " " : "", shape);
    }
    return t;
}

static int trials_of_base(trial *t, int *n, const wg_op *op)
{
    int code = EXIT_OK;
    for (size_t i = 0; i < WG_COUNT(base) && code == EXIT_OK; i++)
        if (strcmp(base[i].op, op->name) == 0)
            code = trial_of_shapes(&t[(*n)++], op, base[i].sample, base[i].shape);
    if (code == EXIT_OK && *n == 0) {
        complain("no preset for %s; use --shape", op->name);
        code = EXIT_USAGE;
    }
    return code;
}

int choose_trials(trial *t, int *n, const wg_op *op, const trial_choice *r)
{
    int code = EXIT_OK;
    *n = 0;
    if (r->base)
        return trials_of_base(t, n, op);
    for (int i = 0; i < r->n_shapes && code == EXIT_OK; i++)
        code = trial_of_shapes(&t[(*n)++], op, r->sample, r->shape[i]);
    if (r->n_shapes)
        return code;
    for (int i = 0; i < op->n_samples && *n < MAX_TRIALS; i++) {
        const wg_sample *s = &op->samples[i];
        bool wanted = !r->sample || (s->name && strcmp(s->name, r->sample) == 0);
        if (wanted && !is_empty(s))
            t[(*n)++] = trial_of_sample(op, s);
    }
    if (*n == 0 && r->sample)
        return no_sample(op, r->sample);
    if (*n == 0) {
        complain("%s has no samples; use --shape", op->name);
        return EXIT_USAGE;
    }
    return EXIT_OK;
}
