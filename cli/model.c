#include "cli/model.h"
#include "cli/threads.h"
#include "translate/translator.h"
#include "wengert/translate/folder.h"

#include <stdlib.h>

enum { WEIGHTS = 3000 };

int model_exists(const char *folder, bool *exists)
{
    wg_error error;
    return wg_folder_has(folder, WG_FILE_CONFIG, exists, &error) == WG_OK ? EXIT_OK
                                                                          : complain_error(&error);
}

int model_settings(wg_settings *s, const char *folder)
{
    wg_error error;
    return wg_folder_settings(s, folder, &error) == WG_OK ? EXIT_OK : complain_error(&error);
}

/* ---- the command line ------------------------------------------------------------------------ */

/* Input of the parser. */
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
        if (p->command->max_files == 0 ||
            (p->command->models == GENERATES && !settings_args_has_model(&m->args))) {
            settings_args_model(&m->args, arg, state);
            break;
        }
        if (m->n_files == p->command->max_files)
            argp_error(state,
                       p->command->models == GENERATES
                           ? "expected one prompt, got '%s' as well; use quotes around a prompt"
                           : "expected two files, SOURCE TARGET, got '%s' as well; use --model for "
                             "the model",
                       arg);
        m->files[m->n_files++] = arg;
        break;
    case ARGP_KEY_END:
        if ((m->n_files == 1 && p->command->models == TRANSLATES) ||
            m->n_files < p->command->min_files)
            argp_error(state, "expected two files, SOURCE TARGET");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

int model_parse(model *m, const model_command *c, int argc, char **argv)
{
    const struct argp_option table[] = {
        {"weights", WEIGHTS, "FILE", 0,
         "weights to load: a file in the model folder, or a path (default: the best available)",
         WG_GROUP_FILES + 1},
        {0, 0, 0, 0, c->options ? "Output:" : NULL, c->options ? WG_GROUP_COUNT + 1 : 0},
        {0},
    };
    *m = (model){.command = c};
    int code = settings_args_init(&m->args, c->use);
    if (code != EXIT_OK)
        return code;
    const struct argp own = {.options = c->options, .parser = c->parse};
    const struct argp_child children[] = {{&m->args.argp, 0, NULL, 0}, {&own, 0, NULL, 0}, {0}};
    const struct argp argp = {table, parse, c->usage, c->doc, children, NULL, NULL};
    return parse_arguments(&argp, argc, argv, ARGP_IN_ORDER, &(parsing){m, c});
}

/* ---- the model ------------------------------------------------------------------------------- */

/* Both are opened with the settings of the folder: the command line does not change the model. */
static wg_status open_language(model *m, const char *folder, const wg_settings *of_folder,
                               wg_error *error)
{
    const wg_language_model_options options = {.weights = m->weights,
                                               .settings = of_folder,
                                               .backends = m->backends.backend,
                                               .n_backends = m->backends.count,
                                               .threads = (int)m->settings.threads,
                                               .int8 = m->settings.int8};
    return wg_language_model_open(&m->language, folder, &options, error);
}

static wg_status open_translator(model *m, const char *folder, const wg_settings *of_folder,
                                 wg_error *error)
{
    const wg_translator_options options = {.weights = m->weights,
                                           .settings = of_folder,
                                           .backends = m->backends.backend,
                                           .n_backends = m->backends.count,
                                           .threads = (int)m->settings.threads,
                                           .max_tokens =
                                               m->settings.max_input ? m->settings.max_input : -1,
                                           .int8 = m->settings.int8};
    return wg_translator_open(&m->translator, folder, &options, error);
}

static int open_either(model *m, const char *folder, const wg_settings *of_folder)
{
    wg_error error;
    bool either = m->command->models == EITHER,
         lm = either ? of_folder->type == WG_TYPE_LM : m->command->models == GENERATES;
    wg_status status = wg_backend_list_open(&m->backends, m->settings.backend, &error);
    if (status == WG_OK)
        status = lm ? open_language(m, folder, of_folder, &error)
                    : open_translator(m, folder, of_folder, &error);
    return status == WG_OK ? EXIT_OK : complain_error(&error);
}

/* `given` gets what the files of settings and the flags say, the model's folder among it. */
static int read_given(const model *m, wg_settings *given)
{
    if (wg_settings_init(given) != WG_OK) {
        complain("out of memory");
        return EXIT_RUN;
    }
    int code = settings_args_apply(&m->args, given);
    if (code == EXIT_OK && (!given->model || !*given->model)) {
        complain("no model given; use --model FOLDER");
        return EXIT_USAGE;
    }
    return code;
}

static int open_folder(model *m, const char *folder)
{
    wg_settings of_folder;
    int code = model_settings(&of_folder, folder);
    if (code != EXIT_OK)
        return code;
    wg_status status = wg_settings_copy(&m->settings, &of_folder);
    if (status != WG_OK)
        complain("%s", wg_status_text(status));
    code = exit_code(status);
    if (code == EXIT_OK)
        code = settings_args_apply(&m->args, &m->settings);
    if (code == EXIT_OK)
        code = check_threads((long)m->settings.threads);
    if (code == EXIT_OK)
        code = open_either(m, folder, &of_folder);
    wg_settings_free(&of_folder);
    return code;
}

int model_open(model *m)
{
    wg_settings given;
    int code = read_given(m, &given);
    if (code == EXIT_OK)
        code = open_folder(m, given.model);
    wg_settings_free(&given);
    return code;
}

void model_close(model *m)
{
    wg_translator_free(m->translator);
    wg_language_model_free(m->language);
    wg_backend_list_close(&m->backends);
    wg_settings_free(&m->settings);
    settings_args_free(&m->args);
}

int model_network(const char *folder, wg_transformer_config *network)
{
    wg_error error;
    wg_settings s;
    wg_vocabularies v = {0};
    if (wg_folder_settings(&s, folder, &error) == WG_OK &&
        wg_vocabularies_open(&v, folder, &error) == WG_OK) {
        *network = s.net;
        network->source_vocabulary = wg_vocabulary_size(v.side[0]);
        network->target_vocabulary = wg_vocabulary_size(v.side[1]);
    }
    wg_vocabularies_free(&v);
    wg_settings_free(&s);
    return complain_error(&error);
}

int model_check_search(const model *m)
{
    const wg_search_options *s = &m->settings.search;
    if (s->max_factor > 0 || s->max_extra > 0)
        return EXIT_OK;
    complain("--max-length-factor and --max-length-extra are both 0: no translation would have a "
             "token");
    return EXIT_USAGE;
}

void model_warn_cut(const model *m, size_t line, size_t cut)
{
    const size_t limit = wgi_translator_limit(m->translator);
    const int64_t wanted = m->settings.max_input;
    if (cut && !m->settings.quiet)
        complain("line %zu is too long: its last %zu token%s left out; the limit, %s, is %zu "
                 "token%s",
                 line, cut, cut == 1 ? " is" : "s are",
                 wanted > 0 && limit == (size_t)wanted ? "--max-input-length"
                                                       : "by the learned positions of the model",
                 limit, limit == 1 ? "" : "s");
}

int model_check_outputs(const model *m, const result_file *outputs, size_t n)
{
    enum { MAX_FILES = WG_COUNT(m->files) };
    const char *inputs[MAX_CONFIGS + MAX_FILES];
    size_t n_inputs = 0;
    for (int i = 0; i < m->n_files; i++)
        inputs[n_inputs++] = m->files[i];
    for (size_t i = 0; i < m->args.n_configs; i++)
        inputs[n_inputs++] = m->args.configs[i];
    return check_outputs(outputs, n, inputs, n_inputs);
}

int model_read_pairs(const model *m, wg_corpus **pairs)
{
    wg_error error;
    const wg_corpus_options options = {.keep_empty = true, .keep_text = true};
    wg_status status =
        wg_corpus_read(pairs, m->files[0], m->files[1], wg_translator_vocabulary(m->translator, 0),
                       wg_translator_vocabulary(m->translator, 1), &options, &error);
    if (status != WG_OK)
        return complain_error(&error);
    const size_t repaired = wg_corpus_repaired(*pairs);
    const int side = wg_corpus_first_repaired(*pairs, 0) == 0;
    if (repaired && !m->settings.quiet)
        complain("%zu line%s of %s and %s %s not UTF-8, the first of them line %zu of %s: each "
                 "wrong byte and NUL is read as U+FFFD",
                 repaired, repaired == 1 ? "" : "s", m->files[0], m->files[1],
                 repaired == 1 ? "is" : "are", wg_corpus_first_repaired(*pairs, side),
                 m->files[side]);
    return EXIT_OK;
}
