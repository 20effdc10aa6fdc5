/* Batches of sentences as a source. */
#include "translate/step.h"
#include "graph/error.h"
#include "translate/trainer.h"

#include <string.h>

/* Reads that batch unless it was the last one read. */
static wg_status read_batch(wgi_feed *f, int64_t epoch, int64_t i)
{
    size_t n;
    if (f->now && f->at.epoch == epoch && f->at.group == i)
        return WG_OK;
    f->at = (wg_cursor){epoch, i};
    wg_status status = wg_batches_seek(f->batches, f->at);
    return status == WG_OK ? wg_batches_next(f->batches, &f->now, &n) : status;
}

static wg_status describe(void *context, int64_t epoch, int64_t i, wg_shape *shapes,
                          wg_batch_size *size, wg_error *error)
{
    wgi_feed *f = context;
    wg_status status = read_batch(f, epoch, i);
    if (status != WG_OK)
        return wgi_error_set(error, status, "cannot read it: %s", wg_status_text(status));
    const wg_batch *b = f->now;
    wg_shape all[WGI_TRANSLATION_FIELDS];
    wgi_translation_shapes(all, b->rows, b->source_length, b->target_length);
    for (size_t k = f->first; k < WGI_TRANSLATION_FIELDS; k++)
        shapes[k - f->first] = all[k];
    *size = (wg_batch_size){.weight = b->target_tokens, .examples = b->sentences};
    return WG_OK;
}

static wg_status fill(void *context, int64_t epoch, int64_t i, void *const *to, wg_error *error)
{
    wgi_feed *f = context;
    wg_status status = read_batch(f, epoch, i);
    if (status != WG_OK)
        return wgi_error_set(error, status, "cannot read it: %s", wg_status_text(status));
    const wg_batch *b = f->now;
    const size_t rows = (size_t)b->rows;
    const struct {
        const int32_t *ids;
        size_t n;
    } from[WGI_TRANSLATION_FIELDS] = {
        [WGI_SOURCE] = {b->source, rows * (size_t)b->source_length},
        [WGI_SOURCE_LENGTHS] = {b->source_lengths, rows},
        [WGI_TARGET_IN] = {b->target_in, rows * (size_t)b->target_length},
        [WGI_TARGET_OUT] = {b->target_out, rows * (size_t)b->target_length},
    };
    for (size_t k = f->first; k < WGI_TRANSLATION_FIELDS; k++)
        memcpy(to[k - f->first], from[k].ids, from[k].n * sizeof *from[k].ids);
    return WG_OK;
}

wg_status wgi_feed_open(wgi_feed *f, const wgi_training_data *d, const wg_corpus *corpus,
                        const wg_settings *settings, wg_error *error)
{
    *f = (wgi_feed){.first = wgi_first_field(settings)};
    wg_status status = wgi_data_batches(&f->batches, d, corpus, settings, error);
    if (status != WG_OK)
        return status;
    f->source = (wg_source){.fields = wgi_translation_fields + f->first,
                            .n_fields = WGI_TRANSLATION_FIELDS - f->first,
                            .batches = wg_batches_groups(f->batches),
                            .describe = describe,
                            .fill = fill,
                            .context = f,
                            .hash = wg_corpus_hash(corpus)};
    return WG_OK;
}
