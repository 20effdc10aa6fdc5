#include "graph/threads.h"
#include "translate/data.h"
#include "translate/marks.h"
#include "graph/error.h"
#include "wengert/text/numbers.h"

#include <stdlib.h>
#include <string.h>

/* Validation pairs of the built-in corpus. */
enum { NUMBERS_TO_VALIDATE = 1000 };

/* The built-in corpus as text, for a run without files. */
typedef struct numbers {
    char *text[2]; /* English, German */
} numbers;

static void free_numbers(numbers *n)
{
    free(n->text[0]);
    free(n->text[1]);
}

/* ---- vocabularies ---------------------------------------------------------------------------- */

static wg_vocabulary_options vocabulary_options(const wg_settings *s)
{
    return (wg_vocabulary_options){
        .kind = s->vocab_kind, .size = s->vocab_size, .tokenized = s->vocab_tokenized};
}

static wg_status make_from_numbers(wg_vocabulary **out, const wg_settings *s, const numbers *n,
                                   int first, int last, wg_error *error)
{
    const char *more = last != first ? n->text[last] : "";
    size_t room = strlen(n->text[first]) + strlen(more) + 1;
    char *text = malloc(room);
    if (!text)
        return wgi_error_set(error, WG_ENOMEM, "out of memory");
    snprintf(text, room, "%s%s", n->text[first], more);
    const wg_vocabulary_options options = vocabulary_options(s);
    wg_status status = wg_vocabulary_train_text(out, &options, text, room - 1, error);
    free(text);
    return status;
}

/* Builds a vocabulary from the training texts of sides first..last. */
static wg_status make(wg_vocabulary **out, const wg_settings *s, const numbers *n, int first,
                      int last, wg_error *error)
{
    if (n->text[0])
        return make_from_numbers(out, s, n, first, last, error);
    const wg_vocabulary_options options = vocabulary_options(s);
    return wg_vocabulary_train(out, &options, (const char *const *)&s->train_sets[first],
                               (size_t)last - (size_t)first + 1, error);
}

static wg_status make_of_text(wg_vocabulary **out, const wg_settings *s, wg_error *error)
{
    const wg_vocabulary_options options = vocabulary_options(s);
    return wg_vocabulary_train(out, &options, (const char *const[]){s->train_set}, 1, error);
}

static wg_status make_all(wg_vocabularies *out, const wg_settings *s, const numbers *n,
                          wg_error *error)
{
    bool lm = s->type == WG_TYPE_LM, joint = lm || s->net.tying == WG_TIED_ALL;
    wg_status status =
        lm ? make_of_text(&out->side[0], s, error) : make(&out->side[0], s, n, 0, joint, error);
    if (joint)
        out->side[1] = out->side[0];
    else if (status == WG_OK)
        status = make(&out->side[1], s, n, 1, 1, error);
    return status;
}

/* Special tokens that a model needs, and a joint vocabulary if embeddings are shared. */
static wg_status check_vocabularies(const wg_vocabularies *v, const wg_settings *s, wg_error *error)
{
    wgi_sentence_marks marks;
    wg_status status = wgi_marks_of(&marks, s, v, s->model, error);
    if (status == WG_OK && s->net.tying == WG_TIED_ALL &&
        !wg_vocabulary_equal(v->side[0], v->side[1]))
        status = wgi_error_file(
            error, WG_EDATA, s->model,
            "all embeddings are tied: expected a joint vocabulary, got two that "
            "differ, of %lld and %lld tokens",
            (long long)wg_vocabulary_size(v->side[0]), (long long)wg_vocabulary_size(v->side[1]));
    return status;
}

static wg_status get_vocabularies(wgi_training_data *out, const wg_settings *s, const numbers *n,
                                  wg_error *error)
{
    wg_vocabularies *v = &out->vocabularies;
    bool exist = false;
    wg_status status = s->overwrite ? WG_OK : wg_vocabularies_exist(s->model, &exist, error);
    out->of_folder = exist;
    if (status == WG_OK)
        status = exist          ? wg_vocabularies_open(v, s->model, error)
                 : s->vocabs[0] ? wg_vocabularies_read(v, s->vocabs[0], s->vocabs[1], error)
                                : make_all(v, s, n, error);
    return status == WG_OK ? check_vocabularies(v, s, error) : status;
}

/* ---- corpora --------------------------------------------------------------------------------- */

static wg_status read_corpus(wg_corpus **out, char *const sets[2], const numbers *n,
                             const wg_vocabularies *v, const wg_corpus_options *options,
                             wg_error *error)
{
    if (n->text[0])
        return wg_corpus_of_text(out, n->text[0], strlen(n->text[0]), n->text[1],
                                 strlen(n->text[1]), v->side[0], v->side[1], options, error);
    return wg_corpus_read(out, sets[0], sets[1], v->side[0], v->side[1], options, error);
}

static wg_status draw_numbers(numbers *out, const wg_settings *s, wg_numbers_part part,
                              wg_error *error)
{
    size_t count = part == WG_NUMBERS_TO_TEST ? NUMBERS_TO_VALIDATE : (size_t)s->numbers;
    wg_status status = wg_numbers_corpus(count, part, s->seed, &out->text[0], &out->text[1]);
    if (status != WG_OK)
        wgi_error_set(error, status, "no memory for the built-in corpus");
    return status;
}

static wg_status open_pairs(wgi_training_data *out, const wg_settings *s, wg_error *error)
{
    bool built_in = !s->train_sets[0];
    numbers n = {{NULL, NULL}}, held_out = {{NULL, NULL}};
    wg_corpus_options options = {.max_length = (size_t)s->max_length,
                                 .threads = wgi_threads((int)s->threads)};
    wg_corpus_options to_validate = {.max_length = (size_t)wg_settings_longest(s),
                                     .keep_empty = true,
                                     .keep_text = true,
                                     .threads = wgi_threads((int)s->threads)};
    wg_status status = built_in ? draw_numbers(&n, s, WG_NUMBERS_TO_TRAIN, error) : WG_OK;
    if (status == WG_OK)
        status = get_vocabularies(out, s, &n, error);
    if (status == WG_OK)
        status = read_corpus(&out->train, s->train_sets, &n, &out->vocabularies, &options, error);
    if (status == WG_OK && built_in && !s->valid_sets[0])
        status = draw_numbers(&held_out, s, WG_NUMBERS_TO_TEST, error);
    if (status == WG_OK && (built_in || s->valid_sets[0]))
        status = read_corpus(&out->valid, s->valid_sets, &held_out, &out->vocabularies,
                             &to_validate, error);
    free_numbers(&n);
    free_numbers(&held_out);
    return status;
}

wg_status wgi_data_spans(wg_corpus **out, const char *path, const wg_vocabularies *v,
                         const wg_settings *s, wg_error *error)
{
    wgi_sentence_marks marks;
    wg_status status = wgi_marks_of(&marks, s, v, s->model, error);
    int64_t longest = wg_settings_longest(s);
    const wg_span_options options = {
        .bos = marks.start,
        .eos = marks.eos,
        .length = (size_t)(s->max_length && s->max_length < longest ? s->max_length : longest),
        .joined = s->join_lines,
        .threads = wgi_threads((int)s->threads)};
    return status == WG_OK ? wg_corpus_read_spans(out, path, v->side[1], &options, error) : status;
}

static wg_status open_text(wgi_training_data *out, const wg_settings *s, wg_error *error)
{
    const wg_vocabularies *v = &out->vocabularies;
    wg_status status = get_vocabularies(out, s, NULL, error);
    if (status == WG_OK)
        status = wgi_data_spans(&out->train, s->train_set, v, s, error);
    if (status == WG_OK && s->valid_set)
        status = wgi_data_spans(&out->valid, s->valid_set, v, s, error);
    return status;
}

wg_status wgi_data_open(wgi_training_data *out, const wg_settings *s, wg_error *error)
{
    *out = (wgi_training_data){.train = NULL};
    wg_status status = s->type == WG_TYPE_LM ? open_text(out, s, error) : open_pairs(out, s, error);
    if (status != WG_OK)
        wgi_data_free(out);
    return status;
}

void wgi_data_free(wgi_training_data *d)
{
    wg_corpus_free(d->train);
    wg_corpus_free(d->valid);
    wg_vocabularies_free(&d->vocabularies);
    *d = (wgi_training_data){.train = NULL};
}

wg_status wgi_data_batches(wg_batches **out, const wgi_training_data *d, const wg_corpus *corpus,
                           const wg_settings *s, wg_error *error)
{
    wgi_sentence_marks marks;
    bool lm = s->type == WG_TYPE_LM;
    wg_status status = wgi_marks_of(&marks, s, &d->vocabularies, s->model, error);
    if (status != WG_OK)
        return status;
    const wg_batches_options options = {.tokens = s->batch_tokens,
                                        .sentences = s->batch_sentences,
                                        .multiple = s->length_multiple,
                                        .fixed_rows = true,
                                        .seed = s->seed,
                                        .bos = marks.start,
                                        .eos = marks.eos,
                                        .pad = marks.pad,
                                        .spans = lm,
                                        .source_begins = !lm && marks.source_bos >= 0,
                                        .source_bos = marks.source_bos,
                                        .source_eos = lm ? -1 : marks.source_eos,
                                        .source_pad = wg_vocabulary_pad(d->vocabularies.side[0])};
    status = wg_batches_create(out, corpus, &options, error);
    if (status == WG_EDATA)
        wgi_error_add(error,
                      "; a larger mini-batch-words has room for it, and max-length %lld would skip "
                      "such pairs",
                      (long long)wg_settings_longest(s));
    return status;
}
