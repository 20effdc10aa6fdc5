/* Any bytes as two texts, source and target, parted by a line "===": vocabularies of words and
 * characters are made of the target, a corpus of both, and its batches.  Characters of the target
 * come back as they were, but for what is not UTF-8.  The same texts as files, plain or gzip, are
 * the same corpus; and the bytes as they are, which may be a damaged gzip, a corpus or an error. */
#include "wengert/translate/batches.h"
#include "tests/fuzz/fuzz.h"
#include "text/internal.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static wg_error error;

static void read_batches(const wg_corpus *c, const wg_vocabulary *v, bool in_order)
{
    wg_batches *b;
    wg_batches_options o = {.tokens = 64,
                            .in_order = in_order,
                            .bos = wg_vocabulary_bos(v),
                            .eos = wg_vocabulary_eos(v),
                            .source_eos = -1};
    if (wg_batches_create(&b, c, &o, NULL) != WG_OK)
        return;
    size_t pairs = 0, n;
    const wg_batch *batch;
    for (int64_t i = 0; i < wg_batches_groups(b); i++) {
        NEED(wg_batches_next(b, &batch, &n) == WG_OK && n == 1);
        pairs += (size_t)batch->sentences;
    }
    NEED(pairs == wg_corpus_count(c));
    wg_batches_free(b);
}

static void need_texts_back(const wg_corpus *c, const wg_vocabulary *v)
{
    for (size_t i = 0; i < wg_corpus_count(c); i++) {
        char *back;
        wg_sentence s = wg_corpus_sentence(c, i, 1);
        NEED(wg_vocabulary_decode(v, s.ids, s.n, &back) == WG_OK);
        NEED(strcmp(back, wg_corpus_text(c, i, 1)) == 0);
        free(back);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_gzip(const char *path, const fuzz_part *part)
{
    gzFile f = gzopen(path, "wb1");
    NEED(f && gzwrite(f, part->text, (unsigned)part->size) == (int)part->size);
    NEED(gzclose(f) == Z_OK);
}

static bool has_mark(const fuzz_part *part)
{
    return part->size >= 3 && memcmp(part->text, "\xef\xbb\xbf", 3) == 0;
}

static bool is_wide(const fuzz_part *part)
{
    return wgi_text_wide(part->text, part->size) != NULL;
}

static bool is_gzip(const fuzz_part *part)
{
    return part->size >= 2 && memcmp(part->text, "\x1f\x8b", 2) == 0;
}

/* The files of both texts are a corpus exactly if the texts are, and the same one.  (A byte-order
 * mark is dropped from a file, UTF-16 is refused in one, and text may look like a gzip.) */
static void need_same_files(const fuzz_part side[2], const wg_vocabulary *v,
                            const wg_corpus_options *o, const wg_corpus *c)
{
    char path[2][64];
    wg_corpus *d;
    if (has_mark(&side[0]) || has_mark(&side[1]) || is_gzip(&side[0]) || is_wide(&side[0]) ||
        is_wide(&side[1]))
        return;
    fuzz_file(path[0], "source", side[0].text, side[0].size);
    write_gzip(fuzz_path(path[1], "target.gz"), &side[1]);
    wg_status status = wg_corpus_read(&d, path[0], path[1], v, v, o, &error);
    NEED_OK((status == WG_OK) == (c != NULL), error.text);
    if (status != WG_OK)
        return;
    NEED(wg_corpus_count(d) == wg_corpus_count(c) && wg_corpus_hash(d) == wg_corpus_hash(c));
    wg_corpus_free(d);
}

/* The same file as both sides: a corpus of equal sides or an error. */
static void read_file(const uint8_t *data, size_t size, const wg_vocabulary *v,
                      const wg_corpus_options *o)
{
    char path[64];
    wg_corpus *c;
    fuzz_file(path, "both", data, size);
    if (wg_corpus_read(&c, path, path, v, v, o, &error) != WG_OK) {
        NEED(!c && strncmp(error.text, path, strlen(path)) == 0);
        return;
    }
    for (size_t i = 0; i < wg_corpus_count(c); i++) {
        wg_sentence s = wg_corpus_sentence(c, i, 0), t = wg_corpus_sentence(c, i, 1);
        NEED(s.n == t.n && (!s.n || memcmp(s.ids, t.ids, s.n * sizeof *s.ids) == 0));
    }
    wg_corpus_free(c);
}

/* ---- one input ------------------------------------------------------------------------------- */

static void read_corpus(const wg_vocabulary *v, const fuzz_part side[2], const wg_corpus_options *o)
{
    wg_corpus *c;
    wg_status status = wg_corpus_of_text(&c, side[0].text, side[0].size, side[1].text, side[1].size,
                                         v, v, o, &error);
    fuzz_accepted(status == WG_OK);
    NEED(status == WG_OK ? c != NULL : !c && error.text[0]);
    need_same_files(side, v, o, c);
    if (!c)
        return;
    if (wg_vocabulary_kind_of(v) == WG_VOCABULARY_CHARS)
        need_texts_back(c, v);
    read_batches(c, v, o->keep_empty);
    wg_corpus_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_part side[2];
    fuzz_cut(data, size, side, 2);
    const wg_corpus_options o = {
        .keep_text = true, .keep_empty = size % 2, .max_length = size % 3 * 8, .threads = 1};
    for (int kind = WG_VOCABULARY_WORDS; kind <= WG_VOCABULARY_CHARS; kind++) {
        wg_vocabulary *v;
        const wg_vocabulary_options how = {.kind = kind, .size = 1 << 20};
        if (wg_vocabulary_train_text(&v, &how, side[1].text, side[1].size, NULL) != WG_OK)
            continue;
        read_corpus(v, side, &o);
        if (kind == WG_VOCABULARY_CHARS)
            read_file(data, size, v, &o);
        wg_vocabulary_free(v);
    }
    return 0;
}
