/* wengert gradcheck: one line per check: what was compared, the worst error, the tolerance, and on
 * failure the node whose rule is wrong. */
#include "cli/gradcheck.h"
#include "cli/bar.h"
#include "cli/source.h"
#include "cli/values.h"
#include "wengert/autograd/gradcheck.h"
#include "wengert/backends/evaluate.h"
#include "wengert/models/models.h"
#include "wengert/ops/table.h"
#ifdef WG_HAVE_TRAINING
#include "cli/model.h"
#endif

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { OP = 1000, ALL, ORDER, SEED, SEEDS, ELEMENTS };

/* Elements compared in each leaf of a variant. */
enum { VARIANT_ELEMENTS = 16 };

/* clang-format off */
static const struct argp_option table[] = {
    {"op", OP, "NAME", 0, "check this op on all its samples (may be repeated)", 0},
    {"all", ALL, 0, 0, "check every op and every model", 0},
    {"order", ORDER, "1|2", 0, "check derivatives up to this order (default: 1)", 0},
    {"seed", SEED, "N", 0, "seed of the points and cotangents (default: 0)", 0},
    {"seeds", SEEDS, "N", 0, "repeat each check with N seeds, from --seed on (default: 1)", 0},
    {"elements", ELEMENTS, "N", 0,
     "elements compared in each input and parameter of a model "
     "(default: 512 in all, but 4 to 64 in each)",
     0},
#ifdef WG_HAVE_TRAINING
    {"model", 'm', "FOLDER", 0,
     "check a trained model with its weights, on a batch of its training texts", 0},
#endif
    {0},
};
/* clang-format on */

typedef struct request {
    const wg_op **ops; /* capacity of both: the number of arguments */
    const char **models;
    size_t n_ops, n_models;
    source_options options;
    const char *folder; /* of a trained model, or NULL */
    bool all;
    int order;
    uint64_t seed;
    size_t seeds, elements; /* elements 0: as the kind of check asks for */
    size_t passed, failed;
    int code; /* not EXIT_OK: a model could not be built, and that has been said */
    bar bar;
    const char *what; /* is being checked */
} request;

/* ---- options --------------------------------------------------------------------------------- */

#ifdef WG_HAVE_TRAINING
static bool is_model(const char *name)
{
    bool exists = false;
    int code = is_source(name) ? EXIT_OK : model_exists(name, &exists);
    if (code != EXIT_OK)
        exit(code);
    return exists;
}
#endif

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
    case SEED: r->seed = seed_argument(state, arg); break;
    case SEEDS: r->seeds = (size_t)number_argument(state, "--seeds", arg, 1, 1000000); break;
    case ELEMENTS:
        r->elements = (size_t)number_argument(state, "--elements", arg, 1, 1000000);
        break;
    case 'm': take_argument(state, &r->folder, "folder", arg); break;
    case ARGP_KEY_ARG:
#ifdef WG_HAVE_TRAINING
        if (is_model(arg)) {
            take_argument(state, &r->folder, "folder", arg);
            break;
        }
#endif
        r->models[r->n_models++] = arg;
        break;
    case ARGP_KEY_END:
        if (!r->all && r->n_ops + r->n_models == 0 && !r->folder)
            argp_error(state, "nothing to check; use MODEL, --op NAME or --all");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static void print_outcome(const char *what, wg_status status, const wg_gradcheck_report *c)
{
    printf("%-50s", what);
    if (status != WG_OK && c->compared == 0)
        printf(" FAIL: %s\n", *c->message ? c->message : wg_status_text(status));
    else if (status != WG_OK)
        printf(" %6zu compared, worst %8.2g, tolerance %7.2g  FAIL: %s\n", c->compared, c->worst,
               c->tolerance, c->message);
    else if (c->no_derivative)
        printf(" no derivative: zero, as required%17s  ok\n", "");
    else if (c->empty)
        printf(" no elements%38s  ok\n", "");
    else
        printf(" %6zu compared, worst %8.2g, tolerance %7.2g  ok\n", c->compared, c->worst,
               c->tolerance);
    fflush(stdout);
}

/* The progress of a check; context is the request. */
static void show_progress(void *context, int order, size_t done, size_t all)
{
    request *r = context;
    char piece[2][BAR_PIECE];
    if (!bar_is_due(&r->bar))
        return;
    snprintf(piece[0], BAR_PIECE, "%.*s", BAR_PIECE - 1, r->what);
    snprintf(piece[1], BAR_PIECE, "order %d, %zu of %zu compared", order, done, all);
    bar_draw(&r->bar, (double)done / (double)all, (const char(*)[BAR_PIECE])piece, WG_COUNT(piece));
}

/* What is checked: an op's sample, a model or a variant of it, or a trained model. */
typedef struct check {
    const wg_op *op;
    const wg_sample *sample;
    const source *source;
    size_t variant; /* SIZE_MAX: the model itself */
    const char *folder;
} check;

static wg_status check_graph(const source *s, wg_graph *g, wg_gradcheck_options *o,
                             wg_gradcheck_report *c)
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
    o->leaves = leaf;
    o->n_leaves = n;
    wg_status status = wg_gradcheck(g, o, c);
    free(leaf);
    return status;
}

static wg_status check_model_once(request *r, const check *k, wg_gradcheck_options *o,
                                  wg_gradcheck_report *c)
{
    wg_value *loss;
    wg_graph *g =
        k->variant == SIZE_MAX ? source_build(k->source, &loss, &r->code) : wg_graph_new();
    if (k->variant != SIZE_MAX)
        k->source->model->variant(g, k->variant);
    wg_status status = r->code == EXIT_OK ? wg_graph_status(g) : WG_EINVAL;
    if (status == WG_OK)
        status = check_graph(k->source, g, o, c);
    else
        snprintf(c->message, sizeof c->message, "%s", wg_graph_message(g));
    wg_graph_free(g);
    return status;
}

static wg_status check_once(request *r, const check *k, uint64_t seed, wg_gradcheck_report *c)
{
    wg_gradcheck_options o = {.evaluator = wg_plan_evaluator(),
                              .order = r->order,
                              .seed = seed,
                              .step = seed,
                              .max = r->elements,
                              .progress = show_progress,
                              .context = r};
    *c = (wg_gradcheck_report){0};
    if (k->op)
        return wg_gradcheck_op(k->op, k->sample, &o, c);
#ifdef WG_HAVE_TRAINING
    if (k->folder)
        return check_folder(k->folder, &o, c);
#endif
    if (!o.max && k->variant != SIZE_MAX)
        o.max = VARIANT_ELEMENTS;
    return check_model_once(r, k, &o, c);
}

/* With all seeds, until one fails; reports the sums of what was compared and the worst error. */
static void run_check(request *r, const char *what, const check *k)
{
    wg_gradcheck_report all = {0}, c;
    wg_status status = WG_OK;
    r->what = what;
    for (uint64_t i = 0; i < r->seeds && status == WG_OK; i++) {
        status = check_once(r, k, r->seed + i, &c);
        c.compared += all.compared;
        if (status == WG_OK && i && c.worst * all.tolerance < all.worst * c.tolerance) {
            all.compared = c.compared;
            continue;
        }
        all = c;
    }
    bar_erase(&r->bar);
    if (r->code != EXIT_OK)
        return;
    print_outcome(what, status, &all);
    *(status == WG_OK ? &r->passed : &r->failed) += 1;
}

static void check_op(request *r, const wg_op *op)
{
    for (int i = 0; i < op->n_samples; i++) {
        const wg_sample *s = &op->samples[i];
        char what[120];
        snprintf(what, sizeof what, "op %s%s%s%s", op->name, s->name ? " (" : "",
                 s->name ? s->name : "", s->name ? ")" : "");
        run_check(r, what, &(check){.op = op, .sample = s});
    }
    if (op->n_samples == 0) {
        print_outcome(op->name, WG_EUNSUPPORTED,
                      &(wg_gradcheck_report){.message = "the op has no samples"});
        r->failed++;
    }
}

static void check_variants(request *r, const source *s)
{
    char what[120];
    const char *name;
    for (size_t i = 0; (name = s->model->variant(NULL, i)); i++) {
        snprintf(what, sizeof what, "model %s (%s)", s->model->name, name);
        run_check(r, what, &(check){.source = s, .variant = i});
    }
}

static int check_model(request *r, const char *name)
{
    source s;
    char what[120];
    int code = source_open(&s, name, &r->options);
    snprintf(what, sizeof what, "%s %s", s.is_file ? "file" : "model",
             s.model ? s.model->name : s.name);
    if (code == EXIT_OK && s.model && s.model->variant)
        check_variants(r, &s);
    else if (code == EXIT_OK)
        run_check(r, what, &(check){.source = &s, .variant = SIZE_MAX});
    source_close(&s);
    return code == EXIT_OK ? r->code : code;
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

/* The code of the first model that cannot be found or read, else whether all checks have passed. */
static int check_requested(request *r)
{
    int code = source_check_options(&r->options, r->models, r->n_models);
    if (code != EXIT_OK)
        return code;
    if (r->all)
        check_all(r);
    for (size_t i = 0; i < r->n_ops && !r->all; i++)
        check_op(r, r->ops[i]);
    for (size_t i = 0; i < r->n_models && !r->all && code == EXIT_OK; i++)
        code = check_model(r, r->models[i]);
    if (code != EXIT_OK)
        return code;
    if (r->folder)
        run_check(r, r->folder, &(check){.folder = r->folder});
    printf("%zu passed, %zu failed\n", r->passed, r->failed);
    return r->failed || r->passed == 0 ? EXIT_RUN : EXIT_OK;
}

int command_gradcheck(int argc, char **argv)
{
    static const struct argp_child children[] = {{&source_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {
        table,
        parse,
        "[MODEL|FILE.wg|FILE.onnx|MODEL.so...] [FOLDER]",
        "Checks derivatives of ops, of models (built in, in files, in shared objects) and of "
        "trained models against finite differences in double precision.  The exit code is 1 if any "
        "check fails.",
        children,
        NULL,
        NULL};
    size_t max = (size_t)argc + 1;
    request r = {.ops = calloc(max, sizeof(wg_op *)),
                 .models = calloc(max, sizeof(char *)),
                 .order = 1,
                 .seeds = 1,
                 .bar = bar_on(stderr, false)};
    int code = EXIT_RUN;
    r.bar.lines = 30;
    if (!r.ops || !r.models)
        complain("out of memory");
    else if ((code = parse_arguments(&argp, argc, argv, 0, &r)) == EXIT_OK)
        code = check_requested(&r);
    free(r.ops);
    free(r.models);
    return code;
}
