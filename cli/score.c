/* wengert score: how probable given translations are. */
#include "cli/model.h"

#include <math.h>
#include <stdlib.h>

enum { WORD_SCORES = 1000, WEIGHTS };

static const struct argp_option table[] = {
    {0, 0, 0, 0, "Output:", WG_GROUP_COUNT + 1},
    {"word-scores", WORD_SCORES, 0, 0,
     "before each score the target's tokens with their log probabilities", WG_GROUP_COUNT + 1},
    {"weights", WEIGHTS, "FILE", 0,
     "of the model's folder, or any path (default: the best there are)", WG_GROUP_FILES + 1},
    {0},
};

typedef struct request {
    settings_args args;
    const char *weights, *files[2];
    int n_files;
    bool word_scores;
    model model;
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case ARGP_KEY_INIT: state->child_inputs[0] = &r->args; break;
    case WORD_SCORES: r->word_scores = true; break;
    case WEIGHTS: r->weights = arg; break;
    case ARGP_KEY_ARG:
        if (r->n_files == 2)
            argp_error(state, "two files, please, and not '%s' as well", arg);
        r->files[r->n_files++] = arg;
        break;
    case ARGP_KEY_END:
        if (r->n_files < 2)
            argp_error(state, "which files?  SOURCE TARGET");
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
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
    bool normalised = settings_args_value(&r->args, "normalize") != NULL;
    for (size_t i = 0; text && i < n; i++)
        for (int side = 0; side < 2; side++)
            text[(size_t)side * n + i] = wg_corpus_text(pairs, first + i, side);
    wg_status status = text ? wg_translator_score(r->model.translator, text, text + n, n,
                                                  &r->model.settings.search, &found)
                            : WG_ENOMEM;
    if (status != WG_OK)
        complain("%s", text ? wg_translator_message(r->model.translator) : "out of memory");
    for (size_t i = 0; status == WG_OK && i < n; i++) {
        print_score(r, &found[i].hypothesis, normalised);
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
    int code = model_read_pairs(&r->model, r->files[0], r->files[1], &pairs);
    size_t count = code == EXIT_OK ? wg_corpus_count(pairs) : 0;
    for (size_t i = 0; i < count && code == EXIT_OK; i += MANY)
        code = score_some(r, pairs, i, count - i < MANY ? count - i : MANY, &sum, &tokens);
    if (code == EXIT_OK && tokens > 0 && !r->model.settings.quiet)
        fprintf(stderr, "%zu pairs: cross-entropy %.4f nats a token, perplexity %.4f\n", count,
                -sum / tokens, exp(-sum / tokens));
    wg_corpus_free(pairs);
    return code;
}

int command_score(int argc, char **argv)
{
    request r = {0};
    int code = settings_args_init(&r.args, WG_FOR_DECODING);
    if (code != EXIT_OK)
        return code;
    const struct argp_child children[] = {{&r.args.argp, 0, NULL, 0}, {0}};
    const struct argp argp = {
        table,
        parse,
        "--model FOLDER SOURCE TARGET",
        "Writes the log probability of each line of TARGET as the translation of SOURCE's; "
        "with --normalize divided by the length penalty.",
        children,
        NULL,
        NULL};
    if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &r) != 0)
        return EXIT_USAGE;
    code = model_open(&r.model, &r.args, r.weights);
    if (code == EXIT_OK)
        code = score(&r);
    model_close(&r.model);
    settings_args_free(&r.args);
    return code;
}
