/* A language with ambiguous sentences, and its parsers.
 *
 * All rules have two symbols on the right, so that a sentence of n words has a tree of n - 1
 * constituents.  A constituent belongs to a class, which trees do not show: phrases attach to what
 * is of their class.  A grammar that is read off the trees cannot know this, as PCFGs of treebanks
 * do not know words; who reads the words can. */
#ifndef WG_PAPER_GRAMMAR_H
#define WG_PAPER_GRAMMAR_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PAPER_GRAMMAR_LABELS = 5, /* S, NP, VP, PP, CP: of constituents; further ones are of words */
    PAPER_GRAMMAR_WORDS = 35,
    PAPER_GRAMMAR_SYMBOLS = 16,
    PAPER_GRAMMAR_RULES = 32,
    PAPER_TREE_WORDS = 16,
    PAPER_TREE_NODES = 2 * PAPER_TREE_WORDS
};

/* Tokens of an answer, from PAPER_FIRST_WORD on: behind the words of the language a word of the
 * sentence, whichever, and the opening and closing bracket of each label. */
enum {
    PAPER_ANY_WORD = PAPER_GRAMMAR_WORDS,
    PAPER_OPENING,
    PAPER_CLOSING = PAPER_OPENING + PAPER_GRAMMAR_LABELS,
    PAPER_GRAMMAR_TOKENS = PAPER_CLOSING + PAPER_GRAMMAR_LABELS
};

/* A node of a tree over the words begin, ..., end - 1, and the numbers of its two parts; of a word:
 * left < 0. */
typedef struct paper_tree_node {
    int label, begin, end, left, right;
} paper_tree_node;

typedef struct paper_tree {
    int words, nodes;
    int32_t word[PAPER_TREE_WORDS];
    paper_tree_node node[PAPER_TREE_NODES]; /* [nodes] */
} paper_tree;

/* Sentence number i of a stream, of at most PAPER_TREE_WORDS words, with its tree; node 0 is S. */
void paper_grammar_sentence(uint64_t stream, uint64_t i, int shortest, int longest,
                            paper_tree *out);

/* The tree as tokens without their end: (S X (VP X X VP) S); returns their number, 3 words - 2. */
int paper_tree_write(const paper_tree *t, int32_t *tokens);
/* The constituents (without their parts) of n tokens, which need not be well-formed: what is not
 * closed by its label, or has no words, is left out.  `words` are those of the sentence. */
void paper_tree_read(const int32_t *tokens, int n, int words, paper_tree *out);
/* How many constituents are in both trees, with label, begin and end; *mine, *others: in each. */
int paper_tree_common(const paper_tree *a, const paper_tree *b, int *mine, int *others);

/* Probabilities of rules and words. */
typedef struct paper_grammar {
    int symbols, rules;               /* symbol 0 is that of a sentence */
    int label[PAPER_GRAMMAR_SYMBOLS]; /* as trees show it */
    struct {
        int parent, left, right;
        double probability;
    } rule[PAPER_GRAMMAR_RULES];
    double word[PAPER_GRAMMAR_SYMBOLS][PAPER_GRAMMAR_WORDS];
} paper_grammar;

/* That by which sentences are made. */
void paper_grammar_true(paper_grammar *g);
/* Relative frequencies in the trees of the first n sentences of a stream; words with a little added
 * to each count.  Its symbols are labels. */
void paper_grammar_estimate(paper_grammar *g, uint64_t stream, int64_t n, int shortest,
                            int longest);

/* The constituents (without their parts) of the most probable tree of out->words words out->word,
 * by the algorithm of Cocke, Younger and Kasami; no nodes if there is none. */
void paper_grammar_parse(const paper_grammar *g, paper_tree *out);
/* How many trees the words of t may have, as trees show them. */
double paper_grammar_ambiguity(const paper_tree *t);

#endif
