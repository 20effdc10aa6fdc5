/* Any bytes as a file of a vocabulary: refused with a message, or a vocabulary that encodes and
 * decodes lines, also those of the file, and that is the same once saved and opened again. */
#include "wengert/text/vocabulary.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

/* Encodes a line and decodes it; no id is outside. */
static void there_and_back(const wg_vocabulary *v, const char *line, size_t size)
{
    int32_t *ids;
    size_t n;
    char *text;
    wg_status status = wg_vocabulary_encode(v, line, size, &ids, &n);
    for (size_t i = 0; status == WG_OK && i < n; i++)
        NEED(ids[i] >= 0 && ids[i] < wg_vocabulary_size(v));
    if (status == WG_OK && wg_vocabulary_decode(v, ids, n, &text) == WG_OK)
        free(text);
    free(ids);
}

static void need_same(const wg_vocabulary *a, const wg_vocabulary *b)
{
    NEED(wg_vocabulary_equal(a, b) && wg_vocabulary_hash(a) == wg_vocabulary_hash(b));
    NEED(wg_vocabulary_size(a) == wg_vocabulary_size(b));
    for (int32_t i = 0; i < wg_vocabulary_size(a); i++)
        NEED(strcmp(wg_vocabulary_piece(a, i), wg_vocabulary_piece(b, i)) == 0);
    NEED(!wg_vocabulary_piece(a, (int32_t)wg_vocabulary_size(a)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char line[] = "the house is green \xff , \xe2\x82\xac  5";
    static wg_error error;
    char path[64], saved[64];
    wg_vocabulary *v, *again;
    wg_status status = wg_vocabulary_open(&v, fuzz_file(path, "vocab", data, size), &error);
    fuzz_accepted(status == WG_OK);
    if (status != WG_OK) {
        NEED(!v && error.text[0]);
        return 0;
    }
    there_and_back(v, line, strlen(line));
    there_and_back(v, (const char *)data, size < 300 ? size : 300);
    NEED_OK(wg_vocabulary_save(v, fuzz_path(saved, "saved"), &error) == WG_OK, error.text);
    NEED_OK(wg_vocabulary_open(&again, saved, &error) == WG_OK, error.text);
    need_same(v, again);
    wg_vocabulary_free(again);
    wg_vocabulary_free(v);
    return 0;
}
