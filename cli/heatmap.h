/* A picture of attention: to which tokens each token attended. */
#ifndef WG_CLI_HEATMAP_H
#define WG_CLI_HEATMAP_H

#include "wengert/translate/translator.h"

/* check_output, of the files that line 0 would get; those of further lines are checked as they are
 * written.  path may be NULL. */
int heatmap_check(const char *path);

/* Draws h->attention of h, a translation of `line`, and writes the weights as JSON beside it; `of`
 * is wg_search_options.attention_of.  Line 0 goes to `path`, line n > 0 to path with -(n + 1)
 * before the extension.  Returns an exit code; complains. */
int heatmap_write(const char *path, size_t line_number, const char *line,
                  const wg_translator *translator, const wg_hypothesis *h, const char *of);

#endif
