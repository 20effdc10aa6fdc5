/* The two kinds of what wengert export writes: a model as one file, a translator as a folder. */
#ifndef WG_CLI_EXPORT_H
#define WG_CLI_EXPORT_H

#include "cli/source.h"

/* Sizes of what a translator takes. */
typedef struct export_sizes {
    int64_t sentences, length; /* tokens of a sentence, the end of sentence counted */
} export_sizes;

/* Writes the encoder and the decoder of the model that was trained in `folder`, and its tokens,
 * into the folder `to`, which is made.  `weights` as for wengert translate; NULL: the best.
 * Complains and returns an exit code other than EXIT_OK if that fails. */
int export_folder(const char *folder, const char *to, const char *weights,
                  const export_sizes *sizes);

#endif
