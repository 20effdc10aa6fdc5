/* Graphs as texts in tests: printed, parsed, and compared in every detail. */
#ifndef WG_TESTS_GRAPH_TEXT_H
#define WG_TESTS_GRAPH_TEXT_H

#include "tests/test.h"
#include "wengert/ops/parse.h"

/* The print of a graph, which the caller frees. */
char *text_of(const wg_graph *g, size_t *size);

/* The graph of that text, or the test fails with its error. */
wg_graph *parsed(const char *text, size_t size, const wg_parse_options *options);

/* print -> parse -> print: the graph that came back, which is the same in every detail and prints
 * as the same text. */
wg_graph *there_and_back(wg_graph *g, const wg_parse_options *options);

#endif
