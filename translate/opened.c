/* Opening the folder of a trained model. */
#include "translate/opened.h"
#include "backends/store.h"
#include "files/read.h"
#include "files/weights.h"
#include "graph/error.h"
#include "models/parameters.h"
#include "train/finite.h"
#include "translate/folder.h"
#include "translate/validate.h"
#include "wengert/ops/table.h"

#include <stdlib.h>
#include <string.h>

static wg_status take_settings(wgi_opened_model *m, const char *folder, const wg_settings *settings,
                               wg_error *error)
{
    if (!settings)
        return wg_folder_settings(&m->settings, folder, error);
    wg_status status = wg_settings_copy(&m->settings, settings);
    return status == WG_OK ? WG_OK : wgi_error_file(error, status, folder, "out of memory");
}

static wg_status check_type(const wgi_opened_model *m, wg_model_type type, const char *folder,
                            wg_error *error)
{
    if (m->settings.type == (int)type)
        return WG_OK;
    return wgi_error_file(error, WG_EINVAL, folder,
                          type == WG_TYPE_LM
                              ? "expected a language model, got one that translates"
                              : "expected a model that translates, got a language model: "
                                "`wengert generate' and `wengert evaluate' take it");
}

static wg_status open_vocabularies(wgi_opened_model *m, const char *folder, wg_error *error)
{
    wg_status status = wg_vocabularies_open(&m->vocabularies, folder, error);
    if (status != WG_OK)
        return status;
    m->settings.net.source_vocabulary = wg_vocabulary_size(m->vocabularies.side[0]);
    m->settings.net.target_vocabulary = wg_vocabulary_size(m->vocabularies.side[1]);
    return wgi_marks_of(&m->marks, &m->settings, &m->vocabularies, folder, error);
}

static size_t room_of_parameters(const wg_graph *g)
{
    size_t room = 0;
    for (size_t i = 0; i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (n->op == &wg_op_parameter)
            room += wgi_store_room(n->out[0]->dtype, &n->out[0]->shape);
    }
    return room;
}

/* Creates a zeroed tensor for each parameter of the model. */
static wg_status make_store(wgi_opened_model *m, const char *folder, wg_error *error)
{
    wg_graph *g = wgi_transformer_parameters(&m->settings.net);
    wg_status status = wg_graph_status(g);
    if (status != WG_OK)
        wgi_error_file(error, status, folder, "%s", g ? wg_graph_message(g) : "out of memory");
    m->store = wg_store_new(0);
    if (status == WG_OK && m->store)
        (void)wgi_store_reserve(m->store, room_of_parameters(g)); /* else each on its own */
    for (size_t i = 0; status == WG_OK && i < wg_graph_node_count(g); i++) {
        const wg_node *n = wg_graph_node(g, i);
        if (n->op == &wg_op_parameter && wg_store_add(m->store, n->out[0]->name, n->out[0]->dtype,
                                                      &n->out[0]->shape, NULL) != WG_OK)
            status = wgi_error_file(error, WG_ENOMEM, folder, "no memory for the parameters");
    }
    wg_graph_free(g);
    return status;
}

/* Sets *path, which the caller frees, unless it is set or the folder lacks the file. */
static wg_status choose(char **path, const char *folder, const char *name, wg_error *error)
{
    bool has = false;
    wg_status status = *path ? WG_OK : wg_folder_has(folder, name, &has, error);
    if (has && !(*path = wg_folder_path(folder, "%s", name)))
        status = wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    return status;
}

/* The requested file, in the folder or elsewhere. */
static wg_status find_wanted(char **path, const char *folder, const char *wanted, wg_error *error)
{
    bool exists = false;
    wg_status status = choose(path, folder, wanted, error);
    if (status != WG_OK || *path)
        return status;
    status = wgi_file_exists(wanted, &exists, error);
    if (status == WG_OK && !exists)
        return wgi_error_file(
            error, WG_EIO, wanted,
            "expected a file in the model's folder %s, or at this path; got neither", folder);
    if (exists && !(*path = strdup(wanted)))
        status = wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    return status;
}

/* The first that exists of the best by the deciding metric, the best by another metric, the moving
 * average, and the last weights. */
static wg_status find_best(char **path, const wgi_opened_model *m, const char *folder,
                           wg_error *error)
{
    char name[64];
    int first = wgi_metric_named(m->settings.valid_metrics, 0);
    wg_status status = WG_OK;
    for (int i = first >= 0 ? -1 : 0; i < WGI_METRICS && status == WG_OK; i++) {
        snprintf(name, sizeof name, "best-%s.safetensors",
                 wgi_metric_kinds[i < 0 ? first : i].name);
        status = choose(path, folder, name, error);
    }
    if (status == WG_OK)
        status = choose(path, folder, WG_FILE_AVERAGE, error);
    if (status == WG_OK && !*path && !(*path = wg_folder_path(folder, "%s", WG_FILE_MODEL)))
        status = wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    return status;
}

/* Numbers that are none make no probabilities. */
static wg_status check_parameters(const wg_store *store, const char *path, wg_error *error)
{
    wg_status status = WG_OK;
    for (size_t i = 0; i < wg_store_count(store); i++) {
        wg_status one = wgi_check_finite(wg_store_at(store, i), 1, WG_ENONFINITE, path, error);
        status = one != WG_OK ? one : status;
    }
    return status;
}

/* With another vocabulary their shapes may differ too: that is the cause and comes first. */
static wg_status take_weights(wgi_opened_model *m, const char *folder, const wg_safetensors *f,
                              const char *path, wg_error *error)
{
    wg_status status = wgi_vocabularies_check(
        &m->vocabularies, folder, wg_safetensors_note(f, WGI_NOTE_VOCABULARIES), path, error);
    if (status == WG_OK)
        status = wgi_store_take(m->store, f, path, error);
    return status == WG_OK ? check_parameters(m->store, path, error) : status;
}

static wg_status load_weights(wgi_opened_model *m, const char *folder, const char *wanted,
                              wg_error *error)
{
    char *path = NULL;
    wg_safetensors *f = NULL;
    wg_status status =
        wanted ? find_wanted(&path, folder, wanted, error) : find_best(&path, m, folder, error);
    if (status == WG_OK)
        status = wg_safetensors_open(&f, path, error);
    if (status == WG_OK)
        status = take_weights(m, folder, f, path, error);
    wg_safetensors_close(f);
    free(path);
    return status;
}

wg_status wgi_open_model(wgi_opened_model *m, wg_model_type type, const char *folder,
                         const wg_settings *settings, const char *weights, wg_error *error)
{
    *m = (wgi_opened_model){.store = NULL};
    wg_status status = take_settings(m, folder, settings, error);
    if (status == WG_OK)
        status = check_type(m, type, folder, error);
    if (status == WG_OK)
        status = open_vocabularies(m, folder, error);
    if (status == WG_OK)
        status = make_store(m, folder, error);
    if (status == WG_OK)
        status = load_weights(m, folder, weights, error);
    return status;
}

void wgi_close_model(wgi_opened_model *m)
{
    wg_store_free(m->store);
    wg_vocabularies_free(&m->vocabularies);
    wg_settings_free(&m->settings);
    m->store = NULL;
}
