/* Small vocabularies in tests: a text, made of it, there and back; WG_HAVE_SENTENCEPIECE says which
 * kinds there are. */
#ifndef WG_TESTS_VOCABULARIES_H
#define WG_TESTS_VOCABULARIES_H

#include "tests/folder.h"
#include "wengert/text/vocabulary.h"

#ifdef WG_HAVE_SENTENCEPIECE
enum { FIRST_KIND = WG_VOCABULARY_BPE };
#else
enum { FIRST_KIND = WG_VOCABULARY_WORDS };
#endif

static wg_error error;

/* Ended by a newline; each word of it at least twice. */
static const char text[] = "the house is green .\n"
                           "the mouse sees the red house .\n"
                           "das haus ist grün .\n"
                           "die maus sieht das rote haus , \"oh\" ! <b>\n"
                           "<s> is a tag and \\s is not a blank ; € 10\n";

static inline wg_vocabulary *make_of(const wg_vocabulary_options *options, const char *lines)
{
    wg_vocabulary *v;
    wg_status status = wg_vocabulary_train_text(&v, options, lines, strlen(lines), &error);
    check_that(status == WG_OK, "kind %d: %s: %s", (int)options->kind, wg_status_text(status),
               error.text);
    return v;
}

static inline wg_vocabulary *make(int kind, int64_t size)
{
    return make_of(&(wg_vocabulary_options){.kind = kind, .size = size}, text);
}

static inline int32_t *encode(const wg_vocabulary *v, const char *line, size_t size, size_t *n)
{
    int32_t *ids;
    assert_int_equal(wg_vocabulary_encode(v, line, size, &ids, n), WG_OK);
    assert_non_null(ids);
    for (size_t i = 0; i < *n; i++)
        assert_in_range(ids[i], 0, wg_vocabulary_size(v) - 1);
    return ids;
}

/* Encodes size bytes and decodes them; the caller frees. */
static inline char *there_and_back_bytes(const wg_vocabulary *v, const char *line, size_t size,
                                         size_t *n)
{
    char *back;
    int32_t *ids = encode(v, line, size, n);
    assert_int_equal(wg_vocabulary_decode(v, ids, *n, &back), WG_OK);
    free(ids);
    return back;
}

static inline void check_there_and_back(const wg_vocabulary *v, const char *line,
                                        const char *expected)
{
    size_t n;
    char *back = there_and_back_bytes(v, line, strlen(line), &n);
    check_that(strcmp(back, expected) == 0, "\"%s\" comes back as \"%s\", expected \"%s\"", line,
               back, expected);
    free(back);
}

/* Sizes, pieces, special tokens, and how the lines are encoded. */
static inline void check_same(const wg_vocabulary *a, const wg_vocabulary *b, const char *lines)
{
    assert_int_equal(wg_vocabulary_kind_of(a), wg_vocabulary_kind_of(b));
    assert_int_equal(wg_vocabulary_size(a), wg_vocabulary_size(b));
    assert_int_equal(wg_vocabulary_pad(a), wg_vocabulary_pad(b));
    assert_int_equal(wg_vocabulary_bos(a), wg_vocabulary_bos(b));
    assert_int_equal(wg_vocabulary_eos(a), wg_vocabulary_eos(b));
    assert_int_equal(wg_vocabulary_unk(a), wg_vocabulary_unk(b));
    for (int32_t i = 0; i < wg_vocabulary_size(a); i++)
        assert_string_equal(wg_vocabulary_piece(a, i), wg_vocabulary_piece(b, i));
    for (const char *at = lines; *at; at = strchr(at, '\n') + 1) {
        size_t n[2];
        int32_t *x = encode(a, at, strcspn(at, "\n"), &n[0]),
                *y = encode(b, at, strcspn(at, "\n"), &n[1]);
        assert_int_equal(n[0], n[1]);
        assert_memory_equal(x, y, n[0] * sizeof *x);
        free(x);
        free(y);
    }
}

#endif
