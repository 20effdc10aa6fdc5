/* Any bytes as the text of a graph: refused with a message that names a place, or a graph that the
 * builders' checks pass, and whose print is read as the same graph.  A small one is put through
 * exercise.c. */
#include "wengert/ops/parse.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wg_sample_operand *usual_numbers(const void *context, uint32_t id)
{
    (void)context;
    (void)id;
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static wg_error error;
    wg_graph *g;
    wg_status status = wg_graph_parse(&g, (const char *)data, size, NULL, &error);
    fuzz_accepted(status == WG_OK);
    if (status != WG_OK) {
        NEED_OK(!g && strncmp(error.text, "graph:", 6) == 0, error.text);
        return 0;
    }
    if (wg_graph_output_count(g) && exercise_is_small(g))
        exercise(g, usual_numbers, NULL);
    else
        exercise_comes_back(g);
    wg_graph_free(g);
    return 0;
}
