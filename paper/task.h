/* Translation tasks that are generated.  To reverse a sentence, attention must find a position; to
 * sort it, it must compare words, whose order is not in their numbers for the model, which sees
 * embeddings; to reverse it with each pronoun replaced by the name that it stands for, one head
 * must find a position, and another one the name; to parse it, the model must find its structure
 * (grammar.h). */
#ifndef WG_PAPER_TASK_H
#define WG_PAPER_TASK_H

#include <stdint.h>

typedef enum paper_order {
    PAPER_REVERSED = 0,
    PAPER_SORTED,
    PAPER_RESOLVED, /* reversed, without its pronouns */
    PAPER_PARSED    /* the sentence is one of the grammar; `words` must be PAPER_GRAMMAR_TOKENS */
} paper_order;

typedef struct paper_task {
    paper_order order;
    int words;             /* in the vocabulary */
    int shortest, longest; /* sentence, in words */
    int64_t examples;      /* sentences of the training data; 0: each is new */
} paper_task;

/* Ids of tokens; words follow. */
enum { PAPER_PADDING = 0, PAPER_BEGIN, PAPER_END, PAPER_FIRST_WORD };

/* Of PAPER_RESOLVED: the pronoun, and so many names after it. */
enum { PAPER_PRONOUN = PAPER_FIRST_WORD, PAPER_FIRST_NAME, PAPER_NAMES = 5 };

/* Tokens of the longest sentence, with its end. */
static inline int paper_task_length(const paper_task *t)
{
    return t->longest + 1;
}

/* Tokens of the longest answer, with its end: a tree of n words has n - 1 pairs of brackets. */
static inline int paper_task_target_length(const paper_task *t)
{
    return t->order == PAPER_PARSED ? 3 * t->longest - 1 : t->longest + 1;
}

static inline int64_t paper_task_vocabulary(const paper_task *t)
{
    return PAPER_FIRST_WORD + t->words;
}

/* Pair number `i` of a stream: words and the end, and padding up to paper_task_length, in source,
 * whose length is *length; the target as a decoder reads it, behind the beginning, of
 * paper_task_target_length; and as it should answer, with WG_NO_TARGET as padding. */
void paper_task_pair(const paper_task *t, uint64_t stream, uint64_t i, int32_t *source,
                     int32_t *length, int32_t *target_in, int32_t *target_out);

#endif
