/* A training run of a Transformer or a language model: what train/trainer.h needs to know of texts
 * and settings. */
#include "translate/trainer.h"
#include "backends/load.h"
#include "files/checksum.h"
#include "graph/error.h"
#include "graph/resident.h"
#include "translate/folder.h"
#include "translate/sides.h"
#include "translate/step.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

wgi_translation *wgi_translation_of(const wg_trainer *t)
{
    return t->task.context;
}

/* ---- settings that must stay ----------------------------------------------------------------- */

/* Paths may change, since fingerprints show whether the contents of the files did.  So may the
 * preset, since the values that it sets are compared one by one. */
static bool must_stay(const wg_option *o)
{
    return (o->use & WG_FOR_TRAINING) && !(o->use & WG_MAY_CHANGE) && o->group != WG_GROUP_FILES &&
           o->offset != offsetof(wg_settings, preset);
}

static wg_status list_settings(wgi_translation *m, wg_error *error)
{
    const wg_option *o;
    for (size_t i = 0; (o = wg_option_at(i)); i++) {
        char *text = NULL;
        if (!must_stay(o))
            continue;
        if (wg_settings_get(&m->settings, o, &text) != WG_OK)
            return wgi_error_set(error, WG_ENOMEM, "out of memory");
        m->fact[m->n_facts++] = (wg_file_note){o->name, text};
    }
    return WG_OK;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Bytes that the run takes later, beside the trainer's plans: batches, files, a validation. */
#define LATER ((size_t)16 << 20)

/* What the trainer is told of the run, once the data are open. */
static void set_options(wgi_translation *m, wg_trainer *t)
{
    const wg_settings *s = &m->settings;
    wg_trainer_options o = wgi_translation_options(s);
    o.train_source = &m->train.source;
    o.valid_source = m->data.valid ? &m->valid.source : NULL;
    o.schedule = s->schedule;
    o.schedule.d_model = s->net.d_model;
    o.after = s->after;
    o.report = s->disp_freq;
    o.validate = s->valid_freq;
    o.save = s->save_freq;
    o.metrics = s->valid_metrics ? s->valid_metrics : wgi_metric_kinds[0].name;
    o.patience = s->early_stopping;
    o.listener = t->options.listener;
    o.ranks = t->options.ranks;
    o.reduce = (wg_reduce_options){(size_t)s->bucket, s->wire ? WG_BF16 : WG_DTYPE_DEFAULT};
    o.shard_optimizer = s->shard_optimizer;
    o.folder = t->options.folder;
    o.overwrite = t->options.overwrite;
    o.pretrained = t->options.pretrained;
    o.keep = s->keep;
    o.seed = s->seed;
    o.backends = m->backends.backend;
    o.n_backends = m->backends.count;
    o.threads = (int)s->threads;
    o.memory = (size_t)s->memory;
    o.memory_elsewhere = o.memory ? wgi_resident_bytes() + LATER : 0;
    t->options = o;
}

/* A hash of what BLEU and chrF of the validation depend on besides the texts */
static uint64_t measures_of(const wg_settings *s)
{
    const wg_search_options *o = &s->search;
    const char *metrics = s->valid_metrics ? s->valid_metrics : "";
    const double numbers[] = {
        (double)s->bleu_tokenizer, (double)o->beam, o->penalty,          o->alpha,
        (double)o->max_length,     o->max_factor,   (double)o->max_extra};
    bool translates = strstr(metrics, "bleu") || strstr(metrics, "chrf");
    return translates ? wgi_xxh64(numbers, sizeof numbers, 0) : 0;
}

/* What the checkpoints are told. */
static wg_status set_files(wgi_translation *m, wg_trainer *t)
{
    wg_checkpoint_options *files = &t->task.files;
    wg_status status = list_settings(m, &t->error);
    m->vocabularies = t->task.vocabularies = wgi_vocabularies_hash(&m->data.vocabularies);
    t->task.measures = measures_of(&m->settings);
    wgi_note_of_vocabularies(m->note_text, m->vocabularies);
    m->note = (wg_file_note){WGI_NOTE_VOCABULARIES, m->note_text};
    files->settings = m->fact;
    files->n_settings = m->n_facts;
    files->notes = &m->note;
    files->n_notes = 1;
    return status;
}

/* The settings say what the given vocabularies are, not how they would have been built. */
static void describe_given(wg_settings *s, const wg_vocabularies *v)
{
    enum { LEAST = 5 }; /* of vocab-size */
    const int64_t size[2] = {wg_vocabulary_size(v->side[0]), wg_vocabulary_size(v->side[1])};
    const int64_t larger = size[0] > size[1] ? size[0] : size[1];
    s->vocab_kind = wg_vocabulary_kind_of(v->side[0]);
    s->vocab_size = larger > LEAST ? larger : LEAST;
    s->vocab_tokenized = false;
}

static wg_status open_data(void *context, wg_trainer *t)
{
    wgi_translation *m = context;
    wg_settings *s = &m->settings;
    wg_error *error = &t->error;
    wg_status status = wg_backend_list_open(&m->backends, s->backend, error);
    if (status == WG_OK)
        status = wgi_data_open(&m->data, s, error);
    if (status != WG_OK)
        return status;
    if (s->vocabs[0] && !m->data.of_folder)
        describe_given(s, &m->data.vocabularies);
    s->net.source_vocabulary = wg_vocabulary_size(m->data.vocabularies.side[0]);
    s->net.target_vocabulary = wg_vocabulary_size(m->data.vocabularies.side[1]);
    status = wgi_feed_open(&m->train, &m->data, m->data.train, s, error);
    if (status == WG_OK && m->data.valid) {
        status = wgi_feed_open(&m->valid, &m->data, m->data.valid, s, error);
        if (status != WG_OK)
            wgi_error_prefix(error, status, "validation set: ");
    }
    if (status == WG_OK)
        status = set_files(m, t);
    set_options(m, t);
    return status;
}

static wg_status check_pretrained(void *context, wg_trainer *t, const wg_safetensors *f)
{
    const wgi_translation *m = context;
    const char *path = t->options.pretrained;
    wg_status status =
        wgi_vocabularies_check(&m->data.vocabularies, t->options.folder,
                               wg_safetensors_note(f, WGI_NOTE_VOCABULARIES), path, &t->error);
    if (status != WG_EDATA || m->data.of_folder)
        return status;
    return wgi_error_set(&t->error, status,
                         "%s: these weights were trained with another vocabulary than %s; give "
                         "theirs by --vocabs",
                         path, m->settings.vocabs[0] ? "that of --vocabs" : "the one made here");
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void note_data(const wgi_translation *m, wg_trainer *t, int64_t parameters)
{
    const wg_corpus *c = m->data.train, *v = m->data.valid;
    const wg_vocabulary *const *side = (const wg_vocabulary *const *)m->data.vocabularies.side;
    const size_t valid = v ? wg_corpus_count(v) : 0, too_long = v ? wg_corpus_too_long(v) : 0;
    if (m->settings.type == WG_TYPE_LM)
        wgi_report_note(t,
                        "%zu training texts (%zu empty lines), %zu validation texts; a vocabulary "
                        "of %lld tokens; %" PRId64 " parameters",
                        wg_corpus_count(c), wg_corpus_empty(c), valid,
                        (long long)wg_vocabulary_size(side[1]), parameters);
    else
        wgi_report_note(t,
                        "%zu training pairs (%zu empty and %zu too long skipped), %zu validation "
                        "pairs; vocabularies of %lld and %lld tokens; %" PRId64 " parameters",
                        wg_corpus_count(c), wg_corpus_empty(c), wg_corpus_too_long(c), valid,
                        (long long)wg_vocabulary_size(side[0]),
                        (long long)wg_vocabulary_size(side[1]), parameters);
    if (too_long)
        wgi_report_note(t,
                        "%zu validation %s left out: longer than the %" PRId64
                        " tokens that a batch and the learned positions hold",
                        too_long, too_long == 1 ? "text is" : "texts are",
                        wg_settings_longest(&m->settings));
}

/* The texts by which that corpus was read; NULL: the built-in ones. */
static const char *const *names_of(const wgi_translation *m, const wg_corpus *c,
                                   const char *name[2])
{
    const wg_settings *s = &m->settings;
    const bool train = c == m->data.train;
    const char *one = train ? s->train_set : s->valid_set;
    char *const *two = train ? s->train_sets : s->valid_sets;
    for (int side = 0; side < 2; side++)
        name[side] = s->type == WG_TYPE_LM ? one : two[side];
    return name[0] && name[1] ? name : NULL;
}

static void note_repaired(const wgi_translation *m, wg_trainer *t, const wg_corpus *c,
                          const char *what)
{
    const char *name[2];
    const size_t lines = c ? wg_corpus_repaired(c) : 0;
    if (!lines || !names_of(m, c, name))
        return;
    const int side = wg_corpus_first_repaired(c, 0) == 0;
    wgi_report_note(t,
                    "%zu line%s of the %s texts %s not UTF-8, the first of them line %zu of %s: "
                    "each wrong byte and NUL is read as U+FFFD",
                    lines, lines == 1 ? "" : "s", what, lines == 1 ? "is" : "are",
                    wg_corpus_first_repaired(c, side), name[side]);
}

/* A slip of the hand, which would teach a model to copy. */
static void note_equal(const wgi_translation *m, wg_trainer *t, const wg_corpus *c,
                       const char *what)
{
    const char *name[2];
    if (c && m->settings.type != WG_TYPE_LM && names_of(m, c, name) && wgi_sides_equal(c))
        wgi_report_note(t, "both sides of the %s pairs are the same text: %s and %s", what, name[0],
                        name[1]);
}

/* Files that do not belong together, or came out of a step that failed. */
static void note_empty(const wgi_translation *m, wg_trainer *t, const wg_corpus *c,
                       const char *what)
{
    enum { FEW = 10, ONE_IN = 10 };
    const char *name[2];
    if (!c || m->settings.type == WG_TYPE_LM || !names_of(m, c, name))
        return;
    const size_t all = wg_corpus_count(c) + wg_corpus_empty(c) + wg_corpus_too_long(c);
    const size_t empty = wgi_pairs_half_empty(c);
    if (empty >= FEW && empty >= all / ONE_IN)
        wgi_report_note(t,
                        "%zu of %zu %s pairs have an empty side: are %s and %s whole, and line by "
                        "line translations of each other?",
                        empty, all, what, name[0], name[1]);
}

static void note_swapped(const wgi_translation *m, wg_trainer *t)
{
    const wg_corpus *c = m->data.valid;
    const char *name[2];
    if (c && m->settings.type != WG_TYPE_LM && names_of(m, c, name) &&
        wgi_sides_swapped(m->data.train, c,
                          (const wg_vocabulary *const *)m->data.vocabularies.side))
        wgi_report_note(t,
                        "source and target of the validation seem to be exchanged: %s is like the "
                        "target texts of the training, and %s like the source texts",
                        name[0], name[1]);
}

static void note(void *context, wg_trainer *t, int64_t parameters)
{
    const wgi_translation *m = context;
    note_data(m, t, parameters);
    note_repaired(m, t, m->data.train, "training");
    note_repaired(m, t, m->data.valid, "validation");
    note_equal(m, t, m->data.train, "training");
    note_equal(m, t, m->data.valid, "validation");
    note_empty(m, t, m->data.train, "training");
    note_empty(m, t, m->data.valid, "validation");
    note_swapped(m, t);
    if (wgi_backends_have_object(m->settings.backend))
        wgi_report_note(t,
                        "backend %s has a shared object, which " WG_FILE_CONFIG
                        " does not keep: give --backend again to resume with it",
                        m->settings.backend);
}

/* ---- resuming -------------------------------------------------------------------------------- */

/* What progress.json of format 1 has: the hash of the pieces alone. */
static uint64_t hash_of_pieces(const wg_vocabularies *v)
{
    uint64_t h = 0;
    for (int side = 0; side < 2; side++)
        for (int32_t id = 0; id < wg_vocabulary_size(v->side[side]); id++) {
            const char *piece = wg_vocabulary_piece(v->side[side], id);
            h = wgi_xxh64(piece ? piece : "", piece ? strlen(piece) + 1 : 0, h);
        }
    return h;
}

static wg_status check_resumed(void *context, wg_trainer *t)
{
    wgi_translation *m = context;
    wg_progress *p = &t->progress;
    if (p->format == 1 && p->vocabularies == hash_of_pieces(&m->data.vocabularies))
        p->vocabularies = m->vocabularies;
    return p->vocabularies == m->vocabularies
               ? WG_OK
               : wgi_error_file(&t->error, WG_EINVAL, t->options.folder,
                                "vocabs: expected those that this run started with, got others; "
                                "was a file vocab.* changed or damaged?");
}

static wg_status write_settings(wgi_translation *m, wg_trainer *t)
{
    const bool quiet = m->settings.quiet;
    m->settings.quiet = false; /* not to silence the warnings of whoever uses the model */
    wg_status status = wgi_folder_write_settings(m->settings.model, &m->settings, &t->error);
    m->settings.quiet = quiet;
    return status;
}

/* Saves new vocabularies, and the settings. */
static wg_status save(void *context, wg_trainer *t)
{
    wgi_translation *m = context;
    wg_settings *s = &m->settings;
    wg_status status = WG_OK;
    s->overwrite = false; /* config.yml must not ask for it again, nor for other weights */
    free(s->pretrained);
    s->pretrained = NULL;
    t->options.pretrained = NULL;
    if (!m->data.of_folder)
        status = wg_vocabularies_save(&m->data.vocabularies, s->model, &t->error);
    return status == WG_OK ? write_settings(m, t) : status;
}

/* Without these, no one could use what is saved. */
static wg_status renew(void *context, wg_trainer *t)
{
    wgi_translation *m = context;
    const char *folder = m->settings.model;
    bool has_settings, has_vocabularies = true;
    wg_status status = wg_folder_has(folder, WG_FILE_CONFIG, &has_settings, &t->error);
    if (status == WG_OK)
        status =
            wgi_vocabularies_saved(&m->data.vocabularies, folder, &has_vocabularies, &t->error);
    if (status == WG_OK && !has_vocabularies)
        status = wg_vocabularies_save(&m->data.vocabularies, folder, &t->error);
    if (status == WG_OK && !has_settings)
        status = write_settings(m, t);
    if (status == WG_OK && (!has_settings || !has_vocabularies))
        wgi_report_note(t, "%s: %s removed during training, and written again", folder,
                        has_vocabularies ? WG_FILE_CONFIG " was"
                        : has_settings   ? "vocabularies were"
                                         : WG_FILE_CONFIG " and vocabularies were");
    return status;
}

/* ---- validation ------------------------------------------------------------------------------ */

static wg_status evaluate(void *context, wg_trainer *t, wgi_means *means)
{
    wgi_translation *m = context;
    wg_error left_out;
    m->validator.settings = &m->settings;
    m->validator.data = &m->data;
    m->validator.backends = &m->backends;
    m->validator.store = t->store;
    m->validator.stop = t->options.ranks ? NULL : t->stop;
    m->validator.ranks = t->options.ranks;
    wg_status status = wgi_validate_translations(means, &m->validator, &left_out, &t->error);
    if (status == WG_OK && left_out.status != WG_OK)
        wgi_report_note(t, "update %" PRId64 ": validation without BLEU and chrF: %s",
                        t->progress.update, left_out.text);
    return status;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static void close_all(void *context)
{
    wgi_translation *m = context;
    wgi_validator_free(&m->validator);
    wg_batches_free(m->train.batches);
    wg_batches_free(m->valid.batches);
    wgi_data_free(&m->data);
    wg_backend_list_close(&m->backends);
    for (size_t i = 0; i < m->n_facts; i++)
        free((void *)m->fact[i].text);
    wg_settings_free(&m->settings);
    free(m);
}

static wg_status check(const wg_settings *s, wg_error *error)
{
    return s->model && *s->model
               ? wg_settings_check(s, error)
               : wgi_error_set(error, WG_EINVAL, "model: expected a folder, got none");
}

wg_status wg_translation_trainer(wg_trainer **out, const wg_settings *settings,
                                 const wg_listener *listener, wg_error *error)
{
    return wg_translation_trainer_on(out, settings, listener, NULL, error);
}

wg_status wg_translation_trainer_on(wg_trainer **out, const wg_settings *settings,
                                    const wg_listener *listener, wg_ranks *ranks, wg_error *error)
{
    wgi_error_clear(error);
    *out = NULL;
    wgi_translation *m = calloc(1, sizeof *m);
    wg_status status = m ? wg_settings_copy(&m->settings, settings) : WG_ENOMEM;
    status = status == WG_OK ? check(&m->settings, error)
                             : wgi_error_set(error, status, "out of memory");
    if (status != WG_OK) {
        if (m)
            close_all(m);
        return status;
    }
    const wg_settings *s = &m->settings;
    for (int k = 0; k < WGI_METRICS; k++)
        /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): without memory the status says so */
        m->metric[k] = wgi_metric_kinds[k].name;
    const wgi_task task = {
        .context = m,
        .words = {.loss = "cost",
                  .loss_unit = " nats per token",
                  .weight = "target-tokens",
                  .speed = "words",
                  .perplexity = true,
                  .data = s->type == WG_TYPE_LM ? "train-set" : "train-sets",
                  .pretrained = "--pretrained-model",
                  .overwrite = "--overwrite",
                  .accumulate = "--optimizer-delay",
                  .patience = "--early-stopping"},
        .files = {.metrics = m->metric, .n_metrics = WGI_METRICS, .other = WG_FILE_CONFIG},
        .open = open_data,
        .check_pretrained = check_pretrained,
        .note = note,
        .check_resumed = check_resumed,
        .save = save,
        .renew = renew,
        .evaluate = evaluate,
        .close = close_all};
    wg_trainer_options o = {.folder = s->model, .overwrite = s->overwrite, .ranks = ranks};
    o.pretrained = s->pretrained && *s->pretrained ? s->pretrained : NULL;
    if (listener)
        o.listener = *listener;
    return wgi_trainer_create(out, &o, &task, error);
}
