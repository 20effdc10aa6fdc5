/* wengert onnx: what is in an ONNX file. */
#include "cli/cli.h"
#include "graph/text_buffer.h"

#include <stdlib.h>
#include <string.h>

enum { DIM = 5000, GRAPH, KNOWN, SVG, OPS, MAX_OPTIONS = 64 };

typedef struct request {
    const char *file, *svg;
    char *given[2 * MAX_OPTIONS]; /* options of the import, with their values */
    int n_given;
    bool graph, ops;
} request;

static const struct argp_option table[] = {
    {"graph", GRAPH, NULL, 0, "print the graph that is imported, as wengert graph FILE.onnx does",
     0},
    {"svg", SVG, "FILE", 0, "draw it", 0},
    {"dim", DIM, "NAME=N", 0, "the size of a symbolic dimension (may be repeated)", 0},
    {"known", KNOWN, "NAME=N,...", 0,
     "the numbers of an input that must be known while the file is read (may be repeated)", 0},
    {"ops", OPS, NULL, 0, "list the ops that can be imported, as Markdown, without a file", 0},
    {0},
};

static void give(request *r, char *option, char *value, const struct argp_state *state)
{
    if (r->n_given == 2 * MAX_OPTIONS)
        argp_error(state, "--dim and --known given more than %d times", MAX_OPTIONS);
    r->given[r->n_given++] = option;
    r->given[r->n_given++] = value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    static char dim[] = "--dim", known[] = "--known";
    request *r = state->input;
    switch (key) {
    case DIM: give(r, dim, arg, state); break;
    case KNOWN: give(r, known, arg, state); break;
    case GRAPH: r->graph = true; break;
    case OPS: r->ops = true; break;
    case SVG: r->svg = arg; break;
    case ARGP_KEY_ARG: take_argument(state, &r->file, "file", arg); break;
    case ARGP_KEY_END:
        if (!r->file == !r->ops)
            argp_error(state, "give a FILE or --ops");
        if (r->n_given > 0 && !r->graph && !r->svg)
            argp_error(state, "%s has no effect without --graph or --svg", r->given[0]);
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* The command graph on the same file. */
static int draw(const request *r)
{
    char name[] = "wengert graph", svg[] = "--svg";
    char *arguments[2 * MAX_OPTIONS + 8];
    int n = 0;
    arguments[n++] = name;
    arguments[n++] = (char *)r->file;
    for (int i = 0; i < r->n_given; i++)
        arguments[n++] = r->given[i];
    if (r->svg) {
        arguments[n++] = svg;
        arguments[n++] = (char *)r->svg;
    }
    arguments[n] = NULL;
    return command_graph(n, arguments);
}

static int describe(const request *r)
{
    wgi_text_buffer b;
    wg_error error = {.status = WG_ENOMEM, .text = "out of memory"};
    FILE *f = wgi_text_open(&b);
    wg_status status = !f       ? WG_ENOMEM
                       : r->ops ? wg_onnx_print_ops(f, &error)
                                : wg_onnx_describe(r->file, f, &error);
    char *text = wgi_text_close(&b);
    if (text && status == WG_OK)
        fwrite(text, 1, b.size, stdout);
    free(text);
    return text && status == WG_OK ? EXIT_OK : complain_error(&error);
}

int command_onnx(int argc, char **argv)
{
    static const struct argp argp = {
        table,
        parse,
        "FILE.onnx",
        "Describes an ONNX model: versions, inputs and outputs, sizes to give, ops with their "
        "counts, and all that is not supported.\vThe commands graph, run, gradcheck, bench and "
        "diff take such a file as a model, with --dim for its symbolic sizes and --known for "
        "inputs whose numbers must be known.",
        NULL,
        NULL,
        NULL};
    request r = {0};
    int code = parse_arguments(&argp, argc, argv, 0, &r);
    if (code != EXIT_OK)
        return code;
    return r.graph || r.svg ? draw(&r) : describe(&r);
}
