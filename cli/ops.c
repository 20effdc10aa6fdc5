/* wengert ops: the table of ops as text, or as the tables of docs/ops.md (which scripts/ops-page
 * writes). */
#include "cli/cli.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

enum { MARKDOWN = 1000, DETAILS };

static const struct argp_option table[] = {
    {"details", DETAILS, 0, 0, "describe every op, as with NAME", 0},
    {"markdown", MARKDOWN, 0, 0, "print all ops as tables of Markdown, as in docs/ops.md", 0},
    {0},
};

typedef struct request {
    const char *op;
    bool details, markdown;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case DETAILS: r->details = true; break;
    case MARKDOWN: r->markdown = true; break;
    case ARGP_KEY_ARG: take_argument(state, &r->op, "op", arg); break;
    case ARGP_KEY_END:
        if (r->op && (r->details || r->markdown))
            argp_error(state, "%s prints all ops and takes no name",
                       r->details ? "--details" : "--markdown");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- facts of an op -------------------------------------------------------------------------- */

static const char *gradient_of(const wg_op *op)
{
    if (op->grad)
        return "rule";
    if (op->flags & WG_OP_DISCRETE)
        return "zero";
    if (op->flags & WG_OP_LEAF || !op->operands || !*op->operands)
        return "none";
    return op->expand ? "expansion" : "none";
}

/* How often it can be differentiated: tests/ops/test_op_table.c checks that the gradient of an op
 * consists of ops that have gradients. */
static const char *order_of(const wg_op *op)
{
    const char *gradient = gradient_of(op);
    if (strcmp(gradient, "none") == 0)
        return "none";
    return strcmp(gradient, "zero") == 0 ? "zero wherever they exist" : "of any order";
}

static const char *reads_of(const wg_op *op)
{
    static const char *const reads[] = {"nothing else", "the operands", "the results",
                                        "operands and results"};
    return reads[op->reads & (WG_READS_X | WG_READS_Y)];
}

/* ---- what it accepts, as its shape rule says ------------------------------------------------- */

/* A set of dtypes: bit d for the wg_dtype d. */
enum {
    FLOATS = 1 << WG_F32 | 1 << WG_F64 | 1 << WG_BF16 | 1 << WG_F16,
    INTEGERS = 1 << WG_I32 | 1 << WG_I64,
    NUMBERS = FLOATS | INTEGERS,
    ANY_DTYPE = NUMBERS | 1 << WG_I8 | 1 << WG_U8 | 1 << WG_BOOL
};

/* The op on inputs of the sample's shapes, in which the operands of the dtype `of` have the dtype
 * `as`; NULL if the op refuses them.  The sample's WG_DTYPE_DEFAULT is f32. */
static wg_node *build_sample(wg_graph *g, const wg_op *op, const wg_sample *s, wg_dtype of,
                             wg_dtype as)
{
    wg_value *in[WG_MAX_SAMPLE_OPERANDS];
    for (int i = 0; i < s->n_in; i++) {
        char name[16];
        wg_dtype dtype = s->in[i].dtype == of ? as : s->in[i].dtype;
        snprintf(name, sizeof name, "x%d", i);
        in[i] = wg_input(g, name, dtype ? dtype : WG_F32, s->in[i].shape);
    }
    return wg_apply(WG_HERE, g, op, s->attrs, in, s->n_in);
}

/* The dtypes that operands of the sample's dtype `of` may have. */
static unsigned accepted(const wg_op *op, const wg_sample *s, wg_dtype of)
{
    unsigned set = 0;
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++) {
        wg_graph *g = wg_graph_new();
        set |= build_sample(g, op, s, of, d) ? 1u << d : 0;
        wg_graph_free(g);
    }
    return set;
}

static void print_dtypes_of(unsigned set)
{
    static const struct {
        unsigned set;
        const char *name;
    } known[] = {
        {FLOATS, "floats"}, {INTEGERS, "integers"}, {NUMBERS, "numbers"}, {ANY_DTYPE, "any"}};
    for (size_t i = 0; i < WG_COUNT(known); i++)
        if (known[i].set == set) {
            printf(" %s", known[i].name);
            return;
        }
    for (wg_dtype d = WG_F32; d < WG_DTYPE_COUNT; d++)
        if (set & 1u << d)
            printf(" %s", wg_dtype_name(d));
}

/* The sample with the most operands, which shows the optional ones. */
static const wg_sample *fullest_sample(const wg_op *op)
{
    const wg_sample *best = op->samples;
    for (int i = 1; i < op->n_samples; i++)
        if (op->samples[i].n_in > best->n_in)
            best = &op->samples[i];
    return best;
}

/* "q, k, v: floats; lengths: integers": operands that vary together, with what they may be. */
static void print_dtypes(const wg_op *op)
{
    const wg_sample *s = fullest_sample(op);
    unsigned done = 0; /* bit d: the sample's dtype d has been printed */
    char name[64];
    for (int i = 0; s && i < s->n_in; i++) {
        if (done & 1u << s->in[i].dtype)
            continue;
        printf("%s", done ? ";" : "");
        done |= 1u << s->in[i].dtype;
        for (int k = i; k < s->n_in; k++)
            if (s->in[k].dtype == s->in[i].dtype)
                printf("%s %s", k > i ? "," : "", wg_op_operand_name(op, k, name, sizeof name));
        printf(":");
        print_dtypes_of(accepted(op, s, s->in[i].dtype));
    }
    printf("%s\n", done ? "" : " none");
}

/* "a [2,3], b [3,4] -> y [2,4]": the shapes of that sample. */
static void print_shapes(const wg_op *op)
{
    const wg_sample *s = fullest_sample(op);
    wg_graph *g = wg_graph_new();
    const wg_node *n = s ? build_sample(g, op, s, WG_DTYPE_DEFAULT, WG_F32) : NULL;
    const char *results = op->results ? op->results : "y";
    char name[64], shape[120];
    for (int i = 0; n && i < n->n_in; i++)
        printf("%s %s %s", i ? "," : "", wg_op_operand_name(op, i, name, sizeof name),
               wg_shape_text(&n->in[i]->shape, shape, sizeof shape));
    printf("%s", n && n->n_in ? " ->" : "");
    for (int i = 0; n && i < n->n_out; i++) {
        int length = (int)strcspn(results, " *");
        printf("%s %.*s %s", i ? "," : "", length, results,
               wg_shape_text(&n->out[i]->shape, shape, sizeof shape));
        results += results[length] == ' ' ? length + 1 : 0;
    }
    printf("%s\n", n ? "" : " none");
    wg_graph_free(g);
}

/* ---- one op ---------------------------------------------------------------------------------- */

static void print_attribute(const wg_attr *a)
{
    static const char *const kinds[] = {
        [WG_ATTR_INT] = "integer",    [WG_ATTR_REAL] = "real",   [WG_ATTR_BOOL] = "boolean",
        [WG_ATTR_ENUM] = "one of",    [WG_ATTR_DTYPE] = "dtype", [WG_ATTR_AXES] = "axes",
        [WG_ATTR_SHAPE] = "shape",    [WG_ATTR_TEXT] = "text",   [WG_ATTR_DATA] = "data",
        [WG_ATTR_KEY] = "random key", [WG_ATTR_AXIS] = "axis",
    };
    printf("  %-16s %s", a->name, kinds[a->kind]);
    for (int i = 0; a->names && a->names[i]; i++)
        printf("%s %s", i ? "," : "", a->names[i]);
    printf("\n");
}

static void print_op(const wg_op *op)
{
    static const struct {
        unsigned flag;
        const char *text;
    } flags[] = {
        {WG_OP_LEAF, "leaf"},     {WG_OP_RANDOM, "random"},           {WG_OP_VIEW, "view"},
        {WG_OP_OPAQUE, "opaque"}, {WG_OP_ELEMENTWISE, "elementwise"}, {WG_OP_DISCRETE, "discrete"},
    };
    printf("%s: %s\n\n", op->name, op->formula ? op->formula : "");
    printf("family      %s\n", wg_family_name(op->family));
    printf("operands    %s\n", op->operands && *op->operands ? op->operands : "none");
    printf("results     %s\n", op->results ? op->results : "y");
    printf("gradient    %s%s%s\n", gradient_of(op), op->grad ? ", reads cotangents and " : "",
           op->grad ? reads_of(op) : "");
    printf("derivatives %s\n", order_of(op));
    printf("dtypes     ");
    print_dtypes(op);
    printf("example    ");
    print_shapes(op);
    printf("expansion   %s\n",
           op->expand ? "yes: defined by more primitive ops" : "none: primitive");
    printf("flags      ");
    bool any = false;
    for (size_t i = 0; i < WG_COUNT(flags); i++)
        if (op->flags & flags[i].flag) {
            printf(" %s", flags[i].text);
            any = true;
        }
    printf("%s\n", any ? "" : " none");
    printf("samples    ");
    for (int i = 0; i < op->n_samples; i++)
        printf("%s %s", i ? "," : "", op->samples[i].name ? op->samples[i].name : "one");
    printf("%s\n", op->n_samples ? "" : " none");
    if (op->n_attrs)
        printf("attributes\n");
    for (int i = 0; i < op->n_attrs; i++)
        print_attribute(&op->attrs[i]);
}

/* ---- all ops --------------------------------------------------------------------------------- */

static void print_list(void)
{
    const wg_op *op;
    size_t count = 0;
    printf("%-24s %-18s %-10s %s\n", "op", "family", "gradient", "formula");
    for (; (op = wg_op_at(count)); count++)
        printf("%-24s %-18s %-10s %s\n", op->name, wg_family_name(op->family), gradient_of(op),
               op->formula ? op->formula : "");
    printf("%zu ops\n", count);
}

static void print_details(void)
{
    const wg_op *op;
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        printf("%s", i ? "\n" : "");
        print_op(op);
    }
}

static void put_cell(const char *text)
{
    for (; *text; text++) {
        if (strchr("|\\`*_<", *text))
            putchar('\\');
        putchar(*text);
    }
}

static void put_row(const wg_op *op)
{
    printf("| `%s` | ", op->name);
    put_cell(op->formula ? op->formula : "");
    printf(" | %s%s%s | %s | ", op->operands && *op->operands ? "`" : "",
           op->operands && *op->operands ? op->operands : "",
           op->operands && *op->operands ? "`" : "", op->results ? op->results : "y");
    for (int i = 0; i < op->n_attrs; i++)
        printf("%s`%s`", i ? ", " : "", op->attrs[i].name);
    printf(" | %s |\n", gradient_of(op));
}

/* Families in the order of their first op. */
static bool first_of_family(size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (wg_op_at(k)->family == wg_op_at(i)->family)
            return false;
    return true;
}

static void print_markdown(void)
{
    const wg_op *op, *other;
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        if (!first_of_family(i))
            continue;
        printf("\n### %s\n\n| op | formula | operands | results | attributes | gradient |\n"
               "|---|---|---|---|---|---|\n",
               wg_family_name(op->family));
        for (size_t k = i; (other = wg_op_at(k)); k++)
            if (other->family == op->family)
                put_row(other);
    }
}

int command_ops(int argc, char **argv)
{
    static const struct argp argp = {
        table, parse, "[NAME]", "Lists the built-in ops, or describes one.", NULL, NULL, NULL};
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    const wg_op *op = r.op ? wg_op_find(r.op) : NULL;
    if (r.op && !op) {
        complain_unknown("op", r.op, op_name_at);
        return EXIT_USAGE;
    }
    if (op)
        print_op(op);
    else if (r.details)
        print_details();
    else if (r.markdown)
        print_markdown();
    else
        print_list();
    return EXIT_OK;
}
