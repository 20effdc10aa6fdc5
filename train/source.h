/* The batches of a run, whatever they come from. */
#ifndef WG_PRIVATE_TRAIN_SOURCE_H
#define WG_PRIVATE_TRAIN_SOURCE_H

#include "wengert/backends/plan.h"
#include "wengert/train/source.h"

typedef struct wgi_examples wgi_examples;

typedef struct wgi_source {
    wg_source s;            /* batches 0: there is none */
    wgi_examples *examples; /* behind it, if it was made of examples */
} wgi_source;

/* One of the two, or none.  A seed of 0 in the examples becomes `seed`.  WG_EINVAL: what cannot be;
 * `what` is its name in messages. */
wg_status wgi_source_open(wgi_source *out, const wg_examples *examples, const wg_source *source,
                          uint64_t seed, const char *what, wg_error *error);
/* How examples are made into batches, for a person and to be compared. */
void wgi_source_describe(const wgi_source *s, char *text, size_t size);
void wgi_source_close(wgi_source *s);

enum { WGI_BLAME_TEXT = 120 };

/* "; that is row 5 of the batch, example 1234 of the data", if the last run of the plan, for that
 * batch, failed by a number of an input; otherwise "".  Returns `text`. */
const char *wgi_source_blame(const wg_source *s, const wg_plan *plan, int64_t epoch, int64_t i,
                             char text[WGI_BLAME_TEXT]);

#endif
