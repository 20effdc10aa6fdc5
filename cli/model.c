#include "cli/model.h"
#include "train/folder.h"

#include <stdlib.h>

int model_settings(wg_settings *s, const char *folder)
{
    *s = (wg_settings){0};
    if (!wg_folder_has(folder, WG_FILE_CONFIG)) {
        complain("%s: not a model's folder: it has no %s", folder, WG_FILE_CONFIG);
        return EXIT_IO;
    }
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

int model_open(model *m, const settings_args *args, const char *weights)
{
    char message[1000];
    *m = (model){0};
    const char *folder = settings_args_value(args, "model");
    if (!folder) {
        complain("which model? --model FOLDER");
        return EXIT_USAGE;
    }
    int code = model_settings(&m->settings, folder);
    if (code == EXIT_OK)
        code = settings_args_apply(args, &m->settings);
    if (code != EXIT_OK)
        return code;
    wg_status status =
        wg_backend_list_open(&m->backends, m->settings.backend, message, sizeof message);
    if (status == WG_OK)
        status = wg_translator_open(&m->translator, folder,
                                    &(wg_translator_options){.weights = weights,
                                                             .backends = m->backends.backend,
                                                             .n_backends = m->backends.count,
                                                             .threads = (int)m->settings.threads},
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

int model_read_pairs(const model *m, const char *source, const char *target, wg_corpus **pairs)
{
    char message[500];
    wg_status status = wg_corpus_read(
        pairs, source, target, wg_translator_vocabulary(m->translator, 0),
        wg_translator_vocabulary(m->translator, 1),
        &(wg_corpus_options){.keep_empty = true, .keep_text = true}, message, sizeof message);
    if (status != WG_OK)
        complain("%s", message);
    return exit_code(status);
}
