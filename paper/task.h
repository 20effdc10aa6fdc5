/* A translation task that is generated: the words of a sentence, reversed or sorted.  To reverse,
 * attention must find a position; to sort, it must compare words, whose order is not in their
 * numbers for the model, which sees embeddings. */
#ifndef WG_PAPER_TASK_H
#define WG_PAPER_TASK_H

#include <stdint.h>

typedef enum paper_order { PAPER_REVERSED = 0, PAPER_SORTED } paper_order;

typedef struct paper_task {
    paper_order order;
    int words;             /* in the vocabulary */
    int shortest, longest; /* sentence, in words */
    int64_t examples;      /* sentences of the training data; 0: each is new */
} paper_task;

/* Ids of tokens; words follow. */
enum { PAPER_PADDING = 0, PAPER_BEGIN, PAPER_END, PAPER_FIRST_WORD };

/* Tokens of the longest sentence, with its end. */
static inline int paper_task_length(const paper_task *t)
{
    return t->longest + 1;
}

static inline int64_t paper_task_vocabulary(const paper_task *t)
{
    return PAPER_FIRST_WORD + t->words;
}

/* Pair number `i` of a stream: words and the end, and padding up to paper_task_length, in source,
 * whose length is *length; the target as a decoder reads it, behind the beginning; and as it
 * should answer, with WG_NO_TARGET as padding. */
void paper_task_pair(const paper_task *t, uint64_t stream, uint64_t i, int32_t *source,
                     int32_t *length, int32_t *target_in, int32_t *target_out);

#endif
