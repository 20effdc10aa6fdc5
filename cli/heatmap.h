/* A picture of attention: which source tokens the decoder looked at as it wrote each token. */
#ifndef WG_CLI_HEATMAP_H
#define WG_CLI_HEATMAP_H

#include "wengert/train/translator.h"

/* Draws h, a translation of `line`, as row by row of h->attention, and writes the numbers beside it
 * as JSON.  Line 0 goes to `path`, line n > 0 to path with -(n + 1) before its end.  An exit code;
 * complains. */
int heatmap_write(const char *path, size_t line_number, const char *line,
                  const wg_translator *translator, const wg_hypothesis *h);

#endif
