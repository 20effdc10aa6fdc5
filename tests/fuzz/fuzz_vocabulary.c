/* Any bytes as a file of a vocabulary: refused with a message, or a vocabulary that encodes and
 * decodes, and that is the same once saved and opened again. */
#include "wengert/text/vocabulary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void need(bool condition)
{
    if (!condition)
        __builtin_trap();
}

/* Encodes a line and decodes it; no id is outside. */
static void there_and_back(const wg_vocabulary *v, const char *line)
{
    int32_t *ids;
    size_t n;
    char *text;
    wg_status status = wg_vocabulary_encode(v, line, strlen(line), &ids, &n);
    for (size_t i = 0; status == WG_OK && i < n; i++)
        need(ids[i] >= 0 && ids[i] < wg_vocabulary_size(v));
    if (status == WG_OK && wg_vocabulary_decode(v, ids, n, &text) == WG_OK)
        free(text);
    free(ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char path[] = "/tmp/wg_fuzz_XXXXXX";
    static wg_error error;
    static int file = -1;
    wg_vocabulary *v, *again;
    if (file < 0)
        file = mkstemp(path);
    need(file >= 0);
    need(ftruncate(file, 0) == 0 && pwrite(file, data, size, 0) == (ssize_t)size);
    if (wg_vocabulary_open(&v, path, &error) != WG_OK) {
        need(!v && error.text[0]);
        return 0;
    }
    there_and_back(v, "the house is green \xff , \xe2\x82\xac  5");
    need(wg_vocabulary_save(v, path, NULL) == WG_OK); /* another file, of the same name */
    need(wg_vocabulary_open(&again, path, NULL) == WG_OK);
    need(wg_vocabulary_size(v) == wg_vocabulary_size(again));
    for (int32_t i = 0; i < wg_vocabulary_size(v); i++)
        need(strcmp(wg_vocabulary_piece(v, i), wg_vocabulary_piece(again, i)) == 0);
    wg_vocabulary_free(again);
    wg_vocabulary_free(v);
    close(file);
    unlink(path);
    memset(path + sizeof path - 7, 'X', 6);
    file = -1;
    return 0;
}
