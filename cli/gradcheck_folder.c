#include "cli/gradcheck.h"
#include "translate/data.h"
#include "wengert/backends/plan.h"
#include "wengert/files/weights.h"
#include "wengert/models/transformer.h"

#include <stdlib.h>
#include <string.h>

/* Sentences in the batch, and elements compared in each parameter: each is two runs or more. */
enum { SENTENCES = 2, FEW = 2 };

/* A model in training mode, ready for one batch. */
typedef struct live {
    wg_graph *g;
    wg_transformer_inputs in;
    wg_value *loss;
    wg_plan *plan;
} live;

static wg_status fail(wg_error *error, wg_status status, const char *text)
{
    error->status = status;
    snprintf(error->text, sizeof error->text, "%s", text);
    return status;
}

static void copy_input(const live *m, const wg_value *input, const int32_t *from)
{
    if (input) /* a language model has no source */
        memcpy(wg_plan_data(m->plan, input), from, wg_value_bytes(input));
}

/* Builds the graph for a batch of that shape, reads the weights and fills in the batch. */
static wg_status open_live(live *m, const char *folder, const wg_transformer_config *network,
                           const wg_batch *b, wg_error *error)
{
    m->g = wg_graph_new();
    wg_transformer t = wg_transformer_begin(m->g, network, WG_MODE_TRAINING);
    m->in = wg_transformer_inputs_new(m->g, b->rows, network->encoder_layers ? b->source_length : 0,
                                      b->target_length);
    m->loss = wg_output(wg_transformer_loss(&t, &m->in, NULL), "cost");
    wg_status status = wg_plan_create(&m->plan, m->g, NULL);
    if (status != WG_OK)
        return fail(error, status, wg_graph_message(m->g));
    char *path = wg_folder_path(folder, WG_FILE_MODEL);
    if (!path)
        return fail(error, WG_ENOMEM, "out of memory");
    status = wg_store_load(wg_plan_store(m->plan), path, error);
    free(path);
    if (status == WG_OK) {
        copy_input(m, m->in.source, b->source);
        copy_input(m, m->in.source_lengths, b->source_lengths);
        copy_input(m, m->in.target_in, b->target_in);
        copy_input(m, m->in.target_out, b->target_out);
    }
    return status;
}

/* The batch that the seed chooses; it belongs to *batches, which the caller frees. */
static wg_status choose_batch(wg_batches **batches, const wgi_training_data *data,
                              const wg_settings *settings, uint64_t seed, const wg_batch **batch,
                              wg_error *error)
{
    size_t n = 0;
    wg_status status = wgi_data_batches(batches, data, data->train, settings, error);
    if (status != WG_OK)
        return status;
    int64_t groups = wg_batches_groups(*batches);
    if (groups > 0)
        status =
            wg_batches_seek(*batches, (wg_cursor){.group = (int64_t)(seed % (uint64_t)groups)});
    if (status == WG_OK)
        status = wg_batches_next(*batches, batch, &n);
    return status == WG_OK && n > 0 ? WG_OK : fail(error, WG_EDATA, "no training texts");
}

static wg_status check_live(const char *folder, const wg_settings *settings,
                            const wgi_training_data *data, const wg_gradcheck_options *options,
                            wg_gradcheck_report *report, wg_error *error)
{
    wg_gradcheck_options o = *options;
    live m = {.g = NULL};
    wg_batches *batches = NULL;
    const wg_batch *batch;
    wg_transformer_config network = settings->net;
    network.source_vocabulary = wg_vocabulary_size(data->vocabularies.side[0]);
    network.target_vocabulary = wg_vocabulary_size(data->vocabularies.side[1]);
    wg_status status = choose_batch(&batches, data, settings, o.seed, &batch, error);
    if (status == WG_OK)
        status = open_live(&m, folder, &network, batch, error);
    if (status == WG_OK) {
        o.live = m.plan;
        o.y = &m.loss;
        o.n_y = 1;
        o.max = o.max ? o.max : FEW;
        status = wg_gradcheck(m.g, &o, report);
    }
    wg_plan_free(m.plan);
    wg_graph_free(m.g);
    wg_batches_free(batches);
    return status;
}

wg_status check_folder(const char *folder, const wg_gradcheck_options *options,
                       wg_gradcheck_report *report)
{
    wg_settings settings;
    wgi_training_data data = {.train = NULL};
    wg_error error = {.text = ""};
    wg_status status = wg_folder_settings(&settings, folder, &error);
    free(settings.model);
    settings.model = status == WG_OK ? strdup(folder) : NULL; /* the folder may have been moved */
    settings.overwrite = false;
    settings.batch_sentences = SENTENCES;
    if (status == WG_OK)
        status = wgi_data_open(&data, &settings, &error);
    if (status == WG_OK)
        status = check_live(folder, &settings, &data, options, report, &error);
    if (status != WG_OK && !*report->message)
        snprintf(report->message, sizeof report->message, "%.700s", error.text);
    wgi_data_free(&data);
    wg_settings_free(&settings);
    return status;
}
