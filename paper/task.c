#include "paper/task.h"
#include "graph/random.h"
#include "paper/grammar.h"
#include "wengert/models/transformer.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* A random number in [0, n). */
static int below(const wgi_random *random, uint64_t element, int n)
{
    return (int)(wgi_uniform(random, element) * n);
}

/* One name, at a random place but the last, and behind it pronouns among other words. */
static void draw_names(const paper_task *t, const wgi_random *random, int32_t *source, int n)
{
    enum { ONE_IN = 3, OTHERS = PAPER_FIRST_NAME + PAPER_NAMES };
    const uint64_t more = (uint64_t)t->longest + 1; /* elements that the words do not use */
    int name = below(random, more, n - 1);
    for (int k = 0; k < n; k++) {
        uint64_t element = (uint64_t)k + 1;
        source[k] = OTHERS + below(random, element, t->words - (OTHERS - PAPER_FIRST_WORD));
        if (k == name)
            source[k] = PAPER_FIRST_NAME + below(random, element, PAPER_NAMES);
        else if (k > name && below(random, more + element, ONE_IN) == 0)
            source[k] = PAPER_PRONOUN;
    }
}

/* out[k] = x[n - 1 - k], where pronouns become the name before them */
static void reverse(const int32_t *x, int n, bool resolve, int32_t *out)
{
    int32_t name = PAPER_PRONOUN;
    for (int k = 0; k < n; k++) {
        if (x[k] >= PAPER_FIRST_NAME && x[k] < PAPER_FIRST_NAME + PAPER_NAMES)
            name = x[k];
        out[n - 1 - k] = resolve && x[k] == PAPER_PRONOUN ? name : x[k];
    }
}

/* The words of the sentence and of the answer; returns the number of the latter. */
static int draw_words(const paper_task *t, uint64_t stream, uint64_t i, int32_t *source, int *n,
                      int32_t *target)
{
    const wgi_random random = wgi_random_of(stream, i, 0);
    if (t->order == PAPER_PARSED) {
        paper_tree tree;
        paper_grammar_sentence(stream, i, t->shortest, t->longest, &tree);
        *n = tree.words;
        for (int k = 0; k < tree.words; k++)
            source[k] = PAPER_FIRST_WORD + tree.word[k];
        return paper_tree_write(&tree, target);
    }
    *n = t->shortest + below(&random, 0, t->longest - t->shortest + 1);
    for (int k = 0; k < *n; k++)
        source[k] = PAPER_FIRST_WORD + below(&random, (uint64_t)k + 1, t->words);
    if (t->order == PAPER_RESOLVED)
        draw_names(t, &random, source, *n);
    reverse(source, *n, t->order == PAPER_RESOLVED, target);
    if (t->order == PAPER_SORTED)
        qsort(target, (size_t)*n, sizeof *target, by_id);
    return *n;
}

void paper_task_pair(const paper_task *t, uint64_t stream, uint64_t i, int32_t *source,
                     int32_t *length, int32_t *target_in, int32_t *target_out)
{
    int n, m = draw_words(t, stream, i, source, &n, target_out);
    *length = n + 1;
    source[n] = PAPER_END;
    target_out[m] = PAPER_END;
    for (int k = n + 1; k < paper_task_length(t); k++)
        source[k] = PAPER_PADDING;
    for (int k = m + 1; k < paper_task_target_length(t); k++)
        target_out[k] = WG_NO_TARGET;
    for (int k = 0; k < paper_task_target_length(t); k++)
        target_in[k] = k == 0 ? PAPER_BEGIN : k <= m ? target_out[k - 1] : PAPER_PADDING;
}
