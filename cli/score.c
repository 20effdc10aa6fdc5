/* wengert score: the log probabilities of given translations. */
#include "cli/model.h"

#include <math.h>
#include <stdlib.h>

enum { WORD_SCORES = 1000 };

static const struct argp_option table[] = {
    {"word-scores", WORD_SCORES, 0, 0,
     "print the target tokens with their log probabilities before each score", WG_GROUP_COUNT + 1},
    {0},
};

typedef struct request {
    model model; /* first */
    bool word_scores;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    (void)arg;
    if (key != WORD_SCORES)
        return ARGP_ERR_UNKNOWN;
    r->word_scores = true;
    return 0;
}

static void print_score(const request *r, const wg_hypothesis *h, bool normalised)
{
    const wg_vocabulary *v = wg_translator_vocabulary(r->model.translator, 1);
    for (size_t i = 0; r->word_scores && i < h->n; i++)
        printf("%s %.4f ", wg_vocabulary_piece(v, h->ids[i]), h->token_scores[i]);
    printf("%s%.6f\n", r->word_scores ? "||| " : "", normalised ? h->score : h->log_probability);
}

static int score_some(const request *r, const wg_corpus *pairs, size_t first, size_t n, double *sum,
                      double *tokens)
{
    const char **text = calloc(2 * n, sizeof *text);
    wg_translation *found = NULL;
    const wg_search_options *search = &r->model.settings.search;
    const wg_search_options penalty = {.penalty = search->penalty, .alpha = search->alpha};
    bool normalised = settings_args_value(&r->model.args, "normalize") ||
                      settings_args_value(&r->model.args, "length-penalty");
    for (size_t i = 0; text && i < n; i++)
        for (int side = 0; side < 2; side++)
            text[(size_t)side * n + i] = wg_corpus_text(pairs, first + i, side);
    wg_status status =
        text ? wg_translator_score(r->model.translator, text, text + n, n, &penalty, &found)
             : WG_ENOMEM;
    if (status != WG_OK)
        complain("%s", text ? wg_translator_message(r->model.translator) : "out of memory");
    for (size_t i = 0; status == WG_OK && i < n; i++) {
        print_score(r, &found[i].hypothesis, normalised);
        model_warn_cut(&r->model, first + i + 1, found[i].cut);
        *sum += found[i].hypothesis.log_probability;
        *tokens += (double)found[i].hypothesis.n;
    }
    wg_translations_free(found, status == WG_OK ? n : 0);
    free(text);
    return exit_code(status);
}

static int score(request *r)
{
    enum { MANY = 1024 };
    wg_corpus *pairs = NULL;
    double sum = 0, tokens = 0;
    int code = model_read_pairs(&r->model, &pairs);
    size_t count = code == EXIT_OK ? wg_corpus_count(pairs) : 0;
    for (size_t i = 0; i < count && code == EXIT_OK; i += MANY)
        code = score_some(r, pairs, i, count - i < MANY ? count - i : MANY, &sum, &tokens);
    if (code == EXIT_OK && tokens > 0 && !r->model.settings.quiet)
        fprintf(stderr, "%zu pairs: cross-entropy %.4f nats per token, perplexity %.4f\n", count,
                -sum / tokens, exp(-sum / tokens));
    wg_corpus_free(pairs);
    return code;
}

int command_score(int argc, char **argv)
{
    static const model_command asks = {
        .use = WG_FOR_SCORING,
        .options = table,
        .parse = parse,
        .usage = "--model FOLDER SOURCE TARGET",
        .doc = "Prints the log probability of each line of TARGET as a translation of that line of "
               "SOURCE; with --normalize or --length-penalty, divided by the length penalty.\v"
               "Options not given are taken from the model's config.yml.",
        .min_files = 2,
        .max_files = 2,
    };
    request r = {.word_scores = false};
    int code = model_parse(&r.model, &asks, argc, argv);
    if (code == EXIT_OK)
        code = model_open(&r.model);
    if (code == EXIT_OK)
        code = score(&r);
    model_close(&r.model);
    return code;
}
