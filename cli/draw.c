#include "cli/draw.h"
#include "graph/text_buffer.h"
#include "wengert/graph/op.h"

#include <stdlib.h>

/* ---- writing --------------------------------------------------------------------------------- */

int deliver(const char *path, const char *bytes, size_t size)
{
    if (path)
        return write_file(path, bytes, size);
    fwrite(bytes, 1, size, stdout);
    return EXIT_OK; /* main checks standard output */
}

int write_picture(wg_picture *p, wg_picture_format format, const char *path)
{
    wgi_text_buffer b;
    FILE *f = wgi_text_open(&b);
    wg_error error = {.status = WG_OK};
    wg_status status = f ? wg_picture_write(p, format, f, &error) : WG_ENOMEM;
    char *bytes = wgi_text_close(&b);
    if (!bytes)
        error = (wg_error){.status = WG_ENOMEM, .text = "out of memory"};
    if (status == WG_OK && bytes && *error.warning)
        complain("%s", error.warning);
    int code = error.status == WG_OK ? deliver(path, bytes, b.size) : complain_error(&error);
    free(bytes);
    return code;
}

/* ---- costs ----------------------------------------------------------------------------------- */

/* All nodes of one op. */
typedef struct cost {
    const wg_op *op;
    size_t nodes;
    double flops, bytes;
} cost;

static int dearest_first(const void *a, const void *b)
{
    const cost *x = a, *y = b;
    if (x->flops != y->flops)
        return x->flops < y->flops ? 1 : -1;
    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

/* The costs by op in `costs`, which has room for every node, and their sum; the number of ops. */
static size_t collect(const wg_graph *g, cost *costs, cost *sum)
{
    size_t n = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *node = wg_graph_node(g, i);
        size_t k = 0;
        while (k < n && costs[k].op != node->op)
            k++;
        if (k == n)
            costs[n++] = (cost){.op = node->op};
        cost *const both[] = {&costs[k], sum};
        for (int j = 0; j < 2; j++) {
            both[j]->nodes++;
            both[j]->flops += wg_node_flops(node);
            both[j]->bytes += wg_node_bytes(node);
        }
    }
    qsort(costs, n, sizeof *costs, dearest_first);
    return n;
}

static void print_cost(FILE *f, const char *name, const cost *c)
{
    fprintf(f, "%-24s %6zu %14.6g %14.6g ", name, c->nodes, c->flops, c->bytes);
    if (c->bytes > 0)
        fprintf(f, "%10.3g\n", c->flops / c->bytes);
    else
        fprintf(f, "%10s\n", "-");
}

static void print_leaves(FILE *f, const wg_graph *g)
{
    static const struct {
        unsigned flag;
        const char *name;
    } kinds[] = {{WG_OP_PARAMETER, "parameters"}, {WG_OP_STATE, "states"}, {WG_OP_INPUT, "inputs"}};
    for (int k = 0; k < WG_COUNT(kinds); k++) {
        size_t tensors = 0;
        double elements = 0, bytes = 0;
        for (size_t i = 0; i < wg_graph_node_count(g); i++) {
            const wg_node *n = wg_graph_node(g, i);
            if (!(n->op->flags & kinds[k].flag))
                continue;
            tensors++;
            elements += (double)wg_value_count(n->out[0]);
            bytes += (double)wg_value_bytes(n->out[0]);
        }
        fprintf(f, "%-24s %6zu %14.6g elements %.6g bytes\n", kinds[k].name, tensors, elements,
                bytes);
    }
}

wg_status print_costs(const wg_graph *g, FILE *f)
{
    cost *costs = calloc(wg_graph_node_count(g) + 1, sizeof *costs), sum = {0};
    if (!costs)
        return WG_ENOMEM;
    size_t n = collect(g, costs, &sum);
    fprintf(f, "%-24s %6s %14s %14s %10s\n", "op", "nodes", "FLOP", "bytes", "FLOP/byte");
    for (size_t i = 0; i < n; i++)
        print_cost(f, costs[i].op->name, &costs[i]);
    print_cost(f, "all", &sum);
    print_leaves(f, g);
    free(costs);
    return ferror(f) ? WG_EIO : WG_OK;
}
