/* wengert evaluate: the metrics of a model on a pair of files, of a language model on one. */
#include "cli/model.h"
#include "wengert/text/bleu.h"
#include "wengert/text/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOWERCASE = 1000, OUTPUT, OVERWRITE };

static const struct argp_option table[] = {
    {"lowercase", LOWERCASE, 0, 0, "ignore case in BLEU and chrF", WG_GROUP_COUNT + 1},
    {"output", OUTPUT, "FILE", 0, "write the translations to FILE", WG_GROUP_COUNT + 1},
    {"overwrite", OVERWRITE, 0, 0, "let --output replace a text", WG_GROUP_COUNT + 1},
    {0},
};

typedef struct request {
    model model; /* first */
    const char *output;
    bool lowercase, overwrite;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case LOWERCASE: r->lowercase = true; break;
    case OUTPUT: r->output = arg; break;
    case OVERWRITE: r->overwrite = true; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* All lines of both sides, and their translations. */
typedef struct texts {
    const char **source, **target, **translated; /* [n] */
    size_t n;
    wg_translation *translation; /* [n] */
} texts;

static void print_prediction(double cross_entropy, double accuracy)
{
    printf("cross-entropy  %.4f nats per token\nperplexity     %.4f\naccuracy       %.4f\n",
           cross_entropy, exp(cross_entropy), accuracy);
}

/* Sums -log p over the given targets, as in validation: in nats, without label smoothing. */
static wg_status measure_targets(const request *r, const texts *t)
{
    wg_translation *found = NULL;
    double cost = 0, tokens = 0, hits = 0;
    wg_status status =
        wg_translator_score(r->model.translator, t->source, t->target, t->n, NULL, &found);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; i < t->n; i++) {
        cost -= found[i].hypothesis.log_probability;
        tokens += (double)found[i].hypothesis.n;
        hits += (double)found[i].hypothesis.n_correct;
        model_warn_cut(&r->model, i + 1, found[i].cut);
    }
    wg_translations_free(found, t->n);
    printf("sentences      %zu\ntarget tokens  %.0f\n", t->n, tokens);
    if (tokens > 0)
        print_prediction(cost / tokens, hits / tokens);
    return WG_OK;
}

static wg_status translate(const request *r, texts *t)
{
    wg_search_options search = r->model.settings.search;
    search.n_best = 1;
    search.without_scores = true;
    wg_status status =
        wg_translator_run(r->model.translator, t->source, t->n, &search, &t->translation);
    for (size_t i = 0; status == WG_OK && i < t->n; i++)
        t->translated[i] = t->translation[i].text;
    return status;
}

static wg_status compare(const request *r, const texts *t)
{
    wg_bleu_options bleu_options = {.tokenizer = r->model.settings.bleu_tokenizer,
                                    .lowercase = r->lowercase};
    wg_chrf_options chrf_options = {.lowercase = r->lowercase};
    wg_bleu bleu;
    double chrf;
    char text[200], signature[200];
    size_t same = 0;
    wg_status status = wg_bleu_compute(&bleu, t->translated, t->target, t->n, &bleu_options);
    if (status == WG_OK)
        status = wg_chrf_compute(&chrf, t->translated, t->target, t->n, &chrf_options);
    if (status != WG_OK)
        return status;
    for (size_t i = 0; i < t->n; i++)
        same += strcmp(t->translated[i], t->target[i]) == 0;
    printf("exact matches  %.2f %%\n", t->n ? 100 * (double)same / (double)t->n : 0.0);
    wg_bleu_print(&bleu, text, sizeof text);
    wg_bleu_signature(&bleu_options, signature, sizeof signature);
    printf("%s  %s\n", text, signature);
    wg_chrf_print(chrf, &chrf_options, text, sizeof text);
    wg_chrf_signature(&chrf_options, signature, sizeof signature);
    printf("%s  %s\n", text, signature);
    return WG_OK;
}

static void put_translations(FILE *f, const void *context)
{
    const texts *t = context;
    for (size_t i = 0; i < t->n; i++)
        fprintf(f, "%s\n", t->translated[i]);
}

static int evaluate_texts(const request *r, texts *t)
{
    wg_status status = measure_targets(r, t);
    if (status == WG_OK)
        status = translate(r, t);
    if (status != WG_OK) {
        complain("%s", wg_translator_message(r->model.translator));
        return exit_code(status);
    }
    if ((status = compare(r, t)) != WG_OK) {
        complain("BLEU: %s", wg_status_text(status));
        return exit_code(status);
    }
    return r->output ? write_stream(r->output, put_translations, t) : EXIT_OK;
}

/* Held-out numbers of the built-in corpus, drawn with a different seed than those that training was
 * validated with. */
static int draw_numbers(const model *m, wg_corpus **pairs)
{
    enum { COUNT = 1000 };
    char *text[2] = {NULL, NULL};
    wg_error error;
    if (m->settings.train_sets[0]) {
        complain("expected two files, SOURCE TARGET; only a model of the built-in numbers can be "
                 "evaluated without");
        return EXIT_USAGE;
    }
    wg_status status =
        wg_numbers_corpus(COUNT, WG_NUMBERS_TO_TEST, m->settings.seed + 1, &text[0], &text[1]);
    const char *why = wg_status_text(status);
    if (status == WG_OK) {
        status = wg_corpus_of_text(pairs, text[0], strlen(text[0]), text[1], strlen(text[1]),
                                   wg_translator_vocabulary(m->translator, 0),
                                   wg_translator_vocabulary(m->translator, 1),
                                   &(wg_corpus_options){.keep_text = true}, &error);
        why = error.text;
    }
    if (status != WG_OK)
        complain("built-in numbers: %s", why);
    free(text[0]);
    free(text[1]);
    return exit_code(status);
}

/* A language model on one text. */
static int evaluate_language(const request *r)
{
    wg_text_score score;
    if (r->model.n_files != 1 || r->output || r->lowercase) {
        complain("a language model is evaluated on one file, TEXT, without --output and "
                 "--lowercase");
        return EXIT_USAGE;
    }
    wg_status status = wg_language_model_evaluate(r->model.language, r->model.files[0], &score);
    if (status != WG_OK) {
        complain("%s", wg_language_model_message(r->model.language));
        return exit_code(status);
    }
    printf("texts          %lld\ntokens         %lld\n", (long long)score.texts,
           (long long)score.tokens);
    print_prediction(score.cross_entropy, score.accuracy);
    return EXIT_OK;
}

static int evaluate(const request *r)
{
    wg_corpus *pairs = NULL;
    if (r->model.n_files == 1) {
        complain("expected two files, SOURCE TARGET; one is for a language model");
        return EXIT_USAGE;
    }
    int code =
        r->model.n_files ? model_read_pairs(&r->model, &pairs) : draw_numbers(&r->model, &pairs);
    if (code != EXIT_OK)
        return code;
    size_t n = wg_corpus_count(pairs);
    const char **all = calloc(3 * n + 1, sizeof *all);
    texts t = {.n = n};
    if (all) {
        t.source = all;
        t.target = all + n;
        t.translated = all + 2 * n;
    }
    for (size_t i = 0; all && i < n; i++) {
        t.source[i] = wg_corpus_text(pairs, i, 0);
        t.target[i] = wg_corpus_text(pairs, i, 1);
    }
    if (!all)
        complain("out of memory");
    code = all ? evaluate_texts(r, &t) : EXIT_RUN;
    wg_translations_free(t.translation, t.translation ? n : 0);
    free(all);
    wg_corpus_free(pairs);
    return code;
}

/* Translations look like any text, so an earlier one cannot be told from a text of the user's. */
static result_file output_of(const request *r)
{
    return (result_file){.path = r->output, .text = r->overwrite, .force = "--overwrite"};
}

/* What the model was trained on is no input, but could not be made again. */
static int check_training_texts(const request *r)
{
    const wg_settings *s = &r->model.settings;
    const char *const sets[] = {s->train_set, s->train_sets[0], s->train_sets[1],
                                s->valid_set, s->valid_sets[0], s->valid_sets[1]};
    const result_file output = output_of(r);
    return check_outputs(&output, 1, sets, WG_COUNT(sets));
}

int command_evaluate(int argc, char **argv)
{
    static const model_command asks = {
        .use = WG_FOR_EVALUATION,
        .options = table,
        .parse = parse,
        .usage = "--model FOLDER [SOURCE TARGET]\n--model FOLDER TEXT",
        .doc = "Evaluates a model on parallel text: cross-entropy, perplexity and accuracy on the "
               "targets; exact matches, BLEU and chrF of its translations.  Without files, on 1000 "
               "numbers held out from the built-in corpus.  A language model is evaluated on one "
               "text: cross-entropy, perplexity and accuracy.\v"
               "Options not given are taken from the model's config.yml.",
        .max_files = 2,
        .models = EITHER,
    };
    request r = {.output = NULL};
    int code = model_parse(&r.model, &asks, argc, argv);
    const result_file output = output_of(&r);
    if (code == EXIT_OK)
        code = model_check_outputs(&r.model, &output, 1);
    if (code == EXIT_OK)
        code = model_open(&r.model);
    if (code == EXIT_OK)
        code = check_training_texts(&r);
    if (code == EXIT_OK && !r.model.language)
        code = model_check_search(&r.model);
    if (code == EXIT_OK)
        code = r.model.language ? evaluate_language(&r) : evaluate(&r);
    model_close(&r.model);
    return code;
}
