#include "cli/model.h"
#include "wengert/train/folder.h"

#include <stdlib.h>

enum { WEIGHTS = 3000 };

int model_folder(const char *folder)
{
    if (wg_folder_has(folder, WG_FILE_CONFIG))
        return EXIT_OK;
    complain("%s: not a model folder: it has no %s", folder, WG_FILE_CONFIG);
    return EXIT_IO;
}

int model_settings(wg_settings *s, const char *folder)
{
    *s = (wg_settings){0};
    if (model_folder(folder) != EXIT_OK)
        return EXIT_IO;
    char message[500], *path = wg_folder_path(folder, "%s", WG_FILE_CONFIG);
    wg_status status = path ? wg_settings_init(s) : WG_ENOMEM;
    snprintf(message, sizeof message, "%s", wg_status_text(status));
    if (status == WG_OK)
        status = wg_settings_read_yaml(s, path, message, sizeof message);
    free(path);
    if (status != WG_OK)
        complain("%s", message);
    return exit_code(status);
}

/* ---- the command line ------------------------------------------------------------------------ */

/* What the parser of a command line needs. */
typedef struct parsing {
    model *model;
    const model_command *command;
} parsing;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    const parsing *p = state->input;
    model *m = p->model;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &m->args;
        state->child_inputs[1] = m;
        break;
    case WEIGHTS: m->weights = arg; break;
    case ARGP_KEY_ARG:
        if (p->command->max_files == 0)
            argp_error(state, "unexpected argument '%s'; text is read from standard input", arg);
        if (m->n_files == p->command->max_files)
            argp_error(
                state,
                "expected two files, SOURCE TARGET, got '%s' as well; use --model for the model",
                arg);
        m->files[m->n_files++] = arg;
        break;
    case ARGP_KEY_END:
        if (m->n_files == 1 || m->n_files < p->command->min_files)
            argp_error(state, "expected two files, SOURCE TARGET");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int model_parse(model *m, const model_command *c, int argc, char **argv)
{
    static const struct argp_option table[] = {
        {"weights", WEIGHTS, "FILE", 0,
         "weights to load: a file in the model folder, or a path (default: the best available)",
         WG_GROUP_FILES + 1},
        {0, 0, 0, 0, "Output:", WG_GROUP_COUNT + 1},
        {0},
    };
    *m = (model){.n_files = 0};
    int code = settings_args_init(&m->args, c->use);
    if (code != EXIT_OK)
        return code;
    const struct argp own = {.options = c->options, .parser = c->parse};
    const struct argp_child children[] = {{&m->args.argp, 0, NULL, 0}, {&own, 0, NULL, 0}, {0}};
    const struct argp argp = {table, parse, c->usage, c->doc, children, NULL, NULL};
    return argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &(parsing){m, c}) == 0 ? EXIT_OK
                                                                                     : EXIT_USAGE;
}

/* ---- the model ------------------------------------------------------------------------------- */

int model_open(model *m)
{
    char message[1000];
    const char *folder = settings_args_value(&m->args, "model");
    if (!folder || !*folder) {
        complain("no model given; use --model FOLDER");
        return EXIT_USAGE;
    }
    int code = model_settings(&m->settings, folder);
    if (code == EXIT_OK)
        code = settings_args_apply(&m->args, &m->settings);
    if (code != EXIT_OK)
        return code;
    wg_status status =
        wg_backend_list_open(&m->backends, m->settings.backend, message, sizeof message);
    if (status == WG_OK)
        status = wg_translator_open(&m->translator, folder,
                                    &(wg_translator_options){.weights = m->weights,
                                                             .backends = m->backends.backend,
                                                             .n_backends = m->backends.count,
                                                             .threads = (int)m->settings.threads,
                                                             .int8 = m->settings.int8},
                                    message, sizeof message);
    if (status != WG_OK)
        complain("%s", message);
    return exit_code(status);
}

void model_close(model *m)
{
    wg_translator_free(m->translator);
    wg_backend_list_close(&m->backends);
    wg_settings_free(&m->settings);
    settings_args_free(&m->args);
}

int model_network(const char *folder, wg_transformer_config *network)
{
    char message[500];
    wg_settings s;
    wg_vocabularies v = {0};
    int code = model_settings(&s, folder);
    wg_status status =
        code == EXIT_OK ? wg_vocabularies_open(&v, folder, message, sizeof message) : WG_OK;
    if (status != WG_OK) {
        complain("%s", message);
        code = exit_code(status);
    } else if (code == EXIT_OK) {
        *network = s.net;
        network->source_vocabulary = wg_vocabulary_size(v.side[0]);
        network->target_vocabulary = wg_vocabulary_size(v.side[1]);
    }
    wg_vocabularies_free(&v);
    wg_settings_free(&s);
    return code;
}

int model_read_pairs(const model *m, wg_corpus **pairs)
{
    char message[500];
    wg_status status = wg_corpus_read(
        pairs, m->files[0], m->files[1], wg_translator_vocabulary(m->translator, 0),
        wg_translator_vocabulary(m->translator, 1),
        &(wg_corpus_options){.keep_empty = true, .keep_text = true}, message, sizeof message);
    if (status != WG_OK)
        complain("%s", message);
    return exit_code(status);
}
