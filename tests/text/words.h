/* A vocabulary of twelve letters as words, for tests of corpora: make_words and remove_words are
 * setup and teardown of their groups, and make and remove the tests' folder as well. */
#ifndef WG_TESTS_TEXT_WORDS_H
#define WG_TESTS_TEXT_WORDS_H

#include "tests/folder.h"
#include "wengert/text/vocabulary.h"

static wg_error error;
static wg_vocabulary *words;

static inline int make_words(void **state)
{
    const char *text = "a b c d e f A B C D E F\n";
    return make_folder(state) == 0 &&
                   wg_vocabulary_train_text(
                       &words, &(wg_vocabulary_options){.kind = WG_VOCABULARY_WORDS, .size = 50},
                       text, strlen(text), &error) == WG_OK
               ? 0
               : -1;
}

static inline int remove_words(void **state)
{
    wg_vocabulary_free(words);
    return remove_folder(state);
}

#endif
