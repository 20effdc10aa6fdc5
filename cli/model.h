/* A trained model, opened as the flags say. */
#ifndef WG_CLI_MODEL_H
#define WG_CLI_MODEL_H

#include "backends/load.h"
#include "cli/settings_args.h"
#include "train/text/corpus.h"
#include "train/translator.h"

typedef struct model {
    wg_settings settings; /* of the training, with configuration files and flags over them */
    wg_backend_list backends;
    wg_translator *translator;
} model;

/* Opens the model of the flag --model, with `weights` of its folder (NULL: the best there are); an exit code, after which
 * model_close is due in any case.  Complains. */
int model_open(model *m, const settings_args *args, const char *weights);
void model_close(model *m);

/* The settings of the model in that folder; an exit code, after which they are due to be freed in any case.  Complains. */
int model_settings(wg_settings *settings, const char *folder);

/* The network of the model in that folder, with the sizes of its vocabularies; complains. */
int model_network(const char *folder, wg_transformer_config *network);

/* Reads two files of equally many lines; also empty ones count. */
int model_read_pairs(const model *m, const char *source, const char *target, wg_corpus **pairs);

#endif
