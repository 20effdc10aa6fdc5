/* wengert translate: lines of standard input to lines of standard output. */
#include "cli/gnuplot.h"
#include "cli/heatmap.h"
#include "cli/lines.h"
#include "cli/model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SCORES = 1000, WORD_SCORES, ATTENTION, ATTENTION_OF, HEADS };

static const struct argp_option table[] = {
    {"scores", SCORES, 0, 0, "print the score after each translation, as: text ||| score",
     WG_GROUP_COUNT + 1},
    {"word-scores", WORD_SCORES, 0, 0,
     "print the tokens with their log probabilities before the score", WG_GROUP_COUNT + 1},
    {"attention-plot", ATTENTION, "FILE.svg|png", 0,
     "plot the decoder's attention with gnuplot, and write the weights to a JSON file beside "
     "it; the second line goes to FILE-2.svg, and so on",
     WG_GROUP_COUNT + 1},
    {"attention-of", ATTENTION_OF, "SCOPE", 0,
     "plot this attention: encoder/layer0, decoder/layer3/self_attn, decoder/layer3/cross_attn "
     "(default: that of the decoder's last layer to the source)",
     WG_GROUP_COUNT + 1},
    {"heads", HEADS, "mean|all", 0, "plot the mean of the heads (default), or each of them",
     WG_GROUP_COUNT + 1},
    {0},
};

typedef struct request {
    model model;                /* first */
    const char *plot, *plot_of; /* plot_of: --attention-of */
    bool scores, word_scores, each_head;
    wg_search_options search;
    size_t translated; /* lines so far */
} request;

static error_t parse(int key, char *arg, struct argp_state *state)
{
    request *r = state->input;
    switch (key) {
    case SCORES: r->scores = true; break;
    case WORD_SCORES: r->word_scores = true; break;
    case ATTENTION:
        if (!picture_format(arg))
            argp_error(state, "--attention-plot: expected a file named .svg or .png, got '%s'",
                       arg);
        r->plot = arg;
        break;
    case ATTENTION_OF: r->plot_of = arg; break;
    case HEADS:
        if (strcmp(arg, "all") != 0 && strcmp(arg, "mean") != 0)
            argp_error(state, "--heads: expected mean or all, got '%s'", arg);
        r->each_head = strcmp(arg, "all") == 0;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static bool is_n_best(const request *r)
{
    return r->search.n_best > 1 || settings_args_value(&r->model.args, "n-best");
}

/* " ||| " and the requested fields; then the end of the line. */
static void print_translation(const request *r, size_t line, const wg_translation *t)
{
    const wg_vocabulary *v = wg_translator_vocabulary(r->model.translator, 1);
    const wg_hypothesis *h = &t->hypothesis;
    if (is_n_best(r))
        printf("%zu ||| ", line);
    fputs(t->text, stdout);
    if (r->word_scores) {
        fputs(" |||", stdout);
        for (size_t i = 0; i < h->n; i++)
            printf(" %s %.4f", wg_vocabulary_piece(v, h->ids[i]), h->token_scores[i]);
    }
    if (is_n_best(r) || r->scores || r->word_scores)
        printf(" ||| %.6f", h->score);
    fputc('\n', stdout);
}

/* Translates lines and writes the translations in order. */
static int translate(request *r, const char *const *line, size_t n)
{
    wg_translation *found = NULL;
    size_t n_best = (size_t)r->search.n_best;
    int code = EXIT_OK;
    wg_status status = wg_translator_run(r->model.translator, line, n, &r->search, &found);
    if (status != WG_OK) {
        complain("lines %zu to %zu: %s", r->translated + 1, r->translated + n,
                 wg_translator_message(r->model.translator));
        return exit_code(status);
    }
    errno = 0;
    for (size_t i = 0; i < n && code == EXIT_OK; i++) {
        model_warn_cut(&r->model, r->translated + i + 1, found[i * n_best].cut);
        for (size_t k = 0; k < n_best; k++)
            if (k == 0 || found[i * n_best + k].text)
                print_translation(r, r->translated + i, &found[i * n_best + k]);
        if (r->plot)
            code = heatmap_write(r->plot, r->translated + i, line[i], &r->model,
                                 &found[i * n_best].hypothesis, r->plot_of);
    }
    if (code == EXIT_OK)
        code = flush_output();
    wg_translations_free(found, n * n_best);
    r->translated += n;
    return code;
}

static int translate_all(request *r)
{
    /* Lines that are translated together: enough to fill steps.  More is not faster: 10,000
     * captions on two cores took 15.1 and 16.6 s this way, 15.9 and 15.8 s with 4096 lines, 15.9
     * and 16.6 s with all. */
    enum { MAX_LINES = 1024 };
    lines in = {.fd = 0};
    const char *const *line;
    size_t n = 0;
    int code;
    while ((code = lines_next(&in, MAX_LINES, &line, &n)) == EXIT_OK && n > 0)
        if ((code = translate(r, line, n)) != EXIT_OK)
            break;
    if (in.n_repaired && !r->model.settings.quiet)
        complain("standard input: %zu line%s not UTF-8, the first of them line %zu: each wrong "
                 "byte is read as U+FFFD, each NUL as a blank",
                 in.n_repaired, in.n_repaired == 1 ? " is" : "s are", in.first_repaired);
    lines_free(&in);
    return code;
}

static int take_search_options(request *r)
{
    r->search = r->model.settings.search;
    r->search.attention = r->plot != NULL;
    r->search.attention_of = r->plot_of;
    r->search.each_head = r->each_head;
    if (r->search.n_best == 0)
        r->search.n_best = r->search.beam;
    r->search.without_scores = !r->scores && !r->word_scores && !is_n_best(r);
    if (model_check_search(&r->model) != EXIT_OK)
        return EXIT_USAGE;
    if (!r->plot && (r->plot_of || r->each_head)) {
        complain("--attention-of and --heads: expected --attention-plot as well");
        return EXIT_USAGE;
    }
    if (r->search.n_best <= r->search.beam)
        return EXIT_OK;
    complain("--n-best: expected at most the beam size, %lld, got %lld", (long long)r->search.beam,
             (long long)r->search.n_best);
    return EXIT_USAGE;
}

int command_translate(int argc, char **argv)
{
    static const model_command asks = {
        .use = WG_FOR_TRANSLATION,
        .options = table,
        .parse = parse,
        .usage = "--model FOLDER < TEXT",
        .doc = "Translates standard input to standard output, line by line.\v"
               "Options not given are taken from the model's config.yml.",
    };
    request r = {.plot = NULL};
    int code = model_parse(&r.model, &asks, argc, argv);
    if (code == EXIT_OK)
        code = heatmap_check(r.plot, &r.model);
    if (code == EXIT_OK)
        code = model_open(&r.model);
    if (code == EXIT_OK)
        code = take_search_options(&r);
    if (code == EXIT_OK)
        code = translate_all(&r);
    model_close(&r.model);
    return code;
}
