#include "cli/model.h"
#include "train/folder.h"

#include <stdlib.h>

static int read_settings(model *m, const settings_args *args, const char *folder)
{
    char message[500], *path = wg_folder_path(folder, "%s", WG_FILE_CONFIG);
    wg_status status = path ? wg_settings_init(&m->settings) : WG_ENOMEM;
    snprintf(message, sizeof message, "%s", wg_status_text(status));
    if (status == WG_OK)
        status = wg_settings_read_yaml(&m->settings, path, message, sizeof message);
    free(path);
    if (status == WG_OK)
        return settings_args_apply(args, &m->settings);
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
    int code = read_settings(m, args, folder);
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
