/* Shared by the commands that use a trained model. */
#ifndef WG_CLI_MODEL_H
#define WG_CLI_MODEL_H

#include "wengert/backends/load.h"
#include "cli/settings_args.h"
#include "wengert/text/corpus.h"
#include "wengert/translate/language.h"
#include "wengert/translate/translator.h"

typedef struct model_command model_command;

typedef struct model {
    settings_args args; /* of the command line */
    const model_command *command;
    const char *weights;
    const char *files[2]; /* or the prompt */
    int n_files;
    wg_settings settings; /* of training, overridden by configuration files and flags */
    wg_backend_list backends;
    wg_translator *translator;   /* NULL in a language model */
    wg_language_model *language; /* NULL in a model that translates */
} model;

/* What is special about a command that uses a model: its options besides --model, --weights and
 * those of translation. */
struct model_command {
    unsigned use; /* WG_FOR_TRANSLATION and the like: which settings are its options */
    const struct argp_option *options; /* of group WG_GROUP_COUNT + 1 */
    argp_parser_t parse; /* parses `options`; its input is the model, which begins the request */
    const char *usage, *doc;
    /* Number of files SOURCE TARGET: 0 or 2; or of files TEXT of a language model, 1.  If max_files
     * is 0, the only argument is the model folder. */
    int min_files, max_files;
    enum { TRANSLATES = 0, GENERATES, EITHER } models; /* which it takes */
};

/* Parses the command line into m.  Returns an exit code; call model_close even after a failure.
 * Ends the program where argp does. */
int model_parse(model *m, const model_command *command, int argc, char **argv);
/* Opens the requested model, which must be one that the command takes.  Returns an exit code;
 * complains. */
int model_open(model *m);
void model_close(model *m);

/* Whether the folder has a model.  Returns an exit code; complains if it cannot be told. */
int model_exists(const char *folder, bool *exists);

/* Reads the settings of the model in that folder, which the caller frees.  Returns an exit code;
 * complains. */
int model_settings(wg_settings *settings, const char *folder);

/* The network of the model in that folder, with the sizes of its vocabularies; complains. */
int model_network(const char *folder, wg_transformer_config *network);

/* Complains if translations could have no token: EXIT_USAGE. */
int model_check_search(const model *m);

/* Warns that the last `cut` tokens of a line, counted from 1, were left out; not if cut is 0. */
void model_warn_cut(const model *m, size_t line, size_t cut);

/* check_outputs, the inputs being those that the command line names. */
int model_check_outputs(const model *m, const result_file *outputs, size_t n);

/* Reads the two files, which must have the same number of lines; empty lines are kept. */
int model_read_pairs(const model *m, wg_corpus **pairs);

#endif
