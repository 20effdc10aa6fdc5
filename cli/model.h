/* The commands that use a trained model: what they are asked, and the model. */
#ifndef WG_CLI_MODEL_H
#define WG_CLI_MODEL_H

#include "wengert/backends/load.h"
#include "cli/settings_args.h"
#include "wengert/text/corpus.h"
#include "wengert/train/translator.h"

typedef struct model {
    settings_args args; /* as asked on the command line */
    const char *weights, *files[2];
    int n_files;
    wg_settings settings; /* of the training, with configuration files and flags over them */
    wg_backend_list backends;
    wg_translator *translator;
} model;

/* A command that uses a model: its own options, besides --model, --weights and those of
 * translation. */
typedef struct model_command {
    unsigned use; /* WG_FOR_TRANSLATION and its like: which settings it takes as options */
    const struct argp_option *options; /* of group WG_GROUP_COUNT + 1 */
    argp_parser_t parse; /* of these; input is the model, with which the command's request begins */
    const char *usage, *doc;
    /* Of SOURCE TARGET: 0 or 2.  Where max_files is 0, the one argument is the model's folder. */
    int min_files, max_files;
} model_command;

/* Reads the command line, and makes the model's flags known; an exit code, after which model_close
 * is due in any case.  Ends the program where argp does. */
int model_parse(model *m, const model_command *command, int argc, char **argv);
/* Opens the model asked for; an exit code.  Complains. */
int model_open(model *m);
void model_close(model *m);

/* The settings of the model in that folder, which the caller frees; an exit code.  Complains. */
int model_settings(wg_settings *settings, const char *folder);

/* The network of the model in that folder, with the sizes of its vocabularies; complains. */
int model_network(const char *folder, wg_transformer_config *network);

/* Reads the two files, of equally many lines; also empty ones count. */
int model_read_pairs(const model *m, wg_corpus **pairs);

#endif
