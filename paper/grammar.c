#include "paper/grammar.h"
#include "graph/random.h"
#include "paper/task.h"
#include "wengert/graph/shape.h"

/* ---- the language ---------------------------------------------------------------------------- */

/* Symbols; a digit is the class of what is otherwise equal. */
enum { S, NP1, NP2, VP1, VP2, PP1, PP2, CP, D, N1, N2, V1, V2, P1, P2, C, SYMBOLS };
/* As trees show them: constituents first. */
enum { IS_S, IS_NP, IS_VP, IS_PP, IS_CP, IS_D, IS_N, IS_V, IS_P, IS_C, LABELS };
static const int label_of[SYMBOLS] = {IS_S, IS_NP, IS_NP, IS_VP, IS_VP, IS_PP, IS_PP, IS_CP,
                                      IS_D, IS_N,  IS_N,  IS_V,  IS_V,  IS_P,  IS_P,  IS_C};

/* Those of a symbol have the sum 1, together with that of its words. */
static const struct {
    int parent, left, right;
    double probability;
} rules[] = {
    {S, NP1, VP1, 0.25},  {S, NP1, VP2, 0.25},    {S, NP2, VP1, 0.25},    {S, NP2, VP2, 0.25},
    {NP1, D, N1, 0.4},    {NP1, NP1, PP1, 0.225}, {NP1, NP1, PP2, 0.015}, {NP1, NP1, CP, 0.06},
    {NP2, D, N2, 0.4},    {NP2, NP2, PP2, 0.225}, {NP2, NP2, PP1, 0.015}, {NP2, NP2, CP, 0.06},
    {VP1, V1, NP1, 0.07}, {VP1, V1, NP2, 0.65},   {VP1, VP1, PP1, 0.265}, {VP1, VP1, PP2, 0.015},
    {VP2, V2, NP1, 0.65}, {VP2, V2, NP2, 0.07},   {VP2, VP2, PP2, 0.265}, {VP2, VP2, PP1, 0.015},
    {PP1, P1, NP1, 0.1},  {PP1, P1, NP2, 0.9},    {PP2, P2, NP1, 0.9},    {PP2, P2, NP2, 0.1},
    {CP, C, NP1, 0.5},    {CP, C, NP2, 0.5},
};

/* The words of a symbol, equally probable.  Nouns and verbs share some. */
static const struct {
    int symbol, first, count;
    double probability; /* of a word in place of a rule */
} lexicon[] = {
    {D, 0, 2, 1},   {NP1, 2, 3, 0.3}, {NP2, 5, 3, 0.3}, {N1, 8, 6, 1},  {V1, 12, 6, 1},
    {N2, 18, 6, 1}, {V2, 22, 6, 1},   {P1, 28, 3, 1},   {P2, 31, 3, 1}, {C, 34, 1, 1},
};

void paper_grammar_true(paper_grammar *g)
{
    *g = (paper_grammar){.symbols = SYMBOLS, .rules = WG_COUNT(rules)};
    for (int i = 0; i < SYMBOLS; i++)
        g->label[i] = label_of[i];
    for (int i = 0; i < WG_COUNT(rules); i++) {
        g->rule[i].parent = rules[i].parent;
        g->rule[i].left = rules[i].left;
        g->rule[i].right = rules[i].right;
        g->rule[i].probability = rules[i].probability;
    }
    for (int i = 0; i < WG_COUNT(lexicon); i++)
        for (int k = 0; k < lexicon[i].count; k++)
            g->word[lexicon[i].symbol][lexicon[i].first + k] =
                lexicon[i].probability / lexicon[i].count;
}

/* ---- sentences ------------------------------------------------------------------------------- */

/* A tree that is being made, from a stream of random numbers. */
typedef struct growth {
    paper_tree *tree;
    int longest;
    wgi_random random;
    uint64_t drawn;
} growth;

static double draw(growth *w)
{
    return wgi_uniform(&w->random, w->drawn++);
}

/* The word that u of [0, 1) chooses, or -1 and what is left of u for the rules. */
static int32_t choose_word(int symbol, double *u)
{
    for (int i = 0; i < WG_COUNT(lexicon); i++)
        if (lexicon[i].symbol == symbol) {
            if (*u < lexicon[i].probability)
                return (int32_t)(lexicon[i].first + *u / lexicon[i].probability * lexicon[i].count);
            *u -= lexicon[i].probability;
        }
    return -1;
}

static int choose_rule(int symbol, double u)
{
    int last = -1;
    for (int i = 0; i < WG_COUNT(rules); i++)
        if (rules[i].parent == symbol) {
            last = i;
            if (u < rules[i].probability)
                break;
            u -= rules[i].probability;
        }
    return last;
}

/* Appends a tree of the symbol; its number, or -1 if the sentence becomes too long. */
static int grow(growth *w, int symbol)
{
    paper_tree *t = w->tree;
    double u = draw(w);
    int32_t word = choose_word(symbol, &u);
    if (t->nodes >= 2 * w->longest || (word >= 0 && t->words == w->longest))
        return -1;
    int at = t->nodes++, left = -1, right = -1, begin = t->words;
    if (word >= 0) {
        t->word[t->words++] = word;
    } else {
        int rule = choose_rule(symbol, u);
        left = grow(w, rules[rule].left);
        right = left < 0 ? -1 : grow(w, rules[rule].right);
        if (right < 0)
            return -1;
    }
    t->node[at] = (paper_tree_node){label_of[symbol], begin, t->words, left, right};
    return at;
}

void paper_grammar_sentence(uint64_t stream, uint64_t i, int shortest, int longest, paper_tree *out)
{
    bool done = false;
    for (uint64_t attempt = 0; !done; attempt++) {
        *out = (paper_tree){0};
        growth w = {.tree = out, .longest = longest, .random = wgi_random_of(stream, i, attempt)};
        done = grow(&w, S) >= 0 && out->words >= shortest;
    }
}

/* ---- trees as tokens ------------------------------------------------------------------------- */

static int write_node(const paper_tree *t, int at, int32_t *tokens)
{
    const paper_tree_node *node = &t->node[at];
    if (node->left < 0) {
        tokens[0] = PAPER_FIRST_WORD + PAPER_ANY_WORD;
        return 1;
    }
    int n = 0;
    tokens[n++] = PAPER_FIRST_WORD + PAPER_OPENING + node->label;
    n += write_node(t, node->left, tokens + n);
    n += write_node(t, node->right, tokens + n);
    tokens[n++] = PAPER_FIRST_WORD + PAPER_CLOSING + node->label;
    return n;
}

int paper_tree_write(const paper_tree *t, int32_t *tokens)
{
    return write_node(t, 0, tokens);
}

void paper_tree_read(const int32_t *tokens, int n, int words, paper_tree *out)
{
    struct {
        int label, begin;
    } pending[PAPER_TREE_NODES];
    int depth = 0, at = 0;
    *out = (paper_tree){.words = words};
    for (int i = 0; i < n; i++) {
        int token = (int)tokens[i] - PAPER_FIRST_WORD, label = token - PAPER_OPENING;
        if (token == PAPER_ANY_WORD) {
            at++;
        } else if (token >= PAPER_OPENING && token < PAPER_CLOSING && depth < PAPER_TREE_NODES) {
            pending[depth].label = label;
            pending[depth++].begin = at;
        } else if (token >= PAPER_CLOSING && token < PAPER_GRAMMAR_TOKENS && depth > 0 &&
                   pending[depth - 1].label == token - PAPER_CLOSING) {
            depth--;
            if (at > pending[depth].begin && at <= words && out->nodes < PAPER_TREE_NODES)
                out->node[out->nodes++] = (paper_tree_node){
                    .label = pending[depth].label, .begin = pending[depth].begin, .end = at};
        }
    }
}

static bool is_constituent(const paper_tree_node *n)
{
    return n->left >= 0;
}

static int count_constituents(const paper_tree *t)
{
    int n = 0;
    for (int i = 0; i < t->nodes; i++)
        n += is_constituent(&t->node[i]);
    return n;
}

int paper_tree_common(const paper_tree *a, const paper_tree *b, int *mine, int *others)
{
    bool taken[PAPER_TREE_NODES] = {false};
    int common = 0;
    *mine = count_constituents(a);
    *others = count_constituents(b);
    for (int i = 0; i < a->nodes; i++)
        for (int k = 0; is_constituent(&a->node[i]) && k < b->nodes; k++) {
            const paper_tree_node *x = &a->node[i], *y = &b->node[k];
            if (taken[k] || !is_constituent(y) || x->label != y->label || x->begin != y->begin ||
                x->end != y->end)
                continue;
            taken[k] = true;
            common++;
            break;
        }
    return common;
}

/* ---- a grammar that is read off trees -------------------------------------------------------- */

/* The rule of those symbols, which is added if it is new; NULL if there is no room. */
static double *rule_of(paper_grammar *g, int parent, int left, int right)
{
    int i = 0;
    while (i < g->rules &&
           (g->rule[i].parent != parent || g->rule[i].left != left || g->rule[i].right != right))
        i++;
    if (i == PAPER_GRAMMAR_RULES)
        return NULL;
    if (i == g->rules) {
        g->rules++;
        g->rule[i].parent = parent;
        g->rule[i].left = left;
        g->rule[i].right = right;
        g->rule[i].probability = 0;
    }
    return &g->rule[i].probability;
}

static void count_tree(paper_grammar *g, const paper_tree *t)
{
    for (int i = 0; i < t->nodes; i++) {
        const paper_tree_node *n = &t->node[i];
        double *count = is_constituent(n)
                            ? rule_of(g, n->label, t->node[n->left].label, t->node[n->right].label)
                            : &g->word[n->label][t->word[n->begin]];
        if (count)
            *count += 1;
    }
}

/* Counts of each symbol become probabilities; of words, after adding `more` to each where the
 * symbol has any. */
static void normalise(paper_grammar *g, double more)
{
    for (int s = 0; s < g->symbols; s++) {
        double sum = 0, words = 0;
        for (int i = 0; i < g->rules; i++)
            sum += g->rule[i].parent == s ? g->rule[i].probability : 0;
        for (int k = 0; k < PAPER_GRAMMAR_WORDS; k++)
            words += g->word[s][k];
        for (int k = 0; words > 0 && k < PAPER_GRAMMAR_WORDS; k++) {
            g->word[s][k] += more;
            sum += g->word[s][k];
        }
        for (int i = 0; i < g->rules; i++)
            if (g->rule[i].parent == s)
                g->rule[i].probability /= sum;
        for (int k = 0; sum > 0 && k < PAPER_GRAMMAR_WORDS; k++)
            g->word[s][k] /= sum;
    }
}

static void begin_labels(paper_grammar *g)
{
    *g = (paper_grammar){.symbols = LABELS};
    for (int i = 0; i < LABELS; i++)
        g->label[i] = i;
}

void paper_grammar_estimate(paper_grammar *g, uint64_t stream, int64_t n, int shortest, int longest)
{
    paper_tree t;
    begin_labels(g);
    for (int64_t i = 0; i < n; i++) {
        paper_grammar_sentence(stream, (uint64_t)i, shortest, longest, &t);
        count_tree(g, &t);
    }
    normalise(g, 0.01);
}

/* ---- parsers --------------------------------------------------------------------------------- */

/* The words from begin to end as each symbol: a number, and how it came about. */
typedef struct chart {
    double value[PAPER_TREE_WORDS][PAPER_TREE_WORDS + 1][PAPER_GRAMMAR_SYMBOLS];
    int rule[PAPER_TREE_WORDS][PAPER_TREE_WORDS + 1][PAPER_GRAMMAR_SYMBOLS],
        middle[PAPER_TREE_WORDS][PAPER_TREE_WORDS + 1][PAPER_GRAMMAR_SYMBOLS];
} chart;

/* One rule at one place: the better of two trees, or the number of all of them. */
static void apply_rule(chart *c, const paper_grammar *g, int rule, int begin, int middle, int end,
                       bool add)
{
    double value = c->value[begin][middle][g->rule[rule].left] *
                   c->value[middle][end][g->rule[rule].right] * g->rule[rule].probability;
    const int parent = g->rule[rule].parent;
    double *best = &c->value[begin][end][parent];
    if (add) {
        *best += value;
    } else if (value > *best) {
        *best = value;
        c->rule[begin][end][parent] = rule;
        c->middle[begin][end][parent] = middle;
    }
}

static void fill_chart(chart *c, const paper_grammar *g, const paper_tree *t, bool add)
{
    *c = (chart){0};
    for (int i = 0; i < t->words; i++)
        for (int s = 0; s < g->symbols; s++)
            c->value[i][i + 1][s] = g->word[s][t->word[i]];
    for (int length = 2; length <= t->words; length++)
        for (int begin = 0; begin + length <= t->words; begin++)
            for (int middle = begin + 1; middle < begin + length; middle++)
                for (int rule = 0; rule < g->rules; rule++)
                    apply_rule(c, g, rule, begin, middle, begin + length, add);
}

static void take_tree(const chart *c, const paper_grammar *g, int symbol, int begin, int end,
                      paper_tree *out)
{
    if (end - begin < 2)
        return;
    int rule = c->rule[begin][end][symbol], middle = c->middle[begin][end][symbol];
    out->node[out->nodes++] =
        (paper_tree_node){.label = g->label[symbol], .begin = begin, .end = end};
    take_tree(c, g, g->rule[rule].left, begin, middle, out);
    take_tree(c, g, g->rule[rule].right, middle, end, out);
}

void paper_grammar_parse(const paper_grammar *g, paper_tree *out)
{
    chart c;
    fill_chart(&c, g, out, false);
    out->nodes = 0;
    if (c.value[0][out->words][S] > 0)
        take_tree(&c, g, S, 0, out->words, out);
}

double paper_grammar_ambiguity(const paper_tree *t)
{
    paper_grammar g;
    chart c;
    begin_labels(&g);
    for (int i = 0; i < WG_COUNT(rules); i++) {
        double *count = rule_of(&g, label_of[rules[i].parent], label_of[rules[i].left],
                                label_of[rules[i].right]);
        if (count)
            *count = 1;
    }
    for (int i = 0; i < WG_COUNT(lexicon); i++)
        for (int k = 0; k < lexicon[i].count; k++)
            g.word[label_of[lexicon[i].symbol]][lexicon[i].first + k] = 1;
    fill_chart(&c, &g, t, true);
    return c.value[0][t->words][S];
}
