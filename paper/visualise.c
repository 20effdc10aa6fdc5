/* Figures 1 to 5: the graphs of the model and of its attention, and what the heads of a model look
 * at.  The model reverses sentences and replaces each pronoun by the only name before it:
 *
 *     source  k d Ann it f it      target  Ann f Ann Ann d k
 *
 * so some head must look at the mirrored position, and some head for the name. */
#include "graph/error.h"
#include "paper/experiments.h"
#include "paper/training.h"
#include "wengert/decode/search.h"
#include "wengert/ops/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, HEADS = 4, ATTENTIONS = 3 * LAYERS, SENTENCES = 128, LONGEST = 9 };
enum { SIDE = LONGEST + 1, MAP = SIDE * SIDE, MAX_SEEDS = 5 }; /* of a map [queries, keys] */

typedef enum place { IN_ENCODER = 0, IN_DECODER, ACROSS } place;

/* Where attention of a query of position p may go: mean weights.  Of cross-attention p is the
 * mirrored position, whose word or referent comes next. */
enum { OWN = 0, BEFORE, AFTER, REFERENT, MARK, UNIFORM, MEASURES };

/* The numbers of a trained model: of each head, then the maps of one sentence, then the scores. */
enum {
    ALL_HEADS = ATTENTIONS * HEADS,
    MAPS_AT = ALL_HEADS * MEASURES,
    SCORES_AT = MAPS_AT + ALL_HEADS * MAP,
    NUMBERS = SCORES_AT + PAPER_SCORES
};

static place place_of(int attention)
{
    return (place)(attention / LAYERS);
}

/* The scope of an attention, as the search calls it. */
static const char *scope_of(int attention, char text[PAPER_TEXT])
{
    static const char *const of[] = {"encoder/layer%d", "decoder/layer%d/self_attn",
                                     "decoder/layer%d/cross_attn"};
    const int layer = attention % LAYERS;
    switch (place_of(attention)) {
    case IN_ENCODER: snprintf(text, PAPER_TEXT, of[IN_ENCODER], layer); break;
    case IN_DECODER: snprintf(text, PAPER_TEXT, of[IN_DECODER], layer); break;
    case ACROSS: snprintf(text, PAPER_TEXT, of[ACROSS], layer); break;
    }
    return text;
}

/* ---- sentences ------------------------------------------------------------------------------- */

typedef struct sentences {
    int32_t source[SENTENCES][SIDE], target[SENTENCES][SIDE];
    const int32_t *sources[SENTENCES], *targets[SENTENCES];
    size_t length[SENTENCES]; /* of both, with the end */
} sentences;

static void read_sentences(sentences *s, const paper_task *t)
{
    for (int i = 0; i < SENTENCES; i++) {
        int32_t length, in[SIDE];
        paper_task_pair(t, PAPER_TEST_STREAM, (uint64_t)i, s->source[i], &length, in, s->target[i]);
        s->sources[i] = s->source[i];
        s->targets[i] = s->target[i];
        s->length[i] = (size_t)length;
    }
}

static bool is_name(int32_t id)
{
    return id >= PAPER_FIRST_NAME && id < PAPER_FIRST_NAME + PAPER_NAMES;
}

static int position_of_name(const int32_t *source)
{
    int p = 0;
    while (!is_name(source[p]))
        p++;
    return p;
}

/* The sentence that is drawn: of at least 7 words with two pronouns. */
static int drawn_sentence(const sentences *s)
{
    for (int i = 0; i < SENTENCES; i++) {
        int pronouns = 0;
        for (size_t k = 0; k < s->length[i]; k++)
            pronouns += s->source[i][k] == PAPER_PRONOUN;
        if (pronouns == 2 && s->length[i] >= 8)
            return i;
    }
    return 0;
}

/* ---- what heads look at ---------------------------------------------------------------------- */

/* Sums over queries, and how many there were. */
typedef struct tally {
    double sum[MEASURES];
    int n[MEASURES];
} tally;

static void add(tally *t, int measure, double weight)
{
    t->sum[measure] += weight;
    t->n[measure]++;
}

/* One query's weights over `keys` keys: `words` words and a mark, which is the end, or before the
 * words the beginning in the decoder. */
static void tally_query(tally *t, place where, const int32_t *source, int words, int query,
                        const float *weight)
{
    const int keys = where == IN_DECODER ? query + 1 : words + 1,
              p = where == ACROSS ? words - 1 - query : query;
    bool pronoun = where != IN_DECODER && source[p] == PAPER_PRONOUN;
    if (!pronoun || where == IN_ENCODER)
        add(t, OWN, weight[p]);
    if (p > 0)
        add(t, BEFORE, weight[p - 1]);
    if (p + 1 < keys)
        add(t, AFTER, weight[p + 1]);
    if (pronoun)
        add(t, REFERENT, weight[position_of_name(source)]);
    add(t, MARK, weight[where == IN_DECODER ? 0 : words]);
    add(t, UNIFORM, 1.0 / keys);
}

static void measure_attention(const sentences *s, int attention, const wg_hypothesis *h,
                              double *values)
{
    tally of[HEADS] = {{{0}, {0}}};
    const int drawn = drawn_sentence(s);
    for (int i = 0; i < SENTENCES; i++) {
        const int side = (int)s->length[i], words = side - 1;
        for (int head = 0; head < HEADS; head++)
            for (int q = 0; q < side; q++) {
                const float *weight = h[i].attention + (head * side + q) * side;
                if (q < words)
                    tally_query(&of[head], place_of(attention), s->source[i], words, q, weight);
                double *map = values + MAPS_AT + (attention * HEADS + head) * MAP + q * SIDE;
                for (int k = 0; i == drawn && k < side; k++)
                    map[k] = weight[k];
            }
    }
    for (int head = 0; head < HEADS; head++)
        for (int m = 0; m < MEASURES; m++)
            values[(attention * HEADS + head) * MEASURES + m] =
                of[head].n[m] ? of[head].sum[m] / of[head].n[m] : NAN;
}

static wg_status look(wg_search *search, const sentences *s, double *values, wg_error *error)
{
    wg_status status = WG_OK;
    for (int a = 0; a < ATTENTIONS && status == WG_OK; a++) {
        char scope[PAPER_TEXT];
        const wg_search_options o = {
            .attention = true, .attention_of = scope_of(a, scope), .each_head = true};
        wg_hypothesis *h = NULL;
        status = wg_search_score(search, s->sources, s->length, s->targets, s->length, SENTENCES,
                                 &o, &h);
        if (status == WG_OK)
            measure_attention(s, a, h, values);
        else
            wgi_error_set(error, status, "%s", wg_search_message(search));
        wg_hypotheses_free(h, SENTENCES);
    }
    return status;
}

static paper_training the_training(bool small)
{
    paper_training t = paper_training_usual(small);
    t.name = "resolve";
    t.task = (paper_task){PAPER_RESOLVED, .words = 16, .shortest = 4, .longest = LONGEST};
    t.net.encoder_layers = t.net.decoder_layers = LAYERS;
    t.net.heads = HEADS;
    t.updates = small ? 200 : 1000;
    t.batch = 64;
    return t;
}

/* *what: a seed */
static wg_status train_and_look(paper_run *r, const void *what, double *values, wg_error *error)
{
    const paper_training t = the_training(r->small);
    sentences *s = malloc(sizeof *s);
    wg_search *search = NULL;
    paper_model m = {0};
    wg_status status = s ? paper_model_train(&m, &t, *(const uint64_t *)what, NULL, error)
                         : wgi_error_set(error, WG_ENOMEM, "out of memory");
    if (status == WG_OK) {
        for (int i = 0; i < NUMBERS; i++)
            values[i] = 0;
        read_sentences(s, &t.task);
        status = paper_model_search(&m, &search, error);
    }
    if (status == WG_OK)
        status = look(search, s, values, error);
    if (status == WG_OK)
        status = paper_model_score(&m, &t.task, values + SCORES_AT, error);
    wg_search_free(search);
    paper_model_free(&m);
    free(s);
    return status;
}

/* The numbers of all seeds, and what the threads are given. */
typedef struct trials {
    int seeds;
    double number[MAX_SEEDS][NUMBERS];
} trials;

static wg_status run_seed(paper_run *r, void *context, int i)
{
    trials *x = context;
    const uint64_t seed = (uint64_t)i + 1;
    char key[40];
    snprintf(key, sizeof key, "heads/seed%d", i + 1);
    return paper_once(r, key, x->number[i], NUMBERS, train_and_look, &seed);
}

/* ---- the figure ------------------------------------------------------------------------------ */

static const char *text_of(int32_t id)
{
    static const char *const texts[] = {"",    "begin", "end", "it", "Ann", "Bob", "Eve",
                                        "Joe", "Sue",   "a",   "b",  "c",   "d",   "e",
                                        "f",   "g",     "h",   "i",  "j"};
    return id >= 0 && id < WG_COUNT(texts) ? texts[id] : "?";
}

/* One head's map of the sentence, with the words along its sides. */
static void draw_head(paper_run *r, const sentences *s, int attention, int head, const double *map)
{
    const int drawn = drawn_sentence(s), side = (int)s->length[drawn];
    const int32_t *source = s->source[drawn], *target = s->target[drawn];
    char title[PAPER_TEXT + 16], scope[PAPER_TEXT];
    snprintf(title, sizeof title, "%s, head %d", scope_of(attention, scope), head);
    paper_panel *p = paper_add_panel(r->report, title, "", "");
    double *x = paper_add_picture(p, side, side);
    for (int i = 0; x && i < side; i++) {
        p->row_name[i] = text_of(place_of(attention) == IN_ENCODER ? source[i] : target[i]);
        p->column_name[i] = text_of(place_of(attention) != IN_DECODER ? source[i]
                                    : i == 0                          ? PAPER_BEGIN
                                                                      : target[i - 1]);
        for (int k = 0; k < side; k++)
            x[i * side + k] = map[i * SIDE + k];
    }
}

static wg_status draw_heads(paper_run *r, const double *numbers)
{
    const paper_training t = the_training(r->small);
    sentences *s = malloc(sizeof *s);
    if (!s)
        return wgi_error_set(&r->error, WG_ENOMEM, "out of memory");
    read_sentences(s, &t.task);
    r->report->in_a_row = HEADS;
    for (int i = 0; i < ALL_HEADS; i++)
        draw_head(r, s, i / HEADS, i % HEADS, numbers + MAPS_AT + i * MAP);
    free(s);
    return WG_OK;
}

/* ---- the report ------------------------------------------------------------------------------ */

static double weight_of(const double *numbers, int head, int measure)
{
    return numbers[head * MEASURES + measure];
}

/* The heads of one model, whose numbers are those of seed 1. */
static void add_heads(paper_run *r, const double *numbers)
{
    static const char *const columns[] = {"attention", "head",     "own",  "before",
                                          "after",     "referent", "mark", "uniform"};
    paper_table *t =
        paper_add_table(r->report, "Mean weights of each head, seed 1", columns, WG_COUNT(columns));
    for (int i = 0; i < ALL_HEADS; i++) {
        char scope[PAPER_TEXT];
        paper_row(t);
        paper_words(t, "%s", scope_of(i / HEADS, scope));
        paper_number(t, i % HEADS, 0);
        for (int m = 0; m < MEASURES; m++) {
            double weight = weight_of(numbers, i, m);
            if (isnan(weight))
                paper_words(t, "-");
            else
                paper_number(t, weight, 3);
        }
    }
}

/* Of the attentions first, ..., last the head with the largest weight on something. */
static int best_head(const double *numbers, int first, int last, int measure)
{
    int best = first * HEADS;
    for (int i = first * HEADS; i < (last + 1) * HEADS; i++)
        if (weight_of(numbers, i, measure) > weight_of(numbers, best, measure))
            best = i;
    return best;
}

/* What the task demands, and in which attentions it may be done; a name can be found while the
 * source or while the target is read. */
static const struct {
    const char *what;
    int first, last, measure;
} demands[] = {
    {"mirrored position, cross-attention", ACROSS *LAYERS, ATTENTIONS - 1, OWN},
    {"name, encoder", 0, LAYERS - 1, REFERENT},
    {"name, cross-attention", ACROSS *LAYERS, ATTENTIONS - 1, REFERENT},
};
enum { DEMANDS = 3 };

/* Over the seeds: the weight of the best head, of the mean head, and of uniform attention. */
enum { BEST, MEAN, EVEN, KINDS_OF_HEADS };

static double weight_for(const double *numbers, int demand, int kind)
{
    const int first = demands[demand].first, last = demands[demand].last,
              measure = demands[demand].measure, best = best_head(numbers, first, last, measure);
    double sum = 0;
    if (kind == BEST)
        return weight_of(numbers, best, measure);
    for (int i = first * HEADS; i < (last + 1) * HEADS; i++)
        sum += weight_of(numbers, i, kind == MEAN ? measure : UNIFORM);
    return sum / ((last + 1 - first) * HEADS);
}

static paper_spread spread_for(const trials *x, int demand, int kind)
{
    double values[MAX_SEEDS];
    for (int i = 0; i < x->seeds; i++)
        values[i] = weight_for(x->number[i], demand, kind);
    return paper_spread_of(values, x->seeds);
}

static void add_demands(paper_run *r, const trials *x)
{
    static const char *const columns[] = {"weight on", "best head", "mean of all heads",
                                          "uniform attention"};
    paper_table *t =
        paper_add_table(r->report, "What the task demands", columns, WG_COUNT(columns));
    for (int i = 0; i < DEMANDS; i++) {
        paper_row(t);
        paper_words(t, "%s", demands[i].what);
        for (int kind = 0; kind < KINDS_OF_HEADS; kind++)
            paper_mean(t, spread_for(x, i, kind), 3);
    }
}

static void judge(paper_run *r, const trials *x)
{
    paper_spread mirror = spread_for(x, 0, BEST), even = spread_for(x, 0, EVEN),
                 encoder = spread_for(x, 1, BEST), across = spread_for(x, 2, BEST);
    paper_spread name = encoder.mean > across.mean ? encoder : across;
    double right[MAX_SEEDS];
    int apart = 0;
    for (int i = 0; i < x->seeds; i++) {
        const double *numbers = x->number[i];
        int finder = weight_for(numbers, 1, BEST) > weight_for(numbers, 2, BEST) ? 1 : 2;
        right[i] = numbers[SCORES_AT + PAPER_ACCURACY];
        apart += best_head(numbers, demands[0].first, demands[0].last, OWN) !=
                 best_head(numbers, demands[finder].first, demands[finder].last, REFERENT);
    }
    paper_spread accuracy = paper_spread_of(right, x->seeds);
    paper_found(
        r->report, mirror.mean > 3 * even.mean,
        "In cross-attention some head has %.2f +- %.2f of its weight on the word that comes "
        "next, at the mirrored position; uniform attention has %.2f.  The models have %.3f "
        "of the tokens right.",
        mirror.mean, mirror.deviation, even.mean, accuracy.mean);
    paper_found(
        r->report, name.mean > 3 * even.mean,
        "From a pronoun some head has %.2f +- %.2f of its weight on the name that it stands "
        "for in the encoder, and %.2f +- %.2f in cross-attention.",
        encoder.mean, encoder.deviation, across.mean, across.deviation);
    paper_found(r->report, apart == x->seeds,
                "The head that finds names is another one than the head that finds positions in %d "
                "of %d models.",
                apart, x->seeds);
}

/* ---- figures 1 and 2 ------------------------------------------------------------------------- */

/* Figure 1: the base model, up to the probabilities. */
static wg_graph *whole_model(void)
{
    enum { ROWS = 32, LENGTH = 25, VOCABULARY = 37000 };
    wg_graph *g = wg_graph_new();
    wg_transformer_config c = *wg_transformer_find("base");
    c.source_vocabulary = c.target_vocabulary = VOCABULARY;
    wg_transformer_inputs in = wg_transformer_inputs_new(g, ROWS, LENGTH, LENGTH);
    wg_transformer m = wg_transformer_begin(g, &c, WG_MODE_INFERENCE);
    wg_value *memory = wg_transformer_encode(&m, in.source, in.source_lengths);
    wg_value *states = wg_transformer_decode(&m, in.target_in, memory, in.source_lengths);
    wg_output(wg_softmax(wg_transformer_logits(&m, states), -1), "probabilities");
    return g;
}

/* Figure 2, left: the attention of the decoder over 8 heads of 64. */
static wg_graph *one_attention(void)
{
    const wg_shape shape = WG_SHAPE(32, 8, 25, 64);
    wg_graph *g = wg_graph_new();
    wg_value *q = wg_input(g, "Q", WG_F32, shape), *k = wg_input(g, "K", WG_F32, shape),
             *v = wg_input(g, "V", WG_F32, shape);
    wg_output(wg_attention(q, k, v, NULL, &(wg_attention_attrs){.causal = true}), "heads");
    return g;
}

/* Figure 2, right: 8 heads of it. */
static wg_graph *many_heads(void)
{
    const wg_shape shape = WG_SHAPE(32, 25, 512);
    wg_graph *g = wg_graph_new();
    wg_value *x = wg_input(g, "queries", WG_F32, shape),
             *memory = wg_input(g, "memory", WG_F32, shape);
    const wg_multi_head_options o = {.heads = 8, .no_bias = true};
    wg_output(wg_multi_head_attention("multi_head", x, memory, &o), "y");
    return g;
}

/* Whether nodes of these ops come in this order. */
static bool has_in_order(const wg_graph *g, const char *const *op, int n)
{
    int found = 0;
    for (size_t i = 0; i < wg_graph_node_count(g) && found < n; i++)
        found += strcmp(wg_graph_node(g, i)->op->name, op[found]) == 0;
    return found == n;
}

/* The graph with its attention opened; frees `g`. */
static wg_graph *with_open_attention(wg_graph *g, wg_error *error)
{
    static const char *const ops[] = {"attention", "attention_weights"};
    wg_graph *opened;
    if (wg_graph_open(&opened, g, ops, WG_COUNT(ops), error) != WG_OK)
        opened = NULL;
    wg_graph_free(g);
    return opened;
}

static wg_status draw_graphs(paper_run *r)
{
    static const char *const order[] = {"matmul", "mul", "where", "softmax", "matmul"};
    wg_graph *whole = whole_model();
    wg_status status = wg_graph_status(whole);
    if (status != WG_OK)
        wgi_error_set(&r->error, status, "%s", wg_graph_message(whole));
    paper_add_graph(r->report, "figure1", "Figure 1: the Transformer, base", whole, 3);
    wg_graph *one = status == WG_OK ? with_open_attention(one_attention(), &r->error) : NULL,
             *many = one ? with_open_attention(many_heads(), &r->error) : NULL;
    if (one) {
        paper_found(r->report, has_in_order(one, order, WG_COUNT(order)),
                    "Opened in a picture, the op attention is what Figure 2 has: product, scale, "
                    "mask, softmax, product.");
        paper_add_graph(r->report, "figure2-left", "Figure 2: scaled dot-product attention", one,
                        4);
    }
    if (many)
        paper_add_graph(r->report, "figure2-right", "Figure 2: multi-head attention", many, 3);
    return many ? WG_OK : r->error.status;
}

wg_status paper_visualise(paper_run *r)
{
    trials *x = calloc(1, sizeof *x);
    if (!x)
        return wgi_error_set(&r->error, WG_ENOMEM, "out of memory");
    x->seeds = r->small ? 1 : MAX_SEEDS;
    wg_status status = paper_in_parallel(r, x->seeds, run_seed, x);
    if (status == WG_OK) {
        add_demands(r, x);
        add_heads(r, x->number[0]);
        judge(r, x);
        status = draw_heads(r, x->number[0]);
    }
    if (status == WG_OK)
        status = draw_graphs(r);
    free(x);
    return status;
}
