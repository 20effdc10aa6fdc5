/* wengert ops: the table of ops as text, or as the page docs/ops.md. */
#include "cli/cli.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

enum { MARKDOWN = 1000 };

static const struct argp_option table[] = {
    {"markdown", MARKDOWN, 0, 0, "print all ops as Markdown, the page docs/ops.md", 0},
    {0},
};

typedef struct request {
    const char *op;
    bool markdown;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case MARKDOWN: r->markdown = true; break;
    case ARGP_KEY_ARG: take_argument(state, &r->op, "op", arg); break;
    case ARGP_KEY_END:
        if (r->op && r->markdown)
            argp_error(state, "--markdown prints all ops and takes no name");
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

static const char *reads_of(const wg_op *op)
{
    static const char *const reads[] = {"nothing else", "the operands", "the results",
                                        "operands and results"};
    return reads[op->reads & (WG_READS_X | WG_READS_Y)];
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
    printf("# Ops\n\nGenerated by `wengert ops --markdown`; do not edit.  `?` marks an optional "
           "operand "
           "and `*` any number\nof operands.  Gradient \"expansion\": the op is differentiated "
           "through its expansion.\n");
    for (size_t i = 0; (op = wg_op_at(i)); i++) {
        if (!first_of_family(i))
            continue;
        printf("\n## %s\n\n| op | formula | operands | results | attributes | gradient |\n"
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
    else if (r.markdown)
        print_markdown();
    else
        print_list();
    return EXIT_OK;
}
