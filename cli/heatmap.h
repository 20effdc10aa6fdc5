/* A picture of attention: to which tokens each token attended. */
#ifndef WG_CLI_HEATMAP_H
#define WG_CLI_HEATMAP_H

#include "cli/model.h"

/* model_check_outputs of the files that line 0 would get; those of further lines are checked as
 * they are written.  path may be NULL. */
int heatmap_check(const char *path, const model *m);

/* Draws h->attention of h, a translation of `line` by the model, and writes the weights as JSON
 * beside it; `of` is wg_search_options.attention_of.  Line 0 goes to `path`, line n > 0 to path
 * with -(n + 1) before the extension.  Returns an exit code; complains. */
int heatmap_write(const char *path, size_t line_number, const char *line, const model *from,
                  const wg_hypothesis *h, const char *of);

#endif
