/* Any bytes as two texts: vocabularies of words and characters are made from the second, a corpus
 * from both, and its batches.  Characters of the second come back as they were, but for what is not
 * UTF-8. */
#include "wengert/translate/batches.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
    if (!condition)
        __builtin_trap();
}

static void read_batches(const wg_corpus *c, const wg_vocabulary *v)
{
    wg_batches *b;
    wg_batches_options o = {
        .tokens = 64, .bos = wg_vocabulary_bos(v), .eos = wg_vocabulary_eos(v), .source_eos = -1};
    if (wg_batches_create(&b, c, &o, NULL) != WG_OK)
        return;
    size_t pairs = 0, n;
    const wg_batch *batch;
    for (int64_t i = 0; i < wg_batches_groups(b); i++) {
        need(wg_batches_next(b, &batch, &n) == WG_OK && n == 1);
        pairs += (size_t)batch->sentences;
    }
    need(pairs == wg_corpus_count(c));
    wg_batches_free(b);
}

static void read_corpus(const wg_vocabulary *v, const char *text, size_t size)
{
    wg_corpus *c;
    wg_corpus_options o = {.keep_text = true, .keep_empty = true, .threads = 1};
    if (wg_corpus_of_text(&c, text, size / 2, text + size / 2, size - size / 2, v, v, &o, NULL) !=
        WG_OK)
        return;
    for (size_t i = 0; i < wg_corpus_count(c) && wg_vocabulary_kind_of(v) == WG_VOCABULARY_CHARS;
         i++) {
        char *back;
        wg_sentence s = wg_corpus_sentence(c, i, 1);
        need(wg_vocabulary_decode(v, s.ids, s.n, &back) == WG_OK);
        need(strcmp(back, wg_corpus_text(c, i, 1)) == 0);
        free(back);
    }
    read_batches(c, v);
    wg_corpus_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int kind = WG_VOCABULARY_WORDS; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v;
        const char *text = (const char *)data;
        if (wg_vocabulary_train_text(&v, &(wg_vocabulary_options){.kind = kind, .size = 1 << 20},
                                     text + size / 2, size - size / 2, NULL) != WG_OK)
            continue;
        read_corpus(v, text, size);
        wg_vocabulary_free(v);
    }
    return 0;
}
