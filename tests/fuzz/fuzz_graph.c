/* Any bytes as the text of a graph: refused with a message that names a place, or a graph that the
 * builders' checks pass, and whose print is read as the same graph. */
#include "wengert/ops/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
    if (!condition)
        __builtin_trap();
}

static char *print(const wg_graph *g, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    need(f && wg_graph_print(g, f) == WG_OK && fclose(f) == 0);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static wg_error error;
    wg_graph *g, *again;
    if (wg_graph_parse(&g, (const char *)data, size, NULL, &error) != WG_OK) {
        need(!g && strncmp(error.text, "graph:", 6) == 0);
        return 0;
    }
    size_t lengths[2];
    char *first = print(g, &lengths[0]);
    need(wg_graph_verify(g) == WG_OK);
    need(wg_graph_parse(&again, first, lengths[0], NULL, &error) == WG_OK);
    char *second = print(again, &lengths[1]);
    need(lengths[0] == lengths[1] && memcmp(first, second, lengths[0]) == 0);
    need(wg_graph_hash(g) == wg_graph_hash(again));
    free(first);
    free(second);
    wg_graph_free(g);
    wg_graph_free(again);
    return 0;
}
