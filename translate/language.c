/* A trained language model: generation and perplexity of texts. */
#include "wengert/translate/language.h"
#include "graph/error.h"
#include "graph/grow.h"
#include "translate/opened.h"
#include "translate/step.h"
#include "translate/trainer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct wg_language_model {
    wgi_opened_model model;
    wg_generator *generator;
    const wg_backend **backends; /* [n_backends] */
    size_t n_backends;
    int threads;
    wg_error error; /* of the last call */
};

/* ---- opening --------------------------------------------------------------------------------- */

static wg_status take_options(wg_language_model *m, const wg_language_model_options *o,
                              const char *folder, wg_error *error)
{
    m->threads = o->threads;
    m->n_backends = o->n_backends;
    m->backends = calloc(o->n_backends + 1, sizeof *m->backends);
    if (!m->backends)
        return wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    for (size_t i = 0; i < o->n_backends; i++)
        m->backends[i] = o->backends[i];
    return WG_OK;
}

static wg_status make_generator(wg_language_model *m, const wg_language_model_options *o,
                                const char *folder, wg_error *error)
{
    const wg_search_model model = {
        .config = &m->model.settings.net,
        .store = m->model.store,
        .bos = m->model.marks.start,
        .eos = m->model.marks.eos,
        .pad = m->model.marks.pad,
        .unk = m->model.marks.unk,
        .backends = m->backends,
        .n_backends = m->n_backends,
        .threads = m->threads,
        .int8 = o->int8,
        .fixed = true,
    };
    wg_status status = wg_generator_create(&m->generator, &model, error);
    return status == WG_OK ? WG_OK : wgi_error_prefix(error, status, "%s: ", folder);
}

wg_status wg_language_model_open(wg_language_model **out, const char *folder,
                                 const wg_language_model_options *options, wg_error *error)
{
    static const wg_language_model_options none = {0};
    const wg_language_model_options *o = options ? options : &none;
    wgi_error_clear(error);
    if (out)
        *out = NULL;
    if (!out || !folder)
        return wgi_error_set(error, WG_EINVAL, "wg_language_model_open: no folder was given");
    wg_language_model *m = calloc(1, sizeof *m);
    if (!m)
        return wgi_error_file(error, WG_ENOMEM, folder, "out of memory");
    wg_status status = take_options(m, o, folder, error);
    if (status == WG_OK)
        status = wgi_open_model(&m->model, WG_TYPE_LM, folder, o->settings, o->weights, error);
    if (status == WG_OK)
        status = make_generator(m, o, folder, error);
    if (status == WG_OK)
        *out = m;
    else
        wg_language_model_free(m);
    return status;
}

void wg_language_model_free(wg_language_model *m)
{
    if (!m)
        return;
    wg_generator_free(m->generator);
    wgi_close_model(&m->model);
    free(m->backends);
    free(m);
}

const char *wg_language_model_message(const wg_language_model *m)
{
    return m ? m->error.text : "the language model is NULL";
}

const wg_vocabulary *wg_language_model_vocabulary(const wg_language_model *m)
{
    return m ? m->model.vocabularies.side[1] : NULL;
}

const wg_transformer_config *wg_language_model_config(const wg_language_model *m)
{
    return m ? &m->model.settings.net : NULL;
}

const wg_store *wg_language_model_store(const wg_language_model *m)
{
    return m ? m->model.store : NULL;
}

/* ---- prompts and texts ----------------------------------------------------------------------- */

typedef struct tokens {
    int32_t *ids;
    size_t n, room;
} tokens;

static bool put(tokens *to, const int32_t *ids, size_t n)
{
    if (!WGI_RESERVE(to->ids, to->room, to->n + n + 1))
        return false;
    if (n)
        memcpy(to->ids + to->n, ids, n * sizeof *ids);
    to->n += n;
    return true;
}

/* The tokens of a prompt; of joined lines, with the ends of all but the last. */
static wg_status encode(const wg_language_model *m, const char *prompt, tokens *out)
{
    bool joined = m->model.settings.join_lines, ok = true;
    wg_status status = WG_OK;
    *out = (tokens){.ids = NULL};
    for (const char *at = prompt; at && ok && status == WG_OK;) {
        const char *end = joined ? strchr(at, '\n') : NULL;
        int32_t *ids = NULL;
        size_t n = 0;
        status = wg_vocabulary_encode(m->model.vocabularies.side[1], at,
                                      end ? (size_t)(end - at) : strlen(at), &ids, &n);
        ok = status == WG_OK && put(out, ids, n) && (!end || put(out, &m->model.marks.eos, 1));
        free(ids);
        at = end ? end + 1 : NULL;
    }
    return status == WG_OK && !ok ? WG_ENOMEM : status;
}

/* Appends the text of some tokens, and a newline if the line ends. */
static wg_status append(const wg_language_model *m, char **text, const int32_t *ids, size_t n,
                        bool ends)
{
    char *line = NULL;
    wg_status status = wg_vocabulary_decode(m->model.vocabularies.side[1], ids, n, &line);
    if (status != WG_OK)
        return status;
    size_t before = *text ? strlen(*text) : 0, more = strlen(line);
    char *longer = realloc(*text, before + more + 2);
    if (longer) {
        memcpy(longer + before, line, more);
        memcpy(longer + before + more, ends ? "\n" : "", ends ? 2 : 1);
        *text = longer;
    }
    free(line);
    return longer ? WG_OK : WG_ENOMEM;
}

/* The text of a prompt and what was drawn: lines end at end tokens but a last one, which is no part
 * of the text. */
static wg_status decode(const wg_language_model *m, char **text, const tokens *prompt,
                        const wg_generated *drawn)
{
    tokens all = {.ids = NULL};
    wg_status status =
        put(&all, prompt->ids, prompt->n) && put(&all, drawn->ids, drawn->n - drawn->ended)
            ? WG_OK
            : WG_ENOMEM;
    for (size_t at = 0; status == WG_OK && at <= all.n;) {
        size_t end = at;
        while (end < all.n && all.ids[end] != m->model.marks.eos)
            end++;
        status = append(m, text, all.ids + at, end - at, end < all.n);
        at = end + 1;
    }
    free(all.ids);
    return status;
}

static size_t count_unknown(const wg_language_model *m, const tokens *prompt)
{
    size_t n = 0;
    for (size_t i = 0; i < prompt->n; i++)
        n += prompt->ids[i] == m->model.marks.unk;
    return n;
}

/* Moves what was drawn into the results, with its texts. */
static wg_status with_texts(const wg_language_model *m, const tokens *prompt, wg_generated *drawn,
                            size_t n, wg_text **results)
{
    wg_text *out = calloc(n, sizeof *out);
    wg_status status = out ? WG_OK : WG_ENOMEM;
    for (size_t i = 0; status == WG_OK && i < n; i++) {
        out[i].unknown = count_unknown(m, prompt);
        out[i].tokens = drawn[i];
        drawn[i] = (wg_generated){.ids = NULL};
        status = decode(m, &out[i].text, prompt, &out[i].tokens);
    }
    if (status == WG_OK)
        *results = out;
    else
        wg_texts_free(out, n);
    return status;
}

wg_status wg_language_model_generate(wg_language_model *m, const char *prompt,
                                     const wg_generate_options *options, wg_text **results)
{
    if (!m)
        return WG_EINVAL;
    wgi_error_clear(&m->error);
    if (!prompt || !options || !results)
        return wgi_error_set(&m->error, WG_EINVAL,
                             "wg_language_model_generate: an argument is NULL");
    *results = NULL;
    tokens ids;
    wg_generated *drawn = NULL;
    wg_generate_options o = *options;
    const size_t n = o.samples > 0 ? (size_t)o.samples : 1;
    o.go_on = o.go_on || m->model.settings.join_lines;
    wg_status status = encode(m, prompt, &ids);
    if (status == WG_OK) {
        status = wg_generator_run(m->generator, ids.ids, ids.n, &o, &drawn);
        if (status == WG_OK)
            status = with_texts(m, &ids, drawn, n, results);
        else
            wgi_error_set(&m->error, status, "%s", wg_generator_message(m->generator));
    }
    if (status != WG_OK && m->error.status == WG_OK)
        wgi_error_set(&m->error, status, "the text of a prompt: %s", wg_status_text(status));
    wg_generated_free(drawn, drawn ? n : 0);
    free(ids.ids);
    return status;
}

void wg_texts_free(wg_text *results, size_t count)
{
    for (size_t i = 0; results && i < count; i++) {
        free(results[i].text);
        free(results[i].tokens.ids);
    }
    free(results);
}

/* ---- perplexity ------------------------------------------------------------------------------ */

/* The metrics of validation, of all batches. */
static wg_status measure(wg_language_model *m, const wg_source *source, wgi_means *means)
{
    wgi_plans plans;
    wg_trainer_options o = wgi_translation_options(&m->model.settings);
    o.backends = m->backends;
    o.n_backends = m->n_backends;
    o.threads = m->threads;
    o.average = 0;
    wg_status status = wgi_plans_init(&plans, &o, source->fields, source->n_fields, m->model.store);
    if (status != WG_OK)
        return wgi_error_set(&m->error, status, "out of memory");
    status = wgi_validate(means, &plans, source, "cost", NULL, &m->error);
    wgi_plans_free(&plans);
    return status;
}

wg_status wg_language_model_evaluate(wg_language_model *m, const char *path, wg_text_score *score)
{
    if (!m)
        return WG_EINVAL;
    wgi_error_clear(&m->error);
    if (!path || !score)
        return wgi_error_set(&m->error, WG_EINVAL,
                             "wg_language_model_evaluate: an argument is NULL");
    const wg_settings *s = &m->model.settings;
    const wgi_training_data data = {.vocabularies = m->model.vocabularies};
    wg_corpus *text = NULL;
    wgi_feed feed = {.now = NULL};
    wgi_means means;
    wg_status status = wgi_data_spans(&text, path, &data.vocabularies, s, &m->error);
    if (status == WG_OK)
        status = wgi_feed_open(&feed, &data, text, s, &m->error);
    if (status == WG_OK)
        status = measure(m, &feed.source, &means);
    if (status == WG_OK) {
        const double h = wgi_means_find(&means, "cross-entropy")->value;
        *score = (wg_text_score){.texts = means.examples,
                                 .tokens = means.weight,
                                 .cross_entropy = h,
                                 .perplexity = exp(h),
                                 .accuracy = wgi_means_find(&means, "accuracy")->value};
    }
    wg_batches_free(feed.batches);
    wg_corpus_free(text);
    return status;
}
