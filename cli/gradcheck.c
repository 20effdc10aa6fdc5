/* wengert gradcheck: one line per check: what was compared, the worst error, the tolerance, and on
 * failure the node whose rule is wrong. */
#include "cli/source.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/evaluate.h"
#include "wengert/models/models.h"
#include "wengert/ops/table.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OP = 1000, ALL, ORDER, SEED };

/* Elements compared in each leaf of a variant; a single model has 64. */
enum { VARIANT_ELEMENTS = 16 };

/* clang-format off */
static const struct argp_option table[] = {
    {"op", OP, "NAME", 0, "check this op on all its samples (may be repeated)", 0},
    {"all", ALL, 0, 0, "check every op and every model", 0},
    {"order", ORDER, "1|2", 0, "check derivatives up to this order (default: 1)", 0},
    {"seed", SEED, "N", 0, "seed of the points and cotangents (default: 0)", 0},
    {0},
};
/* clang-format on */

typedef struct request {
    const wg_op **ops; /* capacity of both: the number of arguments */
    const char **models;
    size_t n_ops, n_models;
    source_options options;
    bool all;
    int order;
    uint64_t seed;
    size_t passed, failed;
} request;

/* ---- options --------------------------------------------------------------------------------- */

static uint64_t parse_seed(const char *text, struct argp_state *state)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(text, &end, 10);
    if (end == text || *end || errno || strchr(text, '-'))
        argp_error(state, "--seed: expected a whole number, got '%s'", text);
    return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    const wg_op *op;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->options; break;
    case OP:
        if (!(op = wg_op_find(arg))) {
            complain_unknown("op", arg, op_name_at);
            exit(EXIT_USAGE);
        }
        r->ops[r->n_ops++] = op;
        break;
    case ALL: r->all = true; break;
    case ORDER: r->order = (int)number_argument(state, "--order", arg, 1, 2); break;
    case SEED: r->seed = parse_seed(arg, state); break;
    case ARGP_KEY_ARG: r->models[r->n_models++] = arg; break;
    case ARGP_KEY_END:
        if (!r->all && r->n_ops + r->n_models == 0)
            argp_error(state, "nothing to check; use MODEL, --op NAME or --all");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void report(request *r, const char *what, wg_status status, const wg_gradcheck_report *c)
{
    printf("%-50s", what);
    if (status != WG_OK && c->compared == 0)
        printf(" FAIL: %s\n", *c->message ? c->message : wg_status_text(status));
    else if (status != WG_OK)
        printf(" %6zu compared, worst %8.2g, tolerance %6.0e  FAIL: %s\n", c->compared, c->worst,
               c->tolerance, c->message);
    else if (c->no_derivative)
        printf(" no derivative: zero, as required%17s  ok\n", "");
    else if (c->empty)
        printf(" no elements%38s  ok\n", "");
    else
        printf(" %6zu compared, worst %8.2g, tolerance %6.0e  ok\n", c->compared, c->worst,
               c->tolerance);
    fflush(stdout);
    if (status == WG_OK)
        r->passed++;
    else
        r->failed++;
}

static void check_op(request *r, const wg_op *op)
{
    for (int i = 0; i < op->n_samples; i++) {
        const wg_sample *s = &op->samples[i];
        wg_gradcheck_report c = {0};
        wg_gradcheck_options o = {
            .evaluator = wg_plan_evaluator(), .order = r->order, .seed = r->seed};
        char what[120];
        snprintf(what, sizeof what, "op %s%s%s%s", op->name, s->name ? " (" : "",
                 s->name ? s->name : "", s->name ? ")" : "");
        wg_status status = wg_gradcheck_op(op, s, &o, &c);
        report(r, what, status, &c);
    }
    if (op->n_samples == 0) {
        wg_gradcheck_report c = {.message = "the op has no samples"};
        report(r, op->name, WG_EUNSUPPORTED, &c);
    }
}

static wg_status check_graph(request *r, const source *s, wg_graph *g, wg_gradcheck_report *c)
{
    size_t n = 0;
    wg_gradcheck_leaf *leaf = calloc(wg_graph_value_count(g) + 1, sizeof *leaf);
    if (!leaf)
        return WG_ENOMEM;
    for (size_t i = 0; i < wg_graph_value_count(g); i++) {
        const wg_value *v = wg_graph_value(g, i);
        if (v->name && v->node->op->flags & WG_OP_LEAF && wg_dtype_is_int(v->dtype))
            leaf[n++] =
                (wg_gradcheck_leaf){.leaf = v, .lo = 0, .hi = (double)source_range(s, v->name)};
    }
    wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(),
                              .order = r->order,
                              .seed = r->seed,
                              .max = s->model && s->model->variant ? VARIANT_ELEMENTS : 0,
                              .leaves = leaf,
                              .n_leaves = n};
    wg_status status = wg_gradcheck(g, &o, c);
    free(leaf);
    return status;
}

/* The model itself, or (`variant` not SIZE_MAX) one of its variants. */
static int check_one(request *r, const source *s, size_t variant)
{
    char what[120];
    int code = EXIT_OK;
    wg_value *loss;
    wg_gradcheck_report c = {0};
    wg_graph *g = variant == SIZE_MAX ? source_build(s, &loss, &code) : wg_graph_new();
    const char *name = variant == SIZE_MAX ? NULL : s->model->variant(g, variant);
    if (code != EXIT_OK)
        return code;
    wg_status status = wg_graph_status(g);
    if (status == WG_OK)
        status = check_graph(r, s, g, &c);
    else
        snprintf(c.message, sizeof c.message, "%s", wg_graph_message(g));
    snprintf(what, sizeof what, "%s %s%s%s%s", s->is_file ? "file" : "model",
             s->model ? s->model->name : s->name, name ? " (" : "", name ? name : "",
             name ? ")" : "");
    report(r, what, status, &c);
    wg_graph_free(g);
    return EXIT_OK;
}

static int check_model(request *r, const char *name)
{
    source s;
    int code = source_open(&s, name, &r->options);
    bool variants = code == EXIT_OK && s.model && s.model->variant;
    if (code == EXIT_OK && !variants)
        code = check_one(r, &s, SIZE_MAX);
    for (size_t i = 0; variants && s.model->variant(NULL, i); i++)
        check_one(r, &s, i);
    source_close(&s);
    return code;
}

static void check_all(request *r)
{
    const wg_op *op;
    const wg_model *m;
    for (size_t i = 0; (op = wg_op_at(i)); i++)
        check_op(r, op);
    for (size_t i = 0; (m = wg_model_at(i)); i++)
        check_model(r, m->name);
}

/* The code of the first model that cannot be built, else whether all checks have passed. */
static int check(request *r)
{
    int code = EXIT_OK;
    if (r->all)
        check_all(r);
    for (size_t i = 0; i < r->n_ops && !r->all; i++)
        check_op(r, r->ops[i]);
    for (size_t i = 0; i < r->n_models && !r->all && code == EXIT_OK; i++)
        code = check_model(r, r->models[i]);
    if (code != EXIT_OK)
        return code;
    printf("%zu passed, %zu failed\n", r->passed, r->failed);
    return r->failed || r->passed == 0 ? EXIT_RUN : EXIT_OK;
}

int command_gradcheck(int argc, char **argv)
{
    static const struct argp_child children[] = {{&source_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        table,
        parse,
        "[MODEL|FILE.wg|MODEL.so...]",
        "Checks derivatives of ops and of models (built in, in files, in shared objects) against "
        "finite differences in double precision.  The exit code is 1 if any check fails.",
        children,
        NULL,
        NULL};
    size_t max = (size_t)argc + 1;
    request r = {
        .ops = calloc(max, sizeof(wg_op *)), .models = calloc(max, sizeof(char *)), .order = 1};
    int code = EXIT_RUN;
    if (!r.ops || !r.models)
        complain("out of memory");
    else if (argp_parse(&argp, argc, argv, 0, NULL, &r) != 0)
        code = EXIT_USAGE;
    else
        code = check(&r);
    free(r.ops);
    free(r.models);
    return code;
}
