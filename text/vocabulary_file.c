/* Files of vocabularies: tables of tokens as text, and what a SentencePiece model is. */
#include "text/charsmap.h"
#include "graph/text_buffer.h"
#include "text/internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- tables of tokens ------------------------------------------------------------------------ */

static const char opening[] = "# wengert vocabulary: ";
static const char *const special_names[WGI_SPECIALS] = {"pad", "bos", "eos", "unk"};
static const char plain[] = "\\ \t\n\r",
                  letters[] = "\\stnr"; /* \ and the letter stand for the character */

bool wgi_is_token_file(const char *bytes, size_t size)
{
    return size >= sizeof opening - 1 && memcmp(bytes, opening, sizeof opening - 1) == 0;
}

static void print_heading(char *text, size_t room, wg_vocabulary_kind kind,
                          const int32_t special[WGI_SPECIALS])
{
    size_t n = (size_t)snprintf(text, room, "%s", kind == WG_VOCABULARY_WORDS ? "words" : "chars");
    for (int i = 0; i < WGI_SPECIALS; i++)
        if (special[i] >= 0)
            n += (size_t)snprintf(text + n, room - n, " %s %" PRId32, special_names[i], special[i]);
}

/* Moves *at behind the word, if that is there. */
static bool skip_word(const char **at, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

/* Padding and the begin of sentence, which a vocabulary of others may lack. */
enum { ABSENT = INT32_MIN };

/* Moves *at behind " 12". */
static bool read_id(const char **at, int32_t *id)
{
    char *end = NULL;
    errno = 0;
    if (**at != ' ' || !strchr("-0123456789", (*at)[1]))
        return false;
    long n = strtol(*at + 1, &end, 10);
    if (end == *at + 1 || errno || n <= ABSENT || n > INT32_MAX)
        return false;
    *id = (int32_t)n;
    *at = end;
    return true;
}

/* "words pad 0 bos 1 eos 2 unk 3" */
static bool parse_heading(wgi_slice line, wg_vocabulary_kind *kind, int32_t special[WGI_SPECIALS])
{
    char text[128];
    const char *at = text;
    if (line.size >= sizeof text)
        return false;
    memcpy(text, line.text, line.size);
    text[line.size] = '\0';
    bool words = skip_word(&at, "words");
    *kind = words ? WG_VOCABULARY_WORDS : WG_VOCABULARY_CHARS;
    bool ok = words || skip_word(&at, "chars");
    for (int i = 0; ok && i < WGI_SPECIALS; i++) {
        bool needed = i == WGI_EOS || i == WGI_UNK;
        char word[8];
        snprintf(word, sizeof word, " %s", special_names[i]);
        special[i] = ABSENT;
        ok = skip_word(&at, word) ? read_id(&at, &special[i]) : !needed;
    }
    return ok && *at == '\0';
}

/* Replaces escapes in place; false if malformed or empty.  The text has no NUL. */
static bool unescape(char *text, size_t *size)
{
    size_t n = 0;
    for (size_t i = 0; i < *size; i++) {
        char c = text[i];
        if (c == '\\') {
            const char *l = ++i < *size ? strchr(letters, text[i]) : NULL;
            if (!l)
                return false;
            c = plain[l - letters];
        }
        text[n++] = c;
    }
    *size = n;
    return n > 0;
}

static wg_status add_token(wgi_token_table *t, wgi_slice text, const char *path, wg_error *error)
{
    const size_t number = t->n;
    int64_t at = wgi_tokens_add(t, text);
    if (at < 0)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory for %zu tokens", number + 1);
    if ((size_t)at < number)
        return wgi_error_file(error, WG_EDATA, path,
                              "line %zu: expected a new token, got that of line %zu", number + 2,
                              (size_t)at + 2);
    return WG_OK;
}

/* One line, at number n of the table. */
static wg_status parse_token(wgi_token_table *t, wgi_slice line, const char *path, wg_error *error)
{
    size_t n = line.size;
    char *text = malloc(n + 1);
    if (!text)
        return wgi_error_file(error, WG_ENOMEM, path, "no memory for a token of %zu bytes", n);
    memcpy(text, line.text, n);
    wg_status status = wgi_text_clean(text, n) && unescape(text, &n)
                           ? add_token(t, (wgi_slice){text, n}, path, error)
                           : wgi_error_file(error, WG_EDATA, path,
                                            "line %zu: expected a token in UTF-8 with escapes "
                                            "\\\\ \\s \\t \\n \\r",
                                            t->n + 2);
    free(text);
    return status;
}

/* Checks that special tokens are in the table and distinct; those that are absent become -1. */
static wg_status check_special(int32_t special[WGI_SPECIALS], size_t n, const char *path,
                               wg_error *error)
{
    for (int i = 0; i < WGI_SPECIALS; i++) {
        if (special[i] == ABSENT) {
            special[i] = -1;
            continue;
        }
        if (special[i] < 0 || (size_t)special[i] >= n)
            return wgi_error_file(error, WG_EDATA, path, "expected %s in [0, %zu), got %" PRId32,
                                  special_names[i], n, special[i]);
        for (int j = 0; j < i; j++)
            if (special[i] == special[j])
                return wgi_error_file(error, WG_EDATA, path,
                                      "expected different ids of %s and %s, got %" PRId32 " twice",
                                      special_names[j], special_names[i], special[i]);
    }
    return WG_OK;
}

wg_status wgi_tokens_parse(wgi_token_table *out, wg_vocabulary_kind *kind,
                           int32_t special[WGI_SPECIALS], const char *path, const char *bytes,
                           size_t size, wg_error *error)
{
    wgi_slice rest = {bytes + sizeof opening - 1, size - (sizeof opening - 1)}, line = {"", 0};
    wg_status status = WG_OK;
    *out = (wgi_token_table){0};
    wgi_next_line(&rest, &line);
    if (!parse_heading(line, kind, special))
        status =
            wgi_error_file(error, WG_EDATA, path,
                           "line 1: expected \"%swords|chars pad N bos N eos N unk N\"", opening);
    while (status == WG_OK && wgi_next_line(&rest, &line))
        status = parse_token(out, line, path, error);
    if (status == WG_OK)
        status = check_special(special, out->n, path, error);
    if (status != WG_OK)
        wgi_tokens_free(out);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_token(FILE *f, const char *text)
{
    for (; *text; text++) {
        const char *p = strchr(plain, *text);
        if (p)
            fputc('\\', f);
        fputc(p ? letters[p - plain] : *text, f);
    }
    fputc('\n', f);
}

char *wgi_tokens_text(const wgi_token_table *t, wg_vocabulary_kind kind,
                      const int32_t special[WGI_SPECIALS], size_t *size)
{
    wgi_text_buffer b;
    char heading[128];
    FILE *f = wgi_text_open(&b);
    print_heading(heading, sizeof heading, kind, special);
    if (f)
        fprintf(f, "%s%s\n", opening, heading);
    for (size_t i = 0; f && i < t->n; i++)
        put_token(f, wgi_token_text(t, i));
    char *text = wgi_text_close(&b);
    *size = b.size;
    return text;
}

wg_status wgi_tokens_write(const wgi_token_table *t, wg_vocabulary_kind kind,
                           const int32_t special[WGI_SPECIALS], const char *path, wg_error *error)
{
    size_t size;
    char *text = wgi_tokens_text(t, kind, special, &size);
    wg_status status = text ? wgi_file_replace_bytes(path, text, size, error)
                            : wgi_error_file(error, WG_ENOMEM, path, "no memory to write it");
    free(text);
    return status;
}

/* ---- SentencePiece models -------------------------------------------------------------------- */

/* A field of a protocol-buffers message: its number, and its value or, of wire type 2, its
 * bytes. */
typedef struct field {
    uint64_t number, value;
    wgi_slice bytes;
} field;

static bool varint(wgi_slice *rest, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && rest->size; shift += 7) {
        unsigned char c = (unsigned char)*rest->text;
        *rest = (wgi_slice){rest->text + 1, rest->size - 1};
        *value |= (uint64_t)(c & 0x7f) << shift;
        if (c < 0x80)
            return true;
    }
    return false;
}

static bool next_field(wgi_slice *rest, field *f)
{
    uint64_t key, skip = 0;
    *f = (field){0};
    if (!varint(rest, &key) || key > UINT32_MAX) /* which readers cut off in different ways */
        return false;
    f->number = key >> 3;
    switch (key & 7) {
    case 0: return varint(rest, &f->value);
    case 1: skip = 8; break;
    case 2:
        if (!varint(rest, &skip))
            return false;
        break;
    case 5: skip = 4; break;
    default: return false;
    }
    if (skip > rest->size)
        return false;
    f->bytes = (wgi_slice){rest->text, (size_t)skip};
    *rest = (wgi_slice){rest->text + skip, rest->size - (size_t)skip};
    return true;
}

/* Ours, among those left to others: the text of a vocab.txt. */
enum { NUMBERING = 7451, BYTES = 2 /* a wire type */ };

bool wgi_spm_numbering(const char *bytes, size_t size, wgi_slice *model, wgi_slice *numbering)
{
    wgi_slice rest = {bytes, size};
    field f;
    *model = rest;
    while (rest.size) {
        size_t before = size - rest.size;
        if (!next_field(&rest, &f))
            return false;
        if (f.number == NUMBERING && rest.size == 0) {
            *model = (wgi_slice){bytes, before};
            *numbering = f.bytes;
            return true;
        }
    }
    return false;
}

/* Seven bits a byte, the lowest first; returns how many bytes. */
static size_t put_varint(char *to, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        to[n++] = (char)(0x80 | (value & 0x7f));
    to[n++] = (char)value;
    return n;
}

char *wgi_spm_numbered(wgi_slice model, wgi_slice numbering, size_t *size)
{
    char *bytes = malloc(model.size + numbering.size + 20), *to = bytes;
    if (!bytes)
        return NULL;
    memcpy(to, model.text, model.size);
    to += model.size;
    to += put_varint(to, NUMBERING << 3 | BYTES);
    to += put_varint(to, numbering.size);
    memcpy(to, numbering.text, numbering.size);
    *size = (size_t)(to - bytes) + numbering.size;
    return bytes;
}

enum { PIECES = 1, TRAINER_SPEC = 2, NORMALIZER = 3, DENORMALIZER = 5 }; /* of a model */
enum { MODEL_TYPE = 3 };                                                 /* of TRAINER_SPEC */
enum { CHARSMAP = 2 };                                                   /* of NORMALIZER */

/* A field of a field of a model. */
static wg_status inner_field(wg_vocabulary_kind *kind, uint64_t outer, const field *f)
{
    static const wg_vocabulary_kind kinds[] = {WG_VOCABULARY_UNIGRAM, WG_VOCABULARY_UNIGRAM,
                                               WG_VOCABULARY_BPE, WG_VOCABULARY_WORDS,
                                               WG_VOCABULARY_CHARS};
    if (outer == TRAINER_SPEC && f->number == MODEL_TYPE && f->value < WG_COUNT(kinds))
        *kind = kinds[f->value];
    bool map = (outer == NORMALIZER || outer == DENORMALIZER) && f->number == CHARSMAP;
    return map ? wgi_charsmap_check(f->bytes.text, f->bytes.size) : WG_OK;
}

/* message ModelProto { repeated SentencePiece pieces = 1; TrainerSpec trainer_spec = 2;
 *   NormalizerSpec normalizer_spec = 3; NormalizerSpec denormalizer_spec = 5; ... }
 * message TrainerSpec { ModelType model_type = 3 (UNIGRAM 1, the default; BPE 2; WORD 3; CHAR 4);
 *   ... }
 * message NormalizerSpec { bytes precompiled_charsmap = 2; ... } */
wg_status wgi_spm_check(wg_vocabulary_kind *kind, const char *bytes, size_t size)
{
    wgi_slice rest = {bytes, size};
    wg_status status = WG_OK;
    field f, inner;
    bool pieces = false;
    *kind = WG_VOCABULARY_UNIGRAM;
    while (rest.size && status == WG_OK) {
        if (!next_field(&rest, &f))
            return WG_EDATA;
        bool nested =
            f.number == TRAINER_SPEC || f.number == NORMALIZER || f.number == DENORMALIZER;
        pieces = pieces || f.number == PIECES;
        for (wgi_slice in = f.bytes; nested && in.size && status == WG_OK;)
            status = next_field(&in, &inner) ? inner_field(kind, f.number, &inner) : WG_EDATA;
    }
    return status == WG_OK && !pieces ? WG_EDATA : status;
}
