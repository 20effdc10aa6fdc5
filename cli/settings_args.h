/* The options of wengert/translate/settings.h as flags: --NAME VALUE for each, and --config
 * FILE. */
#ifndef WG_CLI_SETTINGS_ARGS_H
#define WG_CLI_SETTINGS_ARGS_H

#include "cli/cli.h"
#include "wengert/translate/settings.h"

enum { MAX_GIVEN = 256, MAX_GIVEN_VALUES = 8, MAX_CONFIGS = 8, MAX_ROWS = 512 };

/* One given flag; texts are those of argv. */
typedef struct given_option {
    const wg_option *option;
    const char *values[MAX_GIVEN_VALUES];
    size_t n;
} given_option;

/* The given flags, in the order of the command line. */
typedef struct settings_args {
    struct argp
        argp;     /* for argp_child; the parent passes the settings_args in state->child_inputs */
    unsigned use; /* WG_FOR_TRAINING and the like: takes the options with any of these bits */
    given_option given[MAX_GIVEN];
    size_t n;
    const char *configs[MAX_CONFIGS];
    size_t n_configs;
    bool has_folder; /* the model was given as an argument */
    struct argp_option rows[MAX_ROWS];
    char *texts[MAX_ROWS]; /* allocated, for the rows */
    size_t n_rows, n_texts;
} settings_args;

/* Returns an exit code; after EXIT_OK, the caller frees it.  Parse with ARGP_IN_ORDER, since flags
 * may take several words. */
int settings_args_init(settings_args *a, unsigned use);
void settings_args_free(settings_args *a);
/* Applies the configuration files and then the flags to s, whatever their order; complains. */
int settings_args_apply(const settings_args *a, wg_settings *s);
/* Whether a flag, an argument or a file of settings that was given so far says which model. */
bool settings_args_has_model(const settings_args *a);
/* Says which flags have no effect on a training by s, alone or on several processes. */
void settings_args_note_idle(const settings_args *a, const wg_settings *s, bool distributed);
/* --model FOLDER, given as an argument; argp_error if there was one already. */
void settings_args_model(settings_args *a, const char *folder, const struct argp_state *state);
/* The first value of the last flag with that name, or NULL. */
const char *settings_args_value(const settings_args *a, const char *name);

#endif
