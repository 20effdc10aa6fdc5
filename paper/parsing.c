/* Constituency parsing as translation into brackets, over the number of training sentences, beside
 * parsers that have a grammar. */
#include "paper/experiments.h"
#include "paper/grammar.h"
#include "paper/training.h"
#include "graph/error.h"

#include <stdlib.h>

enum { TRANSFORMER = 0, TREEBANK, SAME_LENGTH, GRAMMAR, PARSERS };
static const char *const parser_names[PARSERS] = {"Transformer", "grammar read off the trees",
                                                  "a tree of that length", "the grammar itself"};

/* What is measured of each parser. */
enum { F1 = 0, EXACT, MEASURES, NUMBERS = PARSERS * MEASURES };

enum { TESTS = 256, MAX_SIZES = 3, MAX_SEEDS = 5, LONGEST = 10 };
static const int64_t sizes[MAX_SIZES] = {250, 2000, 16000};

static paper_training the_training(bool small, int64_t examples)
{
    paper_training t = paper_training_usual(small);
    t.name = "parsing";
    t.task = (paper_task){PAPER_PARSED, PAPER_GRAMMAR_TOKENS, .shortest = small ? 3 : 5,
                          .longest = small ? 7 : LONGEST, examples};
    t.net.dropout = small ? 0 : 0.1;
    t.updates = small ? 400 : 1000;
    t.batch = 32;
    return t;
}

/* ---- scores ---------------------------------------------------------------------------------- */

/* Constituents of all sentences, and the sentences whose trees are right. */
typedef struct counts {
    int common, answered, right, exact, sentences;
} counts;

static void compare(counts *c, const paper_tree *answer, const paper_tree *truth)
{
    int answered, right, common = paper_tree_common(answer, truth, &answered, &right);
    c->common += common;
    c->answered += answered;
    c->right += right;
    c->exact += common == answered && common == right;
    c->sentences++;
}

/* F1 = 2 P R / (P + R) of labelled constituents, with precision P and recall R */
static void put_scores(const counts *c, double *values)
{
    values[F1] = 2.0 * c->common / (c->answered + c->right);
    values[EXACT] = (double)c->exact / c->sentences;
}

static void read_test(const paper_task *t, int i, paper_tree *out)
{
    paper_grammar_sentence(PAPER_TEST_STREAM, (uint64_t)i, t->shortest, t->longest, out);
}

static void score_grammar(const paper_grammar *g, const paper_task *t, double *values)
{
    counts c = {0};
    for (int i = 0; i < TESTS; i++) {
        paper_tree truth, answer;
        read_test(t, i, &truth);
        answer = truth;
        paper_grammar_parse(g, &answer);
        compare(&c, &answer, &truth);
    }
    put_scores(&c, values);
}

/* Answers with the tree of the first training sentence that is as long: what the length alone
 * says. */
static void score_lengths(const paper_task *t, uint64_t stream, double *values)
{
    counts c = {0};
    for (int i = 0; i < TESTS; i++) {
        paper_tree truth, answer = {0};
        read_test(t, i, &truth);
        for (int64_t k = 0; k < t->examples && answer.words != truth.words; k++)
            paper_grammar_sentence(stream, (uint64_t)k, t->shortest, t->longest, &answer);
        compare(&c, &answer, &truth);
    }
    put_scores(&c, values);
}

static wg_status score_answers(wg_search *search, const paper_task *t, double *values,
                               wg_error *error)
{
    /* a tree of n words and their end has 3 n - 1 tokens with its end */
    const wg_search_options o = {.beam = 4, .alpha = 0.3, .max_factor = 3, .max_extra = 4};
    int32_t source[TESTS][LONGEST + 1], in[3 * LONGEST], out[3 * LONGEST], length;
    const int32_t *sources[TESTS];
    size_t lengths[TESTS];
    wg_hypothesis *h = NULL;
    counts c = {0};
    for (int i = 0; i < TESTS; i++) {
        paper_task_pair(t, PAPER_TEST_STREAM, (uint64_t)i, source[i], &length, in, out);
        sources[i] = source[i];
        lengths[i] = (size_t)length;
    }
    wg_status status = wg_search_run(search, sources, lengths, TESTS, &o, &h);
    if (status != WG_OK)
        return wgi_error_set(error, status, "%s", wg_search_message(search));
    for (int i = 0; i < TESTS; i++) {
        paper_tree truth, answer;
        read_test(t, i, &truth);
        paper_tree_read(h[i].ids, (int)h[i].n, truth.words, &answer);
        compare(&c, &answer, &truth);
    }
    wg_hypotheses_free(h, TESTS);
    put_scores(&c, values);
    return WG_OK;
}

/* ---- trials ---------------------------------------------------------------------------------- */

typedef struct trial {
    int64_t examples;
    uint64_t seed; /* of the training and of its sentences */
} trial;

/* values [PARSERS, MEASURES] */
static wg_status run_trial(paper_run *r, const void *what, double *values, wg_error *error)
{
    const trial *x = what;
    const paper_training t = the_training(r->small, x->examples);
    paper_grammar g;
    paper_model m;
    wg_search *search = NULL;
    paper_grammar_estimate(&g, x->seed, x->examples, t.task.shortest, t.task.longest);
    score_grammar(&g, &t.task, values + TREEBANK * MEASURES);
    score_lengths(&t.task, x->seed, values + SAME_LENGTH * MEASURES);
    paper_grammar_true(&g);
    score_grammar(&g, &t.task, values + GRAMMAR * MEASURES);
    wg_status status = paper_model_train(&m, &t, x->seed, NULL, error);
    if (status == WG_OK)
        status = paper_model_search(&m, &search, error);
    if (status == WG_OK)
        status = score_answers(search, &t.task, values + TRANSFORMER * MEASURES, error);
    wg_search_free(search);
    paper_model_free(&m);
    return status;
}

typedef struct results {
    int sizes, seeds;
    int64_t size[MAX_SIZES];
    double number[MAX_SIZES][MAX_SEEDS][NUMBERS];
} results;

/* Seeds in the outer loop: a run that is stopped early has some seeds of every size. */
static wg_status run_one(paper_run *r, void *context, int i)
{
    results *x = context;
    const int size = i % x->sizes, seed = i / x->sizes;
    const trial one = {x->size[size], (uint64_t)seed + 1};
    char key[60];
    snprintf(key, sizeof key, "%lld_sentences/seed%d", (long long)one.examples, seed + 1);
    return paper_once(r, key, x->number[size][seed], NUMBERS, run_trial, &one);
}

static paper_spread score_of(const results *x, int size, int parser, int measure)
{
    double values[MAX_SEEDS];
    for (int i = 0; i < x->seeds; i++)
        values[i] = x->number[size][i][parser * MEASURES + measure];
    return paper_spread_of(values, x->seeds);
}

/* ---- the report ------------------------------------------------------------------------------ */

static void add_scores(paper_run *r, const results *x, int measure, const char *title)
{
    static const char *const columns[] = {"parser", "250 sentences", "2000", "16000"};
    paper_table *t = paper_add_table(r->report, title, columns, x->sizes + 1);
    paper_panel *p = paper_add_panel(r->report, title, "training sentences",
                                     measure == F1 ? "F1" : "share of the sentences");
    paper_log_axes(p, true, false);
    for (int i = 0; i < PARSERS; i++) {
        paper_curve *c = paper_add_curve(p, "%s", parser_names[i]);
        paper_row(t);
        paper_words(t, "%s", parser_names[i]);
        for (int k = 0; k < x->sizes; k++) {
            paper_spread s = score_of(x, k, i, measure);
            paper_mean(t, s, 3);
            paper_point(p, c, (double)x->size[k], s.mean, s.deviation);
        }
    }
}

/* Means over the test sentences. */
static void describe_sentences(paper_run *r)
{
    const paper_training training = the_training(r->small, 0);
    double words = 0, trees = 0;
    int ambiguous = 0;
    for (int i = 0; i < TESTS; i++) {
        paper_tree t;
        read_test(&training.task, i, &t);
        double n = paper_grammar_ambiguity(&t);
        words += (double)t.words / TESTS;
        trees += n / TESTS;
        ambiguous += n > 1;
    }
    paper_found(
        r->report, ambiguous > TESTS / 8,
        "Of %d test sentences of %.1f words on average, %.0f%% have more than one tree, and "
        "%.1f on average.",
        TESTS, words, 100.0 * ambiguous / TESTS, trees);
}

static void judge(paper_run *r, const results *x)
{
    const int last = x->sizes - 1;
    paper_spread model = score_of(x, last, TRANSFORMER, F1),
                 small = score_of(x, 0, TRANSFORMER, F1), grammar = score_of(x, last, TREEBANK, F1),
                 few = score_of(x, 0, TREEBANK, F1), length = score_of(x, last, SAME_LENGTH, F1),
                 limit = score_of(x, last, GRAMMAR, F1);
    paper_found(r->report, paper_clearly_more(model, length),
                "The Transformer learns to parse: F1 %.3f +- %.3f, where a tree of the sentence's "
                "length has %.3f and the grammar that made the sentences %.3f.",
                model.mean, model.deviation, length.mean, limit.mean);
    paper_found(
        r->report, paper_clearly_more(model, grammar),
        "With %lld training sentences F1 is %.3f +- %.3f, that of the grammar read off their "
        "trees %.3f +- %.3f.",
        (long long)x->size[last], model.mean, model.deviation, grammar.mean, grammar.deviation);
    paper_found(r->report, paper_clearly_more(small, few),
                "With %lld training sentences F1 is %.3f +- %.3f, that of the grammar read off "
                "their trees %.3f +- %.3f.",
                (long long)x->size[0], small.mean, small.deviation, few.mean, few.deviation);
}

wg_status paper_parsing(paper_run *r)
{
    results *x = calloc(1, sizeof *x);
    if (!x)
        return wgi_error_set(&r->error, WG_ENOMEM, "out of memory");
    x->seeds = r->small ? 1 : MAX_SEEDS;
    x->sizes = r->small ? MAX_SIZES - 1 : MAX_SIZES;
    for (int i = 0; i < x->sizes; i++)
        x->size[i] = sizes[i];
    wg_status status = paper_in_parallel(r, x->sizes * x->seeds, run_one, x);
    if (status == WG_OK) {
        add_scores(r, x, F1, "F1 of labelled constituents, by training sentences");
        add_scores(r, x, EXACT, "Share of sentences whose trees are right");
        describe_sentences(r);
        judge(r, x);
    }
    free(x);
    return status;
}
